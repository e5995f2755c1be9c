/*
 * The loss of a model as an objective on a sphere of any radius.
 *
 * For linear heads it is log(L - L*), with L* the loss of attention on the tokens alpha alone.  L -
 * L* decreases like exp(-|theta| margin), far below the rounding of L.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------- evaluation */

/*
 * L - L*, term by term: if the selected token is alpha, the model has the difference without
 * cancellation; otherwise, or if several tokens share a key, the output is far from the score of
 * alpha, and a plain difference is accurate enough.
 */
static model_scaled above_limit(const path_objective *o)
{
    const model *m = o->m;
    model_scaled sum = { 0 };
    for (int64_t i = 0, term = 0; i < m->n; i++) {
        const double *score = o->score + data_first(m->data, i);
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, term++) {
            double Y = data_terms_label(&m->query, i, q), target = Y * score[o->alpha[term]];
            bool exact =
                Y * score[m->selected[term]] == target && !isnan(m->loss_excess[term].value);
            model_scaled rise = model_scaled_of(m->output[term] - target);
            sum = model_scaled_add(sum, exact ? m->loss_excess[term]
                                              : model_loss_change(&m->loss, target, rise));
        }
    }
    sum.value /= (double)m->terms;
    return sum;
}

static model_scaled objective_value(path_objective *o)
{
    if (o->kind == PATH_LOG_EXCESS)
        return o->above;
    if (o->kind == PATH_LOG_LOSS && o->m->loss.magnitude)
        return o->value.over_best;
    return model_scaled_of(o->value.loss);
}

static bool is_logarithm(const path_objective *o)
{
    return o->kind == PATH_LOG_EXCESS || (o->kind == PATH_LOG_LOSS && o->m->loss.magnitude);
}

/*
 * The gradient with respect to the varied part, in units of exp(unit), including the ridge.
 */
static void collect(const path_objective *o, const model_gradient *whole, const double *x,
                    double unit, double *gradient)
{
    const model *m = o->m;
    for (int b = 0; b < m->parameters; b++) {
        const model_parameter *block = &m->parameter[b];
        if (block->offset < o->first || block->offset >= o->first + o->count)
            continue;
        double factor = whole->log[b] == -INFINITY ? 0 : base_exp(whole->log[b] - unit);
        for (int64_t j = 0; j < block->count; j++)
            gradient[block->offset - o->first + j] = factor * whole->x[block->offset + j];
    }
    if (o->ridge > 0)
        la_axpy(2 * base_exp(base_log(o->ridge) - unit), x, gradient, o->count);
}

static double evaluate(void *context, const double *x, double *gradient)
{
    path_objective *o = context;
    model_gradient whole = { .x = o->slope };
    memcpy(o->theta + o->first, x, (size_t)o->count * sizeof *x);
    const model_parameter *v = &o->m->parameter[o->m->parameters - 1];
    for (int64_t j = 0; o->head_scale > 0 && j < v->count; j++)
        o->theta[v->offset + j] /= o->head_scale;
    model_evaluate(o->m, o->theta, NULL, 0, &whole, &o->value);
    if (o->score)
        o->above = above_limit(o);
    model_scaled value = objective_value(o);
    if (o->ridge > 0) {
        double norm = la_norm(x, o->count);
        if (norm > 0)
            value = model_scaled_add(value,
                                     (model_scaled){ 1, base_log(o->ridge) + 2 * base_log(norm) });
    }
    double unit = is_logarithm(o) ? model_scaled_log(value) : 0;
    if (is_logarithm(o) && !(value.value > 0)) {
        memset(gradient, 0, (size_t)o->count * sizeof *gradient);
        return isnan(value.value) ? NAN : -INFINITY; /* at or below L* */
    }
    collect(o, &whole, x, unit, gradient);
    for (int64_t j = 0; o->head_scale > 0 && j < v->count; j++)
        gradient[v->offset + j] /= o->head_scale;
    return is_logarithm(o) ? unit : model_scaled_value(value);
}

