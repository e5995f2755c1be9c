/*
 * The loop: gradient, record, step, stop.  It allocates nothing, and what it computes does not
 * depend on what is recorded, observed or timed.
 */
#include "dist/stop.h"
#include "train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double observer_seconds = 0.25; /* between two calls of the observer */

static int by_number(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Sequences of this step, in increasing order: a piece of the epoch's permutation. */
static const int64_t *next_batch(attsvm_train *t, int64_t *count)
{
    const int64_t n = t->m->n, batch = t->settings.batch;
    if (batch == 0)
        return NULL;
    int64_t steps = (n + batch - 1) / batch, epoch = t->iter / steps, at = t->iter % steps * batch;
    if (epoch != t->epoch) {
        base_random r =
            base_random_stream((uint64_t)t->settings.seed, (uint64_t)1 << 63 | (uint64_t)epoch);
        base_random_permutation(&r, t->order, n);
        t->epoch = epoch;
    }
    *count = n - at < batch ? n - at : batch;
    qsort(t->order + at, (size_t)*count, sizeof *t->order, by_number);
    return t->order + at;
}

/* Adds 2 ridge theta on the same scale. */
static void add_ridge(const attsvm_train *t, model_gradient *g)
{
    const double ridge = 2 * t->settings.ridge;
    for (int b = 0; b < t->m->parameters && ridge > 0; b++) {
        const model_parameter *block = &t->m->parameter[b];
        double *x = g->x + block->offset;
        const double *theta = t->theta + block->offset;
        if (block->head)
            continue;
        double norm = train_norm(theta, block->count);
        if (norm == 0)
            continue;
        double own = base_log(ridge) + base_log(norm), scale = fmax(own, g->log[b]);
        double keep = g->log[b] == -INFINITY ? 0 : base_exp(g->log[b] - scale);
        for (int64_t j = 0; j < block->count; j++)
            x[j] = (keep == 0 ? 0 : keep * x[j]) + base_exp(own - scale) * (theta[j] / norm);
        g->log[b] = scale;
    }
}

static attsvm_train_outcome stop_reason(const attsvm_train *t)
{
    const attsvm_train_settings *s = &t->settings;
    if (t->iter >= s->iters)
        return ATTSVM_TRAIN_DONE;
    if (s->stop_direction > 0 && t->direction_change < s->stop_direction)
        return ATTSVM_TRAIN_DIRECTION;
    if (s->stop_norm > 0 && model_norm(t->m, t->theta) > s->stop_norm)
        return ATTSVM_TRAIN_NORM;
    return ATTSVM_TRAIN_NOT_RUN;
}

static train_block block_of(attsvm_train *t, int b)
{
    const model_parameter *block = &t->m->parameter[b];
    return (train_block){ .theta = t->theta + block->offset,
                          .rows = block->rows,
                          .cols = block->cols,
                          .count = block->count,
                          .state = t->state + block->offset * t->rule->states,
                          .scale = t->state + t->m->size * t->rule->states + b,
                          .scratch = t->scratch,
                          .parameter = t->parameter };
}

/* The size of the next step: from the caller's function, or lr / (t+1)^decay. */
static attsvm_status step_size(const attsvm_train *t, double *out, attsvm_error *err)
{
    const double decay = t->settings.decay;
    if (!t->schedule.value) {
        *out = t->settings.lr * (decay == 0 ? 1 : base_pow((double)t->iter + 1, -decay));
        return ATTSVM_OK;
    }
    *out = t->schedule.value(t->schedule.context, t->iter);
    if (isfinite(*out) && *out >= 0)
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_ARG,
                "your schedule returned %g for step %" PRId64
                "; a step size must be finite and not negative",
                *out, t->iter);
}

static attsvm_status step_blocks(attsvm_train *t, const model_gradient *g, const model_value *v,
                                 attsvm_error *err)
{
    const attsvm_train_settings *settings = &t->settings;
    double lr;
    TRY(step_size(t, &lr, err));
    for (int k = 0; k < t->m->parameters; k++) {
        train_block b = block_of(t, k);
        b.g = g->x + t->m->parameter[k].offset;
        b.log_scale = g->log[k];
        b.lr = lr;
        b.eps = t->m->parameter[k].head ? t->eps_v : t->eps;
        b.max_step = settings->max_step;
        b.iter = t->iter;
        b.excess = isnan(t->lstar) ? v->over_best : model_scaled_of(v->loss - t->lstar);
        b.min_margin = v->gap;
        TRY(t->rule->step(&b, err));
    }
    if (t->textbook)
        train_textbook_round(t);
    return ATTSVM_OK;
}

