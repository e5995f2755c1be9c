/* Further statements (theory 10), by the experiments that show them, with few runs. */
#include "files.h"

#include "experiments/tools/tools.h"

/* Runs an experiment into arrays and back, and finds its key numbers. */
typedef struct done {
    experiments_numbers numbers;
    const char *id;
} done;

static done run_experiment(files *f, const char *id, int64_t runs)
{
    const experiments_setup setup = { .runs = runs, .threads = 1 };
    const experiment *e;
    experiments_arrays *arrays;
    experiments_result *result;
    attsvm_error err;
    char name[64], path[512];
    done out = { .id = id };
    assert_ok(experiments_find(id, &e, &err), err);
    assert_ok(experiments_arrays_create(&arrays, &err), err);
    assert_ok(e->run(&setup, arrays, &err), err);
    snprintf(name, sizeof name, "%s.npz", id);
    snprintf(path, sizeof path, "%s", files_path(f, name));
    assert_ok(experiments_arrays_write(arrays, e, &setup, path, &err), err);
    experiments_arrays_free(arrays);
    assert_ok(experiments_result_read(&result, e, path, &err), err);
    assert_ok(e->numbers(result, &out.numbers, &err), err);
    experiments_result_free(result);
    return out;
}

static double number_of(const done *d, const char *key)
{
    for (int64_t k = 0; k < d->numbers.count; k++)
        if (strcmp(d->numbers.items[k].key, key) == 0)
            return d->numbers.items[k].value;
    fail_msg("%s has no number %s", d->id, key);
    return NAN;
}

static void theory_10_2_attention_follows_the_sparsemax_law(void **state)
{
    done d = run_experiment(*state, "ts-lambda", long_or_short(100, 8));
    assert_true(number_of(&d, "attention_error") < 1e-6);
    assert_true(number_of(&d, "other_count") == 0);
    assert_true(number_of(&d, "negative_attention") > 1 - 1e-6);
    assert_true(number_of(&d, "kept_1") > number_of(&d, "kept_0.05"));
    experiments_numbers_free(&d.numbers);
}

static void theory_10_4_ridge_on_factors_is_a_nuclear_penalty(void **state)
{
    done d = run_experiment(*state, "nuclear-ridge", long_or_short(20, 6));
    assert_true(number_of(&d, "balance") < 1e-8);
    assert_true(number_of(&d, "norms") < 1e-8);
    assert_true(number_of(&d, "operator") < 1e-8);
    assert_true(number_of(&d, "product") < 1e-8);
    assert_true(number_of(&d, "to_nuclear") > number_of(&d, "to_frobenius"));
    experiments_numbers_free(&d.numbers);
}

static void theory_10_5_basins_of_locally_optimal_directions(void **state)
{
    done d = run_experiment(*state, "basin", long_or_short(100, 10));
    assert_true(number_of(&d, "left_behind") == 0);
    assert_true(number_of(&d, "stays_R100_0") == 1);
    assert_true(number_of(&d, "stays_R100_30") >= 0.9);
    assert_true(number_of(&d, "stays_R100_90") < number_of(&d, "stays_R100_0"));
    experiments_numbers_free(&d.numbers);
}

/* From far out, where the gradient is below e^-2000: no NaN, and every rule moves. */
static void theory_10_13_averages_run_past_saturation(void **state)
{
    (void)state;
    static const struct {
        const char *step, *eps;
    } rules[] = { { "adam", "0" }, { "signum", "" }, { "muon", "" }, { "nuclear", "" } };
    experiments_sample s;
    const experiments_setup setup = { .runs = 1 };
    attsvm_error err;
    double svm[100];
    int64_t alpha[6] = { 0 };
    assert_ok(experiments_sample_create(&s, &setup, 6, 8, 10, 0, 1, &err), err);
    for (int i = 0; i < 6; i++)
        for (int t = 1; t < 8; t++)
            if (s.Y[i] * la_dot(s.v, s.X + (i * 8 + t) * 10, 10) >
                s.Y[i] * la_dot(s.v, s.X + (i * 8 + alpha[i]) * 10, 10))
                alpha[i] = t;
    assert_ok(experiments_sample_solve(&s, "fro", alpha, svm, NULL, &err), err);
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        attsvm_train_settings settings;
        attsvm_train *run;
        attsvm_train_settings_init(&settings);
        settings.model = ATTSVM_MODEL_W;
        settings.step = rules[k].step;
        settings.eps = rules[k].eps;
        settings.iters = 3000;
        settings.threads = 1;
        assert_ok(attsvm_train_create(&run, s.data, &settings, NULL, NULL, &err), err);
        double before[100], moved = 0;
        for (int j = 0; j < 100; j++) /* margins of 2500 along the SVM direction */
            before[j] = run->theta[j] = 2500 * svm[j];
        assert_ok(attsvm_train_run(run, NULL, NULL, &err), err);
        for (int j = 0; j < 100; j++) {
            assert_true(isfinite(run->theta[j]));
            moved = fmax(moved, fabs(run->theta[j] - before[j]));
        }
        print_message("%s: gradient e^%.0f, entries moved by up to %.3g\n", rules[k].step,
                      run->info.grad_log_scale, moved);
        assert_true(run->info.grad_log_scale < -2000 && isfinite(run->info.grad_log_scale));
        assert_true(moved > 1);
        attsvm_train_free(run);
    }
    experiments_sample_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_10_2_attention_follows_the_sparsemax_law),
        cmocka_unit_test(theory_10_4_ridge_on_factors_is_a_nuclear_penalty),
        cmocka_unit_test(theory_10_5_basins_of_locally_optimal_directions),
        cmocka_unit_test(theory_10_13_averages_run_past_saturation),
    };
    return cmocka_run_group_tests(tests, files_open, files_close);
}
