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

/*
 * Rows (-1, 0) and (-1, -c) whose right-hand sides differ by c/2: the multipliers are 1/c long, so
 * that the last digits of the logarithms cost 1e-16/c of the bound.
 */
static void multipliers_of_finite_cost_the_digits_of_logarithms(void **state)
{
    (void)state;
    const int32_t norms[] = { ATTSVM_NORM_FRO, ATTSVM_NORM_L1, ATTSVM_NORM_LINF };
    uint8_t sets[] = { 1, 1, 1 };
    double Z[] = { 1, 0 };
    for (double c = 1e-2; c > 1e-10; c /= 10)
        for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
            double X[] = { 0, 0, 1, 0, 1, c }, s[] = { 0.5, 0.25, 0.25 * (1 - c / 2) };
            attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X, .Z = Z });
            attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_FINITE);
            settings.norm = norms[k];
            attsvm_outcome outcome =
                outcome_of(data, &settings, &(attsvm_selection){ .sets = sets, .softmax = s });
            assert_int_not_equal(outcome, c > 5e-3 ? ATTSVM_STALLED : ATTSVM_INFEASIBLE);
            attsvm_data_free(data);
        }
}

/* Equalities that are parallel to 1e-8: their distance from theta was bounded too widely. */
static void equalities_that_are_nearly_parallel(void **state)
{
    (void)state;
    double X[] = {
        -0.010000021,  -0.030000001999999998, -0.030000007,   -299.999999989, 100.0,
        -99.999999998, -1000.000000013,       2000.000000017, 1000.00000001,  0.010000009,
        0.010000007,   0.030000007999999998,  -299.999999999, -300.000000023, 199.999999989,
        0.019999981,   -0.019999986,          2e-09
    };
    uint8_t sets[] = { 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 1, 1 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 3, .d = 3, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_MULTI);
    settings.query = ATTSVM_QUERY_ALL;
    settings.tol = 1e-4;
    assert_int_equal(outcome_of(data, &settings, &(attsvm_selection){ .sets = sets }),
                     ATTSVM_OPTIMAL);
    attsvm_data_free(data);
}

/* Four equalities that are independent, but not to 1e-13: only theta = 0 satisfies them. */
static void equalities_that_are_almost_dependent(void **state)
{
    (void)state;
    double X[] = { -9.2297074165570676e-12, -1.8101970702616707e-01, 6.5380965173634522e-13,
                   1.4282446237268451e+00,  -1.0034249789511739e-15, -9.3543003097178602e-04,
                   1.9935705452143272e-14,  -4.0728875299463687e-04, -5.5376246042357165e-13,
                   7.1988453216396738e-03,  -7.9321286121435190e-11, 1.4909526641634406e+01,
                   1.4123069728982325e-10,  8.8828423759748336e+00,  -7.5867093790176229e-14,
                   8.8093748741569014e-03,  -2.3116967432583878e-14, 1.2468234002547325e-02,
                   8.6133904833801440e-12,  -2.0939021572076524e-01, -1.3503385651377829e-07,
                   -6.1276088577111750e+03, 4.6107905227412147e-10,  6.1026944058376934e+01 };
    uint8_t sets[] = { 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0,
                       0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 4, .d = 2, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_MULTI);
    settings.query = ATTSVM_QUERY_ALL;
    settings.soft = 0.016345616391139604;
    settings.tol = 1.2e-11;
    outcome_of(data, &settings, &(attsvm_selection){ .sets = sets });
    attsvm_data_free(data);
}

