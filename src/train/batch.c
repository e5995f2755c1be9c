/*
 * Many small runs at once: a thread has one run, or a pack of runs of one shape, and none of them
 * is split.
 */
#include "train/train.h"

#include <stdlib.h>

/* Runs that are done together. */
typedef struct job {
    int64_t count;
    attsvm_train *runs[TRAIN_PACK_MOST];
    attsvm_status status;
    attsvm_error error;
} job;

/* A run stays on the thread of its job: its results do not depend on how many it has. */
static void run_job(void *context, int64_t k, int worker)
{
    job *j = (job *)context + k;
    int threads[TRAIN_PACK_MOST];
    (void)worker;
    for (int64_t r = 0; r < j->count; r++) {
        threads[r] = j->runs[r]->m->threads;
        j->runs[r]->m->threads = 1;
    }
    if (train_pack_fits(j->runs[0], j->runs[0]))
        j->status = train_pack_run(j->runs, j->count, &j->error);
    else
        j->status = attsvm_train_run(j->runs[0], NULL, NULL, &j->error);
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
        if (!last || last->count == most || !train_pack_fits(last->runs[0], runs[k]))
            last = &jobs[made++];
        last->runs[last->count++] = runs[k];
    }
    return made;
}

attsvm_status attsvm_train_run_batch(attsvm_train *const *runs, int64_t count, int64_t threads,
                                     attsvm_error *err)
{
    job *jobs;
    attsvm_status status = ATTSVM_OK;
    if (count < 0 || threads < 0)
        return fail(err, ATTSVM_E_ARG, "%" PRId64 " runs on %" PRId64 " threads", count, threads);
    TRY(base_allocate(&jobs, (size_t)count, sizeof *jobs, "batch of runs", err));
    int64_t made = make_jobs(runs, count, jobs);
    base_parallel(base_threads(threads), made, run_job, jobs);
    for (int64_t k = 0; k < made && status == ATTSVM_OK; k++) {
        status = jobs[k].status;
        if (status != ATTSVM_OK && err)
            *err = jobs[k].error;
    }
    free(jobs);
    return status;
}
