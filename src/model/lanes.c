/*
 * Small problems, the size of the papers' experiments: all terms side by side, one a lane, tokens
 * kept in that order.  The mathematics is that of softmax.c; equal scores and copies of tokens, for
 * which it has a case of its own, are left to it.
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

static bool applies(const model *m)
{
    const attsvm_data *data = m->data;
    double values = (double)m->terms * (double)data->T_max * (double)m->d;
    return m->parts == 1 && !data->comm && m->scores && !m->loss.of_log && !m->repeats &&
           data->T_min == data->T_max && data->T_max > 1 && m->query.mode != ATTSVM_QUERY_CAUSAL &&
           values <= MOST_VALUES && scores_differ(m);
}

static int64_t padded(int64_t count)
{
    return (count + LA_LANES - 1) / LA_LANES * LA_LANES;
}

typedef struct tables {
    double *X, *score, *Zt, *Z;
} tables;

static void layout(model *m, la_lanes *l, tables *own, arena *a)
{
    size_t count = (size_t)l->count, T = (size_t)l->T, d = (size_t)l->d, stride = (size_t)l->stride;
    own->X = take(a, T * d * count);
    own->score = take(a, T * count);
    own->Zt = take(a, d * count);
    own->Z = take(a, (size_t)l->problems * stride);
    l->B = take(a, d * count);
    l->w = take(a, T * count);
    l->M = take(a, count);
    l->Z_sum = take(a, count);
    l->output = take(a, count);
    l->U = take(a, d * count);
    l->G = take(a, d * stride);
    m->lane_slope = take(a, count);
    m->lane_log = take(a, count);
    m->lane_factor = take(a, count);
}

static void fill(const model *m, const la_lanes *l, const tables *own)
{
    const int64_t d = l->d, count = l->count;
    double *x = m->worker[0].x;
    for (int64_t term = 0; term < l->problems; term++) {
        int64_t i, q;
        data_terms_find(&m->query, term, &i, &q);
        la_rows keys = model_rows_of(m->data, &m->keys, i);
        int Y = data_terms_label(&m->query, i, q);
        for (int64_t t = 0; t < l->T; t++) {
            la_row(&keys, t, x);
            for (int64_t j = 0; j < d; j++)
                own->X[(t * d + j) * count + term] = x[j];
            own->score[t * count + term] = Y * m->scores[i * l->T + t];
        }
        if (!l->queries)
            continue;
        data_terms_query(&m->query, i, q, x);
        for (int64_t j = 0; j < d; j++)
            own->Zt[j * count + term] = own->Z[term * l->stride + j] = x[j];
    }
}

attsvm_status model_lanes_create(model *m, attsvm_error *err)
{
    if (!applies(m))
        return ATTSVM_OK;
    la_lanes l = { .problems = m->terms,
                   .count = padded(m->terms),
                   .T = m->data->T_max,
                   .d = m->d,
                   .stride = padded(m->d),
                   .queries = !m->prompt };
    arena a = { 0 };
    tables own;
    la_lanes *kept;
    (void)base_take(&a, 1, sizeof *kept);
    layout(m, &l, &own, &a);
    TRY(base_arena_allocate(&a, "small problems", err));
    m->lanes_memory = a.base;
    kept = base_take(&a, 1, sizeof *kept);
    layout(m, &l, &own, &a);
    l.X = own.X;
    l.score = own.score;
    l.Zt = own.Zt;
    l.Z = own.Z;
    fill(m, &l, &own);
    *kept = l;
    m->lanes = kept;
    return ATTSVM_OK;
}

double model_lanes_gradient(model *m)
{
    const la_lanes *l = m->lanes;
    double *factor = m->lane_factor, largest = -INFINITY;
    la_active()->lanes_forward(l, m->logit_map);
    model_slopes(m, l->output, m->lane_slope, m->lane_log, l->count);
    for (int64_t k = 0; k < l->problems; k++) {
        factor[k] = m->lane_log[k] - l->M[k];
        largest = factor[k] > largest ? factor[k] : largest;
    }
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] -= largest;
    la_exp(factor, factor, l->count);
    for (int64_t k = l->problems; k < l->count; k++)
        factor[k] = 0;
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] *= -m->lane_slope[k] / (l->Z_sum[k] * (double)m->terms);
    la_active()->lanes_backward(l, factor, m->attention_gradient);
    return largest;
}
