/* Parallel runs that report progress and failure as one. */
#include "experiments/tools/tools.h"

#include <pthread.h>

void experiments_progress(const experiments_setup *setup, double share)
{
    if (setup->progress)
        setup->progress(setup->context, share);
}

typedef struct work {
    const experiments_setup *setup;
    experiments_body *body;
    void *context;
    double from, to;
    int64_t count, done, failed; /* failed: index of the first failure; `count` if none */
    attsvm_status status;
    attsvm_error error;
    pthread_mutex_t lock;
} work;

static void run_one(void *context, int64_t k, int worker)
{
    work *w = context;
    attsvm_error error = { 0 };
    pthread_mutex_lock(&w->lock);
    bool wanted = k < w->failed;
    pthread_mutex_unlock(&w->lock);
    attsvm_status status = wanted ? experiments_go_on(w->setup) : ATTSVM_OK;
    if (wanted && status == ATTSVM_OK)
        status = w->body(w->context, k, worker, &error);
    pthread_mutex_lock(&w->lock);
    w->done++;
    if (status != ATTSVM_OK && k < w->failed) {
        w->failed = k;
        w->status = status;
        w->error = error;
    }
    experiments_progress(w->setup,
                         w->from + (w->to - w->from) * (double)w->done / (double)w->count);
    pthread_mutex_unlock(&w->lock);
}

attsvm_status experiments_parallel(const experiments_setup *setup, int64_t count, double from,
                                   double to, experiments_body *body, void *context,
                                   attsvm_error *err)
{
    work w = { .setup = setup,
               .body = body,
               .context = context,
               .from = from,
               .to = to,
               .count = count,
               .failed = count };
    pthread_mutex_init(&w.lock, NULL);
    base_parallel(base_threads(setup->threads), count, run_one, &w);
    pthread_mutex_destroy(&w.lock);
    if (w.status != ATTSVM_OK && err)
        *err = w.error;
    return w.status;
}
