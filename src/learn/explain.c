/*
 * Explains a prediction (theory 8).  The contribution of token t to class c is the mean over
 * members of sum_h s_t phi_t' v_hc; contributions and bias sum to the score.  With two classes the
 * contribution to the first is the negative.  Tokens of a witness are ranked by s_t.
 */
#include "learn/explain.h"

#include <string.h>

void learn_view_layout(learn_view *view, arena *a, const attsvm_classifier *c, int64_t T_max)
{
    const learn_shape *s = &c->shape;
    const size_t T = (size_t)(T_max > 0 ? T_max : 1), M = (size_t)c->members;
    const size_t columns = (size_t)s->columns, attentions = (size_t)learn_pool_attentions(s);
    *view = (learn_view){ .c = c, .stride = (int64_t)T, .members = c->members };
    view->value = take(a, M * columns * T);
    view->attention = take(a, M * attentions * T);
    view->member_f = take(a, M * (size_t)s->outputs);
    view->f = take(a, (size_t)s->outputs);
    view->changed = take(a, (size_t)s->outputs);
    view->part = take(a, columns * T);
    view->part_attention = take(a, attentions * T);
    view->part_f = take(a, (size_t)s->outputs);
    view->key = take(a, T);
    view->sum = take(a, T);
    view->odds = take(a, (size_t)s->classes);
    view->copy = take_int64(a, T);
    view->digest = base_take(a, T, sizeof *view->digest);
    view->order = take_int64(a, T);
    view->keep = base_take(a, T, sizeof *view->keep);
}

static const double *tail_of(const learn_view *view, int64_t m)
{
    const learn_shape *s = &view->c->shape;
    return view->c->theta + m * s->size + s->columns * s->d;
}

static learn_bag bag_of(const learn_view *view, int64_t m)
{
    return (learn_bag){ view->T, view->stride,
                        view->value + m * view->c->shape.columns * view->stride };
}

static double *attention_of(const learn_view *view, int64_t m)
{
    return view->attention + m * learn_pool_attentions(&view->c->shape) * view->stride;
}

void learn_view_score(learn_view *view, int64_t T)
{
    const learn_shape *s = &view->c->shape;
    const int64_t K = s->outputs;
    view->T = T;
    memset(view->f, 0, (size_t)K * sizeof *view->f);
    for (int64_t m = 0; m < view->members; m++) {
        const learn_bag bag = bag_of(view, m);
        double *f = view->member_f + m * K;
        learn_pool_forward(s, tail_of(view, m), &bag, attention_of(view, m), f);
        for (int64_t k = 0; k < K; k++)
            view->f[k] += f[k];
    }
    for (int64_t k = 0; k < K; k++)
        view->f[k] /= (double)view->members;
}

/* The mean score of the tokens with keep[t] == wanted, into view->changed. */
static void score_part(learn_view *view, bool wanted)
{
    const learn_shape *s = &view->c->shape;
    const int64_t K = s->outputs;
    learn_bag part = { 0, view->stride, view->part };
    memset(view->changed, 0, (size_t)K * sizeof *view->changed);
    for (int64_t m = 0; m < view->members; m++) {
        const learn_bag bag = bag_of(view, m);
        part.T = 0;
        for (int64_t t = 0; t < view->T; t++) {
            if (view->keep[t] != wanted)
                continue;
            for (int64_t c = 0; c < s->columns; c++)
                part.value[c * part.stride + part.T] = bag.value[c * bag.stride + t];
            part.T++;
        }
        learn_pool_forward(s, tail_of(view, m), &part, view->part_attention, view->part_f);
        for (int64_t k = 0; k < K; k++)
            view->changed[k] += view->part_f[k] / (double)view->members;
    }
}

/* ------------------------------------------------------------------------------ copies */

