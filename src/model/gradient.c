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

static dist_scaled partial_sum(const model *m, bool head, int64_t b)
{
    const model_partial *part = &m->partial[b];
    return head ? (dist_scaled){ part->v, m->head.size, part->v_log }
                : (dist_scaled){ part->attention, m->part_size, part->attention_log };
}

/*
 * The sum of blocks lo..hi-1 in block lo, by halves: the tree that ranks are cut from, so that the
 * bytes do not depend on the number of ranks (where it is a power of two).
 */
static dist_scaled add_up(const model *m, bool head, int64_t lo, int64_t hi)
{
    dist_scaled sum = partial_sum(m, head, lo);
    if (hi - lo < 2)
        return sum;
    int64_t middle = lo + (hi - lo) / 2;
    sum = add_up(m, head, lo, middle);
    dist_scaled more = add_up(m, head, middle, hi);
    dist_scaled_add(&sum, &more);
    return sum;
}

/* The sum of this rank's blocks into out (count). */
static dist_scaled combine(const model *m, bool head, int64_t count, double *out)
{
    int64_t lo = m->combine_lo, hi = m->combine_hi;
    dist_scaled sum = { out, count, -INFINITY };
    memset(out, 0, (size_t)count * sizeof *out);
    if (lo < hi) {
        dist_scaled own = add_up(m, head, lo, hi);
        dist_scaled_add(&sum, &own);
    }
    return sum;
}

/* All sums of a gradient over all ranks, with one exchange. */
static void collect_gradient(model *m, bool attention, model_gradient *gradient)
{
    dist_scaled sums[2];
    int count = 0, last = m->blocks - 1;
    if (attention)
        sums[count++] = combine(m, false, m->part_size, m->attention_gradient);
    if (m->trains_v)
        sums[count++] = combine(m, true, m->head.size, gradient->x + m->block[last].offset);
    if (m->data->comm)
        dist_scaled_sum(m->data->comm, sums, count);
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
            /* next-token prediction is right where the label is selected: its limit is 0 then */
            v.accuracy += m->loss.of_log ? m->loss_limit[t] == 0 : m->output[t] > 0;
            v.gap = fmin(v.gap, m->gap[t]);
        }
    }
    v.loss /= terms;
    v.limit /= terms;
    v.excess.value /= terms;
    best /= terms;
    /* L - L* = (L - L*(alpha)) + (L*(alpha) - L*): the second is exactly 0 once alpha is opt */
    bool best_known = m->scores && !m->loss.of_log;
    if (best_known && isnan(v.excess.value))
        v.over_best = model_scaled_of(v.loss - v.limit + best);
    else if (best_known)
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
    bool lanes = m->lanes && gradient && !sequences && model_lanes_gradient(m);
    if (!lanes || value)
        model_sum_terms(m, theta, sequences, count, gradient && !lanes, value != NULL);
    if (gradient)
        collect_gradient(m, !lanes, gradient);
    if (gradient)
        attention_gradient(m, theta, gradient);
    if (value)
        *value = sum_values(m, sequences, sequences ? count : m->n);
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

attsvm_status model_gather_tokens(const model *m, double *x, attsvm_error *err)
{
    dist_comm *comm = m->data->comm;
    int64_t *first, hi;
    TRY(base_allocate(&first, (size_t)dist_size(comm) + 1, sizeof *first, "shares", err));
    for (int rank = 0; rank < dist_size(comm); rank++) {
        dist_share(comm, m->parts, rank, &first[rank], &hi);
        first[rank] = data_first(m->data, data_block_first(m->data, m->parts, first[rank]));
    }
    first[dist_size(comm)] = m->data->tokens;
    dist_gather(comm, x, sizeof *x, first);
    free(first);
    return ATTSVM_OK;
}

void model_softmax(model *m, const double *theta, double *softmax)
{
    model_worker *k = &m->worker[0];
    const int64_t d = m->d;
    set_logit_map(m, theta);
    double *all = softmax;
    softmax += model_softmax_first(m, m->own_lo);
    int64_t passed = m->own_lo;
    for (int64_t i = m->own_lo; i < m->own_hi; i++) {
        data_passed(m->data, i, &passed);
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
    if (m->data->comm)
        dist_gather(m->data->comm, all, sizeof *all, m->rank_token);
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
