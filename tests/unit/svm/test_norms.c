/* Problems in other norms that can be solved by hand, and rank limits. */
#include "solved.h"

#include "base/base.h"
#include "svm/svm.h"

static attsvm_svm_settings settings_in(attsvm_problem_kind problem, const char *norm)
{
    attsvm_error err;
    attsvm_svm_settings settings = settings_for(problem);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &settings, "norm", norm, &err), err);
    return settings;
}

/* One row p'(3,4) >= 1: the norm is 1/|(3,4)|_dual. */
static void one_row_in_every_norm(void **state)
{
    (void)state;
    double X[] = { 3, 4, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X });
    const struct {
        const char *norm;
        double value, theta[2];
    } cases[] = {
        { "l1", 1.0 / 4, { 0, 1.0 / 4 } },
        { "linf", 1.0 / 7, { 1.0 / 7, 1.0 / 7 } },
        { "nuc", 1.0 / 5, { 3.0 / 25, 4.0 / 25 } },
        { "spectral", 1.0 / 5, { 3.0 / 25, 4.0 / 25 } },
        /* theta ~ A^(q'-1), q' = 3/2 */
        { "lq:3", 1 / pow(pow(3, 1.5) + 8, 2.0 / 3), { 0, 0 } },
        { "lq:1.5", 1 / cbrt(27 + 64), { 9.0 / 91, 16.0 / 91 } },
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_P, cases[k].norm);
        attsvm_solution *solution = solved(
            data, &settings, &(attsvm_selection){ .alpha = (int64_t[]){ 0 } }, ATTSVM_OPTIMAL);
        attsvm_claim claim = attsvm_solution_claim(solution);
        assert_near(attsvm_solution_describe(solution).norm, cases[k].value, 1e-9);
        for (int j = 0; j < 2 && cases[k].theta[1] != 0; j++)
            assert_near(claim.theta[j], cases[k].theta[j], 1e-6);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/*
 * Two sequences with queries e_1, e_2 and differences e_1, e_2: W_11 >= 1 and W_22 >= 1.
 * Nuclear norm 2, spectral norm 1, sum of entries 2, largest entry 1.
 */
static void two_corners(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 0, 0, 1, 0, 0 }, Z[] = { 1, 0, 0, 1 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    const struct {
        const char *norm;
        double value;
    } cases[] = { { "nuc", 2 },  { "spectral", 1 },   { "l1", 2 },
                  { "linf", 1 }, { "lq:3", cbrt(2) }, { "lq:1.5", cbrt(4) } };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_W, cases[k].norm);
        attsvm_solution *solution = solved(
            data, &settings, &(attsvm_selection){ .alpha = (int64_t[]){ 0, 0 } }, ATTSVM_OPTIMAL);
        attsvm_svm_info info = attsvm_solution_describe(solution);
        assert_near(info.norm, cases[k].value, 1e-8);
        if (k == 0)
            assert_int_equal(info.rank, 2);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/* Rank one: W = x y' with x_1 y_1 >= 1, x_2 y_2 >= 1: at best all ones, of norm 2. */
static void a_rank_limit(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 0, 0, 1, 0, 0 }, Z[] = { 1, 0, 0, 1 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    attsvm_selection selection = { .alpha = (int64_t[]){ 0, 0 } };
    /* Frobenius: sqrt 2 without the limit, 2 with it */
    attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_W, "fro");
    settings.rank = 1;
    attsvm_solution *solution = solved(data, &settings, &selection, ATTSVM_STATIONARY);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    assert_near(info.norm, 2, 1e-6);
    assert_near(info.dual, sqrt(2), 1e-9);
    assert_int_equal(info.rank, 1);
    attsvm_solution_free(solution);
    /* nuclear: 2 with and without, so that the bound closes */
    settings = settings_in(ATTSVM_PROBLEM_W, "nuc");
    settings.rank = 1;
    settings.tol = 1e-6;
    solution = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
    info = attsvm_solution_describe(solution);
    assert_near(info.norm, 2, 1e-5);
    assert_int_equal(info.rank, 1);
    attsvm_solution_free(solution);
    settings.rank = 2;
    solution = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

