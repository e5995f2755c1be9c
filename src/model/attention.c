/* Logits and softmax of all terms. */
#include "model/model.h"

#include <math.h>

int64_t model_softmax_first(const model *m, int64_t i)
{
    int64_t count = 0;
    if (m->query.mode != ATTSVM_QUERY_ALL && m->query.mode != ATTSVM_QUERY_CAUSAL)
        return data_first(m->data, i) * (i > 0 ? data_terms_queries(&m->query, 0) : 1);
    for (int64_t k = 0; k < i; k++)
        count += data_length(m->data, k) * data_length(m->data, k);
    return count;
}

void model_logits(model *m, const double *theta, double *logits)
{
    model_worker *k = &m->worker[0];
    const int64_t d = m->d;
    model_set_logit_map(m, theta);
    data_reader reader = data_reader_open(m->data, m->own_lo, m->own_hi);
    for (int64_t i; data_reader_each(&reader, &i);) {
        la_rows keys = model_keys(m, i);
        const int64_t T = keys.count;
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, logits += T) {
            const double *b = m->logit_map;
            if (!m->prompt) {
                data_terms_query(&m->query, i, q, k->Z);
                la_gemv(false, d, d, 1, m->logit_map, d, k->Z, 0, k->B);
                b = k->B;
            }
            keys.count = data_terms_visible(&m->query, i, q);
            la_rows_dot(&keys, b, logits);
            for (int64_t t = keys.count; t < T; t++)
                logits[t] = -INFINITY;
        }
    }
}

/* One row: a (visible of T) becomes its softmax, hidden tokens 0. */
static void to_softmax(double *a, int64_t visible, int64_t T)
{
    double highest = -INFINITY, Z = 0;
    for (int64_t t = 0; t < visible; t++)
        highest = fmax(highest, a[t]);
    for (int64_t t = 0; t < visible; t++)
        a[t] -= highest;
    la_exp(a, a, visible);
    for (int64_t t = 0; t < visible; t++)
        Z += a[t];
    for (int64_t t = 0; t < visible; t++)
        a[t] /= Z;
    for (int64_t t = visible; t < T; t++)
        a[t] = 0;
}

void model_softmax(model *m, const double *theta, double *softmax)
{
    model_logits(m, theta, softmax);
    for (int64_t i = m->own_lo; i < m->own_hi; i++) {
        const int64_t T = data_length(m->data, i);
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, softmax += T)
            to_softmax(softmax, data_terms_visible(&m->query, i, q), T);
    }
}
