/*
 * Parameters: from the trained arrays to the logit map, and from the gradient with respect to it to
 * the gradients of the arrays.
 *
 *   logits X W z with W, or W = K Q';  X q with q = p, or q = W'p
 *   G = dL/dW at W = KQ' (d x d), or g = dL/dq at q = W'p (d)
 *   grad_K = G Q,  grad_Q = G' K,   pW: grad_W = p g',  grad_p = W g
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

/* The trained array of that name in theta, or NULL. */
static const double *values_of(const model *m, const double *theta, char name)
{
    for (int b = 0; b < m->parameters; b++)
        if (m->parameter[b].name[0] == name)
            return theta + m->parameter[b].offset;
    return NULL;
}

/* The logit map: W of X W z, or q = W'p of X q (p itself if the keys are W x). */
void model_set_logit_map(model *m, const double *theta)
{
    const int64_t d = m->d;
    const double *p = values_of(m, theta, 'p'), *W = values_of(m, theta, 'W');
    m->logit_map = m->map_memory;
    if (m->factored)
        la_gemm(false, true, d, d, m->rank, 1, values_of(m, theta, 'K'), m->rank,
                values_of(m, theta, 'Q'), m->rank, 0, m->map_memory, d);
    else if (m->prompt && W)
        la_gemv(true, d, d, 1, W, d, p ? p : m->p, 0, m->map_memory);
    else
        m->logit_map = m->prompt ? p : W;
}

const double *model_logit_map(model *m, const double *theta)
{
    model_set_logit_map(m, theta);
    return m->logit_map;
}

static void outer(int64_t d, const double *p, const double *g, double *W)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = 0; j < d; j++)
            W[i * d + j] = p[i] * g[j];
}

/* From G or g, in units of exp(m->gradient_log), to the trained blocks. */
void model_chain_rule(model *m, const double *theta, model_gradient *gradient)
{
    const int64_t d = m->d;
    const double *G = m->attention_gradient;
    const double *p = values_of(m, theta, 'p'), *W = values_of(m, theta, 'W');
    for (int b = 0; b < m->parameters; b++) {
        const model_parameter *block = &m->parameter[b];
        double *out = gradient->x + block->offset;
        if (block->head)
            continue;
        gradient->log[b] = m->gradient_log;
        if (block->name[0] == 'K')
            la_gemm(false, false, d, m->rank, d, 1, G, d, values_of(m, theta, 'Q'), m->rank, 0, out,
                    m->rank);
        else if (block->name[0] == 'Q')
            la_gemm(true, false, d, m->rank, d, 1, G, d, values_of(m, theta, 'K'), m->rank, 0, out,
                    m->rank);
        else if (block->name[0] == 'W' && m->prompt)
            outer(d, p ? p : m->p, G, out);
        else if (block->name[0] == 'p' && W)
            la_gemv(false, d, d, 1, W, d, G, 0, out);
        else
            memcpy(out, G, (size_t)block->count * sizeof *G);
    }
}

/* |G F|, or |G'F|, of a factor F (d x rank), column by column. */
static double factor_norm(const model *m, bool transposed, const double *F)
{
    const int64_t d = m->d;
    double *column = m->worker->x, *product = m->worker->u, norm = 0;
    for (int64_t k = 0; k < m->rank; k++) {
        for (int64_t j = 0; j < d; j++)
            column[j] = F[j * m->rank + k];
        la_gemv(transposed, d, d, 1, m->attention_gradient, d, column, 0, product);
        norm = base_hypot(norm, la_norm(product, d));
    }
    return norm;
}

double model_gradient_log(const model *m, const double *theta)
{
    const int64_t d = m->d;
    const double *G = m->attention_gradient, *p = values_of(m, theta, 'p');
    const double *W = values_of(m, theta, 'W');
    if (m->gradient_log == -INFINITY)
        return -INFINITY;
    double norm = m->factored ? base_hypot(factor_norm(m, false, values_of(m, theta, 'Q')),
                                           factor_norm(m, true, values_of(m, theta, 'K')))
                              : la_norm(G, m->map_size);
    if (m->prompt && W) { /* |p g'| = |p| |g|, and |W g| if p is trained, too */
        double square = norm * la_norm(p ? p : m->p, d), by_p = 0;
        for (int64_t j = 0; p && j < d; j++)
            by_p = base_hypot(by_p, la_dot(W + j * d, G, d));
        norm = base_hypot(square, by_p);
    }
    return norm > 0 ? m->gradient_log + base_log(norm) : -INFINITY;
}

bool model_has_matrix(const model *m)
{
    return !m->prompt || m->trains_W;
}

const double *model_matrix(model *m, const double *theta)
{
    if (m->prompt)
        return values_of(m, theta, 'W');
    model_set_logit_map(m, theta);
    return m->logit_map;
}

double model_norm(model *m, const double *theta)
{
    const double *W = values_of(m, theta, 'W'), *p = values_of(m, theta, 'p');
    if (m->prompt && W && !p)
        return la_norm(W, m->d * m->d);
    model_set_logit_map(m, theta);
    return la_norm(m->logit_map, m->map_size);
}
