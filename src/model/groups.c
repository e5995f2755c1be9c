/*
 * Models with a fixed linear head and one query a sequence, over data that do not fit into the
 * cache.  Each token is read from memory once: while the logits of a group of rows are read, the
 * weighted sum over the group before, which is still in the cache, is added up (la.h, la_group).
 *
 * Rows are read from several places side by side (one a lane), which is what one core needs to
 * reach the bandwidth of the memory.  Short sequences: a block of sequences is cut into places, and
 * a group has a sequence of each (lengths that differ: streams.c).  Long sequences, of which the
 * cache would not hold two groups: each by itself, its rows cut into places.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

enum {
    LONG_BYTES = 56 << 10, /* mean length of sequences taken one after another       */
    PREFETCHED = 8,        /* scores of a line of the cache                           */
};

static const char *row_at(const model *m, int64_t row)
{
    return (const char *)m->keys.base + (size_t)row * (size_t)model_row_bytes(m);
}

/* The stretch of sequences that each place has still to read. */
typedef struct places {
    int64_t next[LA_MOST_LANES], end[LA_MOST_LANES];
    int64_t some; /* the first of all: it stands in where a place has none left */
} places;

static places cut_into_places(int64_t lo, int64_t hi)
{
    places at = { .some = lo };
    for (int q = 0; q < la_lane_count(); q++) {
        at.next[q] = lo + q * (hi - lo) / la_lane_count();
        at.end[q] = lo + (q + 1) * (hi - lo) / la_lane_count();
    }
    return at;
}

/* How many groups the places have still to read. */
static int64_t groups_left(const places *at)
{
    int64_t most = 0;
    for (int q = 0; q < la_lane_count(); q++)
        most = at->end[q] - at->next[q] > most ? at->end[q] - at->next[q] : most;
    return most;
}

/* The sequence of place q in group number s from here, or -1. */
static int64_t sequence_of(const places *at, int64_t s, int q)
{
    return at->next[q] + s < at->end[q] ? at->next[q] + s : -1;
}

/* Lane q of the group: `length` tokens from `first` on. */
static void set_run(const model *m, la_group *g, int q, int64_t first, int64_t length)
{
    g->length[q] = length;
    g->rows[q] = row_at(m, first);
    g->p[q] = m->logit_map;
    g->score[q] = m->scores + first;
    for (int64_t t = 0; t < length; t += PREFETCHED) /* they are wanted when the rows are read */
        __builtin_prefetch(g->score[q] + t);
}

/* Group number s from here. */
static void set_group(const model *m, const places *at, int64_t s, la_group *g)
{
    for (int q = 0; q < la_lane_count(); q++) {
        const int64_t i = sequence_of(at, s, q);
        set_run(m, g, q, data_first(m->data, i < 0 ? at->some : i),
                i < 0 ? 0 : data_length(m->data, i));
    }
}

/* The first token of part q of sequence i, which has as many parts as there are lanes. */
static int64_t part_first(const model *m, int64_t i, int q)
{
    return data_first(m->data, i) + q * data_length(m->data, i) / la_lane_count();
}

/*
 * The first line of the rows of sequence i: the processor begins to read ahead there while weights
 * are computed.  (More lines made it slower.)
 */
static void touch_parts(const model *m, int64_t i)
{
    for (int q = 0; q < la_lane_count(); q++)
        __builtin_prefetch(row_at(m, part_first(m, i, q)));
}

la_weighed model_weigh_slowly(const model *m, model_worker *k, int64_t i, double Y)
{
    const int64_t first = data_first(m->data, i), T = data_length(m->data, i);
    const double *score = m->scores + first;
    bool repeats = m->repeats && m->repeats[i];
    int64_t top = model_select(T, k->a, repeats ? m->same + first : NULL, k->scratch);
    for (int64_t t = 0; t < T; t++) {
        k->m[t] = k->a[top] - k->a[t];
        k->e[t] = Y * (score[t] - score[top]);
    }
    model_weights weights = model_weigh(T, top, k->m, k->e, NULL, 0,
                                        repeats ? m->same_key + first : NULL, k->w, k->scratch);
    la_weighed out = { weights.M, weights.Z, Y * score[top] };
    if (weights.pull != 0)
        out.output += exp(-weights.I) * weights.pull;
    return out;
}

