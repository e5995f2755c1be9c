/* mm-single-global, mm-single-local: one sequence of three tokens, six starts. */
#include "experiments/tools/tools.h"

enum { STARTS = 6, STEPS = 1000, RECORDS = STEPS + 1, D = 3, T = 3 };

static const double starts[STARTS] = { 1, 0.5, 0, -0.5, -1, -1.5 };
static const double map[D * D] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
static const double head[D] = { 0, 0, 1 };
static const double label[1] = { 1 };
static const double tokens_global[T * D] = { -0.1, 1, 1, 1, 0, 0.9, 0, 0, 0.9 };
static const double tokens_local[T * D] = { -0.1, 1, 1, 1, 0, 0.9, 0, 0, 0 };

typedef struct arrays {
    double *p, *p_float, *selected, *selected_float, *svm, *tokens;
} arrays;

static attsvm_status run_start(const experiments_setup *setup, const double *X, int64_t k,
                               arrays *a, attsvm_error *err)
{
    double p0[D] = { 0, starts[k], 0 };
    experiments_prompt q = { .setup = setup,
                             .n = 1,
                             .T = T,
                             .d = D,
                             .X = X,
                             .Y = label,
                             .W = map,
                             .v = head,
                             .p = p0,
                             .lr = 0.1,
                             .steps = STEPS };
    double *exact = a->p + k * RECORDS * D, *single = a->p_float + k * RECORDS * D;
    TRY(experiments_exact(&q, exact, NULL, NULL, err));
    q.eps = 1e-9; /* as published */
    TRY(experiments_naive(&q, true, single, NULL, err));
    a->selected[k] = (double)experiments_argmax(&q, 0, exact + (ptrdiff_t)STEPS * D);
    a->selected_float[k] = (double)experiments_argmax(&q, 0, single + (ptrdiff_t)STEPS * D);
    for (int64_t token = 0; k == 0 && token < 2; token++)
        TRY(experiments_prompt_svm(&q, ATTSVM_PROBLEM_P, &token, a->svm + token * D, err));
    return ATTSVM_OK;
}

static attsvm_status run(const double *X, const experiments_setup *setup, experiments_arrays *out,
                         attsvm_error *err)
{
    arrays a;
    TRY(experiments_add(out, &a.tokens, "X", SHAPE(1, T, D), err));
    TRY(experiments_add(out, &a.p, "p_ngd", SHAPE(STARTS, RECORDS, D), err));
    TRY(experiments_add(out, &a.p_float, "p_f32", SHAPE(STARTS, RECORDS, D), err));
    TRY(experiments_add(out, &a.selected, "selected", SHAPE(STARTS), err));
    TRY(experiments_add(out, &a.selected_float, "selected_f32", SHAPE(STARTS), err));
    TRY(experiments_add(out, &a.svm, "p_svm", SHAPE(2, D), err));
    for (int k = 0; k < T * D; k++)
        a.tokens[k] = X[k];
    for (int64_t k = 0; k < STARTS; k++) {
        TRY(run_start(setup, X, k, &a, err));
        experiments_progress(setup, (double)(k + 1) / STARTS);
    }
    return ATTSVM_OK;
}

static attsvm_status run_global(const experiments_setup *setup, experiments_arrays *out,
                                attsvm_error *err)
{
    return run(tokens_global, setup, out, err);
}

static attsvm_status run_local(const experiments_setup *setup, experiments_arrays *out,
                               attsvm_error *err)
{
    return run(tokens_local, setup, out, err);
}

/* ------------------------------------------------------------------------- numbers */

/* Smallest correlation of the end of a run with the SVM direction of the token it selected. */
static double worst_correlation(const experiments_view *p, const double *svm,
                                const double *selected)
{
    double worst = 1;
    for (int64_t k = 0; k < STARTS; k++) {
        const double *end = p->x + (k * RECORDS + STEPS) * D;
        worst = fmin(worst, attsvm_correlation(end, svm + (int64_t)selected[k] * D, D));
    }
    return worst;
}

