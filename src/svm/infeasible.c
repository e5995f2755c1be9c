/* Certificates of infeasibility (theory 4.1), in any norm. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void no_theta(svm_run *run, attsvm_solution *solution)
{
    for (int64_t k = 0; k < run->rows->size; k++)
        solution->theta[k] = NAN;
    solution->info.outcome = ATTSVM_INFEASIBLE;
}

/* An upper bound of m of theory 4.1, over all rows of the problem. */
static attsvm_status longest_request(const svm_run *run, double *out, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    int64_t d = rows->d;
    double *hi;
    *out = 0;
    TRY(base_allocate(&hi, 6 * (size_t)d, sizeof *hi, "rows", err));
    double *lo = hi + d, *z = lo + d, *scratch = z + d;
    for (int64_t g = 0; g < rows->terms.count; g++) {
        svm_term term = svm_rows_term(rows, g);
        if (rows->matrix)
            svm_rows_query(rows, &term, z);
        for (int64_t t = 0; t < term.visible; t++) {
            if (svm_rows_kind(rows, &term, t) == SVM_NO_ROW)
                continue;
            double b = fabs(svm_rows_rhs(rows, &term, t));
            svm_rows_delta(rows, &term, t, hi, lo, scratch);
            double size = run->norm->row_size(run->q, hi, rows->matrix ? z : NULL, d);
            if (b > 0 && size > 0)
                *out = fmax(*out, b / size * (1 + 1e-9));
        }
    }
    free(hi);
    return ATTSVM_OK;
}

/*
 * Exact if elimination finds multipliers that cancel; otherwise B = (b'lambda + e'mu)/|G|_dual must
 * be at least SVM_BEYOND m.
 */
attsvm_status svm_certify_infeasible(svm_run *run, attsvm_solution *solution, bool *proved,
                                     attsvm_error *err)
{
    attsvm_svm_info *info = &solution->info;
    dd value, norm;
    bool exact;
    double m = 0;
    TRY(svm_certify_reserve(run, err));
    memcpy(run->coef, run->phase->proof, (size_t)run->set.count * sizeof *run->coef);
    TRY(svm_exact_contradiction(run, run->coef, run->coef_lo, &exact, err));
    TRY(svm_certify_evaluate(run, run->coef, run->coef_lo, &value, &norm, err));
    exact = exact && value.hi > 0;
    double bound = exact ? INFINITY : norm.hi > 0 ? fmax(0, value.hi / norm.hi * (1 - 1e-9)) : 0;
    if (!exact && value.hi > 0)
        TRY(longest_request(run, &m, err));
    *proved = value.hi > 0 && (exact || (bound >= 2 * SVM_BEYOND * m && norm.hi > 0));
    info->bound = bound;
    if (!*proved)
        return ATTSVM_OK;
    no_theta(run, solution);
    info->proof = exact ? ATTSVM_PROOF_EXACT : ATTSVM_PROOF_BEYOND;
    info->residual = norm.hi / value.hi;
    return svm_certify_store(run, solution, run->coef, run->coef_lo, 1 / value.hi, err);
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
    info->proof = ATTSVM_PROOF_EXACT;
    info->bound = INFINITY;
    info->active = !equality;
    no_theta(run, solution);
    return ATTSVM_OK;
}