void train_start(attsvm_train *t)
{
    for (int k = 0; k < t->m->parameters && t->rule->start; k++) {
        train_block b = block_of(t, k);
        t->rule->start(&b);
    }
    train_follow_direction(t);
}

/* State of the loop: gradient and values of the next step, and the stop. */
typedef struct loop {
    attsvm_train *t;
    model_gradient g;
    model_value v;
    bool whole;        /* g is the gradient of the whole data set, not of a mini-batch */
    int64_t described; /* the iteration that t->info describes; -1: none               */
    attsvm_train_observer *observer;
    void *context;
    dist_stop stop;
    attsvm_status status; /* of the measurement for the observer */
    attsvm_error *err;
} loop;

/* Gradient and values of the sequences of the next step. */
static void evaluate(loop *l)
{
    attsvm_train *t = l->t;
    int64_t count = 0;
    const int64_t *sequences = next_batch(t, &count);
    bool values = t->rule->value_every > 0 && t->iter % t->rule->value_every == 0;
    model_evaluate(t->m, t->theta, sequences, count, &l->g, values ? &l->v : NULL);
    if (t->textbook)
        train_textbook_gradient(t, sequences, count, &l->g);
    add_ridge(t, &l->g);
    l->whole = !sequences;
}

/* Fills t->info for the current iteration, over the whole data set. */
static attsvm_status describe(loop *l)
{
    if (l->described == l->t->iter)
        return ATTSVM_OK;
    if (!l->whole)
        model_evaluate(l->t->m, l->t->theta, NULL, 0, &l->g, NULL);
    l->whole = true;
    TRY(train_measure(l->t, l->err));
    l->described = l->t->iter;
    return ATTSVM_OK;
}

/* For dist_stop: reports progress to the observer. */
static bool tell(void *context)
{
    loop *l = context;
    l->status = describe(l);
    return l->status == ATTSVM_OK && (!l->observer || l->observer(l->context, l->t, &l->t->info));
}

/* Records if due.  Also measures the first state with a zero gradient: if logits beyond the range
   of doubles are the reason, that is an error. */
static attsvm_status record(loop *l, bool last)
{
    attsvm_train *t = l->t;
    train_trace *trace = &t->trace;
    bool due = trace->every != 0 && (last || train_trace_wanted(trace, t->iter));
    due &= trace->count == 0 || trace->iter[trace->count - 1] != t->iter;
    bool zero = t->m->gradient_log == -INFINITY && !t->zero_gradient_measured;
    t->zero_gradient_measured |= zero; /* the same on all ranks */
    if (last || due || zero)
        TRY(describe(l));
    if (last || due)
        TRY(train_measure_rank(t, l->err));
    if (due)
        train_trace_add(t, &t->info);
    return ATTSVM_OK;
}

/* Approximate multiplications per step; the same on all ranks. */
static double work_of(const attsvm_train *t)
{
    const model *m = t->m;
    const double share = t->settings.batch > 0 ? (double)t->settings.batch / (double)m->n : 1;
    const double rows = (double)t->data->tokens * ((double)m->terms / (double)m->n);
    return share * (double)m->d * (2 * rows + (m->prompt ? 0 : 2 * (double)(m->terms * m->d)));
}

/* Whether the observer or the time limit ends the run here. */
static attsvm_status ask_to_stop(loop *l, attsvm_train_outcome *reason)
{
    const int64_t every = l->t->settings.observe;
    if (every > 0 && l->t->iter % every == 0)
        dist_stop_now(&l->stop);
    else
        dist_stop_poll(&l->stop, work_of(l->t));
    dist_stop_reason why = dist_stop_why(&l->stop);
    if (why == DIST_STOP_OBSERVER)
        *reason = ATTSVM_TRAIN_OBSERVER;
    if (why == DIST_STOP_TIME)
        *reason = ATTSVM_TRAIN_TIME;
    return l->status;
}

/* Writes the checkpoint at multiples of `every` and at the end, unless the state is not finite. */
static attsvm_status keep_state(const attsvm_train *t, bool ends, attsvm_error *err)
{
    const attsvm_train_settings *s = &t->settings;
    bool keep = *s->checkpoint && (t->iter % s->every == 0 || ends);
    if (keep || ends || t->iter % TRAIN_DIRECTION_STEPS == 0)
        TRY(train_check_range(t, err));
    return keep ? train_checkpoint_write(t, err) : ATTSVM_OK;
}

