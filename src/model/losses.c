/*
 * Losses l(u), strictly decreasing.  To add a loss: a few functions and a line of the table below.
 *
 *   logistic  log(1 + exp(-u))
 *   exp       exp(-u)
 *   linear    -u
 *   ntp       -log u, u the attention on the label (next-token prediction); it takes log u
 */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Beyond this, 1 + exp(-u) rounds to 1, and exp(-u) itself will underflow soon. */
static const double far = 600;

/* -------------------------------------------------------------------- logistic */

static double logistic_value(const model_loss *loss, double u)
{
    (void)loss;
    return u > 0 ? base_log1p(base_exp(-u)) : -u + base_log1p(base_exp(u));
}

static model_scaled logistic_slope(const model_loss *loss, double u)
{
    (void)loss;
    return u > far ? (model_scaled){ 1, -u } : model_scaled_of(1 / (1 + base_exp(u)));
}

/* log (1 + e^-(u+delta))/(1 + e^-u) = log(1 + (e^-delta - 1)/(1 + e^u)) */
static double logistic_change(const model_loss *loss, double u, double delta)
{
    if (-delta > far) /* e^-delta would overflow; the two values are far apart */
        return logistic_value(loss, u + delta) - logistic_value(loss, u);
    return base_log1p(base_expm1(-delta) / (1 + base_exp(u)));
}

static model_scaled logistic_magnitude(const model_loss *loss, double u)
{
    return u > far ? (model_scaled){ 1, -u } : model_scaled_of(logistic_value(loss, u));
}

/* 1/(1 + e^u) */
static void logistic_slopes(const double *u, double *out, double *log, int64_t count)
{
    la_exp(u, out, count);
    for (int64_t k = 0; k < count; k++) {
        out[k] = u[k] > far ? 1 : 1 / (1 + out[k]);
        log[k] = u[k] > far ? -u[k] : 0;
    }
}

/* ---------------------------------------------------------------------- exp */

static double exp_value(const model_loss *loss, double u)
{
    (void)loss;
    return base_exp(-u);
}

/* The exponent itself is the log-scale: exact at any u. */
static model_scaled exp_slope(const model_loss *loss, double u)
{
    (void)loss;
    return fabs(u) > far ? (model_scaled){ 1, -u } : model_scaled_of(base_exp(-u));
}

static double exp_change(const model_loss *loss, double u, double delta)
{
    (void)loss;
    return base_exp(-u) * base_expm1(-delta);
}

static void exp_slopes(const double *u, double *out, double *log, int64_t count)
{
    for (int64_t k = 0; k < count; k++) {
        out[k] = 1;
        log[k] = -u[k];
    }
}

/* ------------------------------------------------------------------- linear */

static double linear_value(const model_loss *loss, double u)
{
    (void)loss;
    return -u;
}

static model_scaled linear_slope(const model_loss *loss, double u)
{
    (void)loss;
    (void)u;
    return model_scaled_of(1);
}

static double linear_change(const model_loss *loss, double u, double delta)
{
    (void)loss;
    (void)u;
    return -delta;
}

static void linear_slopes(const double *u, double *out, double *log, int64_t count)
{
    (void)u;
    for (int64_t k = 0; k < count; k++) {
        out[k] = 1;
        log[k] = 0;
    }
}

/* ---------------------------------------------------------------------- ntp */

static double ntp_value(const model_loss *loss, double log_u)
{
    (void)loss;
    return -log_u;
}

/* |l'(u)| = 1/u */
static model_scaled ntp_slope(const model_loss *loss, double log_u)
{
    (void)loss;
    return (model_scaled){ 1, -log_u };
}

/* -log (u + delta)/u */
static double ntp_change(const model_loss *loss, double log_u, double delta)
{
    (void)loss;
    return -base_log1p(delta * base_exp(-log_u));
}

/* ------------------------------------------------------------------------ user */

static double user_value(const model_loss *loss, double u)
{
    double slope = 0;
    double value = loss->user.value(loss->user.context, u, &slope);
    if (isnan(value) && loss->fault && !isnan(u))
        model_fault_note(loss->fault, (model_fault){ .at = u, .value = value, .slope = slope });
    return value;
}

static model_scaled user_slope(const model_loss *loss, double u)
{
    double slope = 0;
    double value = loss->user.value(loss->user.context, u, &slope);
    if (!(slope <= 0) && loss->fault && !isnan(u))
        model_fault_note(loss->fault, (model_fault){ .at = u, .value = value, .slope = slope });
    return model_scaled_of(fabs(slope));
}

