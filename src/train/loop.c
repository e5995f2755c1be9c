/*
 * The loop: gradient, record, step, stop.  It allocates nothing, and what it computes does not
 * depend on what is recorded, observed or timed.
 */
#include "train/train.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double observer_seconds = 0.25, clock_seconds = 0.01; /* between readings */

static double seconds_so_far(const attsvm_train *t)
{
    return t->earlier_seconds + base_seconds() - t->start;
}

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
    for (int b = 0; b < t->m->blocks && ridge > 0; b++) {
        const model_block *block = &t->m->block[b];
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

/* Entry `at` of all blocks is entry *at of the block that is returned. */
static const char *name_entry(const attsvm_train *t, int64_t *at)
{
    const model_block *block = t->m->block;
    while (*at >= block->offset + block->count)
        block++;
    *at -= block->offset;
    return block->name;
}

/* Parameters that have left the range of doubles do not come back; nor does a gradient move them
   whose entries have. */
static attsvm_status check_range(const attsvm_train *t, attsvm_error *err)
{
    int64_t at = la_active()->first_nonfinite(ATTSVM_F64, t->theta, t->m->size);
    if (at >= 0) {
        double value = t->theta[at];
        const char *name = name_entry(t, &at);
        return fail(
            err, ATTSVM_E_NUMERIC,
            "after %" PRId64 " steps entry %" PRId64 " of %s is %g: the run has left the range "
            "of doubles; take a step size below lr = %g or fewer steps, or scale the tokens down",
            t->iter, at, name, value, t->settings.lr);
    }
    at = la_active()->first_nonfinite(ATTSVM_F64, t->gradient, t->m->size);
    if (at < 0)
        return ATTSVM_OK;
    double value = t->gradient[at];
    const char *name = name_entry(t, &at);
    return fail(err, ATTSVM_E_NUMERIC,
                "after %" PRId64 " steps entry %" PRId64 " of the gradient of %s is %g, beyond the "
                "range of doubles; scale tokens, queries or the head down",
                t->iter, at, name, value);
}

/*
 * All numbers about the present state, whose full gradient was the last.  Logits that a double does
 * not hold leave no gradient: the run would stand still without a word.
 */
static attsvm_status measure(attsvm_train *t, attsvm_error *err)
{
    model *m = t->m;
    model_value v;
    attsvm_train_info *info = &t->info;
    model_evaluate(m, t->theta, NULL, 0, NULL, &v);
    info->iters = t->iter;
    info->terms = m->terms;
    info->seconds = seconds_so_far(t);
    info->loss = v.loss;
    info->loss_limit = v.limit;
    info->loss_excess = isnan(v.excess.value) ? NAN : model_scaled_value(v.excess);
    info->log_excess = v.excess.value > 0 ? model_scaled_log(v.excess) : NAN;
    info->norm = model_norm(m, t->theta);
    info->grad_log_scale = model_gradient_log(m, t->theta);
    info->softmax_min = v.attention_min;
    info->softmax_mean = v.attention_mean;
    info->entropy = v.entropy;
    info->effective_tokens = v.effective_tokens;
    info->accuracy = v.accuracy;
    info->margin = v.gap;
    info->nuclear = info->effective_rank = NAN;
    info->direction_change = t->direction_change;
    if (v.beyond < 0)
        return ATTSVM_OK;
    TRY(check_range(t, err));
    int64_t i, q;
    data_terms_find(&m->query, v.beyond, &i, &q);
    return fail(err, ATTSVM_E_NUMERIC,
                "after %" PRId64 " steps the logits of sequence %" PRId64 " (query %" PRId64
                ") leave the range of doubles; scale tokens, queries or start values down",
                t->iter, i, q);
}

/*
 * Nuclear norm and exp of the entropy of the singular values, at records and at the end: about
 * 3 d^3 operations, which progress reports do without.
 */
static attsvm_status measure_rank(attsvm_train *t, attsvm_error *err)
{
    const int64_t d = t->m->d;
    if (!model_has_matrix(t->m))
        return ATTSVM_OK;
    double *sigma = t->matrix + d * d, sum = 0, entropy = 0;
    memcpy(t->matrix, model_matrix(t->m, t->theta), (size_t)(d * d) * sizeof *t->matrix);
    TRY(la_singular_values(d, d, t->matrix, d, sigma, err));
    for (int64_t j = 0; j < d; j++)
        sum += sigma[j];
    for (int64_t j = 0; j < d && sum > 0; j++)
        entropy -= sigma[j] > 0 ? sigma[j] / sum * base_log(sigma[j] / sum) : 0;
    t->info.nuclear = sum;
    t->info.effective_rank = sum > 0 ? base_exp(entropy) : 0;
    return ATTSVM_OK;
}

/* Every 100 steps: how far the direction of the logit map moved. */
void train_follow_direction(attsvm_train *t)
{
    const double *map = model_logit_map(t->m, t->theta);
    const int64_t size = t->m->part_size;
    double norm = train_norm(map, size), square = 0;
    if (!(norm > 0))
        return;
    for (int64_t j = 0; j < size; j++) {
        double now = map[j] / norm, moved = now - t->direction[j];
        square += moved * moved;
        t->direction[j] = now;
    }
    if (t->has_direction)
        t->direction_change = sqrt(square);
    t->has_direction = true;
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

static attsvm_status step_blocks(attsvm_train *t, const model_gradient *g, const model_value *v,
                                 attsvm_error *err)
{
    const attsvm_train_settings *settings = &t->settings;
    for (int b = 0; b < t->m->blocks; b++) {
        const model_block *block = &t->m->block[b];
        train_step s = { .theta = t->theta + block->offset,
                         .g = g->x + block->offset,
                         .log = g->log[b],
                         .rows = block->rows,
                         .cols = block->cols,
                         .count = block->count,
                         .state = t->state + block->offset * t->rule->states,
                         .scratch = t->scratch,
                         .lr = settings->lr,
                         .eps = block->head ? t->eps_v : t->eps,
                         .parameter = t->parameter,
                         .max_step = settings->max_step,
                         .iter = t->iter,
                         .over = v->over_best,
                         .gap = v->gap };
        if (!isnan(t->lstar))
            s.over = model_scaled_of(v->loss - t->lstar);
        TRY(t->rule->step(&s, err));
    }
    return ATTSVM_OK;
}

void train_start(attsvm_train *t)
{
    for (int b = 0; b < t->m->blocks && t->rule->start; b++) {
        const model_block *block = &t->m->block[b];
        t->rule->start(&(train_step){ .theta = t->theta + block->offset,
                                      .rows = block->rows,
                                      .cols = block->cols,
                                      .count = block->count,
                                      .state = t->state + block->offset * t->rule->states,
                                      .parameter = t->parameter });
    }
    train_follow_direction(t);
}

/* Gradient and values of the coming step's sequences. */
static void evaluate(attsvm_train *t, model_gradient *g, model_value *v)
{
    int64_t count = 0;
    const int64_t *sequences = next_batch(t, &count);
    bool values = t->rule->values > 0 && t->iter % t->rule->values == 0;
    model_evaluate(t->m, t->theta, sequences, count, g, values ? v : NULL);
    add_ridge(t, g);
}

typedef struct watch {
    attsvm_train_observer *observer;
    void *context;
    bool watched;       /* some rank has an observer; rank 0 says when to show and to stop */
    double shown;       /* when the observer was called last                  */
    double now;         /* of the last reading of the clock                   */
    int64_t read, next; /* steps at the last reading and before the next one  */
} watch;

/* Reads the clock about every clock_seconds, however long a step takes; true where it did. */
static bool read_clock(watch *w, int64_t iter)
{
    const double most = 1e5;
    if (iter < w->next)
        return false;
    double before = w->now, steps = (double)(iter - w->read);
    w->now = base_seconds();
    double stride = steps * clock_seconds / fmax(w->now - before, 1e-9);
    w->read = iter;
    w->next = iter + 1 + (int64_t)fmin(stride, most);
    return true;
}

/* Ranks do what rank 0 decides by its clock or its observer. */
static void follow_first(const attsvm_train *t, bool *decision)
{
    if (t->data->comm)
        dist_broadcast(t->data->comm, decision, sizeof *decision, 0);
}

/* Records and reports; *stop where the observer ends the run. */
static attsvm_status report(attsvm_train *t, model_gradient *g, watch *w, bool last, bool *stop,
                            attsvm_error *err)
{
    const int64_t every = t->settings.observe;
    bool record = t->trace.every != 0 && (last || train_trace_wanted(&t->trace, t->iter));
    bool show = w->observer && !*stop && (last || (every > 0 && t->iter % every == 0));
    if (w->observer && every == 0 && !show && !last)
        show = w->now - w->shown > observer_seconds;
    if (w->watched)
        follow_first(t, &show);
    record &= t->trace.count == 0 || t->trace.iter[t->trace.count - 1] != t->iter;
    bool stands = t->m->gradient_log == -INFINITY && !t->stood; /* the same on all ranks */
    t->stood |= stands;
    if (!record && !show && !last && !stands)
        return ATTSVM_OK;
    if (t->settings.batch > 0) /* the numbers are those of the whole data set */
        model_evaluate(t->m, t->theta, NULL, 0, g, NULL);
    TRY(measure(t, err));
    if (last || record)
        TRY(measure_rank(t, err));
    if (record)
        train_trace_add(t, &t->info);
    if (show) {
        *stop = w->observer && !w->observer(w->context, &t->info);
        w->shown = base_seconds();
        follow_first(t, stop);
    }
    if (t->settings.batch > 0 && !last)
        evaluate(t, g, &(model_value){ 0 });
    return ATTSVM_OK;
}

static attsvm_status loop(attsvm_train *t, watch *w, attsvm_error *err)
{
    const attsvm_train_settings *s = &t->settings;
    model_gradient g = { .x = t->gradient };
    model_value v = { .gap = 0 };
    attsvm_train_outcome reason = stop_reason(t);
    for (bool first = true;; first = false) {
        bool last = reason != ATTSVM_TRAIN_NOT_RUN, stop = reason == ATTSVM_TRAIN_OBSERVER;
        evaluate(t, &g, &v);
        if (first)
            TRY(check_range(t, err));
        TRY(report(t, &g, w, last, &stop, err));
        if (last)
            break;
        if (stop) {
            reason = ATTSVM_TRAIN_OBSERVER;
            continue;
        }
        TRY(step_blocks(t, &g, &v, err));
        t->iter++;
        bool round = t->iter % TRAIN_DIRECTION_STEPS == 0;
        if (round)
            train_follow_direction(t);
        reason = stop_reason(t);
        bool late = read_clock(w, t->iter) && s->time_limit > 0 &&
                    t->earlier_seconds + w->now - t->start > s->time_limit;
        if (s->time_limit > 0)
            follow_first(t, &late);
        if (late && reason == ATTSVM_TRAIN_NOT_RUN)
            reason = ATTSVM_TRAIN_TIME;
        bool ends = reason != ATTSVM_TRAIN_NOT_RUN;
        bool keep = *s->checkpoint && (t->iter % s->every == 0 || ends);
        if (round || ends || keep)
            TRY(check_range(t, err));
        if (keep)
            TRY(train_checkpoint_write(t, err));
    }
    t->info.outcome = reason;
    return ATTSVM_OK;
}

attsvm_status train_go_on(attsvm_train *t, attsvm_train_observer *observer, void *context,
                          attsvm_error *err)
{
    double now = base_seconds();
    watch w = { .observer = observer,
                .context = context,
                .shown = now,
                .now = now,
                .read = t->iter,
                .next = t->iter };
    if (t->data->comm)
        w.watched = dist_any(t->data->comm, observer != NULL);
    TRY(loop(t, &w, err));
    t->info.seconds = seconds_so_far(t);
    train_results(t);
    return ATTSVM_OK;
}

attsvm_status attsvm_train_run(attsvm_train *train, attsvm_train_observer *observer, void *context,
                               attsvm_error *err)
{
    train->start = base_seconds();
    if (train->info.outcome != ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run is over; a run can be run once");
    train_start(train);
    if (train->settings.resume)
        TRY(train_checkpoint_read(train, err));
    return train_go_on(train, observer, context, err);
}
