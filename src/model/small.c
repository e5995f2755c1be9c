/*
 * Tiny problems, as in the papers' experiments: all terms at once, one per lane, with tokens stored
 * in that order.  The formulas are those of weights.c, which handles duplicates and equal scores.
 */
#include "model/small.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_VALUES = 1 << 17 }; /* doubles in the second copy of the tokens: 1 MB */

static bool scores_differ(const model *m)
{
    const int64_t T = m->data->T_max;
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t t = 0; t < T; t++)
            for (int64_t s = 0; s < t; s++)
                if (m->scores[i * T + s] == m->scores[i * T + t])
                    return false;
    return true;
}

/* A term with z = 0 adds nothing, but its exponent could be the largest: evaluate.c handles it. */
static bool queries_differ_from_zero(const model *m)
{
    for (int64_t term = 0; term < m->terms && !m->prompt; term++) {
        int64_t i, q;
        double *z = m->worker[0].x;
        data_terms_find(&m->query, term, &i, &q);
        data_terms_query(&m->query, i, q, z);
        if (la_norm(z, m->d) == 0)
            return false;
    }
    return true;
}

static bool applies(const model *m)
{
    const attsvm_data *data = m->data;
    double values = (double)m->terms * (double)data->T_max * (double)m->d;
    bool relu = m->head.kind->kind == ATTSVM_HEAD_RELU && !m->trains_v;
    return m->blocks == 1 && !m->comm && !m->loss.takes_log && !m->has_duplicates &&
           data->T_min == data->T_max && data->T_max > 1 && m->query.mode != ATTSVM_QUERY_CAUSAL &&
           values <= MOST_VALUES && (relu || (m->scores && scores_differ(m))) &&
           queries_differ_from_zero(m);
}

static int64_t padded(int64_t count)
{
    return (count + LA_LANES - 1) / LA_LANES * LA_LANES;
}

la_small model_small_shape(const model *m)
{
    return (la_small){ .problems = m->terms,
                       .count = padded(m->terms),
                       .T = m->data->T_max,
                       .d = m->d,
                       .stride = padded(m->d),
                       .units = m->scores ? 0 : m->head.size,
                       .queries = !m->prompt };
}

void model_small_layout(la_small *l, model_small_tables *own, arena *a)
{
    size_t count = (size_t)l->count, T = (size_t)l->T, d = (size_t)l->d, stride = (size_t)l->stride;
    size_t units = (size_t)l->units, shared = l->own_maps ? 0 : 1;
    l->X = own->X = take(a, T * d * count);
    l->Zt = own->Zt = take(a, d * count);
    l->Z = own->Z = take(a, shared * (size_t)l->problems * stride);
    l->P = own->P = take(a, T * units * count);
    l->v = own->v = take(a, units * count);
    l->Y = own->Y = take(a, count);
    l->score = take(a, T * count);
    l->gate = take(a, units * count);
    l->needs_general = take(a, count);
    l->B = take(a, d * count);
    l->w = take(a, T * count);
    l->M = take(a, count);
    l->Z_sum = take(a, count);
    l->output = take(a, count);
    l->U = take(a, d * count);
    l->G = take(a, shared * d * stride);
    l->square = take(a, LA_LANES);
}

/* V x_t of the units, from the tokens (not the keys). */
static void fill_units(const model *m, const la_small *l, const model_small_tables *own, int64_t i,
                       int64_t at)
{
    la_rows tokens = data_sequence(m->data, i);
    double *x = m->worker[0].x;
    for (int64_t t = 0; t < l->T; t++) {
        la_row(&tokens, t, x);
        for (int64_t j = 0; j < l->units; j++)
            own->P[(t * l->units + j) * l->count + at] = la_dot(m->head.data.V + j * l->d, x, l->d);
    }
    for (int64_t j = 0; j < l->units; j++)
        own->v[j * l->count + at] = m->v[j];
}

/* Term k of the model goes to lane first + k step. */
void model_small_fill(const model *m, const la_small *l, const model_small_tables *own,
                      int64_t first, int64_t step)
{
    const int64_t d = l->d, count = l->count;
    double *x = m->worker[0].x;
    for (int64_t term = 0; term < m->terms; term++) {
        int64_t i, q, at = first + term * step;
        data_terms_find(&m->query, term, &i, &q);
        la_rows keys = model_keys(m, i);
        int Y = data_terms_label(&m->query, i, q);
        own->Y[at] = Y;
        for (int64_t t = 0; t < l->T; t++) {
            la_row(&keys, t, x);
            for (int64_t j = 0; j < d; j++)
                own->X[(t * d + j) * count + at] = x[j];
            if (m->scores)
                l->score[t * count + at] = Y * m->scores[i * l->T + t];
        }
        if (!m->scores)
            fill_units(m, l, own, i, at);
        if (!l->queries)
            continue;
        data_terms_query(&m->query, i, q, x);
        for (int64_t j = 0; j < d; j++) {
            own->Zt[j * count + at] = x[j];
            if (!l->own_maps)
                own->Z[term * l->stride + j] = x[j];
        }
    }
}

static void layout_factors(model *m, size_t count, arena *a)
{
    m->small_slope = take(a, count);
    m->small_log = take(a, count);
    m->small_factor = take(a, count);
}

attsvm_status model_small_create(model *m, attsvm_error *err)
{
    if (!applies(m))
        return ATTSVM_OK;
    la_small l = model_small_shape(m);
    arena a = { 0 };
    model_small_tables own;
    la_small *kept;
    (void)base_take(&a, 1, sizeof *kept);
    model_small_layout(&l, &own, &a);
    layout_factors(m, (size_t)l.count, &a);
    TRY(base_arena_allocate(&a, "small problems", err));
    m->small_memory = a.base;
    kept = base_take(&a, 1, sizeof *kept);
    model_small_layout(&l, &own, &a);
    layout_factors(m, (size_t)l.count, &a);
    model_small_fill(m, &l, &own, 0, 1);
    *kept = l;
    m->small = kept;
    return ATTSVM_OK;
}

/* Whether some but not all scores of a problem were equal: weights.c must compute its weights. */
static bool needs_general(const la_small *l)
{
    bool any = false;
    for (int64_t k = 0; l->units > 0 && k < l->problems; k++) {
        any |= l->needs_general[k] != 0;
        l->needs_general[k] = 0;
    }
    return any;
}

bool model_small_gradient(model *m)
{
    const la_small *l = m->small;
    double *factor = m->small_factor, largest = -INFINITY;
    la_active()->small_forward(l, m->logit_map);
    if (needs_general(l))
        return false;
    model_loss_slopes(&m->loss, l->output, m->small_slope, m->small_log, l->count);
    for (int64_t k = 0; k < l->problems; k++) {
        factor[k] = m->small_log[k] - l->M[k];
        largest = factor[k] > largest ? factor[k] : largest;
    }
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] = largest == -INFINITY ? -INFINITY : factor[k] - largest;
    la_exp(factor, factor, l->count);
    for (int64_t k = l->problems; k < l->count; k++)
        factor[k] = 0;
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] *= -m->small_slope[k] / (l->Z_sum[k] * (double)m->terms);
    la_active()->small_backward(l, factor, m->attention_gradient);
    m->gradient_log = largest;
    return true;
}
