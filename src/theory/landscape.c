/*
 * The landscape at random points (theory 6.13, 10.1).  With c_t = gamma_t, cbar = sum s_t c_t and
 * H_t = h_opt - h_t, h = X W_svm z, each term's share of -<grad L, W_svm> is |l'| D / n,
 *
 *   D = s_opt (c_opt - cbar) - sum_t s_t (c_t - cbar) (H_t - 1),
 *
 * over the t whose row is not tight: if all are tight (H_t = 1), or all c_t except c_opt are equal,
 * D > 0 everywhere.  The code uses this form, in numbers with a log-scale: at large norms D may be
 * e^-500 of |grad L| |W_svm|, and the sign of a plain inner product would be rounding.
 */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>

static const double lowest_norm = 1e-2, highest_norm = 1e3;

/* Direction uniform on the sphere, norm log-uniform; every sample has its own stream. */
static void draw(uint64_t seed, int64_t k, double *theta, int64_t size)
{
    base_random r = base_random_stream(seed, (uint64_t)7 << 56 | (uint64_t)k);
    double share = base_random_uniform(&r);
    double norm = base_exp((1 - share) * base_log(lowest_norm) + share * base_log(highest_norm));
    base_random_sphere(&r, theta, size);
    for (int64_t j = 0; j < size; j++)
        theta[j] *= norm;
}

typedef struct place {
    const attsvm_train *run;
    const attsvm_scores *scores;
    const double *direction; /* (size) W_svm or p_svm */
    const int64_t *opt;      /* (terms)               */
    double *theta;           /* (size)                */
    double *logits, *h;      /* (cells)               */
    model_scaled sum;        /* of |l'| D             */
} place;

/* c_t - cbar as a sum of differences, without cancellation. */
static model_scaled above_mean(const double *c, const double *log_s, int64_t T, int64_t t)
{
    model_scaled sum = { 0, 0 };
    for (int64_t k = 0; k < T; k++)
        if (c[k] != c[t])
            sum = model_scaled_add(sum, (model_scaled){ c[t] - c[k], log_s[k] });
    return sum;
}

/* |l'| D of one term; logits become log s, and c (T) is filled. */
static model_scaled share_of_term(const place *p, int64_t g, double *logits, const double *h,
                                  double *c, int64_t T)
{
    const model_loss *loss = &p->run->m->loss;
    const int64_t opt = p->opt[g];
    double largest = logits[0], total = 0, output = 0;
    for (int64_t t = 0; t < T; t++)
        largest = fmax(largest, logits[t]);
    for (int64_t t = 0; t < T; t++)
        total += base_exp(logits[t] - largest);
    for (int64_t t = 0; t < T; t++) {
        logits[t] -= largest + base_log(total);
        c[t] = attsvm_scores_gamma(p->scores, g, t);
        output += base_exp(logits[t]) * c[t];
    }
    model_scaled D = above_mean(c, logits, T, opt);
    D.log += logits[opt];
    for (int64_t t = 0; t < T; t++) {
        double over = h[opt] - h[t] - 1;
        if (t == opt || fabs(over) <= THEORY_TIGHT)
            continue;
        model_scaled part = above_mean(c, logits, T, t);
        D = model_scaled_add(D, (model_scaled){ -over * part.value, part.log + logits[t] });
    }
    model_scaled rate = loss->slope(loss, output);
    return (model_scaled){ D.value * rate.value, D.log + rate.log };
}

static attsvm_status add_terms(place *p, attsvm_error *err)
{
    const model *m = p->run->m;
    double *c;
    int64_t cell = 0, term = 0;
    TRY(base_allocate(&c, (size_t)m->data->T_max, sizeof *c, "scores", err));
    p->sum = (model_scaled){ 0, 0 };
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, term++) {
            p->sum =
                model_scaled_add(p->sum, share_of_term(p, term, p->logits + cell, p->h + cell, c,
                                                       data_terms_visible(&m->query, i, q)));
            cell += data_length(m->data, i);
        }
    free(c);
    return ATTSVM_OK;
}

