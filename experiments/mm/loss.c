/* mm-loss: the loss shapes the path, not its end. */
#include "experiments/tools/tools.h"

#include <stdlib.h>

enum { STEPS = 1000, RECORDS = STEPS + 1, N = 2, T = 2, D = 3, CASES = 11, LOSSES = 2 };
enum { LONG = 10000 }; /* steps of the longer run, which shows whether the direction converges */

static const double weights[CASES] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100 };
static const char *const losses[LOSSES] = { "linear", "logistic" };
static const double map[D * D] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
static const double head[D] = { 0, 0, 1 };
static const double labels[N] = { 1, 1 };
static const int64_t alpha[N] = { 1, 1 };

/* Angle to the SVM direction at steps 10^(k/10) of a run of LONG steps. */
enum { PER_DECADE = 10, ANGLES = 4 * PER_DECADE + 1 };

static int64_t angle_step(int k)
{
    return llround(base_pow(10, (double)k / PER_DECADE));
}

static attsvm_status follow(experiments_prompt q, const double *svm, double *angle,
                            attsvm_error *err)
{
    double *trace;
    q.steps = LONG;
    TRY(base_allocate(&trace, (size_t)(LONG + 1) * D, sizeof *trace, "trace of p", err));
    attsvm_status status = experiments_exact(&q, trace, NULL, NULL, err);
    for (int k = 0; k < ANGLES && status == ATTSVM_OK; k++)
        angle[k] = experiments_angle(trace + angle_step(k) * D, svm, D);
    free(trace);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    double *p, *svm, *C, *angle;
    const double zero[D] = { 0 };
    TRY(experiments_add(out, &C, "C", SHAPE(CASES), err));
    TRY(experiments_add(out, &p, "p_ngd", SHAPE(LOSSES, CASES, RECORDS, D), err));
    TRY(experiments_add(out, &svm, "p_svm", SHAPE(D), err));
    TRY(experiments_add(out, &angle, "angle", SHAPE(LOSSES, CASES, ANGLES), err));
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
        TRY(follow(q, svm, angle + k * ANGLES, err));
        experiments_progress(setup, (double)(k + 1) / (LOSSES * CASES));
    }
    return ATTSVM_OK;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view p, svm, angle;
    double ten[LOSSES], hundred[LOSSES], slowest[2] = { 0, 0 };
    TRY(experiments_get(r, "p_ngd", &p, err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    TRY(experiments_get(r, "angle", &angle, err));
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
    for (int64_t k = 0; k < LOSSES * CASES; k++)
        for (int late = 0; late < 2; late++)
            slowest[late] =
                fmax(slowest[late], angle.x[k * ANGLES + ANGLES - 1 - (late ? 0 : PER_DECADE)]);
    experiments_number(out, "angle_1000", slowest[0],
                       "largest angle to the SVM direction after 1000 steps, degrees");
    experiments_number(out, "angle_10000", slowest[1], "the same after 10 000 steps");
    experiments_finds(out,
                      "After 1000 steps the correlation to the common SVM direction is %.5f "
                      "(linear) and %.5f (logistic) for C = 10, %.5f and %.4f for C = 100.",
                      ten[0], ten[1], hundred[0], hundred[1]);
    experiments_finds(
        out,
        "The logistic loss with C = 100 is thus far from its limit at the published "
        "end (%.1f degrees), but on its way: %.1f degrees after 10 000 steps, and the "
        "angle falls like one over the steps in all cases.",
        slowest[0], slowest[1]);
    experiments_finds(out, "Under the linear loss a large C pulls p towards the first sequence at "
                           "first; the logistic loss has no use for a score that is already "
                           "large and turns the other way.");
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

enum { SHOWN = 5 };
static const struct {
    int64_t index;
    const char *label;
} shown[SHOWN] = { { 0, "C = 1" }, { 1, "2" }, { 4, "5" }, { 9, "10" }, { 10, "100" } };

/* Trajectories of one loss in a square window from (0,0) to the right. */
static void draw_plane(report_figure *f, const experiments_view *p, const double *svm, int loss,
                       const char *title, double right, double bottom)
{
    double x[2] = { 0, svm[0] }, y[2] = { 0, svm[1] };
    report_add_panel(
        f, &(report_panel){ .title = title,
                            .x = { .label = "p_1", .low = -0.05 * right, .high = right },
                            .y = { .label = "p_2", .low = bottom, .high = bottom + 0.9 * right },
                            .equal = true });
    for (int k = 0; k < SHOWN; k++) {
        const double *path = p->x + (loss * CASES + shown[k].index) * RECORDS * D;
        report_add_series(f, &(report_series){ .kind = REPORT_TRAJECTORY,
                                               .label = shown[k].label,
                                               .colour = (report_colour)k,
                                               .count = RECORDS,
                                               .x = path,
                                               .y = path + 1,
                                               .stride = D });
    }
    report_add_series(f, &(report_series){ .kind = REPORT_DIRECTION,
                                           .label = "SVM",
                                           .colour = REPORT_BLACK,
                                           .count = 2,
                                           .x = x,
                                           .y = y });
}

static void draw_angles(report_figure *f, const experiments_view *angle)
{
    double steps[ANGLES];
    for (int k = 0; k < ANGLES; k++)
        steps[k] = (double)angle_step(k);
    report_add_panel(f, &(report_panel){ .title = "Angle to the SVM direction",
                                         .x = { .label = "steps", .log = true },
                                         .y = { .label = "degrees", .log = true } });
    for (int64_t loss = 0; loss < LOSSES; loss++)
        for (int k = 1; k < SHOWN; k++) { /* with C = 1 the path never leaves the direction */
            char label[48];
            snprintf(label, sizeof label, "%s, %s%s", losses[loss],
                     k > 1 ? "" : "C = ", shown[k].label);
            report_add_series(
                f, &(report_series){ .kind = REPORT_LINE,
                                     .label = label,
                                     .colour = (report_colour)k,
                                     .dash = loss ? REPORT_SOLID : REPORT_DASHED,
                                     .count = ANGLES,
                                     .x = steps,
                                     .y = angle->x + (loss * CASES + shown[k].index) * ANGLES });
        }
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view p, svm, angle;
    TRY(experiments_get(r, "p_ngd", &p, err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    TRY(experiments_get(r, "angle", &angle, err));
    *out = report_figure_create(2, 960, 860);
    draw_plane(*out, &p, svm.x, 0, "Loss -u", 12, -6);
    draw_plane(*out, &p, svm.x, 1, "Logistic loss", 12, -8);
    draw_plane(*out, &p, svm.x, 1, "Logistic loss, from farther away", 90, -60);
    draw_angles(*out, &angle);
    return ATTSVM_OK;
}

const experiment mm_loss = {
    .id = "mm-loss",
    .title = "The loss and the scores shape the path; the direction tends to the SVM",
    .paper = "MM, published notebook diff_loss_function",
    .setting = "n=2, T=2, d=3, key map diag(1,1,0), head e3; tokens (0,0,0)&(1,1,C) and "
               "(0,0,0)&(1,-1,1), C in 1..10 and 100; losses -u and logistic; normalised descent "
               "from 0, step 0.1, 1000 steps, exact gradients; for the angles 10 000 steps.",
    .caption = "Trajectories of p for several C, and the angle between p and the SVM direction "
               "(dashed in the plane), which does not depend on C or on the loss.",
    .says = "The loss and the scores decide how the path swings out; the limit direction is that "
            "of the SVM for all of them.",
    .code = "The same runs in float32, with eps = 1e-9 in the norm of the gradient, 1000 steps.",
    .seconds = 0.8,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
