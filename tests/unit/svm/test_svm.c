/* Max-margin problems that can be solved by hand. */
#include "solved.h"

#include "svm/svm.h"

static void assert_theta(const attsvm_solution *solution, const double *theta, int64_t count)
{
    attsvm_claim claim = attsvm_solution_claim(solution);
    assert_int_equal(claim.theta_count, count);
    for (int64_t k = 0; k < count; k++)
        assert_near(claim.theta[k], theta[k], 1e-12);
}

#define SOLVE(solution, data, problem, expected, ...)                                              \
    attsvm_svm_settings settings_ = settings_for(problem);                                         \
    attsvm_solution *solution =                                                                    \
        solved(data, &settings_, &(attsvm_selection){ __VA_ARGS__ }, expected)

static void two_tokens_on_a_line(void **state)
{
    (void)state;
    /* keys (1,0) selected, (0,0) rival: min |p| with p_1 >= 1 is p = (1,0) */
    double X[] = { 1, 0, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X });
    SOLVE(solution, data, ATTSVM_PROBLEM_P, ATTSVM_OPTIMAL, .alpha = (int64_t[]){ 0 });
    assert_theta(solution, (double[]){ 1, 0 }, 2);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    assert_int_equal(info.tight, 1);
    assert_int_equal(info.active, 1);
    assert_int_equal(info.merged, 0);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void a_square_of_tokens(void **state)
{
    (void)state;
    /* selected (1,1) against (1,0), (0,1), (0,0): p = (1,1); the diagonal is not tight */
    double X[] = { 0, 0, 1, 0, 1, 1, 0, 1 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 4, .d = 2, .X = X });
    SOLVE(solution, data, ATTSVM_PROBLEM_P, ATTSVM_OPTIMAL, .alpha = (int64_t[]){ 2 });
    assert_theta(solution, (double[]){ 1, 1 }, 2);
    assert_int_equal(attsvm_solution_describe(solution).tight, 2);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void opposite_wishes_are_infeasible(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 0, 0, 0, 2, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X });
    SOLVE(solution, data, ATTSVM_PROBLEM_P, ATTSVM_INFEASIBLE, .alpha = (int64_t[]){ 0, 0 });
    attsvm_claim claim = attsvm_solution_claim(solution);
    /* l_1 (1,0) + l_2 (-2,0) = 0, l_1 + l_2 = 1 */
    assert_int_equal(claim.active_count, 2);
    assert_near(claim.lambda[0], 2.0 / 3, 1e-15);
    assert_near(claim.lambda[1], 1.0 / 3, 1e-15);
    assert_true(isnan(claim.theta[0]));
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void duplicates_are_merged_or_named(void **state)
{
    (void)state;
    attsvm_error err;
    double X[] = { 1, 0, 1, 0, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X });
    SOLVE(solution, data, ATTSVM_PROBLEM_P, ATTSVM_OPTIMAL, .alpha = (int64_t[]){ 0 });
    assert_theta(solution, (double[]){ 1, 0 }, 2);
    assert_int_equal(attsvm_solution_describe(solution).merged, 1);
    attsvm_solution_free(solution);
    attsvm_svm_settings strict = settings_for(ATTSVM_PROBLEM_P);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &strict, "duplicates", "strict", &err), err);
    solution =
        solved(data, &strict, &(attsvm_selection){ .alpha = (int64_t[]){ 0 } }, ATTSVM_INFEASIBLE);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    assert_true(info.conflict);
    assert_int_equal(info.pair.token, 1);
    assert_int_equal(info.pair_selected, 0);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void same_key_other_score(void **state)
{
    (void)state;
    /* the key map hides the second coordinate, in which the scores differ */
    double X[] = { 1, 2, 1, 1, 0, 0 }, W[] = { 1, 0, 0, 0 }, v[] = { 0, 1 }, level[] = { 1, 0 };
    int8_t Y[] = { 1 };
    token_set s = { .n = 1, .T = 3, .d = 2, .X = X, .W = W, .v = v, .Y = Y };
    attsvm_data *data = open_set(s);
    SOLVE(solution, data, ATTSVM_PROBLEM_P, ATTSVM_INFEASIBLE, .alpha = (int64_t[]){ 0 });
    assert_true(attsvm_solution_describe(solution).conflict);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
    /* with equal scores the two are one selection */
    s.v = level;
    data = open_set(s);
    solution =
        solved(data, &settings_, &(attsvm_selection){ .alpha = (int64_t[]){ 0 } }, ATTSVM_OPTIMAL);
    assert_theta(solution, (double[]){ 1, 0 }, 2);
    assert_int_equal(attsvm_solution_describe(solution).merged, 1);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void lone_tokens_have_no_rows(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 1 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 1, .d = 2, .X = X });
    SOLVE(solution, data, ATTSVM_PROBLEM_P, ATTSVM_OPTIMAL, .alpha = (int64_t[]){ 0, 0 });
    attsvm_svm_info info = attsvm_solution_describe(solution);
    assert_true(info.norm == 0 && info.gap == 0);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void one_query_one_rival(void **state)
{
    (void)state;
    /* delta = (1,0), z = (3,4): W = delta z' / |z|^2 */
    double X[] = { 1, 0, 0, 0 }, Z[] = { 3, 4 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X, .Z = Z });
    SOLVE(solution, data, ATTSVM_PROBLEM_W, ATTSVM_OPTIMAL, .alpha = (int64_t[]){ 0 });
    assert_theta(solution, (double[]){ 3.0 / 25, 4.0 / 25, 0, 0 }, 4);
    attsvm_error err;
    assert_ok(attsvm_solution_rank(solution, &err), err);
    assert_int_equal(attsvm_solution_describe(solution).rank, 1);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void queries_of_every_kind(void **state)
{
    (void)state;
    attsvm_error err;
    double X[] = { 2, 0, 0, 1, 1, 1 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    const char *const modes[] = { "0", "2", "all", "causal" };
    for (int k = 0; k < 4; k++) {
        int64_t alpha[] = { 0, 0, 0 }, terms;
        assert_ok(attsvm_settings_set(&attsvm_svm_table, &settings, "query", modes[k], &err), err);
        assert_ok(attsvm_svm_terms(data, &settings, &terms, &err), err);
        assert_int_equal(terms, k < 2 ? 1 : 3);
        attsvm_solution_free(
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL));
    }
    settings.query = ATTSVM_QUERY_TOKEN;
    settings.query_token = 3;
    attsvm_problem *problem;
    assert_fails(problem_create(&problem, data, &(attsvm_selection){ .alpha = (int64_t[]){ 0 } },
                                &settings, &err),
                 err, ATTSVM_E_ARG, "query token 3");
    attsvm_data_free(data);
}

