/*
 * Eight models of equal shape, term by term, one model per lane.  No value moves between lanes, so
 * the result of a model does not depend on its neighbours.
 */
#include "model/small.h"

#include <math.h>
#include <stdlib.h>

/* Tables of eight models: only of data that are small enough for stored tables. */
bool model_small_batch_fits(const model *a, const model *b)
{
    return a->small && b->small && a->small->chunk && b->small->chunk &&
           a->kind == ATTSVM_MODEL_W && b->kind == ATTSVM_MODEL_W && a->terms == b->terms &&
           a->d == b->d && a->data->T_max == b->data->T_max && a->blocks == 1 && b->blocks == 1 &&
           a->small->chunk->units == b->small->chunk->units && a->loss.value == b->loss.value &&
           !a->loss.user.value;
}

static void layout(model_small_batch *p, la_small *l, model_small_tables *own, arena *a)
{
    size_t lanes = LA_LANES, count = (size_t)l->count, size = (size_t)(l->d * l->d);
    model_small_layout(l, own, a);
    model_small_layout_work(l, a);
    p->theta = take(a, size * lanes);
    p->gradient = take(a, size * lanes);
    p->log = take(a, lanes);
    p->rate = take(a, lanes);
    p->slope = take(a, count);
    p->slope_log = take(a, count);
    p->factor = take(a, count);
}

attsvm_status model_small_batch_create(model_small_batch **out, model *const *models, int64_t count,
                                       attsvm_error *err)
{
    const int64_t lanes = LA_LANES;
    *out = NULL;
    model_small_batch p = { .first = models[0], .count = count };
    p.l = model_small_shape(models[0], models[0]->terms);
    p.l.own_maps = true;
    p.l.count = p.l.problems = p.l.problems * lanes;
    arena a = { 0 };
    model_small_tables own;
    (void)base_take(&a, 1, sizeof p);
    layout(&p, &p.l, &own, &a);
    TRY(base_arena_allocate(&a, "runs side by side", err));
    model_small_batch *batch = base_take(&a, 1, sizeof p);
    layout(&p, &p.l, &own, &a);
    /* lanes without a model repeat the first */
    for (int64_t k = 0; k < lanes; k++)
        model_small_fill(models[k < count ? k : 0], &p.l, &own, 0, models[0]->terms, k, lanes);
    *batch = p;
    *out = batch;
    return ATTSVM_OK;
}

void model_small_batch_free(model_small_batch *p)
{
    free(p);
}

void model_small_batch_get(const model_small_batch *p, int64_t k, double *theta)
{
    for (int64_t j = 0; j < p->l.d * p->l.d; j++)
        theta[j] = p->theta[j * LA_LANES + k];
}

void model_small_batch_set(const model_small_batch *p, int64_t k, const double *theta)
{
    for (int64_t j = 0; j < p->l.d * p->l.d; j++)
        p->theta[j * LA_LANES + k] = theta[j];
}

bool model_small_batch_needs_general(const model_small_batch *p, int64_t k)
{
    bool any = false;
    for (int64_t at = k; p->l.units > 0 && at < p->l.count; at += LA_LANES)
        any |= p->l.needs_general[at] != 0;
    return any;
}

void model_small_batch_gradient(model_small_batch *p)
{
    const la_small *l = &p->l;
    const int64_t lanes = LA_LANES;
    const double terms = (double)p->first->terms;
    la_active()->small_forward(l, p->theta);
    model_loss_slopes(&p->first->loss, l->output, p->slope, p->slope_log, l->count);
    for (int64_t k = 0; k < lanes; k++)
        p->log[k] = -INFINITY;
    for (int64_t g = 0; g < l->count; g += lanes)
        for (int64_t k = 0; k < lanes; k++) {
            double exponent = p->factor[g + k] = p->slope_log[g + k] - l->M[g + k];
            p->log[k] = exponent > p->log[k] ? exponent : p->log[k];
        }
    for (int64_t g = 0; g < l->count; g += lanes)
        for (int64_t k = 0; k < lanes; k++)
            p->factor[g + k] = p->log[k] == -INFINITY ? -INFINITY : p->factor[g + k] - p->log[k];
    la_exp(p->factor, p->factor, l->count);
    for (int64_t k = 0; k < l->count; k++)
        p->factor[k] *= -p->slope[k] / (l->Z_sum[k] * terms);
    la_active()->small_backward(l, p->factor, p->gradient);
}
