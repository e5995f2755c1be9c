/* Head and prompt trained together (theory 6.8): which p-SVM a verdict uses, and the search for nu.
 */
#include "unit_train.h"

#include "theory/joint/joint.h"

/* mm-joint-slack: the third sequence is not tight, and the relaxed p-SVM is not the unrelaxed. */
static attsvm_data *slack(void)
{
    static const double X[12] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, .5, 1.5 }, Y[3] = { 1, -1, 1 };
    static const double p[2] = { 0, -1 }, v[2] = { -1, 0 };
    attsvm_named_array arrays[] = {
        { "X", { X, { 3, 2, 2 }, 3, ATTSVM_F64 } },
        { "Y", { Y, { 3 }, 1, ATTSVM_F64 } },
        { "init_p", { p, { 2 }, 1, ATTSVM_F64 } },
        { "init_v", { v, { 2 }, 1, ATTSVM_F64 } },
    };
    attsvm_data *data;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, 4, NULL, &err), err);
    return data;
}

static attsvm_verdict judge(const attsvm_data *data, const char *eps, const char *iters)
{
    attsvm_verdict verdict;
    attsvm_error err;
    attsvm_train *train = run(data, (setting[]){ { "model", "vp" },
                                                 { "init", "file" },
                                                 { "eps", eps },
                                                 { "iters", iters },
                                                 { NULL, NULL } });
    assert_ok(attsvm_verdict_compute(&verdict, train, NULL, NULL, NULL, NULL, &err), err);
    attsvm_train_free(train);
    return verdict;
}

/* Both grow alike: the relaxed one.  The head slows down as its gradient falls: the unrelaxed. */
static void theory_6_8_the_growth_of_the_head_decides_the_svm(void **state)
{
    (void)state;
    attsvm_data *data = slack();
    attsvm_verdict alike = judge(data, "0", "3000"), slow = judge(data, "0,1e-3", "3000");
    print_message("correlation: alike %.6f, slow head %.6f\n", alike.correlation, slow.correlation);
    assert_int_equal(alike.svm.problem, ATTSVM_PROBLEM_JOINT);
    assert_int_equal(alike.kind, ATTSVM_VERDICT_GLOBAL);
    assert_true(alike.correlation > 0.999);
    assert_int_equal(slow.svm.problem, ATTSVM_PROBLEM_P);
    assert_int_equal(slow.kind, ATTSVM_VERDICT_GLOBAL);
    assert_true(slow.correlation > 0.999 && slow.efficiency > 0.95);
    attsvm_data_free(data);
}

enum { N = 6, D = 5, POINTS = 200 };

/* The smallest nu of given points, each computed by itself. */
static double smallest(const assumption_b *b, const double *u)
{
    double best = INFINITY;
    for (int k = 0; k < POINTS; k++) {
        double margin, miss;
        attsvm_error err;
        assert_ok(assumption_b_margin(b, u + k * D, &margin, &miss, &err), err);
        if (miss > 1e-6)
            best = fmin(best, (b->margin - margin) / miss);
    }
    return best;
}

/* The search leaves out points by a bound; it must not change the result. */
static void theory_6_8_the_search_for_nu_leaves_out_nothing(void **state)
{
    (void)state;
    int positive = 0;
    for (int64_t seed = 0; seed < 20; seed++) {
        attsvm_data *data = generated(ATTSVM_SPHERE, N, 4, D, .seed = seed);
        int64_t alpha[N] = { 0 }, tried;
        double u[POINTS * D], nu, nu_norm, found;
        dist_watch watch = { 0 };
        dist_stop stop;
        attsvm_error err;
        base_random r = base_random_stream(7, (uint64_t)seed);
        for (int k = 0; k < POINTS; k++) {
            base_random_sphere(&r, u + k * D, D);
            for (int j = 0; j < D; j++)
                u[k * D + j] *= k % 10 + 0.5;
        }
        dist_stop_watch(&stop, NULL, 0, &watch);
        assumption_b b = { data, alpha, seed % 2 ? 0.2 : 0.9, 1, &stop, &watch };
        found = smallest(&b, u);
        positive += found > 0;
        attsvm_joint_settings settings;
        attsvm_joint_settings_init(&settings);
        settings.samples = settings.descent = 0;
        assert_ok(assumption_b_search(&b, &settings, u, POINTS, &nu, &nu_norm, &tried, &err), err);
        assert_true(nu == found);
        attsvm_data_free(data);
    }
    print_message("nu above 0 in %d of 20\n", positive);
    assert_true(positive > 0 && positive < 20);
}

static double head_margin(const attsvm_data *data, const int64_t *alpha)
{
    attsvm_svm_settings settings;
    attsvm_solution *solution;
    attsvm_error err;
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_V;
    settings.norm = ATTSVM_NORM_L2;
    assert_ok(theory_solve(data, &(attsvm_selection){ .alpha = alpha, .terms = data->n }, &settings,
                           NULL, &solution, &err),
              err);
    double margin = solution->info.outcome == ATTSVM_OPTIMAL ? solution->info.margin : 0;
    attsvm_solution_free(solution);
    return margin;
}

/* A long path ends at the selection with the largest margin of the head, of all 1024. */
static void theory_6_8_the_joint_path_ends_at_the_best_head(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= 6; seed++) {
        attsvm_data *data = generated(ATTSVM_PLANTED_P, 5, 4, 30, .seed = seed);
        attsvm_path_settings settings;
        attsvm_path *path;
        attsvm_error err;
        double best = 0;
        for (int64_t k = 0; k < 1024; k++) {
            int64_t alpha[5] = { k & 3, k >> 2 & 3, k >> 4 & 3, k >> 6 & 3, k >> 8 };
            best = fmax(best, head_margin(data, alpha));
        }
        attsvm_path_settings_init(&settings);
        settings.model = ATTSVM_MODEL_VP;
        settings.radii = "1:1000:4";
        settings.threads = 1;
        assert_ok(attsvm_path_follow(&path, data, &settings, NULL, NULL, NULL, &err), err);
        const int64_t *selected = attsvm_path_find(path, "selected")->data;
        double reached = head_margin(data, selected + 3 * 5);
        print_message("seed %d: margin %.6f, the best of all %.6f\n", (int)seed, reached, best);
        assert_double_equal(reached, best, 1e-12);
        attsvm_path_free(path);
        attsvm_data_free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_6_8_the_growth_of_the_head_decides_the_svm),
        cmocka_unit_test(theory_6_8_the_search_for_nu_leaves_out_nothing),
        cmocka_unit_test(theory_6_8_the_joint_path_ends_at_the_best_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
