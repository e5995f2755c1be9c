/*
 * The max-margin problems that a path is compared with, and the comparison.
 */
#include "theory/path/path.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* -------------------------------------------------------------------------- solving */

static attsvm_status take_target(path_target *out, const attsvm_svm_info *info,
                                 const attsvm_claim *claim, attsvm_error *err)
{
    free(out->theta);
    *out = (path_target){ info->outcome, info->norm, info->gap, NULL };
    if (info->outcome != ATTSVM_OPTIMAL)
        return ATTSVM_OK;
    TRY(base_allocate(&out->theta, (size_t)claim->theta_count, sizeof(double), "SVM direction",
                      err));
    memcpy(out->theta, claim->theta, (size_t)claim->theta_count * sizeof(double));
    return ATTSVM_OK;
}

static attsvm_status solve(attsvm_path *path, int32_t problem, int32_t norm, path_target *out,
                           attsvm_error *err)
{
    attsvm_svm_settings s;
    attsvm_selection selection = { .alpha = path->alpha, .terms = path->m->terms };
    attsvm_solution *solution;
    attsvm_svm_settings_init(&s);
    s.problem = problem;
    s.norm = norm;
    s.threads = path->settings.threads;
    s.query = path->settings.query;
    s.query_token = path->settings.query_token;
    TRY(theory_solve(path->data, &selection, &s, NULL, &solution, err));
    attsvm_svm_info info = attsvm_solution_describe(solution);
    attsvm_claim claim = attsvm_solution_claim(solution);
    attsvm_status status = take_target(out, &info, &claim, err);
    if (problem == ATTSVM_PROBLEM_V)
        path->tight = info.tight;
    attsvm_solution_free(solution);
    return status;
}

attsvm_status path_find_targets(attsvm_path *path, attsvm_error *err)
{
    path->targeted = true;
    if (path->m->prompt)
        TRY(solve(path, ATTSVM_PROBLEM_P, ATTSVM_NORM_L2, &path->target, err));
    else
        TRY(solve(path, ATTSVM_PROBLEM_W, path->m->factored ? ATTSVM_NORM_NUC : ATTSVM_NORM_FRO,
                  &path->target, err));
    if (!path->joint)
        return ATTSVM_OK;
    TRY(solve(path, ATTSVM_PROBLEM_V, ATTSVM_NORM_L2, &path->head, err));
    if (path->head.theta)
        TRY(solve(path, ATTSVM_PROBLEM_JOINT, ATTSVM_NORM_L2, &path->relaxed, err));
    return ATTSVM_OK;
}

/* --------------------------------------------------------------------- as a start */

attsvm_status path_factor(attsvm_path *path, const double *W, double *theta, attsvm_error *err)
{
    const model *m = path->m;
    const int64_t d = m->d, rank = m->rank;
    double *A, *K = theta + m->parameter[0].offset, *Q = theta + m->parameter[1].offset;
    TRY(base_allocate(&A, (size_t)d * (3 * (size_t)d + 1), sizeof *A, "singular vectors", err));
    double *U = A + d * d, *Vt = U + d * d, *sigma = Vt + d * d;
    memcpy(A, W, (size_t)(d * d) * sizeof *A);
    attsvm_status status = la_svd(d, d, A, d, sigma, U, d, Vt, d, err);
    base_random r = base_random_stream((uint64_t)path->settings.seed, path->drawn++);
    for (int64_t k = 0; k < rank && status == ATTSVM_OK; k++) {
        double root = sqrt(sigma[k]);
        for (int64_t j = 0; j < d; j++) {
            /* a little noise: columns that are 0 in both factors have zero gradient */
            double noise = 1e-3 * sqrt(sigma[0]);
            K[j * rank + k] = root * U[j * d + k] + noise * base_random_gauss(&r);
            Q[j * rank + k] = root * Vt[k * d + j] + noise * base_random_gauss(&r);
        }
    }
    free(A);
    return status;
}

static void copy_unit(const double *x, int64_t count, double *out)
{
    double norm = la_norm(x, count);
    for (int64_t j = 0; j < count; j++)
        out[j] = x[j] / norm;
}

bool path_towards(attsvm_path *path, bool relaxed, double *theta)
{
    const model *m = path->m;
    const path_target *target = relaxed ? &path->relaxed : &path->target;
    if (!target->theta || !(la_norm(target->theta, m->map_size) > 0))
        return false;
    if (m->factored)
        return path_factor(path, target->theta, theta, NULL) == ATTSVM_OK;
    copy_unit(target->theta, m->map_size, theta);
    if (path->joint && !path->head.theta)
        return false;
    if (path->joint)
        copy_unit(path->head.theta, m->parameter[1].count, theta + m->parameter[1].offset);
    return true;
}

/* ------------------------------------------------------------------------ comparing */

