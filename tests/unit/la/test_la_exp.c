/* exp and expf of every kernel set against extended precision. */
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

static double float_ulps(float y, double exact)
{
    return ulps((double)y, (long double)exact, FLT_MANT_DIG, -149, FLT_MAX_EXP);
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
    /* where the reduced argument changes sides, and where it vanishes */
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

static float float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Every STRIDE-th of all 2^32 floats, and all those near the ends of the range. */
static void float_of(const la_kernels *kernels)
{
    enum { STRIDE = 1009, BATCH = 4096 };
    float x[BATCH], y[BATCH];
    worst all = { 0 }, normal = { 0 };
    int64_t tried = 0;
    uint64_t next = 0;
    uint32_t near = 0;
    static const float ends[] = { 88.72283905f, -87.33654475f, -103.9720764f, 0.34657359f };
    const uint32_t around = 20000;
    while (next < UINT64_C(1) << 32 || near < 4 * 2 * around) {
        int filled = 0;
        for (; filled < BATCH && next < UINT64_C(1) << 32; filled++, next += STRIDE)
            x[filled] = float_of_bits((uint32_t)next);
        for (; filled < BATCH && near < 4 * 2 * around; filled++, near++) {
            uint32_t bits;
            memcpy(&bits, &ends[near / (2 * around)], sizeof bits);
            x[filled] = float_of_bits(bits + near % (2 * around) - around);
        }
        kernels->expf(x, y, filled);
        tried += filled;
        for (int i = 0; i < filled; i++) {
            if (isnan(x[i])) {
                assert_true(isnan(y[i]));
                continue;
            }
            double value = exp((double)x[i]), error = float_ulps(y[i], value);
            note(&all, error, (double)x[i]);
            if (value >= (double)FLT_MIN)
                note(&normal, error, (double)x[i]);
        }
    }
    print_message("expf %-15s %" PRId64 " points, worst error %.4f ulp at %.9g; of normal results "
                  "%.4f ulp at %.9g\n",
                  kernels->name, tried, all.error, all.at, normal.error, normal.at);
    assert_true(all.error <= 1);
}

static void float_exp_is_within_one_ulp(void **state)
{
    (void)state;
    for_every_set(float_of);
}

/* ------------------------------------------------------------ what must be exact */

static void specials_of(const la_kernels *kernels)
{
    const double x[] = { 0.0,   -0.0,   INFINITY, -INFINITY, NAN,    -NAN,
                         710.0, -746.0, 1e308,    -1e308,    5e-324, -5e-324 };
    const double expected[] = { 1, 1, INFINITY, 0, NAN, NAN, INFINITY, 0, INFINITY, 0, 1, 1 };
    enum { COUNT = sizeof x / sizeof *x };
    double y[COUNT];
    float xf[COUNT], yf[COUNT];
    for (int i = 0; i < COUNT; i++)
        xf[i] = (float)x[i];
    kernels->exp(x, y, COUNT);
    kernels->expf(xf, yf, COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (isnan(expected[i])) {
            assert_true(isnan(y[i]) && isnan(yf[i]));
            continue;
        }
        assert_true(y[i] == expected[i] && !signbit(y[i]));
        assert_true((double)yf[i] == expected[i] && !signbit(yf[i]));
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

/* Any count gives what single calls give, also in place, and nothing else is written. */
static void counts_of(const la_kernels *kernels)
{
    base_random random = base_random_stream(21, 0);
    for (int64_t count = 0; count <= 70; count++) {
        double *x = room_for(count), *y = room_for(count);
        float *xf = room(count, sizeof *xf), *yf = room(count, sizeof *yf);
        for (int64_t i = 0; i < count; i++) {
            x[i] = 20 * base_random_gauss(&random);
            xf[i] = (float)x[i];
        }
        kernels->exp(x, y, count);
        kernels->expf(xf, yf, count);
        for (int64_t i = 0; i < count; i++) {
            double one;
            float onef;
            kernels->exp(x + i, &one, 1);
            kernels->expf(xf + i, &onef, 1);
            assert_memory_equal(&one, y + i, sizeof one);
            assert_memory_equal(&onef, yf + i, sizeof onef);
        }
        kernels->exp(x, x, count);
        kernels->expf(xf, xf, count);
        assert_memory_equal(x, y, (size_t)count * sizeof *x);
        assert_memory_equal(xf, yf, (size_t)count * sizeof *xf);
        free(x);
        free(y);
        free(xf);
        free(yf);
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
        cmocka_unit_test(float_exp_is_within_one_ulp),
        cmocka_unit_test(special_arguments_are_exact),
        cmocka_unit_test(any_count_and_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
