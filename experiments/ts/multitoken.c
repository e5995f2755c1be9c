/* ts-multitoken: with a ReLU head attention keeps several tokens, W = W_fin + R W_svm. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 3, T = 4, TOKENS = N * T, STEPS = 2001, DIMENSIONS = 4, MOST_D = 10 };
enum { BLOCK = 16, BLOCKS = 64, ROUND = BLOCK * BLOCKS }; /* candidates of a batch, of a round */

static const int64_t dimensions[DIMENSIONS] = { 4, 6, 8, 10 };
static const double kept = 1e-3,
                    masked =
                        1e-6; /* a token above the first is kept, one below the second is dropped */

enum { FOLLOWED = 40 }; /* accepted runs of each dimension that are followed step by step */

/* Facts of an accepted run: 1 - correlation of W with the three candidates, and its description. */
enum { TO_BOTH, TO_SVM, TO_SINGLE, MASKED, TOKENS_KEPT, RADIUS, NORM, FACTS };

typedef struct candidate {
    bool accepted;
    double facts[FACTS];
} candidate;

typedef struct job {
    const experiments_setup *setup;
    int64_t d, first;         /* number of the first candidate of the round */
    candidate *out;           /* ROUND                                      */
    int64_t number[FOLLOWED]; /* the first accepted candidates */
    int64_t records;
    double *steps, *curve; /* (records), (FOLLOWED, records) of this dimension */
} job;

/* At least one token is dropped, and none is in between. */
static bool is_decided(const double *softmax, uint8_t *sets, double *largest_masked)
{
    bool between = false, gone = false;
    *largest_masked = 0;
    for (int t = 0; t < TOKENS; t++) {
        sets[t] = softmax[t] > kept;
        between |= softmax[t] > masked && softmax[t] <= kept;
        gone |= softmax[t] <= masked;
        if (softmax[t] <= masked)
            *largest_masked = fmax(*largest_masked, softmax[t]);
    }
    return gone && !between;
}

/* Solves one problem; *feasible is false if it has no solution. */
static attsvm_status solve(const experiments_sample *s, attsvm_problem_kind kind,
                           const attsvm_selection *selection, double *theta, bool *feasible,
                           attsvm_error *err)
{
    attsvm_svm_settings settings;
    attsvm_problem *problem;
    attsvm_solution *solution = NULL;
    attsvm_svm_settings_init(&settings);
    settings.problem = (int32_t)kind;
    settings.norm = ATTSVM_NORM_FRO;
    settings.head = ATTSVM_HEAD_RELU;
    settings.threads = 1;
    TRY(attsvm_problem_create(&problem, s->data, selection, &settings, err));
    attsvm_status status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, err);
    if (status == ATTSVM_OK) {
        attsvm_claim claim = attsvm_solution_claim(solution);
        *feasible = claim.outcome == ATTSVM_OPTIMAL;
        memcpy(theta, claim.theta, (size_t)(s->d * s->d) * sizeof *theta);
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return status;
}

/* Least-squares R in W = W_fin + R W_svm. */
static double radius_of(const double *W, const double *fin, const double *svm, int64_t count)
{
    double along = 0, square = 0;
    for (int64_t j = 0; j < count; j++) {
        along += (W[j] - fin[j]) * svm[j];
        square += svm[j] * svm[j];
    }
    return along / square;
}

