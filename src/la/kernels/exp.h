/* exp of vectors (base/exp.h). */
#define DOUBLES_OF(words) ((doubles)(words))
#define WORDS_OF(reals)   ((long_words)(reals))
#include "base/exp.h"

/* Arguments are clamped to the range outside of which the result is 0 or infinity; NaN stays NaN.
 */
INLINE doubles exp_vector(doubles x)
{
    return exp_in_range(clamp(x, exp_lowest, exp_highest));
}

/*
 * exp(x) for softmax, -700 <= x <= 0.  Logits have rounding errors anyway, so 1 + r is rounded: at
 * most 2 ulp.
 */
INLINE doubles exp_quick(doubles x)
{
    const double shift = 0x1.8p52 + 1023; /* 2^n needs one factor */
    doubles shifted = x * exp_per_ln2 + shift;
    doubles n = shifted - shift;
    doubles r = (x - n * exp_ln2_high) - n * exp_ln2_low;
    doubles r2 = r * r, y = 1.0 + (r + r2 * exp_q(r, r2));
    return y * (doubles)((long_words)shifted << 52);
}

/* The same for x <= 0; 0 below -700 and for NaN. */
INLINE doubles exp_or_nothing(doubles x)
{
    return (doubles)((longs)exp_quick(x) & (x > -700.0));
}

static void exp_all(const double *x, double *y, int64_t count)
{
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(y + i, exp_vector(load(x + i)));
    if (i < count) {
        doubles rest = { 0 };
        memcpy(&rest, x + i, (size_t)(count - i) * sizeof *x);
        rest = exp_vector(rest);
        memcpy(y + i, &rest, (size_t)(count - i) * sizeof *y);
    }
}
