/*
 * Constraint generation, for every norm.  A problem is solved in phases (l2 for feasibility, then
 * its norm, then its rank limit), each from the rows and the theta of the one before:
 *
 *   set = first rows
 *   for each phase:
 *       do { norm->solve(set)        the small problem, exactly
 *            find(set, theta)        one pass: violated rows, smallest margin, duplicates
 *            set += worst rows;  set -= inactive rows far from tight
 *       } while a row is violated and not stopped
 *       certificate(set, theta)      gap <= tol, else once more in higher precision, else stalled
 *
 * The dual value increases every time, so no set repeats, and the method terminates.  The last
 * pass, which finds no violated row, is the certificate of feasibility.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_IDLE = 40, /* rounds in double-double that add no row: each may improve the last digits */
    FIRST_ROWS = 500, /* of a later phase, or more if more are tight */
    MANY_ROWS = 1000  /* above this, start with a rough solution     */
};
static const double ROUGH_JOIN = 0.02;  /* slack of rows that join after a rough solution         */
static const double CORE_JOIN = 0.05;   /* of the tolerance: rows violated by more join the set   */
static const double FINE_FLOOR = 1e-24; /* of |A||theta|: a row holds, in higher precision        */
static const double ZERO_FLOOR = 1e-14; /* of |A||theta|: a row with b = 0 of an active set holds */

/* ------------------------------------------------------------------------ memory */

static attsvm_status open_run(svm_run *run, attsvm_error *err)
{
    const attsvm_svm_settings *settings = &run->problem->settings;
    size_t size = (size_t)run->rows->size;
    double limit = settings->time_limit;
    dist_stop_open(&run->stop, run->rows->data->comm, limit, run->observer ? svm_stop_tell : NULL,
                   run);
    run->pass_settings = (svm_pass_settings){ .seed = (uint64_t)settings->seed,
                                              .share = UINT64_MAX,
                                              .slack_below = INFINITY,
                                              .tolerance = run->plan->phases[0].tol / 8,
                                              .floor = 0x1p-53,
                                              .zero_floor = ZERO_FLOOR };
    TRY(svm_set_create(&run->set, run->rows, settings->soft, 64, err));
    TRY(svm_find_create(&run->find, run->rows, base_threads(settings->threads), err));
    run->set.threads = run->find.threads;
    run->find.stop = &run->stop;
    TRY(base_allocate(&run->zero, 4 * size, sizeof(double), "theta", err));
    run->sum = run->zero + size;
    run->sum_lo = run->sum + size;
    run->low = run->sum_lo + size;
    return ATTSVM_OK;
}

static void close_phase(svm_phase *phase)
{
    if (phase->norm->close)
        phase->norm->close(phase);
    free(phase->proof);
    free(phase->earlier);
    free(phase->tight);
    phase->proof = phase->earlier = NULL;
    phase->tight = NULL;
}

static void close_run(svm_run *run)
{
    svm_set_free(&run->set);
    svm_find_free(&run->find);
    free(run->zero);
    free(run->start);
    free(run->coef);
}

/* ------------------------------------------------------------------------- steps */

/* Whether this round only searches for missing rows. */
static bool is_rough(const svm_run *run)
{
    const svm_phase *phase = run->phase;
    return phase->norm->rough && phase->round == 0 && run->set.count >= MANY_ROWS;
}

/*
 * One pass at theta.  Only a pass that may be the last is exact: it needs refined multipliers, and
 * rows near their b in double-double; the others allow for rounding.
 */
static attsvm_status find_violated(svm_run *run, bool exact, attsvm_error *err)
{
    const svm_phase *phase = run->phase;
    svm_pass_settings *settings = &run->pass_settings;
    bool active_set = phase->norm->active_set;
    settings->exact = exact;
    settings->tolerance = exact ? phase->tol / 8 : 1e-8;
    settings->floor = !exact ? 1e-13 : phase->extended ? FINE_FLOOR : 0x1p-53;
    settings->zero_floor = phase->extended && exact ? FINE_FLOOR : ZERO_FLOOR;
    settings->soft = run->set.soft > 0 ? &run->set : NULL;
    settings->most = svm_first_most(run->rows);
    settings->every_row = !active_set;
    settings->set = &run->set;
    settings->join_below = is_rough(run) ? ROUGH_JOIN : 0;
    if (!active_set) { /* scaling cannot repair a violated row with b = 0 */
        settings->tolerance = CORE_JOIN * fmin(phase->tol, 1e-9);
        settings->floor = 0x1p-53;
        settings->zero_floor = 0;
        settings->most = run->set.count / 2 + FIRST_ROWS / 2;
    }
    TRY(svm_find_pass(&run->find, run->set.theta, run->set.theta_lo, settings, &run->pass, err));
    run->rounds++;
    run->interrupted |= run->pass.interrupted;
    return ATTSVM_OK;
}

