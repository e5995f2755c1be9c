/* Numbers with their exponent kept apart. */
#include "model/model.h"

#include <math.h>

model_scaled model_scaled_of(double value)
{
    return (model_scaled){ value, 0 };
}

double model_scaled_log(model_scaled a)
{
    return a.value == 0 ? -INFINITY : base_log(fabs(a.value)) + a.log;
}

double model_scaled_value(model_scaled a)
{
    return a.value == 0 ? 0 : a.value * base_exp(a.log);
}

/* The one of larger magnitude keeps its exponent. */
model_scaled model_scaled_add(model_scaled a, model_scaled b)
{
    if (b.value == 0)
        return a;
    if (a.value == 0)
        return b;
    if (model_scaled_log(a) < model_scaled_log(b)) {
        model_scaled kept = a;
        a = b;
        b = kept;
    }
    a.value += a.log == b.log ? b.value : b.value * base_exp(b.log - a.log);
    return a;
}
