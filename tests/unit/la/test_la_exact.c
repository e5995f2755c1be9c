/* Sums of products in twice the precision, every kernel set against exact small cases. */
#include "kernel_sets.h"

static void cancellation_of(const la_kernels *kernels)
{
    for (int64_t count = 3; count < 24; count++) {
        double x[24] = { 0 }, hi[24] = { 0 }, lo[24] = { 0 };
        /* (1 + 2^-30)(1 - 2^-30) - 1 = -2^-60; lo adds 2^-70 */
        x[0] = 1 + 0x1p-30;
        hi[0] = 1 - 0x1p-30;
        x[count - 1] = 1;
        hi[count - 1] = -1;
        lo[count - 1] = 0x1p-70;
        dd sum = kernels->exact.dot(x, hi, lo, count);
        assert_true(sum.hi + sum.lo == -0x1p-60 + 0x1p-70);
    }
}

static void dot_survives_cancellation(void **state)
{
    (void)state;
    for_every_set(cancellation_of);
}

static void low_part_of(const la_kernels *kernels)
{
    double x[11], hi[11] = { 0 }, lo[11] = { 0 };
    for (int j = 0; j < 11; j++)
        x[j] = 1 + 0x1p-52 * j;
    kernels->exact.axpy((dd){ 1, 0x1p-60 }, x, hi, lo, 11);
    kernels->exact.axpy((dd){ -1, 0 }, x, hi, lo, 11);
    for (int j = 0; j < 11; j++)
        assert_true(fabs(hi[j] + lo[j] - 0x1p-60) <= 0x1p-104);
}

static void axpy_keeps_the_low_part(void **state)
{
    (void)state;
    for_every_set(low_part_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dot_survives_cancellation),
        cmocka_unit_test(axpy_keeps_the_low_part),
    };
    return cmocka_run_group_tests_name("la_exact", tests, NULL, NULL);
}
