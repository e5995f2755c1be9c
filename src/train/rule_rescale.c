/*
 * Normalised descent; once the direction moved less than 1e-3 over 100 steps and all margins are
 * positive, theta <- c theta.  The state is the direction 100 steps ago.
 */
#include "train/train.h"

#include <math.h>

enum { PERIOD = 100 };

static void start(const train_step *s)
{
    double norm = train_norm(s->theta, s->count);
    for (int64_t j = 0; j < s->count; j++)
        s->state[j] = norm > 0 ? s->theta[j] / norm : 0;
}

/* |theta/|theta| - state|, infinite where either has no direction; state <- theta/|theta|. */
static double turn(const train_step *s)
{
    double norm = train_norm(s->theta, s->count), square = 0, before = 0;
    for (int64_t j = 0; j < s->count; j++) {
        double now = norm > 0 ? s->theta[j] / norm : 0, moved = now - s->state[j];
        before += s->state[j] * s->state[j];
        square += moved * moved;
        s->state[j] = now;
    }
    return norm > 0 && before > 0 ? sqrt(square) : INFINITY;
}

static attsvm_status step(const train_step *s, attsvm_error *err)
{
    const double settled = 1e-3;
    if (s->iter > 0 && s->iter % PERIOD == 0 && turn(s) < settled && s->gap > 0)
        for (int64_t j = 0; j < s->count; j++)
            s->theta[j] *= s->parameter;
    return train_rule_ngd.step(s, err);
}

const train_rule train_rule_rescale = { .flag = "rescale",
                                        .help = "ngd that multiplies theta by C once it settles",
                                        .norm = "l2",
                                        .standard = 2,
                                        .lowest = 1,
                                        .highest = 1e6,
                                        .takes_eps = true,
                                        .states = 1,
                                        .values = PERIOD,
                                        .start = start,
                                        .step = step };