/* Adds the rows found by the pass; *more: the set must be solved again. */
static attsvm_status add_violated(svm_run *run, bool *more, attsvm_error *err)
{
    svm_phase *phase = run->phase;
    int64_t added;
    TRY(svm_find_add(&run->find, &run->set, &added, err));
    *more = run->find.found_count > 0;
    if (*more && added == 0) { /* rows that the solver considers satisfied: it needs more digits */
        run->stopped = run->stopped || (phase->extended && ++run->idle_rounds > MOST_IDLE);
        phase->extended = true;
    }
    return ATTSVM_OK;
}

/*
 * Drops inactive rows far from tight: they slow down every margin computation.  Uses the margins of
 * the last solve.
 */
static void drop_inactive(svm_run *run)
{
    svm_set *set = &run->set;
    int64_t more = svm_first_most(run->rows), d = run->rows->d, active = run->phase->active;
    int64_t most = 3 * d + 64 > more ? active + more : 2 * active + d + 64;
    if (!run->phase->norm->active_set || set->count <= most || run->phase->extended ||
        set->soft > 0)
        return;
    double limit = 2;
    for (int64_t near = set->count; near > most && limit > 1e-3;) {
        limit /= 2;
        near = 0;
        for (int64_t s = 0; s < set->count; s++)
            near +=
                set->place[s] != SVM_AT_ZERO || set->margin[s] - set->b[s] <= limit * set->sigma[s];
    }
    svm_set_shrink(set, limit);
}

/* After a pass that found violated rows: in a large problem, search terms close to their margin. */
static void narrow_search(svm_run *run, bool whole)
{
    run->certify_next = !run->patient || run->pass.violated < run->rows->terms.count / 100;
    if (whole && run->sampling)
        svm_sample_near(&run->pass_settings, &run->find);
    else if (run->pass_settings.unread_only)
        svm_sample_grow(&run->pass_settings, &run->find);
}

/* After a pass that found nothing, short of the certificate. */
static void widen_search(svm_run *run, bool whole)
{
    if (whole)
        run->certify_next = true;
    else
        svm_sample_widen(&run->pass_settings, &run->find);
}

/*
 * Whether the rows that make theta stationary are tight, exactly: with long rows the solver, in
 * double, cannot tell.
 */
static bool is_stationary(svm_run *run, const attsvm_solution *solution)
{
    const double limit = 0.99e-7; /* that of the checker, less its rounding */
    const svm_phase *phase = run->phase;
    const svm_set *set = &run->set;
    double *off = run->packed;
    bool tight = phase->stationary;
    if (!tight || phase->tight_count == 0)
        return tight;
    svm_set_residual_exact(&run->set, phase->tight, phase->tight_count, solution->theta, run->low,
                           off);
    for (int64_t k = 0; k < phase->tight_count; k++)
        tight = tight && -off[k] <= limit * set->b[phase->tight[k]];
    return tight;
}

/* The certificate of the phase. *done: the solve ends without a proof. */
static attsvm_status certify(svm_run *run, attsvm_solution *solution, bool *proved, bool *done,
                             attsvm_error *err)
{
    svm_phase *phase = run->phase;
    attsvm_svm_info *info = &solution->info;
    TRY(svm_certify(run, solution, proved, err));
    if (*proved)
        return ATTSVM_OK;
    if (phase->norm->local) {
        *done = true;
        if (is_stationary(run, solution) && isfinite(info->gap) && info->violation <= 1e-9)
            info->outcome = ATTSVM_STATIONARY;
        return ATTSVM_OK;
    }
    if (phase->extended && phase->feasibility) {
        *proved = true; /* no row is violated, which is sufficient for the next phase */
        return ATTSVM_OK;
    }
    *done = phase->extended;
    phase->extended = true;
    return *done ? svm_stop_finish(run, solution, err) : ATTSVM_OK;
}

