/*
 * Models with a fixed linear head and one query a sequence, over data that do not fit into the
 * cache.  Each token is read from memory once: while the logits of some rows are read, the weighted
 * sum over rows read before, which are still in the cache, is added up (la.h, rows_turns).
 *
 * Rows are read from four places side by side, which is what one core needs to reach the bandwidth
 * of the memory.  Short sequences: a block of sequences is cut into four, and each quarter is read
 * from its start to its end; a sequence is weighed once its last row has been read.  Long
 * sequences, of which the cache would not hold four: each by itself, its rows cut into four.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

enum {
    TURN_BYTES = 1 << 15, /* read at a place before sequences are weighed   */
    LONG_BYTES = 1 << 16, /* mean length of sequences taken one after another */
};

static int64_t row_bytes(const model *m)
{
    return m->d * (int64_t)attsvm_dtype_size(m->keys.dtype);
}

static int64_t turn_rows(const model *m)
{
    int64_t rows = TURN_BYTES / row_bytes(m);
    return rows > 4 ? rows : 4;
}

int64_t model_group_rows(const model *m)
{
    return 4 * (turn_rows(m) + m->data->T_max);
}

/* Sequences weighed together: of each M, Z and output in the order of the runs. */
typedef struct cut {
    int64_t first[4], last[4]; /* sequences              */
    double *a[4], *w[4];       /* logits, weights of their rows */
    int64_t at;                /* of M, Z and output            */
} cut;

/* The cases that the kernel leaves: copies of tokens, equal scores, single tokens. */
static la_weighed weigh_slowly(const model *m, model_worker *k, int64_t i, const double *a,
                               double Y, double *w)
{
    const int64_t first = data_first(m->data, i), T = data_length(m->data, i);
    const double *score = m->scores + first;
    bool repeats = m->repeats && m->repeats[i];
    int64_t top = model_select(T, a, repeats ? m->same + first : NULL, k->scratch);
    for (int64_t t = 0; t < T; t++) {
        k->m[t] = a[top] - a[t];
        k->e[t] = Y * (score[t] - score[top]);
    }
    model_weights weights =
        model_weigh(T, top, k->m, k->e, repeats ? m->same_key + first : NULL, w, k->scratch);
    la_weighed out = { weights.M, weights.Z, Y * score[top] };
    if (weights.pull != 0)
        out.output += exp(-weights.I) * weights.pull;
    return out;
}

/* M, Z and output of each sequence; where the kernel for many does not apply (NaN in group_out),
   its weights, too.  Returns how many sequences. */
static int64_t weigh_runs(const model *m, model_worker *k, const cut *c)
{
    int64_t count = 0;
    for (int q = 0; q < 4; q++) {
        int64_t start = data_first(m->data, c->first[q]);
        for (int64_t i = c->first[q]; i < c->last[q]; i++) {
            int64_t first = data_first(m->data, i), at = first - start;
            k->group_problem[count++] = (la_softmax){ data_length(m->data, i), c->a[q] + at,
                                                      m->scores + first, c->w[q] + at };
        }
    }
    la_active()->weigh_forward(count, k->group_problem, &k->group_work, k->group_out);
    for (int64_t q = 0, s = 0; q < 4; q++)
        for (int64_t i = c->first[q]; i < c->last[q]; i++, s++) {
            la_weighed out = k->group_out[s];
            double Y = data_terms_label(&m->query, i, 0);
            bool repeats = m->repeats && m->repeats[i];
            if (repeats || isnan(out.M)) {
                double *a = c->a[q] + (k->group_problem[s].a - c->a[q]), *w = k->group_problem[s].w;
                int64_t T = k->group_problem[s].T;
                k->group_out[s].M = NAN;
                if (repeats || !la_active()->weigh(T, a, k->group_problem[s].score, Y, w, &out))
                    out = weigh_slowly(m, k, i, a, Y, w);
            } else {
                out.output *= Y;
            }
            k->group_M[c->at + s] = out.M;
            k->group_Z[c->at + s] = out.Z;
            k->group_output[c->at + s] = out.output;
        }
    return count;
}

/* Weights of the runs' rows in units of exp(part->attention_log). */
static void weigh(const model *m, model_worker *k, model_partial *part, const cut *c, double terms)
{
    const int64_t count = weigh_runs(m, k, c);
    double largest = -INFINITY;
    model_slopes(m, k->group_output, k->rate, k->exponent, count);
    for (int64_t s = 0; s < count; s++) {
        k->exponent[s] = k->group_M[s] == INFINITY || k->rate[s] == 0
                             ? -INFINITY
                             : k->exponent[s] - k->group_M[s];
        largest = k->exponent[s] > largest ? k->exponent[s] : largest;
    }
    model_join(part->attention, m->d, &part->attention_log, largest);
    for (int64_t s = 0; s < count; s++)
        k->exponent[s] = largest == -INFINITY ? -INFINITY : k->exponent[s] - part->attention_log;
    la_exp(k->exponent, k->exponent, count);
    for (int64_t q = 0, s = 0; q < 4; q++)
        for (int64_t i = c->first[q]; i < c->last[q]; i++, s++) {
            double factor = -k->exponent[s] * k->rate[s] / (k->group_Z[s] * terms);
            double *w = k->group_problem[s].w;
            k->rate[s] = factor * data_terms_label(&m->query, i, 0);
            if (isnan(k->group_out[s].M))
                for (int64_t t = 0; t < k->group_problem[s].T; t++)
                    w[t] *= factor;
        }
    la_active()->weigh_backward(count, k->group_problem, &k->group_work, k->group_out, k->rate);
}

