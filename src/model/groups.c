/*
 * Prompt models with a fixed linear head, over data that do not fit into the cache.  Each token is
 * read from memory once: while the logits of some rows are read, the weighted sum over rows read
 * before, which are still in the cache, is added up (la.h, rows_turns).
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
            k->group_M[s] = out.M;
            k->group_Z[s] = out.Z;
            k->group_output[s] = out.output;
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
        before[q] = (la_run){ row_at(m, at[q].row), 0, k->group_w + q * room };
    }
    for (bool more = true; more;) {
        la_run next[4];
        cut c;
        more = false;
        for (int q = 0; q < 4; q++) {
            int64_t left = at[q].end - at[q].row;
            int64_t known = at[q].row - data_first(data, at[q].first);
            next[q] = (la_run){ row_at(m, at[q].row), left < turn ? left : turn,
                                k->group_a + q * room + known };
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
            before[q] = (la_run){ row_at(m, start), stop - start, c.w[q] };
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
            next[q] = (la_run){ row_at(m, first + from), to - from, a + from };
        }
        la_active()->rows_turns(m->keys.dtype, m->d, next, m->logit_map, before, part->attention);
        if (i == hi)
            break;
        cut c = { { i, hi, hi, hi }, { i + 1, hi, hi, hi }, { a }, { w } };
        weigh(m, k, part, &c, terms);
        for (int q = 0; q < 4; q++)
            before[q] = (la_run){ next[q].rows, next[q].count, w + (next[q].value - a) };
    }
}

void model_group_gradient(const model *m, model_worker *k, model_partial *part, int64_t lo,
                          int64_t hi, double terms)
{
    double mean = (double)m->data->tokens / (double)m->n * (double)row_bytes(m);
    if (mean > LONG_BYTES)
        long_sequences(m, k, part, lo, hi, terms);
    else
        short_sequences(m, k, part, lo, hi, terms);
}
