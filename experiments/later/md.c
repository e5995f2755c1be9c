/*
 * md-path, md-corr: normalised mirror descent with the potential |W|_q^q converges to the l_q SVM.
 * A run has 6000 steps. For q = 3 the margin grows more slowly: the run goes on until its
 * efficiency changes by less than 1e-3 while the steps double, for at most 200 000 steps.
 */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 6, T = 8, D = 10, DD = D * D, RULES = 3, STEPS = 6000, CAP = 200000 };

static const struct {
    const char *step, *norm, *name;
} rules[RULES] = { { "nmd:1.75", "lq:1.75", "q=1.75" },
                   { "nmd:2", "fro", "q=2" },
                   { "nmd:3", "lq:3", "q=3" } };

static attsvm_status start(const experiments_sample *s, int rule, const char *record,
                           attsvm_train **out, attsvm_error *err)
{
    attsvm_train_settings settings;
    experiments_train_settings(s->setup, &settings);
    settings.model = ATTSVM_MODEL_W;
    settings.step = rules[rule].step;
    settings.init = "zero";
    settings.record = record;
    settings.iters = rule == 2 && *record ? CAP : STEPS;
    settings.seed = s->seed; /* used by the disturbance only */
    return attsvm_train_create(out, s->data, &settings, NULL, NULL, err);
}

/* ------------------------------------------------------------------------- md-corr */

typedef struct job {
    const experiments_setup *setup;
    double *W, *correlation, *efficiency, *steps;
} job;

static attsvm_status run_rule(const void *context, experiments_sample *s, int64_t k, int rule,
                              attsvm_error *err)
{
    const job *j = context;
    attsvm_train *train;
    double svm[DD];
    const int64_t row = k * RULES + rule;
    TRY(start(s, rule, "", &train, err));
    attsvm_status status = experiments_settle(s, train, rules[rule].norm, STEPS,
                                              rule == 2 ? CAP : STEPS, &j->efficiency[row], err);
    for (int other = 0; other < RULES && status == ATTSVM_OK; other++) {
        status = experiments_sample_solve(s, rules[other].norm, train->m->selected, svm, NULL, err);
        j->correlation[row * RULES + other] = attsvm_correlation(train->theta, svm, DD);
    }
    double norm = la_norm(train->theta, DD);
    for (int64_t e = 0; e < DD; e++)
        j->W[row * DD + e] = train->theta[e] / norm;
    j->steps[row] = (double)train->iter;
    attsvm_train_free(train);
    return status;
}

static attsvm_status run_one(void *context, int64_t k, int worker, attsvm_error *err)
{
    const job *j = context;
    (void)worker;
    return experiments_each_rule(j, j->setup, N, T, D, k, RULES, run_rule, err);
}

static attsvm_status run_corr(const experiments_setup *setup, experiments_arrays *out,
                              attsvm_error *err)
{
    job j = { .setup = setup };
    TRY(experiments_add(out, &j.W, "W", SHAPE(setup->runs, RULES, D, D), err));
    TRY(experiments_add(out, &j.correlation, "correlation", SHAPE(setup->runs, RULES, RULES), err));
    TRY(experiments_add(out, &j.efficiency, "efficiency", SHAPE(setup->runs, RULES), err));
    TRY(experiments_add(out, &j.steps, "steps", SHAPE(setup->runs, RULES), err));
    return experiments_parallel(setup, setup->runs, 0, 1, run_one, &j, err);
}

static double mean_at(const experiments_view *v, int64_t at)
{
    double mean;
    experiments_mean(v->x + at, v->shape[0], v->count / v->shape[0], &mean, NULL);
    return mean;
}

/* Share of entries of W/|W| that are below a tenth of the value they would have if all were
   equal. */
static double sparsity(const experiments_view *W, int rule)
{
    double small = 0;
    for (int64_t k = 0; k < W->shape[0]; k++)
        for (int64_t e = 0; e < DD; e++)
            small += fabs(W->x[(k * RULES + rule) * DD + e]) < 0.1 / D;
    return small / (double)(W->shape[0] * DD);
}

