/*
 * Short sequences: the terms of a block, one per lane, in chunks.  Tables of tokens in that order
 * are stored if they are small, as those of the papers' experiments; otherwise each thread makes
 * them chunk by chunk.  The formulas are those of weights.c, which handles duplicates and equal
 * scores.
 */
#include "model/small.h"

#include "data/reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_STORED = 1 << 21, /* doubles in the tables of all tokens: 16 MB */
    MOST_LONG = 1 << 17,   /* ... of sequences that are not short: 1 MB  */
    SHORT = 512, /* doubles in a short sequence; of longer ones, term by term is as fast */
    CHUNK = 32   /* terms that are computed together           */
};

static bool scores_differ(const model *m)
{
    const int64_t T = m->data->T_max;
    for (int64_t i = m->own_lo; i < m->own_hi; i++)
        for (int64_t t = 0; t < T; t++)
            for (int64_t s = 0; s < t; s++)
                if (m->scores[i * T + s] == m->scores[i * T + t])
                    return false;
    return true;
}

/* A term with z = 0 adds nothing, but its exponent could be the largest: evaluate.c handles it. */
static bool queries_differ_from_zero(const model *m)
{
    data_reader reader = data_reader_open(m->data, m->own_lo, m->own_hi);
    double *z = m->worker[0].x;
    for (int64_t i; !m->prompt && data_reader_each(&reader, &i);)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++) {
            data_terms_query(&m->query, i, q, z);
            if (model_is_zero(z, m->d))
                return false;
        }
    return true;
}

/* Doubles in the tables of all tokens. */
static double values(const model *m)
{
    return (double)m->terms * (double)m->data->T_max * (double)m->d;
}

static bool is_stored(const model *m)
{
    return values(m) <= MOST_STORED;
}

static bool fits(const model *m)
{
    if (m->data->T_max > SHORT / m->d)
        return m->blocks == 1 && values(m) <= MOST_LONG;
    return is_stored(m) || m->keys.base; /* place_tokens reads rows, which one-hot data lack */
}

/* Whether equal scores can be excluded; those of a ReLU head are known during an evaluation. */
static bool applies(const model *m)
{
    const attsvm_data *data = m->data;
    bool relu = m->head.kind->kind == ATTSVM_HEAD_RELU && !m->trains_v && m->blocks == 1 &&
                values(m) <= MOST_LONG;
    return data->T_min == data->T_max && data->T_max > 1 && fits(m) && !m->loss.takes_log &&
           !m->has_duplicates && m->query.mode != ATTSVM_QUERY_CAUSAL &&
           (relu || (m->scores && scores_differ(m))) && queries_differ_from_zero(m);
}

static int64_t padded(int64_t count)
{
    return (count + LA_LANES - 1) / LA_LANES * LA_LANES;
}

