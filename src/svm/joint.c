/* The joint problem: a v-SVM, then the p-SVM whose right-hand sides it decides. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>

enum { TIGHT, SLACK, UNDECIDED };

/*
 * Whether the v-SVM is tight at a sequence (theory 4.1).  In l2 every optimal v is within rho = |v|
 * sqrt(2 gap) of this one, and by complementarity lambda (m - 1) <= |G||v| - b'lambda at every
 * optimal v, m its margin; in other norms the computed head decides.
 */
static int decide(double norm, double gap, bool l2, double margin, double length, double lambda)
{
    const double limit = 1 + 1e-7;
    double rho = l2 ? 1.01 * norm * sqrt(2 * gap) * length : 0;
    if (margin - rho > limit)
        return SLACK;
    /* multipliers in norm form: |G| = 1, b'lambda = (1 - gap) |v| */
    bool complementary = l2 && 1.01 * gap * norm <= 1e-7 * lambda;
    return margin + rho <= limit || complementary ? TIGHT : UNDECIDED;
}

/* Y x'v of the selected token of sequence i, x (d) scratch that gets the token. */
static dd margin_of(const attsvm_problem *problem, const attsvm_solution *head, int64_t i,
                    double *x)
{
    const attsvm_data *data = problem->data;
    attsvm_data_token(data, i, problem->rows.base[i], x);
    dd product = base_dd_dot(x, head->theta, data->d);
    if (head->theta_lo)
        product = base_dd_add(product, base_dd_dot(x, head->theta_lo, data->d));
    return attsvm_data_label(data, i) < 0 ? base_dd_sub(base_dd(0), product) : product;
}

/*
 * The gap of the head to the digits that decide: its own takes the smallest margin from doubles,
 * which do not tell it from 1 below 2^-53.
 */
static double honest_gap(const attsvm_problem *problem, const attsvm_solution *head, double *x)
{
    const double rounding = 0x1p-90;
    double short_of = 0;
    int64_t lo, hi;
    data_own(problem->data, &lo, &hi);
    for (int64_t i = lo; i < hi; i++) {
        dd below = base_dd_sub(base_dd(1), margin_of(problem, head, i, x));
        short_of = fmax(short_of, base_dd_value(below));
    }
    dist_max(problem->data->comm, &short_of, 1);
    return head->info.gap + short_of + rounding;
}

/* b_is_zero[i] = 1 if the v-SVM is not tight at sequence i; *undecided: the gap leaves one open. */
static attsvm_status mark_zeros(const attsvm_problem *problem, const attsvm_solution *head,
                                uint8_t *b_is_zero, bool *undecided, attsvm_error *err)
{
    const attsvm_data *data = problem->data;
    const attsvm_claim *claim = &head->claim;
    const bool l2 =
        problem->settings.norm == ATTSVM_NORM_L2 || problem->settings.norm == ATTSVM_NORM_FRO;
    double *x, *lambda;
    TRY(base_allocate(&x, (size_t)(data->d + data->n), sizeof *x, "token", err));
    lambda = x + data->d;
    for (int64_t k = 0; k < claim->active_count; k++)
        lambda[claim->active[k].sequence] = claim->lambda[k];
    const double gap = honest_gap(problem, head, x);
    int64_t lo, hi;
    data_own(data, &lo, &hi);
    bool open = false;
    for (int64_t i = lo; i < hi; i++) {
        double margin = base_dd_value(margin_of(problem, head, i, x));
        int answer = decide(head->info.norm, gap, l2, margin, la_norm(x, data->d), lambda[i]);
        b_is_zero[i] = answer == SLACK || (answer == UNDECIDED && margin > 1 + 1e-7);
        open = open || answer == UNDECIDED;
    }
    free(x);
    *undecided = dist_any(data->comm, open);
    if (data->comm)
        dist_gather(data->comm, b_is_zero, 1, data->share);
    return ATTSVM_OK;
}

/* Subtracts what the head has used from the limits, which hold for both solves together. */
static void take_off(attsvm_svm_settings *settings, double seconds, int64_t iterations)
{
    const double least = 1e-9; /* 0 would mean no limit */
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
    attsvm_problem own =
        *problem; /* a copy, because other threads may solve the caller's problem */
    bool undecided;
    TRY(base_allocate(&own.rows.b_is_zero, (size_t)problem->data->n, 1, "b", err));
    take_off(&own.settings, seconds, head->info.iterations);
    attsvm_status status = mark_zeros(problem, head, own.rows.b_is_zero, &undecided, err);
    if (status == ATTSVM_OK)
        status = svm_problem_solve(&own, warm, observer, context, out, err);
    if (status == ATTSVM_OK) {
        (*out)->claim.settings = problem->settings;
        if (undecided) { /* it is not known whether these are the rows of the problem */
            (*out)->info.outcome = (*out)->claim.outcome = ATTSVM_STALLED;
            (*out)->info.undecided = true;
            (*out)->info.bound = NAN;
        }
    }
    free(own.rows.b_is_zero);
    return status;
}

/*
 * Solves the v-SVM until its gap decides which rows are tight: if double precision does not decide,
 * again with a gap that only double-double reaches.
 */
static attsvm_status solve_head(const attsvm_problem *problem, const attsvm_problem *head_problem,
                                attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                                attsvm_error *err)
{
    const double far = 1e-24;
    TRY(svm_problem_solve(head_problem, NULL, observer, context, out, err));
    if ((*out)->info.outcome != ATTSVM_OPTIMAL)
        return ATTSVM_OK;
    uint8_t *b_is_zero;
    bool undecided = false;
    TRY(base_allocate(&b_is_zero, (size_t)problem->data->n, 1, "b", err));
    attsvm_status status = mark_zeros(problem, *out, b_is_zero, &undecided, err);
    free(b_is_zero);
    if (status != ATTSVM_OK || !undecided)
        return status;
    attsvm_problem finer = *head_problem; /* the same rows */
    attsvm_solution *second;
    finer.settings.tol = far;
    TRY(svm_problem_solve(&finer, &(*out)->claim, observer, context, &second, err));
    bool better = second->info.outcome == ATTSVM_OPTIMAL;
    second->claim.settings = (*out)->claim.settings;
    attsvm_solution_free(better ? *out : second);
    *out = better ? second : *out;
    return ATTSVM_OK;
}

/* Without a head there is no joint problem; reports the outcome and the proof of the head. */
static attsvm_status take_over(const attsvm_problem *problem, const attsvm_solution *head,
                               attsvm_solution **out, attsvm_error *err)
{
    TRY(svm_solution_without(problem, head->info.outcome, out, err));
    attsvm_svm_info *info = &(*out)->info;
    info->residual = head->info.residual;
    info->proof = head->info.proof;
    info->bound = head->info.bound;
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
        status = solve_head(problem, head_problem, observer, context, &head, err);
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
