/*
 * One term, from logits to gradient weights and loss (theory 2 and 2.1).
 *
 *   a = K b,  s = softmax(a),  u = X' s,  f = h(u),  l(Y f),  weights w of X' g
 *
 * b is W z or W'p; evaluate.c sums over terms.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

/*
 * u - x_top in units of exp(-M), into k->delta, from differences of tokens so that nothing cancels;
 * x_top into k->x.  Returns M, the smallest m of another token.
 */
static double pool(model_worker *k, const la_rows *tokens, int64_t top, double Z)
{
    const int64_t T = tokens->count, d = tokens->d;
    double M = INFINITY;
    for (int64_t t = 0; t < T; t++)
        M = t != top && k->m[t] < M ? k->m[t] : M;
    for (int64_t t = 0; t < T; t++)
        k->scratch[t] = t == top ? -INFINITY : M - k->m[t];
    la_exp(k->scratch, k->scratch, T);
    la_row(tokens, top, k->x);
    memset(k->delta, 0, (size_t)d * sizeof *k->delta);
    for (int64_t t = 0; t < T; t++) {
        la_row(tokens, t, k->u);
        for (int64_t j = 0; j < d && t != top; j++)
            k->delta[j] += k->scratch[t] / Z * (k->u[j] - k->x[j]);
    }
    return M;
}

/*
 * Nonlinear heads: e_t = Y grad h(u)'(x_t - x_top).  If it is 0 with the gradient at x_top, the
 * change of the gradient from x_top to u decides: exp(-level) k->small.  Returns h(u).
 */
static double score_differences(const model_pass *c, model_worker *k, const la_rows *tokens,
                                int64_t top, double Y, double *level)
{
    const model_head *head = &c->m->head;
    const int64_t T = tokens->count, d = head->d;
    double Z = 0;
    for (int64_t t = 0; t < T; t++)
        k->w[t] = -k->m[t];
    la_exp(k->w, k->w, T);
    for (int64_t t = 0; t < T; t++)
        Z += k->w[t];
    *level = pool(k, tokens, top, Z);
    double value = head->kind->slope_near(head, c->v, k->x, k->delta, -*level, k->slope,
                                          k->slope_change, k->head);
    for (int64_t t = 0; t < T; t++) {
        double e = 0, change = 0;
        la_row(tokens, t, k->u);
        for (int64_t j = 0; j < d; j++) {
            e += k->slope[j] * (k->u[j] - k->x[j]);
            change += k->slope_change[j] * (k->u[j] - k->x[j]);
        }
        k->e[t] = e == 0 ? 0 : Y * (e + base_exp(-*level) * change);
        k->small[t] = Y * change;
    }
    return value;
}

bool model_is_zero(const double *x, int64_t d)
{
    for (int64_t j = 0; j < d; j++)
        if (x[j] != 0)
            return false;
    return true;
}

/* The smallest m of a nonzero token (0 if top is nonzero); INFINITY if all tokens are zero. */
static double nearest_nonzero(model_worker *k, const la_rows *tokens, int64_t top)
{
    double M = INFINITY;
    la_row(tokens, top, k->x);
    if (!model_is_zero(k->x, tokens->d))
        return 0;
    for (int64_t t = 0; t < tokens->count; t++) {
        la_row(tokens, t, k->x);
        if (k->m[t] < M && !model_is_zero(k->x, tokens->d))
            M = k->m[t];
    }
    return M;
}

/*
 * Adds |l'| Y df/dv to the block's sum; k->w is overwritten.  If the selected token is zero, u
 * comes from the others alone: it is pooled in units of exp(-M), and df/dv is scaled accordingly.
 */
