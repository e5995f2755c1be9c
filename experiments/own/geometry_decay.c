/* geometry-decay: margin efficiency of step rules in their own norm, with decaying steps. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 6, T = 8, D = 10, RULES = 10, MARKS = 3, WAYS = 2 };

/* Each rule, the norm of its geometry, and the exponent used by the published proofs (theory 3). */
static const struct {
    const char *name, *step, *norm, *eps;
    attsvm_model_kind kind;
    double first, decay; /* a decaying step is first/(t+1)^decay */
} rules[RULES] = {
    { "ngd", "ngd", "fro", "", ATTSVM_MODEL_W, 1, 0.5 },
    { "sign", "sign", "linf", "", ATTSVM_MODEL_W, 0.1, 0.5 },
    { "signum", "signum", "linf", "", ATTSVM_MODEL_W, 0.1, 0.5 },
    { "adam", "adam", "linf", "0", ATTSVM_MODEL_W, 0.003, 1.0 / 3 },
    { "coordinate", "coordinate", "l1", "", ATTSVM_MODEL_W, 3, 0.5 },
    { "spectral", "spectral", "spectral", "", ATTSVM_MODEL_W, 0.5, 0.5 },
    { "muon", "muon", "spectral", "", ATTSVM_MODEL_W, 0.5, 0.5 },
    { "nuclear", "nuclear", "nuc", "", ATTSVM_MODEL_W, 3, 0.5 },
    { "KQ ngd", "ngd", "nuc", "", ATTSVM_MODEL_KQ, 0.3, 0.5 },
    { "nmd:3", "nmd:3", "lq:3", "", ATTSVM_MODEL_W, 10, 0.5 },
};
/* In the order of the figure, from the bottom. */
static const char *const rule_names[RULES + 1] = { "nmd:3",    "KQ ngd",     "nuclear", "muon",
                                                   "spectral", "coordinate", "adam",    "signum",
                                                   "sign",     "ngd",        NULL };
static const int64_t marks[MARKS] = { 100, 1000, 10000 };
static const double constant_step = 0.1;

typedef struct job {
    const experiments_setup *setup;
    double *efficiency; /* (runs, RULES, WAYS, MARKS) */
} job;

static attsvm_status run_way(const job *j, experiments_sample *s, int rule, int way, double *out,
                             attsvm_error *err)
{
    attsvm_train_settings settings;
    attsvm_train *train;
    char start[32];
    snprintf(start, sizeof start, "uniform:%.17g", 1 / sqrt((double)D));
    experiments_train_settings(j->setup, &settings);
    settings.model = (int32_t)rules[rule].kind;
    settings.step = rules[rule].step;
    settings.eps = rules[rule].eps;
    settings.lr = way == 0 ? constant_step : rules[rule].first;
    settings.decay = way == 0 ? 0 : rules[rule].decay;
    settings.init = rules[rule].kind == ATTSVM_MODEL_KQ ? start : "zero";
    settings.seed = s->seed;
    TRY(attsvm_train_create(&train, s->data, &settings, NULL, NULL, err));
    attsvm_status status = ATTSVM_OK;
    train_start(train);
    for (int m = 0; m < MARKS && status == ATTSVM_OK; m++) {
        train->settings.iters = marks[m];
        status = train_continue(train, experiments_observe_train, (void *)j->setup, err);
        if (status == ATTSVM_OK && train->info.outcome == ATTSVM_TRAIN_OBSERVER)
            status = EXPERIMENTS_STOPPED;
        if (status == ATTSVM_OK)
            status = experiments_efficiency(s, train, rules[rule].norm, &out[m], err);
    }
    attsvm_train_free(train);
    return status;
}

static attsvm_status run_rule(const void *context, experiments_sample *s, int64_t k, int rule,
                              attsvm_error *err)
{
    const job *j = context;
    for (int way = 0; way < WAYS; way++)
        TRY(run_way(j, s, rule, way, j->efficiency + ((k * RULES + rule) * WAYS + way) * MARKS,
                    err));
    return ATTSVM_OK;
}

