/* theta - lr grad: the true gradient, which may underflow once attention is saturated. */
#include "train/train.h"

#include <math.h>

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    if (s->log != -INFINITY)
        la_axpy(-s->lr * base_exp(s->log), s->g, s->theta, s->count);
    return ATTSVM_OK;
}

const train_rule train_rule_gd = {
    .flag = "gd", .help = "plain gradient descent", .norm = "l2", .lowest = 1, .step = step
};
