/* Many equalities: the distance to a point that satisfies them, and whole problems. */
#include "solved.h"

#include "base/base.h"
#include "check/check.h"

enum { N = 300, D = 20 };

/* The bound for vectors of rows (count x d), with residuals r of the rows as they are. */
static bool nearby(int64_t count, int64_t d, const double *rows, const double *z, const double *r,
                   double *delta)
{
    static dd rounded[N * N];
    static double scale[N], scaled[N];
    attsvm_error err;
    attsvm_status status;
    for (int64_t k = 0; k < count * d; k++)
        rounded[k] = base_dd(rows[k]);
    for (int64_t i = 0; i < count; i++) {
        double largest = 0, query = z ? 0 : 1;
        for (int64_t j = 0; j < d; j++) {
            largest = fmax(largest, fabs(rows[i * d + j]));
            query = z ? fmax(query, fabs(z[i * d + j])) : 1;
        }
        scale[i] = ldexp(1, -ilogb(largest * query));
        scaled[i] = scale[i] * r[i];
    }
    check_equalities list = { count, d, rounded, z, scale, scaled, NULL };
    bool good = check_nearby(&list, delta, &status, &err);
    assert_ok(status, err);
    return good;
}

/* x_1 = 1 and x_1 + eps x_2 = -1: the shortest x is (1, -2 / eps). */
static void two_nearly_parallel_rows(void **state)
{
    (void)state;
    const double r[] = { 1, -1 }, z[] = { 3, 4, 3, 4 };
    double delta;
    for (double eps = 1; eps > 1e-5; eps /= 8) {
        const double rows[] = { 1, 0, 1, eps };
        const double exact = hypot(1, 2 / eps);
        assert_true(nearby(2, 2, rows, NULL, r, &delta));
        assert_true(delta >= exact && delta <= exact * (1 + 1e-5));
        assert_true(nearby(2, 2, rows, z, r, &delta)); /* the same as matrices, times |z| = 5 */
        assert_true(delta >= exact / 5 && delta <= exact / 5 * (1 + 1e-5));
    }
    assert_false(nearby(2, 2, (const double[]){ 1, 0, 1, 1e-9 }, NULL, r, &delta));
    assert_false(nearby(2, 2, (const double[]){ 1, 2, 2, 4 }, NULL, r, &delta));
}

/* c_i x_i = c_i y_i for c_i over 200 decades: |y|. */
static void rows_of_any_length(void **state)
{
    (void)state;
    static double rows[N * N], r[N];
    base_random random = base_random_stream(3, 0);
    const double sizes[] = { 1, 1e-100, 1e100 };
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double square = 0, delta;
        for (int64_t i = 0; i < N; i++) {
            double c = pow(10, 200 * base_random_uniform(&random) - 100);
            double y = base_random_uniform(&random) - 0.5;
            rows[i * N + i] = c;
            r[i] = c * (y * sizes[k]);
            square += y * y;
        }
        double exact = sqrt(square) * sizes[k];
        assert_true(nearby(N, N, rows, NULL, r, &delta));
        assert_true(delta >= exact * (1 - 1e-13) && delta <= exact * (1 + 1e-5));
    }
}

/* Sequences of six tokens, five of them selected: 300 equalities.  The second sequence is the first
   again, moved by `apart`; NAN: it is another one. */
static void solve_many(const char *norm, double apart, attsvm_outcome expected)
{
    enum { n = N / 4, T = 6 };
    static double X[n * T * D], Z[n * D];
    static uint8_t sets[n * T];
    static int64_t alpha[n];
    attsvm_error err;
    base_random random = base_random_stream(7, 0);
    for (int64_t i = 0; i < n; i++) {
        base_random_sphere(&random, Z + i * D, D);
        for (int64_t t = 0; t < T; t++) {
            base_random_sphere(&random, X + (i * T + t) * D, D);
            sets[i * T + t] = t < T - 1;
        }
    }
    for (int64_t k = 0; k < T * D && !isnan(apart); k++)
        X[T * D + k] = X[k] + apart * X[T * D + k];
    if (!isnan(apart))
        memcpy(Z + D, Z, D * sizeof *Z);
    attsvm_data *data = open_set((token_set){ .n = n, .T = T, .d = D, .X = X, .Z = Z });
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_MULTI);
    assert_ok(attsvm_settings_set(&attsvm_svm_table, &settings, "norm", norm, &err), err);
    attsvm_selection selection = { .alpha = alpha, .sets = sets };
    attsvm_solution *solution = solved(data, &settings, &selection, expected);
    attsvm_claim claim = attsvm_solution_claim(solution);
    assert_int_equal(claim.equal_count, N);
    if (expected == ATTSVM_STALLED) { /* the checker finds no proof either */
        claim.outcome = ATTSVM_OPTIMAL;
        assert_false(verdict(data, &claim).valid);
    }
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void hundreds_of_equalities(void **state)
{
    (void)state;
    solve_many("fro", NAN, ATTSVM_OPTIMAL);
    solve_many("nuc", NAN, ATTSVM_OPTIMAL);
    solve_many("fro", 0, ATTSVM_OPTIMAL); /* equal rows count once */
    solve_many("fro", 1e-9, ATTSVM_STALLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_nearly_parallel_rows),
        cmocka_unit_test(rows_of_any_length),
        cmocka_unit_test(hundreds_of_equalities),
    };
    return cmocka_run_group_tests_name("check_many", tests, NULL, NULL);
}