static void sets_with_equalities(void **state)
{
    (void)state;
    /* tokens (1,0) and (0,1) are kept, (0,0) is not, z = (1,0): W z = (1,1) */
    double X[] = { 1, 0, 0, 1, 0, 0 }, Z[] = { 1, 0 }, s[] = { 0.75, 0.25, 0 };
    uint8_t O[] = { 1, 1, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X, .Z = Z });
    SOLVE(solution, data, ATTSVM_PROBLEM_MULTI, ATTSVM_OPTIMAL, .sets = O);
    assert_theta(solution, (double[]){ 1, 0, 1, 0 }, 4);
    assert_int_equal(attsvm_solution_claim(solution).equal_count, 1);
    attsvm_solution_free(solution);
    /* (1,-1)' W z = log 3 */
    attsvm_svm_settings finite = settings_for(ATTSVM_PROBLEM_FINITE);
    solution =
        solved(data, &finite, &(attsvm_selection){ .sets = O, .softmax = s }, ATTSVM_OPTIMAL);
    assert_theta(solution, (double[]){ log(3) / 2, 0, -log(3) / 2, 0 }, 4);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void sets_of_several_queries(void **state)
{
    (void)state;
    /* queries e1 with the set {0,1}, e2 with {0}: W e1 = (1,1), W e2 = (1,0) */
    double X[] = { 1, 0, 0, 1, 0, 0 }, Z[] = { 1, 0, 0, 1 }, s[] = { 0.75, 0.25, 0, 1, 0, 0 };
    uint8_t O[] = { 1, 1, 0, 1, 0, 0 };
    attsvm_error err;
    int64_t cells;
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .M = 2, .X = X, .Z = Z });
    SOLVE(solution, data, ATTSVM_PROBLEM_MULTI, ATTSVM_OPTIMAL, .sets = O);
    assert_theta(solution, (double[]){ 1, 1, 1, 0 }, 4);
    attsvm_solution_free(solution);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_FINITE);
    assert_ok(attsvm_svm_cells(data, &settings, &cells, &err), err);
    assert_int_equal(cells, 6);
    solution =
        solved(data, &settings, &(attsvm_selection){ .sets = O, .softmax = s }, ATTSVM_OPTIMAL);
    assert_theta(solution, (double[]){ log(3) / 2, 0, -log(3) / 2, 0 }, 4);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
    /* causal over tokens e1, e2: query 0 sees itself alone, query 1 keeps both: (e1-e2)' W e2 = 0
       and, with the third, which keeps only itself, rows for z = 0 that nothing satisfies */
    uint8_t causal[] = { 1, 1, 1, 1, 1, 0, 0, 0, 1 };
    data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X });
    settings = settings_for(ATTSVM_PROBLEM_MULTI);
    settings.query = ATTSVM_QUERY_CAUSAL;
    solution = solved(data, &settings, &(attsvm_selection){ .sets = (uint8_t[]){ 1, 0, 1, 1 } },
                      ATTSVM_OPTIMAL);
    assert_theta(solution, (double[]){ 0, 0, 0, 0 }, 4);
    assert_int_equal(attsvm_solution_claim(solution).equal[0].query, 1);
    attsvm_solution_free(solution);
    attsvm_problem *problem;
    uint8_t unseen[] = { 0, 1, 1, 1 }; /* query 0 does not see token 1 */
    assert_fails(
        problem_create(&problem, data, &(attsvm_selection){ .sets = unseen }, &settings, &err), err,
        ATTSVM_E_ARG, "O selects no token of sequence 0 that query 0 sees");
    attsvm_data_free(data);
    data = open_set((token_set){ .n = 1, .T = 3, .d = 2, .X = X });
    attsvm_solution_free(
        solved(data, &settings, &(attsvm_selection){ .sets = causal }, ATTSVM_INFEASIBLE));
    attsvm_data_free(data);
}

