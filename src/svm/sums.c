/*
 * Sums over rows of the pool.  For rank-one rows A = delta z' they run query by query:
 *
 *   sum c A      = sum_z (sum_{rows of z} c delta) z'
 *   <A, theta>   = delta' (theta z)
 *   <A_p, A_r>   = (delta_p' delta_r) (z_p' z_r)
 */
#include "svm/svm.h"

#include <math.h>
#include <string.h>

void svm_pool_combine(svm_pool *pool, const int32_t *slots, const double *coef, int64_t count,
                      double *out)
{
    int64_t d = pool->d;
    memset(out, 0, (size_t)pool->size * sizeof *out);
    if (!pool->rows->matrix) {
        for (int64_t k = 0; k < count; k++)
            la_axpy(coef[k], pool->hi + slots[k] * d, out, d);
        return;
    }
    memset(pool->used, 0, (size_t)pool->queries);
    for (int64_t k = 0; k < count; k++) {
        int32_t q = pool->query[slots[k]];
        if (!pool->used[q])
            memset(pool->u + q * d, 0, (size_t)d * sizeof *out);
        pool->used[q] = 1;
        la_axpy(coef[k], pool->hi + slots[k] * d, pool->u + q * d, d);
    }
    for (int64_t q = 0; q < pool->queries; q++)
        if (!pool->used[q])
            memset(pool->u + q * d, 0, (size_t)d * sizeof *out);
    la_gemm(true, false, d, d, pool->queries, 1, pool->u, d, pool->z, d, 0, out, d);
}

/* The low parts of rows are below 2^-53 of the high ones: what they add needs no error of its own.
 */
void svm_pool_combine_exact(svm_pool *pool, const int32_t *slots, const double *coef,
                            const double *coef_lo, int64_t count, double *hi, double *lo)
{
    int64_t d = pool->d;
    const la_exact *exact = la_exact_active();
    if (!pool->rows->matrix) {
        for (int64_t k = 0; k < count; k++) {
            dd c = { coef[k], coef_lo ? coef_lo[k] : 0 };
            la_axpy(c.hi, svm_pool_low(pool, slots[k]), lo, d);
            exact->axpy(c, pool->hi + slots[k] * d, hi, lo, d);
        }
        return;
    }
    memset(pool->used, 0, (size_t)pool->queries);
    for (int64_t k = 0; k < count; k++) {
        int32_t q = pool->query[slots[k]];
        dd c = { coef[k], coef_lo ? coef_lo[k] : 0 };
        double *u = pool->u + q * d, *u_lo = pool->u_lo + q * d;
        if (!pool->used[q]) {
            memset(u, 0, (size_t)d * sizeof *u);
            memset(u_lo, 0, (size_t)d * sizeof *u);
        }
        pool->used[q] = 1;
        la_axpy(c.hi, svm_pool_low(pool, slots[k]), u_lo, d);
        exact->axpy(c, pool->hi + slots[k] * d, u, u_lo, d);
    }
    for (int64_t q = 0; q < pool->queries; q++)
        if (pool->used[q])
            for (int64_t j = 0; j < d; j++)
                exact->axpy((dd){ pool->u[q * d + j], pool->u_lo[q * d + j] }, pool->z + q * d,
                            hi + j * d, lo + j * d, d);
}

void svm_pool_margins(svm_pool *pool, const double *theta)
{
    int64_t d = pool->d;
    if (!pool->rows->matrix) {
        la_rows rows = { pool->hi, NULL, pool->count, d, ATTSVM_F64 };
        la_rows_dot(&rows, theta, pool->margin);
        return;
    }
    /* u (queries,d) = z theta', so that margins are delta' u */
    la_gemm(false, true, pool->queries, d, d, 1, pool->z, d, theta, d, 0, pool->u, d);
    for (int64_t s = 0; s < pool->count; s++)
        pool->margin[s] = la_dot(pool->hi + s * d, pool->u + pool->query[s] * d, d);
}

/* theta z of the row's query, once for each query; the vector itself where rows are vectors. */
static const double *exact_direction(svm_pool *pool, int64_t s, const double *hi, const double *lo,
                                     const double **u_lo)
{
    int64_t d = pool->d;
    const la_exact *exact = la_exact_active();
    *u_lo = lo;
    if (!pool->rows->matrix)
        return hi;
    int32_t q = pool->query[s];
    double *to = pool->u + q * d, *to_lo = pool->u_lo + q * d;
    for (int64_t j = 0; j < d && !pool->used[q]; j++) {
        dd value = exact->dot(pool->z + q * d, hi + j * d, lo + j * d, d);
        to[j] = value.hi;
        to_lo[j] = value.lo;
    }
    pool->used[q] = 1;
    *u_lo = to_lo;
    return to;
}

