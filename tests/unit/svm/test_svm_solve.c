/* Larger problems: constraint generation, warm starts, observers, batches, threads. */
#include "generated.h"
#include "solved.h"
#include "svm/svm.h"

/* A ragged set, and in `alpha` (n) the tokens that were planted. */
static attsvm_data *planted(attsvm_generate_kind kind, int64_t n, int64_t T, int64_t d,
                            int64_t queries, int64_t *alpha)
{
    attsvm_data *data = generated(kind, n, T, d, .T_min = 1, .queries = queries, .seed = 5);
    const attsvm_array *ids = attsvm_data_array(data, "ids");
    for (int64_t i = 0; i < n; i++)
        alpha[i] = (int64_t)attsvm_array_get(ids, i);
    return data;
}

typedef struct setting {
    attsvm_problem_kind problem;
    attsvm_generate_kind kind;
    int64_t n, T, d;
} setting;

static const setting cases[] = {
    { ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 3000, 6, 12 },
    { ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 300, 5, 90 },
    { ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 2100, 50,
      64 }, /* long enough that reading one row is cheaper */
    { ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 1500, 6, 400 }, /* threads share the products */
    { ATTSVM_PROBLEM_W, ATTSVM_PLANTED_W, 60, 9, 14 },
    { ATTSVM_PROBLEM_W, ATTSVM_PLANTED_W, 1500, 5, 40 }, /* 1200 rows enter at once */
};
enum { CASES = sizeof cases / sizeof *cases, MOST = 3000 };

static void large_problems_are_proved(void **state)
{
    (void)state;
    static int64_t alpha[MOST];
    for (int c = 0; c < CASES; c++) {
        const setting *at = &cases[c];
        attsvm_data *data = planted(at->kind, at->n, at->T, at->d, 0, alpha);
        attsvm_svm_settings settings = settings_for(at->problem);
        attsvm_solution *one =
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
        /* any number of threads: the same bytes */
        settings.threads = 3;
        attsvm_solution *three =
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
        attsvm_claim a = attsvm_solution_claim(one), b = attsvm_solution_claim(three);
        assert_memory_equal(a.theta, b.theta, (size_t)a.theta_count * sizeof *a.theta);
        assert_int_equal(a.active_count, b.active_count);
        assert_memory_equal(a.lambda, b.lambda, (size_t)a.active_count * sizeof *a.lambda);
        attsvm_solution_free(one);
        attsvm_solution_free(three);
        attsvm_data_free(data);
    }
}

