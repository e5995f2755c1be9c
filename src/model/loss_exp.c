/* l(u) = exp(-u) = |l'(u)|. */
#include "model/model.h"

#include <math.h>

static double value(const model_loss *loss, double u)
{
    (void)loss;
    return base_exp(-u);
}

/* The exponent itself is the log-scale: exact at any u. */
static model_scaled slope(const model_loss *loss, double u)
{
    (void)loss;
    const double far = 600;
    return fabs(u) > far ? (model_scaled){ 1, -u } : model_scaled_of(base_exp(-u));
}

static double change(const model_loss *loss, double u, double delta)
{
    (void)loss;
    return base_exp(-u) * base_expm1(-delta);
}

static void slopes(const double *u, double *out, double *log, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        out[k] = 1;
        log[k] = -u[k];
    }
}

const model_loss model_loss_exp = { .flag = "exp",
                                    .help = "exp(-u)",
                                    .value = value,
                                    .slope = slope,
                                    .slopes = slopes,
                                    .change = change,
                                    .magnitude = slope };
