/* Problems: what they need, creation, the phases of a solve, and batches. */
#include "dist/stop.h"
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NULL stands for all defaults, which go into *standard. */
static const attsvm_svm_settings *or_defaults(const attsvm_svm_settings *settings,
                                              attsvm_svm_settings *standard)
{
    attsvm_svm_settings_init(standard);
    return settings ? settings : standard;
}

attsvm_status attsvm_svm_terms(const attsvm_data *data, const attsvm_svm_settings *settings,
                               int64_t *terms, attsvm_error *err)
{
    NEED(data);
    NEED(terms);
    attsvm_svm_settings standard;
    settings = or_defaults(settings, &standard);
    data_terms found;
    TRY(svm_rows_terms(&found, data, settings, err));
    *terms = found.count;
    return ATTSVM_OK;
}

attsvm_status attsvm_svm_cells(const attsvm_data *data, const attsvm_svm_settings *settings,
                               int64_t *cells, attsvm_error *err)
{
    NEED(data);
    NEED(cells);
    attsvm_svm_settings standard;
    settings = or_defaults(settings, &standard);
    data_terms found;
    TRY(svm_rows_terms(&found, data, settings, err));
    return data_terms_cells(&found, NULL, cells, err);
}

attsvm_status attsvm_select_optimal(const attsvm_data *data, const attsvm_svm_settings *settings,
                                    int64_t *alpha, int64_t *ties, attsvm_error *err)
{
    NEED(data);
    NEED(alpha);
    attsvm_svm_settings standard;
    settings = or_defaults(settings, &standard);
    data_terms terms;
    data_head head;
    TRY(svm_rows_terms(&terms, data, settings, err));
    TRY(data_head_create(&head, data, settings->head, settings->kappa, err));
    attsvm_status status = data_select_optimal(&terms, &head, alpha, ties, err);
    data_head_free(&head);
    return status;
}

/* ---------------------------------------------------------------------- creation */

attsvm_status attsvm_problem_create(attsvm_problem **out, const attsvm_data *data,
                                    const attsvm_selection *selection,
                                    const attsvm_svm_settings *settings, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    NEED(selection);
    attsvm_svm_settings standard;
    settings = or_defaults(settings, &standard);
    TRY(svm_check_settings(settings, err));
    attsvm_problem *problem;
    TRY(base_allocate(&problem, 1, sizeof *problem, "problem", err));
    problem->data = data;
    problem->settings = *settings;
    attsvm_status status = svm_rows_create(&problem->rows, data, selection, settings, err);
    if (status != ATTSVM_OK) {
        attsvm_problem_free(problem);
        return status;
    }
    *out = problem;
    return ATTSVM_OK;
}

void attsvm_problem_free(attsvm_problem *problem)
{
    if (!problem)
        return;
    svm_rows_free(&problem->rows);
    free(problem);
}

/* ----------------------------------------------------------------------- solving */

/* The gap that a core aims for: this share of the tolerance, and at most CORE_GAP. */
static const double CORE_SHARE = 0.05;
static const double CORE_GAP = 1e-12;

static double tolerance(const attsvm_svm_settings *settings, const svm_norm *norm)
{
    return settings->tol > 0 ? settings->tol : norm->tol;
}

/*
 * Feasibility does not depend on the norm, so l2 decides it first, with its proof; its solution is
 * the feasible starting point for the norm of the problem.  A rank limit comes last: the
 * multipliers of the convex solution give its lower bound.
 */
static svm_plan make_plan(const attsvm_problem *problem)
{
    const attsvm_svm_settings *settings = &problem->settings;
    const svm_norm *norm = svm_norm_solved(settings, problem->rows.matrix);
    svm_plan plan = { 0 };
    svm_phase own = { .norm = norm,
                      .q = settings->q,
                      .seed = (uint64_t)settings->seed,
                      .tol = tolerance(settings, norm),
                      .max_iterations = settings->max_iter };
    own.goal = fmin(CORE_GAP, CORE_SHARE * own.tol);
    if (norm != &svm_norm_l2)
        plan.phases[plan.count++] = (svm_phase){ .norm = &svm_norm_l2,
                                                 .tol = svm_norm_l2.tol,
                                                 .feasibility = true,
                                                 .max_iterations = INT64_MAX };
    plan.phases[plan.count++] = own;
    if (settings->rank > 0) {
        own.norm = norm->limited;
        own.rank = settings->rank;
        plan.phases[plan.count++] = own;
    }
    return plan;
}

