/* Former faults of the max-margin solvers, each as a minimal case. */
#include "solved.h"

#include "svm/svm.h"

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof *(array)))

static const struct {
    int32_t norm;
    double q;
} norms[] = { { ATTSVM_NORM_L2, 2 },  { ATTSVM_NORM_LQ, 1.5 },    { ATTSVM_NORM_LQ, 3 },
              { ATTSVM_NORM_LQ, 6 },  { ATTSVM_NORM_L1, 2 },      { ATTSVM_NORM_LINF, 2 },
              { ATTSVM_NORM_NUC, 2 }, { ATTSVM_NORM_SPECTRAL, 2 } };

/* A data set of the given arrays, with any number of labels. */
static attsvm_data *open_arrays(const attsvm_named_array *arrays, int64_t count)
{
    attsvm_error err;
    attsvm_data *data;
    assert_ok(attsvm_data_create(&data, arrays, count, NULL, &err), err);
    return data;
}

/* ------------------------------------------------------------------ tight and merged rows */

/* v = (a, b) with 3a + b = 1 and a + 2b = 1: both rows are tight in l_1.5 and in most norms. */
static void tight_rows_of_terms_that_the_last_pass_skipped(void **state)
{
    (void)state;
    double X[] = { 3, 1, 0, 1, 2, 0 };
    int8_t Y[] = { 1, 1 };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 1, .d = 3, .X = X, .Y = Y });
    attsvm_selection selection = { .alpha = alpha };
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_V);
    settings.norm = ATTSVM_NORM_LQ;
    settings.q = 1.5;
    attsvm_solution *solution = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
    assert_int_equal(attsvm_solution_describe(solution).tight, 2);
    attsvm_solution_free(solution);
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) { /* `solved` compares with check */
        settings.norm = norms[k].norm;
        settings.q = norms[k].q;
        attsvm_solution_free(solved(data, &settings, &selection, ATTSVM_OPTIMAL));
    }
    attsvm_data_free(data);
}

/*
 * Rows that are tight at the optimum with multipliers of 0, or whose entries of theta vanish: a gap
 * of 1e-12 leaves them at 1e-7 to 1e-3 above 1.
 */
