/*
 * Sums over rows of the set.  For rank-one rows A = delta z' they run query by query:
 *
 *   sum c A      = sum_z (sum_{rows of z} c delta) z'
 *   <A, theta>   = delta' (theta z)
 *   <A_p, A_r>   = (delta_p' delta_r) (z_p' z_r)
 */
#include "svm/set/set.h"

#include <math.h>
#include <string.h>

void svm_set_combine(svm_set *set, const int32_t *slots, const double *coef, int64_t count,
                     double *out)
{
    int64_t d = set->d;
    memset(out, 0, (size_t)set->size * sizeof *out);
    if (!set->matrix) {
        for (int64_t k = 0; k < count; k++)
            la_axpy(coef[k], set->hi + slots[k] * d, out, d);
        return;
    }
    memset(set->used, 0, (size_t)set->queries);
    for (int64_t k = 0; k < count; k++) {
        int32_t q = set->query[slots[k]];
        if (!set->used[q])
            memset(set->u + q * d, 0, (size_t)d * sizeof *out);
        set->used[q] = 1;
        la_axpy(coef[k], set->hi + slots[k] * d, set->u + q * d, d);
    }
    for (int64_t q = 0; q < set->queries; q++)
        if (!set->used[q])
            memset(set->u + q * d, 0, (size_t)d * sizeof *out);
    la_gemm(true, false, d, d, set->queries, 1, set->u, d, set->z, d, 0, out, d);
}

/* The low parts of rows are below 2^-53 of the high ones: their products need no error term. */
void svm_set_combine_exact(svm_set *set, const int32_t *slots, const double *coef,
                           const double *coef_lo, int64_t count, double *hi, double *lo)
{
    int64_t d = set->d;
    const la_exact *exact = la_exact_active();
    if (!set->matrix) {
        for (int64_t k = 0; k < count; k++) {
            dd c = { coef[k], coef_lo ? coef_lo[k] : 0 };
            la_axpy(c.hi, svm_set_low(set, slots[k]), lo, d);
            exact->axpy(c, set->hi + slots[k] * d, hi, lo, d);
        }
        return;
    }
    memset(set->used, 0, (size_t)set->queries);
    for (int64_t k = 0; k < count; k++) {
        int32_t q = set->query[slots[k]];
        dd c = { coef[k], coef_lo ? coef_lo[k] : 0 };
        double *u = set->u + q * d, *u_lo = set->u_lo + q * d;
        if (!set->used[q]) {
            memset(u, 0, (size_t)d * sizeof *u);
            memset(u_lo, 0, (size_t)d * sizeof *u);
        }
        set->used[q] = 1;
        la_axpy(c.hi, svm_set_low(set, slots[k]), u_lo, d);
        exact->axpy(c, set->hi + slots[k] * d, u, u_lo, d);
    }
    for (int64_t q = 0; q < set->queries; q++)
        if (set->used[q])
            for (int64_t j = 0; j < d; j++)
                exact->axpy((dd){ set->u[q * d + j], set->u_lo[q * d + j] }, set->z + q * d,
                            hi + j * d, lo + j * d, d);
}

void svm_set_margins(svm_set *set, const double *theta)
{
    int64_t d = set->d;
    if (!set->matrix) {
        la_rows rows = { set->hi, NULL, set->count, d, ATTSVM_F64 };
        la_rows_dot(&rows, theta, set->margin);
        return;
    }
    /* u (queries,d) = z theta', so that margins are delta' u */
    la_gemm(false, true, set->queries, d, d, 1, set->z, d, theta, d, 0, set->u, d);
    for (int64_t s = 0; s < set->count; s++)
        set->margin[s] = la_dot(set->hi + s * d, set->u + set->query[s] * d, d);
}

/* theta z of the row's query, computed once per query; theta itself if rows are vectors. */
static const double *exact_direction(svm_set *set, int64_t s, const double *hi, const double *lo,
                                     const double **u_lo)
{
    int64_t d = set->d;
    const la_exact *exact = la_exact_active();
    *u_lo = lo;
    if (!set->matrix)
        return hi;
    int32_t q = set->query[s];
    double *to = set->u + q * d, *to_lo = set->u_lo + q * d;
    for (int64_t j = 0; j < d && !set->used[q]; j++) {
        dd value = exact->dot(set->z + q * d, hi + j * d, lo + j * d, d);
        to[j] = value.hi;
        to_lo[j] = value.lo;
    }
    set->used[q] = 1;
    *u_lo = to_lo;
    return to;
}

static void exact_margins(svm_set *set, const int32_t *slots, int64_t count, const double *hi,
                          const double *lo, bool residual, double *out)
{
    int64_t d = set->d;
    const la_exact *exact = la_exact_active();
    if (set->matrix)
        memset(set->used, 0, (size_t)set->queries);
    for (int64_t k = 0; k < count; k++) {
        int64_t s = slots ? slots[k] : k;
        const double *u_lo, *u = exact_direction(set, s, hi, lo, &u_lo);
        dd margin = exact->dot(set->hi + s * d, u, u_lo, d);
        margin = base_dd_add(margin, base_dd(la_dot(svm_set_low(set, s), u, d)));
        if (residual)
            margin = base_dd_sub(base_dd(set->b[s]), margin);
        out[k] = base_dd_value(margin);
    }
}

void svm_set_residual_exact(svm_set *set, const int32_t *slots, int64_t count, const double *hi,
                            const double *lo, double *residual)
{
    exact_margins(set, slots, count, hi, lo, true, residual);
}

void svm_set_margins_exact(svm_set *set, const int32_t *slots, int64_t count, const double *hi,
                           const double *lo, double *margins)
{
    exact_margins(set, slots, count, hi, lo, false, margins);
}

void svm_set_gram(svm_set *set, int64_t p, const int32_t *slots, int64_t count, double *out)
{
    int64_t d = set->d;
    const double *delta = set->hi + p * d;
    for (int64_t k = 0; k < count; k++)
        out[k] = la_dot(delta, set->hi + slots[k] * d, d);
    if (!set->matrix)
        return;
    la_rows queries = { set->z, NULL, set->queries, d, ATTSVM_F64 };
    la_rows_dot(&queries, set->z + set->query[p] * d, set->along);
    for (int64_t k = 0; k < count; k++)
        out[k] *= set->along[set->query[slots[k]]];
}

dd svm_set_gram_exact(const svm_set *set, int64_t p, int64_t r)
{
    int64_t d = set->d;
    const la_exact *exact = la_exact_active();
    const double *a = set->hi + p * d, *b = set->hi + r * d;
    dd product = exact->dot(a, b, svm_set_low(set, r), d);
    product = base_dd_add(product, exact->dot(svm_set_low(set, p), b, svm_set_low(set, r), d));
    if (!set->matrix)
        return product;
    const double *z = set->z + set->query[p] * d, *w = set->z + set->query[r] * d;
    return base_dd_mul(product, base_dd_dot(z, w, d));
}
