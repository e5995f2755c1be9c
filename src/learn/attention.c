/*
 * Compares the prompt of the first member with the p-SVM of the most attended tokens, in the
 * features of the model (theory 8).
 */
#include "learn/learn.h"

#include <stdlib.h>
#include <string.h>

static const double most_values = 2e7;

/* ---------------------------------------------------------------------------- features */

/* Features of all tokens, and the prompt and head of the first member. */
typedef struct seen {
    double *phi;      /* (tokens x d) */
    int64_t *offsets; /* (n+1)        */
    double *p, *v;    /* (d)          */
} seen;

static void layout(seen *s, arena *a, const attsvm_data *data)
{
    const size_t N = (size_t)data->tokens, d = (size_t)data->d, n = (size_t)data->n;
    s->phi = take(a, N * d);
    s->offsets = take_int64(a, n + 1);
    s->p = take(a, d);
    s->v = take(a, d);
}

static void fill(const seen *s, const attsvm_classifier *c, const attsvm_data *data)
{
    const int64_t d = data->d;
    const double *theta = c->theta, *v = theta + c->shape.prompts * d;
    const double beta = c->shape.betas >= 0 ? base_exp(theta[c->shape.betas]) : 1;
    memcpy(s->v, v, (size_t)d * sizeof *v);
    for (int64_t j = 0; j < d; j++)
        s->p[j] = beta * theta[j];
    for (int64_t i = 0; i < data->n; i++) {
        const la_rows rows = data_sequence(data, i);
        const int64_t first = data_first(data, i);
        s->offsets[i + 1] = first + rows.count;
        for (int64_t t = 0; t < rows.count; t++) {
            double *x = s->phi + (first + t) * d;
            la_row(&rows, t, x);
            for (int64_t j = 0; j < d; j++)
                x[j] = (x[j] - c->features.mu[j]) * c->features.scale[j];
        }
    }
}

/* One softmax and one score, as in theory 2. */
static bool has_prompt(const learn_shape *s)
{
    return s->pool != ATTSVM_POOL_MEAN && s->outputs == 1 && s->heads == 1;
}

attsvm_status attsvm_classifier_tokens(attsvm_data **out, const attsvm_classifier *classifier,
                                       const attsvm_data *data, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(classifier);
    NEED(data);
    seen s;
    arena a = { 0 };
    TRY(learn_classifier_check(classifier, data, err));
    if (!has_prompt(&classifier->shape))
        return fail(err, ATTSVM_E_ARG,
                    "the model has no single prompt: it needs two classes, one head, and the pool "
                    "prompt, score or witness");
    layout(&s, &a, data);
    TRY(base_arena_allocate(&a, "scaled tokens", err));
    layout(&s, &a, data);
    fill(&s, classifier, data);
    const attsvm_array vector = { .shape = { data->d }, .ndim = 1, .dtype = ATTSVM_F64 };
    attsvm_named_array arrays[6] = {
        { "X",
          { .data = s.phi, .shape = { data->tokens, data->d }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "offsets",
          { .data = s.offsets, .shape = { data->n + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
        { "v", vector },
        { "init_v", vector },
        { "init_p", vector },
        { "Y", { .data = data->Y, .shape = { data->n }, .ndim = 1, .dtype = ATTSVM_I8 } },
    };
    arrays[2].array.data = arrays[3].array.data = s.v;
    arrays[4].array.data = s.p;
    const data_source source = { .owner = a.base, .release = free };
    const attsvm_status status =
        data_create(out, arrays, data->Y && data->labels == data->n ? 6 : 5, NULL, &source, err);
    if (status != ATTSVM_OK)
        free(a.base);
    return status;
}

/* -------------------------------------------------------- comparison with the p-SVM */

typedef struct picture {
    const attsvm_data *data; /* the features               */
    const double *phi, *p;   /* (tokens x d), (d)          */
    int64_t *alpha;          /* (n) most attended tokens   */
    double *a;               /* (tokens) logits            */
} picture;

static void select_tokens(const picture *f)
{
    const int64_t d = f->data->d;
    for (int64_t i = 0; i < f->data->n; i++)
        for (int64_t first = data_first(f->data, i), t = 0; t < data_length(f->data, i); t++) {
            f->a[first + t] = la_dot(f->phi + (first + t) * d, f->p, d);
            if (t == 0 || f->a[first + t] > f->a[first + f->alpha[i]])
                f->alpha[i] = t;
        }
}

/* Smallest margin of the selected token to one with other features; INFINITY: there is none. */
static double smallest_margin(const picture *f)
{
    double least = INFINITY;
    const int64_t d = f->data->d;
    for (int64_t i = 0; i < f->data->n; i++) {
        const int64_t first = data_first(f->data, i), best = first + f->alpha[i];
        for (int64_t t = first; t < first + data_length(f->data, i); t++)
            if (memcmp(f->phi + t * d, f->phi + best * d, (size_t)d * sizeof *f->phi) != 0)
                least = fmin(least, f->a[best] - f->a[t]);
    }
    return least;
}

static attsvm_status compare(const picture *f, attsvm_classifier_attention *out, attsvm_error *err)
{
    const attsvm_selection selection = { .alpha = f->alpha, .terms = f->data->n };
    attsvm_svm_settings settings;
    attsvm_problem *problem = NULL;
    attsvm_solution *solution = NULL;
    attsvm_svm_settings_init(&settings);
    attsvm_settings_set(&attsvm_svm_table, &settings, "problem", "p", NULL);
    settings.time_limit = 60;
    attsvm_status status = attsvm_problem_create(&problem, f->data, &selection, &settings, err);
    if (status == ATTSVM_OK)
        status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, err);
    if (status == ATTSVM_OK) {
        const attsvm_svm_info info = attsvm_solution_describe(solution);
        const attsvm_claim claim = attsvm_solution_claim(solution);
        out->outcome = info.outcome;
        if (info.outcome == ATTSVM_OPTIMAL && info.norm > 0) {
            out->margin = 1 / info.norm;
            out->efficiency = smallest_margin(f) / la_norm(f->p, f->data->d) * info.norm;
            out->correlation = attsvm_correlation(f->p, claim.theta, f->data->d);
        }
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return status;
}

attsvm_status attsvm_classifier_attend(const attsvm_classifier *classifier, const attsvm_data *data,
                                       attsvm_classifier_attention *out, attsvm_error *err)
{
    NEED(classifier);
    NEED(data);
    NEED(out);
    *out = (attsvm_classifier_attention){ .margin = NAN, .efficiency = NAN, .correlation = NAN };
    TRY(learn_classifier_check(classifier, data, err));
    if (!has_prompt(&classifier->shape) || data->T_min < 1 ||
        (double)data->tokens * (double)data->d > most_values)
        return ATTSVM_OK;
    attsvm_data *own;
    double *a;
    TRY(attsvm_classifier_tokens(&own, classifier, data, err));
    attsvm_status status =
        base_allocate(&a, (size_t)(data->tokens + data->n), sizeof *a, "logits", err);
    if (status == ATTSVM_OK) {
        const picture f = { .data = own,
                            .phi = own->X,
                            .p = attsvm_data_array(own, "init_p")->data,
                            .a = a,
                            .alpha = (int64_t *)(a + data->tokens) };
        select_tokens(&f);
        status = compare(&f, out, err);
        free(a);
    }
    attsvm_data_free(own);
    return status;
}
