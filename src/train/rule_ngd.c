/*
 * theta - lr grad/|grad|; with eps theta - lr grad/(|grad| + eps), which in units of the log-scale
 * is g/(|g| + eps exp(-log)).  A gradient of exactly zero does not move theta.
 */
#include "train/train.h"

#include <math.h>

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    (void)err;
    double norm = s->log == -INFINITY ? 0 : train_norm(s->g, s->count);
    if (norm > 0)
        train_move(s, s->lr, s->eps > 0 ? norm + s->eps * base_exp(-s->log) : norm);
    return ATTSVM_OK;
}

const train_rule train_rule_ngd = { .flag = "ngd",
                                    .help = "normalised gradient descent",
                                    .norm = "l2",
                                    .lowest = 1,
                                    .takes_eps = true,
                                    .step = step };
