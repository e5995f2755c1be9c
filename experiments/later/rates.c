/* rates: how fast the step rules reach their common limit. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 6, T = 8, D = 10, DD = D * D, STEPS = 10000, RULES = 14, DRAWN = 4 };

/* The rule and the norm of its limit (theory 3); the figure has the first four. */
static const struct {
    const char *key, *name, *step, *norm, *eps;
    double size;
    bool plain; /* grows like the logarithm of the steps */
} rules[RULES] = {
    { "gd", "gradient descent, step 1", "gd", "fro", "", 1, true },
    { "ngd", "normalised, step 0.1", "ngd", "fro", "", 0.1, false },
    { "polyak", "Polyak", "polyak", "fro", "", 1, false },
    { "rescale", "normalised, rescaled", "rescale:2", "fro", "", 0.1, false },
    { "momentum", "momentum, step 1", "momentum", "fro", "", 1, true },
    { "md3", "md:3, step 1", "md:3", "lq:3", "", 1, true },
    { "nmd3", "nmd:3, step 1", "nmd:3", "lq:3", "", 1, false },
    { "sign", "sign, step 0.01", "sign", "linf", "", 0.01, false },
    { "signum", "signum, step 0.01", "signum", "linf", "", 0.01, false },
    { "adam", "adam, eps 0, step 0.001", "adam", "linf", "0", 0.001, false },
    { "coordinate", "coordinate, step 0.1", "coordinate", "l1", "", 0.1, false },
    { "spectral", "spectral, step 0.1", "spectral", "spectral", "", 0.1, false },
    { "muon", "muon, step 0.1", "muon", "spectral", "", 0.1, false },
    { "nuclear", "nuclear, step 0.1", "nuclear", "nuc", "", 0.1, false },
};

typedef struct job {
    const experiments_setup *setup;
    int64_t records;
    double *iter;     /* (records)              */
    double *distance; /* (RULES, runs, records) */
    double *excess;   /* -ln(L - L*), in the same shape */
} job;

/* 1 - correlation of every record to the SVM of the tokens selected at the end. */
static attsvm_status compare(const experiments_sample *sample, const attsvm_train *train,
                             const char *norm, double *distance, double *iter, int64_t records,
                             attsvm_error *err)
{
    int64_t alpha[N];
    double ids[N], svm[DD], *W;
    TRY(experiments_trained(train, "ids", ids, N, err));
    for (int i = 0; i < N; i++)
        alpha[i] = (int64_t)ids[i];
    TRY(experiments_sample_solve(sample, norm, alpha, svm, NULL, err));
    TRY(base_allocate(&W, (size_t)(records * DD), sizeof *W, "trace", err));
    attsvm_status status = experiments_trained(train, "trace_W", W, records * DD, err);
    if (status == ATTSVM_OK && iter)
        status = experiments_trained(train, "trace_iter", iter, records, err);
    for (int64_t k = 0; k < records && status == ATTSVM_OK; k++)
        distance[k] = 1 - attsvm_correlation(W + k * DD, svm, DD);
    free(W);
    return status;
}

