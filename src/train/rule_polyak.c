/*
 * theta - lr (L - L*)/|grad|^2 grad, the step at most max_step long.  Its length is
 * lr (L - L*)/|grad|, a ratio of two numbers that underflow together: their exponents are
 * subtracted first.
 */
#include "train/train.h"

#include <math.h>

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    double norm = s->log == -INFINITY ? 0 : train_norm(s->g, s->count);
    if (!(norm > 0) || !(s->over.value > 0))
        return ATTSVM_OK;
    double length = s->lr * (s->over.value / norm) * base_exp(s->over.log - s->log);
    length = length < s->max_step ? length : s->max_step;
    train_move(s, length, norm);
    return ATTSVM_OK;
}

const train_rule train_rule_polyak = { .flag = "polyak",
                                       .help = "step lr (L - L*)/|grad|^2, at most max-step long",
                                       .norm = "l2",
                                       .lowest = 1,
                                       .takes_lstar = true,
                                       .values = 1,
                                       .step = step };
