/* The models of theory 8 in extended precision, written from the formulas alone. */
#ifndef ATTSVM_LEARN_LONG_H
#define ATTSVM_LEARN_LONG_H

#include "attsvm/attsvm.h"

#include <math.h>

typedef struct long_model {
    int32_t pool;
    int64_t d, heads, classes;
} long_model;

static inline int64_t long_outputs(const long_model *m)
{
    return m->classes == 2 ? 1 : m->classes;
}

static inline long double long_dot(const long double *a, const long double *b, int64_t count)
{
    long double sum = 0;
    for (int64_t j = 0; j < count; j++)
        sum += a[j] * b[j];
    return sum;
}

/* f of a bag with features phi (T x d); theta: prompts, heads, log beta, b. */
static inline void long_scores(const long_model *m, const long double *theta,
                               const long double *phi, int64_t T, long double *f)
{
    const int64_t d = m->d, K = long_outputs(m);
    const bool prompt = m->pool == ATTSVM_POOL_PROMPT, mean = m->pool == ATTSVM_POOL_MEAN;
    const int64_t H = prompt ? m->heads : 1;
    const long double *v = theta + (prompt ? H * d : 0), *tail = v + H * K * d;
    for (int64_t k = 0; k < K; k++) {
        f[k] = tail[prompt || mean ? k : K + k];
        for (int64_t h = 0; h < H; h++) {
            const long double *head = v + (h * K + k) * d;
            const long double beta = prompt ? 1 : mean ? 0 : expl(tail[k]);
            const long double *logits = prompt ? theta + h * d : head;
            long double Z = 0, sum = 0, top = -INFINITY;
            for (int64_t t = 0; t < T; t++)
                top = fmaxl(top, beta * long_dot(phi + t * d, logits, d));
            for (int64_t t = 0; t < T; t++) {
                const long double e = expl(beta * long_dot(phi + t * d, logits, d) - top);
                Z += e;
                sum += e * long_dot(phi + t * d, head, d);
            }
            f[k] += m->pool == ATTSVM_POOL_WITNESS ? (top + logl(Z)) / beta : sum / Z;
        }
    }
}

static inline long double long_loss(const long_model *m, const long double *f, int64_t label)
{
    if (m->classes == 2)
        return log1pl(expl(label == 1 ? -f[0] : f[0]));
    long double Z = 0;
    for (int64_t k = 0; k < m->classes; k++)
        Z += expl(f[k]);
    return logl(Z) - f[label];
}

static inline long double long_ridge(const long_model *m, const long double *theta, double lambda)
{
    const int64_t K = long_outputs(m), d = m->d;
    const bool prompt = m->pool == ATTSVM_POOL_PROMPT;
    const int64_t directions = (prompt ? m->heads * (1 + K) : K) * d;
    long double sum = lambda * long_dot(theta, theta, directions);
    if (m->pool == ATTSVM_POOL_SCORE || m->pool == ATTSVM_POOL_WITNESS)
        sum += 1e-4L * long_dot(theta + directions, theta + directions, K);
    return sum;
}

#endif
