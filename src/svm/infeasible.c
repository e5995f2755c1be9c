/* Certificates of infeasibility (theory 4.1), in any norm. */
#include "svm/svm.h"

#include <math.h>

/* Largest residual of a proof, relative to its terms; the checker allows 1e-12. */
static const double FARKAS = 5e-13;

/* Sum of lambda |A|_dual, in set units. */
static double total_size(svm_run *run, const double *coef)
{
    svm_set *set = &run->set;
    double sum = 0;
    for (int64_t s = 0; s < set->count; s++)
        if (coef[s] != 0)
            sum += fabs(coef[s]) * svm_norm_of_row(run->norm, run->q, set, s) * set->sigma[s];
    return sum;
}

static void no_theta(svm_run *run, attsvm_solution *solution)
{
    for (int64_t k = 0; k < run->rows->size; k++)
        solution->theta[k] = NAN;
    solution->info.outcome = ATTSVM_INFEASIBLE;
}

attsvm_status svm_certify_infeasible(svm_run *run, attsvm_solution *solution, bool *proved,
                                     attsvm_error *err)
{
    const double *coef = run->phase->proof;
    dd value, norm;
    TRY(svm_certify_reserve(run, err));
    TRY(svm_certify_evaluate(run, coef, &value, &norm, err));
    *proved = value.hi > 0 && norm.hi <= FARKAS * total_size(run, coef);
    if (!*proved)
        return ATTSVM_OK;
    no_theta(run, solution);
    solution->info.residual = norm.hi / value.hi;
    return svm_certify_store(run, solution, coef, 1 / value.hi, err);
}

attsvm_status svm_certify_conflict(svm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    int64_t term = run->pass.conflict_term, token = run->pass.conflict_token;
    svm_term at = svm_rows_term(run->rows, term);
    attsvm_claim *claim = &solution->claim;
    attsvm_svm_info *info = &solution->info;
    bool equality = svm_rows_kind(run->rows, &at, token) == SVM_EQUAL;
    attsvm_row **rows = equality ? &solution->equal : &solution->active;
    double **values = equality ? &solution->mu : &solution->lambda;
    TRY(base_allocate(rows, 1, sizeof **rows, "proof", err));
    TRY(base_allocate(values, 1, sizeof **values, "proof", err));
    (*rows)[0] = (attsvm_row){ at.i, at.q, token };
    (*values)[0] = 1 / svm_rows_rhs(run->rows, &at, token);
    *(equality ? &claim->equal_count : &claim->active_count) = 1;
    info->conflict = true;
    info->pair = (*rows)[0];
    info->pair_selected = at.base;
    info->residual = 0;
    info->active = !equality;
    no_theta(run, solution);
    return ATTSVM_OK;
}
