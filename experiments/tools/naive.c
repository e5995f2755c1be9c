/* Descent as the published code does it, in float and double, for comparison with exact descent. */
#include "experiments/tools/tools.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

#define PASTE(a, b) a##_##b
#define JOIN(a, b)  PASTE(a, b)
#define NAME(base)  JOIN(base, real)
#define PROBLEM                                                                                    \
    typedef struct NAME(problem) {                                                                 \
        int64_t n, T, d;                                                                           \
        real *X, *K, *Y, *p, *v;                                                                   \
    } NAME(problem)

/* Rounded once: libm's expf has other bits on other processors. */
static float expf_of(float x)
{
    return (float)base_exp((double)x);
}

#define real float
#define EXP  expf_of
#define SQRT sqrtf
PROBLEM;
#include "naive.inc"
#undef real
#undef EXP
#undef SQRT

#define real double
#define EXP  base_exp
#define SQRT sqrt
PROBLEM;
#include "naive.inc"
#undef real

attsvm_status experiments_naive(const experiments_prompt *prompt, bool single, double *trace_p,
                                double *trace_v, attsvm_error *err)
{
    double p[EXPERIMENTS_MOST_D], v[EXPERIMENTS_MOST_D];
    experiments_prompt q = *prompt;
    const double least =
        single ? (double)FLT_EPSILON : 0; /* a smaller disturbance would be rounded away */
    if (q.d > EXPERIMENTS_MOST_D)
        return fail(err, ATTSVM_E_ARG, "d = %" PRId64 " is above %d", q.d, EXPERIMENTS_MOST_D);
    memcpy(p, q.p, (size_t)q.d * sizeof *p);
    memcpy(v, q.v, (size_t)q.d * sizeof *v);
    experiments_disturb(q.setup, 0, least, p, q.d);
    if (q.trains_v)
        experiments_disturb(q.setup, 1, least, v, q.d);
    q.p = p;
    q.v = v;
    return single ? naive_float(&q, trace_p, trace_v, NULL, err)
                  : naive_double(&q, trace_p, trace_v, NULL, err);
}

attsvm_status experiments_naive_gradient(const experiments_prompt *prompt, bool single, double *g,
                                         attsvm_error *err)
{
    return single ? naive_float(prompt, NULL, NULL, g, err)
                  : naive_double(prompt, NULL, NULL, g, err);
}
