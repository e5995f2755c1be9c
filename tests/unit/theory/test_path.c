/* Regularisation paths: every statement of theory 6.7 and 6.8, and the minimum itself. */
#include "unit_train.h"

#include "theory/path/path.h"

/* A path with these settings (NULL-terminated); the caller frees it. */
static attsvm_path *follow(const attsvm_data *data, const int64_t *alpha, const setting *list)
{
    attsvm_path_settings settings;
    attsvm_path *path;
    attsvm_error err;
    attsvm_path_settings_init(&settings);
    settings.threads = 1;
    for (; list->name; list++)
        assert_ok(attsvm_settings_set(&attsvm_path_table, &settings, list->name, list->value, &err),
                  err);
    attsvm_selection selection = { .alpha = alpha, .terms = attsvm_data_describe(data).n };
    assert_ok(
        attsvm_path_follow(&path, data, &settings, alpha ? &selection : NULL, NULL, NULL, &err),
        err);
    return path;
}

static double at(const attsvm_path *path, const char *name, int64_t k)
{
    const attsvm_array *array = attsvm_path_find(path, name);
    if (!array)
        fail_msg("no array %s", name);
    return attsvm_array_get(array, k);
}

/* ------------------------------------------------------------------------ theory 6.7 */

/* On 20 random instances with margin at least 0.05: 1 - 1e-3 at R = 1000, 1 - 1e-5 at 10 000. */
static void theory_6_7_path_of_p_leads_to_the_p_svm_at_opt(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { 6, 8, 60 }, { 4, 5, 12 }, { 3, 6, 9 }, { 8, 3, 10 } };
    const int64_t wanted = long_or_short(20, 4);
    double worst_1000 = 0, worst_10000 = 0, least_margin = INFINITY;
    int64_t found = 0;
    for (int64_t seed = 1; found < wanted && seed < 400; seed++) {
        const int64_t *shape = shapes[seed % 4];
        attsvm_data *data =
            generated(ATTSVM_SPHERE, shape[0], shape[1], shape[2], .queries = 1, .seed = seed);
        attsvm_path *path = follow(data, NULL, (setting[]){ { "radii", "10:10000:4" }, { 0 } });
        attsvm_path_info info = attsvm_path_describe(path);
        if (info.svm == ATTSVM_OPTIMAL && 1 / info.svm_norm >= 0.05) {
            found++;
            least_margin = fmin(least_margin, 1 / info.svm_norm);
            worst_1000 = fmax(worst_1000, 1 - at(path, "correlation", 2));
            worst_10000 = fmax(worst_10000, 1 - at(path, "correlation", 3));
            assert_true(at(path, "efficiency", 3) > 0.99 && at(path, "efficiency", 3) < 1 + 1e-9);
        }
        attsvm_path_free(path);
        attsvm_data_free(data);
    }
    print_message("margins from %.3f: 1 - correlation at most %.1e at 1000, %.1e at 10 000\n",
                  least_margin, worst_1000, worst_10000);
    assert_int_equal(found, wanted);
    assert_true(worst_1000 <= 1e-3);
    assert_true(worst_10000 <= 1e-5);
}

static void theory_6_7_path_of_W_leads_to_the_frobenius_svm(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= long_or_short(5, 1); seed++) {
        attsvm_data *data = generated(ATTSVM_SPHERE, 6, 8, 10, .queries = 1, .seed = seed);
        attsvm_path *path =
            follow(data, NULL, (setting[]){ { "model", "W" }, { "radii", "10:10000:4" }, { 0 } });
        assert_int_equal(attsvm_path_describe(path).svm, ATTSVM_OPTIMAL);
        assert_true(at(path, "correlation", 2) > 1 - 1e-3);
        assert_true(at(path, "correlation", 3) > 1 - 1e-5);
        attsvm_path_free(path);
        attsvm_data_free(data);
    }
}

