/*
 * Explains a prediction (theory 8).  The contribution of token t to class c is the mean over
 * members of sum_h s_t phi_t' v_hc; contributions and bias sum to the score.  With two classes the
 * contribution to the first is the negative.  Tokens of a witness are ranked by s_t.
 */
#include "learn/explain.h"

#include <string.h>

static void layout_bag(learn_bag *bag, arena *a, const attsvm_classifier *c, size_t T,
                       const double *tail)
{
    const learn_shape *s = &c->shape;
    const size_t M = (size_t)c->members, attentions = (size_t)learn_pool_attentions(s);
    *bag = (learn_bag){ .members = c->members, .tail = tail };
    bag->value = take(a, (size_t)s->columns * T * M);
    bag->attention = take(a, attentions * T * M);
    bag->top = take(a, attentions * M);
    bag->f = take(a, (size_t)s->outputs * M);
}

void learn_view_layout(learn_view *view, arena *a, const attsvm_classifier *c, int64_t T_max,
                       const double *tail)
{
    const learn_shape *s = &c->shape;
    const size_t T = (size_t)(T_max > 0 ? T_max : 1);
    *view = (learn_view){ .c = c };
    layout_bag(&view->bag, a, c, T, tail);
    layout_bag(&view->part, a, c, T, tail);
    view->f = take(a, (size_t)s->outputs);
    view->changed = take(a, (size_t)s->outputs);
    view->key = take(a, T);
    view->sum = take(a, T);
    view->odds = take(a, (size_t)s->classes);
    view->copy = take_int64(a, T);
    view->digest = base_take(a, T, sizeof *view->digest);
    view->order = take_int64(a, T);
    view->keep = base_take(a, T, sizeof *view->keep);
}

/* Scores of a bag, and their mean over the members. */
static void score(const learn_shape *s, const learn_bag *bag, double *f)
{
    const int64_t M = bag->members;
    learn_pool_forward(s, bag);
    for (int64_t k = 0; k < s->outputs; k++) {
        double sum = 0;
        for (int64_t m = 0; m < M; m++)
            sum += bag->f[k * M + m];
        f[k] = sum / (double)M;
    }
}

void learn_view_score(learn_view *view, int64_t T)
{
    view->bag.T = T;
    score(&view->c->shape, &view->bag, view->f);
}

/* The mean score of the tokens with keep[t] == wanted, into view->changed. */
static void score_part(learn_view *view, bool wanted)
{
    const learn_shape *s = &view->c->shape;
    const int64_t width = s->columns * view->bag.members;
    view->part.T = 0;
    for (int64_t t = 0; t < view->bag.T; t++)
        if (view->keep[t] == wanted)
            memcpy(view->part.value + view->part.T++ * width, view->bag.value + t * width,
                   (size_t)width * sizeof *view->part.value);
    score(s, &view->part, view->changed);
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
    if (s->pool == ATTSVM_POOL_WITNESS)
        return view->bag.attention[t * view->bag.members + m];
    const int64_t k = s->outputs == 1 ? 0 : c;
    const double own = learn_pool_contribution(s, &view->bag, t, k, m);
    return s->outputs == 1 && c == 0 ? -own : own;
}

/* The token with the largest contribution, summed over its copies, except `but`; -1: none. */
static int64_t loudest(learn_view *view, int64_t but)
{
    int64_t best = -1;
    memset(view->sum, 0, (size_t)view->bag.T * sizeof *view->sum);
    for (int64_t t = 0; t < view->bag.T; t++)
        view->sum[view->copy[t]] += view->key[t];
    for (int64_t t = 0; t < view->bag.T; t++)
        if (view->copy[t] == t && t != but && (best < 0 || view->sum[t] > view->sum[best]))
            best = t;
    return best;
}

/* key: the contributions to class c, of one member or (m < 0) their mean. */
static void listen(learn_view *view, int64_t m, int64_t c)
{
    for (int64_t t = 0; t < view->bag.T; t++) {
        double sum = 0;
        for (int64_t k = 0; m < 0 && k < view->bag.members; k++)
            sum += voice(view, k, t, c);
        view->key[t] = m < 0 ? sum / (double)view->bag.members : voice(view, m, t, c);
    }
}

/* Contribution to the predicted class, attention and score of every token. */
static void tell_tokens(const learn_view *view, int64_t label, int64_t first, learn_told *told)
{
    const learn_shape *s = &view->c->shape;
    const learn_bag *bag = &view->bag;
    const int64_t k = s->outputs == 1 ? 0 : label, M = bag->members;
    const int64_t attentions = learn_pool_attentions(s) * M;
    const double sign = s->outputs == 1 && label == 0 ? -1 : 1;
    for (int64_t t = 0; t < bag->T; t++) {
        double contribution = 0, attention = 0, alone = 0;
        for (int64_t m = 0; m < M; m++) {
            contribution += learn_pool_contribution(s, bag, t, k, m);
            alone += learn_pool_alone(s, bag, t, k, m);
        }
        for (int64_t a = 0; a < attentions; a++)
            attention += bag->attention[t * attentions + a];
        told->contribution[first + t] = sign * contribution / (double)M;
        told->attention[first + t] = attention / (double)attentions;
        told->instance_score[first + t] = alone / (double)M;
    }
}

/*
 * The score of a bag without token t, by one distribution: removing a token of attention s from
 * f = sum s gamma leaves (f - s gamma) / (1 - s).  NAN if s is large in a member.
 */
static double score_without(const learn_view *view, int64_t t)
{
    const learn_shape *s = &view->c->shape;
    const learn_bag *bag = &view->bag;
    double sum = 0;
    for (int64_t m = 0; m < bag->members; m++) {
        const double weight = bag->attention[t * bag->members + m];
        const double b = learn_pool_bias(s, bag, 0, m);
        if (weight > 0.5)
            return NAN;
        sum += b + (bag->f[m] - b - learn_pool_contribution(s, bag, t, 0, m)) / (1 - weight);
    }
    return sum;
}

/* Whether a bag that is predicted negative becomes positive when one token is removed. */
static bool turns_positive(learn_view *view)
{
    const learn_shape *s = &view->c->shape;
    if (s->pool == ATTSVM_POOL_WITNESS || view->bag.T < 2)
        return false;
    for (int64_t t = 0; t < view->bag.T; t++) {
        double changed = s->heads == 1 ? score_without(view, t) : NAN;
        if (isnan(changed)) {
            for (int64_t u = 0; u < view->bag.T; u++)
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
    for (int64_t t = 0; t < view->bag.T; t++)
        view->keep[t] = view->copy[t] != decider;
    score_part(view, true);
    told->flips[i] = learn_predicted(s, view->changed) != label;
    int64_t agree = 0;
    for (int64_t m = 0; m < view->bag.members; m++) {
        listen(view, m, label);
        agree += loudest(view, -1) == decider;
    }
    told->agreement[i] = (double)agree / (double)view->bag.members;
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
        memset(view->keep, 0, (size_t)view->bag.T * sizeof *view->keep);
        for (int64_t t = 0; t < k[j] && t < view->bag.T; t++)
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
    const int64_t T = view->bag.T, label = learn_predicted(s, view->f);
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