/* Whether the kernels leave the sequence in lane q. */
static bool is_odd(const model *m, const la_group *g, int q, int64_t i)
{
    return i >= 0 && (isnan(g->M[q]) || (m->repeats && m->repeats[i]));
}

void model_logits_again(const model *m, model_worker *k, int64_t i, const double *b)
{
    la_rows keys = model_rows_of(m->data, &m->keys, i);
    la_rows_dot(&keys, b, k->a);
}

/* ------------------------------------------------------------------ one query for all */

void model_prompt_factors(const model *m, model_worker *k, model_partial *part, int64_t count,
                          const double *M, const double *Z, const double *output, double terms,
                          double *factor)
{
    double largest = -INFINITY;
    model_slopes(m, output, k->rate, k->exponent, count);
    for (int64_t s = 0; s < count; s++) {
        k->exponent[s] = M[s] == INFINITY || k->rate[s] == 0 ? -INFINITY : k->exponent[s] - M[s];
        largest = k->exponent[s] > largest ? k->exponent[s] : largest;
    }
    model_make_room(part->attention, m->d, &part->attention_log, largest);
    bool units = largest > -INFINITY; /* all of them exp(0) */
    for (int64_t s = 0; s < count; s++) {
        k->exponent[s] = largest == -INFINITY ? -INFINITY : k->exponent[s] - part->attention_log;
        units &= k->exponent[s] == 0;
    }
    if (units)
        for (int64_t s = 0; s < count; s++)
            k->exponent[s] = 1;
    else
        la_exp(k->exponent, k->exponent, count);
    for (int64_t s = 0; s < count; s++)
        factor[s] = -k->exponent[s] * k->rate[s] / (Z[s] * terms);
}

/* A sequence that the kernels leave is added up here, and is left out of the group. */
static void add_odd(const model *m, model_worker *k, model_partial *part, int64_t i, double terms)
{
    la_rows keys = model_rows_of(m->data, &m->keys, i);
    double factor;
    model_logits_again(m, k, i, m->logit_map);
    la_weighed out = model_weigh_slowly(m, k, i, data_terms_label(&m->query, i, 0));
    model_prompt_factors(m, k, part, 1, &out.M, &out.Z, &out.output, terms, &factor);
    for (int64_t t = 0; t < keys.count; t++)
        k->w[t] *= factor;
    la_rows_sum(&keys, k->w, part->attention);
}

/* Weights of the group whose logits have been read. */
static void weigh_prompt(const model *m, model_worker *k, model_partial *part, const places *at,
                         int64_t s, la_group *g, double terms)
{
    double Y[LA_MOST_LANES] = { 0 }, M[LA_MOST_LANES], output[LA_MOST_LANES];
    la_active()->group_weigh(g, false);
    for (int q = 0; q < la_lane_count(); q++) {
        const int64_t i = sequence_of(at, s, q);
        bool odd = is_odd(m, g, q, i);
        if (odd)
            add_odd(m, k, part, i, terms);
        Y[q] = i < 0 ? 0 : data_terms_label(&m->query, i, 0);
        M[q] = odd || i < 0 ? INFINITY : g->M[q];
        output[q] = odd || i < 0 ? 0 : Y[q] * g->output[q];
    }
    model_prompt_factors(m, k, part, la_lane_count(), M, g->Z, output, terms, g->factor);
    for (int q = 0; q < la_lane_count(); q++)
        g->factor[q] *= Y[q];
}

static void short_sequences(const model *m, model_worker *k, model_partial *part, int64_t lo,
                            int64_t hi, double terms)
{
    const attsvm_dtype dtype = m->keys.dtype;
    const places at = cut_into_places(lo, hi);
    la_group *ahead = &k->group[0], *behind = NULL;
    for (int64_t s = 0; s < groups_left(&at); s++) {
        set_group(m, &at, s, ahead);
        la_active()->group_read(dtype, false, m->d, ahead, behind, part->attention);
        weigh_prompt(m, k, part, &at, s, ahead, terms);
        behind = ahead;
        ahead = &k->group[behind == &k->group[0]];
    }
    la_active()->group_read(dtype, false, m->d, NULL, behind, part->attention);
}

