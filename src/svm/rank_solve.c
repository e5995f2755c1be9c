/*
 * Problems with a rank limit: the convex solution first, whose multipliers are the lower bound,
 * then the local solver on a working set of rows.  Optimal only where the bound closes.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_WHOLE = 500, RANK_ROUNDS = 60 };
static const double VIOLATED = 1e-10; /* a row below b by that much joins */

static int by_row(const void *a, const void *b)
{
    const svm_gathered *x = a, *y = b;
    if (x->term != y->term)
        return x->term < y->term ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* The multipliers of the convex solution into the list, which contains its tight rows, unless a
   stop came before it was made. */
static void take_multipliers(svm_norm_run *run, const attsvm_solution *convex)
{
    const attsvm_claim *claim = &convex->claim;
    if (run->count == 0)
        return;
    for (int64_t k = 0; k < run->count; k++)
        run->list[k].lambda = 0;
    for (int64_t k = 0; k < claim->active_count; k++) {
        attsvm_row row = claim->active[k];
        svm_gathered key = { .term = data_terms_first(&run->rows->terms, row.sequence) + row.query,
                             .token = (int32_t)row.token };
        svm_gathered *found = bsearch(&key, run->list, (size_t)run->count, sizeof key, by_row);
        if (found)
            found->lambda = claim->lambda[k];
    }
}

/*
 * Local solutions of growing working sets, until none of the other rows is violated, each from the
 * one before.  A set without any ends it: more rows do not help.
 */
static attsvm_status generate(svm_norm_run *run, const attsvm_solution *convex, bool *stationary,
                              attsvm_error *err)
{
    const attsvm_svm_settings *settings = &run->problem->settings;
    int64_t d = run->rows->d, first = convex->info.tight + convex->info.tight / 4, added;
    TRY(svm_norm_collect(run, convex->theta, INFINITY, first > RANK_WHOLE ? first : RANK_WHOLE,
                         &added, err));
    double *W0, *W, *from, *scratch;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        W0 = take(&a, (size_t)(2 * d * d));
        W = take(&a, (size_t)(d * d));
        from = take(&a, (size_t)(2 * d * d));
        scratch = take(&a, (size_t)(d * d));
        if (pass == 0)
            TRY(base_arena_allocate(&a, "rank limit", err));
    }
    attsvm_status status = ATTSVM_OK;
    bool found = true;
    for (added = 1;
         added > 0 && found && status == ATTSVM_OK && run->rounds < RANK_ROUNDS && !run->stopped;
         run->rounds++) {
        status = svm_norm_gather(run, true, err);
        if (status == ATTSVM_OK) {
            svm_norm_project(run, convex->theta, W0);
            svm_norm_project(run, run->theta, from);
            status = svm_rank_core(&run->part, settings->norm == ATTSVM_NORM_NUC, settings->rank,
                                   W0, run->rounds > 0 ? from : NULL, (uint64_t)settings->seed, W,
                                   stationary, &run->iterations, err);
            found = la_norm(W, run->part.p * run->part.q) > 0;
        }
        if (status == ATTSVM_OK && found) {
            svm_norm_expand(run, W, run->theta, scratch);
            status = svm_norm_collect(run, run->theta, -VIOLATED, run->count / 2 + RANK_WHOLE / 2,
                                      &added, err);
        }
    }
    *stationary = *stationary && added == 0 && !run->stopped;
    free(a.base);
    return status;
}

static attsvm_status solve_limited(const attsvm_problem *problem, attsvm_solution *convex,
                                   attsvm_svm_observer *observer, void *context,
                                   attsvm_solution *solution, attsvm_error *err)
{
    double standard = svm_norm_named(problem->settings.norm)->tol;
    svm_norm_run run = { .problem = problem,
                         .rows = &problem->rows,
                         .start = base_seconds() - convex->info.seconds,
                         .passes = convex->info.passes,
                         .pass_seconds = convex->info.pass_seconds,
                         .iterations = convex->info.iterations,
                         .tol = problem->settings.tol > 0 ? problem->settings.tol : standard,
                         .observer = observer,
                         .context = context };
    bool stationary = false;
    attsvm_status status =
        base_allocate(&run.theta, (size_t)run.rows->size, sizeof *run.theta, "theta", err);
    if (status == ATTSVM_OK)
        status = generate(&run, convex, &stationary, err);
    if (status == ATTSVM_OK) {
        take_multipliers(&run, convex);
        status = svm_norm_certify(&run, solution, err);
    }
    attsvm_svm_info *info = &solution->info;
    if (status == ATTSVM_OK && info->outcome != ATTSVM_OPTIMAL && stationary &&
        info->violation <= 1e-9)
        info->outcome = solution->claim.outcome = ATTSVM_STATIONARY;
    if (status == ATTSVM_OK)
        status = attsvm_solution_rank(solution, err);
    free(run.part_memory);
    free(run.list);
    free(run.theta);
    return status;
}

attsvm_status svm_rank_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                             attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                             attsvm_error *err)
{
    attsvm_problem free_rank = *problem; /* the same rows */
    attsvm_solution *convex;
    free_rank.settings.rank = 0;
    *out = NULL;
    TRY(svm_norm_solve(&free_rank, warm, observer, context, &convex, err));
    attsvm_status status = attsvm_solution_rank(convex, err);
    bool settled =
        convex->info.outcome != ATTSVM_OPTIMAL || convex->info.rank <= problem->settings.rank;
    if (status == ATTSVM_OK && settled) {
        convex->claim.settings = problem->settings;
        if (convex->info.outcome == ATTSVM_STALLED && convex->info.rank > problem->settings.rank)
            convex->info.gap = NAN; /* stopped before there was a point of that rank */
        *out = convex;
        return ATTSVM_OK;
    }
    if (status == ATTSVM_OK)
        status = svm_solution_without(problem, ATTSVM_STALLED, out, err);
    if (status == ATTSVM_OK)
        status = solve_limited(problem, convex, observer, context, *out, err);
    attsvm_solution_free(convex);
    if (status != ATTSVM_OK) {
        attsvm_solution_free(*out);
        *out = NULL;
    }
    return status;
}
