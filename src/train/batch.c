/*
 * Many small runs at once.  A thread steps one run, or several of equal shape together: normalised
 * descent of model W for as many runs as a vector has lanes (model_small_batch).  The result of a
 * run does not depend on the others; it differs from attsvm_train_run by rounding, because sums
 * have another order.
 */
#include "dist/stop.h"
#include "model/small.h"
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------------------- jobs */

/* Runs that are stepped together. */
typedef struct job {
    int64_t count;
    attsvm_train *runs[LA_LANES];
    attsvm_status status;
    attsvm_error error;
    dist_stop *stop; /* shared by all jobs */
    dist_watch *watch;
    int worker; /* of the job */
} job;

static bool go_on(void *context, const attsvm_train *train, const attsvm_train_info *info)
{
    job *j = context;
    (void)train;
    (void)info;
    return !dist_stop_inside(j->stop, j->worker);
}

static attsvm_train_observer *observer_of(const job *j)
{
    return j->watch->observer ? go_on : NULL;
}

/* --------------------------------------------------------------------- side by side */

static bool may_be_beside(const attsvm_train *t)
{
    const attsvm_train_settings *s = &t->settings;
    return train_rule_is(t->rule, "ngd") && t->trace.every == 0 && s->batch == 0 && s->ridge == 0 &&
           s->decay == 0 && s->stop_direction == 0 && s->stop_norm == 0 && s->time_limit == 0 &&
           !*s->checkpoint && !t->schedule.value && !t->textbook &&
           t->info.outcome == ATTSVM_TRAIN_NOT_RUN && t->iter == 0 &&
           model_small_batch_fits(t->m, t->m);
}

bool train_batch_fits(const attsvm_train *a, const attsvm_train *b)
{
    return may_be_beside(a) && may_be_beside(b) && a->settings.lr == b->settings.lr &&
           a->settings.iters == b->settings.iters && a->eps == b->eps &&
           model_small_batch_fits(a->m, b->m);
}

/* One step of all lanes; spoilt[k]: the squared gradient of lane k over- or underflowed. */
static void step(model_small_batch *p, double lr, double eps, bool *spoilt)
{
    model_small_batch_gradient(p);
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
    la_active()->small_axpy(p->l.d * p->l.d, p->rate, p->gradient, p->theta);
}

static void hand_out(const model_small_batch *p, attsvm_train *const *runs)
{
    for (int64_t k = 0; k < p->count; k++)
        model_small_batch_get(p, k, runs[k]->theta);
}

/* Repeats a run from its start values, by itself. */
static attsvm_status run_again(job *j, attsvm_train *t, const double *start, attsvm_error *err)
{
    t->iter = 0;
    memcpy(t->theta, start, (size_t)t->m->size * sizeof *start);
    t->has_direction = false;
    t->direction_change = NAN;
    return attsvm_train_run(t, observer_of(j), j, err);
}

/* Ends every run, also after one that fails; reports the first failure. */
static attsvm_status end_runs(job *j, const model_small_batch *p, const bool *spoilt,
                              const double *starts, int64_t done)
{
    attsvm_status first = ATTSVM_OK;
    for (int64_t k = 0; k < j->count; k++) {
        attsvm_train *t = j->runs[k];
        attsvm_error err;
        attsvm_status status;
        t->iter = done;
        if (spoilt[k] || model_small_batch_needs_general(p, k))
            status = run_again(j, t, starts + k * t->m->size, &err);
        else
            status = train_continue(t, observer_of(j), j, &err);
        if (first == ATTSVM_OK && status != ATTSVM_OK) {
            first = status;
            j->error = err;
        }
    }
    return first;
}

/* Runs 1..LA_LANES runs that fit each other. */
static attsvm_status run_beside(job *j)
{
    attsvm_train *const *runs = j->runs;
    const int64_t count = j->count;
    model *models[LA_LANES];
    bool spoilt[LA_LANES] = { false };
    const double lr = runs[0]->settings.lr, eps = runs[0]->eps, now = base_seconds();
    const int64_t iters = runs[0]->settings.iters, size = runs[0]->m->size;
    model_small_batch *p;
    double *starts;
    for (int64_t k = 0; k < count; k++)
        models[k] = runs[k]->m;
    TRY(base_allocate(&starts, (size_t)(count * size), sizeof *starts, "start values", &j->error));
    attsvm_status status = model_small_batch_create(&p, models, count, &j->error);
    if (status != ATTSVM_OK) {
        free(starts);
        return status;
    }
    for (int64_t k = 0; k < LA_LANES; k++)
        model_small_batch_set(p, k, runs[k < count ? k : 0]->theta);
    for (int64_t k = 0; k < count; k++) {
        runs[k]->start = now;
        memcpy(starts + k * size, runs[k]->theta, (size_t)size * sizeof *starts);
        train_start(runs[k]);
    }
    int64_t done = 0;
    while (done < iters && !dist_stop_inside(j->stop, j->worker)) {
        const int64_t iter = ++done;
        step(p, lr, eps, spoilt);
        if (attsvm_interrupted())
            break;
        if (iter % TRAIN_DIRECTION_STEPS != 0)
            continue;
        hand_out(p, runs);
        for (int64_t k = 0; k < count; k++)
            train_follow_direction(runs[k]);
    }
    hand_out(p, runs);
    status = end_runs(j, p, spoilt, starts, done);
    model_small_batch_free(p);
    free(starts);
    return status;
}

