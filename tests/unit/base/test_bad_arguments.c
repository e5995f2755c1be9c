/* Public calls with NULL where something is needed: a status with a message, never a crash. */
#include "unit.h"

#include "attsvm/attsvm.h"

#include <string.h>

#define REFUSED(call)                                                                              \
    do {                                                                                           \
        attsvm_error err = { 0 };                                                                  \
        assert_int_equal((call), ATTSVM_E_ARG);                                                    \
        assert_true(strlen(err.message) > 0);                                                      \
    } while (0)

static double X[] = { 1, 0, 0, 0, 0, 1, 0, 0 };
static const attsvm_named_array arrays[] = { { "X", { X, { 2, 2, 2 }, 3, ATTSVM_F64 } } };

static void null_is_an_error(void **state)
{
    (void)state;
    attsvm_data *data, *other;
    attsvm_problem *problem;
    attsvm_solution *solution;
    attsvm_train *train;
    attsvm_graph *graph;
    attsvm_report report;
    assert_int_equal(attsvm_data_create(&data, arrays, 1, NULL, NULL), ATTSVM_OK);
    REFUSED(attsvm_data_create(NULL, arrays, 1, NULL, &err));
    REFUSED(attsvm_data_create(&other, NULL, 1, NULL, &err));
    REFUSED(attsvm_data_read(NULL, "x.npz", NULL, &err));
    REFUSED(attsvm_archive_write("x.npz", NULL, 1, &err));
    REFUSED(attsvm_archive_write(NULL, arrays, 1, &err));
    REFUSED(attsvm_file_write("x", NULL, 5, &err));
    REFUSED(attsvm_file_check(NULL, ATTSVM_FILE_TEXT, &err));
    REFUSED(attsvm_problem_create(&problem, NULL, NULL, NULL, &err));
    REFUSED(attsvm_problem_create(&problem, data, NULL, NULL, &err));
    REFUSED(attsvm_problem_create(NULL, data, NULL, NULL, &err));
    REFUSED(attsvm_problem_solve(NULL, NULL, NULL, NULL, &solution, &err));
    REFUSED(attsvm_solution_save(NULL, data, "x.npz", NULL, 0, &err));
    REFUSED(attsvm_train_create(&train, NULL, NULL, NULL, NULL, &err));
    REFUSED(attsvm_train_create(NULL, data, NULL, NULL, NULL, &err));
    REFUSED(attsvm_train_run(NULL, NULL, NULL, &err));
    REFUSED(attsvm_train_save(NULL, "x.npz", NULL, 0, &err));
    REFUSED(attsvm_graph_create(&graph, NULL, &err));
    REFUSED(attsvm_check(NULL, data, NULL, NULL, NULL, NULL, &err));
    REFUSED(attsvm_check(&report, data, NULL, NULL, NULL, NULL, &err));
    REFUSED(attsvm_settings_set(NULL, NULL, "tol", "1", &err));
    REFUSED(attsvm_settings_check(&attsvm_svm_table, NULL, &err));
    REFUSED(attsvm_kernels_select(NULL, &err));
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(null_is_an_error) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