void path_objective_look(path_objective *o, const double *theta)
{
    memcpy(o->theta, theta, (size_t)o->m->size * sizeof *theta);
    model_evaluate(o->m, theta, NULL, 0, NULL, &o->value);
    if (o->score)
        o->above = above_limit(o);
}

static bool is_stopped(void *context)
{
    const path_objective *o = context;
    return dist_stop_poll(o->stop, (double)(o->m->data->tokens * o->m->d));
}

/* The reach is the step that moves logits (of the head v: outputs) by about 1. */
optimise_function path_objective_function(path_objective *o, double radius)
{
    const model *m = o->m;
    double rate = o->key_spread;
    if (m->trains_v && o->first == m->parameter[m->parameters - 1].offset)
        rate = o->token_size;
    else if (m->factored)
        rate *= radius > 1 ? radius : 1;
    return (optimise_function){ .size = o->count,
                                .evaluate = evaluate,
                                .stop = is_stopped,
                                .context = o,
                                .reach = rate > 0 ? 1 / rate : 1 };
}

/* ------------------------------------------------------------------------- creation */

void path_objective_set_head(path_objective *o, const double *v)
{
    const model *m = o->m;
    for (int64_t i = 0, term = 0; i < m->n; i++) {
        la_rows rows = data_sequence(m->data, i);
        double *score = o->score + data_first(m->data, i);
        la_rows_dot(&rows, v, score);
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, term++) {
            double Y = data_terms_label(&m->query, i, q);
            o->alpha[term] = 0;
            for (int64_t t = 1; t < data_terms_visible(&m->query, i, q); t++)
                if (Y * score[t] > Y * score[o->alpha[term]])
                    o->alpha[term] = t;
        }
    }
}

/* Lipschitz bounds of logits and outputs. */
static attsvm_status measure(path_objective *o, attsvm_error *err)
{
    const model *m = o->m;
    const int64_t d = m->d;
    double *x, query = m->prompt ? 1 : 0;
    TRY(base_allocate(&x, 2 * (size_t)d, sizeof *x, "two tokens", err));
    double *first = x + d;
    for (int64_t i = 0; i < m->n; i++) {
        la_rows keys = model_keys(m, i), tokens = data_sequence(m->data, i);
        for (int64_t q = 0; !m->prompt && q < data_terms_queries(&m->query, i); q++) {
            data_terms_query(&m->query, i, q, x);
            query = fmax(query, la_norm(x, d));
        }
        la_row(&keys, 0, first);
        for (int64_t t = 0; t < keys.count; t++) {
            la_row(&tokens, t, x);
            o->token_size = fmax(o->token_size, la_norm(x, d));
            la_row(&keys, t, x);
            la_axpy(-1, first, x, d);
            o->key_spread = fmax(o->key_spread, la_norm(x, d));
        }
    }
    o->key_spread *= query;
    free(x);
    return ATTSVM_OK;
}

attsvm_status path_objective_create(path_objective *out, model *m, attsvm_error *err)
{
    *out = (path_objective){ .m = m, .count = m->size };
    out->kind = m->head.kind->linear ? PATH_LOG_EXCESS : PATH_LOSS;
    attsvm_status status =
        base_allocate(&out->theta, 2 * (size_t)m->size, sizeof(double), "path", err);
    if (status == ATTSVM_OK && m->head.kind->linear)
        status = base_allocate(&out->score, (size_t)m->data->tokens, sizeof(double), "scores", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&out->alpha, (size_t)m->terms, sizeof(int64_t), "selection", err);
    if (status == ATTSVM_OK)
        status = measure(out, err);
    if (status != ATTSVM_OK) {
        path_objective_free(out);
        return status;
    }
    out->slope = out->theta + m->size;
    if (m->v && out->score)
        path_objective_set_head(out, m->v);
    return ATTSVM_OK;
}

void path_objective_free(path_objective *o)
{
    free(o->theta);
    free(o->score);
    free(o->alpha);
    *o = (path_objective){ 0 };
}
