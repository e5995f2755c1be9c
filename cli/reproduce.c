/* attsvm reproduce: the published experiments by name. */
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char DIRECTORY[] = "reproduced"; /* without -o */

/* ------------------------------------------------------------------------- progress */

/* A bar on a terminal, rewritten a few times a second. */
typedef struct live {
    const experiment *now;
    double before, total; /* seconds that the experiments before this one, and all, should take */
    double start, shown;
    bool wanted;
} live;

static void show_progress(void *context, double share)
{
    enum { WIDTH = 24 };
    live *l = context;
    double now = l->wanted ? base_seconds() : 0;
    if (!l->wanted || now - l->shown < 0.2)
        return;
    double done = fmin(1, (l->before + share * l->now->seconds) / l->total);
    double elapsed = now - l->start, left = done > 0 ? elapsed * (1 - done) / done : 0;
    char bar[WIDTH + 1];
    for (int k = 0; k < WIDTH; k++)
        bar[k] = k < (int)(done * WIDTH) ? '#' : '.';
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K[%s] %3.0f %%  %s %.0f %%, %.0f s left", bar, 100 * done, l->now->id,
            100 * share, left);
    fflush(stderr);
    l->shown = now;
}

static void end_progress(live *l)
{
    if (l->shown > 0)
        fputs("\r\033[K", stderr);
    l->shown = 0;
}

/* ------------------------------------------------------------------------- printing */

static attsvm_status list(const cli_call *call, attsvm_error *err)
{
    if (!call->common->json) {
        printf("Experiments, to be run by attsvm reproduce ID... or --all:\n\n");
        for (const experiment *const *e = experiments_all; *e; e++)
            printf("  %-18s %s (%s)\n", (*e)->id, (*e)->title, (*e)->paper);
        return ATTSVM_OK;
    }
    io_json *json = io_json_object(), *ids = io_json_list();
    for (const experiment *const *e = experiments_all; *e; e++)
        io_json_append(ids, io_json_text((*e)->id));
    io_json_set(json, "ids", ids);
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

static void print_outcome(const experiments_outcome *o)
{
    printf("%-18s %7.2f s", o->experiment->id, o->seconds);
    int64_t checked = 0, unjudged = 0;
    for (int64_t k = 0; k < o->numbers.count; k++) {
        const experiments_check *c = &o->numbers.items[k];
        checked += (c->expected.known && !c->expected.unjudged) || c->own.known;
        unjudged += c->expected.unjudged;
    }
    if (o->failed > 0)
        printf("  %" PRId64 " of %" PRId64 " key number%s not as expected", o->failed, checked,
               checked == 1 ? " is" : "s are");
    else if (checked > 0)
        printf("  %" PRId64 " key number%s as expected", checked, base_plural(checked));
    else if (unjudged == 0)
        printf("  nothing to compare with");
    if (unjudged > 0)
        printf("%s%" PRId64 " from too few runs to judge", checked + o->failed > 0 ? ", " : "  ",
               unjudged);
    printf("\n");
    for (int64_t k = 0; k < o->numbers.count; k++) {
        const experiments_check *c = &o->numbers.items[k];
        if (c->expected.missed)
            printf("    %s = %.8g, expected %.8g +- %.2g (%s)\n", c->key, c->value,
                   c->expected.value, c->expected.tolerance, c->source);
        if (c->own.missed)
            printf("    %s = %.12g, expected %.12g +- %.2g (our own run of this size)\n", c->key,
                   c->value, c->own.value, c->own.tolerance);
    }
    fflush(stdout);
}

static io_json *outcome_json(const experiments_outcome *o)
{
    io_json *json = io_json_object(), *numbers = io_json_object();
    for (int64_t k = 0; k < o->numbers.count; k++)
        io_json_set(numbers, o->numbers.items[k].key, io_json_number(o->numbers.items[k].value));
    io_json_set(json, "seconds", io_json_number(o->seconds));
    io_json_set(json, "failed", io_json_integer(o->failed));
    io_json_set(json, "numbers", numbers);
    return json;
}

/* An experiment that the time limit ended is named. */
static void tell_outcome(const cli_call *call, const experiments_outcome *o, io_json *json)
{
    const char *id = o->experiment->id;
    if (call->common->json && o->stopped)
        io_json_set(json, "stopped", io_json_text(id));
    else if (call->common->json)
        io_json_set(json, id, outcome_json(o));
    else if (!call->common->quiet && o->stopped)
        printf("%-18s stopped by --time-limit\n", id);
    else if (!call->common->quiet)
        print_outcome(o);
}

/* ------------------------------------------------------------------------------ run */

/* The experiments to run, in the order of the registry, into chosen; NULL-terminated. */
static attsvm_status choose(const cli_call *call, const experiments_settings *s,
                            const experiment **chosen, attsvm_error *err)
{
    int count = 0;
    for (int k = 0; k < call->count; k++) {
        const experiment *found;
        TRY(experiments_find(call->arguments[k], &found, err));
    }
    if (s->all && call->count > 0)
        return fail(err, ATTSVM_E_ARG, "Use either --all or %s, not both.", call->arguments[0]);
    for (const experiment *const *e = experiments_all; *e; e++) {
        bool wanted = s->all;
        for (int k = 0; k < call->count; k++)
            wanted = wanted || strcmp(call->arguments[k], (*e)->id) == 0;
        if (wanted && s->data && !(*e)->takes_data && !s->all)
            return fail(err, ATTSVM_E_ARG, "--data: %s uses its own data.", (*e)->id);
        if (wanted)
            chosen[count++] = *e;
    }
    chosen[count] = NULL;
    return ATTSVM_OK;
}

static attsvm_status make_directory(const char *path, attsvm_error *err)
{
    struct stat info;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &info) == 0 &&
                                   S_ISDIR(info.st_mode) && access(path, W_OK) == 0))
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_OPEN, "%s: cannot write to this directory: %s", path,
                strerror(errno == EEXIST ? ENOTDIR : errno));
}