static attsvm_status run_loop(loop *l)
{
    attsvm_train *t = l->t;
    attsvm_train_outcome reason = stop_reason(t);
    for (bool first = true;; first = false) {
        const bool last = reason != ATTSVM_TRAIN_NOT_RUN;
        evaluate(l);
        TRY(model_check_user(t->m, l->err));
        if (first)
            TRY(train_check_range(t, l->err));
        TRY(record(l, last));
        if (last)
            break;
        TRY(ask_to_stop(l, &reason));
        if (reason != ATTSVM_TRAIN_NOT_RUN) {
            TRY(keep_state(t, true, l->err));
            continue;
        }
        if (l->whole && t->settings.batch > 0) /* describe replaced the gradient */
            evaluate(l);
        TRY(step_blocks(t, &l->g, &l->v, l->err));
        t->iter++;
        if (t->iter % TRAIN_DIRECTION_STEPS == 0)
            train_follow_direction(t);
        reason = stop_reason(t);
        TRY(keep_state(t, reason != ATTSVM_TRAIN_NOT_RUN, l->err));
    }
    t->info.outcome = reason;
    if (l->observer && reason != ATTSVM_TRAIN_OBSERVER)
        l->observer(l->context, t, &t->info);
    return ATTSVM_OK;
}

attsvm_status train_continue(attsvm_train *t, attsvm_train_observer *observer, void *context,
                             attsvm_error *err)
{
    loop l = { .t = t,
               .g = { .x = t->gradient },
               .described = -1,
               .observer = observer,
               .context = context,
               .err = err };
    t->m->fault.found = 0;
    double limit = t->settings.time_limit;
    if (limit > 0 && t->settings.resume) /* a resumed run has the remaining time */
        limit = fmax(limit - t->earlier_seconds, 1e-9);
    dist_stop_open(&l.stop, t->data->comm, limit, observer ? tell : NULL, &l);
    l.stop.every = t->settings.observe > 0 ? INFINITY : observer_seconds;
    TRY(run_loop(&l));
    t->info.seconds = train_seconds(t);
    train_results(t);
    return ATTSVM_OK;
}

attsvm_status attsvm_train_run(attsvm_train *train, attsvm_train_observer *observer, void *context,
                               attsvm_error *err)
{
    NEED(train);
    train->start = base_seconds();
    if (train->info.outcome != ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run is finished; attsvm_train_continue continues it");
    if (train->iter == 0) { /* otherwise a step failed, and the run goes on from there */
        train_start(train);
        if (train->settings.resume)
            TRY(train_checkpoint_read(train, err));
    }
    return train_continue(train, observer, context, err);
}

attsvm_status train_restore(attsvm_train *t, int64_t iters, attsvm_train_outcome outcome,
                            attsvm_error *err)
{
    model_gradient g = { .x = t->gradient };
    t->iter = iters;
    t->restored = true;
    model_evaluate(t->m, t->theta, NULL, 0, &g, NULL);
    TRY(model_check_user(t->m, err));
    TRY(train_check_range(t, err));
    TRY(train_measure(t, err));
    TRY(train_measure_rank(t, err));
    t->info.outcome = outcome;
    t->info.seconds = 0;
    train_results(t);
    return ATTSVM_OK;
}

/* Removes the last record of a run that continues, unless its iteration is due. */
static void forget_last_record(train_trace *trace)
{
    if (trace->count > 0 && !train_trace_wanted(trace, trace->iter[trace->count - 1]))
        trace->count--;
}

attsvm_status attsvm_train_continue(attsvm_train *train, int64_t iters,
                                    attsvm_train_observer *observer, void *context,
                                    attsvm_error *err)
{
    NEED(train);
    if (train->info.outcome == ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG,
                    "this run has not started or has failed; call "
                    "attsvm_train_run first");
    if (train->restored && (train->rule->states > 0 || train->settings.stop_direction > 0))
        return fail(err, ATTSVM_E_ARG,
                    "the file of a run does not hold the state of the step rule %s; continue from "
                    "a checkpoint",
                    train->rule->flag);
    if (iters == 0)
        iters = train->settings.iters;
    if (iters < train->iter)
        return fail(err, ATTSVM_E_ARG,
                    "iters = %" PRId64 ": the run has done %" PRId64 " step%s already", iters,
                    train->iter, base_plural(train->iter));
    TRY(train_trace_extend(train, iters, err));
    forget_last_record(&train->trace);
    train->settings.iters = iters;
    train->settings.resume = false;
    train->earlier_seconds = train->info.seconds;
    train->start = base_seconds();
    train->info.outcome = ATTSVM_TRAIN_NOT_RUN;
    return train_continue(train, observer, context, err);
}