static void tight_rows_of_l_q_that_the_gap_does_not_fix(void **state)
{
    (void)state;
    /* rows (-2,-1,0) and (-2,0,0): both are tight at (-1/2, 0, 0) */
    double one[] = { 0, 1, 0, -2, 0, 0, 0, 0, 0 };
    /* rows e_0 - e_1, e_2 - e_1, e_2 - e_3: all tight at (1, -1, 1, -1)/2 */
    double two[] = { 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
    int64_t alpha_one[] = { 1 }, alpha_two[] = { 2, 1 };
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    settings.norm = ATTSVM_NORM_LQ;
    for (int k = 0; k < 2; k++) {
        token_set s = k ? (token_set){ .n = 2, .T = 3, .d = 4, .X = two }
                        : (token_set){ .n = 1, .T = 3, .d = 3, .X = one };
        attsvm_data *data = open_set(s);
        attsvm_selection selection = { .alpha = k ? alpha_two : alpha_one };
        for (double q = 1.5; q < 7; q += 0.5) {
            settings.q = q;
            attsvm_solution *solution = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
            attsvm_svm_info info = attsvm_solution_describe(solution);
            assert_int_equal(info.tight, k ? 3 : 2);
            assert_false(info.undecided);
            attsvm_solution_free(solution);
        }
        attsvm_data_free(data);
    }
}

/* x_1 = x_0 in both sequences, and rivals on opposite sides: infeasible, with two copies. */
static void merged_is_not_0_where_an_infeasible_problem_has_copies(void **state)
{
    (void)state;
    double X[] = { 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0 };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 3, .d = 2, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    attsvm_solution *solution =
        solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_INFEASIBLE);
    assert_int_equal(attsvm_solution_describe(solution).merged, 2);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

/* --------------------------------------------------------------------- rows that cancel */

/*
 * Three rows of the v-SVM of lengths 1e-9, 1e9 and 1e9: theta of length 1e9 meets the first, and
 * doubles of that length move the others by hundreds when they are rounded.
 */
static void rows_1e18_times_longer_than_others_are_met(void **state)
{
    (void)state;
    double X[] = { 0x1.511ab0d2078eep-31,  -0x1.4ead04d3282b1p-33, -0x1.9523a4dab6b76p-30,
                   0x1.1acf303ac31d8p-30,  0x1.378bd53152518p+27,  -0x1.3430dbab0990dp+30,
                   -0x1.c1f4c22bdabc2p+28, 0x1.488773a2e3dc9p+30,  -0x1.9db63fe292d8dp+29,
                   0x1.6d80040619090p+31,  -0x1.270c48ee598e3p+26, -0x1.e0cf3348eed7dp+30 };
    int8_t Y[] = { 1, -1, 1 };
    int64_t alpha[] = { 0, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 1, .d = 4, .X = X, .Y = Y });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_V);
    for (size_t k = 1; k < 6; k++) {
        settings.norm = norms[k].norm;
        settings.q = norms[k].q;
        attsvm_solution *solution =
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
        attsvm_svm_info info = attsvm_solution_describe(solution);
        /* one rounding of 1: low parts leave no more of rows that are 1e18 long beside theta */
        assert_true(info.gap <= 1e-9 && info.violation <= 0x1p-52);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/*
 * Theta grows to 1e280 on the way and ends at 1e20, beside which a sum of steps hides its last
 * ones: terms that were skipped as unchanged were violated, and the answer was called optimal.
 */
static void no_term_is_skipped_after_a_long_way(void **state)
{
    (void)state;
    double X[] = { 2, 1e-20, 1e-300, 5e-324, 1e-300, 1e-300, 1e-20, 1e-20, 0, -2, -2, 1 };
    int8_t Y[] = { 1, 1, -1 };
    int64_t alpha[] = { 0, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 3, .T = 1, .d = 4, .X = X, .Y = Y });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_V);
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        settings.norm = norms[k].norm;
        settings.q = norms[k].q;
        attsvm_error err;
        attsvm_problem *problem;
        attsvm_solution *solution;
        assert_ok(
            problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, &settings, &err),
            err);
        assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
        attsvm_claim claim = attsvm_solution_claim(solution);
        attsvm_report report;
        assert_ok(attsvm_check(&report, data, &claim, NULL, NULL, NULL, &err), err);
        /* some norms leave the range of doubles here, and say so */
        assert_true(report.valid || claim.outcome == ATTSVM_STALLED);
        attsvm_solution_free(solution);
        attsvm_problem_free(problem);
    }
    attsvm_data_free(data);
}

/* Rows that cancel up to 1e-20 and up to numbers below the range of doubles. */
static void tiny_numbers_do_not_hide_a_proof(void **state)
{
    (void)state;
    double X[] = { 1e-300, 1e-20, 2, 1e-300, -1, 0, -2, 0, -1, 1, 0, 0, -5e-324, 2, 0, 1 };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 4, .d = 2, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    attsvm_solution *solution =
        solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_INFEASIBLE);
    assert_int_equal(attsvm_solution_describe(solution).proof, ATTSVM_PROOF_BEYOND);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

/* The gap of a point that breaks rows proves nothing. */
static void no_gap_beside_a_violation(void **state)
{
    (void)state;
    double X[] = { 1, 2, 0, 0, 0, 0, 2, 1, 0, 0, -3, 1 };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 3, .d = 2, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    settings.max_iter = 1;
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        attsvm_error err;
        attsvm_problem *problem;
        attsvm_solution *solution;
        settings.norm = norms[k].norm;
        settings.q = norms[k].q;
        assert_ok(
            problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, &settings, &err),
            err);
        assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
        attsvm_svm_info info = attsvm_solution_describe(solution);
        assert_true(isnan(info.gap) || info.violation <= 1e-12);
        attsvm_solution_free(solution);
        attsvm_problem_free(problem);
    }
    attsvm_data_free(data);
}