static void warm_starts_reach_the_same_point(void **state)
{
    (void)state;
    static int64_t alpha[MOST];
    attsvm_error err;
    attsvm_data *data = planted(ATTSVM_PLANTED_P, 3000, 6, 12, 0, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    attsvm_selection selection = { .alpha = alpha };
    attsvm_solution *cold = solved(data, &settings, &selection, ATTSVM_OPTIMAL), *warm;
    attsvm_claim before = attsvm_solution_claim(cold);
    attsvm_problem *problem;
    assert_ok(problem_create(&problem, data, &selection, &settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, &before, NULL, NULL, &warm, &err), err);
    attsvm_claim after = attsvm_solution_claim(warm);
    assert_valid(data, &after);
    assert_near(attsvm_solution_describe(warm).norm, attsvm_solution_describe(cold).norm, 1e-12);
    assert_true(attsvm_solution_describe(warm).iterations <
                attsvm_solution_describe(cold).iterations);
    /* rows of another data set do no harm */
    attsvm_row wild[] = { { 9999, 0, 0 }, { 0, 7, 0 }, { 1, 0, 99 }, { -1, 0, 0 } };
    attsvm_claim other = before;
    other.active = wild;
    other.active_count = 4;
    attsvm_solution_free(warm);
    assert_ok(attsvm_problem_solve(problem, &other, NULL, NULL, &warm, &err), err);
    assert_near(attsvm_solution_describe(warm).norm, attsvm_solution_describe(cold).norm, 1e-12);
    attsvm_solution_free(warm);
    attsvm_solution_free(cold);
    attsvm_problem_free(problem);
    attsvm_data_free(data);
}

static bool stop_at(void *context, const attsvm_svm_progress *progress)
{
    return progress->rounds < *(const int64_t *)context;
}

/* After any round the result is feasible (once a full pass was made) and has a lower bound. */
static void stopping_returns_the_best_so_far(void **state)
{
    (void)state;
    static int64_t alpha[MOST];
    attsvm_error err;
    attsvm_data *data = planted(ATTSVM_PLANTED_P, 3000, 6, 12, 0, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    attsvm_selection selection = { .alpha = alpha };
    attsvm_solution *whole = solved(data, &settings, &selection, ATTSVM_OPTIMAL), *part;
    double norm = attsvm_solution_describe(whole).norm;
    attsvm_problem *problem;
    assert_ok(problem_create(&problem, data, &selection, &settings, &err), err);
    for (int64_t round = 1; round < attsvm_solution_describe(whole).rounds; round++) {
        assert_ok(attsvm_problem_solve(problem, NULL, stop_at, &round, &part, &err), err);
        attsvm_svm_info info = attsvm_solution_describe(part);
        attsvm_claim claim = attsvm_solution_claim(part);
        assert_true(info.outcome == ATTSVM_STALLED || info.outcome == ATTSVM_OPTIMAL);
        assert_true(info.dual <= norm * (1 + 1e-12) && info.dual > 0);
        attsvm_report report = verdict(data, &claim);
        if (info.violation <= 0) {
            assert_true(info.norm >= norm * (1 - 1e-12));
            assert_near(report.gap, info.gap, 1e-9);
        }
        attsvm_solution_free(part);
    }
    attsvm_solution_free(whole);
    attsvm_problem_free(problem);
    attsvm_data_free(data);
}

/* A solve stopped inside a working set has a lower bound and says whether theta is feasible. */
static int64_t stopped(const attsvm_data *data, const attsvm_svm_settings *settings,
                       const int64_t *alpha, double least)
{
    attsvm_error err;
    attsvm_problem *problem;
    attsvm_solution *part;
    attsvm_selection selection = { .alpha = alpha };
    assert_ok(problem_create(&problem, data, &selection, settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &part, &err), err);
    attsvm_svm_info info = attsvm_solution_describe(part);
    attsvm_claim claim = attsvm_solution_claim(part);
    attsvm_report report = verdict(data, &claim);
    assert_true(report.consistent || (report.valid && info.outcome == ATTSVM_OPTIMAL));
    assert_true(info.dual <= least * (1 + 1e-12));
    assert_near(report.dual, info.dual, 1e-9 * least);
    if (!isnan(info.gap)) {
        assert_true(info.objective >= least * (1 - 1e-12));
        assert_near(report.gap, info.gap, 1e-9);
    }
    attsvm_solution_free(part);
    attsvm_problem_free(problem);
    return !isnan(info.gap);
}

/* Stopped anywhere: by the number of changes or by the clock, also inside a pass. */
static void stopped_anywhere(attsvm_data *data, attsvm_svm_settings settings, const int64_t *alpha)
{
    attsvm_selection selection = { .alpha = alpha };
    attsvm_solution *whole = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
    attsvm_svm_info info = attsvm_solution_describe(whole);
    int64_t last = info.iterations, feasible = 0;
    for (int64_t k = 0; k <= last; k += 1 + last / 40) {
        settings.max_iter = k + 1;
        settings.time_limit = k == 0 ? 1e-9 : 0; /* over before the first change */
        feasible += stopped(data, &settings, alpha, info.objective);
    }
    settings.max_iter = settings_for(ATTSVM_PROBLEM_P).max_iter;
    for (int64_t k = 60; k > 0; k -= long_or_short(1, 6)) {
        settings.time_limit = info.seconds * (double)k / 50;
        feasible += stopped(data, &settings, alpha, info.objective);
    }
    assert_true(feasible > 0);
    attsvm_solution_free(whole);
}

static void stopping_inside_a_pool(void **state)
{
    (void)state;
    static int64_t alpha[MOST];
    attsvm_data *data = planted(ATTSVM_PLANTED_P, 2500, 6, 12, 0, alpha);
    stopped_anywhere(data, settings_for(ATTSVM_PROBLEM_P), alpha);
    attsvm_svm_settings soft = settings_for(ATTSVM_PROBLEM_P);
    soft.soft = 0.01;
    stopped_anywhere(data, soft, alpha);
    attsvm_data_free(data);
    data = planted(ATTSVM_PLANTED_W, 60, 8, 8, 1, alpha);
    stopped_anywhere(data, settings_for(ATTSVM_PROBLEM_W), alpha);
    attsvm_data_free(data);
}

/* A set with all rows of the problem. */
static void open_whole(svm_set *set, const svm_rows *rows)
{
    attsvm_error err;
    assert_ok(svm_set_create(set, rows, 0, 64, &err), err);
    assert_ok(svm_set_reserve(set, svm_rows_count(rows), &err), err);
    int64_t capacity = set->capacity;
    for (int64_t g = 0; g < rows->terms.count; g++) {
        svm_term term = svm_rows_term(rows, g);
        for (int64_t t = 0; t < term.visible; t++)
            if (svm_rows_resolve(rows, &term, t, set->scratch) == SVM_AT_LEAST)
                assert_ok(svm_set_add(set, &term, t, &err), err);
    }
    assert_int_equal(set->capacity, capacity);
}

typedef struct patience {
    int64_t asked, most;
} patience;

static bool is_patient(void *context)
{
    patience *p = context;
    return ++p->asked < p->most;
}

/* 2300 rows enter at once: wherever the solve stops, at most 128 of them per question are factored,
   and nobody asks again. */
static void stopping_inside_a_large_block(void **state)
{
    (void)state;
    enum { n = 2300, d = 50, piece = 128 };
    static int64_t alpha[n];
    attsvm_error err;
    attsvm_data *data = generated(ATTSVM_PLANTED_W, n, 2, d, .queries = 1, .seed = 5);
    for (int64_t i = 0; i < n; i++)
        alpha[i] = (int64_t)attsvm_array_get(attsvm_data_array(data, "ids"), i);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    attsvm_problem *problem;
    assert_ok(
        problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, &settings, &err),
        err);
    const int64_t questions[] = { 1, 2, 3, 5, 11, 20, 30, 40, 43 };
    for (size_t k = 0; k < sizeof questions / sizeof *questions; k++) {
        svm_set set;
        l2_active_set engine;
        svm_end end;
        patience context = { 0, questions[k] };
        dist_stop stop;
        dist_stop_open(&stop, NULL, 0, is_patient, &context);
        stop.every = -1; /* asks whenever it reads the clock */
        svm_phase phase = { .set = &set, .stop = &stop, .max_iterations = 100000 };
        open_whole(&set, &problem->rows);
        set.threads = 1;
        assert_int_equal(set.count, n);
        assert_ok(l2_create(&engine, &phase, &err), err);
        assert_ok(l2_reserve(&engine, &err), err);
        double *L = engine.L;
        for (int64_t i = 0; i < n; i++)
            L[i * engine.capacity] = -1;
        assert_ok(l2_run(&engine, true, &end, &err), err);
        assert_ptr_equal(L, engine.L);
        int64_t factored = 0;
        for (int64_t i = 0; i < n; i++)
            factored += L[i * engine.capacity] != -1;
        assert_int_equal(end, SVM_STOP);
        assert_int_equal(context.asked, questions[k]);
        assert_true(factored <= piece * questions[k]);
        assert_int_equal(engine.count, 0); /* as before the block */
        assert_true(la_norm(set.theta, set.size) == 0);
        l2_free(&engine);
        svm_set_free(&set);
    }
    attsvm_problem_free(problem);
    attsvm_data_free(data);
}

/* The same multipliers without a factor as with one. */
static void conjugate_gradients(void **state)
{
    (void)state;
    static int64_t alpha[MOST];
    attsvm_error err;
    attsvm_data *data = planted(ATTSVM_PLANTED_W, 60, 8, 12, 1, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    attsvm_problem *problem;
    assert_ok(
        problem_create(&problem, data, &(attsvm_selection){ .alpha = alpha }, &settings, &err),
        err);
    svm_set sets[2];
    svm_phase phases[2];
    dist_stop stop = { 0 };
    l2_active_set engines[2];
    svm_end end;
    bool solved_it, again;
    for (int k = 0; k < 2; k++) {
        open_whole(&sets[k], &problem->rows);
        phases[k] = (svm_phase){ .set = &sets[k], .stop = &stop, .max_iterations = 100000 };
        assert_ok(l2_create(&engines[k], &phases[k], &err), err);
        assert_ok(l2_run(&engines[k], true, &end, &err), err); /* reserves room, too */
        assert_int_equal(end, SVM_SOLVED);
        assert_int_equal(l2_refine(&engines[k], &again), SVM_SOLVED);
    }
    assert_ok(l2_restart(&engines[1], &err), err);
    assert_ok(l2_cg_solve(&engines[1], true, &solved_it, &err), err);
    assert_true(solved_it);
    assert_int_equal(engines[1].cg_active, engines[0].count);
    for (int64_t s = 0; s < sets[0].count; s++)
        assert_near(sets[1].lambda[s], sets[0].lambda[s], 1e-12 * (1 + sets[0].lambda[s]));
    for (int64_t j = 0; j < sets[0].size; j++)
        assert_near(sets[1].theta[j], sets[0].theta[j], 1e-13);
    for (int k = 0; k < 2; k++) {
        l2_free(&engines[k]);
        svm_set_free(&sets[k]);
    }
    attsvm_problem_free(problem);
    attsvm_data_free(data);
}

static void batches_are_single_solves(void **state)
{
    (void)state;
    enum { COUNT = 40 };
    attsvm_error err;
    attsvm_data *data[COUNT];
    attsvm_problem *problems[COUNT];
    attsvm_solution *solutions[COUNT];
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    for (int k = 0; k < COUNT; k++) {
        int64_t alpha[6] = { k % 8, 1, 2, 3, 4, 5 };
        data[k] = generated(ATTSVM_SPHERE, 6, 8, 10, .queries = 1, .seed = k);
        assert_ok(problem_create(&problems[k], data[k], &(attsvm_selection){ .alpha = alpha },
                                 &settings, &err),
                  err);
    }
    assert_ok(attsvm_problem_solve_batch(problems, COUNT, 2, NULL, NULL, solutions, &err), err);
    for (int k = 0; k < COUNT; k++) {
        attsvm_solution *single;
        assert_ok(attsvm_problem_solve(problems[k], NULL, NULL, NULL, &single, &err), err);
        attsvm_claim a = attsvm_solution_claim(single), b = attsvm_solution_claim(solutions[k]);
        assert_valid(data[k], &b);
        assert_memory_equal(a.theta, b.theta, (size_t)a.theta_count * sizeof *a.theta);
        attsvm_solution_free(single);
        attsvm_solution_free(solutions[k]);
        attsvm_problem_free(problems[k]);
        attsvm_data_free(data[k]);
    }
    assert_ok(attsvm_problem_solve_batch(problems, 0, 2, NULL, NULL, solutions, &err), err);
}

/* Many terms: the sample grows by what is new, and the last pass skips what cannot be violated. */
static void samples_grow(void **state)
{
    (void)state;
    enum { TERMS = 20000 };
    static int64_t alpha[TERMS];
    attsvm_data *data = planted(ATTSVM_PLANTED_P, TERMS, 4, 8, 0, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    attsvm_selection selection = { .alpha = alpha };
    attsvm_solution *solution = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    assert_true(info.passes > 1 && info.passes < 2);
    attsvm_solution_free(solution);
    settings.soft = 1e-4; /* most rows have a positive xi */
    attsvm_solution_free(solved(data, &settings, &selection, ATTSVM_OPTIMAL));
    attsvm_data_free(data);
}

/* Inseparable data: C between the extremes, and C above the largest hard multiplier. */
static void soft_margins_of_random_data(void **state)
{
    (void)state;
    static int64_t alpha[200];
    attsvm_data *data = planted(ATTSVM_PLANTED_P, 200, 6, 5, 0, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    attsvm_solution *hard =
        solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
    attsvm_svm_info info = attsvm_solution_describe(hard);
    attsvm_claim claim = attsvm_solution_claim(hard);
    double largest = 0;
    for (int64_t k = 0; k < claim.active_count; k++)
        largest = fmax(largest, claim.lambda[k] * info.norm);
    settings.soft = 1.01 * largest;
    attsvm_solution *soft =
        solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
    assert_near(attsvm_solution_describe(soft).norm, info.norm, 1e-9);
    attsvm_solution_free(soft);
    for (int64_t i = 0; i < 200; i += 3)
        alpha[i] = 0; /* wrong selections */
    for (double C = 1e-3; C < 20; C *= 10) {
        settings.soft = C;
        attsvm_solution_free(
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL));
    }
    attsvm_solution_free(hard);
    attsvm_data_free(data);
}

/* Far from separable: nearly all rows are at their bound, some are between. */
static void soft_margins_of_noise(void **state)
{
    (void)state;
    static int64_t alpha[600];
    attsvm_data *data = planted(ATTSVM_PLANTED_P, 600, 9, 16, 0, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
    for (int64_t i = 0; i < 600; i++)
        alpha[i] = 0; /* whatever the planted selection */
    for (double C = 1e-4; C < 2e3; C *= 100) {
        settings.soft = C;
        attsvm_solution *soft =
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
        assert_true(attsvm_solution_describe(soft).iterations <
                    100); /* the start is close to the solution */
        attsvm_solution_free(soft);
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_problems_are_proved),
        cmocka_unit_test(warm_starts_reach_the_same_point),
        cmocka_unit_test(stopping_returns_the_best_so_far),
        cmocka_unit_test(stopping_inside_a_pool),
        cmocka_unit_test(stopping_inside_a_large_block),
        cmocka_unit_test(conjugate_gradients),
        cmocka_unit_test(batches_are_single_solves),
        cmocka_unit_test(samples_grow),
        cmocka_unit_test(soft_margins_of_random_data),
        cmocka_unit_test(soft_margins_of_noise),
    };
    return cmocka_run_group_tests_name("svm_solve", tests, NULL, NULL);
}
