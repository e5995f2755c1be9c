/*
 * Norms of double-double matrices, from above: the exact norm is at most value + error.  The
 * entries are first divided by a power of two, so that no square overflows or vanishes.
 *
 * l2, l1 and linf cost a few double-double roundings an entry.  l_q takes powers in double, whose
 * relative error (2^-50 with room) is far below the gaps that such problems are solved to.
 */
#include "check/check.h"

#include <math.h>

attsvm_norm check_dual_norm(attsvm_norm norm, double q, double *dual_q)
{
    *dual_q = q / (q - 1);
    switch (norm) {
    case ATTSVM_NORM_NUC: return ATTSVM_NORM_SPECTRAL;
    case ATTSVM_NORM_SPECTRAL: return ATTSVM_NORM_NUC;
    case ATTSVM_NORM_L1: return ATTSVM_NORM_LINF;
    case ATTSVM_NORM_LINF: return ATTSVM_NORM_L1;
    case ATTSVM_NORM_LQ:
    case ATTSVM_NORM_L2:
    case ATTSVM_NORM_FRO: break;
    }
    return norm;
}

/* Exponent k of the largest entry, 2^k <= |entry| < 2^(k+1).  False where an entry is not finite.
   A zero matrix has k = 0 and *zero. */
static bool exponent_of(const dd *A, int64_t count, int *k, bool *zero)
{
    double largest = 0;
    for (int64_t j = 0; j < count; j++) {
        double size = fabs(A[j].hi);
        if (!(size <= 0x1.fffffffffffffp+1023) || isnan(A[j].lo))
            return false;
        largest = size > largest ? size : largest;
    }
    *zero = largest == 0;
    *k = *zero ? 0 : ilogb(largest);
    return true;
}

static dd scaled(dd a, int k)
{
    return (dd){ ldexp(a.hi, k), ldexp(a.lo, k) };
}

static dd sum_of_squares(const dd *A, int64_t count, int k)
{
    check_sum sum = { 0, 0 };
    if (k > -256 && k < 256) { /* squares are safe as they are */
        for (int64_t j = 0; j < count; j++)
            check_sum_add(&sum, A[j], A[j]);
        return scaled(check_sum_value(sum), -2 * k);
    }
    for (int64_t j = 0; j < count; j++) {
        dd a = scaled(A[j], -k);
        check_sum_add(&sum, a, a);
    }
    return check_sum_value(sum);
}

static dd absolute(dd a)
{
    return a.hi < 0 ? (dd){ -a.hi, -a.lo } : a;
}

static dd sum_of_sizes(const dd *A, int64_t count, int k)
{
    dd sum = base_dd(0);
    for (int64_t j = 0; j < count; j++)
        sum = base_dd_add(sum, absolute(scaled(A[j], -k)));
    return sum;
}

static dd largest_size(const dd *A, int64_t count, int k)
{
    dd largest = base_dd(0);
    for (int64_t j = 0; j < count; j++) {
        dd size = absolute(A[j]);
        if (base_dd_compare(size, largest) > 0)
            largest = size;
    }
    return scaled(largest, -k);
}

static dd sum_of_powers(const dd *A, int64_t count, int k, double q)
{
    dd sum = base_dd(0);
    for (int64_t j = 0; j < count; j++)
        sum = base_dd_add(sum, base_dd(base_pow(ldexp(fabs(A[j].hi), -k), q)));
    return sum;
}

attsvm_status check_size_of(check_size *out, attsvm_norm norm, double q, const dd *A, int64_t rows,
                            int64_t columns, int threads, attsvm_error *err)
{
    int64_t count = rows * columns;
    int k;
    bool zero;
    *out = (check_size){ base_dd(INFINITY), 0 };
    if (!exponent_of(A, count, &k, &zero))
        return ATTSVM_OK;
    *out = (check_size){ base_dd(0), 0 };
    if (zero)
        return ATTSVM_OK;
    bool vector = rows == 1 || columns == 1;
    double relative = check_sum_error(count);
    dd size;
    switch (norm) {
    case ATTSVM_NORM_L1: size = sum_of_sizes(A, count, k); break;
    case ATTSVM_NORM_LINF: size = largest_size(A, count, k); break;
    case ATTSVM_NORM_LQ:
        /* pow, its argument and q (a rounded quotient for a dual norm) are each wrong by some
           units; a change of q by a relative u changes the norm by at most u log(count) */
        size = base_dd(base_pow(base_dd_value(sum_of_powers(A, count, k, q)), 1 / q));
        relative += 0x1p-50 * (2 + base_log((double)count));
        break;
    case ATTSVM_NORM_NUC:
    case ATTSVM_NORM_SPECTRAL:
        if (!vector)
            return check_singular(out, norm == ATTSVM_NORM_NUC, A, rows, columns, threads, err);
        size = base_dd_sqrt(sum_of_squares(A, count, k));
        break;
    case ATTSVM_NORM_L2:
    case ATTSVM_NORM_FRO:
    default: size = base_dd_sqrt(sum_of_squares(A, count, k)); break;
    }
    out->error = ldexp(relative * size.hi, k);
    out->value = scaled(size, k);
    return ATTSVM_OK;
}

double check_vector_norm(attsvm_norm norm, double q, const double *x, int64_t count)
{
    double largest = 0, sum = 0;
    for (int64_t j = 0; j < count; j++)
        largest = fabs(x[j]) > largest ? fabs(x[j]) : largest;
    if (largest == 0 || norm == ATTSVM_NORM_LINF)
        return largest;
    int k = ilogb(largest);
    if (norm == ATTSVM_NORM_L1 || norm == ATTSVM_NORM_LQ) {
        double power = norm == ATTSVM_NORM_L1 ? 1 : q;
        for (int64_t j = 0; j < count; j++)
            sum += base_pow(ldexp(fabs(x[j]), -k), power);
        return ldexp(base_pow(sum, 1 / power), k);
    }
    double scale = k > -256 && k < 256 ? 1 : ldexp(1, -k);
    for (int64_t j = 0; j < count; j++)
        sum += x[j] * scale * (x[j] * scale);
    return sqrt(sum) / scale;
}