/* Two rows are violated, the second by more. */
static void check_names_the_row_that_is_violated_most(void **state)
{
    (void)state;
    double theta[] = { 1 - 0x1p-53, -3 }, lambda[] = { 1 };
    double X[] = { 1, 0, 0, 0, 1, 2, 0, 0 };
    attsvm_row active[] = { { 0, 0, 1 } };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X });
    attsvm_claim claim = claim_of(ATTSVM_PROBLEM_P, ATTSVM_NORM_L2);
    claim.selection.alpha = alpha;
    PROOF(claim, theta, active, lambda);
    assert_rejected(data, &claim, "sequence 1, token 1");
    attsvm_data_free(data);
}

/* The query of the first sequence is 0, and its equalities are 0 = 0. */
static void equalities_of_zero_queries(void **state)
{
    (void)state;
    double X[] = { 1, 0, 2, 0, 0, 1, 1, 0, 2, 0, 0, 1 }, Z[] = { 0, 0, 1, 0 };
    uint8_t sets[] = { 1, 1, 1, 1, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 3, .d = 2, .X = X, .Z = Z });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_MULTI);
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        settings.norm = norms[k].norm;
        settings.q = norms[k].q;
        attsvm_solution *solution =
            solved(data, &settings, &(attsvm_selection){ .sets = sets }, ATTSVM_OPTIMAL);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/* Tokens that agree to 2^-36, each of them a query: the distance to the equalities needs all digits
   of their products. */
static void equalities_of_tokens_that_nearly_agree(void **state)
{
    (void)state;
    const double a = 0x1p-36, b = 0x1p-39, c = 0x1p-20;
    double X[] = { 1 + a, 1 - 3 * a, 1, 1 - b, 1 + 2 * b, 1, 1 - 3 * c, 1 + 2 * c, 1 + 3 * c };
    uint8_t sets[] = { 1, 1, 0, 1, 1, 1, 0, 1, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 3, .d = 3, .X = X });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_MULTI);
    settings.query = ATTSVM_QUERY_ALL;
    attsvm_solution_free(
        solved(data, &settings, &(attsvm_selection){ .sets = sets }, ATTSVM_OPTIMAL));
    attsvm_data_free(data);
}

/* --------------------------------------------------------------------------- labels */

static void one_label_for_each_query_is_no_label_of_a_sequence(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 1 }, Z[] = { 1, 0, 0, 1 };
    int8_t Y[] = { 1, -1 };
    attsvm_named_array arrays[] = { { "X", { X, { 1, 2, 2 }, 3, ATTSVM_F64 } },
                                    { "Z", { Z, { 1, 2, 2 }, 3, ATTSVM_F64 } },
                                    { "Y", { Y, { 1, 2 }, 2, ATTSVM_I8 } } };
    attsvm_data *data = open_arrays(arrays, COUNT(arrays));
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_V);
    attsvm_problem *problem;
    attsvm_error err;
    int64_t alpha[] = { 0 };
    assert_fails(
        problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, &settings, &err), err,
        ATTSVM_E_DATA, "Y has 2 labels for 1 sequence;");
    assert_null(problem);
    attsvm_data_free(data);
}

/* ---------------------------------------------------------------------------- reads */

/* One token of eight matters: a pass reads an eighth of the data, or less if it skips terms. */
static void a_v_problem_reads_one_token_a_sequence(void **state)
{
    (void)state;
    enum { N = 50, T = 8, D = 3 };
    double X[N * T * D];
    int8_t Y[N];
    int64_t alpha[N];
    for (int k = 0; k < N * T * D; k++)
        X[k] = 1 + sin(k);
    for (int i = 0; i < N; i++) {
        Y[i] = 1;
        alpha[i] = i % T;
    }
    attsvm_data *data = open_set((token_set){ .n = N, .T = T, .d = D, .X = X, .Y = Y });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_V);
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        settings.norm = norms[k].norm;
        settings.q = norms[k].q;
        attsvm_solution *solution =
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
        double passes = attsvm_solution_describe(solution).passes;
        /* l2 for feasibility, the rows that the norm starts with, the last pass: at most three,
           each of one token a sequence or of fewer */
        assert_true(T * passes >= 1 && T * passes <= 3);
        assert_double_equal(N * T * passes, rint(N * T * passes), 1e-9);
        if (k == 0)
            assert_double_equal(passes, 1.0 / T, 1e-12);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/* ----------------------------------------------------------------------------- joint */