static double count_of(const double *selected, double token)
{
    double count = 0;
    for (int k = 0; k < STARTS; k++)
        count += selected[k] == token;
    return count;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view p, single, svm, selected, selected_float;
    TRY(experiments_get(r, "p_ngd", &p, err));
    TRY(experiments_get(r, "p_f32", &single, err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    TRY(experiments_get(r, "selected", &selected, err));
    TRY(experiments_get(r, "selected_f32", &selected_float, err));
    double other = 0;
    for (int k = 0; k < STARTS; k++)
        other += selected.x[k] != selected_float.x[k];
    double worst = worst_correlation(&p, svm.x, selected.x);
    double worst_float = worst_correlation(&single, svm.x, selected_float.x);
    experiments_number(out, "first_token", count_of(selected.x, 0),
                       "starts of six that end on the first token");
    experiments_number(out, "second_token", count_of(selected.x, 1),
                       "starts of six that end on the second token");
    experiments_number(out, "correlation", worst,
                       "smallest correlation to the SVM direction of the selected token");
    experiments_number(out, "float32_other_token", other,
                       "starts that end on another token in float32");
    experiments_number(out, "float32_correlation", worst_float, "the same correlation in float32");
    experiments_finds(out,
                      "%.0f starts end on the first token, %.0f on the second, each along the SVM "
                      "direction of its token (correlation at least %.5f).",
                      count_of(selected.x, 0), count_of(selected.x, 1), worst);
    experiments_finds(out,
                      "In float32 %.0f of six end on another token, and the correlation falls to "
                      "%.3f.",
                      other, worst_float);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static void draw_panel(report_figure *f, const char *title, const experiments_view *p,
                       const experiments_view *svm, bool legend)
{
    static const char *const names[2] = { "SVM, token 1", "SVM, token 2" };
    report_add_panel(f, &(report_panel){ .title = title,
                                         .x = { .label = "p_1", .low = -6, .high = 26 },
                                         .y = { .label = "p_2", .low = -3, .high = 24 },
                                         .equal = true,
                                         .no_legend = !legend });
    for (int64_t k = 0; k < STARTS; k++)
        report_add_series(f, &(report_series){ .kind = REPORT_TRAJECTORY,
                                               .label = k == 0 ? "descent" : NULL,
                                               .colour = REPORT_BLUE,
                                               .count = RECORDS,
                                               .x = p->x + k * RECORDS * D,
                                               .y = p->x + k * RECORDS * D + 1,
                                               .stride = D });
    for (int64_t k = 0; k < 2; k++) {
        double x[2] = { 0, svm->x[k * D] }, y[2] = { 0, svm->x[k * D + 1] };
        report_add_series(f, &(report_series){ .kind = REPORT_DIRECTION,
                                               .label = names[k],
                                               .colour = k ? REPORT_GREEN : REPORT_VERMILION,
                                               .count = 2,
                                               .x = x,
                                               .y = y });
    }
    report_add_series(f, &(report_series){ .kind = REPORT_POINTS,
                                           .label = "starts",
                                           .colour = REPORT_BLACK,
                                           .count = STARTS,
                                           .x = p->x,
                                           .y = p->x + 1,
                                           .stride = RECORDS * D });
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view p, single, svm;
    TRY(experiments_get(r, "p_ngd", &p, err));
    TRY(experiments_get(r, "p_f32", &single, err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    *out = report_figure_create(2, 960, 460);
    draw_panel(*out, "Exact gradients", &p, &svm, true);
    draw_panel(*out, "As published: float32", &single, &svm, true);
    return ATTSVM_OK;
}

const experiment mm_single_global = {
    .id = "mm-single-global",
    .title = "One sequence, one good token: every start ends there",
    .paper = "MM",
    .setting = "n=1, T=3, d=3, key map diag(1,1,0), head e3; tokens (-.1,1,1), (1,0,.9), (0,0,.9); "
               "normalised gradient descent, step 0.1, 1000 steps, six starts on the second axis.",
    .caption = "Trajectories of p. Dashed: the SVM directions of the first and the second token. "
               "Left with exact gradients, right as published, in float32.",
    .says = "All non-optimal tokens have one score, so descent from any start converges to the SVM "
            "direction of the optimal token.",
    .seconds = 0.1,
    .run = run_global,
    .numbers = numbers,
    .draw = draw,
};

const experiment mm_single_local = {
    .id = "mm-single-local",
    .title = "One sequence, two locally optimal tokens: the start decides",
    .paper = "MM",
    .setting = "As mm-single-global with (0,0,0) as third token.",
    .caption = "Trajectories of p. Dashed: the SVM directions of the first and the second token. "
               "Left with exact gradients, right as published, in float32.",
    .says =
        "Descent converges to the SVM direction of one of the locally optimal tokens, depending "
        "on the start. The published run is in float32 and its plot stops at 200 of 1000 "
        "steps: from |p| about 12 on its gradient is noise.",
    .seconds = 0.1,
    .run = run_local,
    .numbers = numbers,
    .draw = draw,
};
