/* Scores, support tokens, optimality and verdicts (theory, section 5), on cases done by hand. */
#include "lengths.h"
#include "unit.h"

#include "theory/theory.h"

#include <string.h>

/* One sequence of three tokens in the plane, head e3; see theory 7, mm-single-local. */
static attsvm_data *single(double third)
{
    static double X[9] = { -.1, 1, 1, 1, 0, .9, 0, 0, 0 };
    static const double Y[1] = { 1 }, v[3] = { 0, 0, 1 };
    static const double W[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
    X[8] = third;
    attsvm_named_array arrays[] = {
        { "X", { X, { 1, 3, 3 }, 3, ATTSVM_F64 } },
        { "Y", { Y, { 1 }, 1, ATTSVM_F64 } },
        { "v", { v, { 3 }, 1, ATTSVM_F64 } },
        { "W", { W, { 3, 3 }, 2, ATTSVM_F64 } },
    };
    attsvm_data *data;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, 4, NULL, &err), err);
    return data;
}

static attsvm_optimality optimality_of(const attsvm_data *data, int64_t token,
                                       attsvm_support *support, int64_t capacity)
{
    attsvm_svm_settings settings;
    attsvm_scores *scores;
    attsvm_problem *problem;
    attsvm_solution *solution;
    attsvm_optimality out;
    attsvm_error err;
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_P;
    settings.norm = ATTSVM_NORM_L2;
    attsvm_selection selection = { .alpha = &token };
    assert_ok(attsvm_scores_create(&scores, data, &settings, &err), err);
    assert_ok(problem_create(&problem, data, &selection, &settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
    assert_ok(attsvm_optimality_compute(&out, scores, solution, support, capacity, &err), err);
    assert_int_equal(out.support, attsvm_solution_describe(solution).tight);
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    attsvm_scores_free(scores);
    return out;
}

static void theory_5_scores_and_ties(void **state)
{
    (void)state;
    attsvm_data *data = single(1);
    attsvm_svm_settings settings;
    attsvm_scores *scores;
    attsvm_error err;
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_P;
    assert_ok(attsvm_scores_create(&scores, data, &settings, &err), err);
    attsvm_term term = attsvm_scores_term(scores, 0);
    assert_int_equal(attsvm_scores_terms(scores), 1);
    assert_int_equal(term.tokens, 3);
    assert_int_equal(term.optimal, 0);
    assert_int_equal(term.tied, 1);
    assert_true(term.best == 1 && term.next == .9 && term.worst == .9);
    assert_true(attsvm_scores_gamma(scores, 0, 1) == .9);
    attsvm_scores_free(scores);
    attsvm_data_free(data);
}

/* Token 1 against (-.1,1) and the origin: its support is the origin, of score 0 or .9. */
static void theory_5_a_worse_token_is_locally_optimal(void **state)
{
    (void)state;
    attsvm_support support[4];
    attsvm_data *data = single(0);
    attsvm_optimality best = optimality_of(data, 0, support, 4);
    assert_true(best.global && best.local && !best.tie);
    attsvm_optimality other = optimality_of(data, 1, support, 4);
    assert_true(!other.global && other.local);
    assert_int_equal(other.missed, 1);
    assert_int_equal(other.support, 1);
    assert_int_equal(support[0].row.token, 2);
    assert_int_equal(support[0].selected, 1);
    assert_double_equal(support[0].advantage, .9, 1e-15);
    assert_double_equal(support[0].lambda, 1, 1e-12); /* theta = (1,0) = 1 (x_1 - x_2) */
    attsvm_data_free(data);

    data = single(.9); /* the same geometry, and a tie */
    other = optimality_of(data, 1, NULL, 0);
    assert_true(!other.local && other.tie);
    assert_int_equal(other.tied_support, 1);
    assert_int_equal(other.against, 1);
    attsvm_data_free(data);
}

static void predicted_norms(void **state)
{
    (void)state;
    static const struct {
        const char *model, *step;
        int32_t problem, norm;
        bool claimed;
    } cases[] = {
        { "p", "ngd", ATTSVM_PROBLEM_P, ATTSVM_NORM_L2, true },
        { "p", "spectral", ATTSVM_PROBLEM_P, ATTSVM_NORM_L2, true },
        { "pW", "sign", ATTSVM_PROBLEM_P, ATTSVM_NORM_LINF, true },
        { "W", "gd", ATTSVM_PROBLEM_W, ATTSVM_NORM_FRO, true },
        { "W", "spectral", ATTSVM_PROBLEM_W, ATTSVM_NORM_SPECTRAL, true },
        { "W", "coordinate", ATTSVM_PROBLEM_W, ATTSVM_NORM_L1, true },
        { "W", "nmd:3", ATTSVM_PROBLEM_W, ATTSVM_NORM_LQ, true },
        { "W", "adam", ATTSVM_PROBLEM_W, ATTSVM_NORM_FRO, false },
        { "KQ", "ngd", ATTSVM_PROBLEM_W, ATTSVM_NORM_NUC, true },
        { "KQ", "sign", ATTSVM_PROBLEM_W, ATTSVM_NORM_NUC, false },
        { "vp", "ngd", ATTSVM_PROBLEM_JOINT, ATTSVM_NORM_L2, true },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_train_settings train;
        attsvm_svm_settings svm;
        attsvm_error err;
        bool claimed;
        attsvm_train_settings_init(&train);
        assert_ok(attsvm_settings_set(&attsvm_train_table, &train, "model", cases[k].model, &err),
                  err);
        assert_ok(attsvm_settings_set(&attsvm_train_table, &train, "step", cases[k].step, &err),
                  err);
        assert_ok(attsvm_train_limit(&train, &svm, &claimed, &err), err);
        assert_int_equal(svm.problem, cases[k].problem);
        assert_int_equal(svm.norm, cases[k].norm);
        assert_int_equal(claimed, cases[k].claimed);
        if (svm.norm == ATTSVM_NORM_LQ)
            assert_true(svm.q == 3);
    }
}

/* A run that ends at a finite point was said to approach the max-margin direction. */
static void no_direction_is_predicted_for_runs_that_cannot_grow(void **state)
{
    (void)state;
    static const struct {
        const char *step, *name, *value;
        bool claimed;
    } cases[] = {
        { "ngd", "lr", "0", false },
        { "ngd", "lr", "1e-9", true },
        { "ngd", "decay", "1.01", false },
        { "ngd", "decay", "1", true },
        { "gd", "ridge", "2.2e-16", false },
        { "gd", "ridge", "0", true },
        { "polyak", "lstar", "0.1", false },
        { "polyak", "lstar", "", true },
        { "polyak", "max_step", "0", false },
        { "ngd", "max_step", "0", true },
        { "gd", "arithmetic", "float64", false },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_train_settings train;
        attsvm_svm_settings svm;
        attsvm_error err;
        bool claimed;
        attsvm_train_settings_init(&train);
        assert_ok(attsvm_settings_set(&attsvm_train_table, &train, "step", cases[k].step, &err),
                  err);
        assert_ok(
            attsvm_settings_set(&attsvm_train_table, &train, cases[k].name, cases[k].value, &err),
            err);
        assert_ok(attsvm_train_limit(&train, &svm, &claimed, &err), err);
        assert_int_equal(claimed, cases[k].claimed);
    }
}

/*
 * Four words in two sequences, "a b c c" and "a b d c": a and b occur equally often in both.  Words
 * are unit vectors, as a table or as tokens of their own.
 */
static attsvm_data *words(bool table, const double *v, const double *init_p)
{
    static const double E[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 };
    static const int32_t tokens[8] = { 0, 1, 2, 2, 0, 1, 3, 2 };
    static const int64_t offsets[3] = { 0, 4, 8 };
    static const double Y[2] = { 1, -1 }, V[8] = { 1, 1, 0, 2, 3, 3, 4, 5 };
    static double X[32];
    for (int k = 0; k < 32; k++)
        X[k] = E[4 * tokens[k / 4] + k % 4];
    attsvm_named_array arrays[8] = {
        { "Y", { Y, { 2 }, 1, ATTSVM_F64 } },
        { "V", { V, { 2, 4 }, 2, ATTSVM_F64 } },
    };
    int64_t count = 2;
    if (table) {
        arrays[count++] = (attsvm_named_array){ "E", { E, { 4, 4 }, 2, ATTSVM_F64 } };
        arrays[count++] = (attsvm_named_array){ "tokens", { tokens, { 8 }, 1, ATTSVM_I32 } };
        arrays[count++] = (attsvm_named_array){ "offsets", { offsets, { 3 }, 1, ATTSVM_I64 } };
    } else {
        arrays[count++] = (attsvm_named_array){ "X", { X, { 2, 4, 4 }, 3, ATTSVM_F64 } };
    }
    if (v)
        arrays[count++] = (attsvm_named_array){ "v", { v, { 4 }, 1, ATTSVM_F64 } };
    if (init_p)
        arrays[count++] = (attsvm_named_array){ "init_p", { init_p, { 4 }, 1, ATTSVM_F64 } };
    attsvm_data *data;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, count, NULL, &err), err);
    return data;
}

