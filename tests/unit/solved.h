/* Solving a problem in a test: every answer goes through the checker. */
#ifndef ATTSVM_SOLVED_H
#define ATTSVM_SOLVED_H

#include "claims.h"

/* |a - b| <= tolerance */
#define assert_near(a, b, tolerance)                                                               \
    do {                                                                                           \
        double a_ = (a), b_ = (b);                                                                 \
        if (!(fabs(a_ - b_) <= (tolerance)))                                                       \
            fail_msg("%s = %.17g is not %.17g", #a, a_, b_);                                       \
    } while (0)

static inline attsvm_svm_settings settings_for(attsvm_problem_kind problem)
{
    attsvm_svm_settings settings;
    attsvm_svm_settings_init(&settings);
    settings.problem = (int32_t)problem;
    settings.threads = 1;
    return settings;
}

/* The caller frees the solution. */
static inline attsvm_solution *solved(const attsvm_data *data, const attsvm_svm_settings *settings,
                                      const attsvm_selection *selection, attsvm_outcome expected)
{
    attsvm_error err;
    attsvm_problem *problem;
    attsvm_solution *solution;
    assert_ok(problem_create(&problem, data, selection, settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
    attsvm_problem_free(problem);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    if (info.outcome != expected)
        fail_msg("outcome %d instead of %d (norm %g, gap %g, violation %g)", (int)info.outcome,
                 (int)expected, info.norm, info.gap, info.violation);
    attsvm_claim claim = attsvm_solution_claim(solution);
    if (expected != ATTSVM_STALLED)
        assert_valid(data, &claim);
    attsvm_report report = verdict(data, &claim);
    if (expected == ATTSVM_OPTIMAL && (report.tight != info.tight || report.merged != info.merged))
        fail_msg("%d tight and %d merged, where the checker finds %d and %d", (int)info.tight,
                 (int)info.merged, (int)report.tight, (int)report.merged);
    return solution;
}

#endif