/* Weights of the one sequence whose parts are the runs of the group, from logits in k->a. */
static void weigh_apart(const model *m, model_worker *k, model_partial *part, int64_t i,
                        la_group *g, double terms)
{
    const int64_t first = data_first(m->data, i), T = data_length(m->data, i);
    const double Y = data_terms_label(&m->query, i, 0);
    bool repeats = m->repeats && m->repeats[i];
    la_weighed out;
    double factor;
    int64_t at = 0;
    if (repeats || !la_active()->weigh(T, k->a, m->scores + first, Y, k->w, &out))
        out = model_weigh_slowly(m, k, i, Y);
    model_prompt_factors(m, k, part, 1, &out.M, &out.Z, &out.output, terms, &factor);
    for (int q = 0; q < la_lane_count(); q++) {
        g->factor[q] = factor;
        g->shift[q] = 0;
        for (int64_t t = 0; t < g->T; t++) {
            g->a[t * la_lane_count() + q] = 0;
            g->c[t * la_lane_count() + q] = t < g->length[q] ? k->w[at++] : 0;
        }
    }
}

/* The same from the logits of the group. */
static void weigh_parts(const model *m, model_worker *k, model_partial *part, int64_t i,
                        la_group *g, double terms)
{
    double Y = data_terms_label(&m->query, i, 0), output;
    int64_t at = 0;
    if (!la_active()->group_weigh(g, true)) {
        for (int q = 0; q < la_lane_count(); q++)
            for (int64_t t = 0; t < g->length[q]; t++)
                k->a[at++] = g->a[t * la_lane_count() + q];
        weigh_apart(m, k, part, i, g, terms);
    } else if (is_odd(m, g, 0, i)) {
        model_logits_again(m, k, i, m->logit_map);
        weigh_apart(m, k, part, i, g, terms);
    } else {
        output = Y * g->output[0];
        model_prompt_factors(m, k, part, 1, g->M, g->Z, &output, terms, g->factor);
        for (int q = la_lane_count() - 1; q >= 0; q--)
            g->factor[q] = Y * g->factor[0];
    }
}

static void long_sequences(const model *m, model_worker *k, model_partial *part, int64_t lo,
                           int64_t hi, double terms)
{
    const attsvm_dtype dtype = m->keys.dtype;
    la_group *ahead = &k->group[0], *behind = NULL;
    for (int64_t i = lo; i < hi; i++) {
        for (int q = 0; q < la_lane_count(); q++) {
            const int64_t first = part_first(m, i, q), length = part_first(m, i, q + 1) - first;
            set_run(m, ahead, q, length ? first : data_first(m->data, i), length);
        }
        la_active()->group_read(dtype, false, m->d, ahead, behind, part->attention);
        if (i + 1 < hi)
            touch_parts(m, i + 1);
        weigh_parts(m, k, part, i, ahead, terms);
        behind = ahead;
        ahead = &k->group[behind == &k->group[0]];
    }
    la_active()->group_read(dtype, false, m->d, NULL, behind, part->attention);
}

/* ------------------------------------------------------------ a query for each sequence */

bool model_query_groups(const model *m)
{
    return m->terms >= 4 * m->chunk && m->terms == m->n && m->query.mode != ATTSVM_QUERY_CAUSAL &&
           m->query.mode != ATTSVM_QUERY_ALL &&
           m->data->T_max <= 2 * LONG_BYTES / model_row_bytes(m);
}

/* Queries of a window in the order of groups, and the directions of their logits; returns how many
   terms. */
static int64_t window_queries(const model *m, model_worker *k, const places *at, int64_t groups)
{
    const int64_t d = m->d;
    int64_t count = 0;
    for (int64_t s = 0; s < groups; s++)
        for (int q = 0; q < la_lane_count(); q++)
            if (sequence_of(at, s, q) >= 0)
                data_terms_query(&m->query, sequence_of(at, s, q), 0, k->Z + d * count++);
    la_gemm(false, true, count, d, d, 1, k->Z, d, m->logit_map, d, 0, k->B, d);
    memset(k->U, 0, (size_t)(count * d) * sizeof *k->U);
    return count;
}