static void contradicting_equalities(void **state)
{
    (void)state;
    /* the same tokens and query twice, with different softmax */
    double X[] = { 1, 0, 0, 1, 1, 0, 0, 1 }, Z[] = { 1, 0, 1, 0 }, s[] = { 0.75, 0.25, 0.5, 0.5 };
    uint8_t O[] = { 1, 1, 1, 1 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    SOLVE(solution, data, ATTSVM_PROBLEM_FINITE, ATTSVM_INFEASIBLE, .sets = O, .softmax = s);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

/* The data of mm-joint-tight and mm-joint-slack: the third sequence decides. */
static void joint_problems(void **state)
{
    (void)state;
    double X[] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, 1.5 };
    int8_t Y[] = { 1, -1, 1 };
    int64_t alpha[] = { 1, 1, 1 };
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = X, .Y = Y });
    SOLVE(solution, data, ATTSVM_PROBLEM_JOINT, ATTSVM_OPTIMAL, .alpha = alpha);
    /* p_1 + p_2 >= 1, p_1 - p_2 >= 1, the third only >= 0: p = (1,0) */
    assert_theta(solution, (double[]){ 1, 0 }, 2);
    attsvm_claim claim = attsvm_solution_claim(solution);
    assert_non_null(claim.head);
    assert_near(claim.head->theta[0], 0, 1e-12);
    assert_near(claim.head->theta[1], 1, 1e-12);
    attsvm_solution_free(solution);
    attsvm_svm_settings p = settings_for(ATTSVM_PROBLEM_P);
    solution = solved(data, &p, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
    assert_true(attsvm_solution_describe(solution).norm > 1.05);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void soft_margin_by_hand(void **state)
{
    (void)state;
    /* rows p >= 1 and -p >= 1: lambda = C each, p = 0, P = 2C */
    double X[] = { 1, 0, 0, 1 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 1, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    settings.soft = 3;
    attsvm_solution *solution = solved(
        data, &settings, &(attsvm_selection){ .alpha = (int64_t[]){ 0, 0 } }, ATTSVM_OPTIMAL);
    assert_near(attsvm_solution_describe(solution).objective, 6, 1e-12);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
    /* one row p >= 1, C = 1/4: lambda = 1/4, p = 1/4; C = 2: the hard solution */
    data = open_set((token_set){ .n = 1, .T = 2, .d = 1, .X = X });
    settings.soft = 0.25;
    solution =
        solved(data, &settings, &(attsvm_selection){ .alpha = (int64_t[]){ 0 } }, ATTSVM_OPTIMAL);
    assert_theta(solution, (double[]){ 0.25 }, 1);
    attsvm_solution_free(solution);
    settings.soft = 2;
    solution =
        solved(data, &settings, &(attsvm_selection){ .alpha = (int64_t[]){ 0 } }, ATTSVM_OPTIMAL);
    assert_theta(solution, (double[]){ 1 }, 1);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static bool go_on(void *context, const attsvm_svm_progress *progress)
{
    (void)context;
    (void)progress;
    return true;
}

/* Contradicting rows with a large C: no proof, but the numbers are those of theta. */
static void soft_margins_at_any_price(void **state)
{
    (void)state;
    const double X[] = { 1, 0.3, 0, -0.2, -0.4, 1, 0.1, 0.7, 0.9, -0.3, 0.2, 0.8 };
    double rows[3][2], scaled[12];
    int64_t alpha[] = { 0, 0, 0 };
    for (double soft = 1e20; soft < 1e130; soft *= 1e20)
        for (double size = 1; size < 1e130; size *= 1e20) {
            attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
            attsvm_error err;
            attsvm_problem *problem;
            attsvm_solution *solution;
            for (int k = 0; k < 12; k++)
                scaled[k] = size * X[k];
            attsvm_data *data = open_set((token_set){ .n = 3, .T = 2, .d = 2, .X = scaled });
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 2; j++)
                    rows[i][j] = scaled[4 * i + j] - scaled[4 * i + 2 + j];
            settings.soft = soft;
            assert_ok(problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha },
                                     &settings, &err),
                      err);
            assert_ok(attsvm_problem_solve(problem, NULL, size > 1e30 ? NULL : go_on, NULL,
                                           &solution, &err),
                      err);
            attsvm_svm_info info = attsvm_solution_describe(solution);
            attsvm_claim claim = attsvm_solution_claim(solution);
            double sum = 0, norm = hypot(claim.theta[0], claim.theta[1]);
            for (int i = 0; i < 3; i++)
                sum += fmax(0, 1 - rows[i][0] * claim.theta[0] - rows[i][1] * claim.theta[1]);
            double objective = 0.5 * norm * norm + soft * sum;
            if (isfinite(objective) && isfinite(info.objective))
                assert_near(info.objective / objective, 1, 1e-6);
            assert_true(isfinite(info.objective) || isnan(info.gap));
            attsvm_solution_free(solution);
            attsvm_problem_free(problem);
            attsvm_data_free(data);
        }
}