static attsvm_status judge(const experiments_sample *s, const attsvm_train *run, candidate *out,
                           attsvm_error *err)
{
    uint8_t sets[TOKENS];
    double svm[MOST_D * MOST_D], fin[MOST_D * MOST_D], single[MOST_D * MOST_D];
    const int64_t count = s->d * s->d;
    const double *W = run->theta, *softmax = run->softmax;
    bool feasible = true;
    if (!is_decided(softmax, sets, &out->facts[MASKED]))
        return ATTSVM_OK;
    attsvm_selection several = { .sets = sets, .softmax = softmax, .cells = s->n * s->T };
    attsvm_selection one = { .alpha = run->m->selected, .terms = run->m->terms };
    TRY(solve(s, ATTSVM_PROBLEM_MULTI, &several, svm, &feasible, err));
    if (feasible)
        TRY(solve(s, ATTSVM_PROBLEM_FINITE, &several, fin, &feasible, err));
    if (feasible)
        TRY(solve(s, ATTSVM_PROBLEM_W, &one, single, &feasible, err));
    if (!feasible)
        return ATTSVM_OK;
    double R = radius_of(W, fin, svm, count);
    out->accepted = true;
    out->facts[TO_SVM] = 1 - attsvm_correlation(W, svm, count);
    out->facts[TO_SINGLE] = 1 - attsvm_correlation(W, single, count);
    for (int64_t j = 0; j < count; j++)
        fin[j] += R * svm[j];
    out->facts[TO_BOTH] = 1 - attsvm_correlation(W, fin, count);
    out->facts[RADIUS] = R;
    out->facts[NORM] = run->info.norm;
    for (int t = 0; t < TOKENS; t++)
        out->facts[TOKENS_KEPT] += sets[t];
    return ATTSVM_OK;
}

/* 1 - correlation of every record of an accepted run with its final W_fin + R W_svm; R is fitted
   at each record. */
static attsvm_status follow(void *context, int64_t k, int worker, attsvm_error *err)
{
    const job *j = context;
    experiments_sample s;
    attsvm_train *run = NULL;
    attsvm_multi_token several;
    double fin[MOST_D * MOST_D], svm[MOST_D * MOST_D], sum[MOST_D * MOST_D];
    const int64_t count = j->d * j->d;
    (void)worker;
    TRY(experiments_sample_create(&s, j->setup, N, T, j->d, j->d, j->number[k], err));
    attsvm_status status =
        experiments_sample_train(&s, ATTSVM_MODEL_W, "ngd", true, "log", STEPS, &run, err);
    if (status == ATTSVM_OK)
        status = experiments_train(j->setup, run, err);
    if (status == ATTSVM_OK)
        status =
            attsvm_multi_token_compare(&several, s.data, run->theta, NULL, fin, svm, NULL, err);
    for (int64_t r = 0; r < j->records && status == ATTSVM_OK; r++) {
        const double *W = run->trace.theta[0] + r * count;
        double R = radius_of(W, fin, svm, count);
        for (int64_t i = 0; i < count; i++)
            sum[i] = fin[i] + R * svm[i];
        j->steps[r] = (double)run->trace.iter[r];
        j->curve[k * j->records + r] = 1 - attsvm_correlation(W, sum, count);
    }
    attsvm_train_free(run);
    experiments_sample_free(&s);
    return status;
}

static bool has_negative_label(const experiments_sample *s)
{
    bool some = false;
    for (int64_t i = 0; i < s->n; i++)
        some |= s->Y[i] < 0;
    return some;
}

/* Trains a batch of candidates; those without a negative label are skipped. */
static attsvm_status run_block(void *context, int64_t k, int worker, attsvm_error *err)
{
    const job *j = context;
    experiments_sample sample[BLOCK] = { { 0 } };
    attsvm_train *train[BLOCK] = { NULL };
    candidate *out[BLOCK];
    attsvm_status status = ATTSVM_OK;
    int64_t count = 0;
    (void)worker;
    for (int64_t i = 0; i < BLOCK && status == ATTSVM_OK; i++) {
        experiments_sample *s = &sample[count];
        candidate *c = &j->out[k * BLOCK + i];
        *c = (candidate){ .accepted = false };
        status =
            experiments_sample_create(s, j->setup, N, T, j->d, j->d, j->first + k * BLOCK + i, err);
        if (status == ATTSVM_OK && !has_negative_label(s)) {
            experiments_sample_free(s);
            continue;
        }
        if (status == ATTSVM_OK)
            status = experiments_sample_train(s, ATTSVM_MODEL_W, "ngd", true, "", STEPS,
                                              &train[count], err);
        out[count++] = c;
    }
    if (status == ATTSVM_OK)
        status = attsvm_train_run_batch(train, count, 1, NULL, NULL, err);
    for (int64_t i = 0; i < count && status == ATTSVM_OK; i++)
        status = judge(&sample[i], train[i], out[i], err);
    for (int64_t i = 0; i < count; i++) {
        attsvm_train_free(train[i]);
        experiments_sample_free(&sample[i]);
    }
    return status;
}

