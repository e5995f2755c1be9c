/*
 * From sums over terms to gradients of the parameters, and to numbers about the whole model.
 *
 *   G = dL/dW at W = KQ' (d x d), or g = dL/dq at q = W'p (d)
 *   grad_K = G Q,  grad_Q = G' K,   pW: grad_W = p g',  grad_p = W g
 */
#include "model/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const model_block *find_block(const model *m, char name)
{
    for (int b = 0; b < m->blocks; b++)
        if (m->block[b].name[0] == name)
            return &m->block[b];
    return NULL;
}

static const double *block_at(const model *m, const double *theta, char name)
{
    const model_block *block = find_block(m, name);
    return block ? theta + block->offset : NULL;
}

/* What the logits see: W of X W z, or q = W'p of X q (p itself where the keys are W x). */
static void set_logit_map(model *m, const double *theta)
{
    const int64_t d = m->d;
    const double *p = block_at(m, theta, 'p'), *W = block_at(m, theta, 'W');
    m->logit_map = m->map_memory;
    if (m->factored)
        la_gemm(false, true, d, d, m->rank, 1, block_at(m, theta, 'K'), m->rank,
                block_at(m, theta, 'Q'), m->rank, 0, m->map_memory, d);
    else if (m->prompt && W)
        la_gemv(true, d, d, 1, W, d, p ? p : m->p, 0, m->map_memory);
    else
        m->logit_map = m->prompt ? p : W;
}

/* The sum of this rank's blocks into out (count). */
static dist_scaled copy_total(const model *m, bool head, int64_t count, double *out)
{
    const model_partial *total = m->total;
    dist_scaled sum = { out, count, -INFINITY };
    dist_scaled own = { head ? total->v : total->attention, count,
                        head ? total->v_log : total->attention_log };
    memset(out, 0, (size_t)count * sizeof *out);
    dist_scaled_add(&sum, &own);
    return sum;
}

/* All sums of a gradient over all ranks, with one exchange. */
static void collect_gradient(model *m, bool attention, model_gradient *gradient)
{
    dist_scaled sums[2];
    int count = 0, last = m->blocks - 1;
    if (attention)
        sums[count++] = copy_total(m, false, m->part_size, m->attention_gradient);
    if (m->trains_v)
        sums[count++] = copy_total(m, true, m->head.size, gradient->x + m->block[last].offset);
    dist_scaled_sum(m->comm, sums, count);
    if (attention)
        m->gradient_log = sums[0].log;
    if (m->trains_v)
        gradient->log[last] = sums[count - 1].log;
}

static void outer(int64_t d, const double *p, const double *g, double *W)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            W[i * d + j] = p[i] * g[j];
}

/* From G or g, in units of exp(m->gradient_log), to the trained blocks. */
static void attention_gradient(model *m, const double *theta, model_gradient *gradient)
{
    const int64_t d = m->d;
    const double *G = m->attention_gradient;
    const double *p = block_at(m, theta, 'p'), *W = block_at(m, theta, 'W');
    for (int b = 0; b < m->blocks; b++) {
        const model_block *block = &m->block[b];
        double *out = gradient->x + block->offset;
        if (block->head)
            continue;
        gradient->log[b] = m->gradient_log;
        if (block->name[0] == 'K')
            la_gemm(false, false, d, m->rank, d, 1, G, d, block_at(m, theta, 'Q'), m->rank, 0, out,
                    m->rank);
        else if (block->name[0] == 'Q')
            la_gemm(true, false, d, m->rank, d, 1, G, d, block_at(m, theta, 'K'), m->rank, 0, out,
                    m->rank);
        else if (block->name[0] == 'W' && m->prompt)
            outer(d, p ? p : m->p, G, out);
        else if (block->name[0] == 'p' && W)
            la_gemv(false, d, d, 1, W, d, G, 0, out);
        else
            memcpy(out, G, (size_t)block->count * sizeof *G);
    }
}

