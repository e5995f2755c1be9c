/* ts-path: W and its factors K, Q on the same data go to different solutions. */
#include "experiments/tools/tools.h"

#include <stdlib.h>

enum { STEPS = 2000, RECORDS = STEPS + 1, N = 2, T = 3, D = 2, DD = D * D };

static const double X[N * T * D] = {
    -0.9814968109130859, 0.18639519810676575,   -1.135571837425232, -0.0498390719294548,
    -1.4568305015563965, 0.11450517922639847,   0.6917173862457275, -0.16891583800315857,
    0.732312798500061,   -0.017475053668022156, 0.9413471221923828, -0.2896907925605774
};
static const double Z[N * D] = { 0.8450113534927368, 0.534748375415802, -0.6362639665603638,
                                 -0.771471381187439 };
static const double head[D] = { 0.9273199439048767, 0.37426966428756714 };
static const double labels[N] = { 1, 1 };
static const double start_K[DD] = { 0.15409961342811584, -0.21787893772125244, -0.0293428897857666,
                                    0.05684312805533409 };
static const double zero[DD] = { 0 };

static attsvm_status train(const experiments_setup *setup, const attsvm_data *data,
                           attsvm_model_kind kind, attsvm_train **out, attsvm_error *err)
{
    attsvm_train_settings s;
    experiments_train_settings(setup, &s);
    s.model = (int32_t)kind;
    s.init = "file";
    s.record = "1";
    s.iters = STEPS;
    if (kind == ATTSVM_MODEL_KQ) { /* as published */
        s.eps = "2.220446049250313e-16";
        s.ridge = 2.220446049250313e-16;
    }
    TRY(attsvm_train_create(out, data, &s, NULL, NULL, err));
    return experiments_train(setup, *out, err);
}

/* W = K Q' at every record. */
static attsvm_status read_product(const attsvm_train *run, double *W, attsvm_error *err)
{
    double *K, *Q = NULL;
    TRY(base_allocate(&K, (size_t)2 * RECORDS * DD, sizeof *K, "trace of K and Q", err));
    Q = K + (ptrdiff_t)RECORDS * DD;
    attsvm_status status = experiments_trained(run, "trace_K", K, RECORDS * DD, err);
    if (status == ATTSVM_OK)
        status = experiments_trained(run, "trace_Q", Q, RECORDS * DD, err);
    for (int64_t k = 0; k < RECORDS && status == ATTSVM_OK; k++)
        for (int a = 0; a < D; a++)
            for (int b = 0; b < D; b++)
                for (int c = 0; c < D; c++)
                    W[k * DD + a * D + b] += K[k * DD + a * D + c] * Q[k * DD + b * D + c];
    free(K);
    return status;
}