/* 1200 rows of a planted W of rank 2, more than the first working set. Rank 1 is too small. */
static void a_rank_limit_over_many_rows(void **state)
{
    (void)state;
    enum { N = 300, LENGTH = 5, D = 6 };
    static double X[N * LENGTH * D], Z[N * D];
    static int64_t alpha[N];
    base_random r = base_random_stream(4, 0);
    for (int64_t k = 0; k < N * LENGTH * D; k++)
        X[k] = base_random_gauss(&r);
    for (int64_t i = 0; i < N; i++) {
        double *z = Z + i * D, best = -INFINITY;
        for (int64_t j = 0; j < D; j++)
            z[j] = base_random_gauss(&r);
        for (int64_t t = 0; t < LENGTH; t++) { /* W = diag(1,1,0,...) */
            const double *x = X + (i * LENGTH + t) * D;
            if (x[0] * z[0] + x[1] * z[1] > best) {
                best = x[0] * z[0] + x[1] * z[1];
                alpha[i] = t;
            }
        }
        for (int64_t j = 0; j < 2; j++)
            X[(i * LENGTH + alpha[i]) * D + j] += 0.3 * z[j] / hypot(z[0], z[1]);
    }
    attsvm_data *data = open_set((token_set){ .n = N, .T = LENGTH, .d = D, .X = X, .Z = Z });
    attsvm_selection selection = { .alpha = alpha };
    for (int nuclear = 0; nuclear < 2; nuclear++) {
        attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_W, nuclear ? "nuc" : "fro");
        settings.rank = 2;
        attsvm_solution *solution = solved(data, &settings, &selection, ATTSVM_STATIONARY);
        attsvm_svm_info info = attsvm_solution_describe(solution);
        assert_int_equal(info.rank, 2);
        assert_true(info.gap > 0 && info.gap < 0.5);
        attsvm_solution_free(solution);
        settings.rank = 1;
        solution = solved(data, &settings, &selection, ATTSVM_STALLED);
        info = attsvm_solution_describe(solution);
        assert_true(isnan(info.gap) && info.violation == 1); /* no point, so no gap */
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/* delta = 1, 2 along one line with opposite rows: infeasible in every norm. */
static void infeasible_in_every_norm(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 0, 0, 0, 2, 0 }, Z[] = { 1, 1, 1, 1 };
    attsvm_data *data = open_set((token_set){ .n = 2, .T = 2, .d = 2, .X = X, .Z = Z });
    const char *const norms[] = { "nuc", "spectral", "lq:3", "l1", "linf" };
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_W, norms[k]);
        attsvm_solution *solution =
            solved(data, &settings, &(attsvm_selection){ .alpha = (int64_t[]){ 0, 0 } },
                   ATTSVM_INFEASIBLE);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/* No rows: the zero matrix, in every norm. */
static void nothing_to_separate(void **state)
{
    (void)state;
    double X[] = { 1, 2 }, Z[] = { 1, 1 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 1, .d = 2, .X = X, .Z = Z });
    const char *const norms[] = { "nuc", "spectral", "lq:3", "l1", "linf" };
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_W, norms[k]);
        attsvm_solution *solution = solved(
            data, &settings, &(attsvm_selection){ .alpha = (int64_t[]){ 0 } }, ATTSVM_OPTIMAL);
        assert_true(attsvm_solution_describe(solution).norm == 0);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/* More rows than the first working set: constraint generation gives the same value as all rows. */
enum { PLANTED_N = 90, PLANTED_T = 9, PLANTED_D = 5 };

