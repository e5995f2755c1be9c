/*
 * Stopping a solve in another norm: between its rounds, between the steps of a core and, of one
 * process, inside a pass over the data.
 */
#include "svm/svm.h"

#include <math.h>

/* How far the observer may be behind inside a core or a pass. */
static const double SECONDS_BETWEEN = 0.1;

bool svm_norm_should_stop(svm_norm_run *run)
{
    const attsvm_svm_settings *settings = &run->problem->settings;
    run->asked = base_seconds();
    attsvm_svm_progress progress = { .rounds = run->rounds,
                                     .iterations = run->iterations,
                                     .active = run->count,
                                     .passes = run->passes,
                                     .seconds = run->asked - run->start,
                                     .dual = NAN,
                                     .gap = NAN };
    if (run->observer && !run->observer(run->context, &progress))
        run->stopped = true;
    if (settings->time_limit > 0 && progress.seconds > settings->time_limit)
        run->stopped = true;
    if (run->rows->data->comm) /* one that wants to stop stops all */
        run->stopped = dist_vote(run->rows->data->comm, run->stopped) != 0;
    return run->stopped;
}

/* Ranks solve the same part, so the k-th poll of one is the k-th of all: they vote at each. */
bool svm_norm_poll(void *context)
{
    svm_norm_run *run = context;
    double now = base_seconds(), limit = run->problem->settings.time_limit;
    bool due = run->rows->data->comm || now - run->asked > SECONDS_BETWEEN ||
               (limit > 0 && now - run->start > limit);
    if (!run->stopped && due)
        svm_norm_should_stop(run);
    return run->stopped;
}