la_small model_small_shape(const model *m, int64_t terms)
{
    return (la_small){ .problems = terms,
                       .count = padded(terms),
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
}

void model_small_layout_work(la_small *l, arena *a)
{
    size_t count = (size_t)l->count, T = (size_t)l->T, d = (size_t)l->d, stride = (size_t)l->stride;
    size_t units = (size_t)l->units, shared = l->own_maps ? 0 : 1;
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

void model_small_fill(const model *m, const la_small *l, const model_small_tables *own, int64_t lo,
                      int64_t hi, int64_t first, int64_t step)
{
    const int64_t d = l->d, count = l->count;
    double *x = m->worker[0].x;
    for (int64_t term = lo; term < hi; term++) {
        int64_t i, q, at = first + (term - lo) * step;
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
                own->Z[(term - lo) * l->stride + j] = x[j];
        }
    }
}

/* First term of block b of this rank. */
static int64_t first_term(const model *m, int64_t b)
{
    return data_terms_first(&m->query, m->block_first[m->block_lo + b]);
}

static void layout_work(const model *m, model_small_work *work, arena *a)
{
    la_small l = model_small_shape(m, CHUNK < m->terms ? CHUNK : m->terms);
    model_small_layout_work(&l, a);
    model_small_tables own = { 0 };
    if (!is_stored(m))
        model_small_layout(&l, &own, a);
    double *slope = take(a, (size_t)l.count), *log = take(a, (size_t)l.count);
    double *factor = take(a, (size_t)l.count), *gradient = take(a, (size_t)m->map_size);
    if (a->base)
        *work = (model_small_work){ l, own, slope, log, factor, gradient };
}

/* The tables of a chunk with the work space of a thread. */
static la_small with_work(const la_small *chunk, const la_small *work)
{
    la_small l = *chunk;
    l.gate = work->gate;
    l.needs_general = work->needs_general;
    l.B = work->B;
    l.w = work->w;
    l.M = work->M;
    l.Z_sum = work->Z_sum;
    l.output = work->output;
    l.U = work->U;
    l.G = work->G;
    l.square = work->square;
    return l;
}

/* The tables of terms lo..hi-1. */
static void layout_chunk(const model *m, la_small *chunk, const model_small_work *work, int64_t lo,
                         int64_t hi, arena *a)
{
    model_small_tables own;
    la_small l = model_small_shape(m, hi - lo);
    model_small_layout(&l, &own, a);
    if (!a->base)
        return;
    model_small_fill(m, &l, &own, lo, hi, 0, 1);
    *chunk = with_work(&l, &work->l);
}

/* The chunks of all blocks, with their tables. */
static void layout_chunks(const model *m, model_small *small, arena *a)
{
    const int64_t blocks = m->block_hi - m->block_lo;
    int64_t chunks = 0, at = 0;
    for (int64_t b = 0; b < blocks; b++)
        chunks += (first_term(m, b + 1) - first_term(m, b) + CHUNK - 1) / CHUNK;
    small->chunk = base_take(a, (size_t)chunks, sizeof *small->chunk);
    small->first = take_int64(a, (size_t)blocks + 1);
    for (int64_t b = 0; b < blocks; b++) {
        const int64_t end = first_term(m, b + 1);
        if (a->base)
            small->first[b] = at;
        for (int64_t lo = first_term(m, b); lo < end; lo += CHUNK, at++)
            layout_chunk(m, small->chunk + at, small->work, lo, lo + CHUNK < end ? lo + CHUNK : end,
                         a);
    }
    if (a->base)
        small->first[blocks] = at;
}

/* Measures the memory; the second time it fills the tables and sets m->small. */
static void layout(model *m, arena *a)
{
    model_small *out = base_take(a, 1, sizeof *out), small = { 0 };
    small.work = base_take(a, (size_t)m->threads, sizeof *small.work);
    for (int k = 0; k < m->threads; k++)
        layout_work(m, small.work + k, a);
    if (is_stored(m))
        layout_chunks(m, &small, a);
    if (!a->base)
        return;
    small.memory = a->base;
    *out = small;
    m->small = out;
}

attsvm_status model_small_create(model *m, attsvm_error *err)
{
    double without = applies(m) ? 0 : 1; /* one rank where it does not apply decides for all */
    dist_max(m->comm, &without, 1);
    if (without > 0)
        return ATTSVM_OK;
    arena a = { 0 };
    layout(m, &a);
    TRY(base_arena_allocate(&a, "short sequences", err));
    layout(m, &a);
    return ATTSVM_OK;
}

void model_small_free(model_small *small)
{
    if (small)
        free(small->memory);
}

/* One term into lane k: all but its tokens.  Scores are given: a ReLU head has stored tables. */
static void place_term(const model *m, const la_small *l, const model_small_tables *own, double *z,
                       int64_t i, int64_t q, int64_t k)
{
    const int Y = data_terms_label(&m->query, i, q);
    own->Y[k] = Y;
    for (int64_t t = 0; t < l->T; t++)
        l->score[t * l->count + k] = Y * m->scores[i * l->T + t];
    if (!l->queries)
        return;
    data_terms_query(&m->query, i, q, z);
    for (int64_t j = 0; j < l->d; j++)
        own->Zt[j * l->count + k] = z[j];
    if (k < l->problems)
        memcpy(own->Z + k * l->stride, z, (size_t)l->d * sizeof *z);
}

/*
 * The tokens of eight terms into the lanes from `at` on.  Without an index the tokens of a sequence
 * are contiguous, and are placed as one long row.
 */
static void place_tokens(const la_small *l, const model_small_tables *own,
                         const la_rows keys[LA_LANES], int64_t at)
{
    const attsvm_dtype dtype = keys[0].dtype;
    const int64_t bytes = l->d * (int64_t)attsvm_dtype_size(dtype);
    const int64_t rows = keys[0].index ? 1 : l->T;
    const void *row[LA_LANES];
    for (int64_t t = 0; t < l->T; t += rows) {
        for (int k = 0; k < LA_LANES; k++)
            row[k] = (const char *)keys[k].base + (keys[k].index ? keys[k].index[t] : t) * bytes;
        la_active()->small_place(dtype, row, rows * l->d, l->count,
                                 own->X + t * l->d * l->count + at);
    }
}

/*
 * l->problems terms from query *q of sequence *i on, which become the first that are left.  Lanes
 * that are not used repeat the last term.
 */
static void place_terms(const model *m, const la_small *l, const model_small_tables *own, double *z,
                        int64_t *i, int64_t *q)
{
    la_rows keys[LA_LANES];
    int64_t sequence = *i, query = *q;
    for (int64_t k = 0; k < l->count; k++) {
        if (k < l->problems) {
            sequence = *i;
            query = *q;
            if (++*q == data_terms_queries(&m->query, sequence)) {
                *q = 0;
                ++*i;
            }
        }
        place_term(m, l, own, z, sequence, query, k);
        keys[k % LA_LANES] = model_keys(m, sequence);
        if (k % LA_LANES == LA_LANES - 1)
            place_tokens(l, own, keys, k + 1 - LA_LANES);
    }
}

/* The gradient over a chunk, in units of exp(the result). */
static double sum_chunk(const model *m, const la_small *l, const model_small_work *work,
                        double *gradient)
{
    double *factor = work->factor, largest = -INFINITY;
    la_active()->small_forward(l, m->logit_map);
    model_loss_slopes(&m->loss, l->output, work->slope, work->log, l->count);
    for (int64_t k = 0; k < l->problems; k++) {
        factor[k] = work->log[k] - l->M[k];
        largest = factor[k] > largest ? factor[k] : largest;
    }
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] = largest == -INFINITY ? -INFINITY : factor[k] - largest;
    la_exp(factor, factor, l->count);
    for (int64_t k = l->problems; k < l->count; k++)
        factor[k] = 0;
    for (int64_t k = 0; k < l->problems; k++)
        factor[k] *= -work->slope[k] / (l->Z_sum[k] * (double)m->terms);
    la_active()->small_backward(l, factor, gradient);
    return largest;
}