/* Tokens on the sphere; the one with the largest logit under W is moved further that way. */
static attsvm_data *planted(int64_t *alpha)
{
    enum { n = PLANTED_N, T = PLANTED_T, d = PLANTED_D };
    static double X[n * T * d], Z[n * d];
    double W[d * d];
    base_random r = base_random_stream(11, 0);
    base_random_gauss_fill(&r, W, d * d);
    for (int64_t i = 0; i < n * T; i++)
        base_random_sphere(&r, X + i * d, d);
    for (int64_t i = 0; i < n; i++) {
        base_random_sphere(&r, Z + i * d, d);
        double best = -INFINITY, g[d] = { 0 }, size = 0;
        for (int64_t a = 0; a < d; a++) {
            g[a] = base_dd_value(base_dd_dot(W + a * d, Z + i * d, d));
            size += g[a] * g[a];
        }
        for (int64_t t = 0; t < T; t++) {
            double along = base_dd_value(base_dd_dot(g, X + (i * T + t) * d, d));
            if (along > best) {
                best = along;
                alpha[i] = t;
            }
        }
        for (int64_t a = 0; a < d; a++)
            X[(i * T + alpha[i]) * d + a] += 0.5 * g[a] / sqrt(size);
    }
    return open_set((token_set){ .n = n, .T = T, .d = d, .X = X, .Z = Z });
}

static void many_rows(void **state)
{
    (void)state;
    int64_t alpha[PLANTED_N];
    attsvm_data *data = planted(alpha);
    const char *const norms[] = { "nuc", "spectral", "lq:3", "l1", "linf" };
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_W, norms[k]);
        attsvm_solution *solution =
            solved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

/* The first of a list in order, whatever order it had. */
static void the_first_candidates(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    base_random r = base_random_stream(12, 0);
    for (int64_t most = 1; most <= COUNT + 1; most += 23) {
        svm_candidate c[COUNT], all[COUNT];
        for (int64_t k = 0; k < COUNT; k++)
            c[k] = all[k] =
                (svm_candidate){ floor(4 * base_random_gauss(&r)),
                                 (int64_t)(20 * base_random_uniform(&r)), (int32_t)k, 0 };
        svm_candidates_sort(all, COUNT, COUNT);
        svm_candidates_sort(c, COUNT, most);
        for (int64_t k = 0; k < COUNT; k++) {
            assert_true(k == 0 || svm_candidates_before(&all[k - 1], &all[k]));
            if (k < most)
                assert_true(!svm_candidates_before(&c[k], &all[k]) &&
                            !svm_candidates_before(&all[k], &c[k]));
        }
    }
}

/* Far more rows than enter at once, some of them equalities: the same bytes for any threads. */
static void threads_find_the_same_rows(void **state)
{
    (void)state;
    enum { n = 2000, T = 9, d = 5 };
    static double X[n * T * d], Z[n * d];
    static int64_t alpha[n];
    static uint8_t sets[n * T];
    base_random r = base_random_stream(13, 0);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t t = 0; t < T; t++) {
            base_random_sphere(&r, X + (i * T + t) * d, d);
            sets[i * T + t] = t == i % T || (i % 500 == 0 && t == (i + 1) % T);
        }
        alpha[i] = i % T;
        base_random_sphere(&r, Z + i * d, d);
        Z[i * d] = 1;
        for (int64_t t = 0; t < T; t++) /* first coordinate: 2 where selected, else below 0.5 */
            X[(i * T + t) * d] = sets[i * T + t] ? 2 : 0.5 * X[(i * T + t) * d];
    }
    attsvm_data *data = open_set((token_set){ .n = n, .T = T, .d = d, .X = X, .Z = Z });
    attsvm_selection selection = { .alpha = alpha, .sets = sets };
    const char *const norms[] = { "l1", "spectral", "lq:3" };
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++) {
        attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_MULTI, norms[k]);
        double theta[d * d];
        for (int64_t threads = 1; threads <= 3; threads++) {
            settings.threads = threads;
            attsvm_solution *solution = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
            attsvm_claim claim = attsvm_solution_claim(solution);
            if (threads == 1)
                memcpy(theta, claim.theta, sizeof theta);
            assert_memory_equal(theta, claim.theta, sizeof theta);
            attsvm_svm_info info = attsvm_solution_describe(solution);
            assert_true(info.passes >= 3); /* of the Frobenius solver, for rows, for the proof */
            assert_true(info.pass_seconds > 0 && info.pass_seconds <= info.seconds);
            attsvm_solution_free(solution);
        }
    }
    attsvm_data_free(data);
}

