/* saturation: how far float32, float64 and exact evaluation follow the true direction. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 6, T = 8, D = 48, STEPS = 10000, RECORDS = STEPS + 1, KINDS = 3, MOST_POINTS = 64 };

static const char *const names[KINDS] = { "exact", "float64", "float32" };

typedef struct job {
    const experiments_setup *setup;
    int64_t points;
    int64_t at[MOST_POINTS];
    double *
        turn; /* (2, runs, points): 1 - cosine of float64 and float32 gradients with the true one */
    double *distance; /* (KINDS, runs, points): 1 - correlation of the run to its SVM          */
    double *norm;     /* (runs, points): |p| of the exact run                                  */
    double *selected; /* (KINDS, runs): whether the run ends on the tokens of the exact one    */
} job;

/* 1 - cosine, computed from the difference of unit vectors so that small values keep their
   digits. */
static double turn_of(const double *a, const double *b)
{
    double aa = 0, bb = 0, square = 0;
    for (int j = 0; j < D; j++) {
        aa += a[j] * a[j];
        bb += b[j] * b[j];
    }
    if (aa == 0 || bb == 0)
        return 1; /* a zero vector has no direction */
    for (int j = 0; j < D; j++) {
        double off = a[j] / sqrt(aa) - b[j] / sqrt(bb);
        square += off * off;
    }
    return square / 2;
}

/* The last exact step gives the true direction, up to the rounding of p. */
static attsvm_status compare_gradients(job *j, experiments_prompt q, const double *p, int64_t run,
                                       attsvm_error *err)
{
    int64_t runs = j->setup->runs;
    for (int64_t k = 0; k < j->points; k++) {
        const double *now = p + j->at[k] * D;
        double step[D], g[D], square = 0;
        for (int c = 0; c < D; c++) {
            step[c] = now[c] - now[c + D]; /* along the gradient */
            square += now[c] * now[c];
        }
        q.p = now;
        j->norm[run * j->points + k] = sqrt(square);
        for (int single = 0; single < 2; single++) {
            TRY(experiments_naive_gradient(&q, single == 1, g, err));
            j->turn[(single * runs + run) * j->points + k] = turn_of(g, step);
        }
    }
    return ATTSVM_OK;
}

static attsvm_status follow(job *j, experiments_prompt *q, double *trace, int64_t run,
                            attsvm_error *err)
{
    int64_t alpha[N] = { 0 }, runs = j->setup->runs;
    double svm[D];
    for (int kind = 0; kind < KINDS; kind++) {
        const double *end = trace + (ptrdiff_t)STEPS * D;
        if (kind == 0)
            TRY(experiments_exact(q, trace, NULL, NULL, err));
        else
            TRY(experiments_naive(q, kind == 2, trace, NULL, err));
        if (kind == 0) {
            TRY(compare_gradients(j, *q, trace, run, err));
            for (int i = 0; i < N; i++)
                alpha[i] = experiments_argmax(q, i, end);
            TRY(experiments_prompt_svm(q, ATTSVM_PROBLEM_P, alpha, svm, err));
        }
        bool same = true;
        for (int i = 0; i < N; i++)
            same = same && experiments_argmax(q, i, end) == alpha[i];
        j->selected[kind * runs + run] = same;
        for (int64_t k = 0; k < j->points; k++)
            j->distance[(kind * runs + run) * j->points + k] = turn_of(trace + j->at[k] * D, svm);
    }
    return ATTSVM_OK;
}