/* (K,Q) with |K|^2 + |Q|^2 <= 2R: to the nuclear SVM, and further from the Frobenius one. */
static void theory_6_7_path_of_KQ_leads_to_the_nuclear_svm(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= long_or_short(3, 1); seed++) {
        attsvm_data *data = generated(ATTSVM_SPHERE, 4, 5, 6, .queries = 1, .seed = seed);
        const setting factored[] = { { "model", "KQ" }, { "radii", "10:10000:4" }, { 0 } };
        const setting matrix[] = { { "model", "W" }, { "radii", "10000:10000:1" }, { 0 } };
        attsvm_path *path = follow(data, NULL, factored), *other = follow(data, NULL, matrix);
        const attsvm_array *W = attsvm_path_find(path, "theta");
        const attsvm_array *frobenius = attsvm_path_find(other, "svm");
        assert_true(at(path, "correlation", 2) > 1 - 1e-3);
        assert_true(at(path, "correlation", 3) > 1 - 1e-5);
        assert_double_equal(at(path, "radius", 3), 10000, 1e-6);
        assert_true(attsvm_correlation((const double *)W->data + 3 * 36, frobenius->data, 36) <
                    0.999);
        attsvm_path_free(path);
        attsvm_path_free(other);
        attsvm_data_free(data);
    }
}

/* L + rho |p|^2 with rho -> 0 has the direction of the path at the same radius, and its limit. */
static void theory_6_7_vanishing_ridge_gives_the_same_directions(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 5, 20, .queries = 1, .seed = 3);
    attsvm_path *ridge =
        follow(data, NULL, (setting[]){ { "ridge_path", "1e-1:1e-300:5" }, { 0 } });
    for (int64_t k = 1; k < 5; k++) {
        double radius = at(ridge, "radius", k);
        char radii[80];
        snprintf(radii, sizeof radii, "%.17g:%.17g:1", radius, radius);
        attsvm_path *ball = follow(data, NULL, (setting[]){ { "radii", radii }, { 0 } });
        const double *p = attsvm_path_find(ridge, "theta")->data;
        assert_true(radius > at(ridge, "radius", k - 1));
        assert_true(attsvm_correlation(p + 20 * k, attsvm_path_find(ball, "theta")->data, 20) >
                    1 - 1e-10);
        attsvm_path_free(ball);
    }
    assert_true(at(ridge, "correlation", 4) > 1 - 1e-4);
    attsvm_path_free(ridge);
    attsvm_data_free(data);
}

/* ------------------------------------------------------------------------ theory 6.8 */

/* mm-joint-tight and mm-joint-slack of theory 7: the third sequence differs. */
static void joint_data(problem *s, bool slack)
{
    static const int64_t Y[3] = { 1, -1, 1 }, ids[3] = { 1, 1, 1 };
    static const double tight_X[12] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, .5, 1 };
    static const double slack_X[12] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, .5, 1.5 };
    *s = (problem){ 0 };
    add(s, "X", (attsvm_array){ slack ? slack_X : tight_X, { 3, 2, 2 }, 3, ATTSVM_F64 });
    add(s, "Y", (attsvm_array){ Y, { 3 }, 1, ATTSVM_I64 });
    add(s, "ids", (attsvm_array){ ids, { 3 }, 1, ATTSVM_I64 });
    make(s);
}

static void theory_6_8_tight_example_leads_to_the_unrelaxed_svm(void **state)
{
    (void)state;
    problem s;
    joint_data(&s, false);
    attsvm_path *path =
        follow(s.data, NULL, (setting[]){ { "model", "vp" }, { "radii", "1:1000:4" }, { 0 } });
    assert_int_equal(attsvm_path_describe(path).joint, ATTSVM_JOINT_ALL_TIGHT);
    assert_true(at(path, "correlation_unrelaxed", 3) > 1 - 1e-6);
    assert_true(at(path, "correlation_v", 3) > 1 - 1e-6);
    for (int i = 0; i < 3; i++)
        assert_int_equal((int)at(path, "selected", 9 + i), 1);
    attsvm_path_free(path);
    attsvm_data_free(s.data);
}