/* Coordinates on a grid, so that many rows are tight at once and the dual simplex cycles. */
static void many_rows_tight_at_once(void **state)
{
    (void)state;
    enum { most = 1200, T = 2, d = 8, M = 3 };
    static double X[most * T * d], Z[most * M * d];
    static int64_t alpha[most * M];
    int64_t n = long_or_short(most, 300);
    base_random r = base_random_stream(14, 0);
    for (int64_t k = 0; k < n * T * d; k++) {
        X[k] = nearbyint(2 * base_random_gauss(&r)) / 2;
        if (k % d == 0)
            X[k] = k / d % T == 0 ? 2 : fmin(X[k], 0);
    }
    for (int64_t k = 0; k < n * M * d; k++)
        Z[k] = k % d == 0 ? 1 : nearbyint(base_random_gauss(&r));
    attsvm_data *data = open_set((token_set){ .n = n, .T = T, .d = d, .M = M, .X = X, .Z = Z });
    attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_W, "linf");
    settings.duplicates = ATTSVM_DUPLICATES_STRICT;
    settings.max_iter = 100000;
    attsvm_selection selection = { .alpha = alpha };
    attsvm_solution_free(solved(data, &settings, &selection, ATTSVM_OPTIMAL));
    attsvm_data_free(data);
}

/*
 * A solve stopped after `share` of its time, in the Frobenius solver, a pass or a core: its numbers
 * are in the norm of the problem, and the checker agrees with them.
 */
static int64_t stopped(const attsvm_data *data, attsvm_svm_settings settings,
                       const attsvm_selection *selection, const attsvm_svm_info *whole,
                       double share)
{
    attsvm_error err;
    attsvm_problem *problem;
    attsvm_solution *part;
    settings.time_limit = share > 0 ? share * whole->seconds : 1e-9;
    assert_ok(problem_create(&problem, data, selection, &settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &part, &err), err);
    attsvm_svm_info info = attsvm_solution_describe(part);
    attsvm_claim claim = attsvm_solution_claim(part);
    attsvm_report report = verdict(data, &claim);
    assert_true(info.outcome == ATTSVM_STALLED ? report.consistent : report.valid);
    assert_near(report.dual, info.dual, 1e-9 * whole->norm);
    assert_true(info.dual <= whole->norm * (1 + 1e-8));
    if (!isnan(info.gap)) {
        assert_true(info.norm >= whole->norm * (1 - 1e-8));
        assert_near(report.norm, info.norm, 1e-9 * whole->norm);
        assert_near(report.gap, info.gap, 1e-8);
    }
    attsvm_solution_free(part);
    attsvm_problem_free(problem);
    return info.outcome == ATTSVM_STALLED && !isnan(info.gap);
}

