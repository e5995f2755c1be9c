/* ts-lambda: how many tokens a concave head keeps, and in which shares: the sparsemax law. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { T = 6, D = 6, KAPPAS = 5, FACTS = 5 };
enum { ERROR, KEPT, LAW, PREDICTIVITY, NEGATIVE };

static const double kappas[KAPPAS] = { 0.05, 0.1, 0.2, 0.5, 1 };
static const char RADII[] = "3:1e5:4";

typedef struct job {
    const experiments_setup *setup;
    double *facts;  /* (KAPPAS, runs, FACTS) */
    double *shares; /* (KAPPAS, runs, 2, T): attention and law; tokens by decreasing score */
} job;

/* A random orthonormal basis. */
static void draw_basis(base_random *r, double *X)
{
    for (int t = 0; t < T; t++) {
        double *x = X + (ptrdiff_t)t * D;
        base_random_sphere(r, x, D);
        for (int pass = 0; pass < 2; pass++)
            for (int k = 0; k < t; k++)
                la_axpy(-la_dot(x, X + (ptrdiff_t)k * D, D), X + (ptrdiff_t)k * D, x, D);
        double norm = la_norm(x, D);
        for (int j = 0; j < D; j++)
            x[j] /= norm;
    }
}

/* Euclidean projection of g (T, decreasing) onto the simplex: max(g - tau, 0) with sum 1. */
static int sparsemax(const double *g, double *s)
{
    double sum = 0, tau = 0;
    int kept = 0;
    for (int k = 0; k < T; k++) {
        sum += g[k];
        if (g[k] * (k + 1) > sum - 1) {
            kept = k + 1;
            tau = (sum - 1) / kept;
        }
    }
    for (int k = 0; k < T; k++)
        s[k] = fmax(g[k] - tau, 0);
    return kept;
}

/* Attention at the largest radius (into s), the number of kept tokens, and predictivity there. */
static attsvm_status follow(const experiments_setup *setup, const double *X, const double *v,
                            double Y, double kappa, double *s, double *predictivity,
                            attsvm_error *err)
{
    attsvm_named_array arrays[] = { experiments_name("X", X, SHAPE(1, T, D)),
                                    experiments_name("Y", &Y, SHAPE(1)),
                                    experiments_name("v", v, SHAPE(D)) };
    attsvm_path_settings settings;
    attsvm_data *data;
    attsvm_path *path = NULL;
    attsvm_path_settings_init(&settings);
    settings.model = ATTSVM_MODEL_P;
    settings.head = ATTSVM_HEAD_CONCAVE;
    settings.kappa = kappa;
    settings.radii = RADII;
    settings.threshold = 1e-6;
    settings.starts = 3;
    settings.threads = 1;
    TRY(attsvm_data_create(&data, arrays, 3, NULL, err));
    attsvm_status status = attsvm_path_follow(&path, data, &settings, NULL,
                                              experiments_observe_path, (void *)setup, err);
    if (status == ATTSVM_OK)
        status = experiments_go_on(setup);
    if (status == ATTSVM_OK) {
        int64_t last = attsvm_path_describe(path).points - 1;
        const double *p = (const double *)attsvm_path_find(path, "theta")->data + last * D;
        for (int t = 0; t < T; t++)
            s[t] = la_dot(X + (ptrdiff_t)t * D, p, D);
        la_softmax(s, T);
        *predictivity = attsvm_array_get(attsvm_path_find(path, "predictivity"), last);
    }
    attsvm_path_free(path);
    attsvm_data_free(data);
    return status;
}

/* Sorts tokens by decreasing score. */
static void sort_tokens(double *X, const double *v)
{
    for (int t = 0; t < T; t++)
        for (int k = t + 1; k < T; k++)
            if (la_dot(X + (ptrdiff_t)k * D, v, D) > la_dot(X + (ptrdiff_t)t * D, v, D))
                for (int j = 0; j < D; j++) {
                    double x = X[t * D + j];
                    X[t * D + j] = X[k * D + j];
                    X[k * D + j] = x;
                }
}