/* One token with two labels: no head exists, so the joint problem is infeasible by the head's
   proof. */
static void a_joint_problem_without_a_head_shows_the_heads_proof(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 1, 1, 0, 0, 1 };
    int8_t Y[] = { 1, -1 };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Y = Y });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_JOINT);
    attsvm_solution *solution =
        solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_INFEASIBLE);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    assert_int_equal(info.active, 2);
    assert_true(info.residual == 0);
    assert_int_equal(attsvm_solution_claim(solution).head->active_count, 2);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

typedef struct slow {
    double start, seconds;
} slow;

/* Delays the solve of the head. */
static bool dawdle(void *context, const attsvm_svm_progress *progress)
{
    slow *s = context;
    (void)progress;
    while (base_seconds() - s->start < s->seconds)
        ;
    return true;
}

/* The head uses nearly all of the common time limit; the second solve must not get a new one. */
static void the_time_limit_holds_for_both_solves_of_a_joint_problem(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 1, 0, 2, 1, 0 };
    int8_t Y[] = { 1, 1 };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Y = Y });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_JOINT);
    settings.time_limit = 0.2;
    attsvm_problem *problem;
    attsvm_solution *solution;
    attsvm_error err;
    assert_ok(
        problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, &settings, &err),
        err);
    slow s = { base_seconds(), 0.25 };
    assert_ok(attsvm_problem_solve(problem, NULL, dawdle, &s, &solution, &err), err);
    assert_int_equal(attsvm_solution_describe(solution).outcome, ATTSVM_STALLED);
    assert_double_equal(attsvm_solution_claim(solution).settings.time_limit, 0.2, 0);
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    attsvm_data_free(data);
}

/* ----------------------------------------------------------------------- the caller's */

/* A problem listed twice is solved twice and is unchanged afterwards. */
static void a_batch_leaves_the_problems_as_they_are(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 1, 0, 2, 1, 0 };
    int8_t Y[] = { 1, 1 };
    int64_t alpha[] = { 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Y = Y });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_JOINT);
    attsvm_error err;
    enum { TIMES = 200 };
    attsvm_problem *problem, *list[TIMES];
    attsvm_solution *out[TIMES];
    settings.threads = 3;
    assert_ok(
        problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, &settings, &err),
        err);
    attsvm_problem before = *problem;
    for (int k = 0; k < TIMES; k++)
        list[k] = problem;
    assert_ok(attsvm_problem_solve_batch(list, TIMES, 2, NULL, NULL, out, &err), err);
    assert_memory_equal(&before, problem, sizeof before);
    for (int k = 0; k < TIMES; k++) {
        assert_int_equal(attsvm_solution_describe(out[k]).outcome, ATTSVM_OPTIMAL);
        assert_true(attsvm_solution_describe(out[k]).norm == attsvm_solution_describe(out[0]).norm);
        assert_int_equal(attsvm_solution_claim(out[k]).settings.threads, 3);
    }
    for (int k = 0; k < TIMES; k++)
        attsvm_solution_free(out[k]);
    attsvm_problem_free(problem);
    attsvm_data_free(data);
}