/* After an unsuccessful solve of the set. *done false: try again in higher precision. */
static attsvm_status end_solve(svm_run *run, svm_end end, attsvm_solution *solution, bool *done,
                               attsvm_error *err)
{
    svm_phase *phase = run->phase;
    *done = true;
    if (end != SVM_INFEASIBLE)
        return svm_stop_finish(run, solution, err);
    svm_certify_in(run, &run->plan->phases[run->plan->count - 1]);
    TRY(svm_certify_infeasible(run, solution, done, err));
    if (*done)
        return ATTSVM_OK;
    svm_certify_in(run, phase);
    *done = phase->extended;
    if (*done)
        return svm_stop_finish(run, solution, err);
    phase->extended = true;
    return ATTSVM_OK;
}

/* x = 0 unless its entries are finite; returns whether they were. */
static bool keep_finite(double *x, int64_t count)
{
    bool finite = isfinite(la_norm(x, count));
    if (!finite)
        memset(x, 0, (size_t)count * sizeof *x);
    return finite;
}

/* Solves the set; a solve that leaves the range of doubles ends without a result. */
static attsvm_status solve_set(svm_run *run, svm_end *end, attsvm_error *err)
{
    svm_set *set = &run->set;
    attsvm_status status = run->phase->norm->solve(run->phase, end, err);
    if (status != ATTSVM_OK && status != ATTSVM_E_NUMERIC)
        return status;
    bool finite = status == ATTSVM_OK;
    double *const parts[] = { set->theta, set->theta_lo, set->lambda, set->lambda_lo };
    for (int k = 0; k < 4; k++)
        finite = keep_finite(parts[k], k < 2 ? set->size : set->count) && finite;
    if (finite)
        return ATTSVM_OK;
    if (err)
        *err = (attsvm_error){ 0 };
    *end = SVM_LIMIT;
    return ATTSVM_OK;
}