double model_gradient_log(const model *m, const double *theta)
{
    const int64_t d = m->d;
    const double *G = m->attention_gradient, *p = block_at(m, theta, 'p');
    const double *W = block_at(m, theta, 'W');
    if (m->gradient_log == -INFINITY)
        return -INFINITY;
    double norm = la_norm(G, m->part_size);
    if (m->prompt && W) { /* |p g'| = |p| |g|, and |W g| where p is trained too */
        double square = norm * la_norm(p ? p : m->p, d), by_p = 0;
        for (int64_t j = 0; p && j < d; j++)
            by_p = base_hypot(by_p, la_dot(W + j * d, G, d));
        norm = base_hypot(square, by_p);
    }
    return norm > 0 ? m->gradient_log + base_log(norm) : -INFINITY;
}

void model_evaluate(model *m, const double *theta, const int64_t *sequences, int64_t count,
                    model_gradient *gradient, model_value *value)
{
    set_logit_map(m, theta);
    bool lanes = m->lanes && gradient && !sequences && model_lanes_gradient(m);
    if (!lanes || value)
        model_sum_terms(m, theta, sequences, count, gradient && !lanes, value != NULL);
    if (gradient)
        collect_gradient(m, !lanes, gradient);
    if (gradient)
        attention_gradient(m, theta, gradient);
    if (value)
        *value = model_collect_value(m);
}

int64_t model_softmax_first(const model *m, int64_t i)
{
    int64_t count = 0;
    if (m->query.mode != ATTSVM_QUERY_ALL && m->query.mode != ATTSVM_QUERY_CAUSAL)
        return data_first(m->data, i) * (i > 0 ? data_terms_queries(&m->query, 0) : 1);
    for (int64_t k = 0; k < i; k++)
        count += data_length(m->data, k) * data_length(m->data, k);
    return count;
}

void model_softmax(model *m, const double *theta, double *softmax)
{
    model_worker *k = &m->worker[0];
    const int64_t d = m->d;
    set_logit_map(m, theta);
    data_reader reader = data_reader_open(m->data, m->own_lo, m->own_hi);
    for (int64_t i; data_reader_each(&reader, &i);) {
        la_rows keys = model_rows_of(m->data, &m->keys, i);
        const int64_t T = keys.count;
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, softmax += T) {
            const double *b = m->logit_map;
            if (!m->prompt) {
                data_terms_query(&m->query, i, q, k->Z);
                la_gemv(false, d, d, 1, m->logit_map, d, k->Z, 0, k->B);
                b = k->B;
            }
            keys.count = data_terms_visible(&m->query, i, q);
            la_rows_dot(&keys, b, softmax);
            double highest = -INFINITY, Z = 0;
            for (int64_t t = 0; t < keys.count; t++)
                highest = fmax(highest, softmax[t]);
            for (int64_t t = 0; t < keys.count; t++)
                softmax[t] -= highest;
            la_exp(softmax, softmax, keys.count);
            for (int64_t t = 0; t < keys.count; t++)
                Z += softmax[t];
            for (int64_t t = 0; t < keys.count; t++)
                softmax[t] /= Z;
            for (int64_t t = keys.count; t < T; t++)
                softmax[t] = 0;
        }
    }
}

const double *model_logit_map(model *m, const double *theta)
{
    set_logit_map(m, theta);
    return m->logit_map;
}

bool model_has_matrix(const model *m)
{
    return !m->prompt || m->trains_W;
}

const double *model_matrix(model *m, const double *theta)
{
    if (m->prompt)
        return block_at(m, theta, 'W');
    set_logit_map(m, theta);
    return m->logit_map;
}

double model_norm(model *m, const double *theta)
{
    const double *W = block_at(m, theta, 'W'), *p = block_at(m, theta, 'p');
    if (m->prompt && W && !p)
        return la_norm(W, m->d * m->d);
    set_logit_map(m, theta);
    return la_norm(m->logit_map, m->part_size);
}
