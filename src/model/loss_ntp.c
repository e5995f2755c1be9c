/*
 * Next-token prediction: l(u) = -log u, u the attention on the label.  Functions get log u; slope
 * and change are those in u.
 */
#include "model/model.h"

#include <math.h>

static double value(const model_loss *loss, double log_u)
{
    (void)loss;
    return -log_u;
}

/* |l'(u)| = 1/u */
static model_scaled slope(const model_loss *loss, double log_u)
{
    (void)loss;
    return (model_scaled){ 1, -log_u };
}

/* -log (u + delta)/u */
static double change(const model_loss *loss, double log_u, double delta)
{
    (void)loss;
    return -base_log1p(delta * base_exp(-log_u));
}

const model_loss model_loss_ntp = { .flag = "ntp",
                                    .help = "-log of the attention on the label",
                                    .value = value,
                                    .slope = slope,
                                    .change = change,
                                    .of_log = true };