static const char *row_at(const model *m, int64_t row)
{
    return (const char *)m->keys.base + (size_t)row * (size_t)row_bytes(m);
}

/* A quarter of the sequences, read from start to end. */
typedef struct place {
    int64_t first, last; /* sequences that are not weighed yet */
    int64_t row, end;    /* rows that are not read yet         */
} place;

/* Sequences that have been read, and are weighed next; the logits of the rest move to the front. */
static int64_t whole_sequences(const model *m, const place *at)
{
    int64_t i = at->first;
    while (i < at->last && data_first(m->data, i + 1) <= at->row)
        i++;
    return i;
}

static void short_sequences(const model *m, model_worker *k, model_partial *part, int64_t lo,
                            int64_t hi, double terms)
{
    const attsvm_data *data = m->data;
    const int64_t turn = turn_rows(m), room = turn + data->T_max;
    place at[4];
    la_run before[4];
    for (int q = 0; q < 4; q++) {
        int64_t from = lo + q * (hi - lo) / 4, to = lo + (q + 1) * (hi - lo) / 4;
        at[q] = (place){ from, to, data_first(data, from), data_first(data, to) };
        before[q] = (la_run){ row_at(m, at[q].row), 0, k->group_w + q * room, NULL };
    }
    for (bool more = true; more;) {
        la_run next[4];
        cut c = { .at = 0 };
        more = false;
        for (int q = 0; q < 4; q++) {
            int64_t left = at[q].end - at[q].row;
            int64_t known = at[q].row - data_first(data, at[q].first);
            next[q] = (la_run){ row_at(m, at[q].row), left < turn ? left : turn,
                                k->group_a + q * room + known, NULL };
            more |= left > 0;
        }
        for (int q = 0; q < 4; q++)
            for (int64_t t = 0; t < next[q].count; t += 8)
                __builtin_prefetch(m->scores + at[q].row + t);
        la_active()->rows_turns(m->keys.dtype, m->d, next, m->logit_map, before, part->attention);
        for (int q = 0; q < 4; q++) {
            at[q].row += next[q].count;
            c.first[q] = at[q].first;
            c.last[q] = whole_sequences(m, &at[q]);
            c.a[q] = k->group_a + q * room;
            c.w[q] = k->group_w + q * room;
        }
        weigh(m, k, part, &c, terms);
        for (int q = 0; q < 4; q++) {
            int64_t start = data_first(data, c.first[q]), stop = data_first(data, c.last[q]);
            before[q] = (la_run){ row_at(m, start), stop - start, c.w[q], NULL };
            memmove(c.a[q], c.a[q] + (stop - start), (size_t)(at[q].row - stop) * sizeof *c.a[q]);
            at[q].first = c.last[q];
        }
    }
}

static void long_sequences(const model *m, model_worker *k, model_partial *part, int64_t lo,
                           int64_t hi, double terms)
{
    la_run before[4] = { { 0 } };
    double *a = k->group_a, *w = k->group_w;
    for (int64_t i = lo; i <= hi; i++) {
        la_run next[4] = { { 0 } };
        int64_t first = data_first(m->data, i), T = i < hi ? data_length(m->data, i) : 0;
        for (int q = 0; q < 4; q++) {
            int64_t from = q * T / 4, to = (q + 1) * T / 4;
            next[q] = (la_run){ row_at(m, first + from), to - from, a + from, NULL };
        }
        la_active()->rows_turns(m->keys.dtype, m->d, next, m->logit_map, before, part->attention);
        if (i == hi)
            break;
        cut c = { { i, hi, hi, hi }, { i + 1, hi, hi, hi }, { a }, { w }, 0 };
        weigh(m, k, part, &c, terms);
        for (int q = 0; q < 4; q++)
            before[q] = (la_run){ next[q].rows, next[q].count, w + (next[q].value - a), NULL };
    }
}

/* ---------------------------------------------------- a query for each sequence */

bool model_query_groups(const model *m)
{
    return m->terms >= 4 * m->chunk && m->terms == m->n && m->query.mode != ATTSVM_QUERY_CAUSAL &&
           m->query.mode != ATTSVM_QUERY_ALL && m->data->T_max <= LONG_BYTES / row_bytes(m);
}

