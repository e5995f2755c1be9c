/* Averages and angles. */
#include "experiments/tools/tools.h"

void experiments_mean(const double *x, int64_t count, int64_t stride, double *mean,
                      double *deviation)
{
    double sum = 0, squares = 0;
    int64_t finite = 0;
    for (int64_t k = 0; k < count; k++)
        if (isfinite(x[k * stride])) {
            sum += x[k * stride];
            finite++;
        }
    *mean = finite > 0 ? sum / (double)finite : NAN;
    for (int64_t k = 0; k < count; k++)
        if (isfinite(x[k * stride]))
            squares += (x[k * stride] - *mean) * (x[k * stride] - *mean);
    if (deviation)
        *deviation = finite > 1 ? sqrt(squares / (double)(finite - 1)) : 0;
}

/* |a/|a| - b/|b|| and |a/|a| + b/|b|| are sine and cosine of half the angle, times two. */
double experiments_angle(const double *a, const double *b, int64_t count)
{
    const double degrees = 57.29577951308232;
    double length_a = la_norm(a, count), length_b = la_norm(b, count), minus = 0, plus = 0;
    if (length_a == 0 || length_b == 0)
        return NAN;
    for (int64_t k = 0; k < count; k++) {
        double u = a[k] / length_a, v = b[k] / length_b;
        minus += (u - v) * (u - v);
        plus += (u + v) * (u + v);
    }
    return 2 * degrees * base_atan_ratio(sqrt(minus), sqrt(plus));
}
