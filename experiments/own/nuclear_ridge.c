/* nuclear-ridge: a ridge on K and Q is a nuclear penalty on W = K Q' (theory 10.4). */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 4, T = 5, D = 6, DD = D * D, POINTS = 7, CONDITIONS = 4, FACTS = CONDITIONS + 4 };
enum { BALANCE, NORMS, OPERATOR, PRODUCT, RANK, TO_NUC, TO_FRO, ZERO };

static const char RIDGES[] = "0.02:0.00000002:7"; /* rho = lambda/2 */

typedef struct job {
    const experiments_setup *setup;
    double *facts; /* (runs, POINTS, FACTS) */
    double *ridge; /* (POINTS)              */
} job;

static attsvm_status singular_values(const double *W, double *sigma, attsvm_error *err)
{
    double copy[DD];
    memcpy(copy, W, sizeof copy);
    return la_singular_values(D, D, copy, D, sigma, err);
}

/* The four conditions at K, Q, each as a relative error; G = grad L(W). */
static attsvm_status certify(const double *K, const double *Q, const double *G, double lambda,
                             double *facts, attsvm_error *err)
{
    double KK[DD], QQ[DD], W[DD], sigma[D], slope[D], nuclear = 0;
    la_gemm(true, false, D, D, D, 1, K, D, K, D, 0, KK, D);
    la_gemm(true, false, D, D, D, 1, Q, D, Q, D, 0, QQ, D);
    la_gemm(false, true, D, D, D, 1, K, D, Q, D, 0, W, D);
    TRY(singular_values(W, sigma, err));
    TRY(singular_values(G, slope, err));
    for (int j = 0; j < D; j++)
        nuclear += sigma[j];
    double square = la_dot(K, K, DD) + la_dot(Q, Q, DD), size = la_norm(KK, DD);
    la_axpy(-1, QQ, KK, DD);
    facts[BALANCE] = la_norm(KK, DD) / fmax(size, 1e-300);
    facts[NORMS] = fabs(square - 2 * nuclear) / fmax(square, 1e-300);
    facts[OPERATOR] = fmax(slope[0] / lambda - 1, 0);
    facts[PRODUCT] = fabs(la_dot(G, W, DD) + lambda * nuclear) / fmax(lambda * nuclear, 1e-300);
    facts[RANK] = 0;
    for (int j = 0; j < D; j++)
        facts[RANK] += sigma[j] > 1e-6 * sigma[0];
    return ATTSVM_OK;
}

static attsvm_status judge(const job *j, const experiments_sample *s, const attsvm_path *path,
                           double *facts, attsvm_error *err)
{
    const attsvm_array *KQ = attsvm_path_find(path, "KQ"), *ridge = attsvm_path_find(path, "ridge");
    const double *matrix = attsvm_path_find(path, "theta")->data;
    model_options options = { .kind = ATTSVM_MODEL_W,
                              .loss = "logistic",
                              .head = ATTSVM_HEAD_LINEAR,
                              .query = ATTSVM_QUERY_GIVEN,
                              .threads = 1 };
    double G[DD], nuc[DD], fro[DD];
    int64_t alpha[N];
    model *m;
    for (int i = 0; i < N; i++) {
        alpha[i] = 0;
        for (int t = 1; t < T; t++)
            if (s->Y[i] * la_dot(s->v, s->X + (i * T + t) * D, D) >
                s->Y[i] * la_dot(s->v, s->X + (i * T + alpha[i]) * D, D))
                alpha[i] = t;
    }
    TRY(experiments_sample_solve(s, "nuc", alpha, nuc, NULL, err));
    TRY(experiments_sample_solve(s, "fro", alpha, fro, NULL, err));
    TRY(model_create(&m, s->data, &options, err));
    attsvm_status status = ATTSVM_OK;
    for (int k = 0; k < POINTS && status == ATTSVM_OK; k++) {
        const double *K = (const double *)KQ->data + (ptrdiff_t)k * 2 * DD, *W = matrix + k * DD;
        const double lambda = 2 * attsvm_array_get(ridge, k);
        double *out = facts + (ptrdiff_t)k * FACTS;
        model_gradient gradient = { .x = G };
        model_evaluate(m, W, NULL, 0, &gradient, NULL);
        for (int i = 0; i < DD; i++)
            G[i] *= base_exp(gradient.log[0]);
        status = certify(K, K + DD, G, lambda, out, err);
        out[ZERO] = la_norm(W, DD) < 1e-9;
        out[TO_NUC] = attsvm_correlation(W, nuc, DD);
        out[TO_FRO] = attsvm_correlation(W, fro, DD);
        if (out[ZERO] != 0) /* at the minimum W = 0 the operator norm is the only condition */
            out[BALANCE] = out[NORMS] = out[PRODUCT] = out[TO_NUC] = out[TO_FRO] = NAN;
        j->ridge[k] = attsvm_array_get(ridge, k);
    }
    model_free(m);
    return status;
}

