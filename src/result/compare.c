/* Compares parameters with a solution: correlation, angle, margin, efficiency (theory 3). */
#include "result/result.h"
#include "theory/theory.h"

static attsvm_status measure(attsvm_comparison *out, const attsvm_solution *solution,
                             const attsvm_data *data, const double *theta, attsvm_error *err)
{
    const attsvm_claim *claim = &solution->claim;
    svm_rows rows;
    double min_margin, min_zero_margin, optimal = solution->info.norm;
    if (isnan(optimal)) /* a loaded solution */
        TRY(svm_norm_of(&claim->settings, claim->theta, data->d, claim->theta_count / data->d,
                        &optimal, err));
    TRY(theory_rows_of(&rows, data, claim, err));
    attsvm_status status = theory_margins_min(&rows, theta, &min_margin, &min_zero_margin, err);
    svm_rows_free(&rows);
    if (status != ATTSVM_OK)
        return status;
    out->margin = isfinite(min_margin) ? min_margin : NAN;
    /* theta scaled to margin 1 is feasible, so |theta_svm| is at most its norm; rows with b = 0
       (joint problems) must hold but do not enter the margin */
    if (claim->outcome != ATTSVM_INFEASIBLE && out->norm > 0 && isfinite(min_margin))
        out->efficiency = min_zero_margin < 0 ? 0 : min_margin / out->norm * optimal;
    return ATTSVM_OK;
}

attsvm_status attsvm_solution_compare(attsvm_comparison *out, const attsvm_solution *solution,
                                      const attsvm_data *data, const double *theta, int64_t count,
                                      attsvm_error *err)
{
    NEED(out);
    NEED(solution);
    NEED(data);
    NEED(theta);
    *out = (attsvm_comparison){
        .correlation = NAN, .angle = NAN, .norm = NAN, .margin = NAN, .efficiency = NAN
    };
    const attsvm_claim *claim = &solution->claim;
    const int32_t problem = claim->settings.problem;
    const bool one_token = problem == ATTSVM_PROBLEM_P || problem == ATTSVM_PROBLEM_JOINT ||
                           problem == ATTSVM_PROBLEM_W;
    const int64_t d = data->d;
    if (count != claim->theta_count)
        return fail(err, ATTSVM_E_ARG, "theta has %" PRId64 " entries and the solution %" PRId64,
                    count, claim->theta_count);
    TRY(base_check_finite(theta, count, "theta", err));
    TRY(svm_norm_of(&claim->settings, theta, d, count / d, &out->norm, err));
    if (claim->outcome != ATTSVM_INFEASIBLE) {
        out->correlation = attsvm_correlation(theta, claim->theta, count);
        out->angle = theory_angle(theta, claim->theta, count);
    }
    return one_token ? measure(out, solution, data, theta, err) : ATTSVM_OK;
}
