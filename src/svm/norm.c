/*
 * Problems in other norms than l2 and Frobenius: nuclear, spectral, l_q, l1, linf.
 *
 * Feasibility is the same question in every norm, so the Frobenius solver answers it first, with
 * its proof; its solution is the feasible point where the core of the norm starts.  The core solves
 * a working set of rows; a pass over the data finds the rows that its theta violates; they join.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NORM_WHOLE = 500, NORM_LARGE = 1000, NORM_ROUNDS = 200 };
static const double VIOLATED = 0.05;   /* of the tolerance: a row below b by that much joins  */
static const double CORE_TOL = 0.05;   /* of the tolerance: the gap that the core is asked for */
static const double LOOSE = 2e-3;      /* gap of a round that only looks for rows               */
static const double NEARLY = 0.02;     /* excess of rows that join then                         */
static const double CONTINUED = 1e-12; /* gap at which Newton alone has solved a round          */
static const double TRACE = 1e-11; /* |lambda A| over the largest that counts as zero ...       */
static const double TRACE_NUC = 1e-14; /* ... for the nuclear norm, whose gap is smaller         */
static const double WORTH = 1e-12;     /* the gap that is asked for where it costs little      */

/* ------------------------------------------------------------------------- the cores */

/*
 * Nuclear norm after the first round: Newton from the solution of the smaller working set, whose
 * violated rows have joined with lambda = 0 and w < 0.  Most rounds end here.
 */
static attsvm_status continue_nuclear(svm_norm_run *run, svm_nuclear_point *point, bool *done,
                                      attsvm_error *err)
{
    const svm_small *part = &run->part;
    arena a = { 0 };
    double *W, *lambda, *w, *sums, primal = 0;
    for (int pass = 0; pass < 2; pass++) {
        W = take(&a, (size_t)(part->p * part->q + part->p * run->rows->d));
        lambda = take(&a, (size_t)part->rows);
        w = take(&a, (size_t)part->rows);
        sums = take(&a, (size_t)(part->terms * part->p));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "working set", err));
    }
    svm_norm_project(run, run->theta, W);
    svm_small_apply(part, W, part->q, w, sums);
    for (int64_t r = 0; r < part->rows; r++) {
        lambda[r] = run->list[run->at[r]].lambda;
        primal += part->b[r] * lambda[r]; /* equal at the last optimum */
        w[r] = part->equal[r] ? 0 : w[r] - part->b[r];
    }
    point->gap = INFINITY;
    attsvm_status status = svm_nuclear_newton(part, lambda, w, W, primal, point, err);
    *done = status == ATTSVM_OK && point->gap <= CONTINUED;
    run->iterations += *done;
    free(a.base);
    return status;
}

/* Solves the part: W (p x q), lambda (rows) from the feasible W0, which is what is left of a core
   that is stopped before it has anything better. */
static attsvm_status solve_part(svm_norm_run *run, const double *W0, double *W, double *lambda,
                                attsvm_error *err)
{
    const attsvm_svm_settings *s = &run->problem->settings;
    const svm_small *part = &run->part;
    double goal = fmin(WORTH, CORE_TOL * run->tol), gap;
    svm_nuclear_point point = { .W = W, .lambda = lambda };
    bool solved = false;
    memcpy(W, W0, (size_t)(part->p * part->q) * sizeof *W);
    memset(lambda, 0, (size_t)part->rows * sizeof *lambda);
    run->stopped = run->stopped || run->iterations >= part->most;
    if (svm_small_stopped(part))
        return ATTSVM_OK;
    switch (s->norm) {
    case ATTSVM_NORM_NUC:
        if (run->rounds > 0 && run->solved)
            TRY(continue_nuclear(run, &point, &solved, err));
        if (solved)
            return ATTSVM_OK;
        return svm_nuclear_core(part, W0, run->loose ? LOOSE : 0, &point, &run->iterations, err);
    case ATTSVM_NORM_SPECTRAL:
        return svm_spectral_core(part, W0, goal, W, lambda, &gap, &run->iterations, err);
    case ATTSVM_NORM_LQ:
        TRY(svm_lq_core(part, s->q, W0, goal, W, lambda, &run->iterations, err));
        TRY(svm_lq_newton(part, s->q, W, lambda, &solved, err));
        run->undecided = !solved;
        return ATTSVM_OK;
    default:
        TRY(svm_linear_program(part, s->norm == ATTSVM_NORM_L1, W0, W, lambda, &solved,
                               &run->iterations, err));
        run->stopped = run->stopped || !solved;
        return ATTSVM_OK;
    }
}

/* W with least margin 1 over the part, where that is possible; margin and work are scratch. */
static void scale_part(const svm_small *part, double *W, double *margin, double *work)
{
    bool fixed = false;
    double least = INFINITY;
    svm_small_apply(part, W, part->q, margin, work);
    for (int64_t r = 0; r < part->rows; r++) {
        fixed = fixed || (part->equal[r] && part->b[r] != 0);
        if (!part->equal[r] && part->b[r] > 0)
            least = fmin(least, margin[r] / part->b[r]);
    }
    for (int64_t k = 0; k < part->p * part->q && !fixed && least > 0 && isfinite(least); k++)
        W[k] /= least;
}

/*
 * One round: the working set in coordinates, its core, theta and multipliers back in the list.  A
 * core that is stopped after the first round has less to offer than the round before.
 */
