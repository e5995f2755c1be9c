/*
 * Mirror descent with potential |theta|_q^q / q:  u = sign(theta)|theta|^(q-1),
 * u <- u - lr grad (md) or u - lr grad/|grad|_q' (nmd, 1/q + 1/q' = 1), theta =
 * sign(u)|u|^(1/(q-1)). The state is u, so that only one power a step is taken.
 */
#include "train/train.h"

#include <math.h>

static double power(double x, double exponent)
{
    double size = fabs(x);
    if (exponent == 1)
        return x;
    return copysign(exponent == 0.5 ? sqrt(size) : base_pow(size, exponent), x);
}

static void start(const train_step *s)
{
    for (int64_t j = 0; j < s->count; j++)
        s->state[j] = power(s->theta[j], s->parameter - 1);
}

/* u -= rate (lift g), and theta from u. */
static void follow(const train_step *s, double rate, double lift)
{
    const double exponent = 1 / (s->parameter - 1);
    for (int64_t j = 0; j < s->count && exponent == 0.5; j++) { /* a loop that makes vectors */
        double u = s->state[j] -= rate * (lift * s->g[j]);
        s->theta[j] = copysign(sqrt(fabs(u)), u);
    }
    for (int64_t j = 0; j < s->count && exponent != 0.5; j++) {
        s->state[j] -= rate * (lift * s->g[j]);
        s->theta[j] = power(s->state[j], exponent);
    }
}

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    if (s->log != -INFINITY)
        follow(s, s->lr * base_exp(s->log), 1);
    return ATTSVM_OK;
}

/* |g|_q in units of the largest entry. */
static double norm_of(const double *g, int64_t count, double q)
{
    double largest = 0, sum = 0;
    for (int64_t j = 0; j < count; j++)
        largest = fmax(largest, fabs(g[j]));
    if (q == 2 || largest == 0)
        return largest == 0 ? 0 : train_norm(g, count);
    for (int64_t j = 0; j < count && q == 1.5; j++) { /* of nmd:3, without a power */
        double x = fabs(g[j]) / largest;
        sum += x * sqrt(x);
    }
    for (int64_t j = 0; j < count && q != 1.5; j++)
        sum += g[j] == 0 ? 0 : base_pow(fabs(g[j]) / largest, q);
    return largest * base_pow(sum, 1 / q);
}

static attsvm_status normalised_step(const train_step *s, attsvm_error *err)
{
    (void)err;
    double q = s->parameter;
    double norm = s->log == -INFINITY ? 0 : norm_of(s->g, s->count, q / (q - 1));
    /* where lr/norm is beyond doubles an exact factor keeps its product with g within them */
    double lift = isfinite(s->lr / norm) ? 1 : 0x1p900;
    if (norm > 0)
        follow(s, s->lr / (norm * lift), lift);
    return ATTSVM_OK;
}

const train_rule train_rule_md = { .flag = "md",
                                   .help = "mirror descent, md:Q",
                                   .norm = "lq",
                                   .standard = NAN,
                                   .lowest = 1 + 1e-6,
                                   .highest = 1e6,
                                   .states = 1,
                                   .start = start,
                                   .step = step };
const train_rule train_rule_nmd = { .flag = "nmd",
                                    .help = "normalised mirror descent, nmd:Q",
                                    .norm = "lq",
                                    .standard = NAN,
                                    .lowest = 1 + 1e-6,
                                    .highest = 1e6,
                                    .states = 1,
                                    .start = start,
                                    .step = normalised_step };
