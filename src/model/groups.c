/*
 * Prompt models with a fixed linear head, over data that do not fit into the cache.  Sequences are
 * taken in groups that do; while the logits of a group are read from memory, the weighted sum of
 * the group before, which is still in the cache, is added up.
 */
#include "model/model.h"

#include <math.h>

enum { GROUP_BYTES = 1 << 16 };

int64_t model_group_rows(const model *m)
{
    int64_t row = m->d * (int64_t)attsvm_dtype_size(m->keys.dtype);
    return GROUP_BYTES / row + m->data->T_max;
}

/* A run of sequences and their rows, which follow each other. */
typedef struct group {
    int64_t first, last;
    la_rows rows;
} group;

static group take_group(const model *m, int64_t first, int64_t end)
{
    int64_t row = m->d * (int64_t)attsvm_dtype_size(m->keys.dtype),
            start = data_first(m->data, first);
    group g = { first, first, model_rows_of(m->data, &m->keys, first) };
    while (g.last < end && (data_first(m->data, g.last) - start) * row < GROUP_BYTES)
        g.last++;
    g.rows.count = data_first(m->data, g.last) - start;
    return g;
}

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

/* Weights of a group's rows in units of exp(part->attention_log). */
static void weigh_group(const model *m, model_worker *k, model_partial *part, const group *g,
                        double terms)
{
    const int64_t count = g->last - g->first, start = data_first(m->data, g->first);
    double largest = -INFINITY;
    for (int64_t s = 0; s < count; s++) {
        int64_t i = g->first + s, first = data_first(m->data, i), T = data_length(m->data, i);
        double Y = data_terms_label(&m->query, i, 0), *a = k->group_a + (first - start);
        double *w = k->group_w + (first - start);
        la_weighed out;
        if ((m->repeats && m->repeats[i]) ||
            !la_active()->weigh(T, a, m->scores + first, Y, w, &out))
            out = weigh_slowly(m, k, i, a, Y, w);
        k->group_M[s] = out.M;
        k->group_Z[s] = out.Z;
        k->group_output[s] = out.output;
    }
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
    for (int64_t s = 0; s < count; s++) {
        int64_t from = data_first(m->data, g->first + s) - start;
        int64_t to = data_first(m->data, g->first + s + 1) - start;
        double factor = -k->exponent[s] * k->rate[s] / (k->group_Z[s] * terms);
        for (int64_t t = from; t < to; t++)
            k->group_w[t] *= factor;
    }
}

void model_group_gradient(const model *m, model_worker *k, model_partial *part, int64_t lo,
                          int64_t hi, double terms)
{
    if (lo == hi)
        return;
    group now = take_group(m, lo, hi);
    la_rows_dot(&now.rows, m->logit_map, k->group_a);
    for (;;) {
        weigh_group(m, k, part, &now, terms);
        if (now.last == hi)
            break;
        group next = take_group(m, now.last, hi);
        la_active()->rows_turns(&next.rows, m->logit_map, k->group_a, &now.rows, k->group_w,
                                part->attention);
        now = next;
    }
    la_rows_sum(&now.rows, k->group_w, part->attention);
}
