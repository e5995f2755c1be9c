/*
 * Runs of one shape in step: normalised descent of the model W for as many runs as a vector has
 * lanes (model.h, model_pack).  A run gets the same numbers whichever runs are beside it; beside
 * those of attsvm_train_run they differ by rounding, as sums are taken in another order.
 */
#include "train/train.h"

#include <math.h>

static bool may_be_packed(const attsvm_train *t)
{
    const attsvm_train_settings *s = &t->settings;
    return t->rule == &train_rule_ngd && t->trace.every == 0 && s->batch == 0 && s->ridge == 0 &&
           s->stop_direction == 0 && s->stop_norm == 0 && s->time_limit == 0 && !*s->checkpoint &&
           t->info.outcome == ATTSVM_TRAIN_NOT_RUN && model_pack_fits(t->m, t->m);
}

bool train_pack_fits(const attsvm_train *a, const attsvm_train *b)
{
    return may_be_packed(a) && may_be_packed(b) && a->settings.lr == b->settings.lr &&
           a->settings.iters == b->settings.iters && a->eps == b->eps &&
           model_pack_fits(a->m, b->m);
}

/* One step of all lanes; spoilt[k] where the gradient of lane k left the range of its square. */
static void step(model_pack *p, double lr, double eps, bool *spoilt)
{
    model_pack_gradient(p);
    for (int64_t k = 0; k < LA_LANES; k++)
        p->rate[k] = -p->log[k];
    if (eps > 0)
        la_exp(p->rate, p->rate, LA_LANES);
    for (int64_t k = 0; k < LA_LANES; k++) {
        double square = p->l.square[k], size = sqrt(square);
        bool still = p->log[k] == -INFINITY || square == 0;
        spoilt[k] |= !still && !(square > 1e-250 && square < 1e250);
        size += eps > 0 ? eps * p->rate[k] : 0;
        p->rate[k] = still || spoilt[k] ? 0 : -lr / size;
    }
    la_active()->lanes_axpy(p->l.d * p->l.d, p->rate, p->gradient, p->theta);
}

static void hand_out(const model_pack *p, attsvm_train *const *runs)
{
    for (int64_t k = 0; k < p->count; k++)
        model_pack_get(p, k, runs[k]->theta);
}

/* From the start again, in the ordinary way. */
static attsvm_status run_anew(attsvm_train *t, attsvm_error *err)
{
    TRY(train_init(t, err));
    t->has_direction = false;
    t->direction_change = NAN;
    return attsvm_train_run(t, NULL, NULL, err);
}

attsvm_status train_pack_run(attsvm_train *const *runs, int64_t count, attsvm_error *err)
{
    model *models[TRAIN_PACK_MOST];
    bool spoilt[TRAIN_PACK_MOST] = { false };
    const double lr = runs[0]->settings.lr, eps = runs[0]->eps, now = base_seconds();
    const int64_t iters = runs[0]->settings.iters;
    model_pack *p;
    for (int64_t k = 0; k < count; k++)
        models[k] = runs[k]->m;
    TRY(model_pack_create(&p, models, count, err));
    for (int64_t k = 0; k < LA_LANES; k++)
        model_pack_set(p, k, runs[k < count ? k : 0]->theta);
    for (int64_t k = 0; k < count; k++) {
        runs[k]->start = now;
        train_start(runs[k]);
    }
    for (int64_t iter = 1; iter <= iters; iter++) {
        step(p, lr, eps, spoilt);
        if (iter % TRAIN_DIRECTION_STEPS != 0)
            continue;
        hand_out(p, runs);
        for (int64_t k = 0; k < count; k++)
            train_follow_direction(runs[k]);
    }
    hand_out(p, runs);
    attsvm_status status = ATTSVM_OK;
    for (int64_t k = 0; k < count && status == ATTSVM_OK; k++) {
        bool anew = spoilt[k] || model_pack_was_odd(p, k);
        runs[k]->iter = anew ? 0 : iters;
        status = anew ? run_anew(runs[k], err) : train_go_on(runs[k], NULL, NULL, err);
    }
    model_pack_free(p);
    return status;
}
