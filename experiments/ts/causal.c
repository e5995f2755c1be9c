/* causal: self-attention, sequence output and causal masks. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 3, T = 5, D = 12, STEPS = 4000, VARIANTS = 4, FACTS = 5 };
enum { KIND, CORRELATION, EFFICIENCY, ATTENTION, TERMS };

/* Which tokens are queries. */
static const struct {
    const char *key, *name;
    int32_t query;
} variants[VARIANTS] = { { "given", "cross-attention", ATTSVM_QUERY_GIVEN },
                         { "token", "token 0", ATTSVM_QUERY_TOKEN },
                         { "all", "every token", ATTSVM_QUERY_ALL },
                         { "causal", "every token, causal", ATTSVM_QUERY_CAUSAL } };

typedef struct job {
    const experiments_setup *setup;
    double *facts; /* (VARIANTS, runs, FACTS) */
} job;

static attsvm_status run_one(void *context, int64_t at, int worker, attsvm_error *err)
{
    const job *j = context;
    const int64_t runs = j->setup->runs, k = at % runs, variant = at / runs;
    experiments_sample s;
    attsvm_train_settings settings;
    attsvm_train *run = NULL;
    attsvm_verdict verdict;
    attsvm_data *own = NULL; /* the queries of the data set are not used */
    double *facts = j->facts + at * FACTS;
    char init[32];
    (void)worker;
    TRY(experiments_sample_create(&s, j->setup, N, T, D, 0, k, err));
    attsvm_named_array arrays[] = { experiments_name("X", s.X, SHAPE(N, T, D)),
                                    experiments_name("Y", s.Y, SHAPE(N)),
                                    experiments_name("v", s.v, SHAPE(D)) };
    experiments_train_settings(j->setup, &settings);
    snprintf(init, sizeof init, "uniform:%.17g", 1 / sqrt((double)D));
    settings.model = ATTSVM_MODEL_W;
    settings.query = variants[variant].query;
    settings.init = init;
    settings.seed = s.seed;
    settings.iters = STEPS;
    attsvm_status status = attsvm_data_create(&own, arrays, 3, NULL, err);
    const attsvm_data *data = variants[variant].query == ATTSVM_QUERY_GIVEN ? s.data : own;
    if (status == ATTSVM_OK)
        status = attsvm_train_create(&run, data, &settings, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = experiments_train(j->setup, run, err);
    if (status == ATTSVM_OK)
        status = attsvm_verdict_compute(&verdict, run, NULL, NULL, NULL, NULL, err);
    if (status == ATTSVM_OK) {
        facts[KIND] = (double)verdict.kind;
        facts[CORRELATION] = verdict.correlation;
        facts[EFFICIENCY] = verdict.efficiency;
        facts[ATTENTION] = verdict.attention;
        facts[TERMS] = (double)verdict.terms;
    }
    attsvm_train_free(run);
    attsvm_data_free(own);
    experiments_sample_free(&s);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup };
    TRY(experiments_add(out, &j.facts, "facts", SHAPE(VARIANTS, setup->runs, FACTS), err));
    return experiments_parallel(setup, VARIANTS * setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

static double share(const experiments_view *f, int variant, attsvm_verdict_kind kind)
{
    const int64_t runs = f->shape[1];
    double count = 0;
    for (int64_t k = 0; k < runs; k++)
        count += f->x[(variant * runs + k) * FACTS + KIND] == (double)kind;
    return count / (double)runs;
}

/* Mean correlation over the runs whose attention is decided. */
static double correlation(const experiments_view *f, int variant)
{
    const int64_t runs = f->shape[1];
    double sum = 0, count = 0;
    for (int64_t k = 0; k < runs; k++) {
        const double *x = f->x + (variant * runs + k) * FACTS;
        bool decided = x[KIND] == ATTSVM_VERDICT_GLOBAL || x[KIND] == ATTSVM_VERDICT_LOCAL;
        sum += decided ? x[CORRELATION] : 0;
        count += decided;
    }
    return count > 0 ? sum / count : NAN;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view f;
    TRY(experiments_get(r, "facts", &f, err));
    for (int k = 0; k < VARIANTS; k++) {
        char key[48];
        double global = share(&f, k, ATTSVM_VERDICT_GLOBAL);
        double local = share(&f, k, ATTSVM_VERDICT_LOCAL);
        snprintf(key, sizeof key, "optimal_%s", variants[k].key);
        experiments_number(out, key, global + local, "share of runs that end locally optimal");
        snprintf(key, sizeof key, "global_%s", variants[k].key);
        experiments_number(out, key, global, "share of runs that end globally optimal");
        snprintf(key, sizeof key, "correlation_%s", variants[k].key);
        experiments_number(out, key, correlation(&f, k),
                           "mean correlation of these with the Frobenius SVM");
    }
    experiments_finds(
        out,
        "Runs end on locally optimal tokens in %.0f %% (cross-attention), %.0f %% "
        "(token 0 is the query), %.0f %% (every token) and %.0f %% (causal) of the "
        "data sets, with mean correlations %.4f, %.4f, %.4f and %.4f to the SVM over "
        "all queries.",
        100 * (share(&f, 0, ATTSVM_VERDICT_GLOBAL) + share(&f, 0, ATTSVM_VERDICT_LOCAL)),
        100 * (share(&f, 1, ATTSVM_VERDICT_GLOBAL) + share(&f, 1, ATTSVM_VERDICT_LOCAL)),
        100 * (share(&f, 2, ATTSVM_VERDICT_GLOBAL) + share(&f, 2, ATTSVM_VERDICT_LOCAL)),
        100 * (share(&f, 3, ATTSVM_VERDICT_GLOBAL) + share(&f, 3, ATTSVM_VERDICT_LOCAL)),
        correlation(&f, 0), correlation(&f, 1), correlation(&f, 2), correlation(&f, 3));
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const char *const names[VARIANTS + 1] = { "given", "token 0", "all", "causal", NULL };
    static const char *const kinds[] = { "global", "local only", "not local", "unsaturated" };
    enum { ROOM = 5 }; /* columns of a group, plus a gap */
    static const attsvm_verdict_kind kind_of[] = { ATTSVM_VERDICT_GLOBAL, ATTSVM_VERDICT_LOCAL,
                                                   ATTSVM_VERDICT_NOT_LOCAL,
                                                   ATTSVM_VERDICT_UNSATURATED };
    experiments_view f;
    double x[VARIANTS], y[VARIANTS];
    TRY(experiments_get(r, "facts", &f, err));
    *out = report_figure_create(2, 960, 400);
    report_add_panel(*out,
                     &(report_panel){ .title = "Where runs end",
                                      .x = { .label = "queries", .names = names },
                                      .y = { .label = "share of runs", .low = 0, .high = 1.02 } });
    for (int kind = 0; kind < 4; kind++) {
        for (int k = 0; k < VARIANTS; k++) {
            x[k] = k + (kind - 1.5) / ROOM;
            y[k] = share(&f, k, kind_of[kind]);
        }
        report_add_series(*out, &(report_series){ .kind = REPORT_BARS,
                                                  .label = kinds[kind],
                                                  .colour = (report_colour)kind,
                                                  .size = 0.9 / ROOM,
                                                  .count = VARIANTS,
                                                  .x = x,
                                                  .y = y });
    }
    report_add_panel(
        *out,
        &(report_panel){ .title = "Direction of those that are decided",
                         .x = { .label = "queries", .low = -0.5, .high = 3.5, .names = names },
                         .y = { .label = "mean correlation", .low = 0.995, .high = 1.0002 } });
    for (int k = 0; k < VARIANTS; k++) {
        x[k] = k;
        y[k] = correlation(&f, k);
    }
    report_add_series(
        *out,
        &(report_series){
            .kind = REPORT_POINTS, .colour = REPORT_BLUE, .count = VARIANTS, .x = x, .y = y });
    return ATTSVM_OK;
}

const experiment causal = {
    .id = "causal",
    .title = "Sequence output and causal masks",
    .paper = "TS",
    .setting = "n=3, T=5, d=12, unit tokens and head, random labels; model W from Uniform(1/sqrt "
               "d), exact normalised descent with step 0.1, 4000 steps. Queries: a given vector "
               "(cross-attention), token 0 of the sequence itself, every token, every token with a "
               "causal mask (15 loss terms each).",
    .caption = "Shares of the verdicts, and correlation of W with the Frobenius SVM over all "
               "queries of the selected tokens.",
    .says =
        "The results extend to sequence outputs: one constraint for every query, over the tokens "
        "that it sees.",
    .runs = 100,
    .unit = "data sets",
    .seconds = 8,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
