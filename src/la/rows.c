#include "la/la.h"

#include <math.h>
#include <string.h>

void la_row(const la_rows *rows, int64_t t, double *x)
{
    if (!rows->base) {
        memset(x, 0, (size_t)rows->d * sizeof *x);
        x[rows->index ? rows->index[t] : t] = 1;
        return;
    }
    int64_t at = (rows->index ? rows->index[t] : t) * rows->d;
    int64_t size = rows->dtype == ATTSVM_F64 ? 8 : rows->dtype == ATTSVM_F32 ? 4 : 2;
    la_active()->widen(rows->dtype, (const char *)rows->base + at * size, x, rows->d);
}

/*
 * The plain sum of squares is accurate when it is neither huge nor tiny: no term has overflowed,
 * and terms lost to underflow are negligible.  Otherwise scale first by a power of two that brings
 * the largest entry between 1/2 and 1.
 */
double la_norm(const double *x, int64_t count)
{
    double sum = la_dot(x, x, count);
    if (sum > 0x1p-900 && sum < 0x1p1000)
        return sqrt(sum);

    double largest = 0;
    for (int64_t i = 0; i < count; i++) {
        if (isnan(x[i]))
            return NAN;
        largest = fmax(largest, fabs(x[i]));
    }
    if (largest == 0 || isinf(largest))
        return largest;
    int exponent;
    frexp(largest, &exponent);
    double scaled = 0;
    for (int64_t i = 0; i < count; i++) {
        double term = ldexp(x[i], -exponent);
        scaled += term * term;
    }
    return ldexp(sqrt(scaled), exponent);
}

void la_softmax(double *a, int64_t count)
{
    double largest = -INFINITY, sum = 0;
    for (int64_t t = 0; t < count; t++)
        largest = fmax(largest, a[t]);
    for (int64_t t = 0; t < count; t++)
        sum += a[t] = base_exp(a[t] - largest);
    for (int64_t t = 0; t < count; t++)
        a[t] /= sum;
}