static void theory_6_8_slack_example_leads_to_the_relaxed_svm(void **state)
{
    (void)state;
    problem s;
    joint_data(&s, true);
    attsvm_path *path =
        follow(s.data, NULL, (setting[]){ { "model", "vp" }, { "radii", "1:1000:4" }, { 0 } });
    assert_int_equal(attsvm_path_describe(path).joint, ATTSVM_JOINT_RELAXED);
    assert_true(at(path, "correlation_relaxed", 3) > 1 - 1e-9);
    assert_true(at(path, "correlation_unrelaxed", 3) < 0.99);
    assert_true(at(path, "correlation_v", 3) > 1 - 1e-6);
    attsvm_path_free(path);
    attsvm_data_free(s.data);
}

/* R = 20: r = 1 gives the unrelaxed SVM to 0.99999, r >= 40 the relaxed one to 1.00000. */
static void theory_6_8_bounded_r_gives_the_unrelaxed_svm_on_slack(void **state)
{
    (void)state;
    problem s;
    joint_data(&s, true);
    attsvm_path *bounded = follow(
        s.data, NULL,
        (setting[]){ { "model", "vp" }, { "radii", "20:2000:2" }, { "head_radius", "1" }, { 0 } });
    attsvm_path *growing =
        follow(s.data, NULL,
               (setting[]){ { "model", "vp" }, { "radii", "20:20:1" }, { "ratio", "2" }, { 0 } });
    assert_int_equal(attsvm_path_describe(bounded).joint, ATTSVM_JOINT_UNRELAXED);
    assert_double_equal(at(bounded, "correlation_unrelaxed", 0), 0.99999, 5e-6);
    assert_true(at(bounded, "correlation_unrelaxed", 1) > 1 - 1e-8);
    assert_true(at(growing, "correlation_relaxed", 0) > 1 - 5e-6);
    assert_double_equal(at(growing, "radius_v", 0), 40, 1e-9);
    attsvm_path_free(bounded);
    attsvm_path_free(growing);
    attsvm_data_free(s.data);
}

/* Slack: v-SVM (0,1), Gamma 1, third sequence 1.5; |p_joint| = 1, so the ratio must be 2. */
static void theory_6_8_condition_on_the_ratio_is_reported(void **state)
{
    (void)state;
    problem s;
    joint_data(&s, true);
    attsvm_path *below = follow(
        s.data, NULL,
        (setting[]){ { "model", "vp" }, { "radii", "100:100:1" }, { "ratio", "0.3" }, { 0 } });
    attsvm_path_info info = attsvm_path_describe(below);
    assert_double_equal(info.least_ratio, 2, 1e-9);
    assert_int_equal(info.joint, ATTSVM_JOINT_BETWEEN);
    assert_true(at(below, "correlation_relaxed", 0) < 0.999);
    assert_true(at(below, "correlation_unrelaxed", 0) < 0.999);
    attsvm_path_free(below);
    attsvm_data_free(s.data);
}

/* --------------------------------------------------------------------- local paths */

