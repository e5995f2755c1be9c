/* mm-joint-tight, mm-joint-slack: p and v trained together. */
#include "experiments/tools/tools.h"

enum { STEPS = 1000, RECORDS = STEPS + 1, N = 3, T = 2, D = 2 };

static const double labels[N] = { 1, -1, 1 };
static const double tokens_tight[N * T * D] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, 1 };
static const double tokens_slack[N * T * D] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, 1.5 };
static const double start_p[D] = { 0, -1 }, start_v[D] = { -1, 0 };
static const int64_t alpha[N] = { 1, 1, 1 };

/* Attention of token 1 and probability 1/(1 + exp(-Y f)) of each sequence at one record. */
static void evaluate(const double *X, const double *p, const double *v, double *softmax,
                     double *probability)
{
    for (int i = 0; i < N; i++) {
        const double *x =
            X + (i * T + 1) * D; /* token 0 is zero, and so are its logit and its score */
        double s = 1 / (1 + base_exp(-(x[0] * p[0] + x[1] * p[1])));
        softmax[i] = s;
        probability[i] = 1 / (1 + base_exp(-labels[i] * s * (x[0] * v[0] + x[1] * v[1])));
    }
}

static attsvm_status run(const experiments_setup *setup, const double *X, experiments_arrays *out,
                         attsvm_error *err)
{
    double *tokens, *p, *v, *p_eps, *v_eps, *p_float, *v_float, *softmax, *probability, *svm_p,
        *svm_joint, *svm_v;
    TRY(experiments_add(out, &tokens, "X", SHAPE(N, T, D), err));
    TRY(experiments_add(out, &p, "p_ngd", SHAPE(RECORDS, D), err));
    TRY(experiments_add(out, &v, "v_ngd", SHAPE(RECORDS, D), err));
    TRY(experiments_add(out, &p_eps, "p_eps", SHAPE(RECORDS, D), err));
    TRY(experiments_add(out, &v_eps, "v_eps", SHAPE(RECORDS, D), err));
    TRY(experiments_add(out, &p_float, "p_f32", SHAPE(RECORDS, D), err));
    TRY(experiments_add(out, &v_float, "v_f32", SHAPE(RECORDS, D), err));
    TRY(experiments_add(out, &softmax, "softmax", SHAPE(RECORDS, N), err));
    TRY(experiments_add(out, &probability, "probability", SHAPE(RECORDS, N), err));
    TRY(experiments_add(out, &svm_p, "p_svm", SHAPE(D), err));
    TRY(experiments_add(out, &svm_joint, "p_joint", SHAPE(D), err));
    TRY(experiments_add(out, &svm_v, "v_svm", SHAPE(D), err));
    for (int k = 0; k < N * T * D; k++)
        tokens[k] = X[k];
    experiments_prompt q = { .setup = setup,
                             .n = N,
                             .T = T,
                             .d = D,
                             .X = X,
                             .Y = labels,
                             .v = start_v,
                             .p = start_p,
                             .trains_v = true,
                             .lr = 0.1,
                             .steps = STEPS };
    TRY(experiments_add_prompt(out, &q, err));
    TRY(experiments_exact(&q, p, v, NULL, err));
    q.eps = 1e-19; /* as published */
    q.eps_v = 1e-9;
    TRY(experiments_exact(&q, p_eps, v_eps, NULL, err));
    TRY(experiments_naive(&q, true, p_float, v_float, err));
    for (int64_t k = 0; k < RECORDS; k++)
        evaluate(X, p + k * D, v + k * D, softmax + k * N, probability + k * N);
    TRY(experiments_prompt_svm(&q, ATTSVM_PROBLEM_P, alpha, svm_p, err));
    TRY(experiments_prompt_svm(&q, ATTSVM_PROBLEM_JOINT, alpha, svm_joint, err));
    return experiments_prompt_svm(&q, ATTSVM_PROBLEM_V, alpha, svm_v, err);
}

static attsvm_status run_tight(const experiments_setup *setup, experiments_arrays *out,
                               attsvm_error *err)
{
    return run(setup, tokens_tight, out, err);
}

static attsvm_status run_slack(const experiments_setup *setup, experiments_arrays *out,
                               attsvm_error *err)
{
    return run(setup, tokens_slack, out, err);
}

/* ------------------------------------------------------------------------- numbers */

typedef struct views {
    experiments_view p[3], v[3]; /* exact, eps, float32 */
    experiments_view svm, joint, svm_v;
} views;