static attsvm_status run_one(void *context, int64_t run, int worker, attsvm_error *err)
{
    job *j = context;
    experiments_sample sample;
    const double zero[D] = { 0 };
    double *trace = NULL;
    (void)worker;
    TRY(experiments_sample_create(&sample, j->setup, N, T, D, 0, run, err));
    experiments_prompt q = { .setup = j->setup,
                             .n = N,
                             .T = T,
                             .d = D,
                             .X = sample.X,
                             .Y = sample.Y,
                             .v = sample.v,
                             .p = zero,
                             .lr = 0.1,
                             .steps = STEPS };
    attsvm_status status =
        base_allocate(&trace, (size_t)RECORDS * D, sizeof *trace, "trace of p", err);
    if (status == ATTSVM_OK)
        status = follow(j, &q, trace, run, err);
    free(trace);
    experiments_sample_free(&sample);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup };
    double *steps;
    for (double at = 10; at < STEPS && j.points < MOST_POINTS; at *= 1.2)
        j.at[j.points++] = llround(at);
    j.at[j.points - 1] = STEPS - 1;
    TRY(experiments_add(out, &steps, "steps", SHAPE(j.points), err));
    TRY(experiments_add(out, &j.turn, "turn", SHAPE(2, setup->runs, j.points), err));
    TRY(experiments_add(out, &j.distance, "distance", SHAPE(KINDS, setup->runs, j.points), err));
    TRY(experiments_add(out, &j.norm, "norm", SHAPE(setup->runs, j.points), err));
    TRY(experiments_add(out, &j.selected, "same_tokens", SHAPE(KINDS, setup->runs), err));
    for (int64_t k = 0; k < j.points; k++)
        steps[k] = (double)j.at[k];
    return experiments_parallel(setup, setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

/* Geometric mean over runs of x[kind][run][point], with its deviation as a factor. */
static double middle(const experiments_view *x, int64_t kind, int64_t point, double *factor)
{
    int64_t runs = x->shape[1], points = x->shape[2];
    double sum = 0, squares = 0;
    for (int64_t run = 0; run < runs; run++)
        sum += base_log(fmax(x->x[(kind * runs + run) * points + point], 1e-33)) / (double)runs;
    for (int64_t run = 0; run < runs; run++) {
        double off = base_log(fmax(x->x[(kind * runs + run) * points + point], 1e-33)) - sum;
        squares += off * off;
    }
    if (factor)
        *factor = exp(runs > 1 ? sqrt(squares / (double)(runs - 1)) : 0);
    return base_exp(sum);
}

/* Norm of p at which the gradient of a type first has 1 - cosine = 1e-3, interpolated between
   two records in logarithms. */
static double trusted_norm(const experiments_view *turn, const experiments_view *norm, int kind)
{
    const double bar = base_log(1e-3);
    int64_t points = turn->shape[2];
    double last_turn = NAN, last_norm = NAN;
    for (int64_t k = 0; k < points; k++) {
        double mean, now = base_log(middle(turn, kind, k, NULL));
        experiments_mean(norm->x + k, norm->shape[0], points, &mean, NULL);
        if (now > bar && k == 0)
            return mean;
        if (now > bar)
            return last_norm * base_pow(mean / last_norm, (bar - last_turn) / (now - last_turn));
        last_turn = now;
        last_norm = mean;
    }
    return NAN;
}

/* Change of log10 of the exact run's distance per decade of steps, from 1000 steps to the end. */
static double slope_of(const experiments_view *distance, const experiments_view *steps)
{
    const int64_t last = steps->count - 1;
    int64_t first = 0;
    while (first < last && steps->x[first] < 1000)
        first++;
    return base_log10(middle(distance, 0, last, NULL) / middle(distance, 0, first, NULL)) /
           base_log10(steps->x[last] / steps->x[first]);
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view turn, distance, norm, same, steps;
    TRY(experiments_get(r, "turn", &turn, err));
    TRY(experiments_get(r, "distance", &distance, err));
    TRY(experiments_get(r, "norm", &norm, err));
    TRY(experiments_get(r, "same_tokens", &same, err));
    TRY(experiments_get(r, "steps", &steps, err));
    int64_t last = distance.shape[2] - 1, runs = distance.shape[1];
    double end[KINDS], kept[KINDS];
    for (int kind = 0; kind < KINDS; kind++) {
        char key[64], meaning[128];
        end[kind] = middle(&distance, kind, last, NULL);
        experiments_mean(same.x + kind * runs, runs, 1, &kept[kind], NULL);
        snprintf(key, sizeof key, "log10_distance_%s", names[kind]);
        snprintf(meaning, sizeof meaning, "log10 of 1 - correlation to the SVM at the end, %s",
                 names[kind]);
        experiments_number(out, key, base_log10(end[kind]), meaning);
    }
    experiments_number(out, "slope_exact", slope_of(&distance, &steps),
                       "its change per decade of steps from 1000 on, exact");
    double norm64 = trusted_norm(&turn, &norm, 0), norm32 = trusted_norm(&turn, &norm, 1);
    experiments_number(out, "trusted_norm_float64", norm64,
                       "|p| at which the float64 gradient is off by 1 - cos = 1e-3");
    experiments_number(out, "trusted_norm_float32", norm32, "the same in float32");
    experiments_finds(out,
                      "The textbook gradient loses its direction at |p| = %.0f in float32 and at "
                      "%.0f in float64, long before it underflows; the exact one keeps it.",
                      norm32, norm64);
    experiments_finds(out,
                      "After %d steps the distance to the SVM direction is %.1e with exact "
                      "gradients, %.1e in float64 and %.1e in float32; %.0f %% and %.0f %% of the "
                      "float64 and float32 runs end on the tokens of the exact one.",
                      STEPS, end[0], end[1], end[2], 100 * kept[1], 100 * kept[2]);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static void draw_curve(report_figure *f, const experiments_view *x, int64_t kind,
                       const double *along, int64_t stride, const char *label, report_colour colour)
{
    double points[MOST_POINTS][4];
    int64_t count = x->shape[2];
    for (int64_t k = 0; k < count; k++) {
        double factor, value = middle(x, kind, k, &factor);
        points[k][0] = along[k * stride];
        points[k][1] = value;
        points[k][2] = value / factor;
        points[k][3] = value * factor;
    }
    report_series s = { .kind = REPORT_BAND,
                        .colour = colour,
                        .count = count,
                        .x = points[0],
                        .low = points[0] + 2,
                        .high = points[0] + 3,
                        .stride = 4 };
    report_add_series(f, &s);
    s.kind = REPORT_LINE;
    s.label = label;
    s.y = points[0] + 1;
    s.low = s.high = NULL;
    report_add_series(f, &s);
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view turn, distance, norm, steps;
    double along[MOST_POINTS];
    TRY(experiments_get(r, "turn", &turn, err));
    TRY(experiments_get(r, "distance", &distance, err));
    TRY(experiments_get(r, "norm", &norm, err));
    TRY(experiments_get(r, "steps", &steps, err));
    for (int64_t k = 0; k < steps.count; k++)
        experiments_mean(norm.x + k, norm.shape[0], norm.shape[1], &along[k], NULL);
    *out = report_figure_create(2, 960, 420);
    report_add_panel(*out, &(report_panel){ .title = "The gradient on the exact path",
                                            .x = { .label = "|p|", .log = true },
                                            .y = { .label = "1 - cosine to the true gradient",
                                                   .log = true,
                                                   .low = 1e-28,
                                                   .high = 10 } });
    draw_curve(*out, &turn, 0, along, 1, "float64", REPORT_ORANGE);
    draw_curve(*out, &turn, 1, along, 1, "float32", REPORT_VERMILION);
    report_add_panel(*out, &(report_panel){ .title = "Where descent ends up",
                                            .x = { .label = "steps", .log = true },
                                            .y = { .label = "1 - correlation to the SVM direction",
                                                   .log = true } });
    draw_curve(*out, &distance, 0, steps.x, 1, "exact", REPORT_BLUE);
    draw_curve(*out, &distance, 1, steps.x, 1, "float64", REPORT_ORANGE);
    draw_curve(*out, &distance, 2, steps.x, 1, "float32", REPORT_VERMILION);
    return ATTSVM_OK;
}

const experiment saturation = {
    .id = "saturation",
    .title = "How far each arithmetic follows the true direction",
    .paper = "ours",
    .setting = "n=6, T=8, d=48, unit tokens and head, random labels; model p from 0, normalised "
               "descent, step 0.1, 10000 steps; exact evaluation, and the textbook gradient in "
               "float64 and float32.",
    .caption =
        "First panel: how far the textbook gradient points away from the true one, at the same "
        "points of the exact path. Second: distance of the three runs to the SVM direction "
        "of the tokens that the exact one selects. Geometric means and deviations over the "
        "data sets.",
    .runs = 10,
    .unit = "data sets",
    .seconds = 3,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
