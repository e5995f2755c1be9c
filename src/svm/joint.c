/* The joint problem: a v-SVM, then the p-SVM whose right-hand sides it decides. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>

/* b_is_zero[i] = 1 where the v-SVM is not tight at sequence i. */
static attsvm_status mark_zeros(const attsvm_problem *problem, const attsvm_solution *head,
                                uint8_t *b_is_zero, attsvm_error *err)
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
        b_is_zero[i] = margin > 1 + 1e-7;
    }
    free(x);
    if (data->comm)
        dist_gather(data->comm, b_is_zero, 1, data->share);
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
    attsvm_status status = mark_zeros(problem, head, own.rows.b_is_zero, err);
    if (status == ATTSVM_OK)
        status = svm_problem_solve(&own, warm, observer, context, out, err);
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

attsvm_status svm_joint_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                              attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                              attsvm_error *err)
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
        status = svm_problem_solve(head_problem, NULL, observer, context, &head, err);
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