/* Tries rounds of candidates until enough are accepted, in the order of candidates. */
static attsvm_status run_dimension(job *j, double *facts, double *drawn, double from, double to,
                                   attsvm_error *err)
{
    const int64_t runs = j->setup->runs;
    int64_t found = 0, next = 0;
    while (found < runs) {
        double share = from + (to - from) * (double)found / (double)runs;
        j->first = next;
        TRY(experiments_parallel(j->setup, BLOCKS, share, share, run_block, j, err));
        int64_t k = 0;
        for (; k < ROUND && found < runs; k++) {
            if (!j->out[k].accepted)
                continue;
            if (found < FOLLOWED)
                j->number[found] = next + k;
            memcpy(facts + found++ * FACTS, j->out[k].facts, sizeof j->out[k].facts);
        }
        next += k;
    }
    *drawn = (double)next;
    return experiments_parallel(j->setup, runs < FOLLOWED ? runs : FOLLOWED, to, to, follow, j,
                                err);
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    static const double reached[DIMENSIONS + 1] = { 0, 0.04, 0.12, 0.4, 1 }; /* share of the time */
    job j = { .setup = setup, .records = experiments_log_records(STEPS) };
    double *facts, *drawn, *d, *curves;
    TRY(experiments_add(out, &d, "d", SHAPE(DIMENSIONS), err));
    TRY(experiments_add(out, &drawn, "candidates", SHAPE(DIMENSIONS), err));
    TRY(experiments_add(out, &facts, "facts", SHAPE(DIMENSIONS, setup->runs, FACTS), err));
    TRY(experiments_add(out, &j.steps, "steps", SHAPE(j.records), err));
    TRY(experiments_add(out, &curves, "curves", SHAPE(DIMENSIONS, FOLLOWED, j.records), err));
    TRY(base_allocate(&j.out, ROUND, sizeof *j.out, "candidates", err));
    attsvm_status status = ATTSVM_OK;
    for (int k = 0; k < DIMENSIONS && status == ATTSVM_OK; k++) {
        d[k] = (double)dimensions[k];
        j.d = dimensions[k];
        j.curve = curves + k * FOLLOWED * j.records;
        status = run_dimension(&j, facts + k * setup->runs * FACTS, &drawn[k], reached[k],
                               reached[k + 1], err);
    }
    free(j.out);
    return status;
}

/* ------------------------------------------------------------------------- numbers */