static void bad_problems_are_refused(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_problem *problem;
    double X[] = { 1, 0, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    attsvm_selection two = { .alpha = (int64_t[]){ 2 } }, none = { 0 };
    assert_fails(problem_create(&problem, data, &two, &settings, &err), err, ATTSVM_E_ARG,
                 "alpha[0] = 2 is not in 0..1");
    assert_fails(problem_create(&problem, data, &none, &settings, &err), err, ATTSVM_E_ARG,
                 "selection");
    settings.norm = ATTSVM_NORM_NUC;
    settings.soft = 1;
    assert_fails(problem_create(&problem, data, &two, &settings, &err), err, ATTSVM_E_ARG, "nuc");
    settings = settings_for(ATTSVM_PROBLEM_V);
    assert_fails(problem_create(&problem, data, &two, &settings, &err), err, ATTSVM_E_DATA,
                 "labels");
    assert_fails(attsvm_settings_set(&attsvm_svm_table, &settings, "colour", "1", &err), err,
                 ATTSVM_E_ARG, "colour");
    attsvm_data_free(data);
}

/* One token along (size, 0), and the origin; the query of W is the token. */
static void rows_beyond_the_range_are_refused(void **state)
{
    (void)state;
    const struct {
        double size;
        attsvm_problem_kind problem;
        const char *says; /* NULL: solved */
    } cases[] = {
        { 1e130, ATTSVM_PROBLEM_P, NULL },
        { 1e-130, ATTSVM_PROBLEM_P, NULL },
        { 1e65, ATTSVM_PROBLEM_W, NULL },
        { 1e-65, ATTSVM_PROBLEM_W, NULL },
        { 1e200, ATTSVM_PROBLEM_P, "token 1 has length 1e+200," },
        { 1e-200, ATTSVM_PROBLEM_P, "token 1 has length 1e-200," },
        { 1e90, ATTSVM_PROBLEM_W, "token 1 has length 1e+90 times 1e+90 of its query" },
        { 1e-200, ATTSVM_PROBLEM_W, "token 1 has length 1e-200 times 1e-200 of its query" },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_error err;
        attsvm_problem *problem;
        attsvm_solution *solution;
        double size = cases[k].size, X[] = { size, 0, 0, 0 };
        attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X });
        attsvm_svm_settings settings = settings_for(cases[k].problem);
        attsvm_selection first = { .alpha = (int64_t[]){ 0 } };
        assert_ok(problem_create(&problem, data, &first, &settings, &err), err);
        attsvm_status status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err);
        if (cases[k].says) {
            assert_fails(status, err, ATTSVM_E_DATA, cases[k].says);
        } else {
            assert_ok(status, err);
            double length = cases[k].problem == ATTSVM_PROBLEM_P ? size : size * size;
            assert_near(attsvm_solution_describe(solution).norm * length, 1, 1e-14);
            attsvm_claim claim = attsvm_solution_claim(solution);
            assert_valid(data, &claim);
            attsvm_solution_free(solution);
        }
        attsvm_problem_free(problem);
        attsvm_data_free(data);
    }
}

