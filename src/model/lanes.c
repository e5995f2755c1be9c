/*
 * Small problems, the size of the papers' experiments: all terms side by side, one a lane, tokens
 * kept in that order.  The mathematics is that of softmax.c; copies of tokens and equal scores, for
 * which it has a case of its own, are left to it.
 *
 * A *pack* goes one step further: eight models of one shape, term by term,
 * each in a lane of its own.  Nothing ever crosses from lane to lane, so what a model gets does not
 * depend on its neighbours.
 */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_VALUES = 1 << 17 }; /* doubles of tokens that are kept a second time: 1 MB */

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

/* A term with z = 0 adds nothing, but its exponent would be the largest: term by term knows. */
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
    bool relu = m->head.kind == &model_head_relu && !m->trains_v;
    return m->parts == 1 && !m->comm && !m->loss.of_log && !m->repeats &&
           data->T_min == data->T_max && data->T_max > 1 && m->query.mode != ATTSVM_QUERY_CAUSAL &&
           values <= MOST_VALUES && (relu || (m->scores && scores_differ(m))) &&
           queries_differ_from_zero(m);
}

static int64_t padded(int64_t count)
{
    return (count + LA_LANES - 1) / LA_LANES * LA_LANES;
}

static la_lanes shape_of(const model *m)
{
    return (la_lanes){ .problems = m->terms,
                       .count = padded(m->terms),
                       .T = m->data->T_max,
                       .d = m->d,
                       .stride = padded(m->d),
                       .units = m->scores ? 0 : m->head.size,
                       .queries = !m->prompt };
}

/* The tables of la_lanes that are written here and only read there. */
typedef struct tables {
    double *X, *Zt, *Z, *P, *v, *Y;
} tables;

static void layout(la_lanes *l, tables *own, arena *a)
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
    l->odd = take(a, count);
    l->B = take(a, d * count);
    l->w = take(a, T * count);
    l->M = take(a, count);
    l->Z_sum = take(a, count);
    l->output = take(a, count);
    l->U = take(a, d * count);
    l->G = take(a, shared * d * stride);
    l->square = take(a, LA_LANES);
}

/* V x_t of the units, from the tokens themselves, whatever the keys are. */
static void fill_units(const model *m, const la_lanes *l, const tables *own, int64_t i, int64_t at)
{
    la_rows tokens = data_sequence(m->data, i);
    double *x = m->worker[0].x;
    for (int64_t t = 0; t < l->T; t++) {
        la_row(&tokens, t, x);
        for (int64_t j = 0; j < l->units; j++)
            own->P[(t * l->units + j) * l->count + at] = la_dot(m->head.V + j * l->d, x, l->d);
    }
    for (int64_t j = 0; j < l->units; j++)
        own->v[j * l->count + at] = m->v[j];
}

/* Term k of the model goes to lane first + k step. */
static void fill(const model *m, const la_lanes *l, const tables *own, int64_t first, int64_t step)
{
    const int64_t d = l->d, count = l->count;
    double *x = m->worker[0].x;
    for (int64_t term = 0; term < m->terms; term++) {
        int64_t i, q, at = first + term * step;
        data_terms_find(&m->query, term, &i, &q);
        la_rows keys = model_rows_of(m->data, &m->keys, i);
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
    m->lane_slope = take(a, count);
    m->lane_log = take(a, count);
    m->lane_factor = take(a, count);
}

attsvm_status model_lanes_create(model *m, attsvm_error *err)
{
    if (!applies(m))
        return ATTSVM_OK;
    la_lanes l = shape_of(m);
    arena a = { 0 };
    tables own;
    la_lanes *kept;
    (void)base_take(&a, 1, sizeof *kept);
    layout(&l, &own, &a);
    layout_factors(m, (size_t)l.count, &a);
    TRY(base_arena_allocate(&a, "small problems", err));
    m->lanes_memory = a.base;
    kept = base_take(&a, 1, sizeof *kept);
    layout(&l, &own, &a);
    layout_factors(m, (size_t)l.count, &a);
    fill(m, &l, &own, 0, 1);
    *kept = l;
    m->lanes = kept;
    return ATTSVM_OK;
}

/* Some, not all, scores of a problem were equal: its weights are those of softmax.c. */
static bool was_odd(const la_lanes *l)
{
    bool odd = false;
    for (int64_t k = 0; l->units > 0 && k < l->problems; k++) {
        odd |= l->odd[k] != 0;
        l->odd[k] = 0;
    }
    return odd;
}

bool model_lanes_gradient(model *m)
{
    const la_lanes *l = m->lanes;
    double *factor = m->lane_factor, largest = -INFINITY;
    la_active()->lanes_forward(l, m->logit_map);
    if (was_odd(l))
        return false;
    model_slopes(m, l->output, m->lane_slope, m->lane_log, l->count);
    for (int64_t k = 0; k < l->problems; k++) {
        factor[k] = m->lane_log[k] - l->M[k];
        largest = factor[k] > largest ? factor[k] : largest;
    }
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] = largest == -INFINITY ? -INFINITY : factor[k] - largest;
    la_exp(factor, factor, l->count);
    for (int64_t k = l->problems; k < l->count; k++)
        factor[k] = 0;
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] *= -m->lane_slope[k] / (l->Z_sum[k] * (double)m->terms);
    la_active()->lanes_backward(l, factor, m->attention_gradient);
    m->gradient_log = largest;
    return true;
}