static attsvm_status numbers_corr(const experiments_result *r, experiments_numbers *out,
                                  attsvm_error *err)
{
    experiments_view c, e, W, steps;
    TRY(experiments_get(r, "correlation", &c, err));
    TRY(experiments_get(r, "efficiency", &e, err));
    TRY(experiments_get(r, "W", &W, err));
    TRY(experiments_get(r, "steps", &steps, err));
    double own = 0;
    for (int a = 0; a < RULES; a++) {
        char key[48], meaning[96];
        bool best = true;
        for (int b = 0; b < RULES; b++) {
            snprintf(key, sizeof key, "nmd%s_svm%s", rules[a].name + 2, rules[b].name + 2);
            snprintf(meaning, sizeof meaning, "mean correlation of nmd:%s to the l_q SVM, q = %s",
                     rules[a].name + 2, rules[b].name + 2);
            experiments_number(out, key, mean_at(&c, a * RULES + b), meaning);
            best &= mean_at(&c, a * RULES + b) <= mean_at(&c, a * RULES + a);
        }
        own += best;
        snprintf(key, sizeof key, "efficiency_%s", rules[a].name + 2);
        experiments_number(out, key, mean_at(&e, a), "mean margin efficiency in its own norm");
        snprintf(key, sizeof key, "small_%s", rules[a].name + 2);
        experiments_number(out, key, sparsity(&W, a),
                           "share of entries of W/|W| below a tenth of 1/d");
    }
    experiments_number(out, "own_closest", own, "rules whose own SVM is the closest, of three");
    experiments_finds(out,
                      "Each rule is closest to its own SVM: %.4f, %.4f, %.4f on the diagonal. "
                      "Efficiencies in the own norm: %.4f, %.4f, %.4f; q = 3 takes %.0f steps on "
                      "average until it settles.",
                      mean_at(&c, 0), mean_at(&c, 4), mean_at(&c, 8), mean_at(&e, 0),
                      mean_at(&e, 1), mean_at(&e, 2), mean_at(&steps, 2));
    experiments_finds(out,
                      "The smaller q, the sparser W: %.0f %%, %.0f %%, %.0f %% of its entries are "
                      "below a tenth of the mean size.",
                      100 * sparsity(&W, 0), 100 * sparsity(&W, 1), 100 * sparsity(&W, 2));
    return ATTSVM_OK;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

static const report_colour rule_colours[RULES] = { REPORT_BLUE, REPORT_VERMILION, REPORT_GREEN };

/* Entries of W/|W| in order of size, averaged over data sets. */
static void draw_entries(report_figure *f, const experiments_view *W)
{
    report_add_panel(f,
                     &(report_panel){ .title = "Entries of W by size",
                                      .x = { .label = "rank of the entry", .low = 1, .high = DD },
                                      .y = { .label = "|W_{ij}| / |W|", .low = 0 } });
    for (int rule = 0; rule < RULES; rule++) {
        double x[DD], mean[DD] = { 0 };
        for (int64_t k = 0; k < W->shape[0]; k++) {
            double size[DD];
            for (int64_t e = 0; e < DD; e++)
                size[e] = fabs(W->x[(k * RULES + rule) * DD + e]);
            qsort(size, DD, sizeof *size, by_size);
            for (int64_t e = 0; e < DD; e++)
                mean[e] += size[e] / (double)W->shape[0];
        }
        for (int64_t e = 0; e < DD; e++)
            x[e] = (double)(e + 1);
        report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                               .label = rules[rule].name,
                                               .colour = rule_colours[rule],
                                               .dash = (report_dash)rule,
                                               .count = DD,
                                               .x = x,
                                               .y = mean });
    }
}

