/* Averages. */
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
