/*
 * The textbook gradient (theory 2), in float32 or float64:
 *
 *   a = X b, b = W z or W'p;   s = softmax(a), the largest logit subtracted;   u = X's;
 *   g = l'(Y f) (diag s - s s') c,  c_t = Y grad h(u)'x_t;   grad_W = (1/n) sum X'g z'.
 *
 * Every number is rounded to that type, sums run in index order, and float32 also rounds the
 * parameters after each step, as a program that stores them in float32 does.  Once attention
 * saturates, the result is wrong (theory 2.1); this file shows where that happens on given data.
 */
#include "train/train.h"

#include <math.h>
#include <string.h>

/*
 * The work space: the numbers of the type (textbook.inc), each in the room of a double, then in
 * double the exact gradient, that of the head, a token, and the exact gradient of the map.
 */
static double *exact_of(const attsvm_train *t)
{
    const model *m = t->m;
    return t->textbook + 3 * m->data->T_max + 7 * m->d + m->head.size + 2 * m->map_size + m->size;
}

static double *gradient_v_of(const attsvm_train *t)
{
    return exact_of(t) + t->m->size;
}

static double *wide_of(const attsvm_train *t)
{
    return gradient_v_of(t) + t->m->head.size;
}

static double *map_gradient_of(const attsvm_train *t)
{
    return wide_of(t) + t->m->d;
}

int64_t train_textbook_room(const model *m)
{
    return 3 * m->data->T_max + 8 * m->d + 2 * m->head.size + 3 * m->map_size + 2 * m->size;
}

#define PASTE(a, b) a##_##b
#define JOIN(a, b)  PASTE(a, b)
#define NAME(base)  JOIN(base, real)

/* Rounded once from double: the bits of libm's expf depend on the processor. */
static float exp_float(float x)
{
    return (float)base_exp((double)x);
}

#define exp_double base_exp

#define real float
#include "textbook.inc"
#undef real

#define real double
#include "textbook.inc"
#undef real

attsvm_status train_textbook_check(const attsvm_train *t, attsvm_error *err)
{
    const model *m = t->m;
    if (m->head.kind->kind == 0 || m->loss.user.value || m->loss.takes_log)
        return fail(
            err, ATTSVM_E_ARG,
            "arithmetic: the textbook gradient is available for the heads linear, relu, concave "
            "and the losses logistic, exp, linear");
    if (m->data->comm)
        return fail(err, ATTSVM_E_ARG, "arithmetic: the textbook gradient runs in one process");
    return ATTSVM_OK;
}

/* The angle between the two gradients of the attention parameters, in degrees; 90 if the textbook
   gradient is zero. */
static double angle(const attsvm_train *t, const double *a, const double *b)
{
    const model_parameter *last = &t->m->parameter[t->m->parameters - 1];
    const int64_t count = last->head ? last->offset : t->m->size;
    double x = train_norm(a, count), y = train_norm(b, count), apart = 0, sum = 0;
    if (!(x > 0) || !(y > 0))
        return x > 0 ? 90 : 0;
    for (int64_t j = 0; j < count; j++) {
        apart = base_hypot(apart, a[j] / x - b[j] / y);
        sum = base_hypot(sum, a[j] / x + b[j] / y);
    }
    return 2 * base_atan_ratio(apart, sum) * (180 / 3.14159265358979323846);
}

void train_textbook_gradient(attsvm_train *t, const int64_t *sequences, int64_t count,
                             model_gradient *g)
{
    const bool single = t->settings.arithmetic == ATTSVM_ARITHMETIC_FLOAT32;
    double *exact = exact_of(t), *of_map = map_gradient_of(t);
    const size_t map_bytes = (size_t)t->m->map_size * sizeof *of_map;
    memcpy(exact, g->x, (size_t)t->m->size * sizeof *exact);
    memcpy(of_map, t->m->attention_gradient, map_bytes); /* reports use the exact gradient */
    if (single)
        gradient_float(t, sequences, count, g->x);
    else
        gradient_double(t, sequences, count, g->x);
    memcpy(t->m->attention_gradient, of_map, map_bytes);
    for (int b = 0; b < t->m->parameters; b++) {
        const model_parameter *block = &t->m->parameter[b];
        bool zero = true;
        for (int64_t j = 0; j < block->count; j++)
            zero = zero && g->x[block->offset + j] == 0;
        g->log[b] = zero ? -INFINITY : 0;
    }
    t->textbook_angle = t->m->gradient_log == -INFINITY ? 0 : angle(t, exact, g->x);
    if (t->textbook_angle > TRAIN_TEXTBOOK_WRONG && t->textbook_wrong < 0) {
        t->textbook_wrong = t->iter;
        t->textbook_wrong_norm = model_norm(t->m, t->theta);
    }
}

void train_textbook_round(attsvm_train *t)
{
    for (int64_t j = 0; j < t->m->size && t->settings.arithmetic == ATTSVM_ARITHMETIC_FLOAT32; j++)
        t->theta[j] = (double)(float)t->theta[j];
}