/* copy[t]: the first token with the same values as t. */
static void find_copies(learn_view *view, const la_rows *rows)
{
    const size_t bytes = (size_t)rows->d * attsvm_dtype_size(rows->dtype);
    for (int64_t t = 0; t < rows->count; t++) {
        const int64_t row = rows->index ? rows->index[t] : t;
        const char *x = rows->base ? (const char *)rows->base + (size_t)row * bytes : NULL;
        view->digest[t] = x ? base_digest(BASE_DIGEST, x, bytes) : (uint64_t)row;
        view->copy[t] = t;
        for (int64_t u = 0; u < t && view->copy[t] == t; u++) {
            if (view->digest[u] != view->digest[t])
                continue;
            const int64_t other = rows->index ? rows->index[u] : u;
            if (other == row ||
                (x && memcmp(x, (const char *)rows->base + (size_t)other * bytes, bytes) == 0))
                view->copy[t] = u;
        }
    }
}

/* ------------------------------------------------------------------------- who decided */

/* Contribution of token t to class c in member m. */
static double voice(const learn_view *view, int64_t m, int64_t t, int64_t c)
{
    const learn_shape *s = &view->c->shape;
    const learn_bag bag = bag_of(view, m);
    const double *attention = attention_of(view, m);
    if (s->pool == ATTSVM_POOL_WITNESS)
        return attention[t];
    const int64_t k = s->outputs == 1 ? 0 : c;
    const double own = learn_pool_contribution(s, tail_of(view, m), &bag, attention,
                                               view->member_f + m * s->outputs, t, k);
    return s->outputs == 1 && c == 0 ? -own : own;
}

/* The token with the largest contribution, summed over its copies, except `but`; -1: none. */
static int64_t loudest(learn_view *view, int64_t but)
{
    int64_t best = -1;
    memset(view->sum, 0, (size_t)view->T * sizeof *view->sum);
    for (int64_t t = 0; t < view->T; t++)
        view->sum[view->copy[t]] += view->key[t];
    for (int64_t t = 0; t < view->T; t++)
        if (view->copy[t] == t && t != but && (best < 0 || view->sum[t] > view->sum[best]))
            best = t;
    return best;
}

/* key: the contributions to class c, of one member or (m < 0) their mean. */
static void listen(learn_view *view, int64_t m, int64_t c)
{
    for (int64_t t = 0; t < view->T; t++) {
        double sum = 0;
        for (int64_t k = 0; m < 0 && k < view->members; k++)
            sum += voice(view, k, t, c);
        view->key[t] = m < 0 ? sum / (double)view->members : voice(view, m, t, c);
    }
}

/* Contribution to the predicted class, attention and score of every token. */
static void tell_tokens(const learn_view *view, int64_t label, int64_t first, learn_told *told)
{
    const learn_shape *s = &view->c->shape;
    const int64_t k = s->outputs == 1 ? 0 : label, A = learn_pool_attentions(s);
    const double sign = s->outputs == 1 && label == 0 ? -1 : 1, M = (double)view->members;
    for (int64_t t = 0; t < view->T; t++) {
        double contribution = 0, attention = 0, alone = 0;
        for (int64_t m = 0; m < view->members; m++) {
            const learn_bag bag = bag_of(view, m);
            const double *weights = attention_of(view, m), *tail = tail_of(view, m);
            contribution += learn_pool_contribution(s, tail, &bag, weights,
                                                    view->member_f + m * s->outputs, t, k);
            alone += learn_pool_alone(s, tail, &bag, t, k);
            for (int64_t a = 0; a < A; a++)
                attention += weights[a * view->stride + t] / (double)A;
        }
        told->contribution[first + t] = sign * contribution / M;
        told->attention[first + t] = attention / M;
        told->instance_score[first + t] = alone / M;
    }
}

/*
 * Whether a bag that is predicted negative becomes positive when one token is removed.  Removing a
 * token of attention s from f = sum s gamma leaves (f - s gamma) / (1 - s); for large s the bag is
 * computed again.
 */
