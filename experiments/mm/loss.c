/* mm-loss: the loss shapes the path, not its end. */
#include "experiments/tools/tools.h"

enum { STEPS = 1000, RECORDS = STEPS + 1, N = 2, T = 2, D = 3, CASES = 11, LOSSES = 2 };

static const double weights[CASES] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100 };
static const char *const losses[LOSSES] = { "linear", "logistic" };
static const double map[D * D] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
static const double head[D] = { 0, 0, 1 };
static const double labels[N] = { 1, 1 };
static const int64_t alpha[N] = { 1, 1 };

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    double *p, *svm, *C;
    const double zero[D] = { 0 };
    TRY(experiments_add(out, &C, "C", SHAPE(CASES), err));
    TRY(experiments_add(out, &p, "p_ngd", SHAPE(LOSSES, CASES, RECORDS, D), err));
    TRY(experiments_add(out, &svm, "p_svm", SHAPE(D), err));
    for (int64_t k = 0; k < LOSSES * CASES; k++) {
        double X[N * T * D] = { 0, 0, 0, 1, 1, weights[k % CASES], 0, 0, 0, 1, -1, 1 };
        experiments_prompt q = { .setup = setup,
                                 .n = N,
                                 .T = T,
                                 .d = D,
                                 .X = X,
                                 .Y = labels,
                                 .W = map,
                                 .v = head,
                                 .p = zero,
                                 .loss = losses[k / CASES],
                                 .lr = 0.1,
                                 .steps = STEPS };
        C[k % CASES] = weights[k % CASES];
        TRY(experiments_exact(&q, p + k * RECORDS * D, NULL, NULL, err));
        if (k == 0)
            TRY(experiments_prompt_svm(&q, ATTSVM_PROBLEM_P, alpha, svm, err));
        experiments_progress(setup, (double)(k + 1) / (LOSSES * CASES));
    }
    return ATTSVM_OK;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view p, svm;
    double ten[LOSSES], hundred[LOSSES];
    TRY(experiments_get(r, "p_ngd", &p, err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    for (int64_t loss = 0; loss < LOSSES; loss++) {
        const double *end = p.x + (loss * CASES * RECORDS + STEPS) * D;
        char key[64], meaning[128];
        ten[loss] = attsvm_correlation(end + (ptrdiff_t)(CASES - 2) * RECORDS * D, svm.x, D);
        hundred[loss] = attsvm_correlation(end + (ptrdiff_t)(CASES - 1) * RECORDS * D, svm.x, D);
        snprintf(key, sizeof key, "correlation_%s_10", losses[loss]);
        snprintf(meaning, sizeof meaning, "correlation to the SVM direction, %s loss, C = 10",
                 losses[loss]);
        experiments_number(out, key, ten[loss], meaning);
        snprintf(key, sizeof key, "correlation_%s_100", losses[loss]);
        snprintf(meaning, sizeof meaning, "the same, C = 100");
        experiments_number(out, key, hundred[loss], meaning);
    }
    experiments_finds(out,
                      "After 1000 steps the correlation to the common SVM direction is %.5f "
                      "(linear) and %.5f (logistic) for C = 10, %.5f and %.4f for C = 100.",
                      ten[0], ten[1], hundred[0], hundred[1]);
    experiments_finds(out, "Under the linear loss a large C pulls p towards the first sequence at "
                           "first; the logistic loss has no use for a score that is already "
                           "large and turns the other way. Both paths bend into the same limit.");
    return ATTSVM_OK;
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const struct {
        int64_t index;
        const char *label;
    } shown[] = { { 0, "C = 1" }, { 1, "2" }, { 4, "5" }, { 9, "10" }, { 10, "100" } };
    static const char *const titles[LOSSES] = { "Loss -u", "Logistic loss" };
    experiments_view p, svm;
    TRY(experiments_get(r, "p_ngd", &p, err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    *out = report_figure_create(2, 960, 420);
    double x[2] = { 0, svm.x[0] }, y[2] = { 0, svm.x[1] };
    for (int64_t loss = 0; loss < LOSSES; loss++) {
        report_add_panel(*out, &(report_panel){ .title = titles[loss],
                                                .x = { .label = "p_1", .low = -1, .high = 50 },
                                                .y = { .label = "p_2", .low = -6, .high = 4 } });
        for (size_t k = 0; k < sizeof shown / sizeof *shown; k++) {
            const double *path = p.x + (loss * CASES + shown[k].index) * RECORDS * D;
            report_add_series(*out, &(report_series){ .kind = REPORT_TRAJECTORY,
                                                      .label = shown[k].label,
                                                      .colour = (report_colour)k,
                                                      .count = RECORDS,
                                                      .x = path,
                                                      .y = path + 1,
                                                      .stride = D });
        }
        report_add_series(*out, &(report_series){ .kind = REPORT_DIRECTION,
                                                  .label = "SVM",
                                                  .colour = REPORT_BLACK,
                                                  .count = 2,
                                                  .x = x,
                                                  .y = y });
    }
    return ATTSVM_OK;
}

const experiment mm_loss = {
    .id = "mm-loss",
    .title = "The loss shapes the path, not the limit",
    .paper = "MM",
    .setting = "n=2, T=2, d=3, key map diag(1,1,0), head e3; tokens (0,0,0)&(1,1,C) and "
               "(0,0,0)&(1,-1,1), C in 1..10 and 100; losses -u and logistic; normalised descent "
               "from 0, step 0.1, 1000 steps, exact gradients.",
    .caption = "Trajectories of p for several C. Dashed: the SVM direction, which does not depend "
               "on C or on the loss.",
    .says = "The score ratio C and the loss decide on which side and how far the path swings out; "
            "the limit direction is that of the SVM.",
    .seconds = 0.1,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