static void short_forms_of_settings(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_svm_settings s = settings_for(ATTSVM_PROBLEM_P);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &s, "norm", "lq:3", &err), err);
    assert_true(s.norm == ATTSVM_NORM_LQ && s.q == 3);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &s, "head", "concave:0.5", &err), err);
    assert_true(s.head == ATTSVM_HEAD_CONCAVE && s.kappa == 0.5);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &s, "query", "4", &err), err);
    assert_true(s.query == ATTSVM_QUERY_TOKEN && s.query_token == 4);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &s, "problem", "W", &err), err);
    assert_int_equal(s.problem, ATTSVM_PROBLEM_W);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_tokens_on_a_line),
        cmocka_unit_test(a_square_of_tokens),
        cmocka_unit_test(opposite_wishes_are_infeasible),
        cmocka_unit_test(duplicates_are_merged_or_named),
        cmocka_unit_test(same_key_other_score),
        cmocka_unit_test(lone_tokens_have_no_rows),
        cmocka_unit_test(one_query_one_rival),
        cmocka_unit_test(queries_of_every_kind),
        cmocka_unit_test(sets_with_equalities),
        cmocka_unit_test(sets_of_several_queries),
        cmocka_unit_test(contradicting_equalities),
        cmocka_unit_test(joint_problems),
        cmocka_unit_test(soft_margin_by_hand),
        cmocka_unit_test(soft_margins_at_any_price),
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(rows_beyond_the_range_are_refused),
        cmocka_unit_test(short_forms_of_settings),
    };
    return cmocka_run_group_tests_name("svm", tests, NULL, NULL);
}
