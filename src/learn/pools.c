/*
 * Pools (theory 8): from the values of a bag's tokens to scores, and from slopes of the scores to
 * slopes of the values.  A column holds phi_t' q for one direction q; the tokens themselves are not
 * used.
 *
 * Differences are relative to the most attended token, as in theory 2.1: once its softmax value
 * rounds to 1, the plain form would give gamma_top - gbar = 0 and a wrong direction.
 */
#include "learn/learn.h"

#include <string.h>

learn_shape learn_shape_of(int32_t pool, int64_t d, int64_t heads, int64_t classes)
{
    learn_shape s = { .pool = pool, .d = d, .classes = classes };
    bool prompt = pool == ATTSVM_POOL_PROMPT;
    bool beta = pool == ATTSVM_POOL_SCORE || pool == ATTSVM_POOL_WITNESS;
    s.heads = prompt ? heads : 1;
    s.outputs = classes == 2 ? 1 : classes;
    s.prompts = prompt ? s.heads : 0;
    s.columns = s.prompts + s.heads * s.outputs;
    s.betas = beta ? s.columns * d : -1;
    s.biases = s.columns * d + (beta ? s.outputs : 0);
    s.size = s.biases + s.outputs;
    return s;
}

int64_t learn_pool_attentions(const learn_shape *shape)
{
    return shape->betas >= 0 ? shape->outputs : shape->heads;
}

/* Column of v_hk. */
static const double *head_values(const learn_shape *shape, const learn_bag *bag, int64_t h,
                                 int64_t k)
{
    return bag->value + (shape->prompts + h * shape->outputs + k) * bag->stride;
}

static double beta_of(const double *tail, int64_t k)
{
    return base_exp(tail[k]);
}

/* b_k; tail begins with log beta if the pool has one. */
static double bias_of(const learn_shape *shape, const double *tail, int64_t k)
{
    return tail[(shape->betas >= 0 ? shape->outputs : 0) + k];
}

static int64_t largest_of(const double *a, int64_t T)
{
    int64_t top = 0;
    for (int64_t t = 1; t < T; t++)
        if (a[t] > a[top])
            top = t;
    return top;
}

/* s = softmax(beta a); returns the sum of exp(beta (a_t - a_top)) over the others. */
static double soften(const double *a, double beta, int64_t T, double *s)
{
    const int64_t top = largest_of(a, T);
    double rest = 0;
    for (int64_t t = 0; t < T; t++)
        s[t] = beta * (a[t] - a[top]);
    la_exp(s, s, T);
    for (int64_t t = 0; t < T; t++)
        rest += t == top ? 0 : s[t];
    const double share = 1 / (1 + rest);
    for (int64_t t = 0; t < T; t++)
        s[t] *= share;
    return rest;
}

static double weigh(const double *s, const double *value, int64_t T)
{
    double sum = 0;
    for (int64_t t = 0; t < T; t++)
        sum += s[t] * value[t];
    return sum;
}

void learn_pool_forward(const learn_shape *shape, const double *tail, const learn_bag *bag,
                        double *attention, double *f)
{
    const int64_t T = bag->T, K = shape->outputs;
    const bool witness = shape->pool == ATTSVM_POOL_WITNESS;
    for (int64_t k = 0; k < K; k++)
        f[k] = T == 0 && witness ? -INFINITY : bias_of(shape, tail, k);
    if (T == 0)
        return;
    if (shape->betas >= 0) {
        for (int64_t k = 0; k < K; k++) {
            const double *gamma = head_values(shape, bag, 0, k), beta = beta_of(tail, k);
            double *s = attention + k * bag->stride;
            const double rest = soften(gamma, beta, T, s);
            f[k] += witness ? gamma[largest_of(gamma, T)] + base_log1p(rest) / beta
                            : weigh(s, gamma, T);
        }
        return;
    }
    for (int64_t h = 0; h < shape->heads; h++) {
        double *s = attention + h * bag->stride;
        if (shape->prompts)
            soften(bag->value + h * bag->stride, 1, T, s);
        for (int64_t t = 0; !shape->prompts && t < T; t++)
            s[t] = 1 / (double)T;
        for (int64_t k = 0; k < K; k++)
            f[k] += weigh(s, head_values(shape, bag, h, k), T);
    }
}

/*
 * Prompt of one head, with gamma_t = sum_k r_k phi_t' v_k:
 *
 *   d/da_t = s_t (gamma_t - gbar),   -sum of the others at the top
 */
static void prompt_weights(const learn_shape *shape, const learn_bag *bag, const double *s,
                           const double *r, int64_t h)
{
    const int64_t T = bag->T;
    double *a = bag->value + h * bag->stride, mean = 0, others = 0;
    const int64_t top = largest_of(a, T);
    for (int64_t t = 0; t < T; t++) {
        a[t] = 0;
        for (int64_t k = 0; k < shape->outputs; k++) {
            const double *gamma = head_values(shape, bag, h, k);
            a[t] += r[k] * (gamma[t] - gamma[top]);
        }
        mean += s[t] * a[t];
    }
    for (int64_t t = 0; t < T; t++) {
        a[t] = t == top ? 0 : s[t] * (a[t] - mean);
        others += a[t];
    }
    a[top] = -others;
}