static attsvm_status sample(attsvm_landscape *out, place *p, int64_t seed, attsvm_error *err)
{
    model *m = p->run->m;
    const int64_t size = m->size, cells = model_softmax_first(m, m->n);
    TRY(base_allocate(&p->theta, 2 * (size_t)size + 2 * (size_t)cells, sizeof *p->theta, "a point",
                      err));
    model_gradient gradient = { .x = p->theta + size };
    p->logits = gradient.x + size;
    p->h = p->logits + cells;
    attsvm_status status = ATTSVM_OK;
    double length = base_log(la_norm(p->direction, size)) + base_log((double)m->terms);
    model_logits(m, p->direction, p->h);
    for (int64_t k = 0; k < out->samples && status == ATTSVM_OK; k++) {
        draw((uint64_t)seed, k, p->theta, size);
        model_evaluate(m, p->theta, NULL, 0, &gradient, NULL);
        if (gradient.log[0] == -INFINITY)
            continue; /* a stationary point */
        model_logits(m, p->theta, p->logits);
        status = add_terms(p, err);
        double norm = gradient.log[0] + base_log(la_norm(gradient.x, size)) + length;
        double cosine = p->sum.value == 0
                            ? 0
                            : -copysign(base_exp(model_scaled_log(p->sum) - norm), p->sum.value);
        out->negative += p->sum.value > 0;
        out->largest = fmax(out->largest, cosine);
    }
    free(p->theta);
    return status;
}

static attsvm_status look(attsvm_landscape *out, const attsvm_train *run,
                          const attsvm_scores *scores, int64_t seed, attsvm_error *err)
{
    attsvm_svm_settings svm;
    attsvm_solution *solution = NULL;
    int64_t *opt;
    TRY(attsvm_train_limit(&run->settings, &svm, NULL, err));
    TRY(base_allocate(&opt, (size_t)scores->terms.count, sizeof *opt, "optimal tokens", err));
    for (int64_t g = 0; g < scores->terms.count; g++)
        opt[g] = attsvm_scores_term(scores, g).optimal;
    attsvm_status status = theory_solve(
        scores->data, &(attsvm_selection){ .alpha = opt, .terms = scores->terms.count }, &svm, NULL,
        &solution, err);
    if (status == ATTSVM_OK)
        out->svm = attsvm_solution_describe(solution).outcome;
    if (status == ATTSVM_OK && out->svm == ATTSVM_OPTIMAL && out->samples > 0) {
        place p = { .run = run,
                    .scores = scores,
                    .opt = opt,
                    .direction = attsvm_solution_claim(solution).theta };
        status = sample(out, &p, seed, err);
        out->share = (double)out->negative / (double)out->samples;
    }
    attsvm_solution_free(solution);
    free(opt);
    return status;
}

attsvm_status attsvm_landscape_compute(attsvm_landscape *out, const attsvm_train *run,
                                       int64_t samples, int64_t seed, attsvm_error *err)
{
    NEED(out);
    NEED(run);
    const model *m = run->m;
    attsvm_scores *scores;
    *out = (attsvm_landscape){ .samples = samples, .share = NAN, .largest = -INFINITY };
    if ((m->kind != ATTSVM_MODEL_P && m->kind != ATTSVM_MODEL_W) || !m->head.kind->linear)
        return fail(err, ATTSVM_E_ARG,
                    "the landscape is that of the models p and W with a fixed linear head");
    if (samples < 1)
        return fail(err, ATTSVM_E_ARG, "samples = %" PRId64 "; expected at least 1", samples);
    if (m->data->comm)
        return fail(err, ATTSVM_E_ARG, "the landscape is sampled by one process");
    TRY(theory_scores_of_model(&scores, run, err));
    attsvm_status status = look(out, run, scores, seed, err);
    attsvm_scores_free(scores);
    return status;
}
