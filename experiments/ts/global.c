/* ts-global: how often descent ends on the optimal tokens, by dimension, sequences and length. */
#include "experiments/tools/tools.h"

#include <string.h>

enum { POINTS = 18, STEPS = 2000, BLOCK = 20, KINDS = 4 };

typedef struct shape {
    int64_t n, T, d;
} shape;

static const shape points[POINTS] = {
    { 6, 8, 2 },   { 6, 8, 4 },  { 6, 8, 6 },  { 6, 8, 8 },  { 6, 8, 10 },  { 6, 8, 15 },
    { 6, 8, 20 },  { 6, 8, 30 }, { 2, 8, 10 }, { 4, 8, 10 }, { 8, 8, 10 },  { 10, 8, 10 },
    { 12, 8, 10 }, { 6, 2, 10 }, { 6, 4, 10 }, { 6, 6, 10 }, { 6, 10, 10 }, { 6, 12, 10 },
};

static const attsvm_verdict_kind kinds[KINDS] = { ATTSVM_VERDICT_GLOBAL, ATTSVM_VERDICT_LOCAL,
                                                  ATTSVM_VERDICT_NOT_LOCAL,
                                                  ATTSVM_VERDICT_UNSATURATED };
static const char *const names[KINDS] = { "globally optimal", "locally optimal only",
                                          "not locally optimal", "not saturated" };

typedef struct job {
    const experiments_setup *setup;
    double *kind; /* (POINTS, runs) */
    int64_t blocks;
} job;

/* Runs first..first+count-1 of a point as one batch. */
static attsvm_status run_block(void *context, int64_t k, int worker, attsvm_error *err)
{
    const job *j = context;
    const int64_t runs = j->setup->runs, point = k / j->blocks, first = k % j->blocks * BLOCK;
    const int64_t count = runs - first < BLOCK ? runs - first : BLOCK;
    const shape *s = &points[point];
    experiments_sample sample[BLOCK] = { { 0 } };
    attsvm_train *train[BLOCK] = { NULL };
    attsvm_status status = ATTSVM_OK;
    (void)worker;
    for (int64_t i = 0; i < count && status == ATTSVM_OK; i++) {
        status =
            experiments_sample_create(&sample[i], j->setup, s->n, s->T, s->d, 0, first + i, err);
        if (status == ATTSVM_OK)
            status = experiments_sample_train(&sample[i], ATTSVM_MODEL_W, "ngd", false, "", STEPS,
                                              &train[i], err);
    }
    if (status == ATTSVM_OK)
        status = attsvm_train_run_batch(train, count, 1, NULL, NULL, err);
    for (int64_t i = 0; i < count && status == ATTSVM_OK; i++) {
        attsvm_verdict verdict;
        status = attsvm_verdict_compute(&verdict, train[i], NULL, NULL, NULL, NULL, err);
        j->kind[point * runs + first + i] = verdict.kind;
    }
    for (int64_t i = 0; i < count; i++) {
        attsvm_train_free(train[i]);
        experiments_sample_free(&sample[i]);
    }
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup, .blocks = (setup->runs + BLOCK - 1) / BLOCK };
    double *where;
    TRY(experiments_add(out, &where, "points", SHAPE(POINTS, 3), err));
    TRY(experiments_add(out, &j.kind, "kind", SHAPE(POINTS, setup->runs), err));
    for (int k = 0; k < POINTS; k++) {
        where[3 * k] = (double)points[k].n;
        where[3 * k + 1] = (double)points[k].T;
        where[3 * k + 2] = (double)points[k].d;
    }
    return experiments_parallel(setup, POINTS * j.blocks, 0, 1, run_block, &j, err);
}

/* Share of one kind at a point. */
static double share(const experiments_view *kind, int64_t point, attsvm_verdict_kind wanted)
{
    const int64_t runs = kind->shape[1];
    double count = 0;
    for (int64_t i = 0; i < runs; i++)
        count += kind->x[point * runs + i] == (double)wanted;
    return count / (double)runs;
}