/* Each was an error: a singular value is NaN.  Now the best proof so far is reported. */
static void numbers_that_leave_the_range_of_doubles(void **state)
{
    (void)state;
    /* powers of q = 40 */
    double far[] = { 0, 0, -4000, 0, 0, 0, -4000, -0.01 }, Z[] = { -4000, 0, -4000, -0.01 };
    double s[] = { 0.5, 0.5, 0.48312402360819245, 0.5168759763918075 };
    /* an active set on equalities that are parallel to 1e-8: theta grows to 1e300 */
    double near[] = { -0.8329042867968625,  -0.3279445689311458, 63.266116484387425,
                      51.43468712603929,    -0.8329042991161005, -0.32794458357407313,
                      63.26611648755343,    51.434687137954874,  -0.8329042941024943,
                      -0.32794456685563084, 63.266116485697765,  51.43468713661352 };
    uint8_t both[] = { 1, 1, 1, 1 }, sets[] = { 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = far, .Z = Z });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_FINITE);
    settings.norm = ATTSVM_NORM_LQ;
    settings.q = 40;
    outcome_of(data, &settings, &(attsvm_selection){ .sets = both, .softmax = s });
    attsvm_data_free(data);
    data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = near });
    settings = settings_for(ATTSVM_PROBLEM_MULTI);
    settings.query = ATTSVM_QUERY_ALL;
    outcome_of(data, &settings, &(attsvm_selection){ .sets = sets });
    attsvm_data_free(data);
}

/* Nearly parallel queries: first-order conditions lost their digits in products of the rows. */
static void rank_one_with_nearly_parallel_rows(void **state)
{
    (void)state;
    double X[] = { 3, 100003, 0, 99996, 2, 100000, -3, 99998, 1, 99997, 5, 99999 };
    double Z[] = { 100002, 100000, 99998, 99997, 100000, 100001 };
    int64_t alpha[] = { 1, 1, 1 };
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = X, .Z = Z });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    settings.rank = 1;
    for (double tol = 1e-9; tol < 0.1; tol *= 10) {
        settings.tol = tol;
        assert_int_equal(outcome_of(data, &settings, &(attsvm_selection){ .alpha = alpha }),
                         ATTSVM_STATIONARY);
    }
    attsvm_data_free(data);
}

/* The second singular value of the convex solution is 1e-12 of the first, to rounding. */
static void a_rank_at_the_limit_of_the_checker(void **state)
{
    (void)state;
    double X[] = { 0, -2, 1, 0, 3, -4, 1, -3, 1, 0, 3, 0 };
    double Z[] = { 1e6, 999999, 1000004, 1000003, 999995, 999997 };
    int64_t alpha[] = { 0, 1, 0 };
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = X, .Z = Z });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    settings.rank = 1;
    settings.tol = 0.01;
    assert_int_equal(outcome_of(data, &settings, &(attsvm_selection){ .alpha = alpha }),
                     ATTSVM_OPTIMAL);
    attsvm_data_free(data);
}

/* Long rows: a row that seemed tight, in double, holds by 1e-4 more, and theta is not stationary.
 */
static void rank_one_with_long_rows(void **state)
{
    (void)state;
    double X[] = { 2000, 1000, -4000, 0, 0.03, 0.01, -0.03, -0.03 };
    double Z[] = { -5000, 2000, 0.01, 0 };
    double more[] = { 200, 400, 0, -300, -0.03, 0.01, 0, 0.02, -1000, -1000, 0, 1000 };
    double queries[] = { -300, -200, 0, -0.01, 1000, 1000 };
    int64_t alpha[] = { 0, 0, 0 };
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    settings.rank = 1;
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    outcome_of(data, &settings, &(attsvm_selection){ .alpha = alpha });
    attsvm_data_free(data);
    settings.norm = ATTSVM_NORM_NUC;
    data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = more, .Z = queries });
    outcome_of(data, &settings, &(attsvm_selection){ .alpha = alpha });
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_head_decides_at_every_tolerance),
        cmocka_unit_test(multipliers_of_finite_cost_the_digits_of_logarithms),
        cmocka_unit_test(equalities_that_are_nearly_parallel),
        cmocka_unit_test(equalities_that_are_almost_dependent),
        cmocka_unit_test(numbers_that_leave_the_range_of_doubles),
        cmocka_unit_test(rank_one_with_nearly_parallel_rows),
        cmocka_unit_test(a_rank_at_the_limit_of_the_checker),
        cmocka_unit_test(rank_one_with_long_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