static attsvm_status run_chosen(cli_call *call, const experiments_settings *s,
                                experiments_stop *stop, const experiment *const *chosen,
                                const char *directory, io_json *json, attsvm_error *err)
{
    bool stopped = false;
    live progress = { .start = base_seconds(),
                      .wanted = !call->common->quiet && isatty(STDERR_FILENO) == 1 };
    for (const experiment *const *e = chosen; *e; e++)
        progress.total += (*e)->seconds;
    for (const experiment *const *e = chosen; *e && !stopped; e++) {
        experiments_outcome outcome;
        experiments_setup setup = { .runs = s->runs > 0 && (*e)->runs > 0 ? s->runs : (*e)->runs,
                                    .seed = call->common->seed,
                                    .threads = call->common->threads,
                                    .disturb = s->disturb,
                                    .disturb_seed = s->disturb_seed,
                                    .data = (*e)->takes_data ? s->data : NULL,
                                    .progress = show_progress,
                                    .context = &progress,
                                    .stop = stop };
        progress.now = *e;
        attsvm_status status = experiments_reproduce(*e, s, &setup, directory, &outcome, err);
        end_progress(&progress);
        progress.before += (*e)->seconds;
        if (status == ATTSVM_OK)
            tell_outcome(call, &outcome, json);
        stopped = outcome.stopped;
        call->negative =
            call->negative || stopped || (s->check && status == ATTSVM_OK && outcome.failed > 0);
        experiments_outcome_free(&outcome);
        if (status != ATTSVM_OK)
            return base_fail_in(err, status, (*e)->id);
    }
    return experiments_page(directory, err);
}

attsvm_status cli_reproduce(cli_call *call, attsvm_error *err)
{
    const experiments_settings *s = cli_settings(call, &experiments_table);
    const char *directory = call->common->output ? call->common->output : DIRECTORY;
    const experiment **chosen = NULL;
    experiments_stop stop;
    io_json *json = NULL;
    size_t count = 0;
    if (call->count == 0 && !s->all)
        return list(call, err);
    while (experiments_all[count])
        count++;
    TRY(base_allocate(&chosen, count + 1, sizeof *chosen, "list of experiments", err));
    attsvm_status status = choose(call, s, chosen, err);
    bool figures = experiments_ready(NULL) == ATTSVM_OK;
    if (status == ATTSVM_OK && !figures && (s->png || s->pdf || s->redraw))
        status = experiments_ready(err);
    if (status == ATTSVM_OK)
        status = make_directory(directory, err);
    json = io_json_object();
    experiments_stop_open(&stop, s->time_limit, NULL, NULL);
    if (status == ATTSVM_OK)
        status = run_chosen(call, s, &stop, chosen, directory, json, err);
    experiments_stop_close(&stop);
    if (status == ATTSVM_OK && call->common->json)
        status = io_json_print(json, stdout, false, err);
    else if (status == ATTSVM_OK && !call->common->quiet)
        printf("Wrote %s/index.html.%s\n", directory,
               figures ? "" : " Figures were left out: gnuplot is not installed (gnuplot-nox).");
    io_json_free(json);
    free(chosen);
    return status;
}
