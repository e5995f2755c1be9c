/* l(u) = log(1 + exp(-u)),  |l'(u)| = 1/(1 + exp(u)). */
#include "model/model.h"

#include <math.h>

static double value(const model_loss *loss, double u)
{
    (void)loss;
    return u > 0 ? base_log1p(base_exp(-u)) : -u + base_log1p(base_exp(u));
}

/* Beyond this, 1 + exp(-u) rounds to 1, and exp(-u) itself will underflow soon. */
static const double far = 600;

static model_scaled slope(const model_loss *loss, double u)
{
    (void)loss;
    return u > far ? (model_scaled){ 1, -u } : model_scaled_of(1 / (1 + base_exp(u)));
}

/* log (1 + e^-(u+delta))/(1 + e^-u) = log(1 + (e^-delta - 1)/(1 + e^u)) */
static double change(const model_loss *loss, double u, double delta)
{
    (void)loss;
    return base_log1p(base_expm1(-delta) / (1 + base_exp(u)));
}

static model_scaled magnitude(const model_loss *loss, double u)
{
    return u > far ? (model_scaled){ 1, -u } : model_scaled_of(value(loss, u));
}

/* 1/(1 + e^u) */
static void slopes(const double *u, double *out, double *log, int64_t count)
{
    la_exp(u, out, count);
    for (int64_t k = 0; k < count; k++) {
        out[k] = u[k] > far ? 1 : 1 / (1 + out[k]);
        log[k] = u[k] > far ? -u[k] : 0;
    }
}

const model_loss model_loss_logistic = { .flag = "logistic",
                                         .help = "log(1 + exp(-u))",
                                         .value = value,
                                         .slope = slope,
                                         .slopes = slopes,
                                         .change = change,
                                         .magnitude = magnitude };
