/*
 * Prediction heads f = h(u): gradients and small changes; data_head_with computes h itself.  To add
 * a head: a few functions and a line of the table below.
 *
 *   linear   v'u
 *   relu     v' relu(V u), V (size x d) fixed, relu'(0) = 0
 *   concave  v'u - kappa |u|^2
 *   user     the caller's function
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

/* ---------------------------------------------------------------------- linear */

static void linear_slope(const model_head *head, const double *v, const double *u, double *slope)
{
    (void)u;
    memcpy(slope, v, (size_t)head->d * sizeof *slope);
}

static void linear_gradient_v(const model_head *head, const double *u, double *out)
{
    memcpy(out, u, (size_t)head->d * sizeof *out);
}

/* ------------------------------------------------------------------------ relu */

static void relu_slope(const model_head *head, const double *v, const double *u, double *slope)
{
    memset(slope, 0, (size_t)head->d * sizeof *slope);
    for (int64_t j = 0; j < head->size; j++) {
        const double *row = head->data.V + j * head->d;
        if (la_dot(row, u, head->d) > 0)
            la_axpy(v[j], row, slope, head->d);
    }
}

/*
 * Unit j changes from r = V_j x to r + e^log g, g = V_j delta.  On the same side of 0 its output
 * changes by e^log g or 0; across 0 the change is measured from 0.
 */
static double relu_change(const model_head *head, const double *v, const double *x,
                          const double *delta, double log, double *scratch)
{
    (void)scratch;
    double sum = 0;
    for (int64_t j = 0; j < head->size; j++) {
        const double *row = head->data.V + j * head->d;
        double r = la_dot(row, x, head->d), g = la_dot(row, delta, head->d);
        r = r == 0 ? 0 : r * base_exp(-log); /* in units of e^log; infinite if delta is tiny */
        if (r > 0)
            sum += v[j] * (r + g > 0 ? g : -r);
        else if (r + g > 0)
            sum += v[j] * (r + g);
    }
    return sum;
}

/* If V_j x = 0, unit j is active if V_j delta > 0, for any exp(log). */
static double relu_slope_near(const model_head *head, const double *v, const double *x,
                              const double *delta, double log, double *slope, double *slope_change,
                              double *scratch)
{
    (void)scratch;
    const double scale = base_exp(log);
    double value = 0;
    memset(slope, 0, (size_t)head->d * sizeof *slope);
    memset(slope_change, 0, (size_t)head->d * sizeof *slope_change);
    for (int64_t j = 0; j < head->size; j++) {
        const double *row = head->data.V + j * head->d;
        double r = la_dot(row, x, head->d), g = la_dot(row, delta, head->d);
        double unit = r + scale * g;
        if (unit > 0 || (r == 0 && g > 0)) {
            value += v[j] * unit;
            la_axpy(v[j], row, slope, head->d);
        }
    }
    return value;
}

static void relu_gradient_v(const model_head *head, const double *u, double *out)
{
    for (int64_t j = 0; j < head->size; j++)
        out[j] = fmax(0, la_dot(head->data.V + j * head->d, u, head->d));
}

/* --------------------------------------------------------------------- concave */

static void concave_slope(const model_head *head, const double *v, const double *u, double *slope)
{
    for (int64_t j = 0; j < head->d; j++)
        slope[j] = v[j] - 2 * head->data.kappa * u[j];
}

static double concave_change(const model_head *head, const double *v, const double *x,
                             const double *delta, double log, double *scratch)
{
    (void)scratch;
    return la_dot(v, delta, head->d) -
           head->data.kappa *
               (2 * la_dot(x, delta, head->d) + base_exp(log) * la_dot(delta, delta, head->d));
}

static double concave_slope_near(const model_head *head, const double *v, const double *x,
                                 const double *delta, double log, double *slope,
                                 double *slope_change, double *scratch)
{
    for (int64_t j = 0; j < head->d; j++)
        slope_change[j] = -2 * head->data.kappa * delta[j];
    concave_slope(head, v, x, slope);
    return data_head_with(&head->data, v, x) +
           base_exp(log) * concave_change(head, v, x, delta, log, scratch);
}

/* ------------------------------------------------------------------------ user */

static double user_value(const model_head *head, const double *u, double *slope)
{
    double value = head->user.value(head->user.context, u, head->d, slope), sum = value;
    for (int64_t j = 0; j < head->d; j++)
        sum += slope[j];
    if (isnan(sum) && head->fault && !isnan(la_norm(u, head->d)))
        model_fault_note(head->fault, (model_fault){ .head = true,
                                                     .at = la_norm(u, head->d),
                                                     .value = value,
                                                     .slope = sum - value });
    return value;
}

static void user_slope(const model_head *head, const double *v, const double *u, double *slope)
{
    (void)v;
    user_value(head, u, slope);
}

/* h(x + delta) - h(x) from the gradient at the midpoint: third-order error, no cancellation. */
static double user_change(const model_head *head, const double *v, const double *x,
                          const double *delta, double log, double *scratch)
{
    (void)v;
    const double scale = base_exp(log), small = 1e-5;
    double *point = scratch, *slope = scratch + head->d;
    double size = la_norm(delta, head->d) * scale;
    bool direct = size > small * fmax(1, la_norm(x, head->d));
    for (int64_t j = 0; j < head->d; j++)
        point[j] = x[j] + scale * delta[j] * (direct ? 1 : 0.5);
    double moved = user_value(head, point, slope);
    if (direct)
        return (moved - user_value(head, x, slope)) / scale;
    return la_dot(slope, delta, head->d);
}

static double user_slope_near(const model_head *head, const double *v, const double *x,
                              const double *delta, double log, double *slope, double *slope_change,
                              double *scratch)
{
    (void)v;
    const double scale = base_exp(log);
    memset(slope_change, 0, (size_t)head->d * sizeof *slope_change);
    for (int64_t j = 0; j < head->d; j++)
        scratch[j] = x[j] + scale * delta[j];
    return user_value(head, scratch, slope);
}

/* ----------------------------------------------------------------------- table */

static const model_head_kind heads[] = {
    { .flag = "linear",
      .kind = ATTSVM_HEAD_LINEAR,
      .linear = true,
      .slope = linear_slope,
      .gradient_v = linear_gradient_v },
    { .flag = "relu",
      .kind = ATTSVM_HEAD_RELU,
      .slope = relu_slope,
      .change = relu_change,
      .slope_near = relu_slope_near,
      .gradient_v = relu_gradient_v },
    { .flag = "concave",
      .kind = ATTSVM_HEAD_CONCAVE,
      .slope = concave_slope,
      .change = concave_change,
      .slope_near = concave_slope_near,
      .gradient_v = linear_gradient_v },
};

/* Only value and gradient are known, so small changes use the gradient. */
static const model_head_kind user = {
    .flag = "user", .slope = user_slope, .change = user_change, .slope_near = user_slope_near
};

model_head model_head_user(attsvm_head_callback callback)
{
    return (model_head){ .kind = &user, .user = callback };
}

double model_head_value(const model_head *head, const double *v, const double *u, double *scratch)
{
    return head->kind == &user ? user_value(head, u, scratch) : data_head_with(&head->data, v, u);
}

const model_head_kind *model_head_find(int32_t kind)
{
    for (size_t k = 0; k < sizeof heads / sizeof *heads; k++)
        if (heads[k].kind == kind)
            return &heads[k];
    return NULL;
}