/* The loop of one phase. *done: the solve ends, not only the phase. */
static attsvm_status generate(svm_run *run, attsvm_solution *solution, bool *done,
                              attsvm_error *err)
{
    svm_phase *phase = run->phase;
    for (bool proved = false, more; !proved && !*done; phase->round++) {
        svm_end end;
        bool whole = svm_sample_is_whole(&run->pass_settings);
        bool exact = whole && run->certify_next && !is_rough(run);
        phase->precision = exact ? SVM_EXACT : is_rough(run) ? SVM_ROUGH : SVM_PLAIN;
        TRY(solve_set(run, &end, err));
        if (end != SVM_SOLVED) {
            TRY(end_solve(run, end, solution, done, err));
            continue;
        }
        drop_inactive(run);
        TRY(find_violated(run, exact, err));
        if (run->pass.conflict_term >= 0) {
            *done = true;
            return svm_certify_conflict(run, solution, err);
        }
        if (run->interrupted || svm_stop_now(run)) {
            *done = true;
            TRY(svm_stop_keep_best(run, err));
            return svm_stop_finish(run, solution, err);
        }
        TRY(add_violated(run, &more, err));
        if (more || !exact)
            TRY(svm_stop_keep_best(run, err));
        if (more)
            narrow_search(run, whole);
        else if (!exact)
            widen_search(run, whole);
        else
            TRY(certify(run, solution, &proved, done, err));
    }
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ phases */

static attsvm_status first_rows(svm_run *run, const attsvm_claim *warm, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    const svm_norm *norm = run->plan->phases[0].norm;
    run->sampling = svm_sample_start(&run->pass_settings, rows);
    svm_first first = { .find = &run->find,
                        .settings = &run->pass_settings,
                        .warm = warm,
                        .all = norm->stores_all && !rows->b_is_zero && !rows->data->comm &&
                               norm->stores_all(&run->set, svm_rows_count(rows)),
                        .theta = run->sum,
                        .zero = run->zero };
    TRY(svm_first_rows(&first, &run->set, &run->pass, err));
    run->interrupted = run->pass.interrupted;
    if (run->set.whole)
        svm_sample_all(&run->pass_settings);
    return ATTSVM_OK;
}

/* The first rows of a later phase: those closest to their b at its start. */
static attsvm_status nearest_rows(svm_run *run, int64_t tight, attsvm_error *err)
{
    svm_set *set = &run->set;
    svm_find *find = &run->find;
    int64_t added, most = tight + tight / 4;
    svm_pass_settings settings = run->pass_settings;
    settings.most = most > FIRST_ROWS ? most : FIRST_ROWS;
    if (set->whole && set->count <= settings.most)
        return ATTSVM_OK;
    settings.exact = false;
    settings.every_row = settings.read_everything = true;
    settings.join_below = INFINITY;
    settings.set = NULL;
    TRY(svm_find_pass(find, run->start, run->zero, &settings, &run->pass, err));
    run->interrupted |= run->pass.interrupted;
    if (find->found_count == settings.most) {
        svm_set_margins(set, run->start);
        svm_set_shrink(set, find->found[find->found_count - 1].slack);
    }
    return svm_find_add(find, set, &added, err);
}

/* Takes over the result of the previous phase: its theta is feasible and the best so far. */
static attsvm_status take_over(svm_run *run, const attsvm_solution *solution, attsvm_error *err)
{
    const size_t bytes = (size_t)run->set.size * sizeof(double);
    double before = la_norm(run->set.theta, run->set.size);
    double now = la_norm(solution->theta, run->set.size);
    if (!run->start)
        TRY(base_allocate(&run->start, (size_t)run->set.size, sizeof(double), "theta", err));
    memcpy(run->start, solution->theta, bytes);
    memcpy(run->set.theta, solution->theta, bytes);
    memset(run->set.theta_lo, 0, bytes);
    run->best_pass = run->pass;
    if (run->norm->local) { /* it has no acceptable point yet, and nothing is known of its rows */
        memset(run->set.theta, 0, bytes);
        run->best_pass = (svm_pass){ 0 };
    }
    if (!run->pass_is_at_stored_theta && before > 0) {
        run->best_pass.min_margin *= now / before;
        run->best_pass.min_zero_margin *= now / before;
    }
    run->has_best = !run->norm->local && now > 0 && isfinite(run->best_pass.min_margin);
    run->best_value = NAN; /* computed on demand, because a norm may be expensive */
    return ATTSVM_OK;
}

/* *done: the phase has nothing to do. */
static attsvm_status open_phase(svm_run *run, svm_phase *phase, const attsvm_solution *solution,
                                bool *done, attsvm_error *err)
{
    const svm_phase *before = run->phase;
    phase->set = &run->set;
    phase->stop = &run->stop;
    if (phase->norm->open)
        TRY(phase->norm->open(phase, err));
    if (before && !before->feasibility)
        phase->iterations = before->iterations;
    run->phase = phase;
    svm_certify_in(run, phase);
    if (before) {
        TRY(take_over(run, solution, err));
        phase->start = run->start;
        *done = solution->info.norm == 0;
        if (!*done && phase->norm->is_solved)
            TRY(phase->norm->is_solved(phase, done, err));
        if (*done)
            return ATTSVM_OK;
        run->rounds = before->feasibility ? 0 : run->rounds;
        run->sampling = false;
        svm_sample_all(&run->pass_settings);
        TRY(nearest_rows(run, solution->info.tight, err));
    }
    run->idle_rounds = 0;
    run->patient = run->rows->matrix && svm_rows_count(run->rows) > run->set.count;
    run->certify_next = !run->patient;
    return ATTSVM_OK;
}

static attsvm_status solve_phases(svm_run *run, const attsvm_claim *warm, attsvm_solution *solution,
                                  attsvm_error *err)
{
    TRY(first_rows(run, warm, err));
    bool done = run->pass.conflict_term >= 0;
    attsvm_status status = done ? svm_certify_conflict(run, solution, err) : ATTSVM_OK;
    for (int k = 0; k < run->plan->count && status == ATTSVM_OK && !done; k++) {
        svm_phase *phase = &run->plan->phases[k];
        status = open_phase(run, phase, solution, &done, err);
        if (status == ATTSVM_OK && !done)
            status = generate(run, solution, &done, err);
        close_phase(phase);
    }
    return status;
}

attsvm_status svm_drive(const attsvm_problem *problem, svm_plan *plan, const attsvm_claim *warm,
                        attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                        attsvm_error *err)
{
    svm_run run = { .problem = problem,
                    .rows = &problem->rows,
                    .plan = plan,
                    .observer = observer,
                    .context = context };
    attsvm_status status = svm_solution_open(out, problem, err);
    if (status == ATTSVM_OK)
        status = open_run(&run, err);
    if (status == ATTSVM_OK) {
        run.best = (*out)->theta; /* scaled at the end */
        status = solve_phases(&run, warm, *out, err);
    }
    if (status == ATTSVM_OK)
        svm_solution_close(*out, &run);
    close_run(&run);
    if (status == ATTSVM_OK) {
        (*out)->info.seconds = base_seconds() - run.stop.start;
    } else {
        attsvm_solution_free(*out);
        *out = NULL;
    }
    return status;
}