static bool turns_positive(learn_view *view)
{
    const learn_shape *s = &view->c->shape;
    if (s->pool == ATTSVM_POOL_WITNESS || view->T < 2)
        return false;
    for (int64_t t = 0; t < view->T; t++) {
        double changed = 0;
        bool large = false;
        for (int64_t m = 0; m < view->members && !large; m++) {
            const learn_bag bag = bag_of(view, m);
            const double *weights = attention_of(view, m);
            large = s->heads > 1 || s->pool == ATTSVM_POOL_MEAN || weights[t] > 0.5;
            const double b = tail_of(view, m)[s->biases - s->columns * s->d];
            const double own = learn_pool_contribution(s, tail_of(view, m), &bag, weights,
                                                       view->member_f + m, t, 0);
            changed += b + (view->member_f[m] - b - own) / (1 - weights[t]);
        }
        if (large) {
            for (int64_t u = 0; u < view->T; u++)
                view->keep[u] = u != t;
            score_part(view, true);
            changed = view->changed[0];
        }
        if (changed > 0)
            return true;
    }
    return false;
}

void learn_explain(learn_view *view, const la_rows *rows, int64_t i, int64_t first,
                   learn_told *told, learn_tally *tally)
{
    const learn_shape *s = &view->c->shape;
    const int64_t label = told->label[i];
    told->decider[i] = told->runner_up[i] = told->key[i] = -1;
    if (rows->count == 0)
        return;
    find_copies(view, rows);
    tell_tokens(view, label, first, told);
    listen(view, -1, s->classes - 1);
    told->key[i] = loudest(view, -1);
    listen(view, -1, label);
    const int64_t decider = told->decider[i] = loudest(view, -1);
    told->runner_up[i] = loudest(view, decider);
    for (int64_t t = 0; t < view->T; t++)
        view->keep[t] = view->copy[t] != decider;
    score_part(view, true);
    told->flips[i] = learn_predicted(s, view->changed) != label;
    int64_t agree = 0;
    for (int64_t m = 0; m < view->members; m++) {
        listen(view, m, label);
        agree += loudest(view, -1) == decider;
    }
    told->agreement[i] = (double)agree / (double)view->members;
    if (s->classes == 2 && label == 0) {
        tally->negative++;
        tally->turned += turns_positive(view);
    }
}

/* ------------------------------------------------------------------------ faithfulness */

/* Decrease of the predicted class's probability without, and with only, the first k of `order`. */
static void falls(learn_view *view, int64_t label, double before, const int64_t k[3], double *fall)
{
    const learn_shape *s = &view->c->shape;
    for (int j = 0; j < 3; j++) {
        memset(view->keep, 0, (size_t)view->T * sizeof *view->keep);
        for (int64_t t = 0; t < k[j] && t < view->T; t++)
            view->keep[view->order[t]] = true;
        for (int only = 0; only < 2; only++) {
            score_part(view, only == 1);
            learn_probabilities(s, view->changed, view->odds);
            fall[3 * only + j] += before - view->odds[label];
        }
    }
}

void learn_faithful(learn_view *view, int64_t seed, int64_t i, learn_tally *tally)
{
    const learn_shape *s = &view->c->shape;
    const int64_t T = view->T, label = learn_predicted(s, view->f);
    const int64_t k[3] = { 1, 3, (T + 9) / 10 };
    if (T == 0)
        return;
    learn_probabilities(s, view->f, view->odds);
    const double before = view->odds[label];
    listen(view, -1, label);
    for (int64_t t = 0; t < T;
         t++) { /* insertion sort: largest contribution first, lower index on ties */
        int64_t at = t;
        for (; at > 0 && view->key[view->order[at - 1]] < view->key[t]; at--)
            view->order[at] = view->order[at - 1];
        view->order[at] = t;
    }
    falls(view, label, before, k, tally->fall);
    base_random r = base_random_stream((uint64_t)seed, (uint64_t)i);
    base_random_permutation(&r, view->order, T);
    falls(view, label, before, k, tally->fall + 6);
    tally->faithful++;
}
