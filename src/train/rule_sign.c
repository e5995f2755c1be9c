/* theta - lr sign(grad), sign(0) = 0. */
#include "train/train.h"

#include <math.h>

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    if (s->log == -INFINITY)
        return ATTSVM_OK;
    for (int64_t j = 0; j < s->count; j++)
        s->theta[j] -= s->lr * ((s->g[j] > 0) - (s->g[j] < 0));
    return ATTSVM_OK;
}

const train_rule train_rule_sign = {
    .flag = "sign", .help = "sign descent", .norm = "linf", .lowest = 1, .step = step
};
