/* Stopping a solve: reports to the observer, and the best result so far. */
#include "svm/svm.h"

#include <math.h>
#include <string.h>

enum {
    MOST_ROUNDS = 10000,
    MOST_CORE_ROUNDS = 200 /* for a norm without an active-set method */
};

bool svm_stop_tell(void *context)
{
    const svm_run *run = context;
    const svm_phase *phase = run->phase;
    attsvm_svm_progress progress = { .rounds = run->rounds,
                                     .passes = run->find.passes,
                                     .seconds = base_seconds() - run->stop.start,
                                     .dual = NAN,
                                     .gap = NAN };
    if (phase) {
        progress.iterations = phase->iterations;
        progress.active = phase->active;
    }
    if (phase && phase->norm->active_set) {
        progress.dual = la_norm(run->set.theta, run->set.size);
        if (run->has_best && run->set.soft == 0 && progress.dual > 0)
            progress.gap = 1 - progress.dual * run->best_value;
    }
    return run->observer(run->context, &progress);
}

bool svm_stop_proof(svm_run *run, double work)
{
    const double most = 2e7; /* multiplications after a stop */
    if (!dist_stop_poll(&run->stop, work))
        return false;
    run->late_work += work;
    return run->late_work > most;
}

bool svm_stop_now(svm_run *run)
{
    int64_t most = run->phase->norm->active_set ? MOST_ROUNDS : MOST_CORE_ROUNDS;
    run->stopped = run->stopped || dist_stop_now(&run->stop) || run->rounds > most;
    return run->stopped;
}

attsvm_status svm_stop_keep_best(svm_run *run, attsvm_error *err)
{
    double norm;
    if (run->pass.interrupted || !svm_sample_is_whole(&run->pass_settings))
        return ATTSVM_OK;
    TRY(svm_certify_size(run, run->set.theta, &norm, err));
    double value = run->set.soft > 0 ? -(norm * norm / 2 + run->set.soft * run->pass.slacks)
                   : norm > 0        ? run->pass.min_margin / norm
                                     : 0;
    bool feasible =
        run->set.soft > 0 || (value > 0 && isfinite(value) && run->pass.violated_zero_rows == 0);
    if (run->has_best && isnan(run->best_value)) {
        TRY(svm_certify_size(run, run->best, &norm, err));
        run->best_value = run->best_pass.min_margin / norm;
    }
    if (!feasible || (run->has_best && value <= run->best_value))
        return ATTSVM_OK;
    run->has_best = true;
    run->best_value = value;
    run->best_pass = run->pass;
    memcpy(run->best, run->set.theta, (size_t)run->set.size * sizeof(double));
    return ATTSVM_OK;
}

/*
 * After a stop inside a pass: uses the report of the pass that found the best theta, with an
 * allowance for rounding, without reading the tokens again.
 */
static attsvm_status finish_interrupted(svm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    attsvm_svm_info *info = &solution->info;
    bool proved;
    run->pass = run->best_pass;
    run->pass.min_margin -= 2 * run->pass.noise;
    run->pass.scale = (1 + 0x1p-51) / run->pass.min_margin;
    run->pass.slacks += run->pass.noise * (double)svm_rows_count(run->rows);
    TRY(svm_certify(run, solution, &proved, err));
    info->outcome = ATTSVM_STALLED;
    if (!run->has_best) {
        info->gap = info->violation = info->objective = NAN;
        info->tight = -1;
    }
    return ATTSVM_OK;
}

attsvm_status svm_stop_finish(svm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    svm_set *set = &run->set;
    svm_pass_settings settings = run->pass_settings;
    const double long_pass = 1; /* second */
    bool alone = !run->rows->data->comm, proved;
    bool slow = run->find.seconds > long_pass * fmax(run->find.passes, 0.01);
    run->interrupted |= dist_stop_why(&run->stop) != DIST_GO_ON && slow && alone;
    run->stopped = true;
    svm_certify_in(run, &run->plan->phases[run->plan->count - 1]);
    TRY(svm_certify_reserve(run, err));
    TRY(svm_certify_choose(run, err));
    if (run->has_best) {
        memcpy(set->theta, run->best, (size_t)set->size * sizeof(double));
        memset(set->theta_lo, 0, (size_t)set->size * sizeof(double));
    }
    if (run->interrupted)
        return finish_interrupted(run, solution, err);
    run->find.stop = NULL;
    svm_sample_all(&settings);
    settings.read_everything = settings.exact = true;
    settings.most = 0;
    settings.soft = set->soft > 0 ? set : NULL;
    TRY(svm_find_pass(&run->find, set->theta, set->theta_lo, &settings, &run->pass, err));
    TRY(svm_certify(run, solution, &proved, err));
    if (run->norm->local && !run->phase->norm->local) /* its rank is not limited */
        solution->info.outcome = ATTSVM_STALLED;
    return ATTSVM_OK;
}
