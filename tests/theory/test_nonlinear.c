/* Nonlinear heads (theory 6.9): kept sets, W_fin + R W_svm, and the path. */
#include "generated.h"
#include "reference.h"

#include "theory/theory.h"

static double relative(const double *a, const attsvm_array *b)
{
    double difference = 0, norm = 0;
    for (int64_t j = 0; j < attsvm_array_count(b); j++) {
        double entry = attsvm_array_get(b, j);
        difference = hypot(difference, a[j] - entry);
        norm = hypot(norm, entry);
    }
    return difference / norm;
}

static double number(const attsvm_archive *archive, const char *prefix, const char *name, int64_t k)
{
    attsvm_array list = array_of(archive, prefix, name, -1);
    return attsvm_array_get(&list, k);
}

/* Run k of `prefix`: the reference takes sets and W_fin at step 2000, and compares W at 2001. */
static double check_run(const attsvm_archive *archive, const char *prefix, int64_t k)
{
    static const char *const own[] = { "X", "Y", "Z", "V", NULL }, *const none[] = { NULL };
    attsvm_data *data = data_of(archive, prefix, k, own, none);
    attsvm_array trace = array_of(archive, prefix, "W_eps", k);
    attsvm_array relevant = array_of(archive, prefix, "relevant", k);
    attsvm_array expected = array_of(archive, prefix, "svm_dir", k);
    int64_t size = trace.shape[1] * trace.shape[2];
    double fin[100], svm[100], W[2][100];
    attsvm_multi_token kept, last;
    attsvm_error err;
    uint8_t sets[12];
    for (int step = 0; step < 2; step++)
        for (int64_t j = 0; j < size; j++)
            W[step][j] = attsvm_array_get(&trace, (trace.shape[0] - 2 + step) * size + j);
    assert_ok(attsvm_multi_token_compare(&kept, data, W[0], NULL, fin, svm, sets, &err), err);
    assert_ok(attsvm_multi_token_compare(&last, data, W[1], NULL, NULL, NULL, NULL, &err), err);
    for (int64_t c = 0; c < 12; c++)
        assert_int_equal(sets[c], attsvm_array_get(&relevant, c) != 0);
    assert_int_equal(kept.svm, ATTSVM_OPTIMAL);
    assert_int_equal(kept.finite, ATTSVM_OPTIMAL);
    assert_true(relative(svm, &expected) < 1e-7);
    expected = array_of(archive, prefix, "svm_fin", k);
    assert_true(kept.several == 0 || relative(fin, &expected) < 1e-7);
    /* R by least squares at step 2001, from both parts of step 2000 */
    double R = la_dot(W[1], svm, size) / la_dot(svm, svm, size);
    assert_double_equal(R, number(archive, prefix, "svm_R", k), 1e-7 * R);
    la_axpy(R, svm, fin, size);
    assert_double_equal(attsvm_correlation(W[1], fin, size), number(archive, prefix, "corr_eq", k),
                        1e-9);
    assert_double_equal(last.R, R, 1e-6 * R);
    assert_double_equal(last.correlation, number(archive, prefix, "corr_eq", k), 1e-5);
    assert_double_equal(last.correlation_svm, number(archive, prefix, "corr_dir", k), 1e-9);
    assert_double_equal(last.correlation_single, number(archive, prefix, "corr_single", k), 1e-9);
    attsvm_data_free(data);
    return 1 - last.correlation;
}

static void theory_6_9_finite_and_svm_parts_as_in_the_reference(void **state)
{
    (void)state;
    static const char *const prefixes[] = { "d4_", "d6_", "d8_", "d10_" };
    attsvm_archive *archive = open_reference("multi_token");
    double worst = 0;
    int runs = 0;
    for (int p = 0; p < 4; p++) {
        attsvm_array seeds = array_of(archive, prefixes[p], "seed", -1);
        for (int64_t k = 0; k < attsvm_array_count(&seeds); k++, runs++)
            worst = fmax(worst, check_run(archive, prefixes[p], k));
    }
    print_message("%d runs; 1 - correlation to W_fin + R W_svm at most %.1e\n", runs, worst);
    attsvm_archive_free(archive);
}

/* Concave heads keep several tokens; W's direction goes to the multi-token SVM, and W itself to
   W_fin + R W_svm sooner. */
static void theory_6_9_path_agrees_with_the_multi_token_svm(void **state)
{
    (void)state;
    for (int64_t seed = 1; seed <= 5; seed++) {
        attsvm_path_settings s;
        attsvm_data *data = generated(ATTSVM_SPHERE, 4, 6, 8, .queries = 1, .seed = seed);
        attsvm_path *path;
        attsvm_error err;
        attsvm_path_settings_init(&s);
        s.model = ATTSVM_MODEL_W;
        s.head = "concave:1";
        s.radii = "1:10000:9";
        s.threads = 1;
        assert_ok(attsvm_path_follow(&path, data, &s, NULL, NULL, NULL, &err), err);
        attsvm_path_info info = attsvm_path_describe(path);
        const double *correlation = attsvm_path_find(path, "correlation")->data;
        const double *predictivity = attsvm_path_find(path, "predictivity")->data;
        print_message("seed %d: %d of 24 tokens kept, 1 - correlation %.1e at 1000, %.1e at "
                      "10 000, predictivity %.1e\n",
                      (int)seed, (int)info.kept, 1 - correlation[6], 1 - correlation[8],
                      predictivity[6]);
        assert_int_equal(info.svm, ATTSVM_OPTIMAL);
        assert_true(info.kept > 4 && info.kept < 24);
        assert_int_equal(info.zero_weight_tokens, 0);
        assert_true(correlation[6] > 1 - 1e-3);
        assert_true(correlation[8] > 1 - 1e-5);
        assert_true(predictivity[6] <= 1 - correlation[6] + 1e-9);
        attsvm_path_free(path);
        attsvm_data_free(data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_6_9_path_agrees_with_the_multi_token_svm),
        cmocka_unit_test(theory_6_9_finite_and_svm_parts_as_in_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