/* Adds the gradient over a chunk to `gradient`, which is in units of exp(*log); -INFINITY: none. */
static void add_chunk(const model *m, const la_small *l, const model_small_work *work,
                      double *gradient, double *log)
{
    const bool first = *log == -INFINITY;
    double *sum = first ? gradient : work->gradient, exponent = sum_chunk(m, l, work, sum);
    if (first)
        *log = exponent;
    else if (exponent > -INFINITY)
        la_axpy(model_sum_weight(gradient, m->map_size, log, exponent), sum, gradient, m->map_size);
}

/* The same over sequences lo..hi-1, whose tables are made here, chunk by chunk. */
static void add_sequences(const model *m, const model_small_work *work, double *z, int64_t lo,
                          int64_t hi, double *gradient, double *log)
{
    int64_t i = lo, q = 0;
    int64_t left = data_terms_first(&m->query, hi) - data_terms_first(&m->query, lo);
    for (; left > 0; left -= CHUNK) {
        la_small l = work->l;
        l.problems = left < CHUNK ? left : CHUNK;
        l.count = padded(l.problems);
        place_terms(m, &l, &work->own, z, &i, &q);
        add_chunk(m, &l, work, gradient, log);
    }
}

/* Adds the gradient over a chunk with stored tables. */
static void add_stored(const model *m, const la_small *chunk, int worker, double *gradient,
                       double *log)
{
    const model_small_work *work = &m->small->work[worker];
    if (worker == 0) { /* a copy of the chunk would take a tenth of the smallest step */
        add_chunk(m, chunk, work, gradient, log);
        return;
    }
    const la_small l = with_work(chunk, &work->l);
    add_chunk(m, &l, work, gradient, log);
}

double model_small_sum(const model *m, int64_t b, int worker, double *gradient)
{
    const model_small *small = m->small;
    double log = -INFINITY;
    if (small->chunk) {
        for (int64_t k = small->first[b]; k < small->first[b + 1]; k++)
            add_stored(m, &small->chunk[k], worker, gradient, &log);
        return log;
    }
    const int64_t *first = m->block_first + m->block_lo + b;
    data_reader reader = data_reader_open(m->data, first[0], first[1]);
    while (data_reader_next(&reader))
        add_sequences(m, &small->work[worker], m->worker[worker].x, reader.lo, reader.hi, gradient,
                      &log);
    return log;
}

/* Whether some but not all scores of a problem were equal: weights.c must compute its weights. */
static bool needs_general(const la_small *l)
{
    bool any = false;
    for (int64_t k = 0; l->units > 0 && k < l->count; k++) {
        any |= l->needs_general[k] != 0;
        l->needs_general[k] = 0;
    }
    return any;
}

bool model_small_gradient(model *m)
{
    m->gradient_log = model_small_sum(m, 0, 0, m->attention_gradient);
    return !needs_general(&m->small->work->l);
}