/* If the difference would cancel, uses the slope at the midpoint: third-order error in delta. */
static double user_change(const model_loss *loss, double u, double delta)
{
    const double small = 1e-5; /* of max(1, |u|): both errors are then near 1e-11 */
    if (fabs(delta) > small * fmax(1, fabs(u)))
        return user_value(loss, u + delta) - user_value(loss, u);
    return -user_slope(loss, u + delta / 2).value * delta;
}

attsvm_status model_loss_probe(const model_loss *loss, attsvm_error *err)
{
    const double step = 2.5;
    double before = INFINITY;
    bool flat = true;
    for (double u = -30; u <= 30; u += step) {
        double slope = 0, value = loss->user.value(loss->user.context, u, &slope);
        if (isnan(value) || isnan(slope))
            return fail(err, ATTSVM_E_ARG, "your loss returned NaN at u = %g (%s)", u,
                        isnan(value) ? "value" : "slope");
        if (value > before)
            return fail(err, ATTSVM_E_ARG,
                        "your loss rises from %g at u = %g to %g at u = %g; a loss must decrease",
                        before, u - step, value, u);
        if (slope > 0)
            return fail(err, ATTSVM_E_ARG,
                        "your loss returned slope %g at u = %g; a loss must decrease, so its slope "
                        "is 0 or less",
                        slope, u);
        if (fabs(u) <= step && !(isfinite(value) && isfinite(slope)))
            return fail(err, ATTSVM_E_ARG,
                        "your loss returned %g with slope %g at u = %g; expected finite numbers",
                        value, slope, u);
        flat = flat && slope == 0;
        before = value;
    }
    if (flat)
        return fail(err, ATTSVM_E_ARG,
                    "your loss returned slope 0 at every u tried in -30..30; a loss must decrease");
    return ATTSVM_OK;
}

model_loss model_loss_user(attsvm_loss_callback callback)
{
    return (model_loss){ .flag = "user",
                         .value = user_value,
                         .slope = user_slope,
                         .change = user_change,
                         .user = callback };
}

/* ----------------------------------------------------------------------- table */

static const model_loss losses[] = {
    { .flag = "logistic",
      .value = logistic_value,
      .slope = logistic_slope,
      .slopes = logistic_slopes,
      .change = logistic_change,
      .magnitude = logistic_magnitude },
    { .flag = "exp",
      .value = exp_value,
      .slope = exp_slope,
      .slopes = exp_slopes,
      .change = exp_change,
      .magnitude = exp_slope },
    { .flag = "linear",
      .value = linear_value,
      .slope = linear_slope,
      .slopes = linear_slopes,
      .change = linear_change },
    { .flag = "ntp",
      .value = ntp_value,
      .slope = ntp_slope,
      .change = ntp_change,
      .takes_log = true },
};

model_scaled model_loss_change(const model_loss *loss, double u, model_scaled delta)
{
    const double tiny =
        -300; /* exp(-300)^2 is within the range of doubles and far below rounding */
    if (delta.value == 0)
        return model_scaled_of(0);
    model_scaled slope = loss->slope(loss, u);
    if (delta.log <= tiny)
        return (model_scaled){ -slope.value * delta.value, slope.log + delta.log };
    double step = model_scaled_value(delta);
    if (slope.log == 0)
        return model_scaled_of(loss->change(loss, u, step));
    /* l is exp(-u) here, beyond the range of doubles or near its end */
    if (step > -1)
        return (model_scaled){ slope.value * base_expm1(-step), slope.log };
    model_scaled before = loss->magnitude(loss, u);
    before.value = -before.value;
    return model_scaled_add(loss->magnitude(loss, u + step), before);
}

attsvm_status model_loss_find(const char *flag, const model_loss **out, attsvm_error *err)
{
    char names[128] = "";
    size_t used = 0;
    for (size_t k = 0; k < sizeof losses / sizeof *losses; k++) {
        if (strcmp(losses[k].flag, flag) == 0) {
            *out = &losses[k];
            return ATTSVM_OK;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                 losses[k].flag);
    }
    return fail(err, ATTSVM_E_ARG, "loss = %s is not known; losses are %s", flag, names);
}

void model_loss_slopes(const model_loss *loss, const double *u, double *value, double *log,
                       int64_t count)
{
    if (loss->slopes) {
        loss->slopes(u, value, log, count);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        model_scaled slope = loss->slope(loss, u[k]);
        value[k] = slope.value;
        log[k] = slope.value == 0 ? -INFINITY : slope.log;
    }
}
