/* h(u) = v'u. */
#include "model/model.h"

#include <string.h>

static double gradient(const model_head *head, const double *v, const double *u, double *slope,
                       double *scratch)
{
    (void)scratch;
    memcpy(slope, v, (size_t)head->d * sizeof *slope);
    return la_dot(v, u, head->d);
}

static double change(const model_head *head, const double *v, const double *x, const double *delta,
                     double log, double *scratch)
{
    (void)x;
    (void)log;
    (void)scratch;
    return la_dot(v, delta, head->d);
}

static void by_v(const model_head *head, const double *u, double *out)
{
    memcpy(out, u, (size_t)head->d * sizeof *out);
}

const model_head_kind model_head_linear = { .flag = "linear",
                                            .help = "v'u",
                                            .linear = true,
                                            .gradient = gradient,
                                            .change = change,
                                            .by_v = by_v,
                                            .lowest = 1,
                                            .highest = 0 };