static int64_t point_of(int64_t n, int64_t T, int64_t d)
{
    int64_t k = 0;
    while (k < POINTS - 1 && !(points[k].n == n && points[k].T == T && points[k].d == d))
        k++;
    return k;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view kind;
    double known = 0;
    TRY(experiments_get(r, "kind", &kind, err));
    for (int64_t k = 0; k < POINTS; k++) {
        char key[48], meaning[96];
        const shape *s = &points[k];
        for (int c = 0; c < KINDS; c++)
            known += share(&kind, k, kinds[c]) / POINTS;
        snprintf(key, sizeof key, "global_n%d_T%d_d%d", (int)s->n, (int)s->T, (int)s->d);
        snprintf(meaning, sizeof meaning, "share of globally optimal runs, n=%d, T=%d, d=%d",
                 (int)s->n, (int)s->T, (int)s->d);
        experiments_number(out, key, share(&kind, k, ATTSVM_VERDICT_GLOBAL), meaning);
    }
    int64_t few = point_of(6, 8, 2), usual = point_of(6, 8, 10), many = point_of(6, 8, 30);
    double local =
        share(&kind, usual, ATTSVM_VERDICT_GLOBAL) + share(&kind, usual, ATTSVM_VERDICT_LOCAL);
    double rise =
        share(&kind, many, ATTSVM_VERDICT_GLOBAL) - share(&kind, few, ATTSVM_VERDICT_GLOBAL);
    experiments_number(out, "local_n6_T8_d10", local,
                       "share of runs that are at least locally optimal, n=6, T=8, d=10");
    experiments_number(out, "rise_with_d", rise, "global share at d=30 less that at d=2");
    experiments_number(out, "judged", known, "share of runs with one of the four verdicts");
    experiments_finds(out,
                      "The share of globally optimal runs rises from %.2f at d=2 over %.2f at d=10 "
                      "to %.2f at d=30: over-parametrisation helps. It falls with the number of "
                      "sequences (%.2f at n=2, %.2f at n=12) and with their length (%.2f at T=2, "
                      "%.2f at T=12).",
                      share(&kind, few, ATTSVM_VERDICT_GLOBAL),
                      share(&kind, usual, ATTSVM_VERDICT_GLOBAL),
                      share(&kind, many, ATTSVM_VERDICT_GLOBAL),
                      share(&kind, point_of(2, 8, 10), ATTSVM_VERDICT_GLOBAL),
                      share(&kind, point_of(12, 8, 10), ATTSVM_VERDICT_GLOBAL),
                      share(&kind, point_of(6, 2, 10), ATTSVM_VERDICT_GLOBAL),
                      share(&kind, point_of(6, 12, 10), ATTSVM_VERDICT_GLOBAL));
    experiments_finds(out,
                      "In small dimensions many runs have not saturated after 2000 steps (%.2f at "
                      "d=2): theory speaks of their limit, not of them.",
                      share(&kind, few, ATTSVM_VERDICT_UNSATURATED));
    return ATTSVM_OK;
}

/* One panel: shares along one of n, T, d (0, 1, 2), at the points listed. */
static void draw_panel(report_figure *f, const experiments_view *kind, int axis, const char *title,
                       const char *label, const int64_t *list, int64_t count)
{
    static const report_colour colours[KINDS] = { REPORT_BLUE, REPORT_GREEN, REPORT_VERMILION,
                                                  REPORT_GREY };
    static const report_mark marks[KINDS] = { REPORT_DISC, REPORT_TRIANGLE, REPORT_SQUARE,
                                              REPORT_RING };
    report_add_panel(
        f, &(report_panel){ .title = title,
                            .x = { .label = label },
                            .y = { .label = "share of runs", .low = -0.03, .high = 1.03 } });
    for (int c = 0; c < KINDS; c++) {
        double x[POINTS], y[POINTS], low[POINTS], high[POINTS];
        for (int64_t k = 0; k < count; k++) {
            const shape *s = &points[list[k]];
            double p = share(kind, list[k], kinds[c]);
            /* Wilson's interval (one deviation), which does not vanish at 0 and 1 */
            double n = (double)kind->shape[1], centre = (p + 0.5 / n) / (1 + 1 / n);
            double error = sqrt(p * (1 - p) / n + 0.25 / (n * n)) / (1 + 1 / n);
            x[k] = (double)(axis == 0 ? s->n : axis == 1 ? s->T : s->d);
            y[k] = p;
            low[k] = centre - error;
            high[k] = centre + error;
        }
        report_add_series(f, &(report_series){ .kind = REPORT_MARKS,
                                               .label = names[c],
                                               .colour = colours[c],
                                               .mark = marks[c],
                                               .count = count,
                                               .x = x,
                                               .y = y,
                                               .low = low,
                                               .high = high });
    }
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const int64_t by_d[] = { 0, 1, 2, 3, 4, 5, 6, 7 }, by_n[] = { 8, 9, 4, 10, 11, 12 },
                         by_T[] = { 13, 14, 15, 4, 16, 17 };
    experiments_view kind;
    TRY(experiments_get(r, "kind", &kind, err));
    *out = report_figure_create(3, 960, 400);
    draw_panel(*out, &kind, 2, "n = 6, T = 8", "dimension d", by_d, 8);
    draw_panel(*out, &kind, 0, "T = 8, d = 10", "sequences n", by_n, 6);
    draw_panel(*out, &kind, 1, "n = 6, d = 10", "tokens a sequence T", by_T, 6);
    return ATTSVM_OK;
}

const experiment ts_global = {
    .id = "ts-global",
    .title = "More dimensions, more often the best tokens",
    .paper = "TS",
    .setting = "Unit tokens, queries and head, random labels; model W from Uniform(1/sqrt d), "
               "normalised gradient descent, step 0.1, 2000 steps, logistic loss. 18 shapes.",
    .caption =
        "Shares of runs by verdict, with Wilson intervals of one standard deviation, which do "
        "not vanish at 0 and 1. Every run is judged by the certified Frobenius SVM of the "
        "tokens it selected.",
    .says = "Over-parametrisation catalyses global convergence: the larger d, the more often "
            "gradient descent ends on the globally optimal tokens; otherwise it ends on locally "
            "optimal ones.",
    .runs = 1000,
    .unit = "runs a point",
    .seconds = 15,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
