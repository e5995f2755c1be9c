/*
 * Constraint generation.  The engine solves the set exactly; a pass over the data finds the rows
 * that its theta violates; the worst of them join the set.  The dual value rises every time, so
 * no set comes twice, and the method is finite.  The last pass, in which nothing is violated, is
 * the certificate.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 10000, MOST_FORCED = 40 };

/* ------------------------------------------------------------------------ memory */

static attsvm_status open_run(svm_run *run, const attsvm_problem *problem, attsvm_error *err)
{
    const svm_rows *rows = &problem->rows;
    const attsvm_svm_settings *settings = &problem->settings;
    size_t size = (size_t)rows->size;
    run->tol = settings->tol > 0 ? settings->tol : svm_norm_l2.tol;
    run->pass_settings = (svm_pass_settings){ .seed = (uint64_t)settings->seed,
                                              .share = UINT64_MAX,
                                              .slack_below = INFINITY,
                                              .tolerance = run->tol / 8,
                                              .floor = 0x1p-53 };
    TRY(svm_set_create(&run->set, rows, settings->soft, 64, err));
    TRY(l2_create(&run->engine, &run->set, err));
    run->engine.max_iterations = settings->max_iter;
    TRY(svm_find_create(&run->find, rows, base_threads(settings->threads), err));
    run->set.threads = run->find.threads;
    TRY(base_allocate(&run->zero, size, sizeof(double), "theta", err));
    run->sum = run->engine.step; /* certificates come when the engine is at rest */
    run->sum_lo = run->engine.step_lo;
    return ATTSVM_OK;
}

static void close_run(svm_run *run)
{
    svm_set_free(&run->set);
    l2_free(&run->engine);
    svm_find_free(&run->find);
    free(run->zero);
    free(run->coef);
    free(run->lambda_in_double);
    free(run->candidates);
}

/* Scratch by slot for the certificates. */
static attsvm_status reserve_slots(svm_run *run, attsvm_error *err)
{
    size_t count = (size_t)run->set.count + 1;
    free(run->coef);
    run->coef = NULL;
    TRY(base_allocate(&run->coef, 4 * count, sizeof *run->coef, "multipliers", err));
    run->packed = run->coef + count;
    run->slots = (int32_t *)(void *)(run->packed + 2 * count);
    return ATTSVM_OK;
}

/* ---------------------------------------------------------------------- stopping */

/* How far the observer may be behind while one set is solved. */
static const double SECONDS_BETWEEN = 0.1;

/* Tells the observer, and looks at the clock; true: stop. */
static bool should_stop(svm_run *run)
{
    const attsvm_svm_settings *settings = &run->problem->settings;
    double norm = la_norm(run->engine.theta, run->set.size), now = base_seconds();
    attsvm_svm_progress progress = {
        .rounds = run->rounds,
        .iterations = run->engine.iterations,
        .active = run->engine.count + (run->engine.cg_active > 0 ? run->engine.cg_active : 0),
        .passes = run->passes,
        .seconds = now - run->start,
        .dual = norm,
        .gap = NAN
    };
    run->asked = now;
    if (run->has_best && run->set.soft == 0 && norm > 0)
        progress.gap = 1 - norm * run->best_value;
    if (run->observer && !run->observer(run->context, &progress))
        run->stopped = true;
    if (settings->time_limit > 0 && progress.seconds > settings->time_limit)
        run->stopped = true;
    if (run->rounds > MOST_ROUNDS)
        run->stopped = true;
    if (run->rows->data->comm) /* one that wants to stop stops all */
        run->stopped = dist_vote(run->rows->data->comm, run->stopped) != 0;
    return run->stopped;
}

/* The same from inside the engine, where most calls find that it is too early to ask. */
static bool poll_run(void *context)
{
    svm_run *run = context;
    double now = base_seconds(), limit = run->problem->settings.time_limit;
    if (!run->stopped &&
        (now - run->asked > SECONDS_BETWEEN || (limit > 0 && now - run->start > limit)))
        should_stop(run);
    return run->stopped;
}

/*
 * Ranks solve the same set, so the k-th poll of one is the k-th poll of all.  When they vote must
 * not hang on their clocks: after so much work, which is a millisecond or more.
 */
static bool poll_ranks(void *context)
{
    const double between = 2e6;
    svm_run *run = context;
    double active = (double)run->engine.count;
    run->work += active * active + (double)run->set.count * (double)run->set.d;
    if (!run->stopped && run->work > between) {
        run->work = 0;
        should_stop(run);
    }
    return run->stopped;
}