static double mean_of(const experiments_view *f, int k, int fact)
{
    double mean;
    experiments_mean(f->x + k * f->shape[1] * FACTS + fact, f->shape[1], FACTS, &mean, NULL);
    return mean;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view f, drawn;
    TRY(experiments_get(r, "facts", &f, err));
    TRY(experiments_get(r, "candidates", &drawn, err));
    double closer = 0;
    for (int k = 0; k < DIMENSIONS; k++) {
        char key[32];
        snprintf(key, sizeof key, "accepted_d%d", (int)dimensions[k]);
        experiments_number(out, key, (double)f.shape[1] / drawn.x[k],
                           "share of candidates that are accepted");
        snprintf(key, sizeof key, "both_d%d", (int)dimensions[k]);
        experiments_number(out, key, mean_of(&f, k, TO_BOTH),
                           "mean 1 - correlation of W to W_fin + R W_svm");
        snprintf(key, sizeof key, "svm_d%d", (int)dimensions[k]);
        experiments_number(out, key, mean_of(&f, k, TO_SVM), "mean 1 - correlation to W_svm");
        snprintf(key, sizeof key, "single_d%d", (int)dimensions[k]);
        experiments_number(out, key, mean_of(&f, k, TO_SINGLE),
                           "mean 1 - correlation to the one-token SVM");
        for (int64_t i = 0; i < f.shape[1]; i++) {
            const double *x = f.x + (k * f.shape[1] + i) * FACTS;
            closer += x[TO_BOTH] <= x[TO_SVM] + 1e-12 && x[TO_BOTH] <= x[TO_SINGLE] + 1e-12;
        }
    }
    closer /= (double)(DIMENSIONS * f.shape[1]);
    experiments_number(out, "closest", closer,
                       "share of runs to which W_fin + R W_svm is the closest of the three");
    experiments_finds(
        out,
        "1 - correlation to W_fin + R W_svm is %.1e, %.1e, %.1e, %.1e for d = 4, 6, 8, "
        "10, against %.1e, %.1e, %.1e, %.1e to W_svm alone and %.2f, %.2f, %.2f, %.2f "
        "to the one-token SVM; it is the closest in %.1f %% of the runs.",
        mean_of(&f, 0, TO_BOTH), mean_of(&f, 1, TO_BOTH), mean_of(&f, 2, TO_BOTH),
        mean_of(&f, 3, TO_BOTH), mean_of(&f, 0, TO_SVM), mean_of(&f, 1, TO_SVM),
        mean_of(&f, 2, TO_SVM), mean_of(&f, 3, TO_SVM), mean_of(&f, 0, TO_SINGLE),
        mean_of(&f, 1, TO_SINGLE), mean_of(&f, 2, TO_SINGLE), mean_of(&f, 3, TO_SINGLE),
        100 * closer);
    experiments_finds(
        out,
        "Of the candidates %.1f, %.1f, %.1f, %.2f %% are accepted; the others have no "
        "negative label, or attention that has not decided after 2001 steps.",
        100 * (double)f.shape[1] / drawn.x[0], 100 * (double)f.shape[1] / drawn.x[1],
        100 * (double)f.shape[1] / drawn.x[2], 100 * (double)f.shape[1] / drawn.x[3]);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static const struct {
    int fact;
    const char *label;
    report_colour colour;
    report_mark mark;
} targets[] = {
    { TO_SINGLE, "one-token SVM", REPORT_VERMILION, REPORT_TRIANGLE },
    { TO_SVM, "W_{svm}", REPORT_GREEN, REPORT_SQUARE },
    { TO_BOTH, "W_{fin} + R W_{svm}", REPORT_BLUE, REPORT_DISC },
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Median and quartiles by dimension, since the distances span decades. */
static attsvm_status draw_medians(report_figure *f, const experiments_view *v, attsvm_error *err)
{
    const int64_t runs = v->shape[1];
    double *sorted, x[DIMENSIONS], y[DIMENSIONS], low[DIMENSIONS], high[DIMENSIONS];
    TRY(base_allocate(&sorted, (size_t)runs, sizeof *sorted, "sorted values", err));
    report_add_panel(f, &(report_panel){ .title = "Median and quartiles",
                                         .x = { .label = "dimension d", .low = 3.5, .high = 10.5 },
                                         .y = { .label = "1 - correlation of W", .log = true } });
    for (int c = 0; c < 3; c++) {
        for (int k = 0; k < DIMENSIONS; k++) {
            for (int64_t i = 0; i < runs; i++)
                sorted[i] = fmax(1e-16, v->x[(k * runs + i) * FACTS + targets[c].fact]);
            qsort(sorted, (size_t)runs, sizeof *sorted, by_value);
            x[k] = (double)dimensions[k] + 0.12 * (c - 1);
            y[k] = sorted[runs / 2];
            low[k] = sorted[runs / 4];
            high[k] = sorted[3 * runs / 4];
        }
        report_add_series(f, &(report_series){ .kind = REPORT_MARKS,
                                               .label = targets[c].label,
                                               .colour = targets[c].colour,
                                               .mark = targets[c].mark,
                                               .count = DIMENSIONS,
                                               .x = x,
                                               .y = y,
                                               .low = low,
                                               .high = high });
    }
    free(sorted);
    return ATTSVM_OK;
}

static const report_colour colours[DIMENSIONS] = { REPORT_BLUE, REPORT_VERMILION, REPORT_GREEN,
                                                   REPORT_PURPLE };

/* Median of 1 - correlation over the followed runs, against steps. */
static attsvm_status draw_curves(report_figure *f, const experiments_result *r, int64_t runs,
                                 attsvm_error *err)
{
    experiments_view steps, curves;
    TRY(experiments_get(r, "steps", &steps, err));
    TRY(experiments_get(r, "curves", &curves, err));
    const int64_t records = steps.count, count = runs < FOLLOWED ? runs : FOLLOWED;
    double sorted[FOLLOWED], *y;
    TRY(base_allocate(&y, (size_t)records, sizeof *y, "a curve", err));
    report_add_panel(f,
                     &(report_panel){ .title = "Along training",
                                      .x = { .label = "steps", .log = true },
                                      .y = { .label = "1 - correlation, median", .log = true } });
    for (int k = 0; k < DIMENSIONS; k++) {
        char label[16];
        for (int64_t t = 0; t < records; t++) {
            for (int64_t i = 0; i < count; i++)
                sorted[i] = fmax(1e-16, curves.x[(k * FOLLOWED + i) * records + t]);
            qsort(sorted, (size_t)count, sizeof *sorted, by_value);
            y[t] = steps.x[t] > 0 && count > 0 ? sorted[count / 2] : NAN;
        }
        snprintf(label, sizeof label, "d = %d", (int)dimensions[k]);
        report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                               .label = label,
                                               .colour = colours[k],
                                               .dash = (report_dash)(k % 3),
                                               .count = records,
                                               .x = steps.x,
                                               .y = y });
    }
    free(y);
    return ATTSVM_OK;
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view v;
    TRY(experiments_get(r, "facts", &v, err));
    *out = report_figure_create(3, 1200, 460);
    TRY(draw_medians(*out, &v, err));
    TRY(draw_curves(*out, r, v.shape[1], err));
    report_add_panel(
        *out,
        &(report_panel){ .title = "Every run",
                         .x = { .label = "largest masked probability", .log = true },
                         .y = { .label = "1 - correlation to W_{fin} + R W_{svm}", .log = true } });
    for (int k = 0; k < DIMENSIONS; k++) {
        char label[16];
        const double *x = v.x + k * v.shape[1] * FACTS;
        snprintf(label, sizeof label, "d = %d", (int)dimensions[k]);
        report_add_series(*out, &(report_series){ .kind = REPORT_POINTS,
                                                  .label = label,
                                                  .colour = colours[k],
                                                  .mark = REPORT_DOT,
                                                  .count = v.shape[1],
                                                  .x = x + MASKED,
                                                  .y = x + TO_BOTH,
                                                  .stride = FACTS });
    }
    return ATTSVM_OK;
}

