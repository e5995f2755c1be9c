/* What many experiments need: runs side by side, training and solving in one call, averages. */
#include "experiments/experiments.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

void experiments_progress(const experiments_setup *setup, double share)
{
    if (setup->progress)
        setup->progress(setup->context, share);
}

/* ------------------------------------------------------------------------ parallel */

typedef struct work {
    const experiments_setup *setup;
    experiments_body *body;
    void *context;
    double from, to;
    int64_t count, done, failed; /* failed: the first that did, count while none has */
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
    attsvm_status status = wanted ? w->body(w->context, k, worker, &error) : ATTSVM_OK;
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

/* --------------------------------------------------------------- training, solving */

attsvm_status experiments_trained(const attsvm_train *train, const char *name, double *out,
                                  int64_t count, attsvm_error *err)
{
    const attsvm_array *array = attsvm_train_find(train, name);
    int64_t have = array ? attsvm_array_count(array) : 0;
    if (have != count)
        return fail(err, ATTSVM_E_DATA, "the run has %" PRId64 " values %s, not %" PRId64, have,
                    name, count);
    for (int64_t k = 0; k < count; k++)
        out[k] = attsvm_array_get(array, k);
    return ATTSVM_OK;
}

attsvm_status experiments_solve(const attsvm_data *data, const attsvm_svm_settings *settings,
                                const int64_t *alpha, double *theta, int64_t count,
                                attsvm_svm_info *info, attsvm_error *err)
{
    attsvm_problem *problem = NULL;
    attsvm_solution *solution = NULL;
    attsvm_selection selection = { .alpha = alpha };
    attsvm_status status = attsvm_problem_create(&problem, data, &selection, settings, err);
    if (status == ATTSVM_OK)
        status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, err);
    if (status == ATTSVM_OK) {
        attsvm_claim claim = attsvm_solution_claim(solution);
        if (info)
            *info = attsvm_solution_info(solution);
        if (claim.theta_count != count)
            status = fail(err, ATTSVM_E_ARG, "theta has %" PRId64 " entries, not %" PRId64,
                          claim.theta_count, count);
        else
            memcpy(theta, claim.theta, (size_t)count * sizeof *theta);
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return status;
}

int64_t experiments_log_records(int64_t steps)
{
    int64_t count = 1; /* the start */
    for (int64_t iter = 1; iter <= steps; iter++)
        count += iter == steps || train_trace_wanted(&(train_trace){ .every = -1 }, iter);
    return count;
}

double experiments_correlation(const double *a, const double *b, int64_t count)
{
    double ab = 0, aa = 0, bb = 0;
    for (int64_t k = 0; k < count; k++) {
        ab += a[k] * b[k];
        aa += a[k] * a[k];
        bb += b[k] * b[k];
    }
    return aa > 0 && bb > 0 ? ab / (sqrt(aa) * sqrt(bb)) : NAN;
}

void experiments_mean(const double *x, int64_t count, int64_t stride, double *mean,
                      double *deviation)
{
    double sum = 0, squares = 0;
    int64_t finite = 0;
    for (int64_t k = 0; k < count; k++)
        if (isfinite(x[k * stride])) {
            sum += x[k * stride];
            finite++;
        }
    *mean = finite > 0 ? sum / (double)finite : NAN;
    for (int64_t k = 0; k < count; k++)
        if (isfinite(x[k * stride]))
            squares += (x[k * stride] - *mean) * (x[k * stride] - *mean);
    if (deviation)
        *deviation = finite > 1 ? sqrt(squares / (double)(finite - 1)) : 0;
}
