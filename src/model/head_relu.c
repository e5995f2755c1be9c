/* h(u) = v' relu(V u), V (size x d) fixed, relu'(0) = 0. */
#include "model/model.h"

#include <math.h>
#include <string.h>

static double gradient(const model_head *head, const double *v, const double *u, double *slope,
                       double *scratch)
{
    (void)scratch;
    double value = 0;
    memset(slope, 0, (size_t)head->d * sizeof *slope);
    for (int64_t j = 0; j < head->size; j++) {
        const double *row = head->V + j * head->d;
        double unit = la_dot(row, u, head->d);
        if (unit > 0) {
            value += v[j] * unit;
            la_axpy(v[j], row, slope, head->d);
        }
    }
    return value;
}

/*
 * Unit j goes from r = V_j x to r + e^log g, g = V_j delta.  On the same side of 0 its change is
 * e^log g or nothing; across 0 it is counted from 0.
 */
static double change(const model_head *head, const double *v, const double *x, const double *delta,
                     double log, double *scratch)
{
    (void)scratch;
    double sum = 0;
    for (int64_t j = 0; j < head->size; j++) {
        const double *row = head->V + j * head->d;
        double r = la_dot(row, x, head->d), g = la_dot(row, delta, head->d);
        r = r == 0 ? 0 : r * base_exp(-log); /* in units of e^log; infinite where delta is tiny */
        if (r > 0)
            sum += v[j] * (r + g > 0 ? g : -r);
        else if (r + g > 0)
            sum += v[j] * (r + g);
    }
    return sum;
}

/* Where V_j x is 0, unit j is at work if V_j delta > 0, however small exp(log) is. */
static double near(const model_head *head, const double *v, const double *x, const double *delta,
                   double log, double *slope, double *turn, double *scratch)
{
    (void)scratch;
    const double scale = base_exp(log);
    double value = 0;
    memset(slope, 0, (size_t)head->d * sizeof *slope);
    memset(turn, 0, (size_t)head->d * sizeof *turn);
    for (int64_t j = 0; j < head->size; j++) {
        const double *row = head->V + j * head->d;
        double r = la_dot(row, x, head->d), g = la_dot(row, delta, head->d);
        double unit = r + scale * g;
        if (unit > 0 || (r == 0 && g > 0)) {
            value += v[j] * unit;
            la_axpy(v[j], row, slope, head->d);
        }
    }
    return value;
}

static void by_v(const model_head *head, const double *u, double *out)
{
    for (int64_t j = 0; j < head->size; j++)
        out[j] = fmax(0, la_dot(head->V + j * head->d, u, head->d));
}

const model_head_kind model_head_relu = { .flag = "relu",
                                          .help = "v' relu(V u)",
                                          .gradient = gradient,
                                          .change = change,
                                          .near = near,
                                          .by_v = by_v,
                                          .lowest = 1,
                                          .highest = 0 };
