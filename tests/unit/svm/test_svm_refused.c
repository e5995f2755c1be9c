/* Answers of svm that check refused, each as a minimal case: now proved, or stalled. */
#include "solved.h"

#include "base/base.h"

/* Solves the problem; unless it stalls, `check` with the same tolerance proves the answer. */
static attsvm_outcome outcome_of(const attsvm_data *data, const attsvm_svm_settings *settings,
                                 const attsvm_selection *selection)
{
    attsvm_error err;
    attsvm_problem *problem;
    attsvm_solution *solution;
    assert_ok(problem_create(&problem, data, selection, settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
    attsvm_claim claim = attsvm_solution_claim(solution);
    attsvm_outcome outcome = attsvm_solution_describe(solution).outcome;
    if (outcome != ATTSVM_STALLED)
        assert_valid(data, &claim);
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return outcome;
}

/*
 * v = (100, 1/b), and the last row is tight without a multiplier: only a gap below 1e-25 decides
 * that it is, whatever the tolerance.
 */
static void a_head_decides_at_every_tolerance(void **state)
{
    (void)state;
    const double b = 5003.1;
    double X[] = { 0.01, 0, 0, 0, 0, b, 0, 0, 0, b, 0, 0 };
    int8_t Y[] = { 1, 1, 1 };
    int64_t alpha[] = { 0, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = X, .Y = Y });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_JOINT);
    settings.norm = ATTSVM_NORM_L2;
    for (double tol = 1e-12; tol < 1; tol *= 10) {
        settings.tol = tol;
        assert_int_equal(outcome_of(data, &settings, &(attsvm_selection){ .alpha = alpha }),
                         ATTSVM_OPTIMAL);
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_decides_at_every_tolerance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
