/* l(u) = -u: the score itself. */
#include "model/model.h"

static double value(const model_loss *loss, double u)
{
    (void)loss;
    return -u;
}

static model_scaled slope(const model_loss *loss, double u)
{
    (void)loss;
    (void)u;
    return model_scaled_of(1);
}

static double change(const model_loss *loss, double u, double delta)
{
    (void)loss;
    (void)u;
    return -delta;
}

static void slopes(const double *u, double *out, double *log, int64_t count)
{
    (void)u;
    for (int64_t k = 0; k < count; k++) {
        out[k] = 1;
        log[k] = 0;
    }
}

const model_loss model_loss_linear = { .flag = "linear",
                                       .help = "-u",
                                       .value = value,
                                       .slope = slope,
                                       .slopes = slopes,
                                       .change = change };
