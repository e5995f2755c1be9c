/* The table of norms, and functions that several of them share. */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By attsvm_norm.  To add a norm: one file that defines its entry, and a line here. */
static const svm_norm *const norms[] = {
    [ATTSVM_NORM_L2] = &svm_norm_l2,       [ATTSVM_NORM_FRO] = &svm_norm_l2,
    [ATTSVM_NORM_NUC] = &svm_norm_nuclear, [ATTSVM_NORM_SPECTRAL] = &svm_norm_spectral,
    [ATTSVM_NORM_LQ] = &svm_norm_lq,       [ATTSVM_NORM_L1] = &svm_norm_l1,
    [ATTSVM_NORM_LINF] = &svm_norm_linf,
};

const svm_norm *svm_norm_solved(const attsvm_svm_settings *settings, bool matrix)
{
    const svm_norm *norm = norms[settings->norm];
    bool equal = (norm == &svm_norm_lq && settings->q == 2) || (norm->singular && !matrix);
    return equal ? &svm_norm_l2 : norm;
}

attsvm_status svm_norm_of(const attsvm_svm_settings *settings, const double *x, int64_t rows,
                          int64_t columns, double *out, attsvm_error *err)
{
    return norms[settings->norm]->size(settings->q, false, x, rows, columns, out, err);
}

double svm_norm_of_row(const svm_norm *norm, double q, svm_set *set, int64_t slot)
{
    const double *z = set->matrix ? set->z + set->query[slot] * set->d : NULL;
    return norm->row_size(q, set->hi + slot * set->d, z, set->d) / set->sigma[slot];
}

/* --------------------------------------------------------------------- l2 and singular values */

attsvm_status svm_norm_euclidean(double q, bool dual, const double *x, int64_t rows,
                                 int64_t columns, double *out, attsvm_error *err)
{
    (void)q, (void)dual, (void)err;
    *out = la_norm(x, rows * columns);
    return ATTSVM_OK;
}

dd svm_norm_euclidean_exact(const double *hi, const double *lo, int64_t count)
{
    dd sum = base_dd_add(la_exact_active()->dot(hi, hi, lo, count), base_dd(la_dot(lo, hi, count)));
    return base_dd_sqrt(sum);
}

double svm_norm_euclidean_row(double q, const double *delta, const double *z, int64_t d)
{
    (void)q;
    return la_norm(delta, d) * (z ? la_norm(z, d) : 1);
}

attsvm_status svm_norm_singular(bool sum, const double *x, int64_t rows, int64_t columns,
                                double *out, attsvm_error *err)
{
    int64_t n = rows < columns ? rows : columns;
    size_t size = (size_t)(rows * columns);
    double *work;
    TRY(base_allocate(&work, size + (size_t)n, sizeof *work, "singular values", err));
    double *s = work + size;
    memcpy(work, x, size * sizeof *work);
    attsvm_status status = la_singular_values(rows, columns, work, columns, s, err);
    *out = 0;
    for (int64_t k = 0; k < n && status == ATTSVM_OK; k++)
        *out = sum ? *out + s[k] : fmax(*out, s[k]);
    free(work);
    return status;
}

attsvm_status svm_norm_rank(const double *theta, int64_t d, double zero, int64_t *rank,
                            attsvm_error *err)
{
    double *memory;
    TRY(base_allocate(&memory, (size_t)(d * d + d), sizeof *memory, "singular values", err));
    memcpy(memory, theta, (size_t)(d * d) * sizeof *memory);
    double *s = memory + d * d;
    attsvm_status status = la_singular_values(d, d, memory, d, s, err);
    *rank = 0;
    while (status == ATTSVM_OK && *rank < d && s[*rank] > zero * s[0])
        ++*rank;
    free(memory);
    return status;
}

/* Multiples of 1/4, to which q = 3/2, 3 and even q lead, by square roots. */
double svm_norm_power(double x, double y)
{
    const double quarters = 4 * y;
    if (fabs(quarters) > 8 || quarters != floor(quarters))
        return base_pow(x, y);
    const int count = abs((int)quarters);
    const double root = sqrt(x);
    double value = count & 2 ? root : 1;
    if (count & 1)
        value *= sqrt(root);
    for (int k = 4; k <= count; k += 4)
        value *= x;
    return y < 0 ? 1 / value : value;
}

double svm_norm_of_entries(const double *x, int64_t count, double q)
{
    double largest = 0, sum = 0;
    for (int64_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(x[i]));
    if (largest == 0)
        return 0;
    for (int64_t i = 0; i < count; i++)
        sum += svm_norm_power(fabs(x[i]) / largest, q);
    return largest * base_pow(sum, 1 / q);
}
