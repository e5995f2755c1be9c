/* Ending experiments early. */
#include "experiments/tools/tools.h"

void experiments_stop_open(experiments_stop *stop, double limit, dist_stop_ask *goes_on,
                           void *context)
{
    dist_stop_open(&stop->stop, NULL, limit, goes_on, context);
    pthread_mutex_init(&stop->lock, NULL);
}

void experiments_stop_close(experiments_stop *stop)
{
    pthread_mutex_destroy(&stop->lock);
}

/* One thread at a time calls the observer; the others continue without waiting. */
attsvm_status experiments_go_on(const experiments_setup *setup)
{
    experiments_stop *stop = setup->stop;
    if (!stop)
        return ATTSVM_OK;
    if (pthread_mutex_trylock(&stop->lock) == 0) {
        dist_stop_inside(&stop->stop, 0);
        pthread_mutex_unlock(&stop->lock);
    }
    return dist_stop_why(&stop->stop) == DIST_GO_ON ? ATTSVM_OK : EXPERIMENTS_STOPPED;
}

bool experiments_observe_train(void *setup, const attsvm_train *train,
                               const attsvm_train_info *info)
{
    (void)train;
    (void)info;
    return experiments_go_on(setup) == ATTSVM_OK;
}

bool experiments_observe_path(void *setup, int64_t done, int64_t points)
{
    (void)done;
    (void)points;
    return experiments_go_on(setup) == ATTSVM_OK;
}

attsvm_status experiments_train(const experiments_setup *setup, attsvm_train *train,
                                attsvm_error *err)
{
    TRY(experiments_go_on(setup));
    TRY(attsvm_train_run(train, experiments_observe_train, (void *)setup, err));
    return attsvm_train_describe(train).outcome == ATTSVM_TRAIN_OBSERVER ? EXPERIMENTS_STOPPED
                                                                         : ATTSVM_OK;
}