static attsvm_status draw_corr(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const char *const runs[] = { "nmd:1.75", "nmd:2", "nmd:3", NULL };
    static const char *const svms[] = { "l_{1.75}", "l_2", "l_3", NULL };
    experiments_view c, W;
    double x[RULES * RULES], y[RULES * RULES], value[RULES * RULES], own[RULES * RULES];
    TRY(experiments_get(r, "correlation", &c, err));
    TRY(experiments_get(r, "W", &W, err));
    for (int k = 0; k < RULES * RULES; k++) {
        int row = k / RULES;
        x[k] = k % RULES;
        y[k] = row;
        value[k] = mean_at(&c, k);
        own[k] = row == k % RULES;
    }
    *out = report_figure_create(2, 960, 440);
    report_add_panel(*out, &(report_panel){ .title = "Mean correlation",
                                            .x = { .label = "SVM of the norm", .names = svms },
                                            .y = { .label = "trained by", .names = runs },
                                            .cell_low = 0.9 });
    report_add_series(*out, &(report_series){ .kind = REPORT_CELLS,
                                              .colour = REPORT_BLUE,
                                              .count = RULES * RULES,
                                              .x = x,
                                              .y = y,
                                              .low = own,
                                              .high = value });
    draw_entries(*out, &W);
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------- md-path */

enum { MOST_RECORDS = 400 };

static attsvm_status path_of(const experiments_sample *s, int rule, experiments_arrays *out,
                             attsvm_error *err)
{
    attsvm_train *train;
    double *steps = NULL, *c = NULL, svm[RULES][DD];
    char name[48];
    TRY(start(s, rule, "log", &train, err));
    attsvm_status status = experiments_train(s->setup, train, err);
    for (int other = 0; other < RULES && status == ATTSVM_OK; other++)
        status = experiments_sample_solve(s, rules[other].norm, train->m->selected, svm[other],
                                          NULL, err);
    const train_trace *trace = &train->trace;
    snprintf(name, sizeof name, "steps_%s", rules[rule].name + 2);
    if (status == ATTSVM_OK)
        status = experiments_add(out, &steps, name, SHAPE(trace->count), err);
    snprintf(name, sizeof name, "correlation_%s", rules[rule].name + 2);
    if (status == ATTSVM_OK)
        status = experiments_add(out, &c, name, SHAPE(trace->count, RULES), err);
    for (int64_t k = 0; k < trace->count && status == ATTSVM_OK; k++) {
        steps[k] = (double)trace->iter[k];
        for (int other = 0; other < RULES; other++)
            c[k * RULES + other] = attsvm_correlation(trace->theta[0] + k * DD, svm[other], DD);
    }
    attsvm_train_free(train);
    return status;
}

static attsvm_status run_path(const experiments_setup *setup, experiments_arrays *out,
                              attsvm_error *err)
{
    experiments_sample s;
    attsvm_status status = ATTSVM_OK;
    TRY(experiments_sample_create(&s, setup, N, T, D, 0, 0, err));
    for (int rule = 0; rule < RULES && status == ATTSVM_OK; rule++) {
        status = path_of(&s, rule, out, err);
        experiments_progress(setup, (double)(rule + 1) / RULES);
    }
    experiments_sample_free(&s);
    return status;
}

static attsvm_status path_views(const experiments_result *r, int rule, experiments_view *steps,
                                experiments_view *c, attsvm_error *err)
{
    char name[48];
    snprintf(name, sizeof name, "steps_%s", rules[rule].name + 2);
    TRY(experiments_get(r, name, steps, err));
    snprintf(name, sizeof name, "correlation_%s", rules[rule].name + 2);
    return experiments_get(r, name, c, err);
}

static attsvm_status numbers_path(const experiments_result *r, experiments_numbers *out,
                                  attsvm_error *err)
{
    double own = 0, last[RULES] = { 0 };
    for (int rule = 0; rule < RULES; rule++) {
        experiments_view steps, c;
        char key[32];
        bool best = true;
        TRY(path_views(r, rule, &steps, &c, err));
        const double *end = c.x + (steps.count - 1) * RULES;
        for (int other = 0; other < RULES; other++)
            best &= end[other] <= end[rule];
        own += best;
        last[rule] = end[rule];
        snprintf(key, sizeof key, "own_%s", rules[rule].name + 2);
        experiments_number(out, key, end[rule], "correlation to the own SVM at the end");
    }
    experiments_number(out, "own_closest", own, "rules whose own SVM is the closest, of three");
    experiments_finds(out,
                      "Each rule ends along the SVM of its own norm (correlations %.4f, %.4f, "
                      "%.4f). With q = 3 it takes two orders of magnitude more steps: theta = "
                      "u^{1/2} grows like the square root of the steps only, so the run goes on to "
                      "200 000.",
                      last[0], last[1], last[2]);
    return ATTSVM_OK;
}

static attsvm_status draw_path(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const char *const labels[RULES] = { "SVM of l_{1.75}", "SVM of l_2", "SVM of l_3" };
    *out = report_figure_create(3, 960, 400);
    for (int rule = 0; rule < RULES; rule++) {
        experiments_view steps, c;
        TRY(path_views(r, rule, &steps, &c, err));
        report_add_panel(
            *out, &(report_panel){ .title = rules[rule].step,
                                   .x = { .label = "steps", .low = 1, .high = CAP, .log = true },
                                   .y = { .label = "correlation of W", .low = 0, .high = 1.02 } });
        for (int other = 0; other < RULES; other++) {
            double y[MOST_RECORDS];
            int64_t count = steps.count < MOST_RECORDS ? steps.count : MOST_RECORDS;
            for (int64_t k = 0; k < count; k++)
                y[k] = c.x[k * RULES + other];
            report_add_series(
                *out, &(report_series){ .kind = REPORT_LINE,
                                        .label = labels[other],
                                        .colour = rule_colours[other],
                                        .dash = other == rule ? REPORT_SOLID : REPORT_DASHED,
                                        .count = count - 1,
                                        .x = steps.x + 1,
                                        .y = y + 1 });
        }
    }
    return ATTSVM_OK;
}

const experiment md_path = {
    .id = "md-path",
    .title = "The potential chooses the norm: one data set",
    .paper = "MD",
    .setting =
        "n=6, T=8, d=10, unit tokens, queries and head; model W from 0, normalised mirror "
        "descent nmd:q, q = 1.75, 2, 3 (the paper's p), step 0.1; 6000 steps, q = 3: 200 000.",
    .caption =
        "Correlation of W to the certified l_q SVM solutions of the tokens it selects; solid: "
        "the norm of the rule itself.",
    .says = "Mirror descent with the potential |W|_q^q converges in direction to the max-margin "
            "solution in the l_q norm.",
    .seconds = 1,
    .run = run_path,
    .numbers = numbers_path,
    .draw = draw_path,
};

const experiment md_corr = {
    .id = "md-corr",
    .title = "The potential chooses the norm: correlations",
    .paper = "MD",
    .setting = "As md-path, on many data sets; q = 3 until the efficiency settles (less than 1e-3 "
               "over a doubling of steps, at most 200 000).",
    .caption =
        "First panel: mean correlation of the trained W (rows) to the l_q SVM solutions of its "
        "tokens (columns); framed: the rule's own norm; white is 0.9. Second panel: sizes of the "
        "entries of W, largest first.",
    .says = "Each rule ends closest to the SVM of its own q, and a small q makes W sparse.",
    .runs = 100,
    .unit = "data sets",
    .seconds = 15,
    .run = run_corr,
    .numbers = numbers_corr,
    .draw = draw_corr,
};