static attsvm_status run_one(void *context, int64_t at, int worker, attsvm_error *err)
{
    const job *j = context;
    const int64_t runs = j->setup->runs, k = at % runs;
    const double kappa = kappas[at / runs];
    base_random r = base_random_stream((uint64_t)j->setup->seed, (uint64_t)78 << 40 | (uint64_t)k);
    double X[T * D], v[D], g[T], other[T], unused;
    double *facts = j->facts + at * FACTS, *shares = j->shares + at * 2 * T;
    (void)worker;
    draw_basis(&r, X);
    base_random_sphere(&r, v, D);
    experiments_disturb(j->setup, (uint64_t)k, 0, v, D); /* a path has no start values to disturb */
    sort_tokens(X, v);
    for (int t = 0; t < T; t++)
        g[t] = la_dot(X + (ptrdiff_t)t * D, v, D) / (2 * kappa);
    TRY(follow(j->setup, X, v, 1, kappa, shares, &facts[PREDICTIVITY], err));
    facts[LAW] = sparsemax(g, shares + T);
    for (int t = 0; t < T; t++) {
        facts[KEPT] += shares[t] > 1e-6;
        facts[ERROR] = fmax(facts[ERROR], fabs(shares[t] - shares[T + t]));
    }
    TRY(follow(j->setup, X, v, -1, kappa, other, &unused, err));
    for (int t = 0; t < T; t++)
        facts[NEGATIVE] = fmax(facts[NEGATIVE], other[t]);
    return ATTSVM_OK;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup };
    TRY(experiments_add(out, &j.facts, "facts", SHAPE(KAPPAS, setup->runs, FACTS), err));
    TRY(experiments_add(out, &j.shares, "shares", SHAPE(KAPPAS, setup->runs, 2, T), err));
    return experiments_parallel(setup, KAPPAS * setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

static double fact(const experiments_view *f, int kappa, int which)
{
    double mean;
    experiments_mean(f->x + (ptrdiff_t)kappa * f->shape[1] * FACTS + which, f->shape[1], FACTS,
                     &mean, NULL);
    return mean;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view f;
    double worst = 0, other = 0, least = 1, predictivity = 0;
    TRY(experiments_get(r, "facts", &f, err));
    for (int64_t k = 0; k < KAPPAS * f.shape[1]; k++) {
        const double *x = f.x + k * FACTS;
        worst = fmax(worst, x[ERROR]);
        other += x[KEPT] != x[LAW];
        least = fmin(least, x[NEGATIVE]);
        if (x[KEPT] < T) /* if all tokens are kept, nothing grows */
            predictivity = fmax(predictivity, x[PREDICTIVITY]);
    }
    experiments_number(out, "attention_error", worst,
                       "largest difference of attention and law, over tokens and instances");
    experiments_number(out, "other_count", other, "instances that keep another number of tokens");
    experiments_number(out, "negative_attention", least,
                       "Y = -1: least attention of the selected token");
    experiments_number(
        out, "predictivity", predictivity,
        "largest 1 - correlation with p_fin + R p_svm, where some token loses its attention");
    for (int k = 0; k < KAPPAS; k++) {
        char key[32];
        snprintf(key, sizeof key, "kept_%g", kappas[k]);
        experiments_number(out, key, fact(&f, k, KEPT), "mean number of kept tokens");
    }
    experiments_finds(
        out,
        "At R = 1e5 attention agrees with the law to %.1e. The number of kept tokens "
        "differs on %.0f of %.0f instances; it rises from %.2f (kappa = 0.05) to %.2f "
        "(kappa = 1).",
        worst, other, (double)(KAPPAS * f.shape[1]), fact(&f, 0, KEPT), fact(&f, KAPPAS - 1, KEPT));
    experiments_finds(out, "With Y = -1 the selected token has at least %.6f of the attention.",
                      least);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view f, s;
    double kept[KAPPAS], law[KAPPAS], *attention, *share;
    TRY(experiments_get(r, "facts", &f, err));
    TRY(experiments_get(r, "shares", &s, err));
    const int64_t points = KAPPAS * f.shape[1] * T;
    TRY(base_allocate(&attention, 2 * (size_t)points, sizeof *attention, "points", err));
    share = attention + points;
    for (int64_t k = 0; k < points; k++) {
        attention[k] = s.x[k / T * 2 * T + k % T];
        share[k] = s.x[k / T * 2 * T + T + k % T];
    }
    for (int k = 0; k < KAPPAS; k++) {
        kept[k] = fact(&f, k, KEPT);
        law[k] = fact(&f, k, LAW);
    }
    *out = report_figure_create(2, 960, 420);
    report_add_panel(*out,
                     &(report_panel){ .title = "Tokens kept",
                                      .x = { .label = "curvature kappa of the head", .log = true },
                                      .y = { .label = "mean number", .low = 0, .high = T } });
    report_add_series(*out, &(report_series){ .kind = REPORT_LINE,
                                              .label = "law",
                                              .colour = REPORT_GREY,
                                              .size = 3,
                                              .count = KAPPAS,
                                              .x = kappas,
                                              .y = law });
    report_add_series(*out, &(report_series){ .kind = REPORT_MARKS,
                                              .label = "path",
                                              .colour = REPORT_BLUE,
                                              .dash = REPORT_DOTTED,
                                              .count = KAPPAS,
                                              .x = kappas,
                                              .y = kept });
    report_add_panel(*out,
                     &(report_panel){ .title = "Shares of attention",
                                      .x = { .label = "law", .low = -0.02, .high = 1.02 },
                                      .y = { .label = "path, R = 1e5", .low = -0.02, .high = 1.02 },
                                      .equal = true });
    report_add_series(*out, &(report_series){ .kind = REPORT_POINTS,
                                              .colour = REPORT_BLUE,
                                              .mark = REPORT_RING,
                                              .count = points,
                                              .x = share,
                                              .y = attention });
    free(attention);
    return ATTSVM_OK;
}

const experiment ts_lambda = {
    .id = "ts-lambda",
    .title = "A concave head keeps as many tokens as sparsemax",
    .paper = "TS",
    .setting =
        "n=1, T=d=6, orthonormal tokens, unit head v, head v'u - kappa |u|^2 with kappa from "
        "0.05 to 1; path of p to R = 1e5.",
    .caption = "First panel: mean number of tokens that keep attention, by kappa. Second: the "
               "share of every "
               "token at R = 1e5 against the projection of (gamma/(2 kappa)) onto the simplex, a "
               "closed form of ours (sparsemax).",
    .says = "With a nonlinear head attention composes several tokens.",
    .runs = 100,
    .unit = "instances a point",
    .seconds = 8,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