static attsvm_status solve_list(svm_norm_run *run, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    TRY(svm_norm_gather(run, svm_norm_named(run->problem->settings.norm)->singular, err));
    const svm_small *part = &run->part;
    arena a = { 0 };
    double *W0, *W, *lambda, *scratch, *margin, *sums;
    for (int pass = 0; pass < 2; pass++) {
        W0 = take(&a, (size_t)(part->p * part->q + part->p * rows->d));
        W = take(&a, (size_t)(part->p * part->q));
        lambda = take(&a, (size_t)part->rows);
        scratch = take(&a, (size_t)(part->p * rows->d));
        margin = take(&a, (size_t)part->rows);
        sums = take(&a, (size_t)(part->terms * part->p));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "working set", err));
    }
    svm_norm_project(run, run->fro->theta, W0);
    attsvm_status status = solve_part(run, W0, W, lambda, err);
    if (status == ATTSVM_OK)
        status = svm_small_settle(part, 1, W, err);
    if (status == ATTSVM_OK)
        scale_part(part, W, margin, sums);
    if (status == ATTSVM_OK && !(run->stopped && run->rounds > 0)) {
        svm_norm_expand(run, W, run->theta, scratch);
        for (int64_t k = 0; k < run->count; k++)
            run->list[k].lambda = 0;
        double largest = 0, *size = margin; /* |lambda A|: lengths of rows may differ by 1e18 */
        double trace = run->problem->settings.norm == ATTSVM_NORM_NUC ? TRACE_NUC : TRACE;
        for (int64_t r = 0; r < part->rows; r++) {
            const double *v = part->v + part->term[r] * part->q;
            size[r] =
                fabs(lambda[r]) * la_norm(part->u + r * part->p, part->p) * la_norm(v, part->q);
            largest = fmax(largest, size[r]);
        }
        for (int64_t r = 0; r < part->rows; r++) /* interior points leave a trace in every row */
            if (part->equal[r] || size[r] > trace * largest)
                run->list[run->at[r]].lambda = lambda[r];
    }
    free(a.base);
    return status;
}

/* ------------------------------------------------------------------------- the rounds */

static attsvm_status generate(svm_norm_run *run, attsvm_error *err)
{
    int64_t added, first = run->fro->info.tight + run->fro->info.tight / 4;
    memcpy(run->theta, run->fro->theta, (size_t)run->rows->size * sizeof *run->theta);
    TRY(svm_norm_collect(run, run->fro->theta, INFINITY, first > NORM_WHOLE ? first : NORM_WHOLE,
                         &added, err));
    /* a large working set of the nuclear norm is first solved roughly, to find the rows it lacks */
    run->loose = run->problem->settings.norm == ATTSVM_NORM_NUC && added >= NORM_LARGE;
    while (!run->stopped) {
        TRY(solve_list(run, err));
        run->rounds++;
        run->stopped = run->stopped || run->rounds >= NORM_ROUNDS;
        if (svm_norm_should_stop(run))
            break;
        TRY(svm_norm_collect(run, run->theta,
                             run->loose ? NEARLY : -VIOLATED * fmin(run->tol, 1e-9),
                             run->count / 2 + NORM_WHOLE / 2, &added, err));
        if (added == 0 && !run->loose)
            break;
        run->solved = !run->loose;
        run->loose = false;
    }
    return ATTSVM_OK;
}

/* The point of norm 0 needs no solver. */
static void copy_zero(attsvm_solution *solution, const attsvm_solution *fro,
                      const attsvm_problem *problem)
{
    memcpy(solution->theta, fro->theta, (size_t)problem->rows.size * sizeof(double));
    attsvm_svm_info info = fro->info;
    solution->info = info;
    solution->claim.outcome = info.outcome;
}

static attsvm_status solve_feasible(svm_norm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    if (run->fro->info.norm == 0) {
        copy_zero(solution, run->fro, run->problem);
        return ATTSVM_OK;
    }
    TRY(base_allocate(&run->theta, (size_t)rows->size, sizeof(double), "theta", err));
    TRY(generate(run, err));
    TRY(svm_norm_certify(run, solution, err));
    return rows->matrix ? attsvm_solution_rank(solution, err) : ATTSVM_OK;
}

attsvm_status svm_norm_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                             attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                             attsvm_error *err)
{
    if (problem->settings.rank > 0)
        return svm_rank_solve(problem, warm, observer, context, out, err);
    if (svm_norm_solved(&problem->settings, problem->rows.matrix) == &svm_norm_l2)
        return svm_solve(problem, warm, observer, context, out, err);
    attsvm_problem fro = *problem; /* the same rows */
    fro.settings.norm = ATTSVM_NORM_FRO;
    fro.settings.tol = 0;
    fro.settings.max_iter = INT64_MAX; /* the limit is for the steps of the core */
    svm_norm_run run = { .problem = problem,
                         .rows = &problem->rows,
                         .start = base_seconds(),
                         .tol = problem->settings.tol > 0
                                    ? problem->settings.tol
                                    : svm_norm_named(problem->settings.norm)->tol,
                         .observer = observer,
                         .context = context };
    *out = NULL;
    TRY(svm_solve(&fro, warm, observer, context, &run.fro, err));
    if (run.fro->info.outcome != ATTSVM_OPTIMAL) {
        attsvm_status status = svm_certificate_in_norm(problem, run.fro, err);
        if (status == ATTSVM_OK)
            *out = run.fro;
        else
            attsvm_solution_free(run.fro);
        return status;
    }
    run.passes = run.fro->info.passes;
    run.pass_seconds = run.fro->info.pass_seconds;
    attsvm_status status = svm_solution_without(problem, ATTSVM_STALLED, out, err);
    if (status == ATTSVM_OK)
        status = solve_feasible(&run, *out, err);
    attsvm_solution_free(run.fro);
    free(run.part_memory);
    free(run.list);
    free(run.theta);
    if (status != ATTSVM_OK) {
        attsvm_solution_free(*out);
        *out = NULL;
    }
    return status;
}
