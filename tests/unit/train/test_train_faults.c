/* Former faults of training and its settings, one test each. */
#include "unit_train.h"

#include "theory/theory.h"

/* Names of files may be long: what follows them in the description of a run counts, too. */
static void a_checkpoint_is_told_apart_after_1024_bytes(void **state)
{
    (void)state;
    char file[64], start[64], longer[3000];
    snprintf(file, sizeof file, "/tmp/attsvm-test-%d.npz", (int)getpid());
    snprintf(start, sizeof start, "attsvm-start-%d.npz", (int)getpid());
    size_t used = (size_t)snprintf(longer, sizeof longer, "/tmp");
    while (used < 2500)
        used += (size_t)snprintf(longer + used, sizeof longer - used, "/.");
    snprintf(longer + used, sizeof longer - used, "/%s", start);
    attsvm_data *data = generated(ATTSVM_SPHERE, 6, 5, 3, .queries = 1, .seed = 21);
    attsvm_error err;
    const double p[3] = { 1, 2, 3 };
    attsvm_named_array array = { "p",
                                 { .data = p, .shape = { 3 }, .ndim = 1, .dtype = ATTSVM_F64 } };
    assert_ok(attsvm_archive_write(longer, &array, 1, &err), err);
    attsvm_train_settings settings;
    attsvm_train_settings_init(&settings);
    settings.init = longer;
    settings.checkpoint = file;
    settings.iters = 10;
    for (int k = 0; k < 3; k++) {
        attsvm_train *t;
        settings.resume = k > 0;
        settings.lr = k < 2 ? 0.1 : 0.2; /* the third is another run */
        settings.iters = 10 + 10 * k;
        assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
        attsvm_status status = attsvm_train_run(t, NULL, NULL, &err);
        assert_int_equal(status, k < 2 ? ATTSVM_OK : ATTSVM_E_ARG);
        if (k == 2)
            assert_non_null(strstr(err.message, "another run"));
        attsvm_train_free(t);
    }
    unlink(file);
    unlink(longer);
    attsvm_data_free(data);
}

/* After a batch a run has the threads of its settings again. */
static void a_batch_does_not_keep_its_runs_on_one_thread(void **state)
{
    (void)state;
    enum { RUNS = 9 };
    static const char *const steps[] = { "ngd", "sign" }; /* packs, and one by one */
    attsvm_data *data = generated(ATTSVM_SPHERE, 6, 8, 10, .queries = 1, .seed = 4);
    attsvm_error err;
    for (int k = 0; k < 2; k++) {
        attsvm_train *runs[RUNS];
        attsvm_verdict verdict;
        attsvm_train_settings settings;
        attsvm_train_settings_init(&settings);
        settings.model = ATTSVM_MODEL_W;
        settings.step = steps[k];
        settings.iters = 20;
        settings.threads = 3;
        for (int r = 0; r < RUNS; r++)
            assert_ok(attsvm_train_create(&runs[r], data, &settings, NULL, NULL, &err), err);
        assert_ok(attsvm_train_run_batch(runs, RUNS - 1, 2, NULL, NULL, &err), err);
        assert_ok(attsvm_train_run_batch(&runs[RUNS - 1], 1, 2, NULL, NULL, &err), err);
        for (int r = 0; r < RUNS; r++) {
            assert_ok(attsvm_verdict_compute(&verdict, runs[r], NULL, NULL, NULL, NULL, &err), err);
            assert_int_equal(runs[r]->m->threads, 3);
            attsvm_train_free(runs[r]);
        }
    }
    attsvm_data_free(data);
}

static bool say_no(void *context, const attsvm_train *train, const attsvm_train_info *info)
{
    (void)train;
    *(int64_t *)context = info->iters;
    return info->iters < 37;
}

/* A run stopped by its observer resumes where it stopped, not at the last multiple of `every`. */
static void a_stopped_run_leaves_a_checkpoint(void **state)
{
    (void)state;
    char file[64];
    attsvm_error err;
    snprintf(file, sizeof file, "/tmp/attsvm-stopped-%d.npz", (int)getpid());
    attsvm_data *data = generated(ATTSVM_SPHERE, 6, 5, 3, .queries = 1, .seed = 2);
    attsvm_train_settings settings;
    attsvm_train_settings_init(&settings);
    settings.checkpoint = file;
    settings.observe = 1;
    settings.iters = 100;
    attsvm_train *t;
    int64_t seen = -1;
    assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(t, say_no, &seen, &err), err);
    assert_int_equal(attsvm_train_describe(t).outcome, ATTSVM_TRAIN_OBSERVER);
    assert_int_equal(seen, 37);
    attsvm_train_free(t);
    settings.resume = true;
    settings.observe = 0;
    settings.iters = 37;
    assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(t, NULL, NULL, &err), err);
    assert_int_equal(attsvm_train_describe(t).iters, 37);
    assert_int_equal(t->info.outcome, ATTSVM_TRAIN_DONE);
    attsvm_train_free(t);
    unlink(file);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_checkpoint_is_told_apart_after_1024_bytes),
        cmocka_unit_test(a_batch_does_not_keep_its_runs_on_one_thread),
        cmocka_unit_test(a_stopped_run_leaves_a_checkpoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
