/* The table of losses.  A new loss is one file and one line here. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const model_loss *const model_losses[] = { &model_loss_logistic, &model_loss_exp,
                                           &model_loss_linear, &model_loss_ntp, NULL };

attsvm_status model_loss_find(const char *flag, const model_loss **out, attsvm_error *err)
{
    char names[128] = "";
    size_t used = 0;
    for (const model_loss *const *loss = model_losses; *loss; loss++) {
        if (strcmp((*loss)->flag, flag) == 0) {
            *out = *loss;
            return ATTSVM_OK;
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "",
                                 (*loss)->flag);
    }
    return fail(err, ATTSVM_E_ARG, "loss = %s is not known; losses are %s", flag, names);
}

static double user_value(const model_loss *loss, double u)
{
    double slope;
    return loss->callback.value(loss->callback.context, u, &slope);
}

static model_scaled user_slope(const model_loss *loss, double u)
{
    double slope = 0;
    loss->callback.value(loss->callback.context, u, &slope);
    return model_scaled_of(fabs(slope));
}

/* Where the difference would cancel, the slope halfway, which is exact to third order in delta. */
static double user_change(const model_loss *loss, double u, double delta)
{
    const double small = 1e-5; /* of max(1, |u|): both errors are then near 1e-11 */
    if (fabs(delta) > small * fmax(1, fabs(u)))
        return user_value(loss, u + delta) - user_value(loss, u);
    return -user_slope(loss, u + delta / 2).value * delta;
}

model_loss model_loss_user(attsvm_loss_callback callback)
{
    return (model_loss){ .flag = "user",
                         .help = "the caller's function",
                         .value = user_value,
                         .slope = user_slope,
                         .change = user_change,
                         .callback = callback };
}

void model_slopes(const model *m, const double *u, double *value, double *log, int64_t count)
{
    if (m->loss.slopes) {
        m->loss.slopes(u, value, log, count);
        return;
    }
    for (int64_t k = 0; k < count; k++) {
        model_scaled slope = m->loss.slope(&m->loss, u[k]);
        value[k] = slope.value;
        log[k] = slope.log;
    }
}
