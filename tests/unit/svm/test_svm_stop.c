/* Solves that are stopped by their time limit, after every number of readings of the clock. */
#include "solved.h"

#include "base/base.h"
#include "la/la.h"

#include <time.h>

static double seconds, tick;

/* Takes the place of the system's clock: every reading is `tick` seconds later. */
/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the system's are reserved */
int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    seconds += tick;
    now->tv_sec = (time_t)seconds;
    now->tv_nsec = (long)((seconds - (double)now->tv_sec) * 1e9);
    return 0;
}

enum { N = 40, T = 6, D = 4, WIDE = 6, AFTER = 10, OFTEN = 200 };

typedef struct planted_set {
    double X[N * T * WIDE], Z[N * WIDE];
    int64_t alpha[N];
    uint8_t sets[N * T];
    attsvm_data *data;
} planted_set;

/*
 * The selected token is the one of the largest x'W z, W Gaussian.  The sets have one equality,
 * which W satisfies: the next token differs from it across W z.
 */
static void open_planted(planted_set *s)
{
    base_random r = base_random_stream(3, 0);
    double W[D * D], u[D];
    *s = (planted_set){ .data = NULL };
    base_random_gauss_fill(&r, W, D * D);
    base_random_gauss_fill(&r, s->X, N * T * D);
    base_random_gauss_fill(&r, s->Z, N * D);
    for (int64_t i = N - 1; i >= 0; i--) {
        double best = -INFINITY;
        for (int64_t j = 0; j < D; j++)
            u[j] = la_dot(W + j * D, s->Z + i * D, D);
        for (int64_t t = 0; t < T; t++) {
            double score = la_dot(s->X + (i * T + t) * D, u, D);
            s->alpha[i] = score > best ? t : s->alpha[i];
            best = fmax(best, score);
        }
        s->sets[i * T + s->alpha[i]] = 1;
    }
    int64_t next = (s->alpha[0] + 1) % T;
    double *x = s->X + next * D, along = la_dot(x, u, D) / la_dot(u, u, D);
    for (int64_t j = 0; j < D; j++)
        x[j] += s->X[s->alpha[0] * D + j] - along * u[j];
    s->sets[next] = 1;
    s->data = open_set((token_set){ .n = N, .T = T, .d = D, .X = s->X, .Z = s->Z });
}

/* The numbers of a stopped solve are those that the checker finds; false if it was not stopped. */
static bool stops(const planted_set *s, attsvm_svm_settings settings, double norm)
{
    attsvm_error err;
    attsvm_problem *problem;
    attsvm_solution *part;
    attsvm_selection selection = { .alpha = s->alpha, .sets = s->sets };
    assert_ok(problem_create(&problem, s->data, &selection, &settings, &err), err);
    seconds = 0;
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &part, &err), err);
    bool stopped = seconds > settings.time_limit;
    attsvm_svm_info info = attsvm_solution_describe(part);
    attsvm_claim claim = attsvm_solution_claim(part);
    attsvm_report report = verdict(s->data, &claim);
    if (!(info.outcome == ATTSVM_STALLED ? report.consistent : report.valid))
        fail_msg("stopped after %g s: %s", settings.time_limit, report.reason);
    assert_near(report.dual, info.dual, 1e-9 * norm);
    assert_true(settings.soft > 0 || info.dual <= norm * (1 + 1e-8));
    if (!isnan(info.gap))
        assert_near(report.gap, info.gap, 1e-8);
    attsvm_solution_free(part);
    attsvm_problem_free(problem);
    return stopped;
}