/* mm-single-local: token 1 is locally optimal, its only support token has score 0. */
static void theory_6_2_local_path_in_a_cone_leads_to_the_local_svm(void **state)
{
    (void)state;
    static const double X[9] = { -.1, 1, 1, 1, 0, .9, 0, 0, 0 }, v[3] = { 0, 0, 1 };
    static const double W[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
    static const int64_t Y[1] = { 1 }, alpha[1] = { 1 };
    problem s = { 0 };
    add(&s, "X", (attsvm_array){ X, { 1, 3, 3 }, 3, ATTSVM_F64 });
    add(&s, "Y", (attsvm_array){ Y, { 1 }, 1, ATTSVM_I64 });
    add(&s, "v", (attsvm_array){ v, { 3 }, 1, ATTSVM_F64 });
    add(&s, "W", (attsvm_array){ W, { 3, 3 }, 2, ATTSVM_F64 });
    make(&s);
    const setting narrow[] = { { "radii", "1:10000:5" }, { "cone", "0.004" }, { 0 } };
    const setting wide[] = { { "radii", "1:10000:5" }, { "cone", "0.1" }, { 0 } };
    attsvm_path *local = follow(s.data, alpha, narrow), *leaves = follow(s.data, alpha, wide);
    attsvm_path *global = follow(s.data, NULL, narrow + 2);
    assert_true(at(local, "correlation", 4) > 1 - 1e-9);
    assert_true(at(local, "correlation", 0) > 1 - 0.004 - 1e-9); /* never outside */
    assert_double_equal(at(local, "selected", 4), 1, 0);
    /* a wider cone holds directions along which the better token 0 returns: its edge is better */
    assert_double_equal(at(leaves, "correlation", 4), 0.9, 1e-9);
    assert_true(at(leaves, "loss_excess", 1) < 0);
    assert_double_equal(at(global, "selected", 6), 0, 0);
    attsvm_path_free(local);
    attsvm_path_free(leaves);
    attsvm_path_free(global);
    attsvm_data_free(s.data);
}

/* ---------------------------------------------------------------- minima as such */

/* d = 2: the best of 100 000 directions is not better, at any radius. */
static void points_of_a_path_are_global_minima_in_the_plane(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= long_or_short(6, 1); seed++) {
        attsvm_data *data = generated(ATTSVM_GAUSS, 5, 4, 2, .queries = 1, .seed = seed);
        attsvm_path *path = follow(data, NULL, (setting[]){ { "radii", "0.1:10:5" }, { 0 } });
        model_options options = { .kind = ATTSVM_MODEL_P,
                                  .loss = "logistic",
                                  .head = ATTSVM_HEAD_LINEAR,
                                  .query = ATTSVM_QUERY_GIVEN,
                                  .threads = 1 };
        attsvm_error err;
        model *m;
        assert_ok(model_create(&m, data, &options, &err), err);
        for (int64_t k = 0; k < 5; k++) {
            double best = INFINITY, radius = 0.1 * pow(100, 0.25 * (double)k);
            for (int a = 0; a < 20000; a++) {
                /* all of the disc: random angle, half of the points on its edge */
                base_random r = base_random_stream((uint64_t)seed, (uint64_t)a);
                double angle = 6.283185307179586 * base_random_uniform(&r);
                double share = a % 2 ? 1 : sqrt(base_random_uniform(&r));
                double p[2] = { share * radius * cos(angle), share * radius * sin(angle) };
                model_value value;
                model_evaluate(m, p, NULL, 0, NULL, &value);
                best = fmin(best, value.loss);
            }
            if (!(at(path, "loss", k) <= best + 1e-9))
                fail_msg("seed %d, radius %g: loss %.12g, found %.12g", (int)seed, radius,
                         at(path, "loss", k), best);
            assert_true(at(path, "radius", k) <= radius * (1 + 1e-12));
        }
        model_free(m);
        attsvm_path_free(path);
        attsvm_data_free(data);
    }
}

/* Tokens 0 and 1 with label +1, 0 and 1/2 with label -1: what the second loses outlasts what the
   first gains, and the minimum is at a finite p, the zero of the derivative below. */
static void path_without_svm_stays_inside(void **state)
{
    (void)state;
    static const double X[4] = { 0, 1, 0, .5 }, v[1] = { 1 };
    static const int64_t Y[2] = { 1, -1 };
    problem s = { 0 };
    add(&s, "X", (attsvm_array){ X, { 2, 2, 1 }, 3, ATTSVM_F64 });
    add(&s, "Y", (attsvm_array){ Y, { 2 }, 1, ATTSVM_I64 });
    add(&s, "v", (attsvm_array){ v, { 1 }, 1, ATTSVM_F64 });
    make(&s);
    attsvm_path *path = follow(s.data, NULL, (setting[]){ { "radii", "0.01:1000:6" }, { 0 } });
    double p = at(path, "theta", 5), a = 1 / (1 + exp(-p)), b = 1 / (1 + exp(-p / 2));
    assert_int_equal(attsvm_path_describe(path).svm, ATTSVM_INFEASIBLE);
    assert_true(isnan(at(path, "correlation", 5)));
    assert_double_equal(at(path, "radius", 0), 0.01, 1e-12);
    assert_true(at(path, "inside", 5) == 1 && at(path, "radius", 5) < 100);
    assert_double_equal(a * (1 - a) / (1 + exp(a)), 0.25 * b * (1 - b) / (1 + exp(-b / 2)), 1e-9);
    attsvm_path_free(path);
    attsvm_data_free(s.data);
}

