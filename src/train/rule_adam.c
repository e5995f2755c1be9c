/* Kingma, Ba (2015): beta 0.9 and 0.999, 1e-8 beside the root, both moments without bias. */
#include "train/train.h"

#include <math.h>

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    const double beta1 = 0.9, beta2 = 0.999, tiny = 1e-8;
    const double scale = s->log == -INFINITY ? 0 : base_exp(s->log), k = (double)s->iter + 1;
    const double unbias1 = 1 - base_pow(beta1, k), unbias2 = 1 - base_pow(beta2, k);
    double *mean = s->state, *square = s->state + s->count;
    for (int64_t j = 0; j < s->count; j++) {
        double g = scale == 0 ? 0 : scale * s->g[j];
        mean[j] = beta1 * mean[j] + (1 - beta1) * g;
        square[j] = beta2 * square[j] + (1 - beta2) * g * g;
        s->theta[j] -= s->lr * (mean[j] / unbias1) / (sqrt(square[j] / unbias2) + tiny);
    }
    return ATTSVM_OK;
}

const train_rule train_rule_adam = { .flag = "adam",
                                     .help = "Adam (0.9, 0.999, 1e-8)",
                                     .norm = "",
                                     .lowest = 1,
                                     .states = 2,
                                     .step = step };