static void a_stop_at_every_reading_of_the_clock(void **state)
{
    (void)state;
    const struct {
        attsvm_problem_kind problem;
        const char *norm;
        int64_t rank;
        double soft;
    } cases[] = {
        { ATTSVM_PROBLEM_W, "fro", 0, 0 },        { ATTSVM_PROBLEM_W, "fro", 0, 1 },
        { ATTSVM_PROBLEM_W, "fro", 2, 0 },        { ATTSVM_PROBLEM_W, "nuc", 2, 0 },
        { ATTSVM_PROBLEM_W, "spectral", 0, 0 },   { ATTSVM_PROBLEM_W, "lq:3", 0, 0 },
        { ATTSVM_PROBLEM_W, "l1", 0, 0 },         { ATTSVM_PROBLEM_W, "linf", 0, 0 },
        { ATTSVM_PROBLEM_MULTI, "fro", 0, 0 },    { ATTSVM_PROBLEM_MULTI, "nuc", 0, 0 },
        { ATTSVM_PROBLEM_MULTI, "lq:1.5", 0, 0 }, { ATTSVM_PROBLEM_MULTI, "l1", 0, 0 },
    };
    const double ticks[] = { 1e-3, 10 }; /* long passes are not repeated after a stop */
    planted_set s;
    open_planted(&s);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_error err;
        attsvm_svm_settings settings = settings_for(cases[k].problem);
        assert_ok(attsvm_settings_set(&attsvm_svm_table, &settings, "norm", cases[k].norm, &err),
                  err);
        attsvm_selection selection = { .alpha = s.alpha, .sets = s.sets };
        settings.soft = cases[k].soft;
        attsvm_solution *whole = solved(s.data, &settings, &selection, ATTSVM_OPTIMAL);
        double norm = attsvm_solution_describe(whole).norm;
        attsvm_solution_free(whole);
        settings.rank = cases[k].rank;
        for (size_t j = 0; j < sizeof ticks / sizeof *ticks; j++) {
            tick = ticks[j];
            settings.time_limit = tick / 2;
            while (stops(&s, settings, norm))
                settings.time_limit += tick;
        }
    }
    attsvm_data_free(s.data);
}

/* Selections at random: the rows contradict each other, which rational elimination proves. */
static void open_contradiction(planted_set *s)
{
    base_random r = base_random_stream(4, 0);
    *s = (planted_set){ .data = NULL };
    base_random_gauss_fill(&r, s->X, N * T * WIDE);
    base_random_gauss_fill(&r, s->Z, N * WIDE);
    for (int64_t i = 0; i < N; i++)
        s->alpha[i] = (int64_t)(base_random_bits(&r) % T);
    s->data = open_set((token_set){ .n = N, .T = T, .d = WIDE, .X = s->X, .Z = s->Z });
}

static double next_limit(double limit)
{
    return limit == 0 ? 0.5 : limit + 1 + floor(limit / 4);
}

/* The elimination asks for the time, too: the solve ends within a few readings of its limit. */
static void a_stop_in_exact_elimination(void **state)
{
    (void)state;
    attsvm_error err;
    planted_set s;
    open_contradiction(&s);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    attsvm_selection selection = { .alpha = s.alpha };
    attsvm_outcome outcome = ATTSVM_STALLED;
    while (outcome == ATTSVM_STALLED) {
        attsvm_problem *problem;
        attsvm_solution *part;
        settings.time_limit = next_limit(settings.time_limit);
        assert_ok(problem_create(&problem, s.data, &selection, &settings, &err), err);
        seconds = 0;
        tick = 1;
        assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &part, &err), err);
        attsvm_claim claim = attsvm_solution_claim(part);
        outcome = attsvm_solution_describe(part).outcome;
        tick = 0;
        attsvm_report report = verdict(s.data, &claim);
        assert_true(outcome == ATTSVM_STALLED ? report.consistent : report.valid);
        assert_true(outcome != ATTSVM_STALLED || seconds < settings.time_limit + AFTER);
        attsvm_solution_free(part);
        attsvm_problem_free(problem);
    }
    assert_int_equal(outcome, ATTSVM_INFEASIBLE);
    assert_true(seconds > OFTEN);
    attsvm_data_free(s.data);
}

/* The same elimination in `check`. */
static void a_check_that_is_stopped(void **state)
{
    (void)state;
    planted_set s;
    open_contradiction(&s);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    attsvm_selection selection = { .alpha = s.alpha };
    tick = 0;
    attsvm_solution *whole = solved(s.data, &settings, &selection, ATTSVM_INFEASIBLE);
    attsvm_claim claim = attsvm_solution_claim(whole);
    attsvm_status status = ATTSVM_E_STOPPED;
    attsvm_check_settings check = { .threads = 1 };
    tick = 1;
    while (status == ATTSVM_E_STOPPED) {
        attsvm_error err;
        attsvm_report report;
        check.time_limit = next_limit(check.time_limit);
        seconds = 0;
        status = attsvm_check(&report, s.data, &claim, &check, NULL, NULL, &err);
        assert_true(status == ATTSVM_E_STOPPED ? seconds < check.time_limit + AFTER : report.valid);
    }
    assert_int_equal(status, ATTSVM_OK);
    assert_true(seconds > OFTEN);
    attsvm_solution_free(whole);
    attsvm_data_free(s.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_at_every_reading_of_the_clock),
        cmocka_unit_test(a_stop_in_exact_elimination),
        cmocka_unit_test(a_check_that_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
