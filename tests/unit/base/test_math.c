/* Own elementary functions against long double, over their whole range. */
#include "unit.h"

#include "base/base.h"

#include <float.h>

/* |got - want| in units of the last place of `want`. */
static double ulps(double got, long double want)
{
    double nearest = (double)want;
    if (isnan(nearest) || isinf(nearest) || nearest == 0)
        return (isnan(nearest) && isnan(got)) || got == nearest ? 0 : INFINITY;
    int e;
    frexp(nearest, &e);
    long double unit = ldexpl(1, (e < -1021 ? -1021 : e) - 53);
    return (double)(fabsl((long double)got - want) / unit);
}

typedef double one(double x);
typedef long double one_long(long double x);

/* Uniform x in lo..hi, and +-10^u with u in log_lo..log_hi, cut to lo..hi. */
static double worst_of(one *f, one_long *g, double lo, double hi, double log_lo, double log_hi)
{
    base_random r = base_random_stream(1, 0);
    double worst = 0;
    for (int k = 0; k < 400000; k++) {
        double u = base_random_uniform(&r), x = lo + (hi - lo) * u;
        if (k % 2)
            x = copysign((double)powl(10, log_lo + (log_hi - log_lo) * u),
                         base_random_uniform(&r) - 0.5);
        if (x >= lo && x <= hi)
            worst = fmax(worst, ulps(f(x), g(x)));
    }
    return worst;
}

static void are_within_an_ulp_of_long_double(void **state)
{
    (void)state;
    const struct {
        const char *name;
        one *f;
        one_long *g;
        double lo, hi, log_lo, log_hi;
    } all[] = {
        { "exp", base_exp, expl, -746, 710, -20, 2.8 },
        { "expm1", base_expm1, expm1l, -50, 710, -20, 2.8 },
        { "expm1 near 0", base_expm1, expm1l, -1.5, 1.5, -300, 0 },
        { "log", base_log, logl, DBL_TRUE_MIN, DBL_MAX, -323, 308 },
        { "log near 1", base_log, logl, 0.5, 2, -1, 1 },
        { "log next to 1", base_log, logl, 1 - 1e-9, 1 + 1e-9, -1, 1 },
        { "log1p", base_log1p, log1pl, -1 + 1e-15, 1e300, -300, 300 },
        { "log1p near 0", base_log1p, log1pl, -0.9, 1.5, -20, 0 },
        { "log10", base_log10, log10l, DBL_TRUE_MIN, DBL_MAX, -323, 308 },
    };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        double worst =
            worst_of(all[k].f, all[k].g, all[k].lo, all[k].hi, all[k].log_lo, all[k].log_hi);
        print_message("%-14s %.3f ulp\n", all[k].name, worst);
        assert_true(worst < 1);
    }
}

static void powers_and_lengths_are_within_an_ulp(void **state)
{
    (void)state;
    base_random r = base_random_stream(2, 0);
    double power = 0, near_one = 0, length = 0, angle = 0;
    for (int k = 0; k < 400000; k++) {
        double a = base_random_gauss(&r), b = base_random_gauss(&r);
        double x = (double)expl(20.0L * a), y = 5 * b;
        power = fmax(power, ulps(base_pow(x, y), powl(x, y)));
        x = 1 + a * 0x1p-20;
        y = b * 0x1p28;
        near_one = fmax(near_one, ulps(base_pow(x, y), powl(x, y)));
        x = ldexp(a, (int)(40 * b));
        length = fmax(length, ulps(base_hypot(x, b), hypotl(x, b)));
        angle = fmax(angle, ulps(base_atan_ratio(fabs(x), fabs(b)), atan2l(fabsl(x), fabsl(b))));
    }
    print_message("pow %.3f, near one %.3f, hypot %.3f, atan %.3f ulp\n", power, near_one, length,
                  angle);
    assert_true(power < 1 && near_one < 1 && length < 1 && angle < 2);
}

static void special_values(void **state)
{
    (void)state;
    assert_true(base_exp(-INFINITY) == 0 && base_exp(INFINITY) == INFINITY && isnan(base_exp(NAN)));
    assert_true(base_exp(0) == 1 && base_exp(-745.2) == 0 && base_exp(709.8) == INFINITY);
    assert_true(base_exp(-745.13) == 0x1p-1074);
    assert_true(base_log(0) == -INFINITY && isnan(base_log(-1)) && base_log(INFINITY) == INFINITY);
    assert_true(base_log(1) == 0 && isnan(base_log(NAN)));
    assert_true(base_log1p(-1) == -INFINITY && isnan(base_log1p(-2)) && isnan(base_log1p(NAN)));
    assert_true(signbit(base_log1p(-0.0)) && base_log1p(-0.0) == 0 && base_log1p(1e-300) == 1e-300);
    assert_true(base_log1p(INFINITY) == INFINITY);
    assert_true(base_expm1(-INFINITY) == -1 && base_expm1(INFINITY) == INFINITY);
    assert_true(signbit(base_expm1(-0.0)) && base_expm1(5e-324) == 5e-324 &&
                isnan(base_expm1(NAN)));
    assert_true(base_pow(0, 2) == 0 && base_pow(0, -1) == INFINITY && base_pow(0, 0) == 1);
    assert_true(base_pow(INFINITY, 2) == INFINITY && base_pow(INFINITY, -1) == 0);
    assert_true(isnan(base_pow(-1, 2)) && isnan(base_pow(NAN, 1)) && isnan(base_pow(2, NAN)));
    assert_true(base_pow(2, 10) == 1024 && base_pow(10, 3) == 1000 &&
                base_pow(2, -1074) == 0x1p-1074);
    assert_true(base_pow(0.5, 1e300) == 0 && base_pow(2, 1e300) == INFINITY);
    assert_true(base_pow(1 + 0x1p-52, 1e300) == INFINITY && base_pow(4, 0.5) == 2);
    for (int k = -300; k <= 300; k++)
        assert_true(base_log10((double)powl(10, k)) == k);
    assert_true(base_hypot(3, 4) == 5 && base_hypot(3 * 0x1p700, -4 * 0x1p700) == 5 * 0x1p700);
    assert_true(base_hypot(0, -2) == 2 && base_hypot(INFINITY, NAN) == INFINITY);
    assert_true(isnan(base_hypot(1, NAN)) &&
                base_hypot(3 * 0x1p-1074, 4 * 0x1p-1074) == 5 * 0x1p-1074);
    assert_true(base_atan_ratio(0, 0) == 0 && base_atan_ratio(0, 1) == 0);
    assert_true(base_atan_ratio(1, 0) == 0x1.921fb54442d18p+0);
}

/* Some values, to the bit: they may not depend on processor, compiler or its flags. */
static void bits_are_these(void **state)
{
    (void)state;
    uint64_t digest = BASE_DIGEST;
    base_random r = base_random_stream(3, 0);
    for (int k = 0; k < 20000; k++) {
        double x = base_random_gauss(&r), y = base_random_uniform(&r) * 1e3;
        double all[] = { base_exp(100 * x),    base_expm1(x),     base_log(y),
                         base_log1p(y / 1000), base_log10(y),     base_pow(y, x),
                         base_hypot(x, y),     base_exp(-y / 10), base_atan_ratio(fabs(x), y) };
        digest = base_digest(digest, all, sizeof all);
    }
    assert_int_equal(digest, UINT64_C(0x0f3c4cb22bb056c2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_within_an_ulp_of_long_double),
        cmocka_unit_test(powers_and_lengths_are_within_an_ulp),
        cmocka_unit_test(special_values),
        cmocka_unit_test(bits_are_these),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
