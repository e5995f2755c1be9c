/*
 * Tokens whose norms spread over six decades, every token a causal query: rows over twelve decades.
 * 60 data sets, each answer proved to the checker at its default tolerance: 1e-12 in fro, where
 * none stalls, and 1e-9 in the others, where at most `stalls` do, because their cores end in
 * double: l_q and spectral norms have no low parts of the multipliers.
 */
#include "solved.h"

enum { SEEDS = 60 };

static const struct {
    const char *norm;
    int stalls;
} norms[] = { { "fro", 0 },  { "nuc", 0 },      { "l1", 0 },    { "linf", 0 },
              { "lq:3", 6 }, { "spectral", 4 }, { "lq:1.5", 3 } };

static attsvm_data *draw(int64_t seed)
{
    attsvm_error err;
    attsvm_data *data;
    attsvm_generate_settings settings;
    attsvm_generate_settings_init(&settings);
    settings.kind = ATTSVM_GAUSS;
    settings.n = settings.T = settings.d = 4;
    settings.spread = 3;
    settings.seed = seed;
    assert_ok(attsvm_data_generate(&data, &settings, &err), err);
    return data;
}

static bool stalls(const attsvm_data *data, const attsvm_svm_settings *settings)
{
    attsvm_error err;
    attsvm_problem *problem;
    attsvm_solution *solution;
    int64_t alpha[16];
    assert_ok(attsvm_select_optimal(data, settings, alpha, NULL, &err), err);
    assert_ok(problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, settings, &err),
              err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
    attsvm_claim claim = attsvm_solution_claim(solution);
    bool stalled = claim.outcome == ATTSVM_STALLED;
    if (!stalled) {
        assert_int_equal(claim.outcome, ATTSVM_OPTIMAL);
        assert_valid(data, &claim);
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return stalled;
}

static void rows_over_twelve_decades(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        attsvm_error err;
        attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
        settings.query = ATTSVM_QUERY_CAUSAL;
        assert_ok(attsvm_settings_set(&attsvm_svm_table, &settings, "norm", norms[k].norm, &err),
                  err);
        int stalled = 0;
        for (int64_t seed = 1; seed <= SEEDS; seed++) {
            attsvm_data *data = draw(seed);
            stalled += stalls(data, &settings);
            attsvm_data_free(data);
        }
        print_message("%s: %d of %d stall\n", norms[k].norm, stalled, SEEDS);
        assert_true(stalled <= norms[k].stalls);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_over_twelve_decades),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