attsvm_status svm_problem_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                                attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                                attsvm_error *err)
{
    svm_plan plan = make_plan(problem);
    *out = NULL;
    TRY(svm_drive(problem, &plan, warm, observer, context, out, err));
    attsvm_svm_info *info = &(*out)->info;
    if (plan.count == 1)
        return ATTSVM_OK;
    attsvm_status status = attsvm_solution_rank(*out, err);
    if (status != ATTSVM_OK) {
        attsvm_solution_free(*out);
        *out = NULL;
        return status;
    }
    if (problem->settings.rank > 0 && info->outcome == ATTSVM_STALLED &&
        info->rank > problem->settings.rank)
        info->gap = NAN; /* stopped before a point of that rank was found */
    return ATTSVM_OK;
}

attsvm_status attsvm_problem_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                                   attsvm_svm_observer *observer, void *context,
                                   attsvm_solution **out, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(problem);
    if (problem->settings.problem == ATTSVM_PROBLEM_JOINT)
        return svm_joint_solve(problem, warm, observer, context, out, err);
    return svm_problem_solve(problem, warm, observer, context, out, err);
}

/* ----------------------------------------------------------------------- batches */

typedef struct batch {
    attsvm_problem *const *problems;
    attsvm_solution **out;
    int64_t count, blocks;
    attsvm_error *errors; /* (blocks) */
    dist_watch watch;     /* counts problems */
    dist_stop stop;
} batch;

/* A problem of a batch, and the thread that solves it. */
typedef struct batch_solve {
    batch *b;
    int worker;
} batch_solve;

static bool batch_goes_on(void *context, const attsvm_svm_progress *progress)
{
    batch_solve *s = context;
    (void)progress;
    return !dist_stop_inside(&s->b->stop, s->worker);
}

static void solve_block(void *context, int64_t block, int worker)
{
    batch *b = context;
    batch_solve solve = { b, worker };
    int64_t lo, hi;
    base_block(b->count, b->blocks, block, &lo, &hi);
    for (int64_t k = lo; k < hi && b->errors[block].status == ATTSVM_OK; k++) {
        if (dist_stop_inside(&b->stop, worker))
            return;
        attsvm_problem own =
            *b->problems[k]; /* a copy, because a problem may be in the list twice */
        own.settings.threads = 1;
        attsvm_problem_solve(&own, NULL, b->watch.observer ? batch_goes_on : NULL, &solve,
                             &b->out[k], &b->errors[block]);
        __atomic_fetch_add(&b->watch.done, 1, __ATOMIC_RELAXED);
        if (b->out[k])
            b->out[k]->claim.settings.threads = b->problems[k]->settings.threads;
    }
}

attsvm_status attsvm_problem_solve_batch(attsvm_problem *const *problems, int64_t count,
                                         int64_t threads, attsvm_observer *observer, void *context,
                                         attsvm_solution **out, attsvm_error *err)
{
    NEED(out);
    if (count < 0)
        return fail(err, ATTSVM_E_ARG, "count = %" PRId64 " problems is negative", count);
    memset(out, 0, (size_t)count * sizeof *out);
    NEED(problems);
    for (int64_t k = 0; k < count; k++)
        if (!problems[k])
            return fail(err, ATTSVM_E_ARG, "problems[%" PRId64 "] is NULL", k);
    TRY(base_check_threads(threads, err));
    batch b = { .problems = problems,
                .out = out,
                .count = count,
                .watch = { .observer = observer, .context = context, .total = count } };
    attsvm_status status = ATTSVM_OK;
    if (count == 0)
        return ATTSVM_OK;
    b.blocks = base_blocks(count, 1);
    TRY(base_allocate(&b.errors, (size_t)b.blocks, sizeof *b.errors, "batch", err));
    dist_stop_watch(&b.stop, NULL, 0, &b.watch);
    base_parallel(base_threads(threads), b.blocks, solve_block, &b);
    for (int64_t k = 0; k < b.blocks && status == ATTSVM_OK; k++)
        if (b.errors[k].status != ATTSVM_OK) {
            status = b.errors[k].status;
            if (err)
                *err = b.errors[k];
        }
    free(b.errors);
    if (status == ATTSVM_OK)
        status = dist_stop_status(&b.stop, err);
    for (int64_t k = 0; k < count && status != ATTSVM_OK; k++) {
        attsvm_solution_free(out[k]);
        out[k] = NULL;
    }
    return status;
}
