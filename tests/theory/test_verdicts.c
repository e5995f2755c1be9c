/* Verdicts of tests/reference/local_converge: the published setting with its seeds. */
#include "lengths.h"
#include "reference.h"

#include "theory/theory.h"

static attsvm_train *start(const attsvm_data *data, const char *const *settings)
{
    attsvm_train_settings s;
    attsvm_train *run;
    attsvm_error err;
    attsvm_train_settings_init(&s);
    for (; *settings; settings += 2)
        assert_ok(attsvm_settings_set(&attsvm_train_table, &s, settings[0], settings[1], &err),
                  err);
    assert_ok(attsvm_train_create(&run, data, &s, NULL, NULL, &err), err);
    return run;
}

/* Trains the ten instances and compares selection, verdict and correlation. */
static void compare_verdicts(const char *const *settings, const char *variant, const char *corr,
                             int32_t norm, const char *global)
{
    static const char *const own[] = { "X", "Y", "Z", "v", "init_W", "init_K", "init_Q", NULL };
    static const char *const none[] = { NULL };
    attsvm_archive *archive = open_reference("local_converge");
    attsvm_array local = array_of(archive, "local_opt_", variant, -1);
    attsvm_array best = array_of(archive, "global_opt_", global, -1);
    attsvm_array expected = array_of(archive, "corr_", corr, -1);
    attsvm_svm_settings svm;
    attsvm_train *runs[10];
    attsvm_data *data[10];
    attsvm_verdict verdicts[10];
    attsvm_error err;
    attsvm_svm_settings_init(&svm);
    svm.norm = norm;
    for (int64_t k = 0; k < 10; k++) {
        data[k] = data_of(archive, "", k, own, none);
        runs[k] = start(data[k], settings);
    }
    assert_ok(attsvm_train_run_batch(runs, 10, 2, NULL, NULL, &err), err);
    for (int64_t k = 0; k < 10; k++) {
        assert_ok(attsvm_verdict_compute(&verdicts[k], runs[k], &svm, NULL, NULL, NULL, &err), err);
        attsvm_array ids = array_of(archive, "selected_", global, k);
        const attsvm_verdict *v = &verdicts[k];
        bool same = true;
        for (int64_t i = 0; i < 6; i++)
            same &= runs[k]->m->selected[i] == (int64_t)attsvm_array_get(&ids, i);
        assert_true(same);
        assert_int_equal(v->optimality.local, attsvm_array_get(&local, k) != 0);
        assert_int_equal(v->optimality.global, attsvm_array_get(&best, k) != 0);
        assert_int_equal(v->kind, v->optimality.global  ? ATTSVM_VERDICT_GLOBAL
                                  : v->optimality.local ? ATTSVM_VERDICT_LOCAL
                                                        : ATTSVM_VERDICT_NOT_LOCAL);
        assert_double_equal(v->correlation, attsvm_array_get(&expected, k), 1e-6);
        assert_true(v->efficiency > 0.5 && v->efficiency <= 1 + 1e-9);
        assert_true(cos(v->angle * 3.14159265358979323846 / 180) - v->correlation < 1e-12);
    }
    for (int64_t k = 0; k < 10; k++) {
        attsvm_train_free(runs[k]);
        attsvm_data_free(data[k]);
    }
    attsvm_archive_free(archive);
}

static void verdicts_of_the_reference_ngd(void **state)
{
    (void)state;
    static const char *const settings[] = { "model", "W",    "iters", "2000", "init",
                                            "file",  "step", "ngd",   NULL };
    compare_verdicts(settings, "W_ngd", "Wngd_fro", ATTSVM_NORM_FRO, "W_ngd");
}

static void verdicts_of_the_reference_eps(void **state)
{
    (void)state;
    static const char *const settings[] = {
        "model", "W",    "iters", "2000", "init",
        "file",  "step", "ngd",   "eps",  "2.220446049250313e-16",
        NULL
    };
    compare_verdicts(settings, "W", "W_fro", ATTSVM_NORM_FRO, "W");
}

/* K, Q at step .1 are sensitive to rounding: the stored selections are judged, not trained. */
static void optimality_of_the_reference_kq(void **state)
{
    (void)state;
    static const char *const own[] = { "X", "Y", "Z", "v", NULL }, *const none[] = { NULL };
    attsvm_archive *archive = open_reference("local_converge");
    attsvm_array best = array_of(archive, "", "global_opt_KQ", -1);
    for (int nuclear = 0; nuclear < 2; nuclear++) {
        attsvm_array local =
            array_of(archive, "", nuclear ? "local_opt_KQ_nuc" : "local_opt_KQ", -1);
        for (int64_t k = 0; k < 10; k++) {
            attsvm_array ids = array_of(archive, "", "selected_KQ", k);
            attsvm_data *data = data_of(archive, "", k, own, none);
            attsvm_svm_settings settings;
            attsvm_scores *scores;
            attsvm_problem *problem;
            attsvm_solution *solution;
            attsvm_optimality found;
            attsvm_error err;
            int64_t alpha[6];
            integers_of(&ids, alpha);
            attsvm_svm_settings_init(&settings);
            settings.norm = nuclear ? ATTSVM_NORM_NUC : ATTSVM_NORM_FRO;
            attsvm_selection selection = { .alpha = alpha };
            assert_ok(attsvm_scores_create(&scores, data, &settings, &err), err);
            assert_ok(problem_create(&problem, data, &selection, &settings, &err), err);
            assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
            assert_ok(attsvm_optimality_compute(&found, scores, solution, NULL, 0, &err), err);
            assert_int_equal(found.local, attsvm_array_get(&local, k) != 0);
            assert_int_equal(found.global, attsvm_array_get(&best, k) != 0);
            attsvm_solution_free(solution);
            attsvm_problem_free(problem);
            attsvm_scores_free(scores);
            attsvm_data_free(data);
        }
    }
    attsvm_archive_free(archive);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_of_the_reference_ngd),
        cmocka_unit_test(verdicts_of_the_reference_eps),
        cmocka_unit_test(optimality_of_the_reference_kq),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
