/* Many small runs at once: one run a thread, none of them split. */
#include "train/train.h"

#include <stdlib.h>

typedef struct jobs {
    attsvm_train *const *runs;
    attsvm_status *status;
    attsvm_error *errors;
} jobs;

static void run_one(void *context, int64_t k, int worker)
{
    jobs *j = context;
    (void)worker;
    j->status[k] = attsvm_train_run(j->runs[k], NULL, NULL, &j->errors[k]);
}

attsvm_status attsvm_train_run_batch(attsvm_train *const *runs, int64_t count, int64_t threads,
                                     attsvm_error *err)
{
    jobs j = { .runs = runs };
    attsvm_status status = ATTSVM_OK;
    if (count < 0 || threads < 0)
        return fail(err, ATTSVM_E_ARG, "%" PRId64 " runs on %" PRId64 " threads", count, threads);
    TRY(base_allocate(&j.status, (size_t)count, sizeof *j.status, "batch of runs", err));
    status = base_allocate(&j.errors, (size_t)count, sizeof *j.errors, "batch of runs", err);
    if (status != ATTSVM_OK)
        goto done;
    /* inside, each run stays on its thread: its results do not depend on how many it has */
    for (int64_t k = 0; k < count; k++)
        runs[k]->m->threads = 1;
    base_parallel(base_threads(threads), count, run_one, &j);
    for (int64_t k = 0; k < count && status == ATTSVM_OK; k++) {
        status = j.status[k];
        if (status != ATTSVM_OK && err)
            *err = j.errors[k];
    }
done:
    free(j.errors);
    free(j.status);
    return status;
}
