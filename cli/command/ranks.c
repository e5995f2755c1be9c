/* Several processes with one job: consistent flags, output from one rank, a common end. */
#include "cli/cli.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seconds that a failed rank waits for the others to end, too. */
static const double patience = 5;

void cli_ranks_json(const cli_call *call, io_json *json)
{
    if (dist_size(call->comm) == 1)
        return;
    io_json_set(json, "ranks", io_json_integer(dist_size(call->comm)));
    io_json_set(json, "bytes_sent", io_json_integer(dist_volume(call->comm)));
}

void cli_ranks_print(const cli_call *call)
{
    char sent[32];
    if (dist_size(call->comm) == 1)
        return;
    cli_bytes((double)dist_volume(call->comm), sent, sizeof sent);
    printf("Used %d ranks; the first sent %s.\n", dist_size(call->comm), sent);
}

/* The verbs that work over several processes. */
static bool is_shared(const cli_verb *verb)
{
    static cli_run *const shared[] = { cli_train, cli_svm, cli_verify };
    for (size_t k = 0; k < sizeof shared / sizeof *shared; k++)
        if (verb->run == shared[k])
            return true;
    return false;
}

/* Machines may differ in their number of threads, and only rank 0 prints and writes. */
static bool may_differ(const settings_table *table, const field *f)
{
    return table == &cli_common_table || strcmp(f->name, "threads") == 0;
}

enum { MOST_FLAGS = 64 };

/* What ranks must have in common: a hash of the verb and one of each setting. */
typedef struct sheet {
    uint64_t digests[MOST_FLAGS];
    const field *fields[MOST_FLAGS]; /* NULL: the verb, or whether help was asked for */
    const void *settings[MOST_FLAGS];
    int count;
} sheet;

static void add(sheet *s, const char *value, const field *f, const void *settings)
{
    assert(s->count < MOST_FLAGS);
    s->digests[s->count] = base_digest(BASE_DIGEST, value, strlen(value));
    s->fields[s->count] = f;
    s->settings[s->count++] = settings;
}

static sheet sheet_of(const cli_call *call)
{
    sheet s = { 0 };
    char value[4096];
    const settings_table *t;
    add(&s, call->verb->name, NULL, NULL);
    add(&s, call->help ? "help" : "", NULL, NULL);
    for (int k = 0; !call->help && (t = cli_table(call->verb, k)); k++)
        for (size_t f = 0; f < t->count; f++)
            if (!may_differ(t, &t->fields[f])) {
                base_settings_print(&t->fields[f], call->settings[k], value, sizeof value);
                add(&s, value, &t->fields[f], call->settings[k]);
            }
    return s;
}

/*
 * A rank with other flags than rank 0 would wait for messages that are never sent.  The data file
 * is compared by content when it is read.
 */
static attsvm_status compare_commands(const cli_call *call, attsvm_error *err)
{
    sheet own = sheet_of(call);
    uint64_t first[MOST_FLAGS];
    char flag[64], value[256], started[384];
    int k = 0, rank = dist_rank(call->comm);
    memcpy(first, own.digests, sizeof first);
    dist_broadcast(call->comm, first, sizeof first, 0);
    while (k < MOST_FLAGS && own.digests[k] == first[k])
        k++;
    if (k == MOST_FLAGS)
        return ATTSVM_OK;
    snprintf(started, sizeof started, "attsvm %s%s", call->verb->name, call->help ? " --help" : "");
    if (k < own.count && own.fields[k]) {
        cli_flag_name(own.fields[k], flag, sizeof flag);
        base_settings_print(own.fields[k], own.settings[k], value, sizeof value);
        snprintf(started, sizeof started, "--%s %s", flag, *value ? value : "''");
    }
    return fail(err, ATTSVM_E_ARG,
                "rank %d has %s, but rank 0 does not; start all ranks with the same flags", rank,
                started);
}

/* Number of processes started by a launcher; 0: no launcher. */
static long started_processes(void)
{
    const char *size = getenv("OMPI_COMM_WORLD_SIZE"); /* Open MPI; MPICH: */
    size = size ? size : getenv("PMI_SIZE");
    return size ? strtol(size, NULL, 10) : 0;
}

attsvm_status cli_ranks_check(cli_call *call, attsvm_status status, attsvm_error *err)
{
    cli_common *common = (cli_common *)call->common;
    TRY(dist_agree(call->comm, status, err));
    if (!dist_joins() && started_processes() > 1)
        return fail(
            err, ATTSVM_E_ARG,
            "mpirun started %ld processes, but this build has no MPI, and each would do the "
            "whole job; `make mpi` builds build-mpi/attsvm",
            started_processes());
    if (dist_size(call->comm) == 1)
        return ATTSVM_OK;
    TRY(dist_agree(call->comm, compare_commands(call, err), err));
    if (!is_shared(call->verb))
        return fail(err, ATTSVM_E_ARG, "this command runs in one process; start it without mpirun");
    if (dist_rank(call->comm) > 0 && !call->help) { /* rank 0 prints and writes for all */
        common->output_on_rank_0 = common->output != NULL;
        common->output = NULL;
        common->json = false;
        common->quiet = true;
    }
    return ATTSVM_OK;
}

attsvm_status cli_ranks_end(dist_comm *comm, attsvm_status status, bool *negative, bool *alone,
                            attsvm_error *err)
{
    *alone = false;
    if (!dist_meet(comm, status == ATTSVM_OK ? INFINITY : patience)) {
        /* the others wait for this rank, which cannot continue */
        attsvm_error said = *err;
        *alone = true;
        return fail(err, status, "rank %d: %.440s", dist_rank(comm), said.message);
    }
    status = dist_agree(comm, status, err);
    dist_broadcast(comm, negative, sizeof *negative, 0);
    if (dist_rank(comm) > 0)
        err->message[0] = '\0';
    return status;
}
