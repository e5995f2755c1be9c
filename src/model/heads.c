/* The table of heads.  A new head is one file and one line here. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const model_head_kind *const model_heads[] = { &model_head_linear, &model_head_relu,
                                               &model_head_concave, NULL };

static attsvm_status parameter_of(const model_head_kind *kind, const char *text, double *parameter,
                                  attsvm_error *err)
{
    bool takes = kind->lowest <= kind->highest;
    if (!takes && *text)
        return fail(err, ATTSVM_E_ARG, "head = %s%s: the head %s takes no number", kind->flag, text,
                    kind->flag);
    if (!takes)
        return ATTSVM_OK;
    char *end = NULL;
    if (*text == ':')
        *parameter = strtod(text + 1, &end);
    if (!end || end == text + 1 || *end || !(*parameter >= kind->lowest) ||
        !(*parameter <= kind->highest))
        return fail(err, ATTSVM_E_ARG, "head = %s%s: expected %s:NUMBER, the number in %g..%g",
                    kind->flag, text, kind->flag, kind->lowest, kind->highest);
    return ATTSVM_OK;
}

attsvm_status model_head_find(const char *text, const model_head_kind **kind, double *parameter,
                              attsvm_error *err)
{
    *parameter = 0;
    for (const model_head_kind *const *head = model_heads; *head; head++) {
        size_t length = strlen((*head)->flag);
        if (strncmp(text, (*head)->flag, length) == 0 &&
            (text[length] == '\0' || text[length] == ':')) {
            *kind = *head;
            return parameter_of(*head, text + length, parameter, err);
        }
    }
    return fail(err, ATTSVM_E_ARG, "head = %s is not known; heads are linear, relu, concave:KAPPA",
                text);
}

/* The caller's head: value and gradient only, so small changes are taken from the gradient. */
static double user_gradient(const model_head *head, const double *v, const double *u, double *slope,
                            double *scratch)
{
    (void)v;
    (void)scratch;
    return head->callback.value(head->callback.context, u, head->d, slope);
}

/* h(x + delta) - h(x) by the gradient halfway: exact to third order, and nothing cancels. */
static double user_change(const model_head *head, const double *v, const double *x,
                          const double *delta, double log, double *scratch)
{
    const double scale = base_exp(log), small = 1e-5;
    double *point = scratch, *slope = scratch + head->d;
    double size = la_norm(delta, head->d) * scale;
    bool direct = size > small * fmax(1, la_norm(x, head->d));
    for (int64_t j = 0; j < head->d; j++)
        point[j] = x[j] + scale * delta[j] * (direct ? 1 : 0.5);
    double moved = user_gradient(head, v, point, slope, NULL);
    if (direct)
        return (moved - user_gradient(head, v, x, slope, NULL)) / scale;
    return la_dot(slope, delta, head->d);
}

static double user_near(const model_head *head, const double *v, const double *x,
                        const double *delta, double log, double *slope, double *turn,
                        double *scratch)
{
    const double scale = base_exp(log);
    memset(turn, 0, (size_t)head->d * sizeof *turn);
    for (int64_t j = 0; j < head->d; j++)
        scratch[j] = x[j] + scale * delta[j];
    return user_gradient(head, v, scratch, slope, NULL);
}

const model_head_kind model_head_user = { .flag = "user",
                                          .help = "the caller's function",
                                          .gradient = user_gradient,
                                          .change = user_change,
                                          .near = user_near,
                                          .lowest = 1,
                                          .highest = 0 };
