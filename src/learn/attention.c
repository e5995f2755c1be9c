/*
 * Compares the prompt of the first member with the p-SVM of the most attended tokens, in the
 * features of the model (theory 8).
 */
#include "learn/learn.h"

#include <stdlib.h>
#include <string.h>

static const double most_values = 2e7;

typedef struct picture {
    double *phi;      /* (tokens x d)              */
    int64_t *offsets; /* (n+1)                     */
    int64_t *alpha;   /* (n)                       */
    double *p;        /* (d) the prompt            */
    double *a;        /* (tokens) its logits       */
} picture;

static void layout(picture *f, arena *a, const attsvm_data *data)
{
    const size_t N = (size_t)data->tokens, d = (size_t)data->d, n = (size_t)data->n;
    f->phi = take(a, N * d);
    f->offsets = take_int64(a, n + 1);
    f->alpha = take_int64(a, n);
    f->p = take(a, d);
    f->a = take(a, N);
}

/* Features of the tokens, and the token with the largest logit in each bag. */
static void draw(picture *f, const attsvm_classifier *c, const attsvm_data *data)
{
    const int64_t d = data->d;
    const double *theta = c->theta;
    const double beta = c->shape.betas >= 0 ? base_exp(theta[c->shape.betas]) : 1;
    for (int64_t j = 0; j < d; j++)
        f->p[j] = beta * theta[j];
    for (int64_t i = 0; i < data->n; i++) {
        const la_rows rows = data_sequence(data, i);
        const int64_t first = data_first(data, i);
        f->offsets[i + 1] = first + rows.count;
        for (int64_t t = 0; t < rows.count; t++) {
            double *x = f->phi + (first + t) * d;
            la_row(&rows, t, x);
            for (int64_t j = 0; j < d; j++)
                x[j] = (x[j] - c->features.mu[j]) * c->features.scale[j];
            f->a[first + t] = la_dot(x, f->p, d);
            if (t == 0 || f->a[first + t] > f->a[first + f->alpha[i]])
                f->alpha[i] = t;
        }
    }
}

/* Smallest margin of the selected token to one with other features; INFINITY: there is none. */
static double smallest_margin(const picture *f, const attsvm_data *data)
{
    double least = INFINITY;
    const size_t bytes = (size_t)data->d * sizeof(double);
    for (int64_t i = 0; i < data->n; i++) {
        const int64_t first = f->offsets[i], best = first + f->alpha[i];
        for (int64_t t = first; t < f->offsets[i + 1]; t++)
            if (memcmp(f->phi + t * data->d, f->phi + best * data->d, bytes) != 0)
                least = fmin(least, f->a[best] - f->a[t]);
    }
    return least;
}

static attsvm_status compare(const picture *f, const attsvm_data *seen, const attsvm_data *data,
                             attsvm_classifier_attention *out, attsvm_error *err)
{
    attsvm_svm_settings settings;
    attsvm_problem *problem = NULL;
    attsvm_solution *solution = NULL;
    attsvm_svm_settings_init(&settings);
    attsvm_settings_set(&attsvm_svm_table, &settings, "problem", "p", NULL);
    settings.time_limit = 60;
    attsvm_status status = attsvm_problem_create(
        &problem, seen, &(attsvm_selection){ .alpha = f->alpha, .terms = data->n }, &settings, err);
    if (status == ATTSVM_OK)
        status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, err);
    if (status == ATTSVM_OK) {
        const attsvm_svm_info info = attsvm_solution_describe(solution);
        const attsvm_claim claim = attsvm_solution_claim(solution);
        out->outcome = info.outcome;
        if (info.outcome == ATTSVM_OPTIMAL && info.norm > 0) {
            out->margin = 1 / info.norm;
            out->efficiency = smallest_margin(f, data) / la_norm(f->p, data->d) * info.norm;
            out->correlation = attsvm_correlation(f->p, claim.theta, data->d);
        }
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return status;
}

attsvm_status attsvm_classifier_attend(const attsvm_classifier *classifier, const attsvm_data *data,
                                       attsvm_classifier_attention *out, attsvm_error *err)
{
    const learn_shape *s = &classifier->shape;
    *out = (attsvm_classifier_attention){ .margin = NAN, .efficiency = NAN, .correlation = NAN };
    TRY(learn_classifier_check(classifier, data, err));
    if (s->pool == ATTSVM_POOL_MEAN || s->outputs > 1 || s->heads > 1 || data->T_min < 1 ||
        (double)data->tokens * (double)data->d > most_values)
        return ATTSVM_OK;
    arena a = { 0 };
    picture f;
    attsvm_data *seen = NULL;
    layout(&f, &a, data);
    TRY(base_arena_allocate(&a, "scaled tokens", err));
    layout(&f, &a, data);
    draw(&f, classifier, data);
    const attsvm_named_array arrays[] = {
        { "X",
          { .data = f.phi, .shape = { data->tokens, data->d }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "offsets",
          { .data = f.offsets, .shape = { data->n + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
    };
    attsvm_status status = attsvm_data_create(&seen, arrays, 2, NULL, err);
    if (status == ATTSVM_OK)
        status = compare(&f, seen, data, out, err);
    attsvm_data_free(seen);
    free(a.base);
    return status;
}
