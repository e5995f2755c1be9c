/* h(u) = v'u - kappa |u|^2. */
#include "model/model.h"

#include <math.h>
#include <string.h>

static double gradient(const model_head *head, const double *v, const double *u, double *slope,
                       double *scratch)
{
    (void)scratch;
    for (int64_t j = 0; j < head->d; j++)
        slope[j] = v[j] - 2 * head->kappa * u[j];
    return la_dot(v, u, head->d) - head->kappa * la_dot(u, u, head->d);
}

static double change(const model_head *head, const double *v, const double *x, const double *delta,
                     double log, double *scratch)
{
    (void)scratch;
    return la_dot(v, delta, head->d) -
           head->kappa *
               (2 * la_dot(x, delta, head->d) + base_exp(log) * la_dot(delta, delta, head->d));
}

static double near(const model_head *head, const double *v, const double *x, const double *delta,
                   double log, double *slope, double *turn, double *scratch)
{
    const double scale = base_exp(log);
    for (int64_t j = 0; j < head->d; j++)
        turn[j] = -2 * head->kappa * delta[j];
    double value = gradient(head, v, x, slope, scratch);
    return value + scale * change(head, v, x, delta, log, scratch);
}

static void by_v(const model_head *head, const double *u, double *out)
{
    memcpy(out, u, (size_t)head->d * sizeof *out);
}

const model_head_kind model_head_concave = { .flag = "concave",
                                             .help = "v'u - kappa |u|^2",
                                             .gradient = gradient,
                                             .change = change,
                                             .near = near,
                                             .by_v = by_v,
                                             .lowest = 0,
                                             .highest = 1e100 };
