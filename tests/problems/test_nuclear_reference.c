/*
 * The nuclear solutions of tests/reference: value to 1e-9, matrix to 1e-6 of its norm, equal
 * rank, certified gap at most 1e-12, each proved to the checker.
 */
#include "reference.h"

static const char *const none[] = { NULL };
static const char *const tokens_queries[] = { "X", "Z", NULL };

typedef struct worst {
    double value, matrix, gap;
    int64_t solved;
} worst;

static void named(char *out, size_t size, const char *solution, const char *what)
{
    snprintf(out, size, "%s%s", solution, what);
}

static double scalar(const attsvm_archive *archive, const char *prefix, const char *solution,
                     const char *what, int64_t k)
{
    char name[64];
    named(name, sizeof name, solution, what);
    attsvm_array whole = array_of(archive, prefix, name, -1);
    return attsvm_array_get(&whole, k < 0 ? 0 : k);
}

static void check_nuclear(const attsvm_archive *archive, const char *prefix, int64_t k,
                          const char *ids, const char *name, worst *w)
{
    attsvm_data *data = data_of(archive, prefix, k, tokens_queries, none);
    int64_t alpha[64];
    attsvm_array selected = array_of(archive, prefix, ids, k);
    attsvm_array wanted = array_of(archive, prefix, name, k);
    integers_of(&selected, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    settings.norm = ATTSVM_NORM_NUC;
    settings.tol = 1e-12;
    attsvm_solution *solution =
        solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    attsvm_claim claim = attsvm_solution_claim(solution);
    double norm = scalar(archive, prefix, name, "_norm", k), square = 0;
    for (int64_t j = 0; j < claim.theta_count; j++) {
        double difference = claim.theta[j] - attsvm_array_get(&wanted, j);
        square += difference * difference;
    }
    double value = fabs(info.norm - norm) / norm, matrix = sqrt(square) / norm;
    if (!(value <= 1e-9 && matrix <= 1e-6))
        fail_msg("%s%s[%d]: value off by %.2e, matrix by %.2e at norm %g", prefix, name, (int)k,
                 value, matrix, norm);
    assert_int_equal(info.rank, (int64_t)scalar(archive, prefix, name, "_rank", k));
    w->value = fmax(w->value, value);
    w->matrix = fmax(w->matrix, matrix);
    w->gap = fmax(w->gap, info.gap);
    w->solved++;
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void report(const worst *w)
{
    print_message("%d solutions: value to %.1e, matrix to %.1e, gap %.1e\n", (int)w->solved,
                  w->value, w->matrix, w->gap);
}

static void trained_selections(void **state)
{
    (void)state;
    worst w = { 0 };
    attsvm_archive *archive = open_reference("local_converge");
    for (int64_t k = 0; k < 10; k++) {
        check_nuclear(archive, "", k, "selected_W", "svmW_nuc", &w);
        check_nuclear(archive, "", k, "selected_KQ", "svmKQ_nuc", &w);
        check_nuclear(archive, "", k, "best_ids", "svmbest_nuc", &w);
        check_nuclear(archive, "", k, "selected_W_ngd", "svmWngd_nuc", &w);
    }
    attsvm_archive_free(archive);
    archive = open_reference("visualization");
    check_nuclear(archive, "", -1, "best_ids", "svmbest_nuc", &w);
    attsvm_archive_free(archive);
    report(&w);
}

/* All instances of a file that has `configs`; infeasible ones have no solution to compare. */
static void check_configs(const char *file)
{
    worst w = { 0 };
    attsvm_archive *archive = open_reference(file);
    attsvm_array configs = array_of(archive, "", "configs", -1);
    for (int64_t c = 0; c < configs.shape[0]; c++) {
        char prefix[64];
        config_prefix(archive, c, prefix, sizeof prefix);
        attsvm_array feasible = array_of(archive, prefix, "feasible", -1);
        for (int64_t k = 0; k < feasible.shape[0]; k++)
            if (attsvm_array_get(&feasible, k) != 0)
                check_nuclear(archive, prefix, k, "best_ids", "nuc", &w);
    }
    attsvm_archive_free(archive);
    report(&w);
}

static void ranks(void **state)
{
    (void)state;
    check_configs("svm_rank");
}

static void small_dimensions(void **state)
{
    (void)state;
    check_configs("svm_feasibility");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trained_selections),
        cmocka_unit_test(ranks),
        cmocka_unit_test(small_dimensions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