static void exact_margins(svm_pool *pool, const int32_t *slots, int64_t count, const double *hi,
                          const double *lo, bool residual, double *out)
{
    int64_t d = pool->d;
    const la_exact *exact = la_exact_active();
    if (pool->rows->matrix)
        memset(pool->used, 0, (size_t)pool->queries);
    for (int64_t k = 0; k < count; k++) {
        int64_t s = slots ? slots[k] : k;
        const double *u_lo, *u = exact_direction(pool, s, hi, lo, &u_lo);
        dd margin = exact->dot(pool->hi + s * d, u, u_lo, d);
        margin = base_dd_add(margin, base_dd(la_dot(svm_pool_low(pool, s), u, d)));
        if (residual)
            margin = base_dd_sub(base_dd(pool->b[s]), margin);
        out[k] = base_dd_value(margin);
    }
}

void svm_pool_residual_exact(svm_pool *pool, const int32_t *slots, int64_t count, const double *hi,
                             const double *lo, double *residual)
{
    exact_margins(pool, slots, count, hi, lo, true, residual);
}

void svm_pool_margins_exact(svm_pool *pool, const int32_t *slots, int64_t count, const double *hi,
                            const double *lo, double *margins)
{
    exact_margins(pool, slots, count, hi, lo, false, margins);
}

attsvm_status svm_pool_gram_all(svm_pool *pool, bool *small, attsvm_error *err)
{
    int64_t n = pool->count, d = pool->d;
    *small = n > 0 && n <= SVM_SMALL_POOL && pool->queries <= SVM_SMALL_POOL;
    if (!*small || pool->gram_count == n)
        return ATTSVM_OK;
    if (!pool->gram) {
        arena a = { 0 };
        take(&a, 2 * SVM_SMALL_POOL * SVM_SMALL_POOL);
        TRY(svm_space_arena(pool->space, &a, "Gram matrix", err));
        pool->gram = (double *)(void *)a.base;
    }
    la_syrk(false, n, d, 1, pool->hi, d, 0, pool->gram, n);
    if (pool->rows->matrix) {
        int64_t queries = pool->queries;
        double *along = pool->gram + n * n;
        la_gemm(false, true, queries, queries, d, 1, pool->z, d, pool->z, d, 0, along, queries);
        for (int64_t p = 0; p < n; p++) {
            const double *factor = along + pool->query[p] * queries;
            double *row = pool->gram + p * n;
            for (int64_t r = 0; r <= p; r++)
                row[r] *= factor[pool->query[r]];
        }
    }
    for (int64_t p = 0; p < n; p++)
        for (int64_t r = 0; r < p; r++)
            pool->gram[r * n + p] = pool->gram[p * n + r];
    pool->gram_count = n;
    return ATTSVM_OK;
}

double svm_pool_margins_gram(svm_pool *pool)
{
    int64_t n = pool->count;
    double square = 0;
    memset(pool->margin, 0, (size_t)n * sizeof *pool->margin);
    for (int64_t s = 0; s < n; s++)
        if (pool->lambda[s] != 0)
            la_axpy(pool->lambda[s], pool->gram + s * n, pool->margin, n);
    for (int64_t s = 0; s < n; s++)
        square += pool->lambda[s] * pool->margin[s];
    return sqrt(fmax(square, 0));
}

void svm_pool_gram(svm_pool *pool, int64_t p, const int32_t *slots, int64_t count, double *out)
{
    int64_t d = pool->d;
    const double *delta = pool->hi + p * d;
    if (pool->gram_count == pool->count) {
        for (int64_t k = 0; k < count; k++)
            out[k] = pool->gram[p * pool->count + slots[k]];
        return;
    }
    for (int64_t k = 0; k < count; k++)
        out[k] = la_dot(delta, pool->hi + slots[k] * d, d);
    if (!pool->rows->matrix)
        return;
    la_rows queries = { pool->z, NULL, pool->queries, d, ATTSVM_F64 };
    la_rows_dot(&queries, pool->z + pool->query[p] * d, pool->along);
    for (int64_t k = 0; k < count; k++)
        out[k] *= pool->along[pool->query[slots[k]]];
}

dd svm_pool_gram_exact(const svm_pool *pool, int64_t p, int64_t r)
{
    int64_t d = pool->d;
    const la_exact *exact = la_exact_active();
    const double *a = pool->hi + p * d, *b = pool->hi + r * d;
    dd product = exact->dot(a, b, svm_pool_low(pool, r), d);
    product = base_dd_add(product, exact->dot(svm_pool_low(pool, p), b, svm_pool_low(pool, r), d));
    if (!pool->rows->matrix)
        return product;
    const double *z = pool->z + pool->query[p] * d, *w = pool->z + pool->query[r] * d;
    return base_dd_mul(product, base_dd_dot(z, w, d));
}
