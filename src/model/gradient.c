/*
 * From sums over terms to gradients of the parameters, and to numbers about the whole model.
 *
 *   G = dL/dW at W = KQ' (d x d), or g = dL/dq at q = W'p (d)
 *   grad_K = G Q,  grad_Q = G' K,   pW: grad_W = p g',  grad_p = W g
 */
#include "model/model.h"

#include <math.h>
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

/* Adds up the blocks in units of the largest exponent, which it returns. */
static double combine(const model *m, bool head, int64_t count, double *out)
{
    double largest = -INFINITY;
    for (int64_t b = 0; b < m->parts; b++)
        largest = fmax(largest, head ? m->partial[b].v_log : m->partial[b].attention_log);
    memset(out, 0, (size_t)count * sizeof *out);
    if (largest == -INFINITY)
        return largest;
    for (int64_t b = 0; b < m->parts; b++) {
        const model_partial *part = &m->partial[b];
        double log = head ? part->v_log : part->attention_log;
        if (log != -INFINITY)
            la_axpy(exp(log - largest), head ? part->v : part->attention, out, count);
    }
    return largest;
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
            by_p = hypot(by_p, la_dot(W + j * d, G, d));
        norm = hypot(square, by_p);
    }
    return norm > 0 ? m->gradient_log + log(norm) : -INFINITY;
}

/* Sums that need all terms: L, its limit, and how far it is above the best of all. */
static void sum_losses(const model *m, int64_t first, int64_t last, model_value *v,
                       model_scaled *small, double *best)
{
    for (int64_t t = first; t < last; t++) {
        v->loss += m->loss.value(&m->loss, m->output[t]);
        v->limit += m->loss_limit[t];
        if (isnan(m->loss_excess[t].value))
            v->excess.value = NAN;
        else if (!isnan(v->excess.value))
            v->excess = model_scaled_add(v->excess, m->loss_excess[t]);
        *best += m->loss_limit[t] - m->loss_best[t];
        if (m->loss.magnitude)
            *small = model_scaled_add(*small, m->loss.magnitude(&m->loss, m->output[t]));
    }
}

static model_value sum_values(const model *m, const int64_t *sequences, int64_t count)
{
    model_value v = { .attention_min = INFINITY, .gap = INFINITY };
    double terms = 0, best = 0;
    model_scaled small = { 0, 0 };
    for (int64_t s = 0; s < count; s++) {
        int64_t i = sequences ? sequences[s] : s, first = data_terms_first(&m->query, i);
        int64_t last = first + data_terms_queries(&m->query, i);
        sum_losses(m, first, last, &v, &small, &best);
        for (int64_t t = first; t < last; t++, terms++) {
            v.attention_min = fmin(v.attention_min, m->attention[t]);
            v.attention_mean += m->attention[t];
            v.entropy += m->entropy[t];
            v.effective_tokens += exp(m->entropy[t]);
            v.accuracy += m->output[t] > 0;
            v.gap = fmin(v.gap, m->gap[t]);
        }
    }
    v.loss /= terms;
    v.limit /= terms;
    v.excess.value /= terms;
    best /= terms;
    /* L - L* = (L - L*(alpha)) + (L*(alpha) - L*): the second is exactly 0 once alpha is opt */
    if (m->scores && isnan(v.excess.value))
        v.over_best = model_scaled_of(v.loss - v.limit + best);
    else if (m->scores)
        v.over_best = model_scaled_add(v.excess, model_scaled_of(best));
    else
        v.over_best = (model_scaled){ m->loss.magnitude ? small.value / terms : NAN, small.log };
    v.attention_mean /= terms;
    v.entropy /= terms;
    v.effective_tokens /= terms;
    v.accuracy /= terms;
    return v;
}

void model_evaluate(model *m, const double *theta, const int64_t *sequences, int64_t count,
                    model_gradient *gradient, model_value *value)
{
    set_logit_map(m, theta);
    bool lanes = m->lanes && gradient && !sequences;
    if (lanes)
        m->gradient_log = model_lanes_gradient(m);
    if (!lanes || value)
        model_sum_terms(m, theta, sequences, count, gradient && !lanes, value != NULL);
    if (gradient && !lanes)
        m->gradient_log = combine(m, false, m->part_size, m->attention_gradient);
    if (gradient)
        attention_gradient(m, theta, gradient);
    if (gradient && m->trains_v) {
        int last = m->blocks - 1;
        gradient->log[last] = combine(m, true, m->head.size, gradient->x + m->block[last].offset);
    }
    if (value)
        *value = sum_values(m, sequences, sequences ? count : m->n);
}

int64_t model_softmax_count(const model *m)
{
    int64_t count = 0;
    for (int64_t i = 0; i < m->n; i++)
        count += data_terms_queries(&m->query, i) * data_length(m->data, i);
    return count;
}

void model_softmax(model *m, const double *theta, double *softmax)
{
    model_worker *k = &m->worker[0];
    const int64_t d = m->d;
    set_logit_map(m, theta);
    for (int64_t i = 0; i < m->n; i++) {
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