static attsvm_status get(const experiments_result *r, views *w, attsvm_error *err)
{
    static const char *const p[3] = { "p_ngd", "p_eps", "p_f32" };
    static const char *const v[3] = { "v_ngd", "v_eps", "v_f32" };
    for (int k = 0; k < 3; k++) {
        TRY(experiments_get(r, p[k], &w->p[k], err));
        TRY(experiments_get(r, v[k], &w->v[k], err));
    }
    TRY(experiments_get(r, "p_svm", &w->svm, err));
    TRY(experiments_get(r, "p_joint", &w->joint, err));
    return experiments_get(r, "v_svm", &w->svm_v, err);
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    static const char *const names[3] = { "exact", "eps", "float32" };
    static const char *const words[3] = { "exact", "with eps in the step", "in float32" };
    double joint[3], plain[3];
    views w;
    TRY(get(r, &w, err));
    for (int k = 0; k < 3; k++) {
        const double *end = w.p[k].x + (int64_t)STEPS * D;
        char key[64], meaning[128];
        joint[k] = attsvm_correlation(end, w.joint.x, D);
        plain[k] = attsvm_correlation(end, w.svm.x, D);
        snprintf(key, sizeof key, "correlation_joint_%s", names[k]);
        snprintf(meaning, sizeof meaning, "correlation of p to the joint SVM, %s", words[k]);
        experiments_number(out, key, joint[k], meaning);
        snprintf(key, sizeof key, "correlation_plain_%s", names[k]);
        snprintf(meaning, sizeof meaning, "correlation of p to the unrelaxed SVM, %s", words[k]);
        experiments_number(out, key, plain[k], meaning);
    }
    double head = attsvm_correlation(w.v[0].x + (int64_t)STEPS * D, w.svm_v.x, D);
    experiments_number(out, "correlation_v", head, "correlation of v to its SVM, exact");
    experiments_finds(out,
                      "Exact descent ends with correlation %.5f to the joint SVM and %.5f to the "
                      "unrelaxed one; v has %.5f to the v-SVM.",
                      joint[0], plain[0], head);
    experiments_finds(out,
                      "With eps (1e-19 for p, 1e-9 for v) it is %.5f and %.5f, in float32 %.5f and "
                      "%.5f.",
                      joint[1], plain[1], joint[2], plain[2]);
    if (joint[0] > plain[0] && joint[2] < plain[2])
        experiments_finds(out, "Where the two SVMs differ, the exact run ends at the joint one and "
                               "the float32 run drifts to the unrelaxed one.");
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

/* Wide lines first, so that all three are visible where they coincide. */
static void draw_path(report_figure *f, const experiments_view *path, const char *label,
                      report_colour colour, double width)
{
    report_add_series(f, &(report_series){ .kind = REPORT_TRAJECTORY,
                                           .label = label,
                                           .colour = colour,
                                           .size = width,
                                           .count = RECORDS,
                                           .x = path->x,
                                           .y = path->x + 1,
                                           .stride = D });
}

static void draw_direction(report_figure *f, const experiments_view *svm, const char *label,
                           report_colour colour)
{
    double x[2] = { 0, svm->x[0] }, y[2] = { 0, svm->x[1] };
    report_add_series(f, &(report_series){ .kind = REPORT_DIRECTION,
                                           .label = label,
                                           .colour = colour,
                                           .count = 2,
                                           .x = x,
                                           .y = y });
}

static void draw_shares(report_figure *f, const experiments_view *x, const char *title,
                        const char *label)
{
    static const char *const names[N] = { "sequence 1", "sequence 2", "sequence 3" };
    report_add_panel(f, &(report_panel){ .title = title,
                                         .x = { .label = "steps", .low = 0, .high = 150 },
                                         .y = { .label = label, .low = 0, .high = 1.02 } });
    for (int i = 0; i < N; i++)
        report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                               .label = names[i],
                                               .colour = (report_colour)i,
                                               .dash = (report_dash)i,
                                               .count = RECORDS,
                                               .y = x->x + i,
                                               .stride = N });
}

/* Tokens by the label of their sequence; token 0 of every sequence is the origin. */
static void draw_tokens(report_figure *f, const experiments_view *X)
{
    double x[N], y[N];
    for (int sign = -1; sign <= 1; sign += 2) {
        int64_t count = 0;
        for (int i = 0; i < N; i++)
            if (labels[i] == sign) {
                x[count] = X->x[(i * T + 1) * D];
                y[count++] = X->x[(i * T + 1) * D + 1];
            }
        report_add_series(
            f, &(report_series){ .kind = REPORT_POINTS,
                                 .label = sign > 0 ? "token, label 1" : "token, label -1",
                                 .colour = sign > 0 ? REPORT_PURPLE : REPORT_SKY,
                                 .mark = sign > 0 ? REPORT_DIAMOND : REPORT_SQUARE,
                                 .size = 1.5,
                                 .count = count,
                                 .x = x,
                                 .y = y });
    }
}