static attsvm_status run_one(void *context, int64_t k, int worker, attsvm_error *err)
{
    const job *j = context;
    experiments_sample s;
    attsvm_path_settings settings;
    attsvm_path *path = NULL;
    (void)worker;
    TRY(experiments_sample_create(&s, j->setup, N, T, D, 0, k, err));
    attsvm_path_settings_init(&settings);
    settings.model = ATTSVM_MODEL_KQ;
    settings.ridge_path = RIDGES;
    settings.threads = 1;
    settings.starts = 4;
    attsvm_status status = attsvm_path_follow(&path, s.data, &settings, NULL,
                                              experiments_observe_path, (void *)j->setup, err);
    if (status == ATTSVM_OK)
        status = experiments_go_on(j->setup);
    if (status == ATTSVM_OK)
        status = judge(j, &s, path, j->facts + k * POINTS * FACTS, err);
    attsvm_path_free(path);
    experiments_sample_free(&s);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup };
    TRY(experiments_add(out, &j.facts, "facts", SHAPE(setup->runs, POINTS, FACTS), err));
    TRY(experiments_add(out, &j.ridge, "ridge", SHAPE(POINTS), err));
    return experiments_parallel(setup, setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

static double mean_of(const experiments_view *f, int point, int which)
{
    double mean;
    experiments_mean(f->x + (ptrdiff_t)point * FACTS + which, f->shape[0], POINTS * FACTS, &mean,
                     NULL);
    return mean;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    static const char *const keys[CONDITIONS] = { "balance", "norms", "operator", "product" };
    static const char *const meanings[CONDITIONS] = {
        "largest |K'K - Q'Q| / |K'K|", "largest | |K|^2 + |Q|^2 - 2 |W|_* | / (|K|^2 + |Q|^2)",
        "largest excess of |grad L(W)| over lambda, spectral norm, relative",
        "largest |<grad L(W), W> + lambda |W|_*| / (lambda |W|_*)"
    };
    experiments_view f;
    double worst[CONDITIONS] = { 0 };
    TRY(experiments_get(r, "facts", &f, err));
    for (int c = 0; c < CONDITIONS; c++) {
        for (int64_t k = 0; k < f.shape[0] * POINTS; k++)
            if (isfinite(f.x[k * FACTS + c]))
                worst[c] = fmax(worst[c], f.x[k * FACTS + c]);
        experiments_number(out, keys[c], worst[c], meanings[c]);
    }
    experiments_number(out, "to_nuclear", mean_of(&f, POINTS - 1, TO_NUC),
                       "mean correlation with the nuclear SVM at the smallest ridge");
    experiments_number(out, "to_frobenius", mean_of(&f, POINTS - 1, TO_FRO),
                       "and with the Frobenius SVM");
    experiments_number(out, "rank", mean_of(&f, POINTS - 1, RANK), "mean rank of W there");
    experiments_finds(out,
                      "The four conditions of a first-order point of L(W) + lambda |W|_* hold to "
                      "%.1e, %.1e, %.1e and %.1e (relative).",
                      worst[0], worst[1], worst[2], worst[3]);
    experiments_finds(out,
                      "As lambda falls to 4e-8 the mean rank goes from %.2f to %.2f, and the "
                      "correlation with the nuclear SVM of the best tokens to %.5f (Frobenius SVM: "
                      "%.3f).",
                      mean_of(&f, 0, RANK), mean_of(&f, POINTS - 1, RANK),
                      mean_of(&f, POINTS - 1, TO_NUC), mean_of(&f, POINTS - 1, TO_FRO));
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view f, ridge;
    double lambda[POINTS], rank[POINTS], to[2][POINTS];
    TRY(experiments_get(r, "facts", &f, err));
    TRY(experiments_get(r, "ridge", &ridge, err));
    for (int k = 0; k < POINTS; k++) {
        lambda[k] = 2 * ridge.x[k];
        rank[k] = mean_of(&f, k, RANK);
        to[0][k] = 1 - mean_of(&f, k, TO_NUC);
        to[1][k] = 1 - mean_of(&f, k, TO_FRO);
    }
    *out = report_figure_create(2, 960, 400);
    report_add_panel(*out,
                     &(report_panel){ .title = "Direction",
                                      .x = { .label = "ridge lambda", .log = true },
                                      .y = { .label = "1 - mean correlation", .log = true } });
    for (int k = 0; k < 2; k++)
        report_add_series(
            *out, &(report_series){ .kind = REPORT_MARKS,
                                    .label = k ? "to the Frobenius SVM" : "to the nuclear SVM",
                                    .colour = (report_colour)k,
                                    .mark = (report_mark)k,
                                    .dash = (report_dash)k,
                                    .count = POINTS,
                                    .x = lambda,
                                    .y = to[k] });
    report_add_panel(*out, &(report_panel){ .title = "Rank of W = K Q'",
                                            .x = { .label = "ridge lambda", .log = true },
                                            .y = { .label = "mean rank", .low = 0, .high = D } });
    report_add_series(
        *out,
        &(report_series){
            .kind = REPORT_MARKS, .colour = REPORT_BLUE, .count = POINTS, .x = lambda, .y = rank });
    return ATTSVM_OK;
}

const experiment nuclear_ridge = {
    .id = "nuclear-ridge",
    .title = "A ridge on K and Q is a nuclear penalty",
    .paper = "ours, on a statement of TS",
    .setting = "n=4, T=5, d=6, unit tokens, queries and head; least L(K Q') + (lambda/2)(|K|^2 + "
               "|Q|^2), K and Q of width d, lambda from 4e-2 to 4e-8.",
    .caption = "Direction and rank of W = K Q' as the ridge vanishes.",
    .says = "With vanishing regularisation of K and Q, W = KQ' converges in direction to the "
            "nuclear-norm SVM.",
    .runs = 20,
    .unit = "instances",
    .seconds = 5,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