static void add_head_gradient(const model_pass *c, model_worker *k, model_partial *part,
                              const la_rows *tokens, int64_t top, double Z, double Y, double output)
{
    const model_head *head = &c->m->head;
    const int64_t T = tokens->count;
    const double M = nearest_nonzero(k, tokens, top);
    model_scaled slope = c->m->loss.slope(&c->m->loss, output);
    if (M == INFINITY || slope.value == 0)
        return;
    for (int64_t t = 0; t < T; t++)
        k->w[t] = M > 0 && k->m[t] < M ? -INFINITY : M - k->m[t];
    la_exp(k->w, k->w, T);
    for (int64_t t = 0; t < T; t++)
        k->w[t] /= Z;
    memset(k->u, 0, (size_t)head->d * sizeof *k->u);
    la_rows_sum(tokens, k->w, k->u);
    head->kind->gradient_v(head, k->u, k->head);
    double factor = model_sum_weight(part->v, head->size, &part->v_log, slope.log - M);
    la_axpy(-factor * slope.value * Y / c->terms, k->head, part->v, head->size);
}

/* h(u) - h(x_top) for a head that is not linear. */
static model_scaled head_change(const model_pass *c, model_worker *k, const la_rows *tokens,
                                int64_t top, double Z)
{
    const model_head *head = &c->m->head;
    const double M = pool(k, tokens, top, Z);
    if (M == INFINITY)
        return model_scaled_of(0);
    return (model_scaled){ head->kind->change(head, c->v, k->x, k->delta, -M, k->head), -M };
}

/* Attention of the selected token with its copies, entropy, gap to the next token. */
static void describe_attention(model *m, const model_worker *k, int64_t term, int64_t T,
                               int64_t top, double Z, const int32_t *same, const int32_t *same_key)
{
    double mass = 0, entropy = base_log(Z), gap = INFINITY;
    bool beyond = false;
    for (int64_t t = 0; t < T; t++) {
        double share = base_exp(-k->m[t]) / Z;
        entropy += share * k->m[t];
        beyond |= !(k->m[t] < INFINITY);
        if (t == top || (same && same[t] == same[top]))
            mass += share;
        if (t != top && !(same_key && same_key[t] == same_key[top]) && k->m[t] < gap)
            gap = k->m[t];
    }
    m->selected[term] = top;
    m->attention[term] = mass;
    m->entropy[term] = entropy > 0 ? entropy : 0;
    m->gap[term] = beyond ? NAN : gap;
}

/*
 * Loss terms.  Several tokens keep attention if a token of another score has the key of the
 * selected one, or, with a nonlinear head, if attention is not on one token.
 */
static void describe_loss(const model_pass *c, model_worker *k, const la_rows *tokens, int64_t term,
                          int64_t top, double Y, double output, double score,
                          const model_weights *weights, const int32_t *same_key)
{
    model *m = c->m;
    const model_loss *loss = &m->loss;
    const double unsaturated = 1e-3;
    bool stay = false, linear = m->head.kind->linear;
    for (int64_t t = 0; same_key && t < tokens->count; t++)
        stay |= same_key[t] == same_key[top] && k->e[t] != 0;
    stay |= loss->takes_log && score == 0; /* no limit if the label is not selected */
    if (!linear)
        stay |= m->attention[term] < 1 - unsaturated;
    model_scaled delta = { weights->pull, weights->I == INFINITY ? 0 : -weights->I };
    if (!linear) {
        delta = head_change(c, k, tokens, top, weights->Z);
        delta.value *= Y;
        score = Y * model_head_value(&m->head, c->v, k->x, k->slope);
    }
    double u = loss->takes_log ? base_log(score) : score;
    m->output[term] = output;
    m->loss_limit[term] = loss->value(loss, u);
    m->loss_excess[term] = stay ? model_scaled_of(NAN) : model_loss_change(loss, u, delta);
    m->loss_best[term] = NAN;
    if (m->scores) {
        double best = score;
        for (int64_t t = 0; t < tokens->count; t++)
            best = fmax(best, score + k->e[t]);
        m->loss_best[term] = loss->value(loss, loss->takes_log ? base_log(best) : best);
    }
}