static void watch(svm_run *run, attsvm_svm_observer *observer, void *context)
{
    run->observer = observer;
    run->context = context;
    run->asked = run->start;
    bool alone = !run->rows->data->comm;
    if (!alone || observer || run->problem->settings.time_limit > 0) {
        run->engine.poll = alone ? poll_run : poll_ranks;
        run->engine.poll_context = run;
    }
    if (alone) { /* ranks have terms of their own, and are asked after a pass */
        run->find.poll = run->engine.poll;
        run->find.poll_context = run;
    }
}

/* Whether a pass reads all terms that it cannot skip. */
static bool is_full(const svm_pass_settings *settings)
{
    return settings->share == UINT64_MAX && isinf(settings->slack_below) && !settings->unread_only;
}

/* Keeps theta when it is the best yet: the smallest margin relative to its norm, or the smallest
   soft objective, over all rows. */
static void keep_best(svm_run *run)
{
    double norm = la_norm(run->engine.theta, run->set.size), least = run->pass.min_margin;
    double value = run->set.soft > 0 ? -(norm * norm / 2 + run->set.soft * run->pass.slacks)
                   : norm > 0        ? least / norm
                                     : 0;
    bool feasible =
        run->set.soft > 0 || (value > 0 && isfinite(value) && run->pass.violated_zero_rows == 0);
    if (run->pass.interrupted || !is_full(&run->pass_settings) || !feasible ||
        (run->has_best && value <= run->best_value))
        return;
    run->has_best = true;
    run->best_value = value;
    run->best_pass = run->pass;
    memcpy(run->best, run->engine.theta, (size_t)run->set.size * sizeof(double));
}

/*
 * After a stop inside a pass, what is known of theta without reading the tokens again: the report
 * of the pass that found it the best, with room for rounding; or nothing.
 */
static attsvm_status finish_cut(svm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    attsvm_svm_info *info = &solution->info;
    bool proved;
    run->pass = run->best_pass;
    run->pass.min_margin -= 2 * run->pass.noise;
    run->pass.slacks += run->pass.noise * (double)svm_rows_count(run->rows);
    TRY(svm_certify(run, solution, &proved, err));
    info->outcome = ATTSVM_STALLED;
    if (!run->has_best) {
        info->gap = info->violation = info->objective = NAN;
        info->tight = -1;
    }
    return ATTSVM_OK;
}

/*
 * After a stop: the best theta that a pass has seen and the multipliers with the best bound,
 * evaluated over all rows.
 */