static void draw_paths(report_figure *f, const experiments_view paths[3])
{
    draw_path(f, &paths[0], "exact", REPORT_BLUE, 3.6);
    draw_path(f, &paths[1], "with eps", REPORT_ORANGE, 2);
    draw_path(f, &paths[2], "float32", REPORT_VERMILION, 0.8);
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    views w;
    experiments_view softmax, probability, X;
    TRY(get(r, &w, err));
    TRY(experiments_get(r, "softmax", &softmax, err));
    TRY(experiments_get(r, "probability", &probability, err));
    TRY(experiments_get(r, "X", &X, err));
    const bool same = attsvm_correlation(w.joint.x, w.svm.x, D) > 1 - 1e-12;
    report_figure *f = *out = report_figure_create(2, 960, 840);
    report_add_panel(f, &(report_panel){ .title = "Prompt p",
                                         .x = { .label = "p_1", .low = -2, .high = 31 },
                                         .y = { .label = "p_2", .low = -12, .high = 18 },
                                         .equal = true });
    draw_paths(f, w.p);
    draw_direction(f, &w.joint, same ? "joint = unrelaxed SVM" : "joint SVM", REPORT_BLACK);
    if (!same)
        draw_direction(f, &w.svm, "unrelaxed SVM", REPORT_GREEN);
    draw_tokens(f, &X);
    report_add_panel(f, &(report_panel){ .title = "Head v",
                                         .x = { .label = "v_1", .low = -10, .high = 10 },
                                         .y = { .label = "v_2", .low = -3, .high = 15 },
                                         .equal = true });
    draw_paths(f, w.v);
    draw_direction(f, &w.svm_v, "v-SVM", REPORT_BLACK);
    draw_tokens(f, &X);
    draw_shares(f, &softmax, "Attention of the selected token", "softmax");
    draw_shares(f, &probability, "Probability of the label", "1/(1 + exp(-Y f))");
    return ATTSVM_OK;
}

#define JOINT_SETTING                                                                              \
    "p from (0,-1) and v from (-1,0) by normalised descent, each by its own norm, step 0.1, 1000 " \
    "steps; with exact gradients, with the published eps, and as published in float32."
#define JOINT_CAPTION                                                                              \
    "First two panels: trajectories of p and v with the tokens (the other token of every "         \
    "sequence is the "                                                                             \
    "origin) and the SVM directions (dashed); where runs coincide, the wider line lies below. "    \
    "Last two: attention of the selected token and probability of the label, exact descent."
#define JOINT_CODE                                                                                 \
    "Works in float32, adds eps (1e-19 for p, 1e-9 for v) to the norm of the gradient, and runs "  \
    "1000 steps."

const experiment mm_joint_tight = {
    .id = "mm-joint-tight",
    .title = "Head and prompt together: all sequences are support vectors",
    .paper = "MM, figure 3, published notebook joint_training",
    .setting = "n=3, T=2, d=2; tokens (0,0)&(1,1), (0,0)&(1,-1), (0,0)&(.5,1), labels 1, -1, "
               "1; " JOINT_SETTING,
    .command = "--model vp --step ngd --init file --lr 0.1 --iters 1000 --record 1",
    .caption = JOINT_CAPTION,
    .says = "When every sequence is a support vector of the v-SVM, p goes to the p-SVM with a "
            "margin of 1 for all sequences, which is then also the joint one.",
    .code = JOINT_CODE,
    .seconds = 0.1,
    .run = run_tight,
    .numbers = numbers,
    .draw = draw,
};

const experiment mm_joint_slack = {
    .id = "mm-joint-slack",
    .title = "Head and prompt together: one sequence is no support vector",
    .paper = "MM, figure 3, published notebook joint_training",
    .setting =
        "As mm-joint-tight with (.5,1.5) as second token of the third sequence; " JOINT_SETTING,
    .command = "--model vp --step ngd --init file --lr 0.1 --iters 1000 --record 1",
    .caption = JOINT_CAPTION,
    .says = "When a sequence is no support vector of the v-SVM, p goes to the relaxed p-SVM, in "
            "which the token of this sequence need only be selected with margin 0.",
    .code = JOINT_CODE,
    .seconds = 0.1,
    .run = run_slack,
    .numbers = numbers,
    .draw = draw,
};
