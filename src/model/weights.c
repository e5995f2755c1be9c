/*
 * Selection and gradient weights of one term (theory 2.1).
 *
 * With top the selected token, m_t = a_top - a_t, e_t = c_t - c_top, s_t = exp(-m_t)/Z:
 *
 *   cbar - c_top = sum_t s_t e_t                        (the pull)
 *   s_t (c_t - cbar) = s_t (e_t - sum_tau s_tau e_tau)
 *
 * A token of another score (e_t != 0) has weight of order exp(-m_t).  One of the same score (e_t =
 * 0) has weight s_t times the pull, of order exp(-m_t - I), I the smallest m among tokens of
 * another score: second order, and possibly below the range of doubles even if it is the largest.
 * (Where c depends on u, e_t = 0 may itself mean exp(-L) E_t, L = min m: then the order is exp(-m_t
 * - L), and I the smallest exponent of any s_t e_t.)  Tokens with the key of top drop out of the
 * gradient for any weight (their key difference is zero), so they must not contribute to the
 * largest exponent, which is factored out.
 */
#include "model/model.h"

#include <math.h>

static int64_t largest(int64_t T, const double *a)
{
    int64_t top = 0;
    for (int64_t t = 1; t < T; t++)
        if (a[t] > a[top])
            top = t;
    return top;
}

int64_t model_select(int64_t T, const double *a, const int32_t *same, double *scratch)
{
    int64_t top = largest(T, a);
    if (!same)
        return top;
    /* the first of several copies gets their attention */
    double most = a[top];
    for (int64_t t = 0; t < T; t++)
        scratch[t] = 0;
    for (int64_t t = 0; t < T; t++)
        scratch[same[t]] += base_exp(a[t] - most);
    return largest(T, scratch);
}

static double entry(const double *small, int64_t t)
{
    return small ? small[t] : 0;
}

/* Any mixture of equal scores and equal keys. */
static model_weights weights_general(int64_t T, int64_t top, const double *m, const double *e,
                                     const double *small, double level, const int32_t *same_key,
                                     double *w, double *scratch)
{
    model_weights out = { INFINITY, 0, 0, INFINITY };
    double *exponent = scratch, *value = scratch + T;
    for (int64_t t = 0; t < T; t++) {
        exponent[t] = e[t] != 0 ? m[t] : entry(small, t) != 0 ? m[t] + level : INFINITY;
        out.I = exponent[t] < out.I ? exponent[t] : out.I;
    }
    for (int64_t t = 0; t < T; t++) {
        w[t] = 0;
        if (exponent[t] == INFINITY)
            exponent[t] = m[t] + out.I;
        if (t == top || (same_key && same_key[t] == same_key[top]))
            exponent[t] = INFINITY;
        out.M = exponent[t] < out.M ? exponent[t] : out.M;
    }
    for (int64_t t = 0; t < T; t++)
        value[t] = -m[t];
    la_exp(value, value, T);
    for (int64_t t = 0; t < T; t++)
        out.Z += value[t];
    if (out.I == INFINITY) /* all scores are equal: the gradient is zero */
        return out;

    /* pull in units of exp(-I) */
    for (int64_t t = 0; t < T; t++)
        value[t] = e[t] != 0              ? out.I - m[t]
                   : entry(small, t) != 0 ? out.I - m[t] - level
                                          : -INFINITY;
    la_exp(value, value, T);
    for (int64_t t = 0; t < T; t++)
        out.pull += value[t] * (e[t] != 0 ? e[t] : entry(small, t));
    out.pull /= out.Z;
    if (out.M == INFINITY)
        return out;

    double pull = base_exp(-out.I) * out.pull, sum = 0;
    for (int64_t t = 0; t < T; t++)
        value[t] = out.M - exponent[t];
    la_exp(value, value, T);
    for (int64_t t = 0; t < T; t++) {
        if (e[t] != 0)
            w[t] = value[t] * (e[t] - pull);
        else if (entry(small, t) != 0)
            w[t] = value[t] * (entry(small, t) - base_exp(level - out.I) * out.pull);
        else
            w[t] = value[t] * -out.pull;
        sum += w[t];
    }
    w[top] = -sum;
    return out;
}

/*
 * The usual case, no equal scores and no equal keys: M = I and one exponential per token.  The
 * weights of the other tokens sum to pull, so w_top = -pull.
 */
model_weights model_weights_compute(int64_t T, int64_t top, const double *m, const double *e,
                                    const double *small, double level, const int32_t *same_key,
                                    double *w, double *scratch)
{
    double M = INFINITY;
    bool plain = !same_key;
    for (int64_t t = 0; t < T; t++) {
        if (t == top)
            continue;
        M = m[t] < M ? m[t] : M;
        plain &= e[t] != 0;
    }
    if (!plain || M == INFINITY)
        return weights_general(T, top, m, e, small, level, same_key, w, scratch);
    for (int64_t t = 0; t < T; t++)
        w[t] = M - m[t];
    w[top] = -M; /* so that the same exponential yields exp(-M) */
    la_exp(w, w, T);
    double unit = w[top], sum = 0, pull = 0;
    w[top] = 0;
    for (int64_t t = 0; t < T; t++) {
        sum += w[t];
        pull += w[t] * e[t];
    }
    model_weights out = { M, 1 + unit * sum, 0, M };
    out.pull = pull / out.Z;
    double shift = unit * out.pull;
    for (int64_t t = 0; t < T; t++)
        w[t] *= e[t] - shift;
    w[top] = -out.pull;
    return out;
}