/* The usual case of a fixed linear head, by the kernel; false if it does not apply. */
static bool quick_term(const model_pass *c, model_worker *k, const double *score, int64_t T,
                       double Y, double *rate, double *exponent)
{
    la_weighed out;
    if (!la_active()->weigh(T, k->a, score, Y, k->w, &out))
        return false;
    model_scaled slope = c->m->loss.slope(&c->m->loss, out.output);
    *rate = slope.value / (out.Z * c->terms);
    *exponent = slope.value == 0 ? -INFINITY : slope.log - out.M;
    return true;
}

/*
 * h(u) of a linear head, from the score of the selected token and the pull of the others.  For
 * next-token prediction the logarithm of the label's attention, accurate near 1 and near 0.
 */
static double linear_output(const model *m, double score, const model_weights *weights)
{
    double pull = weights->pull == 0 ? 0 : base_exp(-weights->I) * weights->pull;
    if (!m->loss.takes_log)
        return score + pull;
    return score > 0 ? base_log1p(pull) : base_log(weights->pull) - weights->I;
}

/*
 * One term: logits along b (d), then the weights of X' g into k->w, with rate and exponent such
 * that the term's part of the gradient is -rate exp(exponent) sum_t w_t k_t.
 */
void model_term(const model_pass *c, model_worker *k, model_partial *part, int64_t i, int64_t query,
                const double *b, double *rate, double *exponent)
{
    model *m = c->m;
    const int64_t first = data_first(m->data, i), term = data_terms_first(&m->query, i) + query;
    const double Y = m->loss.takes_log ? 1 : data_terms_label(&m->query, i, query);
    la_rows keys = model_keys(m, i), tokens = data_sequence(m->data, i);
    const int64_t T = keys.count = tokens.count = data_terms_visible(&m->query, i, query);
    bool repeats = m->has_duplicates && m->has_duplicates[i];
    const int32_t *same = repeats ? m->duplicate_of + first : NULL;
    const int32_t *same_key = repeats ? m->same_key_as + first : NULL;
    const double *score = m->scores ? m->scores + first : k->score;

    la_active()->rows_dot(&keys, b, k->ahead, k->a);
    bool quick = m->scores && !m->loss.takes_log && !c->value && !repeats;
    if (quick && quick_term(c, k, score, T, Y, rate, exponent))
        return;
    int64_t top = model_select(T, k->a, same, k->scratch);
    double highest = k->a[top], output = 0, level = 0;
    for (int64_t t = 0; t < T; t++)
        k->m[t] = highest - k->a[t];
    if (m->head.kind->linear) {
        if (!m->scores)
            la_rows_dot(&tokens, c->v, k->score);
        for (int64_t t = 0; t < T; t++)
            k->e[t] = Y * (score[t] - score[top]);
    } else {
        output = Y * score_differences(c, k, &tokens, top, Y, &level);
    }
    model_weights weights =
        model_weights_compute(T, top, k->m, k->e, m->head.kind->linear ? NULL : k->small, level,
                              same_key, k->w, k->scratch);
    if (m->head.kind->linear)
        output = linear_output(m, Y * score[top], &weights);
    if (c->gradient) {
        model_scaled slope = m->loss.slope(&m->loss, output);
        *rate = slope.value / (weights.Z * c->terms);
        *exponent = weights.M == INFINITY || slope.value == 0 ? -INFINITY : slope.log - weights.M;
    }
    if (c->value) {
        describe_attention(m, k, term, T, top, weights.Z, same, same_key);
        describe_loss(c, k, &tokens, term, top, Y, output,
                      m->head.kind->linear ? Y * score[top] : 0, &weights, same_key);
    }
    if (c->gradient && m->trains_v) {
        /* the weights of the attention gradient are kept while u is pooled */
        memcpy(k->scratch, k->w, (size_t)T * sizeof *k->w);
        add_head_gradient(c, k, part, &tokens, top, weights.Z, Y, output);
        memcpy(k->w, k->scratch, (size_t)T * sizeof *k->w);
    }
}