static void stopping_in_every_norm(void **state)
{
    (void)state;
    int64_t alpha[PLANTED_N], feasible = 0;
    uint8_t sets[PLANTED_N * PLANTED_T] = { 0 };
    attsvm_data *data = planted(alpha);
    const char *const norms[] = { "nuc", "spectral", "lq:3", "l1", "linf", "nuc" };
    attsvm_selection selection = { .alpha = alpha, .sets = sets };
    for (int64_t i = 0; i < PLANTED_N; i++)
        sets[i * PLANTED_T + alpha[i]] = 1;
    sets[(alpha[0] + 1) % PLANTED_T] = 1; /* one equality */
    for (size_t k = 0; k < sizeof norms / sizeof *norms; k++)
        for (int multi = 0; multi < 2; multi++) {
            attsvm_svm_settings settings =
                settings_in(multi ? ATTSVM_PROBLEM_MULTI : ATTSVM_PROBLEM_W, norms[k]);
            attsvm_solution *whole = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
            attsvm_svm_info info = attsvm_solution_describe(whole);
            settings.rank = k == 5 && !multi ? 2 : 0; /* a limit that is never reached in time */
            for (int64_t part = 0; part <= 8; part += long_or_short(1, 4))
                feasible += stopped(data, settings, &selection, &info, (double)part / 8);
            attsvm_solution_free(whole);
        }
    assert_true(feasible > 0);
    attsvm_data_free(data);
}

/* A linear program that starts with few columns; with equalities, too. */
static void many_columns(void **state)
{
    (void)state;
    enum { n = 20, T = 8, d = 40 };
    static double X[n * T * d], Z[n * d];
    static int64_t alpha[n];
    static uint8_t sets[n * T];
    base_random r = base_random_stream(12, 0);
    for (int64_t i = 0; i < n * T; i++)
        base_random_sphere(&r, X + i * d, d);
    for (int64_t i = 0; i < n; i++) {
        base_random_sphere(&r, Z + i * d, d);
        alpha[i] = base_random_below(&r, T);
        sets[i * T + alpha[i]] = sets[i * T + (alpha[i] + 3) % T] = 1;
    }
    attsvm_data *data = open_set((token_set){ .n = n, .T = T, .d = d, .X = X, .Z = Z });
    attsvm_selection selection = { .alpha = alpha, .sets = sets };
    for (int k = 0; k < 4; k++) {
        attsvm_svm_settings settings =
            settings_in(k < 2 ? ATTSVM_PROBLEM_W : ATTSVM_PROBLEM_MULTI, k % 2 ? "linf" : "l1");
        attsvm_solution *solution = solved(data, &settings, &selection, ATTSVM_OPTIMAL);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

static void bad_settings_are_refused(void **state)
{
    (void)state;
    attsvm_error err;
    attsvm_problem *problem;
    double X[] = { 3, 4, 0, 0 };
    attsvm_data *data = open_set((token_set){ .n = 1, .T = 2, .d = 2, .X = X });
    attsvm_selection selection = { .alpha = (int64_t[]){ 0 } };
    attsvm_svm_settings settings = settings_in(ATTSVM_PROBLEM_P, "lq:3");
    settings.q = 1;
    assert_fails(problem_create(&problem, data, &selection, &settings, &err), err, ATTSVM_E_ARG,
                 "q = 1");
    settings = settings_in(ATTSVM_PROBLEM_P, "nuc");
    settings.rank = 1;
    assert_fails(problem_create(&problem, data, &selection, &settings, &err), err, ATTSVM_E_ARG,
                 "rank = 1");
    settings = settings_in(ATTSVM_PROBLEM_P, "l1");
    settings.soft = 1;
    assert_fails(problem_create(&problem, data, &selection, &settings, &err), err, ATTSVM_E_ARG,
                 "soft");
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_row_in_every_norm),
        cmocka_unit_test(two_corners),
        cmocka_unit_test(a_rank_limit),
        cmocka_unit_test(a_rank_limit_over_many_rows),
        cmocka_unit_test(infeasible_in_every_norm),
        cmocka_unit_test(nothing_to_separate),
        cmocka_unit_test(many_rows),
        cmocka_unit_test(the_first_candidates),
        cmocka_unit_test(threads_find_the_same_rows),
        cmocka_unit_test(many_rows_tight_at_once),
        cmocka_unit_test(many_columns),
        cmocka_unit_test(stopping_in_every_norm),
        cmocka_unit_test(bad_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