const experiment ts_multitoken = {
    .id = "ts-multitoken",
    .title = "A ReLU head keeps several tokens",
    .paper = "TS, published notebook multi_token_converge",
    .setting = "n=3, T=4, d in 4, 6, 8, 10; unit tokens and queries, ReLU head with Gaussian V, "
               "|V|=1, v=1; W from Uniform(1/sqrt d), normalised gradient descent with eps = "
               "2.2e-16, step 0.1, 2001 steps. Accepted: some label is -1, no softmax entry in "
               "(1e-6, 1e-3], some at most 1e-6, the SVMs are feasible.",
    .caption =
        "First panel: 1 - correlation of the trained W to the finite part plus the multi-token SVM "
        "direction, to that direction, and to the SVM of the most attended tokens. Second: the "
        "first against steps, 40 runs for each d, with the parts of their end. Third: the "
        "first against the largest attention that is counted as none.",
    .says = "With a nonlinear head attention may keep several tokens; W is then W_fin + R W_svm, a "
            "finite part that shares the attention among them and a growing max-margin part.",
    .code =
        "Works in float64 with eps = 2.2e-16, accepts runs by the rule in the setting, which we "
        "follow, and draws its start values without a seed.",
    .runs = 500,
    .unit = "accepted runs for each d",
    .seconds = 15,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