static attsvm_status solve(const attsvm_data *data, attsvm_norm norm, double *W, attsvm_error *err)
{
    attsvm_svm_settings s;
    int64_t alpha[N];
    attsvm_svm_settings_init(&s);
    s.problem = ATTSVM_PROBLEM_W;
    s.norm = (int32_t)norm;
    s.threads = 1;
    TRY(attsvm_select_optimal(data, &s, alpha, NULL, err));
    return experiments_solve(data, &s, alpha, W, DD, NULL, err);
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    double *W, *KQ, *fro, *nuc;
    attsvm_data *data;
    attsvm_train *runs[2] = { NULL, NULL };
    attsvm_named_array arrays[] = {
        experiments_name("X", X, SHAPE(N, T, D)),
        experiments_name("Z", Z, SHAPE(N, D)),
        experiments_name("Y", labels, SHAPE(N)),
        experiments_name("v", head, SHAPE(D)),
        experiments_name("init_W", zero, SHAPE(D, D)),
        experiments_name("init_K", start_K, SHAPE(D, D)),
        experiments_name("init_Q", zero, SHAPE(D, D)),
    };
    TRY(experiments_add(out, &W, "W", SHAPE(RECORDS, D, D), err));
    TRY(experiments_add(out, &KQ, "KQ", SHAPE(RECORDS, D, D), err));
    TRY(experiments_add(out, &fro, "W_fro", SHAPE(D, D), err));
    TRY(experiments_add(out, &nuc, "W_nuc", SHAPE(D, D), err));
    TRY(experiments_add_data(out, arrays, sizeof arrays / sizeof *arrays, err));
    TRY(attsvm_data_create(&data, arrays, sizeof arrays / sizeof *arrays, NULL, err));
    attsvm_status status = train(setup, data, ATTSVM_MODEL_W, &runs[0], err);
    if (status == ATTSVM_OK)
        status = experiments_trained(runs[0], "trace_W", W, RECORDS * DD, err);
    if (status == ATTSVM_OK)
        status = train(setup, data, ATTSVM_MODEL_KQ, &runs[1], err);
    if (status == ATTSVM_OK)
        status = read_product(runs[1], KQ, err);
    if (status == ATTSVM_OK)
        status = solve(data, ATTSVM_NORM_FRO, fro, err);
    if (status == ATTSVM_OK)
        status = solve(data, ATTSVM_NORM_NUC, nuc, err);
    attsvm_train_free(runs[1]);
    attsvm_train_free(runs[0]);
    attsvm_data_free(data);
    return status;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view W, KQ, fro, nuc;
    TRY(experiments_get(r, "W", &W, err));
    TRY(experiments_get(r, "KQ", &KQ, err));
    TRY(experiments_get(r, "W_fro", &fro, err));
    TRY(experiments_get(r, "W_nuc", &nuc, err));
    const double *end = W.x + (ptrdiff_t)STEPS * DD, *end_KQ = KQ.x + (ptrdiff_t)STEPS * DD;
    double W_fro = attsvm_correlation(end, fro.x, DD);
    double W_nuc = attsvm_correlation(end, nuc.x, DD);
    double KQ_fro = attsvm_correlation(end_KQ, fro.x, DD);
    double KQ_nuc = attsvm_correlation(end_KQ, nuc.x, DD);
    experiments_number(out, "W_fro", W_fro, "correlation of W to the Frobenius SVM");
    experiments_number(out, "W_nuc", W_nuc, "correlation of W to the nuclear SVM");
    experiments_number(out, "KQ_fro", KQ_fro, "correlation of KQ' to the Frobenius SVM");
    experiments_number(out, "KQ_nuc", KQ_nuc, "correlation of KQ' to the nuclear SVM");
    experiments_finds(out,
                      "W ends at correlation %.5f with the Frobenius and %.4f with the nuclear "
                      "solution; KQ' at %.4f and %.5f. Same data, same loss: the parametrisation "
                      "decides.",
                      W_fro, W_nuc, KQ_fro, KQ_nuc);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

/* W z_i for every record of W, into wz (count x D). */
static void apply(const double *W, int64_t count, int i, double *wz)
{
    for (int64_t k = 0; k < count; k++)
        for (int a = 0; a < D; a++)
            wz[k * D + a] = W[k * DD + a * D] * Z[i * D] + W[k * DD + a * D + 1] * Z[i * D + 1];
}

static void draw_direction(report_figure *f, const double *W, int i, const char *label,
                           report_colour colour)
{
    double wz[D];
    apply(W, 1, i, wz);
    report_add_series(f, &(report_series){ .kind = REPORT_DIRECTION,
                                           .label = label,
                                           .colour = colour,
                                           .count = 2,
                                           .x = (double[]){ 0, wz[0] },
                                           .y = (double[]){ 0, wz[1] } });
}

/* The tokens of both sequences, and their queries if there is room. */
static void draw_tokens(report_figure *f, bool queries)
{
    for (int i = 0; i < N; i++)
        report_add_series(
            f, &(report_series){ .kind = REPORT_POINTS,
                                 .label = i ? "tokens of sequence 2" : "tokens of sequence 1",
                                 .colour = i ? REPORT_VERMILION : REPORT_BLUE,
                                 .mark = i ? REPORT_HOLLOW_SQUARE : REPORT_RING,
                                 .size = queries ? 1.5 : 1,
                                 .count = T,
                                 .x = X + (ptrdiff_t)i * T * D,
                                 .y = X + (ptrdiff_t)i * T * D + 1,
                                 .stride = D });
    for (int i = 0; i < N && queries; i++)
        report_add_series(f, &(report_series){ .kind = REPORT_POINTS,
                                               .label = i ? "z_2" : "z_1",
                                               .colour = i ? REPORT_VERMILION : REPORT_BLUE,
                                               .mark = REPORT_DIAMOND,
                                               .size = 1.5,
                                               .count = 1,
                                               .x = Z + (ptrdiff_t)i * D,
                                               .y = Z + (ptrdiff_t)i * D + 1 });
}

static attsvm_status draw_panel(report_figure *f, const experiments_view *path, const double *fro,
                                const double *nuc, const char *title, attsvm_error *err)
{
    static const char *const names[N] = { "W z_1", "W z_2" };
    double *wz;
    TRY(base_allocate(&wz, (size_t)RECORDS * D, sizeof *wz, "figure", err));
    report_add_panel(f,
                     &(report_panel){ .title = title,
                                      .x = { .label = "first coordinate", .low = -30, .high = 30 },
                                      .y = { .label = "second coordinate", .low = -30, .high = 30 },
                                      .equal = true });
    draw_tokens(f, false);
    for (int i = 0; i < N; i++) {
        apply(path->x, RECORDS, i, wz);
        report_add_series(f, &(report_series){ .kind = REPORT_TRAJECTORY,
                                               .label = names[i],
                                               .colour = i ? REPORT_VERMILION : REPORT_BLUE,
                                               .count = RECORDS,
                                               .x = wz,
                                               .y = wz + 1,
                                               .stride = D });
    }
    for (int i = 0; i < N; i++) {
        draw_direction(f, fro, i, i ? NULL : "Frobenius SVM", REPORT_GREEN);
        draw_direction(f, nuc, i, i ? NULL : "nuclear SVM", REPORT_BLACK);
    }
    free(wz);
    return ATTSVM_OK;
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view W, KQ, fro, nuc;
    TRY(experiments_get(r, "W", &W, err));
    TRY(experiments_get(r, "KQ", &KQ, err));
    TRY(experiments_get(r, "W_fro", &fro, err));
    TRY(experiments_get(r, "W_nuc", &nuc, err));
    *out = report_figure_create(3, 1200, 460);
    TRY(draw_panel(*out, &W, fro.x, nuc.x, "W trained", err));
    TRY(draw_panel(*out, &KQ, fro.x, nuc.x, "K and Q trained", err));
    report_add_panel(*out, &(report_panel){ .title = "The tokens and queries, enlarged",
                                            .x = { .label = "first coordinate" },
                                            .y = { .label = "second coordinate" },
                                            .equal = true });
    draw_tokens(*out, true);
    for (int i = 0; i < N; i++) {
        draw_direction(*out, fro.x, i, i ? NULL : "W z_i of the Frobenius SVM", REPORT_GREEN);
        draw_direction(*out, nuc.x, i, i ? NULL : "of the nuclear SVM", REPORT_BLACK);
    }
    return ATTSVM_OK;
}

const experiment ts_path = {
    .id = "ts-path",
    .title = "W goes to the Frobenius, KQ' to the nuclear SVM",
    .paper = "TS, published notebook visualization",
    .setting = "n=2, T=3, d=2, cross-attention with given queries; normalised descent, step 0.1, "
               "2000 steps; W from 0 with exact steps; K from a given start, Q from 0, with the "
               "published eps and ridge of 2.2e-16.",
    .command = "--model W --step ngd --init file --lr 0.1 --iters 2000 --record 1",
    .caption = "First two panels: trajectories of W z_1 and W z_2, W = KQ' in the second. Dashed: "
               "the same of the Frobenius and of the nuclear SVM solution. Third: the tokens, too "
               "small to be seen at that scale.",
    .says = "Trained as one matrix, W converges in direction to the Frobenius-norm SVM; trained as "
            "K and Q, the product goes to the nuclear-norm SVM.",
    .code = "Works in float64. For K and Q it adds eps = 2.2e-16 to the norm of the gradient and a "
            "ridge of 2.2e-16 to the loss, as we do here; the data are those of the notebook.",
    .seconds = 0.1,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