static attsvm_status run_one(void *context, int64_t k, int worker, attsvm_error *err)
{
    const job *j = context;
    (void)worker;
    return experiments_each_rule(j, j->setup, N, T, D, k, RULES, run_rule, err);
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup };
    TRY(experiments_add(out, &j.efficiency, "efficiency", SHAPE(setup->runs, RULES, WAYS, MARKS),
                        err));
    return experiments_parallel(setup, setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

static double mean_at(const experiments_view *e, int rule, int way, int mark)
{
    double mean;
    experiments_mean(e->x + (rule * WAYS + way) * MARKS + mark, e->shape[0], RULES * WAYS * MARKS,
                     &mean, NULL);
    return mean;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view e;
    double least = 1;
    TRY(experiments_get(r, "efficiency", &e, err));
    for (int rule = 0; rule < RULES; rule++)
        for (int way = 0; way < WAYS; way++) {
            char key[64], meaning[96];
            snprintf(key, sizeof key, "%s_%s", way ? "decaying" : "constant", rules[rule].name);
            snprintf(meaning, sizeof meaning, "mean efficiency in %s after 10000 steps",
                     rules[rule].norm);
            experiments_number(out, key, mean_at(&e, rule, way, MARKS - 1), meaning);
        }
    for (int rule = 0; rule < RULES; rule++)
        least = fmin(least, mean_at(&e, rule, 1, MARKS - 1));
    experiments_number(out, "least_decaying", least, "smallest mean of the decaying ones");
    experiments_finds(
        out,
        "With decaying steps the mean efficiencies after 100, 1000 and 10 000 steps are "
        "%.3f, %.3f, %.3f (signum), %.3f, %.3f, %.3f (muon), %.3f, %.3f, %.3f (adam, "
        "eps 0) and %.3f, %.3f, %.3f (nuclear).",
        mean_at(&e, 2, 1, 0), mean_at(&e, 2, 1, 1), mean_at(&e, 2, 1, 2), mean_at(&e, 6, 1, 0),
        mean_at(&e, 6, 1, 1), mean_at(&e, 6, 1, 2), mean_at(&e, 3, 1, 0), mean_at(&e, 3, 1, 1),
        mean_at(&e, 3, 1, 2), mean_at(&e, 7, 1, 0), mean_at(&e, 7, 1, 1), mean_at(&e, 7, 1, 2));
    experiments_finds(
        out,
        "With a constant step of 0.1 they end at %.3f (signum), %.3f (muon), %.3f (adam) "
        "and %.3f (nuclear). Averages lag: adam follows a gradient that shrinks by at "
        "most 5e-4 a step in its logarithm, signum and muon one that shrinks by 0.105.",
        mean_at(&e, 2, 0, 2), mean_at(&e, 6, 0, 2), mean_at(&e, 3, 0, 2), mean_at(&e, 7, 0, 2));
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const char *const columns[MARKS + 1] = { "10^2", "10^3", "10^4", NULL };
    static const char *const titles[WAYS] = { "Step 0.1",
                                              "Step c/(t+1)^{1/2}, adam c/(t+1)^{1/3}" };
    experiments_view e;
    TRY(experiments_get(r, "efficiency", &e, err));
    *out = report_figure_create(2, 960, 520);
    for (int way = 0; way < WAYS; way++) {
        double x[RULES * MARKS], y[RULES * MARKS], value[RULES * MARKS];
        for (int rule = 0; rule < RULES; rule++)
            for (int m = 0; m < MARKS; m++) {
                int at = rule * MARKS + m;
                x[at] = m;
                y[at] = RULES - 1 - rule;
                value[at] = fmax(0, mean_at(&e, rule, way, m));
            }
        report_add_panel(*out, &(report_panel){ .title = titles[way],
                                                .x = { .label = "steps", .names = columns },
                                                .y = { .names = rule_names } });
        report_add_series(*out, &(report_series){ .kind = REPORT_CELLS,
                                                  .colour = REPORT_BLUE,
                                                  .count = RULES * MARKS,
                                                  .x = x,
                                                  .y = y,
                                                  .high = value });
    }
    return ATTSVM_OK;
}

const experiment geometry_decay = {
    .id = "geometry-decay",
    .title = "The step rule decides the norm: decaying steps",
    .paper = "ours, on statements about linear models (arXiv 2502.04664, 2602.16340)",
    .setting =
        "n=6, T=8, d=10, unit tokens, queries and head; model W from 0, K and Q from "
        "Uniform(1/sqrt d); constant step 0.1, and steps c/(t+1)^a with a = 1/2 (adam 1/3), c = "
        "1 (ngd), 0.1 (sign, signum), 0.003 (adam), 3 (coordinate, nuclear), 0.5 (spectral, "
        "muon), 0.3 (K, Q), 10 (nmd:3); signum and muon average gradients with 0.9, adam has "
        "eps = 0.",
    .caption =
        "Mean margin efficiency of each rule in the norm of its own geometry after 100, 1000 "
        "and 10 000 steps. Attention is not linear, so no theorem covers these runs.",
    .says = "For linear models with decaying steps, sign descent, signum and Adam lead to the "
            "l_infinity margin, spectral descent and Muon to the spectral one (Fan, Schmidt, "
            "Thrampoulidis, arXiv 2502.04664; Gronich, Vardi, arXiv 2602.16340).",
    .runs = 100,
    .unit = "instances",
    .seconds = 42,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