/* A sequence that the kernels leave goes to row `term` of U here, and is left out of the group. */
static la_weighed query_odd(const model *m, model_worker *k, int64_t i, int64_t term)
{
    la_rows keys = model_rows_of(m->data, &m->keys, i);
    model_logits_again(m, k, i, k->B + term * m->d);
    la_weighed out = model_weigh_slowly(m, k, i, data_terms_label(&m->query, i, 0));
    la_rows_sum(&keys, k->w, k->U + term * m->d);
    return out;
}

/* Weights of the group whose logits have been read, without the slope of the loss; terms from
   `term` on.  Returns the next. */
static int64_t weigh_queries(const model *m, model_worker *k, const places *at, int64_t s,
                             la_group *g, int64_t term)
{
    la_active()->group_weigh(g, false);
    for (int q = 0; q < la_lane_count(); q++) {
        const int64_t i = sequence_of(at, s, q);
        g->factor[q] = 0;
        if (i < 0)
            continue;
        const double Y = data_terms_label(&m->query, i, 0);
        la_weighed out = { g->M[q], g->Z[q], Y * g->output[q] };
        if (is_odd(m, g, q, i))
            out = query_odd(m, k, i, term);
        else
            g->factor[q] = Y;
        k->group_M[term] = out.M;
        k->group_Z[term] = out.Z;
        k->group_output[term++] = out.output;
    }
    la_active()->group_weights(g);
    return term;
}

/* The terms of a window: U, with rate and exponent of each row; returns how many. */
static int64_t query_window(const model *m, model_worker *k, const places *at, int64_t groups,
                            double terms)
{
    const int64_t d = m->d, count = window_queries(m, k, at, groups);
    la_group *ahead = &k->group[0], *behind = NULL;
    int64_t term = 0;
    for (int64_t s = 0; s < groups; s++) {
        int64_t row = term;
        set_group(m, at, s, ahead);
        for (int q = 0; q < la_lane_count(); q++) {
            ahead->p[q] = k->B + row * d;
            ahead->sum[q] = k->U + row * d;
            row += sequence_of(at, s, q) >= 0 && row + 1 < count;
        }
        la_active()->group_read(m->keys.dtype, true, d, ahead, behind, NULL);
        term = weigh_queries(m, k, at, s, ahead, term);
        behind = ahead;
        ahead = &k->group[behind == &k->group[0]];
    }
    la_active()->group_read(m->keys.dtype, true, d, NULL, behind, NULL);
    model_slopes(m, k->group_output, k->rate, k->exponent, count);
    for (int64_t r = 0; r < count; r++) {
        k->exponent[r] = k->group_M[r] == INFINITY || k->rate[r] == 0
                             ? -INFINITY
                             : k->exponent[r] - k->group_M[r];
        k->rate[r] /= k->group_Z[r] * terms;
    }
    return count;
}

static void query_sequences(const model *m, model_worker *k, model_partial *part, int64_t lo,
                            int64_t hi, double terms)
{
    const int64_t size = m->chunk / la_lane_count();
    places at = cut_into_places(lo, hi);
    while (groups_left(&at) > 0) {
        const int64_t groups = groups_left(&at) < size ? groups_left(&at) : size;
        model_close_chunk(m, k, part, query_window(m, k, &at, groups, terms));
        for (int q = 0; q < la_lane_count(); q++)
            at.next[q] += groups;
    }
}

void model_group_gradient(const model *m, model_worker *k, model_partial *part, int64_t lo,
                          int64_t hi, double terms)
{
    double mean = (double)m->data->tokens / (double)m->n * (double)model_row_bytes(m);
    if (!m->prompt)
        query_sequences(m, k, part, lo, hi, terms);
    else if (mean > LONG_BYTES)
        long_sequences(m, k, part, lo, hi, terms);
    else if (!model_stream_gradient(m, k, part, lo, hi, terms))
        short_sequences(m, k, part, lo, hi, terms);
}