static attsvm_status finish_stopped(svm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    l2_active_set *e = &run->engine;
    bool proved;
    svm_pass_settings settings = run->pass_settings;
    bool hurry = run->stopped && run->pass_seconds > 1 && !run->rows->data->comm;
    run->interrupted |= hurry;
    run->stopped = true;
    TRY(reserve_slots(run, err));
    svm_choose_bound(run);
    if (run->has_best) {
        memcpy(e->theta, run->best, (size_t)run->set.size * sizeof(double));
        memset(e->theta_lo, 0, (size_t)run->set.size * sizeof(double));
    }
    if (run->interrupted)
        return finish_cut(run, solution, err);
    run->find.poll = NULL;
    settings.share = UINT64_MAX;
    settings.slack_below = INFINITY;
    settings.unread_only = false;
    settings.read_everything = settings.exact = true;
    settings.soft = NULL;
    if (run->set.soft > 0)
        settings.soft = &run->set;
    run->pass = svm_find_pass(&run->find, e->theta, e->theta_lo, &settings);
    run->passes += run->pass.visited;
    TRY(svm_certify(run, solution, &proved, err));
    solution->info.outcome = proved ? ATTSVM_OPTIMAL : ATTSVM_STALLED;
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------- steps */

/* Starts the engine anew in double-double; its multipliers so far are kept for a bound. */
static attsvm_status extend(svm_run *run, attsvm_error *err)
{
    const svm_set *set = &run->set;
    free(run->lambda_in_double);
    run->lambda_in_double = NULL;
    run->lambda_in_double_count = 0;
    TRY(base_allocate(&run->lambda_in_double, (size_t)set->count + 1, sizeof(double), "multipliers",
                      err));
    memcpy(run->lambda_in_double, set->lambda, (size_t)set->count * sizeof(double));
    run->lambda_in_double_count = set->count;
    return l2_extend(&run->engine, err);
}

/* Solves the set; in double first, in double-double where that is not enough. */
static attsvm_status solve_pool(svm_run *run, attsvm_solution *solution, bool refine, bool *done,
                                attsvm_error *err)
{
    l2_active_set *e = &run->engine;
    for (int tries = 0;; tries++) {
        svm_end end;
        bool again = false, proved = false;
        TRY(l2_run(e, refine, &end, err));
        if (end == SVM_INFEASIBLE) {
            TRY(reserve_slots(run, err));
            TRY(svm_certify_infeasible(run, solution, &proved, err));
            *done = proved;
            if (proved)
                return ATTSVM_OK;
            end = SVM_NEEDS_EXTENDED;
        }
        if (end == SVM_SOLVED && refine)
            end = l2_refine(e, &again);
        if (end == SVM_SOLVED && !again)
            return ATTSVM_OK;
        if (end == SVM_LIMIT || end == SVM_STOP || (end == SVM_NEEDS_EXTENDED && e->extended)) {
            *done = true;
            return finish_stopped(run, solution, err);
        }
        if (end == SVM_NEEDS_EXTENDED || tries > 20)
            TRY(extend(run, err));
    }
}

/* What to do with a pass that found violated rows. */
static attsvm_status add_violated(svm_run *run, int64_t *forced_rounds, attsvm_error *err)
{
    l2_active_set *e = &run->engine;
    int64_t added, forced;
    TRY(svm_set_add_worst(run, svm_most_rows(run->rows), &added, &forced, err));
    if (added > 0)
        return ATTSVM_OK;
    /* only rows that the engine takes for met: their violation shows in double-double alone */
    if (++*forced_rounds > MOST_FORCED && !e->extended)
        return extend(run, err);
    if (*forced_rounds > 2 * MOST_FORCED)
        run->stopped = true;
    if (!e->extended && e->cg_active <= 0 && forced >= 0 && run->set.place[forced] == SVM_AT_ZERO) {
        double violation = -run->forced_slack * run->set.sigma[forced];
        e->cycle_limit = e->iterations + run->set.count + 50;
        svm_end end = l2_enter(e, forced, violation, 1);
        if (end != SVM_SOLVED && end != SVM_STOP)
            return extend(run, err);
    }
    return ATTSVM_OK;
}

/*
 * Rows that entered once and are far from tight now only make find dear.  Their margins are
 * those of the engine's last look at the set.
 */
static attsvm_status drop_inactive(svm_run *run, attsvm_error *err)
{
    svm_set *set = &run->set;
    int64_t more = svm_most_rows(run->rows);
    int64_t d = run->rows->d, active = run->engine.count;
    if (run->engine.cg_active > 0)
        active = run->engine.cg_active;
    int64_t most = 3 * d + 64 > more ? active + more : 2 * active + d + 64;
    if (set->count <= most || run->engine.extended || set->soft > 0)
        return ATTSVM_OK;
    double limit = 2;
    for (int64_t near = set->count; near > most && limit > 1e-3;) {
        limit /= 2;
        near = 0;
        for (int64_t s = 0; s < set->count; s++)
            near +=
                set->place[s] != SVM_AT_ZERO || set->margin[s] - set->b[s] <= limit * set->sigma[s];
    }
    int32_t *moved;
    TRY(base_allocate(&moved, (size_t)set->count, sizeof *moved, "rows", err));
    svm_set_shrink(set, limit, moved);
    l2_move(&run->engine, moved);
    free(moved);
    return ATTSVM_OK;
}

/*
 * One pass at the engine's theta.  Only a pass that may be the last is exact: it wants refined
 * multipliers, and rows near their b in double-double; the others have room for rounding.
 */
static void find_violated(svm_run *run, bool exact)
{
    svm_pass_settings *settings = &run->pass_settings;
    settings->exact = exact;
    settings->tolerance = exact ? run->tol / 8 : 1e-8;
    settings->floor = exact ? 0x1p-53 : 1e-13;
    settings->soft = run->set.soft > 0 ? &run->set : NULL;
    double start = base_seconds();
    run->pass = svm_find_pass(&run->find, run->engine.theta, run->engine.theta_lo, settings);
    if (run->pass.visited > 0.01)
        run->pass_seconds = (base_seconds() - start) / run->pass.visited;
    run->passes += run->pass.visited;
    run->rounds++;
    run->interrupted |= run->pass.interrupted;
    keep_best(run);
}

/*
 * Reads `share` of the terms.  Those side by side are sampled together, in about RUNS runs however
 * large the sample is: a disk reads long runs as fast as a file from its start to its end, and that
 * many leave no large part of the data out.
 */
static void set_share(svm_run *run, double share)
{
    enum { RUNS = 16, LONGEST = 1 << 24 };
    const attsvm_data *data = run->rows->data;
    svm_pass_settings *settings = &run->pass_settings;
    double terms = (double)run->rows->terms.count;
    double bytes = (double)data->tokens * (double)data_row_bytes(data);
    settings->share = share < 1 ? (uint64_t)(share * 0x1p64) : UINT64_MAX;
    settings->run_bits = 0;
    for (double most = fmin(share / RUNS, LONGEST / bytes) * terms; most >= 2; most /= 2)
        settings->run_bits++;
}

/* From now on, passes look at terms close to their margin: about a tenth of them. */
static void restrict_to_near(svm_run *run)
{
    run->pass_settings.slack_below = svm_skip_quantile(&run->find, 0.1);
}

/*
 * Once the first sample is in order, four times as many terms are read, of which those that are new
 * may be violated, and so on until all were read once; then those close to their margin are brought
 * in order.  A soft problem has too many rows at their bound for that: it has its samples in order.
 */
static void grow_sample(svm_run *run)
{
    svm_pass_settings *settings = &run->pass_settings;
    if (settings->unread_only && settings->share == UINT64_MAX) {
        settings->unread_only = false;
        restrict_to_near(run);
        return;
    }
    settings->unread_only = run->set.soft == 0;
    set_share(run, (double)settings->share * 0x1p-64 * (settings->unread_only ? 4 : 8));
}

/* What comes after a pass in which nothing was violated, short of the certificate. */
static void widen_search(svm_run *run)
{
    svm_pass_settings *settings = &run->pass_settings;
    if (isfinite(settings->slack_below))
        settings->slack_below = INFINITY;
    else if (!is_full(settings))
        grow_sample(run);
    else
        run->certify_next = true;
}

static attsvm_status generate(svm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    l2_active_set *e = &run->engine;
    svm_pass_settings *settings = &run->pass_settings;
    int64_t forced_rounds = 0, terms = run->rows->terms.count;
    bool patient = run->rows->matrix && svm_rows_count(run->rows) > run->set.count;
    run->certify_next = !patient;
    for (bool done = false, proved;;) {
        bool full = is_full(settings);
        bool exact = full && run->certify_next;
        TRY(solve_pool(run, solution, exact, &done, err));
        if (done)
            return ATTSVM_OK;
        TRY(drop_inactive(run, err));
        find_violated(run, exact);
        if (run->pass.conflict_term >= 0)
            return svm_certify_conflict(run, solution, run->pass.conflict_term,
                                        run->pass.conflict_token, err);
        if (run->interrupted || should_stop(run))
            return finish_stopped(run, solution, err);
        if (run->pass.violated > 0) {
            TRY(add_violated(run, &forced_rounds, err));
            run->certify_next = !patient || run->pass.violated < terms / 100;
            /* of many terms, those close to their margin are brought in order first */
            if (full && run->sampling)
                restrict_to_near(run);
            else if (settings->unread_only)
                grow_sample(run);
        } else if (!exact) {
            widen_search(run);
        } else {
            TRY(reserve_slots(run, err));
            TRY(svm_certify(run, solution, &proved, err));
            if (proved)
                return ATTSVM_OK;
            if (e->extended)
                return finish_stopped(run, solution, err);
            TRY(extend(run, err));
        }
    }
}

/* ------------------------------------------------------------------------- solve */

/* Sets the sample that a large problem starts from. */
static void choose_sample(svm_run *run)
{
    double terms = (double)run->rows->terms.count, share = 1;
    if (run->rows->problem != ATTSVM_PROBLEM_FINITE && !run->rows->matrix && terms > 2000)
        share = fmax(0.02, 2.0 * (double)run->rows->d / terms);
    run->sampling = share < 0.5;
    set_share(run, run->sampling ? share : 1);
}

attsvm_status svm_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                        attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                        attsvm_error *err)
{
    svm_run run = {
        .problem = problem, .rows = &problem->rows, .norm = &svm_norm_l2, .start = base_seconds()
    };
    bool whole = false;
    attsvm_status status = svm_solution_open(out, problem, err);
    if (status == ATTSVM_OK)
        status = open_run(&run, problem, err);
    if (status == ATTSVM_OK) {
        run.best = (*out)->theta; /* until the end, when it is scaled */
        watch(&run, observer, context);
        choose_sample(&run);
        status = svm_seed(&run, warm, &whole, err);
        if (whole)
            run.pass_settings.share = UINT64_MAX;
    }
    if (status == ATTSVM_OK && run.pass.conflict_term >= 0)
        status =
            svm_certify_conflict(&run, *out, run.pass.conflict_term, run.pass.conflict_token, err);
    else if (status == ATTSVM_OK)
        status = generate(&run, *out, err);
    if (status == ATTSVM_OK)
        svm_solution_close(*out, &run);
    close_run(&run);
    if (status == ATTSVM_OK)
        (*out)->info.seconds = base_seconds() - run.start;
    else {
        attsvm_solution_free(*out);
        *out = NULL;
    }
    return status;
}
