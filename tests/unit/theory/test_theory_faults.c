/* NULL where the header allows it, and sizes beyond any memory. */
#include "unit_train.h"

#include "theory/theory.h"

/* Two tokens a sequence in the plane; `never`: each asks for the opposite of the other. */
static attsvm_data *tokens(bool never)
{
    static const double apart[8] = { 1, 0, 0, 0, 0, 1, 0, 0 };
    static const double against[8] = { 1, 0, 0, 1, 0, 1, 1, 0 };
    static const double v[2] = { 1, 1 };
    static const int64_t Y[2] = { 1, 1 };
    problem s = { 0 };
    add(&s, "X", (attsvm_array){ never ? against : apart, { 2, 2, 2 }, 3, ATTSVM_F64 });
    add(&s, "Y", (attsvm_array){ Y, { 2 }, 1, ATTSVM_I64 });
    add(&s, "v", (attsvm_array){ v, { 2 }, 1, ATTSVM_F64 });
    make(&s);
    return s.data;
}

/* The search for violated rows in norms other than l2 wrote its status through err. */
static void an_error_that_nobody_wants_was_written_to(void **state)
{
    (void)state;
    static const int64_t alpha[2] = { 0, 0 };
    for (int never = 0; never < 2; never++) {
        attsvm_data *data = tokens(never);
        attsvm_selection selection = { .alpha = alpha, .terms = 2 };
        attsvm_svm_settings settings;
        attsvm_svm_settings_init(&settings);
        for (settings.problem = ATTSVM_PROBLEM_P; settings.problem <= ATTSVM_PROBLEM_W;
             settings.problem += ATTSVM_PROBLEM_W - ATTSVM_PROBLEM_P) {
            for (int32_t norm = ATTSVM_NORM_L2; norm <= ATTSVM_NORM_LINF; norm++) {
                attsvm_problem *asked;
                attsvm_solution *solution;
                settings.norm = norm;
                settings.q = 3;
                assert_int_equal(attsvm_problem_create(&asked, data, &selection, &settings, NULL),
                                 ATTSVM_OK);
                assert_int_equal(attsvm_problem_solve(asked, NULL, NULL, NULL, &solution, NULL),
                                 ATTSVM_OK);
                assert_int_equal(attsvm_solution_describe(solution).outcome,
                                 never && settings.problem == ATTSVM_PROBLEM_P ? ATTSVM_INFEASIBLE
                                                                               : ATTSVM_OPTIMAL);
                attsvm_solution_free(solution);
                attsvm_problem_free(asked);
            }
        }
        settings.norm = 99;
        attsvm_problem *asked;
        assert_int_equal(attsvm_problem_create(&asked, data, &selection, &settings, NULL),
                         ATTSVM_E_ARG);
        assert_null(asked);
        attsvm_data_free(data);
    }
}

static void settings_that_are_null_crashed(void **state)
{
    (void)state;
    attsvm_data *data = tokens(false);
    attsvm_scores *scores;
    attsvm_enumeration *list;
    attsvm_path *path;
    attsvm_train *train;
    attsvm_conditions conditions;
    attsvm_verdict verdict;
    assert_int_equal(attsvm_scores_create(&scores, data, NULL, NULL), ATTSVM_OK);
    assert_int_equal(attsvm_enumerate(&list, scores, NULL, NULL, NULL, NULL, NULL), ATTSVM_OK);
    attsvm_enumeration_free(list);
    attsvm_scores_free(scores);
    assert_int_equal(attsvm_path_follow(&path, data, NULL, NULL, NULL, NULL, NULL), ATTSVM_OK);
    attsvm_path_free(path);
    assert_int_equal(attsvm_train_create(&train, data, NULL, NULL, NULL, NULL), ATTSVM_OK);
    assert_int_equal(attsvm_train_run(train, NULL, NULL, NULL), ATTSVM_OK);
    assert_int_equal(attsvm_conditions_compute(&conditions, train, NULL, NULL, NULL), ATTSVM_OK);
    assert_int_equal(attsvm_verdict_compute(&verdict, train, NULL, NULL, NULL, NULL, NULL),
                     ATTSVM_OK);
    attsvm_train_free(train);
    attsvm_data_free(data);
}

/* attsvm_train_create takes a NULL step for the default; the prediction crashed. */
static void a_step_that_is_null_crashed_the_prediction(void **state)
{
    (void)state;
    attsvm_train_settings train;
    attsvm_svm_settings svm;
    bool claimed = false;
    attsvm_train_settings_init(&train);
    train.step = train.eps = NULL;
    assert_int_equal(attsvm_train_limit(&train, &svm, &claimed, NULL), ATTSVM_OK);
    assert_true(claimed);
    assert_int_equal(svm.norm, ATTSVM_NORM_L2);
}

/* The size of the search's selections was multiplied without an overflow check. */
static void a_search_has_room_for_a_million_runs_or_says_no(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 40, 6, 4, .queries = 1, .seed = 1);
    attsvm_enumerate_settings settings;
    attsvm_svm_settings svm;
    attsvm_scores *scores;
    attsvm_enumeration *list = NULL;
    attsvm_error err;
    attsvm_enumerate_settings_init(&settings);
    attsvm_svm_settings_init(&svm);
    settings.max_selections = 1;
    settings.descent_runs = 1000000;
    settings.time_limit = 0.01;
    assert_ok(attsvm_scores_create(&scores, data, &svm, &err), err);
    attsvm_status status = attsvm_enumerate(&list, scores, &svm, &settings, NULL, NULL, &err);
    assert_true(status == ATTSVM_OK || status == ATTSVM_E_STOPPED || status == ATTSVM_E_MEMORY);
    attsvm_enumeration_free(list);
    attsvm_scores_free(scores);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_that_nobody_wants_was_written_to),
        cmocka_unit_test(settings_that_are_null_crashed),
        cmocka_unit_test(a_step_that_is_null_crashed_the_prediction),
        cmocka_unit_test(a_search_has_room_for_a_million_runs_or_says_no),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
