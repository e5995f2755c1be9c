/* theta_j - lr sign(grad_j) at the largest |grad_j|, lowest index on ties. */
#include "train/train.h"

#include <math.h>

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    int64_t best = 0;
    for (int64_t j = 1; j < s->count; j++)
        if (fabs(s->g[j]) > fabs(s->g[best]))
            best = j;
    if (s->log != -INFINITY)
        s->theta[best] -= s->lr * ((s->g[best] > 0) - (s->g[best] < 0));
    return ATTSVM_OK;
}

const train_rule train_rule_coordinate = {
    .flag = "coordinate", .help = "steepest coordinate", .norm = "l1", .lowest = 1, .step = step
};
