/* m <- 0.9 m + grad,  theta - lr m. */
#include "train/train.h"

#include <math.h>

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    const double scale = s->log == -INFINITY ? 0 : base_exp(s->log);
    for (int64_t j = 0; j < s->count; j++) {
        s->state[j] = s->parameter * s->state[j] + (scale == 0 ? 0 : scale * s->g[j]);
        s->theta[j] -= s->lr * s->state[j];
    }
    return ATTSVM_OK;
}

const train_rule train_rule_momentum = { .flag = "momentum",
                                         .help = "heavy ball, momentum:BETA",
                                         .norm = "",
                                         .standard = 0.9,
                                         .lowest = 0,
                                         .highest = 0.999999,
                                         .states = 1,
                                         .step = step };