static attsvm_exchangeable exchangeable_of(attsvm_data *data, attsvm_train_settings settings)
{
    attsvm_exchangeable out;
    attsvm_train *run;
    attsvm_error err;
    assert_ok(attsvm_train_create(&run, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_exchangeable_compute(&out, run, &err), err);
    attsvm_train_free(run);
    attsvm_data_free(data);
    return out;
}

static void words_that_descent_cannot_separate_went_unsaid(void **state)
{
    (void)state;
    static const double alike[4] = { 1, 1, .5, 2 }, unlike[4] = { 1, 2, .5, 2 };
    static const struct {
        attsvm_model_kind model;
        const char *init, *step, *query, *head;
        bool table;
        const double *v, *init_p;
        int64_t groups;
    } cases[] = {
        { ATTSVM_MODEL_P, "zero", "ngd", "", "linear", true, alike, NULL, 1 },
        { ATTSVM_MODEL_P, "zero", "gd", "", "linear", false, alike, NULL, 1 },
        { ATTSVM_MODEL_P, "zero", "ngd", "", "concave:1", true, alike, NULL, 1 },
        { ATTSVM_MODEL_P, "zero", "ngd", "", "linear", true, unlike, NULL, 0 },
        { ATTSVM_MODEL_P, "gauss:0.01", "ngd", "", "linear", true, alike, NULL, 0 },
        { ATTSVM_MODEL_P, "zero", "coordinate", "", "linear", true, alike, NULL, 0 },
        { ATTSVM_MODEL_P, "file", "sign", "", "linear", true, alike, alike, 1 },
        { ATTSVM_MODEL_P, "file", "sign", "", "linear", true, alike, unlike, 0 },
        { ATTSVM_MODEL_VP, "zero", "ngd", "", "linear", true, NULL, NULL, 1 },
        { ATTSVM_MODEL_VP, "zero", "ngd", "", "linear", true, unlike, NULL, 0 },
        { ATTSVM_MODEL_W, "zero", "ngd", "3", "linear", true, alike, NULL, 1 },
        { ATTSVM_MODEL_W, "zero", "ngd", "0", "linear", true, alike, NULL, 0 },
        { ATTSVM_MODEL_W, "zero", "ngd", "1", "linear", false, alike, NULL, 0 },
        { ATTSVM_MODEL_W, "zero", "spectral", "last", "linear", true, alike, NULL, 1 },
        { ATTSVM_MODEL_W, "zero", "ngd", "all", "linear", true, alike, NULL, 0 },
        { ATTSVM_MODEL_W, "zero", "ngd", "causal", "linear", true, alike, NULL, 0 },
        { ATTSVM_MODEL_KQ, "uniform:0.5", "ngd", "3", "linear", true, alike, NULL, 0 },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_train_settings s;
        attsvm_train_settings_init(&s);
        s.model = (int32_t)cases[k].model;
        s.init = cases[k].init;
        s.step = cases[k].step;
        if (*cases[k].query)
            attsvm_settings_set(&attsvm_train_table, &s, "query", cases[k].query, NULL);
        attsvm_settings_set(&attsvm_train_table, &s, "head", cases[k].head, NULL);
        attsvm_exchangeable found =
            exchangeable_of(words(cases[k].table, cases[k].v, cases[k].init_p), s);
        assert_int_equal(found.groups, cases[k].groups);
        assert_int_equal(found.words, 2 * cases[k].groups);
        assert_int_equal(found.onehot, strcmp(s.step, "coordinate") != 0);
    }
    /* a ReLU head: columns of V */
    attsvm_train_settings s;
    attsvm_train_settings_init(&s);
    s.model = ATTSVM_MODEL_P;
    s.init = "zero";
    s.head = ATTSVM_HEAD_RELU;
    assert_int_equal(exchangeable_of(words(true, NULL, NULL), s).groups, 1);
    /* tokens that are no words */
    s.head = ATTSVM_HEAD_LINEAR;
    assert_false(exchangeable_of(single(0), s).onehot);
}

/* Exact descent keeps them tied: what the report says, seen over 500 steps. */
static void theory_6_3_exchangeable_words_stay_tied(void **state)
{
    (void)state;
    static const double alike[4] = { 1, 1, .5, 2 };
    attsvm_data *data = words(true, alike, NULL);
    attsvm_train_settings s;
    attsvm_train *run;
    attsvm_error err;
    attsvm_train_settings_init(&s);
    s.model = ATTSVM_MODEL_P;
    s.step = "gd";
    s.init = "zero";
    s.iters = 500;
    assert_ok(attsvm_train_create(&run, data, &s, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(run, NULL, NULL, &err), err);
    const double *p = attsvm_train_find(run, "p")->data;
    assert_double_equal(p[0], p[1], 1e-12);
    assert_true(fabs(p[0] - p[2]) > 0.1 && fabs(p[0] - p[3]) > 0.1);
    attsvm_train_free(run);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_that_descent_cannot_separate_went_unsaid),
        cmocka_unit_test(theory_6_3_exchangeable_words_stay_tied),
        cmocka_unit_test(theory_5_scores_and_ties),
        cmocka_unit_test(theory_5_a_worse_token_is_locally_optimal),
        cmocka_unit_test(predicted_norms),
        cmocka_unit_test(no_direction_is_predicted_for_runs_that_cannot_grow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