/* Y v'x_alpha - Gamma at sequence i, v the v-SVM scaled to norm 1; INFINITY if it is tight. */
static double head_excess(const attsvm_path *path, int64_t i, double *x)
{
    double margin = theory_head_margin(path->data, i, path->alpha[i], path->head.theta, x);
    return margin > 1 + THEORY_TIGHT ? (margin - 1) / path->head.norm : INFINITY;
}

/* ratio (Y v'x - Gamma) >= 1/|p_joint| at every sequence that is not tight (theory 6.8). */
static attsvm_status joint_case(attsvm_path *path, attsvm_error *err)
{
    const attsvm_data *data = path->data;
    double *x, least = INFINITY;
    if (!path->relaxed.theta)
        return ATTSVM_OK;
    TRY(base_allocate(&x, (size_t)data->d, sizeof *x, "a token", err));
    for (int64_t i = 0; i < data->n; i++)
        least = fmin(least, head_excess(path, i, x));
    free(x);
    attsvm_path_info *info = &path->info;
    info->least_ratio = 1 / (path->relaxed.norm * least);
    if (path->tight == data->n)
        info->joint = ATTSVM_JOINT_ALL_TIGHT;
    else if (path->settings.head_radius > 0)
        info->joint = ATTSVM_JOINT_UNRELAXED;
    else
        info->joint =
            path->settings.ratio >= info->least_ratio ? ATTSVM_JOINT_RELAXED : ATTSVM_JOINT_BETWEEN;
    return ATTSVM_OK;
}

static double correlate(const path_target *target, const double *theta, int64_t count)
{
    return target->theta ? attsvm_correlation(theta, target->theta, count) : NAN;
}

/* Whether the selected tokens of point k are alpha, copies included. */
static bool selects_alpha(const attsvm_path *path, int64_t k)
{
    const model *m = path->m;
    for (int64_t i = 0, term = 0; i < m->n; i++) {
        const int32_t *same = m->duplicate_of ? m->duplicate_of + data_first(m->data, i) : NULL;
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++, term++) {
            int64_t a = path->alpha[term], b = path->selected[k * m->terms + term];
            if (same ? same[a] != same[b] : a != b)
                return false;
        }
    }
    return true;
}

static attsvm_status nuclear_norm(const double *W, int64_t d, double *out, attsvm_error *err)
{
    double *A;
    TRY(base_allocate(&A, (size_t)d * (3 * (size_t)d + 1), sizeof *A, "singular values", err));
    double *U = A + d * d, *Vt = U + d * d, *sigma = Vt + d * d;
    memcpy(A, W, (size_t)(d * d) * sizeof *A);
    attsvm_status status = la_svd(d, d, A, d, sigma, U, d, Vt, d, err);
    *out = 0;
    for (int64_t k = 0; k < d && status == ATTSVM_OK; k++)
        *out += sigma[k];
    free(A);
    return status;
}

/* The smallest margin over the norm, relative to that of the SVM. */
static attsvm_status efficiency(attsvm_path *path, int64_t k, const double *theta,
                                attsvm_error *err)
{
    const model *m = path->m;
    double norm = la_norm(theta, m->map_size);
    if (!path->target.theta || path->relaxed.theta || !selects_alpha(path, k))
        return ATTSVM_OK;
    if (m->factored)
        TRY(nuclear_norm(theta, m->d, &norm, err));
    path->efficiency[k] = path->margin[k] / norm * path->target.norm;
    return ATTSVM_OK;
}

attsvm_status path_compare(attsvm_path *path, attsvm_error *err)
{
    const model *m = path->m;
    attsvm_path_info *info = &path->info;
    if (path->joint)
        TRY(joint_case(path, err));
    const path_target *main_target =
        info->joint == ATTSVM_JOINT_RELAXED || info->joint == ATTSVM_JOINT_BETWEEN ? &path->relaxed
                                                                                   : &path->target;
    for (int64_t k = 0; k < path->points; k++) {
        const double *point = path->theta + k * m->size;
        const double *theta = m->factored ? path->matrix + k * m->map_size : point;
        path->correlation[k] = correlate(main_target, theta, m->map_size);
        if (path->joint) {
            path->correlation_relaxed[k] = correlate(&path->relaxed, theta, m->d);
            path->correlation_unrelaxed[k] = correlate(&path->target, theta, m->d);
            path->correlation_v[k] = correlate(&path->head, point + m->parameter[1].offset, m->d);
        }
        TRY(efficiency(path, k, theta, err));
    }
    info->svm = main_target->outcome;
    info->svm_norm = main_target->norm;
    info->svm_gap = main_target->gap;
    info->correlation = path->points > 0 ? path->correlation[path->points - 1] : NAN;
    return ATTSVM_OK;
}
