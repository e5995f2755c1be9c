/* The experiments against the published runs in tests/reference, iterate by iterate. */
#include "files.h"
#include "reference.h"

#include "experiments/tools/tools.h"

/* Runs an experiment and reads its arrays back. */
static experiments_result *run(files *f, const char *id)
{
    attsvm_error err;
    const experiment *e;
    experiments_arrays *arrays;
    experiments_result *result;
    char path[512];
    assert_ok(experiments_find(id, &e, &err), err);
    const experiments_setup setup = { .runs = e->runs };
    assert_ok(experiments_arrays_create(&arrays, &err), err);
    assert_ok(e->run(&setup, arrays, &err), err);
    snprintf(path, sizeof path, "%s", files_path(f, "result.npz"));
    assert_ok(experiments_arrays_write(arrays, e, &setup, path, &err), err);
    experiments_arrays_free(arrays);
    assert_ok(experiments_result_read(&result, e, path, &err), err);
    return result;
}

/*
 * Compares our iterates (..., steps+1, d) with the stored ones (..., nk, d) at iterations k <=
 * last, relative to the norm of the iterate.
 */
static void same_path(const experiments_result *result, const char *ours,
                      const attsvm_archive *reference, const char *theirs, int64_t d, int64_t last,
                      double tolerance)
{
    attsvm_error err;
    experiments_view x;
    const attsvm_array *y = attsvm_archive_find(reference, theirs);
    const attsvm_array *k = attsvm_archive_find(reference, "k");
    assert_ok(experiments_get(result, ours, &x, &err), err);
    int64_t stored = attsvm_array_count(k), paths = attsvm_array_count(y) / (stored * d);
    int64_t records = x.count / (paths * d);
    for (int64_t path = 0; path < paths; path++)
        for (int64_t j = 0; j < stored && attsvm_array_get(k, j) <= (double)last; j++) {
            const double *mine = x.x + (path * records + (int64_t)attsvm_array_get(k, j)) * d;
            double square = 0, off = 0;
            for (int64_t c = 0; c < d; c++) {
                double value = attsvm_array_get(y, (path * stored + j) * d + c);
                square += value * value;
                off = fmax(off, fabs(value - mine[c]));
            }
            if (off > tolerance * fmax(1, sqrt(square)))
                fail_msg("%s, path %d, iteration %d: off by %g", ours, (int)path,
                         (int)attsvm_array_get(k, j), off);
        }
}

static void single_input(void **state)
{
    static const char *const ids[2][2] = { { "mm-single-global", "single_input_global" },
                                           { "mm-single-local", "single_input_local" } };
    for (int k = 0; k < 2; k++) {
        attsvm_archive *reference = open_reference(ids[k][1]);
        experiments_result *result = run(*state, ids[k][0]);
        /* the tokens there are -0.1 and 0.9 rounded to float32 */
        same_path(result, "p_ngd", reference, "p_ngd", 3, 1000, 1e-6);
        same_path(result, "p_f32", reference, "p_f32", 3, 100, 1e-4);
        experiments_result_free(result);
        attsvm_archive_free(reference);
    }
}

static void multi_input(void **state)
{
    attsvm_archive *reference = open_reference("multi_input");
    experiments_result *result = run(*state, "mm-multi");
    same_path(result, "p_ngd", reference, "p_ngd", 3, 1000, 1e-10);
    same_path(result, "p_gd", reference, "p_gd", 3, 1000, 1e-10);
    experiments_result_free(result);
    attsvm_archive_free(reference);
}

static void joint(void **state)
{
    static const char *const ids[2][2] = { { "mm-joint-tight", "joint_tight" },
                                           { "mm-joint-slack", "joint_relaxed" } };
    static const char *const exact[] = { "p_ngd", "v_ngd", "p_eps", "v_eps" };
    for (int k = 0; k < 2; k++) {
        attsvm_archive *reference = open_reference(ids[k][1]);
        experiments_result *result = run(*state, ids[k][0]);
        for (int j = 0; j < 4; j++)
            same_path(result, exact[j], reference, exact[j], 2, 1000, 1e-10);
        same_path(result, "p_f32", reference, "p_f32", 2, 100, 1e-4);
        same_path(result, "v_f32", reference, "v_f32", 2, 100, 1e-4);
        experiments_result_free(result);
        attsvm_archive_free(reference);
    }
}

static void diff_loss(void **state)
{
    attsvm_archive *reference = open_reference("diff_loss");
    experiments_result *result = run(*state, "mm-loss");
    same_path(result, "p_ngd", reference, "p_ngd", 3, 1000, 1e-10);
    experiments_result_free(result);
    attsvm_archive_free(reference);
}

static void visualization(void **state)
{
    attsvm_archive *reference = open_reference("visualization");
    experiments_result *result = run(*state, "ts-path");
    same_path(result, "W", reference, "W_ngd", 4, 2000, 1e-10);
    experiments_result_free(result);
    attsvm_archive_free(reference);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(single_input, files_open, files_close),
        cmocka_unit_test_setup_teardown(multi_input, files_open, files_close),
        cmocka_unit_test_setup_teardown(joint, files_open, files_close),
        cmocka_unit_test_setup_teardown(diff_loss, files_open, files_close),
        cmocka_unit_test_setup_teardown(visualization, files_open, files_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
