/*
 * Random problems in every norm; every answer, optimal or infeasible, is proved to the checker.
 *
 *     test_norms_random [COUNT [FILE]]     problems of each kind and norm (default: 20 in `make
 *                                          test-all`, otherwise 4); a table of all into FILE
 */
#include "solved.h"

#include "base/base.h"

static int64_t count;

static const char *const norms[] = { "nuc",  "spectral", "lq:1.2", "lq:1.75",
                                     "lq:3", "lq:6",     "l1",     "linf" };
enum { NORMS = sizeof norms / sizeof *norms };

typedef enum shape { UNIT, ONE_HOT, PLANTED, BORDER, SHAPES } shape;
static const char *const shape_names[] = { "unit tokens", "one-hot tokens", "planted selections",
                                           "barely feasible" };

typedef struct instance {
    int64_t n, T, d;
    double X[15 * 10 * 12], Z[15 * 12], softmax[15 * 10];
    int8_t Y[15];
    uint8_t sets[15 * 10];
    int64_t alpha[15];
} instance;

/* Selects the best token along a random W and pushes it further in that direction. */
static void plant(instance *s, base_random *r)
{
    double W[144], g[12];
    base_random_gauss_fill(r, W, s->d * s->d);
    for (int64_t i = 0; i < s->n; i++) {
        double best = -INFINITY, size = 0;
        for (int64_t a = 0; a < s->d; a++) {
            g[a] = 0;
            for (int64_t b = 0; b < s->d; b++)
                g[a] += W[a * s->d + b] * s->Z[i * s->d + b];
            size += g[a] * g[a];
        }
        for (int64_t t = 0; t < s->T; t++) {
            double sum = 0;
            for (int64_t a = 0; a < s->d; a++)
                sum += g[a] * s->X[(i * s->T + t) * s->d + a];
            if (sum > best) {
                best = sum;
                s->alpha[i] = t;
            }
        }
        for (int64_t a = 0; a < s->d; a++)
            s->X[(i * s->T + s->alpha[i]) * s->d + a] += 0.5 * g[a] / sqrt(size);
    }
}

static void draw(instance *s, shape kind, uint64_t seed)
{
    base_random r = base_random_stream(seed, (uint64_t)kind);
    *s = (instance){ .n = 1 + base_random_below(&r, kind == PLANTED ? 12 : 6),
                     .T = 2 + base_random_below(&r, 6),
                     .d = 2 + base_random_below(&r, 9) };
    if (kind == BORDER) { /* about d^2 = rows / 2, where feasibility ends and norms are large */
        s->n = 2 + base_random_below(&r, 14);
        s->T = 2 + base_random_below(&r, 9);
        int64_t root = (int64_t)sqrt((double)(s->n * (s->T - 1)) / 2);
        s->d = root + base_random_below(&r, 4) - 1;
        s->d = s->d < 2 ? 2 : s->d;
    }
    for (int64_t i = 0; i < s->n * s->T; i++)
        if (kind == ONE_HOT)
            s->X[i * s->d + base_random_below(&r, s->d)] = 1;
        else
            base_random_sphere(&r, s->X + i * s->d, s->d);
    for (int64_t i = 0; i < s->n; i++) {
        if (kind == ONE_HOT)
            s->Z[i * s->d + base_random_below(&r, s->d)] = 1;
        else
            base_random_sphere(&r, s->Z + i * s->d, s->d);
        s->alpha[i] = base_random_below(&r, s->T);
        s->Y[i] = base_random_below(&r, 2) ? 1 : -1;
    }
    if (kind == PLANTED)
        plant(s, &r);
    for (int64_t i = 0; i < s->n; i++)
        for (int64_t t = 0; t < s->T; t++) {
            s->sets[i * s->T + t] = t == s->alpha[i] || base_random_uniform(&r) < 0.3;
            s->softmax[i * s->T + t] = base_random_uniform(&r);
        }
}

/* "Stalled" is an honest answer to ill-conditioned rows; none of these needs it. */
typedef struct tally {
    int64_t optimal, infeasible, stalled, wrong;
    int64_t above; /* optimal with a gap above 1e-12 and above the floor of theory 4.1 */
    double gap;
} tally;

static tally totals[NORMS];

/* 2^-50 max |A| |theta|, the row norms being those of the nuclear norm. */
static double floor_of(const instance *s, double norm)
{
    double largest = 0;
    for (int64_t i = 0; i < s->n; i++) {
        const double *base = s->X + (i * s->T + s->alpha[i]) * s->d;
        for (int64_t t = 0; t < s->T; t++) {
            double delta = 0, z = 0;
            for (int64_t k = 0; k < s->d; k++) {
                delta = hypot(delta, base[k] - s->X[(i * s->T + t) * s->d + k]);
                z = hypot(z, s->Z[i * s->d + k]);
            }
            largest = fmax(largest, delta * z);
        }
    }
    return 0x1p-50 * largest * norm;
}