/*
 * score:   df/dgamma_t = s_t (1 + beta (gamma_t - gbar)),  df/dlog beta = beta Var_s(gamma)
 * witness: df/dgamma_t = s_t,                              df/dlog beta = gbar - F
 */
static double score_weights(const learn_shape *shape, double beta, const double *s, double *gamma,
                            int64_t T, double r)
{
    const int64_t top = largest_of(gamma, T);
    const double highest = gamma[top];
    double mean = 0, variance = 0, rest = 0;
    for (int64_t t = 0; t < T; t++) {
        gamma[t] -= highest;
        mean += s[t] * gamma[t];
        rest += t == top ? 0 : s[t];
    }
    for (int64_t t = 0; t < T; t++)
        variance += s[t] * ((gamma[t] - mean) * (gamma[t] - mean));
    const bool witness = shape->pool == ATTSVM_POOL_WITNESS;
    for (int64_t t = 0; t < T; t++)
        gamma[t] = r * s[t] * (witness ? 1 : 1 + beta * (gamma[t] - mean));
    /* F - gamma_top = log(1 + sum of the others' exp) / beta = log1p(rest / s_top) / beta */
    return r * (witness ? mean - base_log1p(rest / s[top]) / beta : beta * variance);
}

void learn_pool_backward(const learn_shape *shape, const double *tail, learn_bag *bag,
                         const double *attention, const double *f, const double *r,
                         double *tail_gradient)
{
    const int64_t T = bag->T, K = shape->outputs;
    (void)f;
    for (int64_t k = 0; k < K; k++)
        tail_gradient[(shape->betas >= 0 ? K : 0) + k] += r[k];
    if (T == 0)
        return;
    if (shape->betas >= 0) {
        for (int64_t k = 0; k < K; k++)
            tail_gradient[k] += score_weights(shape, beta_of(tail, k), attention + k * bag->stride,
                                              bag->value + k * bag->stride, T, r[k]);
        return;
    }
    for (int64_t h = 0; h < shape->heads; h++) {
        const double *s = attention + h * bag->stride;
        if (shape->prompts)
            prompt_weights(shape, bag, s, r, h);
        for (int64_t k = 0; k < K; k++) {
            double *w = bag->value + (shape->prompts + h * K + k) * bag->stride;
            for (int64_t t = 0; t < T; t++)
                w[t] = r[k] * s[t];
        }
    }
}

double learn_pool_contribution(const learn_shape *shape, const double *tail, const learn_bag *bag,
                               const double *attention, const double *f, int64_t t, int64_t k)
{
    if (shape->pool == ATTSVM_POOL_WITNESS)
        return attention[k * bag->stride + t] * (f[k] - bias_of(shape, tail, k));
    if (shape->pool == ATTSVM_POOL_SCORE)
        return attention[k * bag->stride + t] * head_values(shape, bag, 0, k)[t];
    double sum = 0;
    for (int64_t h = 0; h < shape->heads; h++)
        sum += attention[h * bag->stride + t] * head_values(shape, bag, h, k)[t];
    return sum;
}

double learn_pool_alone(const learn_shape *shape, const double *tail, const learn_bag *bag,
                        int64_t t, int64_t k)
{
    double sum = bias_of(shape, tail, k);
    for (int64_t h = 0; h < shape->heads; h++)
        sum += head_values(shape, bag, h, k)[t];
    return sum;
}

/* log(1 + e^-u) without overflow, and its slope. */
static double logistic(double u, double *slope)
{
    const double e = base_exp(-fabs(u));
    *slope = u >= 0 ? -e / (1 + e) : -1 / (1 + e);
    return (u >= 0 ? 0 : -u) + base_log1p(e);
}

double learn_loss(const learn_shape *shape, const double *f, int64_t label, double *r)
{
    if (shape->outputs == 1) {
        const double Y = label == 1 ? 1 : -1;
        const double loss = logistic(Y * f[0], r);
        r[0] *= Y;
        return loss;
    }
    double sum = 0;
    const int64_t top = largest_of(f, shape->outputs);
    for (int64_t k = 0; k < shape->outputs; k++)
        sum += r[k] = base_exp(f[k] - f[top]);
    for (int64_t k = 0; k < shape->outputs; k++)
        r[k] /= sum;
    r[label] -= 1;
    return f[top] - f[label] + base_log(sum);
}

void learn_probabilities(const learn_shape *shape, const double *f, double *probability)
{
    if (shape->outputs == 1) {
        const double e = base_exp(-fabs(f[0])), high = 1 / (1 + e), low = e / (1 + e);
        probability[0] = f[0] > 0 ? low : high;
        probability[1] = f[0] > 0 ? high : low;
        return;
    }
    memcpy(probability, f, (size_t)shape->outputs * sizeof *f);
    la_softmax(probability, shape->outputs);
}

int64_t learn_predicted(const learn_shape *shape, const double *f)
{
    return shape->outputs == 1 ? f[0] > 0 : largest_of(f, shape->outputs);
}
