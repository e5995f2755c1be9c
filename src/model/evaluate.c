/*
 * Value and gradient over many terms (theory 2 and 2.1).
 *
 * Data and model determine the blocks of sequences.  Within a block each X_i is read once: logits,
 * softmax, weights and X_i' g_i are computed while it is in the cache.  Every sum has its own
 * exponent; a term with a much larger one rescales the sum so far.  Blocks are added in order, so
 * the number of threads does not matter.
 */
#include "model/small.h"

#include <math.h>
#include <string.h>

/* Prompt models: all terms share the logit direction, and X_i' g_i is added directly. */
static void prompt_sequence(const model_pass *c, model_worker *k, model_partial *part, int64_t i)
{
    double rate = 0, exponent = -INFINITY;
    model_term(c, k, part, i, 0, c->m->logit_map, &rate, &exponent);
    if (!c->gradient || exponent == -INFINITY)
        return;
    la_rows keys = model_keys(c->m, i);
    double factor =
        -rate * model_sum_weight(part->attention, c->m->d, &part->attention_log, exponent);
    for (int64_t t = 0; t < keys.count; t++)
        k->w[t] *= factor;
    la_active()->rows_sum(&keys, k->w, k->ahead, part->attention);
}

/*
 * Adds sum_i u_i z_i' = U' Z for a chunk of terms.  A term with z = 0 has equal logits at any W and
 * zero gradient: its exponent must not scale the others out of range.
 */
static void close_chunk(const model *m, model_worker *k, model_partial *part, int64_t terms)
{
    const int64_t d = m->d;
    double largest = -INFINITY;
    for (int64_t r = 0; r < terms; r++) {
        if (model_is_zero(k->Z + r * d, d) || model_is_zero(k->U + r * d, d))
            k->exponent[r] = -INFINITY;
        largest = k->exponent[r] > largest ? k->exponent[r] : largest;
    }
    if (largest == -INFINITY)
        return;
    model_sum_rescale(part->attention, d * d, &part->attention_log, largest);
    for (int64_t r = 0; r < terms; r++)
        k->exponent[r] -= part->attention_log;
    la_exp(k->exponent, k->exponent, terms);
    for (int64_t r = 0; r < terms; r++) {
        double factor = -k->rate[r] * k->exponent[r];
        for (int64_t j = 0; j < d; j++)
            k->U[r * d + j] *= factor;
    }
    la_gemm(true, false, d, d, terms, 1, k->U, d, k->Z, d, 1, part->attention, d);
}

static int64_t sequence_at(const model_pass *c, int64_t position)
{
    return c->sequences ? c->sequences[position] : position;
}

/* The rows to prefetch during the sequence at `position` of lo..hi-1. */
static const void *rows_ahead(const model_pass *c, int64_t position, int64_t hi)
{
    const model *m = c->m;
    if (position + 1 >= hi || m->data->index)
        return NULL;
    return model_keys(m, sequence_at(c, position + 1)).base;
}

/* Terms of sequences lo..hi-1 of the pass, in chunks: Z, B = Z W', then term by term, U' Z. */
static void query_sequences(const model_pass *c, model_worker *k, model_partial *part, int64_t lo,
                            int64_t hi)
{
    const model *m = c->m;
    const int64_t d = m->d;
    int64_t at = lo, query = 0;
    while (at < hi) {
        int64_t from = at, from_query = query, terms = 0;
        for (; at < hi && terms < m->chunk; terms++) {
            int64_t i = sequence_at(c, at);
            data_terms_query(&m->query, i, query, k->Z + terms * d);
            if (++query == data_terms_queries(&m->query, i)) {
                query = 0;
                at++;
            }
        }
        la_gemm(false, true, terms, d, d, 1, k->Z, d, m->logit_map, d, 0, k->B, d);
        memset(k->U, 0, (size_t)(terms * d) * sizeof *k->U);
        for (int64_t r = 0, s = from, q = from_query; r < terms; r++) {
            int64_t i = sequence_at(c, s);
            k->ahead = rows_ahead(c, s, hi);
            model_term(c, k, part, i, q, k->B + r * d, &k->rate[r], &k->exponent[r]);
            if (c->gradient && k->exponent[r] != -INFINITY) {
                la_rows keys = model_keys(m, i);
                keys.count = data_terms_visible(&m->query, i, q);
                la_active()->rows_sum(&keys, k->w, k->ahead, k->U + r * d);
            }
            if (++q == data_terms_queries(&m->query, i)) {
                q = 0;
                s++;
            }
        }
        if (c->gradient)
            close_chunk(m, k, part, terms);
    }
}

/* Sequences lo..hi-1 of the pass. */
static void evaluate_range(const model_pass *c, model_worker *k, model_partial *part, int64_t lo,
                           int64_t hi)
{
    const model *m = c->m;
    if (m->prompt)
        for (int64_t s = lo; s < hi; s++) {
            k->ahead = rows_ahead(c, s, hi);
            prompt_sequence(c, k, part, sequence_at(c, s));
        }
    else
        query_sequences(c, k, part, lo, hi);
}