static void solve_one(instance *s, attsvm_problem_kind problem, const char *norm, uint64_t seed,
                      tally *sum)
{
    attsvm_error err;
    attsvm_data *data = open_set(
        (token_set){ .n = s->n, .T = s->T, .d = s->d, .M = 1, .X = s->X, .Z = s->Z, .Y = s->Y });
    attsvm_svm_settings settings = settings_for(problem);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &settings, "norm", norm, &err), err);
    attsvm_problem *p;
    attsvm_solution *solution;
    attsvm_selection selection = { .alpha = s->alpha, .sets = s->sets, .softmax = s->softmax };
    assert_ok(problem_create(&p, data, &selection, &settings, &err), err);
    assert_ok(attsvm_problem_solve(p, NULL, NULL, NULL, &solution, &err), err);
    attsvm_svm_info info = attsvm_solution_describe(solution);
    attsvm_claim claim = attsvm_solution_claim(solution);
    attsvm_report report = verdict(data, &claim);
    bool counts = info.outcome != ATTSVM_OPTIMAL ||
                  (info.tight == report.tight && info.merged == report.merged);
    bool wrong = (!report.valid && info.outcome != ATTSVM_STALLED) || !counts;
    sum->wrong += wrong;
    if (wrong)
        print_message("norm %s, problem %d, seed %d, n=%d, T=%d, d=%d: outcome %d, gap %.2e, tight "
                      "%d, merged %d; %s; tight %d, merged %d\n",
                      norm, (int)problem, (int)seed, (int)s->n, (int)s->T, (int)s->d,
                      (int)info.outcome, info.gap, (int)info.tight, (int)info.merged, report.reason,
                      (int)report.tight, (int)report.merged);
    sum->optimal += info.outcome == ATTSVM_OPTIMAL;
    sum->infeasible += info.outcome == ATTSVM_INFEASIBLE;
    sum->stalled += info.outcome == ATTSVM_STALLED;
    if (info.outcome == ATTSVM_OPTIMAL) {
        sum->gap = fmax(sum->gap, report.gap);
        sum->above += report.gap > fmax(1e-12, floor_of(s, info.norm));
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(p);
    attsvm_data_free(data);
}

static void campaign(attsvm_problem_kind problem, shape kind, const char *name)
{
    static instance s;
    for (int k = 0; k < NORMS; k++) {
        tally sum = { 0 };
        for (int64_t seed = 1; seed <= count; seed++) {
            draw(&s, kind, (uint64_t)seed);
            solve_one(&s, problem, norms[k], (uint64_t)seed, &sum);
        }
        totals[k].optimal += sum.optimal;
        totals[k].infeasible += sum.infeasible;
        totals[k].stalled += sum.stalled;
        totals[k].wrong += sum.wrong;
        totals[k].gap = fmax(totals[k].gap, sum.gap);
        print_message("%s, %s, %s: %d optimal, %d infeasible, %d stalled, gap at most %.1e\n", name,
                      shape_names[kind], norms[k], (int)sum.optimal, (int)sum.infeasible,
                      (int)sum.stalled, sum.gap);
        assert_int_equal(sum.wrong, 0);
        assert_int_equal(sum.stalled, 0);
        /* the nuclear norm is solved to rounding, except for dependent data */
        if (k == 0 && kind != ONE_HOT && problem >= ATTSVM_PROBLEM_W)
            assert_true(sum.above <= count / 300);
    }
}

static void matrices(void **state)
{
    (void)state;
    for (int kind = 0; kind < SHAPES; kind++)
        campaign(ATTSVM_PROBLEM_W, (shape)kind, "W");
}

static void sets(void **state)
{
    (void)state;
    campaign(ATTSVM_PROBLEM_MULTI, UNIT, "multi");
    campaign(ATTSVM_PROBLEM_MULTI, ONE_HOT, "multi");
    campaign(ATTSVM_PROBLEM_MULTI, BORDER, "multi");
    campaign(ATTSVM_PROBLEM_FINITE, UNIT, "finite");
}

static void vectors(void **state)
{
    (void)state;
    campaign(ATTSVM_PROBLEM_P, UNIT, "p");
    campaign(ATTSVM_PROBLEM_V, UNIT, "v");
    campaign(ATTSVM_PROBLEM_JOINT, UNIT, "joint");
}

static int write_table(const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return 1;
    fprintf(file, "| norm | instances | optimal | infeasible | stalled | wrong | largest gap |\n"
                  "|---|---|---|---|---|---|---|\n");
    for (int k = 0; k < NORMS; k++) {
        const tally *t = &totals[k];
        fprintf(file, "| %s | %d | %d | %d | %d | %d | %.1e |\n", norms[k],
                (int)(t->optimal + t->infeasible + t->stalled), (int)t->optimal, (int)t->infeasible,
                (int)t->stalled, (int)t->wrong, t->gap);
    }
    return fclose(file) != 0;
}

int main(int argc, char **argv)
{
    count = argc > 1 ? strtoll(argv[1], NULL, 10) : long_or_short(20, 4);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrices),
        cmocka_unit_test(sets),
        cmocka_unit_test(vectors),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return argc > 2 && write_table(argv[2]) ? 1 : failed;
}
