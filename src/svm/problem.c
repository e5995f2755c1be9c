/* Problems: creating them, solving one or many, and the joint problem that needs two solves. */
#include "dist/stop.h"
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

attsvm_status attsvm_problem_create(attsvm_problem **out, const attsvm_data *data,
                                    const attsvm_selection *selection,
                                    const attsvm_svm_settings *settings, attsvm_error *err)
{
    attsvm_svm_settings standard;
    attsvm_svm_settings_init(&standard);
    *out = NULL;
    if (!settings)
        settings = &standard;
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

/* slack[i] = 1 where the v-SVM is not tight at sequence i. */
static attsvm_status mark_slack(const attsvm_problem *problem, const attsvm_solution *head,
                                uint8_t *slack, attsvm_error *err)
{
    const attsvm_data *data = problem->data;
    const double *v = head->theta;
    double *x;
    TRY(base_allocate(&x, (size_t)data->d, sizeof *x, "token", err));
    int64_t lo, hi;
    data_own(data, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        attsvm_data_token(data, i, problem->rows.base[i], x);
        double margin = attsvm_data_label(data, i) * base_dd_value(base_dd_dot(x, v, data->d));
        slack[i] = margin > 1 + 1e-7;
    }
    free(x);
    if (data->comm)
        dist_gather(data->comm, slack, 1, data->share);
    return ATTSVM_OK;
}

/* What the head has left of the limits, which hold for both solves together. */
static void take_off(attsvm_svm_settings *settings, double seconds, int64_t iterations)
{
    const double least = 1e-9; /* 0 would be no limit */
    if (settings->time_limit > 0)
        settings->time_limit = fmax(settings->time_limit - seconds, least);
    settings->max_iter = settings->max_iter > iterations ? settings->max_iter - iterations : 1;
}

/* The p-SVM whose right-hand sides the head decides. */
static attsvm_status solve_prompt(const attsvm_problem *problem, const attsvm_solution *head,
                                  double seconds, const attsvm_claim *warm,
                                  attsvm_svm_observer *observer, void *context,
                                  attsvm_solution **out, attsvm_error *err)
{
    attsvm_problem own = *problem; /* the caller's may be solved by others at the same time */
    TRY(base_allocate(&own.rows.b_is_zero, (size_t)problem->data->n, 1, "b", err));
    take_off(&own.settings, seconds, head->info.iterations);
    attsvm_status status = mark_slack(problem, head, own.rows.b_is_zero, err);
    if (status == ATTSVM_OK)
        status = svm_norm_solve(&own, warm, observer, context, out, err);
    if (status == ATTSVM_OK)
        (*out)->claim.settings = problem->settings;
    free(own.rows.b_is_zero);
    return status;
}

/* Without a head there is no joint problem; its outcome, and the figures of its proof, are shown.
 */
static attsvm_status take_over(const attsvm_problem *problem, const attsvm_solution *head,
                               attsvm_solution **out, attsvm_error *err)
{
    TRY(svm_solution_without(problem, head->info.outcome, out, err));
    attsvm_svm_info *info = &(*out)->info;
    info->residual = head->info.residual;
    info->active = head->info.active;
    info->conflict = head->info.conflict;
    info->pair = head->info.pair;
    info->pair_selected = head->info.pair_selected;
    return ATTSVM_OK;
}

/* The v-SVM first; its tight rows decide the right-hand sides of the p-SVM. */
static attsvm_status solve_joint(const attsvm_problem *problem, const attsvm_claim *warm,
                                 attsvm_svm_observer *observer, void *context,
                                 attsvm_solution **out, attsvm_error *err)
{
    attsvm_problem *head_problem = NULL;
    attsvm_solution *head = NULL;
    attsvm_svm_settings settings = problem->settings;
    attsvm_selection selection = { .alpha = problem->rows.base,
                                   .terms = problem->rows.terms.count };
    double start = base_seconds();
    settings.problem = ATTSVM_PROBLEM_V;
    settings.soft = 0;
    attsvm_status status =
        attsvm_problem_create(&head_problem, problem->data, &selection, &settings, err);
    if (status == ATTSVM_OK)
        status = svm_norm_solve(head_problem, NULL, observer, context, &head, err);
    if (status == ATTSVM_OK && head->info.outcome == ATTSVM_OPTIMAL)
        status =
            solve_prompt(problem, head, base_seconds() - start, warm, observer, context, out, err);
    else if (status == ATTSVM_OK)
        status = take_over(problem, head, out, err);
    attsvm_problem_free(head_problem);
    if (status != ATTSVM_OK) {
        attsvm_solution_free(head);
        return status;
    }
    (*out)->info.passes += head->info.passes;
    (*out)->info.pass_seconds += head->info.pass_seconds;
    (*out)->info.iterations += head->info.iterations;
    (*out)->info.undecided |= head->info.undecided; /* its tight rows decide those of p */
    (*out)->info.seconds = base_seconds() - start;
    (*out)->head = head;
    (*out)->claim.head = &head->claim;
    return ATTSVM_OK;
}

attsvm_status attsvm_problem_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                                   attsvm_svm_observer *observer, void *context,
                                   attsvm_solution **out, attsvm_error *err)
{
    *out = NULL;
    if (problem->settings.problem == ATTSVM_PROBLEM_JOINT)
        return solve_joint(problem, warm, observer, context, out, err);
    return svm_norm_solve(problem, warm, observer, context, out, err);
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
        attsvm_problem own = *b->problems[k]; /* it may be in the list twice */
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
    batch b = { .problems = problems,
                .out = out,
                .count = count,
                .watch = { .observer = observer, .context = context, .total = count } };
    attsvm_status status = ATTSVM_OK;
    memset(out, 0, (size_t)count * sizeof *out);
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

/* --------------------------------------------------------------------------- rank */

attsvm_status attsvm_solution_rank(attsvm_solution *solution, attsvm_error *err)
{
    int64_t size = solution->claim.theta_count, d = (int64_t)(sqrt((double)size) + 0.5);
    int32_t problem = solution->claim.settings.problem;
    double *memory;
    if (problem != ATTSVM_PROBLEM_W && problem != ATTSVM_PROBLEM_MULTI &&
        problem != ATTSVM_PROBLEM_FINITE)
        return ATTSVM_OK;
    if (solution->info.outcome == ATTSVM_INFEASIBLE)
        return ATTSVM_OK;
    TRY(base_allocate(&memory, (size_t)(size + d), sizeof *memory, "singular values", err));
    memcpy(memory, solution->theta, (size_t)size * sizeof *memory);
    double *s = memory + size;
    attsvm_status status = la_singular_values(d, d, memory, d, s, err);
    int64_t rank = 0;
    while (status == ATTSVM_OK && rank < d && s[rank] > 1e-6 * s[0])
        rank++;
    if (status == ATTSVM_OK)
        solution->info.rank = rank;
    free(memory);
    return status;
}
