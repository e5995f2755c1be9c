/* attsvm COMMAND [flags] [arguments]: parses the flags, runs the command, maps the status to an
 * exit code. */
#include "cli/cli.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_DONE = 0, EXIT_NEGATIVE = 1, EXIT_BAD_INPUT = 2, EXIT_MACHINE = 3 };

static int exit_of(attsvm_status status)
{
    switch (status) {
    case ATTSVM_OK: return EXIT_DONE;
    case ATTSVM_E_STOPPED: return EXIT_NEGATIVE;
    case ATTSVM_E_MEMORY:
    case ATTSVM_E_NUMERIC:
    case ATTSVM_E_DISK: return EXIT_MACHINE;
    case ATTSVM_E_ARG:
    case ATTSVM_E_OPEN:
    case ATTSVM_E_FORMAT:
    case ATTSVM_E_DATA: break;
    }
    return EXIT_BAD_INPUT;
}

static attsvm_status run(cli_call *call, attsvm_error *err)
{
    if (call->help) {
        if (dist_rank(call->comm) == 0)
            cli_help_verb(call->verb, stdout);
        return ATTSVM_OK;
    }
    if (call->common->kernels)
        TRY(attsvm_kernels_select(call->common->kernels, err));
    return call->verb->run(call, err);
}

/* One line, for any bytes in the names of files and arrays. */
static void print_error(const char *verb, const char *message)
{
    fprintf(stderr, "attsvm%s%s: ", *verb ? " " : "", verb);
    base_print_text(stderr, message, false);
    fputc('\n', stderr);
}

/* `attsvm --help` and `attsvm --version` are the verbs of that name. */
static const char *verb_name(const char *word)
{
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return "help";
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return "version";
    return word;
}

/* Without a verb, rank 0 shows the list of commands instead of a message. */
static attsvm_status read_command(cli_call *call, int argc, char **argv, attsvm_error *err)
{
    const cli_verb *verb;
    if (argc < 2 && dist_rank(call->comm) == 0) {
        cli_help_usage(stderr);
        return ATTSVM_E_ARG;
    }
    if (argc < 2)
        return fail(err, ATTSVM_E_ARG, "rank %d has no command", dist_rank(call->comm));
    TRY(cli_verb_find(verb_name(argv[1]), &verb, err));
    cli_process_name(verb->name);
    return cli_parse(call, verb, argc - 2, argv + 2, err);
}

/* Why the command ended early, and whether it has results. */
static attsvm_status tell_stop(const cli_call *call, attsvm_status status, attsvm_error *err)
{
    const int number = cli_process_signal();
    char why[64] = "the time limit was reached";
    if (number == 0 && !cli_process_late())
        return status;
    if (number != 0)
        snprintf(why, sizeof why, "stopped by %s", number == SIGINT ? "Ctrl-C" : "SIGTERM");
    if (status == ATTSVM_E_STOPPED)
        return fail(err, status, "%s before there was a result", why);
    if (status == ATTSVM_OK && !call->common->quiet && dist_rank(call->comm) == 0)
        fprintf(stderr, "attsvm %s: %s%s%s\n", call->verb->name, why,
                call->common->output ? "; the result so far is in " : "",
                call->common->output ? cli_shown(call->common->output) : "");
    return status;
}

static int run_command(dist_comm *comm, int argc, char **argv)
{
    cli_call call = { .comm = comm };
    attsvm_error err = { 0 };
    attsvm_status status = read_command(&call, argc, argv, &err);
    const char *name = call.verb ? call.verb->name : "";
    status = cli_ranks_check(&call, status, &err);
    if (status == ATTSVM_OK)
        status = run(&call, &err);
    if (status == ATTSVM_OK)
        status = cli_process_end(&err);
    bool negative = call.negative || cli_process_late(), alone;
    status = tell_stop(&call, status, &err);
    cli_call_free(&call);
    status = cli_ranks_end(comm, status, &negative, &alone, &err);
    if (status != ATTSVM_OK && *err.message)
        print_error(name, err.message);
    if (alone) {
        dist_abort(comm, exit_of(status));
        exit(exit_of(status));
    }
    if (cli_process_signal() != 0 && (status == ATTSVM_OK || status == ATTSVM_E_STOPPED))
        return 128 + cli_process_signal();
    return status == ATTSVM_OK && negative ? EXIT_NEGATIVE : exit_of(status);
}

int main(int argc, char **argv)
{
    dist_comm *comm;
    attsvm_error err = { 0 };
    cli_process_start();
    if (dist_start(&comm, &argc, &argv, &err) != ATTSVM_OK) {
        print_error("", err.message);
        return EXIT_MACHINE;
    }
    int status = run_command(comm, argc, argv);
    dist_end(comm);
    return status;
}