/* ------------------------------------------------------------------------ packs */

bool model_pack_fits(const model *a, const model *b)
{
    return a->lanes && b->lanes && a->kind == ATTSVM_MODEL_W && b->kind == ATTSVM_MODEL_W &&
           a->terms == b->terms && a->d == b->d && a->data->T_max == b->data->T_max &&
           a->lanes->units == b->lanes->units && a->loss.value == b->loss.value &&
           !a->loss.callback.value;
}

static void pack_layout(model_pack *p, la_lanes *l, tables *own, arena *a)
{
    size_t lanes = LA_LANES, count = (size_t)l->count, size = (size_t)(l->d * l->d);
    layout(l, own, a);
    p->theta = take(a, size * lanes);
    p->gradient = take(a, size * lanes);
    p->log = take(a, lanes);
    p->rate = take(a, lanes);
    p->slope = take(a, count);
    p->slope_log = take(a, count);
    p->factor = take(a, count);
}

attsvm_status model_pack_create(model_pack **out, model *const *models, int64_t count,
                                attsvm_error *err)
{
    const int64_t lanes = LA_LANES;
    *out = NULL;
    model_pack p = { .first = models[0], .count = count };
    p.l = shape_of(models[0]);
    p.l.own_maps = true;
    p.l.count = p.l.problems = p.l.problems * lanes;
    arena a = { 0 };
    tables own;
    (void)base_take(&a, 1, sizeof p);
    pack_layout(&p, &p.l, &own, &a);
    TRY(base_arena_allocate(&a, "runs side by side", err));
    model_pack *kept = base_take(&a, 1, sizeof p);
    pack_layout(&p, &p.l, &own, &a);
    /* lanes without a model repeat the first */
    for (int64_t k = 0; k < lanes; k++)
        fill(models[k < count ? k : 0], &p.l, &own, k, lanes);
    *kept = p;
    *out = kept;
    return ATTSVM_OK;
}

void model_pack_free(model_pack *p)
{
    free(p);
}

void model_pack_get(const model_pack *p, int64_t k, double *theta)
{
    for (int64_t j = 0; j < p->l.d * p->l.d; j++)
        theta[j] = p->theta[j * LA_LANES + k];
}

void model_pack_set(const model_pack *p, int64_t k, const double *theta)
{
    for (int64_t j = 0; j < p->l.d * p->l.d; j++)
        p->theta[j * LA_LANES + k] = theta[j];
}

bool model_pack_was_odd(const model_pack *p, int64_t k)
{
    bool odd = false;
    for (int64_t at = k; p->l.units > 0 && at < p->l.count; at += LA_LANES)
        odd |= p->l.odd[at] != 0;
    return odd;
}

void model_pack_gradient(model_pack *p)
{
    const la_lanes *l = &p->l;
    const int64_t lanes = LA_LANES;
    const double terms = (double)p->first->terms;
    la_active()->lanes_forward(l, p->theta);
    model_slopes(p->first, l->output, p->slope, p->slope_log, l->count);
    for (int64_t k = 0; k < lanes; k++)
        p->log[k] = -INFINITY;
    for (int64_t g = 0; g < l->count; g += lanes)
        for (int64_t k = 0; k < lanes; k++) {
            double exponent = p->factor[g + k] = p->slope_log[g + k] - l->M[g + k];
            p->log[k] = exponent > p->log[k] ? exponent : p->log[k];
        }
    for (int64_t g = 0; g < l->count; g += lanes)
        for (int64_t k = 0; k < lanes; k++)
            p->factor[g + k] = p->log[k] == -INFINITY ? -INFINITY : p->factor[g + k] - p->log[k];
    la_exp(p->factor, p->factor, l->count);
    for (int64_t k = 0; k < l->count; k++)
        p->factor[k] *= -p->slope[k] / (l->Z_sum[k] * terms);
    la_active()->lanes_backward(l, p->factor, p->gradient);
}