static attsvm_status run_one(void *context, int64_t k, int worker, attsvm_error *err)
{
    job *j = context;
    int64_t rule = k % RULES, run = k / RULES;
    experiments_sample sample;
    attsvm_train *train = NULL;
    attsvm_train_settings s;
    (void)worker;
    TRY(experiments_sample_create(&sample, j->setup, N, T, D, 0, run, err));
    experiments_train_settings(j->setup, &s);
    s.model = ATTSVM_MODEL_W;
    s.step = rules[rule].step;
    s.lr = rules[rule].size;
    s.eps = rules[rule].eps;
    s.iters = STEPS;
    s.record = "log";
    s.init = "zero";
    s.seed = sample.seed; /* used by the disturbance only */
    attsvm_status status = attsvm_train_create(&train, sample.data, &s, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = experiments_train(j->setup, train, err);
    double *excess = j->excess + (rule * j->setup->runs + run) * j->records;
    if (status == ATTSVM_OK)
        status = experiments_trained(train, "trace_log_excess", excess, j->records, err);
    for (int64_t r = 0; r < j->records; r++)
        excess[r] = -excess[r];
    if (status == ATTSVM_OK)
        status = compare(&sample, train, rules[rule].norm,
                         j->distance + (rule * j->setup->runs + run) * j->records,
                         k == 0 ? j->iter : NULL, j->records, err);
    attsvm_train_free(train);
    experiments_sample_free(&sample);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup, .records = experiments_log_records(STEPS) };
    TRY(experiments_add(out, &j.iter, "steps", SHAPE(j.records), err));
    TRY(experiments_add(out, &j.distance, "distance", SHAPE(RULES, setup->runs, j.records), err));
    TRY(experiments_add(out, &j.excess, "excess", SHAPE(RULES, setup->runs, j.records), err));
    return experiments_parallel(setup, RULES * setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Quantile `share` over runs of record k of a rule; NAN where none is finite. */
static double quantile(const experiments_view *distance, int64_t rule, int64_t record, double share)
{
    int64_t runs = distance->shape[1], records = distance->shape[2], finite = 0;
    double *values = calloc((size_t)runs + 1, sizeof *values), result = NAN;
    for (int64_t k = 0; values && k < runs; k++) {
        double value = distance->x[(rule * runs + k) * records + record];
        if (isfinite(value))
            values[finite++] = value;
    }
    if (values && finite > 0) {
        qsort(values, (size_t)finite, sizeof *values, ascending);
        result = values[llround(share * (double)(finite - 1))];
    }
    free(values);
    return result;
}

/* Change of log10 of the median per decade of steps, from 1000 steps to the end. */
static double slope_of(const experiments_view *distance, const experiments_view *steps,
                       int64_t rule)
{
    const int64_t last = steps->count - 1;
    int64_t first = 0;
    while (first < last && steps->x[first] < 1000)
        first++;
    return base_log10(quantile(distance, rule, last, 0.5) / quantile(distance, rule, first, 0.5)) /
           base_log10(steps->x[last] / steps->x[first]);
}

/*
 * The excess falls like t^a (gradient descent) or like exp(-c t^b).  a: change of ln(L - L*) per
 * unit of ln t; b: change of ln(-ln(L - L*)) per unit of ln t; both from 1000 steps to the end.
 */
static double excess_exponent(const experiments_view *excess, const experiments_view *steps,
                              int64_t rule, bool plain)
{
    const int64_t last = steps->count - 1;
    int64_t first = 0;
    while (first < last && steps->x[first] < 1000)
        first++;
    double begin = quantile(excess, rule, first, 0.5), end = quantile(excess, rule, last, 0.5);
    double time = base_log(steps->x[last] / steps->x[first]);
    return plain ? -(end - begin) / time : base_log(end / begin) / time;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view distance, steps, excess;
    double median[RULES], exponent[RULES];
    TRY(experiments_get(r, "excess", &excess, err));
    TRY(experiments_get(r, "distance", &distance, err));
    TRY(experiments_get(r, "steps", &steps, err));
    for (int64_t rule = 0; rule < RULES; rule++) {
        char key[64], meaning[128];
        median[rule] = quantile(&distance, rule, distance.shape[2] - 1, 0.5);
        snprintf(key, sizeof key, "log10_distance_%s", rules[rule].key);
        snprintf(meaning, sizeof meaning, "log10 of the median of 1 - correlation at the end, %s",
                 rules[rule].name);
        experiments_number(out, key, base_log10(median[rule]), meaning);
        snprintf(key, sizeof key, "slope_%s", rules[rule].key);
        snprintf(meaning, sizeof meaning, "its change per decade of steps from 1000 on, %s",
                 rules[rule].name);
        experiments_number(out, key, slope_of(&distance, &steps, rule), meaning);
        exponent[rule] = excess_exponent(&excess, &steps, rule, rules[rule].plain);
        if (strcmp(rules[rule].key, "rescale") ==
            0) /* its norm keeps doubling, so there is no power of t to fit */
            continue;
        snprintf(key, sizeof key, "excess_%s", rules[rule].key);
        snprintf(meaning, sizeof meaning,
                 rules[rule].plain ? "a of L - L* ~ t^a from 1000 steps on, %s"
                                   : "b of L - L* ~ exp(-c t^b) from 1000 steps on, %s",
                 rules[rule].name);
        experiments_number(out, key, exponent[rule], meaning);
    }
    experiments_finds(out,
                      "After %d steps the median distance 1 - correlation is %.1e for gradient "
                      "descent, %.1e for normalised, %.1e for Polyak and %.1e for rescaled "
                      "normalised steps.",
                      STEPS, median[0], median[1], median[2], median[3]);
    experiments_finds(
        out,
        "The excess of the loss falls like t^{%.2f} for gradient descent, and like "
        "exp(-c t^b) with b = %.2f for normalised and %.2f for Polyak steps; rescaled steps "
        "double the norm again and again.",
        exponent[0], exponent[1], exponent[2]);
    experiments_finds(out, "Doubling W once its direction has settled does not help: a step of 0.1 "
                           "then turns it too little, and the direction freezes where it was.");
    char text[1200] =
        "Fitted from 1000 steps on, 1 - correlation to the SVM of the rule's own norm "
        "as a power of t, and the excess: ";
    for (int64_t rule = 0; rule < RULES; rule++) {
        size_t end = strlen(text);
        int64_t used = snprintf(text + end, sizeof text - end, "%s %.2f", rules[rule].step,
                                slope_of(&distance, &steps, rule));
        if (strcmp(rules[rule].key, "rescale") != 0)
            snprintf(text + end + used, sizeof text - end - (size_t)used,
                     rules[rule].plain ? ", t^{%.2f}; " : ", exp(-c t^{%.2f}); ", exponent[rule]);
        else
            snprintf(text + end + used, sizeof text - end - (size_t)used, "; ");
    }
    snprintf(text + strlen(text) - 2, 3, ".");
    experiments_finds(out, "%s", text);
    experiments_finds(out, "Exponents of the papers are quoted after summaries (docs/theory.md, "
                           "section 3.1); we have not seen the theorems of FR.");
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

/* Median and quartiles of each rule. */
static attsvm_status draw_panel(report_figure *f, const experiments_view *values,
                                const experiments_view *steps, attsvm_error *err)
{
    /* rescaled steps begin as normalised ones: dashes over a wide line show both */
    static const report_dash dashes[DRAWN] = { REPORT_SOLID, REPORT_SOLID, REPORT_DOTTED,
                                               REPORT_DASHED };
    static const double widths[DRAWN] = { 0, 3, 0, 0 };
    const int64_t records = steps->count;
    double *y;
    TRY(base_allocate(&y, (size_t)(3 * records), sizeof *y, "figure", err));
    for (int64_t rule = 0; rule < DRAWN; rule++) {
        for (int64_t k = 0; k < records; k++)
            for (int q = 0; q < 3; q++) {
                double value = quantile(values, rule, k, 0.25 + 0.25 * q);
                y[q * records + k] = steps->x[k] > 0 && value > 0 ? value : NAN;
            }
        report_add_series(f, &(report_series){ .kind = REPORT_BAND,
                                               .colour = (report_colour)rule,
                                               .count = records,
                                               .x = steps->x,
                                               .low = y,
                                               .high = y + 2 * records });
        report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                               .label = rules[rule].name,
                                               .colour = (report_colour)rule,
                                               .dash = dashes[rule],
                                               .size = widths[rule],
                                               .count = records,
                                               .x = steps->x,
                                               .y = y + records });
    }
    free(y);
    return ATTSVM_OK;
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view steps, distance, excess;
    TRY(experiments_get(r, "steps", &steps, err));
    TRY(experiments_get(r, "distance", &distance, err));
    TRY(experiments_get(r, "excess", &excess, err));
    *out = report_figure_create(2, 960, 460);
    report_add_panel(*out, &(report_panel){ .title = "Direction",
                                            .x = { .label = "steps", .log = true },
                                            .y = { .label = "1 - correlation to the SVM direction",
                                                   .log = true } });
    TRY(draw_panel(*out, &distance, &steps, err));
    report_add_panel(
        *out,
        &(report_panel){ .title = "Loss",
                         .x = { .label = "steps", .log = true },
                         .y = { .label = "-ln(L - L*)", .low = 0.5, .high = 1e4, .log = true } });
    return draw_panel(*out, &excess, &steps, err);
}

const experiment rates = {
    .id = "rates",
    .title = "Normalised and Polyak steps converge faster",
    .paper = "FR",
    .setting =
        "n=6, T=8, d=10, unit tokens, queries and head, random labels; model W from 0, exact "
        "gradients; gradient descent with step 1, normalised with 0.1, Polyak, and "
        "normalised steps that double W whenever its direction has settled; ten more rules in "
        "numbers only, with constant steps; 10000 steps.",
    .caption =
        "1 - correlation of W to the Frobenius SVM of the tokens selected at the end, and the "
        "excess of the loss over its limit L*: median and quartiles over the data sets.",
    .says =
        "Normalised and Polyak steps converge to the max-margin direction at finite-time rates, "
        "faster than gradient descent (FR, abstract). With steps t^{-1/2} the margins of "
        "normalised, "
        "sign and spectral descent and of Muon are within t^{-1/2} of the largest, for linear "
        "models (Fan, Schmidt, Thrampoulidis). Mirror descent converges at powers of log t (MD).",
    .runs = 20,
    .unit = "data sets",
    .seconds = 8,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