/* The first position in the mini-batch with a sequence >= i. */
static int64_t position_of(const model_pass *c, int64_t i)
{
    int64_t low = 0, high = c->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (c->sequences[middle] < i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sequences lo..hi-1 of the data, chunk by chunk of the reader. */
static void evaluate_chunks(const model_pass *c, model_worker *k, model_partial *part, int64_t lo,
                            int64_t hi)
{
    data_reader reader = data_reader_open(c->m->data, lo, hi);
    while (data_reader_next(&reader))
        evaluate_range(c, k, part, reader.lo, reader.hi);
}

/* Block b of the node; for a mini-batch, its sequences in this block. */
static void evaluate_block(void *context, int64_t b, int worker)
{
    const model_pass *c = context;
    model *m = c->m;
    model_worker *k = &m->worker[worker];
    model_partial *part = &m->slot[b];
    int64_t lo = m->block_first[m->node + b], hi = m->block_first[m->node + b + 1];
    part->attention_log = part->v_log = -INFINITY;
    part->sums = MODEL_NO_SUMS;
    if (c->small) {
        part->attention_log =
            model_small_sum(m, m->node + b - m->block_lo, worker, part->attention);
        return;
    }
    if (c->sequences) {
        lo = position_of(c, lo);
        hi = position_of(c, hi);
    }
    if (lo == hi)
        return;
    if (c->gradient) {
        memset(part->attention, 0, (size_t)m->map_size * sizeof(double));
        if (m->trains_v)
            memset(part->v, 0, (size_t)m->head.size * sizeof(double));
    }
    if (c->sequences) {
        data_reader_ahead(m->data, c->sequences + lo, hi - lo);
        evaluate_range(c, k, part, lo, hi);
        data_reader_release(m->data, c->sequences[lo], c->sequences[hi - 1] + 1);
    } else {
        evaluate_chunks(c, k, part, lo, hi);
    }
    for (int64_t s = lo; s < hi && c->value; s++)
        model_add_sums(m, sequence_at(c, s), &part->sums);
}

/*
 * Blocks are summed along a binary tree, whose nodes are also the shares of the ranks, so that the
 * bytes depend neither on threads nor on ranks (if their number is a power of two).  There are many
 * blocks, so that many ranks have work, and their sums may be large: a subtree that fits into the
 * slots is computed concurrently, and above it each level holds one sum.
 */
static model_partial *add_slots(const model *m, int64_t lo, int64_t hi)
{
    if (hi - lo == 1)
        return &m->slot[lo];
    int64_t middle = lo + (hi - lo) / 2;
    model_partial *sum = add_slots(m, lo, middle);
    model_partial_add(m, sum, add_slots(m, middle, hi));
    return sum;
}

/* The sum of blocks lo..hi-1, in a slot or in the sum of a lower level. */
static model_partial *sum_node(model *m, int64_t lo, int64_t hi, int level, model_pass *c)
{
    if (hi - lo <= m->slots) {
        m->node = lo;
        base_parallel(m->threads, hi - lo, evaluate_block, c);
        return add_slots(m, 0, hi - lo);
    }
    int64_t middle = lo + (hi - lo) / 2;
    model_partial *half = sum_node(m, lo, middle, level + 1, c), *waiting = &m->level[level];
    model_partial free_one = *waiting;
    *waiting = *half;
    *half = free_one; /* swap their memory */
    model_partial_add(m, waiting, sum_node(m, middle, hi, level + 1, c));
    return waiting;
}

/* Sums over the blocks of this rank into m->total. */
static void sum_blocks(model *m, model_pass *c)
{
    m->total = &m->slot[0];
    m->slot[0].attention_log = m->slot[0].v_log = -INFINITY;
    m->slot[0].sums = MODEL_NO_SUMS;
    if (m->block_lo < m->block_hi)
        m->total = sum_node(m, m->block_lo, m->block_hi, 0, c);
}

/* Sums over terms into m->total, and the arrays of terms. */
static void sum_terms(model *m, const double *theta, const int64_t *sequences, int64_t count,
                      bool gradient, bool value)
{
    model_pass c = { .m = m,
                     .sequences = sequences,
                     .count = count,
                     .terms = sequences ? 0 : (double)m->terms,
                     .v = m->v,
                     .gradient = gradient,
                     .value = value };
    for (int64_t s = 0; sequences && s < count; s++)
        c.terms += (double)data_terms_queries(&m->query, sequences[s]);
    if (m->trains_v)
        c.v = theta + m->parameter[m->parameters - 1].offset;
    sum_blocks(m, &c);
    if (sequences) /* mini-batches touch pages all over the file */
        data_reader_release(m->data, m->own_lo, m->own_hi);
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
static void collect_gradient(model *m, model_gradient *gradient)
{
    dist_scaled sums[2];
    int count = 0, last = m->parameters - 1;
    sums[count++] = copy_total(m, false, m->map_size, m->attention_gradient);
    if (m->trains_v)
        sums[count++] = copy_total(m, true, m->head.size, gradient->x + m->parameter[last].offset);
    dist_scaled_sum(m->comm, sums, count);
    m->gradient_log = sums[0].log;
    if (m->trains_v)
        gradient->log[last] = sums[1].log;
}

/* The gradient by m->small; false if equal scores leave the work to weights.c. */
static bool small_gradient(model *m, model_gradient *gradient)
{
    if (m->blocks == 1)
        return model_small_gradient(m);
    sum_blocks(m, &(model_pass){ .m = m, .gradient = true, .small = true });
    collect_gradient(m, gradient);
    return true;
}

void model_evaluate(model *m, const double *theta, const int64_t *sequences, int64_t count,
                    model_gradient *gradient, model_value *value)
{
    model_set_logit_map(m, theta);
    bool small = m->small && gradient && !sequences && small_gradient(m, gradient);
    if (!small || value)
        sum_terms(m, theta, sequences, count, gradient && !small, value != NULL);
    if (gradient && !small)
        collect_gradient(m, gradient);
    if (gradient)
        model_chain_rule(m, theta, gradient);
    if (value)
        *value = model_collect_value(m);
}