/* ---------------------------------------------------------------------------- jobs */

/* A run stays on the thread of its job. */
static void run_job(void *context, int64_t k, int worker)
{
    job *j = (job *)context + k;
    int threads[LA_LANES] = { 0 };
    j->worker = worker;
    if (dist_stop_inside(j->stop, worker))
        return;
    for (int64_t r = 0; r < j->count; r++) {
        threads[r] = j->runs[r]->m->threads;
        j->runs[r]->m->threads = 1;
    }
    if (train_batch_fits(j->runs[0], j->runs[0]))
        j->status = run_beside(j);
    else
        j->status = attsvm_train_run(j->runs[0], observer_of(j), j, &j->error);
    __atomic_fetch_add(&j->watch->done, j->count, __ATOMIC_RELAXED);
    for (int64_t r = 0; r < j->count; r++)
        j->runs[r]->m->threads = threads[r];
}

/* Each run joins the last job if it fits and there is room, else it starts one. */
static int64_t make_jobs(attsvm_train *const *runs, int64_t count, job *jobs)
{
    const int64_t most = LA_LANES;
    int64_t made = 0;
    for (int64_t k = 0; k < count; k++) {
        job *last = made > 0 ? &jobs[made - 1] : NULL;
        if (!last || last->count == most || !train_batch_fits(last->runs[0], runs[k]))
            last = &jobs[made++];
        last->runs[last->count++] = runs[k];
    }
    return made;
}

static int compare_runs(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (attsvm_train *const *)a,
                    y = (uintptr_t) * (attsvm_train *const *)b;
    return (x > y) - (x < y);
}

/* Every run must be there, and once: two threads cannot train the same one. */
static attsvm_status check_runs(attsvm_train *const *runs, int64_t count, attsvm_error *err)
{
    attsvm_train **sorted;
    for (int64_t k = 0; k < count; k++)
        if (!runs[k])
            return fail(err, ATTSVM_E_ARG, "runs[%" PRId64 "] is NULL", k);
    TRY(base_allocate(&sorted, (size_t)count, sizeof *sorted, "batch of runs", err));
    memcpy(sorted, runs, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, compare_runs);
    bool twice = false;
    for (int64_t k = 1; k < count; k++)
        twice = twice || sorted[k] == sorted[k - 1];
    free(sorted);
    return twice ? fail(err, ATTSVM_E_ARG, "runs has the same run twice") : ATTSVM_OK;
}

attsvm_status attsvm_train_run_batch(attsvm_train *const *runs, int64_t count, int64_t threads,
                                     attsvm_observer *observer, void *context, attsvm_error *err)
{
    NEED(runs);
    if (count < 0)
        return fail(err, ATTSVM_E_ARG, "count = %" PRId64 " runs is negative", count);
    TRY(base_check_threads(threads, err));
    TRY(check_runs(runs, count, err));
    dist_watch watch = { .observer = observer, .context = context, .total = count };
    dist_stop stop;
    job *jobs;
    attsvm_status status = ATTSVM_OK;
    TRY(base_allocate(&jobs, (size_t)count, sizeof *jobs, "batch of runs", err));
    int64_t made = make_jobs(runs, count, jobs);
    dist_stop_watch(&stop, NULL, 0, &watch);
    for (int64_t k = 0; k < made; k++) {
        jobs[k].stop = &stop;
        jobs[k].watch = &watch;
    }
    base_parallel(base_threads(threads), made, run_job, jobs);
    for (int64_t k = 0; k < made && status == ATTSVM_OK; k++) {
        status = jobs[k].status;
        if (status != ATTSVM_OK && err)
            *err = jobs[k].error;
    }
    free(jobs);
    return status;
}