static void same_path_for_any_number_of_threads(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 400, 8, 16, .queries = 1, .seed = 9);
    const setting one[] = { { "radii", "1:10:2" }, { "starts", "2" }, { "threads", "1" }, { 0 } };
    const setting three[] = { { "radii", "1:10:2" }, { "starts", "2" }, { "threads", "3" }, { 0 } };
    attsvm_path *a = follow(data, NULL, one), *b = follow(data, NULL, three);
    assert_memory_equal(attsvm_path_find(a, "theta")->data, attsvm_path_find(b, "theta")->data,
                        2 * 16 * sizeof(double));
    attsvm_path_free(a);
    attsvm_path_free(b);
    attsvm_data_free(data);
}

static void expect_failure(const attsvm_data *data, const char *name, const char *value,
                           const char *model_name, const char *message)
{
    attsvm_path_settings settings;
    attsvm_path *path;
    attsvm_error err;
    attsvm_path_settings_init(&settings);
    assert_ok(attsvm_settings_set(&attsvm_path_table, &settings, "model", model_name, &err), err);
    assert_ok(attsvm_settings_set(&attsvm_path_table, &settings, name, value, &err), err);
    assert_fails(attsvm_path_follow(&path, data, &settings, NULL, NULL, NULL, &err), err,
                 ATTSVM_E_ARG, message);
    assert_null(path);
}

static void what_does_not_go_together_is_refused(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 3, 4, 5, .queries = 1, .seed = 1);
    expect_failure(data, "radii", "1:10", "p", "radii = 1:10: expected FIRST:LAST:COUNT");
    expect_failure(data, "radii", "1:10:2.5", "p", "expected");
    expect_failure(data, "radii", "-1:10:3", "p", "expected");
    expect_failure(data, "radii", "1:inf:3", "p", "expected");
    expect_failure(data, "ridge_path", "1:nan:3", "p", "ridge_path = 1:nan:3");
    expect_failure(data, "ridge_path", "1:0.1:3", "vp", "by radii");
    expect_failure(data, "cone", "0.1", "KQ", "local paths are for p and W");
    expect_failure(data, "head_radius", "1", "W", "only the model vp");
    expect_failure(data, "head", "concave:0.5", "vp", "nonlinear head");
    expect_failure(data, "seed", "1", "pW", "pW");
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_6_7_path_of_p_leads_to_the_p_svm_at_opt),
        cmocka_unit_test(theory_6_7_path_of_W_leads_to_the_frobenius_svm),
        cmocka_unit_test(theory_6_7_path_of_KQ_leads_to_the_nuclear_svm),
        cmocka_unit_test(theory_6_7_vanishing_ridge_gives_the_same_directions),
        cmocka_unit_test(theory_6_8_tight_example_leads_to_the_unrelaxed_svm),
        cmocka_unit_test(theory_6_8_slack_example_leads_to_the_relaxed_svm),
        cmocka_unit_test(theory_6_8_bounded_r_gives_the_unrelaxed_svm_on_slack),
        cmocka_unit_test(theory_6_8_condition_on_the_ratio_is_reported),
        cmocka_unit_test(theory_6_2_local_path_in_a_cone_leads_to_the_local_svm),
        cmocka_unit_test(points_of_a_path_are_global_minima_in_the_plane),
        cmocka_unit_test(path_without_svm_stays_inside),
        cmocka_unit_test(same_path_for_any_number_of_threads),
        cmocka_unit_test(what_does_not_go_together_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
