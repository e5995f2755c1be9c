/* exp of every kernel set, and of single numbers, against extended precision. */
#include "kernel_sets.h"

#include <float.h>

/*
 * |y - exact| in units of the last place that the exact value has in a format of `digits` bits and
 * smallest exponent `lowest`.  Infinity counts as the first power of two that is too large.
 */
static double ulps(double y, long double exact, int digits, int lowest, int highest)
{
    const long double beyond = ldexpl(1, highest);
    if (isinf(y) && exact >= beyond)
        return 0;
    int exponent;
    frexpl(exact, &exponent);
    int unit = exponent - digits < lowest ? lowest : exponent - digits;
    if (unit > highest - digits)
        unit = highest - digits;
    long double value = isinf(y) ? beyond : (long double)y;
    return (double)(fabsl(value - exact) / ldexpl(1, unit));
}

static double double_ulps(double y, long double exact)
{
    return ulps(y, exact, DBL_MANT_DIG, -1074, DBL_MAX_EXP);
}

typedef struct worst {
    double error, at;
} worst;

static void note(worst *w, double error, double at)
{
    if (!(error <= w->error)) /* NaN too */
        *w = (worst){ error, at };
}

/* -------------------------------------------------------------- points to be tried */

enum { POINTS = 600000, NEIGHBOURS = 500 };
static double points[POINTS];
static long double exact[POINTS];
static int64_t used;

static void point(double x)
{
    assert_true(used < POINTS);
    points[used] = x;
    exact[used] = expl((long double)x);
    used++;
}

/* x and its neighbours on both sides. */
static void neighbours(double x, int each)
{
    double up = x, down = x;
    point(x);
    for (int i = 0; i < each; i++) {
        up = nextafter(up, INFINITY);
        down = nextafter(down, -INFINITY);
        point(up);
        point(down);
    }
}

static void choose_points(void)
{
    base_random random = base_random_stream(20, 0);
    used = 0;
    for (int i = 0; i < 150000; i++)
        point(-745.5 + (710.5 + 745.5) * base_random_uniform(&random));
    for (int i = 0; i < 60000; i++)
        point(-708.3 - 37 * base_random_uniform(&random)); /* subnormal results */
    for (int i = 0; i < 60000; i++)
        point(2 * base_random_uniform(&random) - 1);
    for (int exponent = -1074; exponent <= 12; exponent++)
        for (int i = 0; i < 50; i++) {
            double x = ldexp(1 + base_random_uniform(&random), exponent);
            point(x);
            point(-x);
        }
    /* overflow, the first subnormal result, the last result above zero */
    neighbours(0x1.62e42fefa39efp+9, NEIGHBOURS);
    neighbours(-0x1.6232bdd7abcd2p+9, NEIGHBOURS);
    neighbours(-0x1.74910d52d3051p+9, NEIGHBOURS);
    neighbours(0.0, NEIGHBOURS);
    /* where the reduced argument changes sign and where it vanishes */
    for (int n = -2150; n <= 2047; n++)
        neighbours((double)(n * 0.34657359027997265470861606072908828L), 8);
}

static void double_of(const la_kernels *kernels)
{
    double *y = room_for(used);
    worst all = { 0 }, normal = { 0 };
    kernels->exp(points, y, used);
    for (int64_t i = 0; i < used; i++) {
        double error = double_ulps(y[i], exact[i]);
        note(&all, error, points[i]);
        if (exact[i] >= DBL_MIN)
            note(&normal, error, points[i]);
    }
    print_message("exp  %-15s %" PRId64 " points, worst error %.4f ulp at %.17g; of normal results "
                  "%.4f ulp at %.17g\n",
                  kernels->name, used, all.error, all.at, normal.error, normal.at);
    assert_true(all.error <= 1);
    for (int64_t i = 0; i < used; i++) { /* single numbers get the same bits */
        double one = base_exp(points[i]);
        assert_memory_equal(&one, &y[i], sizeof one);
    }
    free(y);
}

static void double_exp_is_within_one_ulp(void **state)
{
    (void)state;
    if (LDBL_MANT_DIG < 64) {
        print_message("skipped: long double is no wider than double here\n");
        skip();
    }
    choose_points();
    for_every_set(double_of);
}

/* ------------------------------------------------------------ what must be exact */

static void specials_of(const la_kernels *kernels)
{
    const double x[] = { 0.0,   -0.0,   INFINITY, -INFINITY, NAN,    -NAN,
                         710.0, -746.0, 1e308,    -1e308,    5e-324, -5e-324 };
    const double expected[] = { 1, 1, INFINITY, 0, NAN, NAN, INFINITY, 0, INFINITY, 0, 1, 1 };
    enum { COUNT = sizeof x / sizeof *x };
    double y[COUNT];
    kernels->exp(x, y, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (isnan(expected[i])) {
            assert_true(isnan(y[i]));
            continue;
        }
        assert_true(y[i] == expected[i] && !signbit(y[i]));
    }
    /* the last arguments before overflow and before zero */
    const double last[] = { 0x1.62e42fefa39efp+9, 0x1.62e42fefa39f0p+9, -0x1.74910d52d3051p+9,
                            -0x1.74910d52d3052p+9 };
    kernels->exp(last, y, 4);
    assert_true(isfinite(y[0]) && isinf(y[1]));
    assert_true(y[2] == 5e-324 && y[3] == 0);
}

static void special_arguments_are_exact(void **state)
{
    (void)state;
    for_every_set(specials_of);
}

/* Any count gives the same results as single calls, also in place, and writes nothing else. */
static void counts_of(const la_kernels *kernels)
{
    base_random random = base_random_stream(21, 0);
    for (int64_t count = 0; count <= 70; count++) {
        double *x = room_for(count), *y = room_for(count);
        for (int64_t i = 0; i < count; i++)
            x[i] = 20 * base_random_gauss(&random);
        kernels->exp(x, y, count);
        for (int64_t i = 0; i < count; i++) {
            double one;
            kernels->exp(x + i, &one, 1);
            assert_memory_equal(&one, y + i, sizeof one);
        }
        kernels->exp(x, x, count);
        assert_memory_equal(x, y, (size_t)count * sizeof *x);
        free(x);
        free(y);
    }
}

static void any_count_and_in_place(void **state)
{
    (void)state;
    for_every_set(counts_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(double_exp_is_within_one_ulp),
        cmocka_unit_test(special_arguments_are_exact),
        cmocka_unit_test(any_count_and_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
