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
                               arrays *a, experiments_arrays *out, attsvm_error *err)
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
    if (k == 0)
        TRY(experiments_add_prompt(out, &q, err));
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
        TRY(run_start(setup, X, k, &a, out, err));
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

/* Smallest correlation, over runs, between the final p and the SVM direction of the selected
   token. */
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
    experiments_finds(
        out,
        "In float32 %.0f of six end on another token, and the smallest correlation is "
        "%.3f: from |p| about 12 on the float32 gradient is rounding noise, which "
        "normalised steps follow at full length.",
        other, worst_float);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

typedef struct frame { /* visible part of the plane */
    double left, right, bottom, top;
} frame;

static void draw_plane(report_figure *f, const char *title, const experiments_view *p,
                       const experiments_view *svm, const experiments_view *tokens,
                       const frame *shown)
{
    static const char *const names[2] = { "SVM, token 1", "SVM, token 2" };
    report_add_panel(
        f, &(report_panel){ .title = title,
                            .x = { .label = "p_1", .low = shown->left, .high = shown->right },
                            .y = { .label = "p_2", .low = shown->bottom, .high = shown->top },
                            .equal = true });
    for (int64_t k = 0; k < STARTS; k++)
        report_add_series(f, &(report_series){ .kind = k % 2 ? REPORT_LINE : REPORT_TRAJECTORY,
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
    report_add_series(f, &(report_series){ .kind = REPORT_POINTS,
                                           .label = "tokens",
                                           .colour = REPORT_PURPLE,
                                           .mark = REPORT_HOLLOW_SQUARE,
                                           .size = 1.6,
                                           .count = T,
                                           .x = tokens->x,
                                           .y = tokens->x + 1,
                                           .stride = D });
}

/* Angle between p and the SVM direction of the token that the exact run selects, in degrees. */
static void draw_angles(report_figure *f, const experiments_view *p, const double *svm,
                        const double *selected, const char *name, report_colour colour,
                        report_dash dash)
{
    for (int64_t k = 0; k < STARTS; k++) {
        double steps[STEPS], angle[STEPS];
        for (int64_t r = 1; r <= STEPS; r++) {
            const double *now = p->x + (k * RECORDS + r) * D;
            steps[r - 1] = (double)r;
            angle[r - 1] = experiments_angle(now, svm + (int64_t)selected[k] * D, D);
        }
        report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                               .label = k == 0 ? name : NULL,
                                               .colour = colour,
                                               .dash = dash,
                                               .size = 1.2,
                                               .count = STEPS,
                                               .x = steps,
                                               .y = angle });
    }
}

static attsvm_status draw(const experiments_result *r, const frame *shown, report_figure **out,
                          attsvm_error *err)
{
    experiments_view p, single, svm, tokens, selected;
    TRY(experiments_get(r, "p_ngd", &p, err));
    TRY(experiments_get(r, "p_f32", &single, err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    TRY(experiments_get(r, "X", &tokens, err));
    TRY(experiments_get(r, "selected", &selected, err));
    *out = report_figure_create(3, 1200, 440);
    draw_plane(*out, "Exact gradients", &p, &svm, &tokens, shown);
    draw_plane(*out, "As published: float32", &single, &svm, &tokens, shown);
    report_add_panel(
        *out, &(report_panel){
                  .title = "Angle to the SVM direction",
                  .x = { .label = "steps", .log = true },
                  .y = { .label = "degrees, six starts", .low = 0.1, .high = 180, .log = true } });
    draw_angles(*out, &single, svm.x, selected.x, "float32", REPORT_VERMILION, REPORT_SOLID);
    draw_angles(*out, &p, svm.x, selected.x, "exact", REPORT_BLUE, REPORT_SOLID);
    return ATTSVM_OK;
}

static attsvm_status draw_global(const experiments_result *r, report_figure **out,
                                 attsvm_error *err)
{
    return draw(r, &(frame){ -10, 6, -2, 15 }, out, err);
}

static attsvm_status draw_local(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    return draw(r, &(frame){ -5, 18, -3, 20 }, out, err);
}

#define SINGLE_CAPTION                                                                             \
    "First two panels: trajectories of p from six starts, with exact gradients and, as "           \
    "published, "                                                                                  \
    "in float32; dashed: the SVM directions of the first and the second token. Last: angle of p "  \
    "to the SVM direction of the token on which the exact run from this start ends."

const experiment mm_single_global = {
    .id = "mm-single-global",
    .title = "One sequence, one good token: every start ends there",
    .paper = "MM, published notebook single_input_converge",
    .setting = "n=1, T=3, d=3, key map diag(1,1,0), head e3; tokens (-.1,1,1), (1,0,.9), (0,0,.9); "
               "normalised gradient descent, step 0.1, 1000 steps, six starts on the second axis.",
    .command = "--model p --step ngd --init file --lr 0.1 --iters 1000 --record 1",
    .caption = SINGLE_CAPTION,
    .says = "When all non-optimal tokens have the same score, gradient descent converges in "
            "direction to the SVM solution of the optimal token, from any start.",
    .code = "Works in float32, adds eps = 1e-9 to the norm of the gradient, runs 1000 steps and "
            "plots the first 200.",
    .seconds = 0.1,
    .run = run_global,
    .numbers = numbers,
    .draw = draw_global,
};

const experiment mm_single_local = {
    .id = "mm-single-local",
    .title = "One sequence, two locally optimal tokens: the start decides",
    .paper = "MM, published notebook single_input_converge",
    .setting = "As mm-single-global with (0,0,0) as third token.",
    .command = "--model p --step ngd --init file --lr 0.1 --iters 1000 --record 1",
    .caption = SINGLE_CAPTION,
    .says = "Gradient descent converges in direction to the SVM solution of one of the locally "
            "optimal tokens; which one depends on the start.",
    .code = "As for mm-single-global: float32, eps = 1e-9, plots of the first 200 of 1000 steps.",
    .seconds = 0.1,
    .run = run_local,
    .numbers = numbers,
    .draw = draw_local,
};