/* Missing names and values are refused, not dereferenced. */
static void settings_without_a_name_or_a_value(void **state)
{
    (void)state;
    attsvm_svm_settings svm;
    attsvm_train_settings train;
    attsvm_path_settings path;
    attsvm_error err;
    attsvm_svm_settings_init(&svm);
    attsvm_train_settings_init(&train);
    attsvm_path_settings_init(&path);
    const char *names[] = { "norm", "head", "query", "tol", "problem", "threads" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        assert_fails(attsvm_settings_set(&attsvm_svm_table, &svm, names[k], NULL, &err), err,
                     ATTSVM_E_ARG, "is given no value");
    assert_fails(attsvm_settings_set(&attsvm_train_table, &train, "lr", NULL, &err), err,
                 ATTSVM_E_ARG, "is given no value");
    assert_fails(attsvm_settings_set(&attsvm_path_table, &path, "seed", NULL, &err), err,
                 ATTSVM_E_ARG, "is given no value");
    assert_fails(attsvm_settings_set(&attsvm_svm_table, &svm, NULL, "1", &err), err, ATTSVM_E_ARG,
                 "no name");
    assert_fails(attsvm_settings_set(&attsvm_train_table, &train, NULL, "1", &err), err,
                 ATTSVM_E_ARG, "no name");
    assert_fails(attsvm_settings_set(&attsvm_path_table, &path, NULL, "1", &err), err, ATTSVM_E_ARG,
                 "no name");
    assert_int_equal(attsvm_settings_set(&attsvm_svm_table, &svm, "tol", NULL, NULL), ATTSVM_E_ARG);
}

/* A non-finite matrix is not reported as a bad argument. */
static void a_failure_of_the_arithmetic_is_no_bad_argument(void **state)
{
    (void)state;
    double A[] = { 1, NAN, 0, 1 }, s[2], U[4], Vt[4];
    attsvm_error err;
    assert_fails(la_svd(2, 2, A, 2, s, U, 2, Vt, 2, &err), err, ATTSVM_E_NUMERIC, "not finite");
}

/* ------------------------------------------------------------------------- uniqueness */

static void several_minimisers_are_told(void **state)
{
    (void)state;
    double X[] = { 1, 1, 0, 0 }, Z[] = { 1, 0 };
    int64_t alpha[] = { 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X, .Z = Z });
    for (int matrix = 0; matrix < 2; matrix++)
        for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
            attsvm_svm_settings settings =
                settings_for(matrix ? ATTSVM_PROBLEM_W : ATTSVM_PROBLEM_P);
            settings.norm = norms[k].norm;
            settings.q = norms[k].q;
            bool linear = norms[k].norm == ATTSVM_NORM_L1 || norms[k].norm == ATTSVM_NORM_LINF;
            bool singular =
                norms[k].norm == ATTSVM_NORM_NUC || norms[k].norm == ATTSVM_NORM_SPECTRAL;
            attsvm_solution *solution =
                solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
            assert_int_equal(attsvm_solution_describe(solution).unique,
                             !linear && !(singular && matrix));
            attsvm_solution_free(solution);
        }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tight_rows_of_terms_that_the_last_pass_skipped),
        cmocka_unit_test(tight_rows_of_l_q_that_the_gap_does_not_fix),
        cmocka_unit_test(merged_is_not_0_where_an_infeasible_problem_has_copies),
        cmocka_unit_test(rows_1e18_times_longer_than_others_are_met),
        cmocka_unit_test(no_term_is_skipped_after_a_long_way),
        cmocka_unit_test(tiny_numbers_do_not_hide_a_proof),
        cmocka_unit_test(no_gap_beside_a_violation),
        cmocka_unit_test(check_names_the_row_that_is_violated_most),
        cmocka_unit_test(equalities_of_zero_queries),
        cmocka_unit_test(equalities_of_tokens_that_nearly_agree),
        cmocka_unit_test(one_label_for_each_query_is_no_label_of_a_sequence),
        cmocka_unit_test(a_v_problem_reads_one_token_a_sequence),
        cmocka_unit_test(a_joint_problem_without_a_head_shows_the_heads_proof),
        cmocka_unit_test(the_time_limit_holds_for_both_solves_of_a_joint_problem),
        cmocka_unit_test(a_batch_leaves_the_problems_as_they_are),
        cmocka_unit_test(settings_without_a_name_or_a_value),
        cmocka_unit_test(a_failure_of_the_arithmetic_is_no_bad_argument),
        cmocka_unit_test(several_minimisers_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
