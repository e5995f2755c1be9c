/*
 * The public model: loss, gradient, logits and softmax at the caller's parameters, and what the
 * caller's loss or head did wrong.  Training uses the same object.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

void model_fault_note(model_fault *fault, model_fault found)
{
    int32_t none = 0;
    if (!__atomic_compare_exchange_n(&fault->found, &none, 1, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE))
        return;
    fault->head = found.head;
    fault->at = found.at;
    fault->value = found.value;
    fault->slope = found.slope;
}

attsvm_status model_check_user(const model *m, attsvm_error *err)
{
    const model_fault *f = &m->fault;
    if (!__atomic_load_n(&f->found, __ATOMIC_ACQUIRE))
        return ATTSVM_OK;
    if (f->head)
        return fail(err, ATTSVM_E_ARG, "your head returned NaN (%s) at a u of norm %g",
                    isnan(f->value) ? "value" : "gradient", f->at);
    if (f->slope > 0)
        return fail(err, ATTSVM_E_ARG,
                    "your loss returned slope %g at u = %.17g; a loss must decrease, so its slope "
                    "is 0 or less",
                    f->slope, f->at);
    return fail(err, ATTSVM_E_ARG, "your loss returned NaN at u = %.17g (%s)", f->at,
                isnan(f->value) ? "value" : "slope");
}

void attsvm_model_free(attsvm_model *m)
{
    model_free(m);
}

attsvm_model_info attsvm_model_describe(const attsvm_model *m)
{
    if (!m)
        return (attsvm_model_info){ 0 };
    return (attsvm_model_info){ .model = (int32_t)m->kind,
                                .parameters = m->parameters,
                                .n = m->n,
                                .d = m->d,
                                .rank = m->rank,
                                .terms = m->terms,
                                .cells = model_softmax_first(m, m->n),
                                .size = m->size,
                                .map_size = m->map_size };
}

attsvm_parameter attsvm_model_parameter(const attsvm_model *m, int64_t k)
{
    if (!m || k < 0 || k >= m->parameters)
        return (attsvm_parameter){ 0 };
    const model_parameter *p = &m->parameter[k];
    return (attsvm_parameter){
        .name = p->name, .rows = p->rows, .columns = p->cols, .offset = p->offset, .count = p->count
    };
}

/* Parameters must be finite, and there must be one process. */
static attsvm_status check_call(const attsvm_model *m, const double *theta, attsvm_error *err)
{
    if (!m || !theta)
        return fail(err, ATTSVM_E_ARG, "%s is NULL", m ? "theta" : "model");
    if (m->comm)
        return fail(err, ATTSVM_E_ARG,
                    "data shared by several ranks can be trained on but not evaluated");
    int64_t at = la_active()->first_nonfinite(ATTSVM_F64, theta, m->size);
    if (at >= 0)
        return fail(err, ATTSVM_E_ARG, "theta[%" PRId64 "] is %g; parameters must be finite", at,
                    theta[at]);
    return ATTSVM_OK;
}

static attsvm_status check_term(int64_t beyond, attsvm_error *err)
{
    if (beyond < 0)
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_NUMERIC,
                "the logits of term %" PRId64 " leave the range of doubles; scale tokens, queries "
                "or parameters down",
                beyond);
}

/* Logits or softmax (cells) must be finite where the query sees the token. */
static attsvm_status check_cells(const model *m, const double *cell, attsvm_error *err)
{
    int64_t term = 0;
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, term++) {
            const int64_t visible = data_terms_visible(&m->query, i, q);
            if (la_active()->first_nonfinite(ATTSVM_F64, cell, visible) >= 0)
                return check_term(term, err);
            cell += data_length(m->data, i);
        }
    return ATTSVM_OK;
}

attsvm_status attsvm_model_evaluate(attsvm_model *m, const double *theta, attsvm_evaluation *out,
                                    double *gradient, attsvm_error *err)
{
    NEED(out);
    model_value v;
    model_gradient g = { .x = gradient };
    *out = (attsvm_evaluation){ 0 };
    TRY(check_call(m, theta, err));
    m->fault.found = 0;
    model_evaluate(m, theta, NULL, 0, gradient ? &g : NULL, &v);
    TRY(model_check_user(m, err));
    out->loss = v.loss;
    out->loss_limit = v.limit;
    out->loss_excess = isnan(v.excess.value) ? NAN : model_scaled_value(v.excess);
    out->log_excess = v.excess.value > 0 ? model_scaled_log(v.excess) : NAN;
    out->norm = model_norm(m, theta);
    out->grad_log_scale = gradient ? model_gradient_log(m, theta) : NAN;
    out->softmax_min = v.attention_min;
    out->softmax_mean = v.attention_mean;
    out->entropy = v.entropy;
    out->effective_tokens = v.effective_tokens;
    out->accuracy = v.accuracy;
    out->margin = v.gap;
    for (int k = 0; k < ATTSVM_MAX_PARAMETERS; k++)
        out->log_scale[k] = gradient && k < m->parameters ? g.log[k] : NAN;
    return check_term(v.beyond, err);
}

attsvm_status attsvm_model_softmax(attsvm_model *m, const double *theta, double *softmax,
                                   attsvm_error *err)
{
    NEED(softmax);
    TRY(check_call(m, theta, err));
    model_softmax(m, theta, softmax);
    return check_cells(m, softmax, err);
}

attsvm_status attsvm_model_logits(attsvm_model *m, const double *theta, double *logits,
                                  attsvm_error *err)
{
    NEED(logits);
    TRY(check_call(m, theta, err));
    model_logits(m, theta, logits);
    return check_cells(m, logits, err);
}

attsvm_status attsvm_model_select(attsvm_model *m, const double *theta, int64_t *alpha,
                                  attsvm_error *err)
{
    NEED(alpha);
    model_value v;
    TRY(check_call(m, theta, err));
    m->fault.found = 0;
    model_evaluate(m, theta, NULL, 0, NULL, &v);
    TRY(model_check_user(m, err));
    TRY(check_term(v.beyond, err));
    memcpy(alpha, m->selected, (size_t)m->terms * sizeof *alpha);
    return ATTSVM_OK;
}

attsvm_status attsvm_model_map(attsvm_model *m, const double *theta, double *map, attsvm_error *err)
{
    NEED(map);
    TRY(check_call(m, theta, err));
    memcpy(map, model_logit_map(m, theta), (size_t)m->map_size * sizeof *map);
    return ATTSVM_OK;
}