/* Sequences of a turn, some at each place; returns how many. */
static int64_t next_turn(const model *m, place at[4], cut *c)
{
    const int64_t fit = turn_rows(m) / m->data->T_max, share = m->chunk / 4;
    const int64_t most = fit < 1 ? 1 : fit < share ? fit : share;
    int64_t count = 0;
    for (int q = 0; q < 4; q++) {
        int64_t left = at[q].last - at[q].first, take = left < most ? left : most;
        c->first[q] = at[q].first;
        c->last[q] = at[q].first += take;
        count += take;
    }
    return count;
}

/* Sequence number j at each place of the cut, which begins with term c->at; rows of `vectors`. */
static void runs_of(const model *m, const cut *c, int64_t j, double *const value[4],
                    double *vectors, la_run run[4])
{
    int64_t term = c->at;
    for (int q = 0; q < 4; q++) {
        int64_t i = c->first[q] + j, inside = i < c->last[q];
        int64_t start = data_first(m->data, c->first[q]),
                first = inside ? data_first(m->data, i) : start;
        run[q] = (la_run){ row_at(m, first), inside ? data_length(m->data, i) : 0,
                           value[q] + (first - start), vectors + (term + (inside ? j : 0)) * m->d };
        term += c->last[q] - c->first[q];
    }
}

/* Logits of `next` along the rows of B, while X' w of `before` is added to the rows of U. */
static void read_turn(const model *m, model_worker *k, const cut *next, const cut *before)
{
    int64_t longest = 0;
    for (int q = 0; q < 4; q++) {
        int64_t ahead = next->last[q] - next->first[q], past = before->last[q] - before->first[q];
        longest = ahead > longest ? ahead : longest;
        longest = past > longest ? past : longest;
    }
    for (int64_t j = 0; j < longest; j++) {
        la_run to[4], from[4];
        runs_of(m, next, j, next->a, k->B, to);
        runs_of(m, before, j, before->w, k->U, from);
        la_active()->terms_turns(m->keys.dtype, m->d, to, from);
    }
}

/* Weights of the cut's rows, without the slope of the loss. */
static void weigh_turn(const model *m, model_worker *k, const cut *c)
{
    const int64_t count = weigh_runs(m, k, c);
    for (int64_t q = 0, s = 0; q < 4; q++)
        for (int64_t i = c->first[q]; i < c->last[q]; i++, s++)
            k->rate[s] = data_terms_label(&m->query, i, 0);
    la_active()->weigh_backward(count, k->group_problem, &k->group_work, k->group_out, k->rate);
}

/* One chunk of terms in the order of turns; returns how many. */
static int64_t query_chunk(const model *m, model_worker *k, place at[4], double terms)
{
    const int64_t d = m->d, room = turn_rows(m) + m->data->T_max;
    place ahead[4];
    cut next = { .at = 0 }, before = { .at = 0 };
    int64_t count = 0, most = 0, turn;
    memcpy(ahead, at, sizeof ahead);
    while (count + most <= m->chunk && (turn = next_turn(m, ahead, &next)) > 0) {
        for (int q = 0; q < 4; q++)
            for (int64_t i = next.first[q]; i < next.last[q]; i++)
                data_terms_query(&m->query, i, 0, k->Z + d * count++);
        most = turn > most ? turn : most;
    }
    la_gemm(false, true, count, d, d, 1, k->Z, d, m->logit_map, d, 0, k->B, d);
    memset(k->U, 0, (size_t)(count * d) * sizeof *k->U);
    for (int q = 0; q < 4; q++) {
        next.a[q] = k->group_a + q * room;
        next.w[q] = k->group_w + q * room;
    }
    for (int64_t done = 0; done < count;) {
        next.at = done;
        done += next_turn(m, at, &next);
        read_turn(m, k, &next, &before);
        weigh_turn(m, k, &next);
        before = next;
    }
    cut none = { .at = 0 };
    read_turn(m, k, &none, &before);
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
    place at[4];
    int64_t count;
    for (int q = 0; q < 4; q++)
        at[q] = (place){ lo + q * (hi - lo) / 4, lo + (q + 1) * (hi - lo) / 4, 0, 0 };
    for (int64_t done = 0; done < hi - lo; done += count) {
        count = query_chunk(m, k, at, terms);
        model_close_chunk(m, k, part, count);
    }
}

void model_group_gradient(const model *m, model_worker *k, model_partial *part, int64_t lo,
                          int64_t hi, double terms)
{
    double mean = (double)m->data->tokens / (double)m->n * (double)row_bytes(m);
    if (!m->prompt)
        query_sequences(m, k, part, lo, hi, terms);
    else if (mean > LONG_BYTES)
        long_sequences(m, k, part, lo, hi, terms);
    else
        short_sequences(m, k, part, lo, hi, terms);
}
