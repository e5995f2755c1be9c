/* Kernels on stored rows, finite checks, float16, norms, and the choice of a kernel set. */
#include "kernel_sets.h"

#include <float.h>

/* ------------------------------------------------------------------ stored values */

static const attsvm_dtype dtypes[] = { ATTSVM_F16, ATTSVM_F32, ATTSVM_F64 };

static size_t size_of(attsvm_dtype dtype)
{
    return dtype == ATTSVM_F16 ? 2 : dtype == ATTSVM_F32 ? 4 : 8;
}

/* Stores `value` as element i of an array at any address; returns the stored value. */
static double put(attsvm_dtype dtype, void *array, int64_t i, double value)
{
    char *at = (char *)array + (size_t)i * size_of(dtype);
    float narrow = (float)value;
    uint16_t half = la_float_to_half(narrow);
    if (dtype == ATTSVM_F64) {
        memcpy(at, &value, sizeof value);
        return value;
    }
    if (dtype == ATTSVM_F32) {
        memcpy(at, &narrow, sizeof narrow);
        return (double)narrow;
    }
    memcpy(at, &half, sizeof half);
    return (double)la_half_to_float(half);
}

/* count rows of a table, stored unaligned at the very end of a block, and the same as doubles */
typedef struct table {
    char *block;
    void *base;
    double *value;
} table;

static table make_table(attsvm_dtype dtype, int64_t rows, int64_t d, base_random *random)
{
    table t;
    t.block = room(rows * d * (int64_t)size_of(dtype) + 1, 1);
    t.value = room_for(rows * d);
    t.base = t.block + 1;
    for (int64_t i = 0; i < rows * d; i++)
        t.value[i] = put(dtype, t.base, i, base_random_gauss(random));
    return t;
}

static void free_table(table *t)
{
    free(t->block);
    free(t->value);
}

/* ----------------------------------------------------------------------- the rows */

/* Every result within (d + 8) eps of the sum of absolute terms, in either order of addition. */
static void check_dots(const la_rows *rows, const double *value, const double *p, const double *y)
{
    for (int64_t t = 0; t < rows->count; t++) {
        const double *x = value + (rows->index ? rows->index[t] : t) * rows->d;
        long double sum = 0, size = 0;
        for (int64_t j = 0; j < rows->d; j++) {
            sum += (long double)x[j] * p[j];
            size += fabsl((long double)x[j] * p[j]);
        }
        assert_true(fabsl(y[t] - sum) <= (long double)(rows->d + 8) * DBL_EPSILON * size);
    }
}

static void check_sums(const la_rows *rows, const double *value, const double *w,
                       const double *start, const double *y)
{
    for (int64_t j = 0; j < rows->d; j++) {
        long double sum = start[j], size = fabs(start[j]);
        for (int64_t t = 0; t < rows->count; t++) {
            double x = value[(rows->index ? rows->index[t] : t) * rows->d + j];
            sum += (long double)w[t] * x;
            size += fabsl((long double)w[t] * x);
        }
        assert_true(fabsl(y[j] - sum) <= (long double)(rows->count + 8) * DBL_EPSILON * size);
    }
}

/* Several directions at once: the same bytes as rows_dot, and sums that agree with long double. */
static void several_directions(const la_kernels *kernels, const la_rows *rows, const table *t,
                               base_random *random)
{
    const int64_t d = rows->d, count = rows->count, columns = 1 + base_random_below(random, 12);
    double *p = room_for(columns * d), *w = room_for(columns * count),
           *y = room_for(columns * count);
    double *start = room_for(columns * d), *sum = room_for(columns * d), *one = room_for(count);
    base_random_gauss_fill(random, p, columns * d);
    base_random_gauss_fill(random, w, columns * count);
    base_random_gauss_fill(random, start, columns * d);
    memcpy(sum, start, (size_t)(columns * d) * sizeof *sum);
    kernels->rows_dots(rows, p, columns, y);
    kernels->rows_sums(rows, w, columns, sum);
    for (int64_t c = 0; c < columns; c++) {
        kernels->rows_dot(rows, p + c * d, NULL, one);
        for (int64_t k = 0; k < count; k++) {
            assert_memory_equal(&one[k], &y[k * columns + c], sizeof *one);
            one[k] = w[k * columns + c];
        }
        check_sums(rows, t->value, one, start + c * d, sum + c * d);
    }
    free(p);
    free(w);
    free(y);
    free(start);
    free(sum);
    free(one);
}

static void one_row_table(const la_kernels *kernels, attsvm_dtype dtype, int64_t count, int64_t d,
                          bool gather, base_random *random)
{
    const int64_t stored = gather ? count / 2 + 1 : count;
    table t = make_table(dtype, stored, d, random);
    int32_t *index = room(count, sizeof *index);
    double *p = room_for(d), *start = room_for(d), *sum = room_for(d), *row = room_for(d);
    double *y = room_for(count), *w = room_for(count);
    base_random_gauss_fill(random, p, d);
    base_random_gauss_fill(random, start, d);
    for (int64_t k = 0; k < count; k++) {
        index[k] = (int32_t)base_random_below(random, stored);
        w[k] = base_random_below(random, 4) ? base_random_gauss(random) : 0;
    }
    la_rows rows = { t.base, gather ? index : NULL, count, d, dtype };
    kernels->rows_dot(&rows, p, NULL, y);
    check_dots(&rows, t.value, p, y);
    memcpy(sum, start, (size_t)d * sizeof *sum);
    kernels->rows_sum(&rows, w, t.base, sum);
    check_sums(&rows, t.value, w, start, sum);
    for (int64_t k = 0; k < count; k++) {
        /* a single row gives the same bytes as a row among others */
        double alone;
        int64_t at = gather ? index[k] : k;
        la_rows one = { (char *)t.base + (size_t)(at * d) * size_of(dtype), NULL, 1, d, dtype };
        kernels->rows_dot(&one, p, t.base, &alone);
        assert_memory_equal(&alone, &y[k], sizeof alone);
        la_row(&rows, k, row);
        assert_memory_equal(row, t.value + at * d, (size_t)d * sizeof *row);
    }
    several_directions(kernels, &rows, &t, random);
    free(index);
    free(p);
    free(start);
    free(sum);
    free(row);
    free(y);
    free(w);
    free_table(&t);
}

static void rows_of(const la_kernels *kernels)
{
    base_random random = base_random_stream(30, 0);
    for (size_t k = 0; k < 3; k++)
        for (int gather = 0; gather < 2; gather++) {
            for (int64_t d = 0; d <= 70; d++)
                one_row_table(kernels, dtypes[k], base_random_below(&random, 14), d, gather,
                              &random);
            /* long enough for several blocks of distant rows, and rows longer than a block */
            one_row_table(kernels, dtypes[k], 1003, 67, gather, &random);
            one_row_table(kernels, dtypes[k], 2001, 3, gather, &random);
            one_row_table(kernels, dtypes[k], 7, 9001, gather, &random);
        }
}

static void rows_against_long_double(void **state)
{
    (void)state;
    for_every_set(rows_of);
}

static void weightless_of(const la_kernels *kernels)
{
    /* rows 1 and 3 have weight 0: one holds NaN, the other is not allocated */
    const double x[3][5] = { { 1, 2, 3, 4, 5 }, { NAN, NAN, NAN, NAN, NAN }, { 1, 1, 1, 1, 1 } };
    const int32_t index[] = { 0, 1, 2, 1 << 30, 0, 2 };
    const double w[] = { 2, 0, 10, -0.0, 1, 100 };
    double y[5] = { 0 };
    la_rows rows = { x, index, 6, 5, ATTSVM_F64 };
    kernels->rows_sum(&rows, w, NULL, y);
    for (int j = 0; j < 5; j++)
        assert_true(y[j] == 3 * (j + 1) + 110);
}

static void rows_without_weight_are_not_read(void **state)
{
    (void)state;
    for_every_set(weightless_of);
}

static void nonfinite_rows_of(const la_kernels *kernels)
{
    double p[19], y[5];
    float x[5 * 19];
    for (int d = 1; d <= 19; d++)
        for (int at = 0; at < d; at++) {
            for (int j = 0; j < d; j++)
                p[j] = 1;
            for (int i = 0; i < 5 * d; i++)
                x[i] = 1;
            x[2 * d + at] = INFINITY;
            x[3 * d + at] = NAN;
            kernels->rows_dot(&(la_rows){ x, NULL, 5, d, ATTSVM_F32 }, p, NULL, y);
            assert_true(y[0] == d && y[1] == d && y[4] == d);
            assert_true(isinf(y[2]) && isnan(y[3]));
        }
}

static void infinity_stays_in_its_row(void **state)
{
    (void)state;
    for_every_set(nonfinite_rows_of);
}

static void vectors_of(const la_kernels *kernels)
{
    base_random random = base_random_stream(31, 0);
    for (int64_t count = 0; count <= 70; count++) {
        double *x = room_for(count), *y = room_for(count), *z = room_for(count);
        base_random_gauss_fill(&random, x, count);
        base_random_gauss_fill(&random, y, count);
        memcpy(z, y, (size_t)count * sizeof *z);
        check_dots(&(la_rows){ x, NULL, 1, count, ATTSVM_F64 }, x, y,
                   (double[]){ kernels->dot(x, y, count) });
        kernels->axpy(-1.75, x, z, count);
        for (int64_t i = 0; i < count; i++)
            assert_true(fabs(z[i] - (y[i] - 1.75 * x[i])) <=
                        2 * DBL_EPSILON * (fabs(y[i]) + 1.75 * fabs(x[i])));
        free(x);
        free(y);
        free(z);
    }
}

static void dot_and_axpy(void **state)
{
    (void)state;
    for_every_set(vectors_of);
}

/* ------------------------------------------------------------------ finite or not */

static void put_nonfinite(attsvm_dtype dtype, void *array, int64_t i, int64_t kind)
{
    /* quiet and signalling NaN and both infinities as bits, since copying a float could quieten
       a NaN */
    static const uint64_t f64[] = { 0x7ff8000000000000, 0x7ff0000000000001, 0x7ff0000000000000,
                                    0xfff0000000000000 };
    static const uint32_t f32[] = { 0x7fc00000, 0xff800001, 0x7f800000, 0xff800000 };
    static const uint16_t f16[] = { 0x7e00, 0xfc01, 0x7c00, 0xfc00 };
    const void *bits = dtype == ATTSVM_F64   ? (const void *)&f64[kind]
                       : dtype == ATTSVM_F32 ? (const void *)&f32[kind]
                                             : (const void *)&f16[kind];
    memcpy((char *)array + (size_t)i * size_of(dtype), bits, size_of(dtype));
}

static void nonfinite_of(const la_kernels *kernels)
{
    static const int64_t counts[] = {
        0,  1,  2,  3,   7,   8,   15,   16,    17,    31,     33,
        63, 64, 65, 127, 255, 300, 1025, 32768, 32801, 131072, 150001
    };
    static const double most[] = { 65504, FLT_MAX, DBL_MAX },
                        least[] = { 0x1p-24, 0x1p-149, 5e-324 };
    base_random random = base_random_stream(32, 0);
    for (size_t k = 0; k < 3; k++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
            const int64_t count = counts[c];
            char *block = room(count * (int64_t)size_of(dtypes[k]) + 1, 1);
            for (int64_t i = 0; i < count; i++)
                put(dtypes[k], block + 1, i, i % 3 ? (i % 2 ? most[k] : -most[k]) : -least[k]);
            assert_int_equal(kernels->first_nonfinite(dtypes[k], block + 1, count), -1);
            int64_t first = count;
            for (int64_t tries = 0; tries < 20 && first > 0; tries++) {
                /* each further to the front; the earlier ones remain */
                first = tries ? base_random_below(&random, first) : first - 1;
                put_nonfinite(dtypes[k], block + 1, first, base_random_below(&random, 4));
                assert_int_equal(kernels->first_nonfinite(dtypes[k], block + 1, count), first);
            }
            free(block);
        }
}

static void first_nonfinite_is_exact(void **state)
{
    (void)state;
    for_every_set(nonfinite_of);
}

/* ------------------------------------------------------------------------ float16 */

/* The value of a half by the definition of IEEE 754. */
static double half_value(uint16_t half)
{
    int exponent = half >> 10 & 31, fraction = half & 1023;
    double magnitude = exponent == 0    ? ldexp(fraction, -24)
                       : exponent == 31 ? (fraction ? NAN : INFINITY)
                                        : ldexp(1024 + fraction, exponent - 25);
    return half & 0x8000 ? -magnitude : magnitude;
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

static void all_halves_widen_and_return(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 65536; bits++) {
        float value = la_half_to_float((uint16_t)bits);
        assert_true(same((double)value, half_value((uint16_t)bits)));
        uint16_t back = la_float_to_half(value);
        if (isnan(value))
            assert_true((back & 0x7e00) == 0x7e00); /* a quiet NaN */
        else
            assert_int_equal(back, bits);
    }
}

static void halves_round_to_nearest_even(void **state)
{
    (void)state;
    /* between any two neighbours; above the largest stands 65536, which is infinity */
    for (uint16_t low = 0; low < 0x7c00; low++) {
        uint16_t high = (uint16_t)(low + 1);
        double above = high == 0x7c00 ? 65536 : half_value(high);
        float middle = (float)((half_value(low) + above) / 2);
        uint16_t even = low & 1 ? high : low;
        assert_int_equal(la_float_to_half(middle), even);
        assert_int_equal(la_float_to_half(nextafterf(middle, 0)), low);
        assert_int_equal(la_float_to_half(nextafterf(middle, INFINITY)), high);
        assert_int_equal(la_float_to_half(-middle), even | 0x8000);
    }
    assert_int_equal(la_float_to_half(FLT_MAX), 0x7c00);
    assert_int_equal(la_float_to_half(-INFINITY), 0xfc00);
    assert_int_equal(la_float_to_half(-FLT_MIN / 8), 0x8000);
}

static void widen_of(const la_kernels *kernels)
{
    static uint16_t halves[65536];
    static double value[65536];
    for (uint32_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    kernels->widen(ATTSVM_F16, halves, value, 65536);
    for (uint32_t i = 0; i < 65536; i++)
        assert_true(same(value[i], half_value((uint16_t)i)));
    for (int64_t count = 0; count < 40; count++)
        for (size_t k = 0; k < 3; k++) {
            base_random random = base_random_stream(33, (uint64_t)count);
            table t = make_table(dtypes[k], count, 1, &random);
            double y[41];
            y[count] = 7;
            kernels->widen(dtypes[k], t.base, y, count);
            assert_memory_equal(y, t.value, (size_t)count * sizeof *y);
            assert_true(y[count] == 7);
            free_table(&t);
        }
}

static void stored_values_widen_exactly(void **state)
{
    (void)state;
    for_every_set(widen_of);
}

/* -------------------------------------------------------------------------- norms */

static void norms_of(const la_kernels *kernels)
{
    (void)kernels;
    assert_true(la_norm(NULL, 0) == 0);
    assert_true(la_norm((double[]){ 0, -0.0 }, 2) == 0);
    assert_true(la_norm((double[]){ -7 }, 1) == 7);
    for (int exponent = -1070; exponent <= 1020; exponent++)
        assert_true(la_norm((double[]){ ldexp(3, exponent), ldexp(-4, exponent) }, 2) ==
                    ldexp(5, exponent));
    double x[100];
    for (int i = 0; i < 100; i++)
        x[i] = DBL_MAX / 10;
    assert_true(fabs(la_norm(x, 99) / DBL_MAX - sqrt(0.99)) < 1e-15);
    assert_true(isinf(la_norm((double[]){ 1, -INFINITY }, 2)));
    assert_true(isnan(la_norm((double[]){ 1, NAN, 1e300 }, 3)));
}

static void norms_without_overflow(void **state)
{
    (void)state;
    for_every_set(norms_of);
}

/* ------------------------------------------------------------------------- choice */

static void kernels_are_chosen_by_name(void **state)
{
    (void)state;
    attsvm_error err;
    const char *first = attsvm_kernels();
    assert_fails(attsvm_kernels_select("mmx", &err), err, ATTSVM_E_ARG, "\"mmx\"");
    assert_fails(attsvm_kernels_select(NULL, &err), err, ATTSVM_E_ARG, "name");
    assert_string_equal(attsvm_kernels(), first);
    assert_ok(attsvm_kernels_select("baseline", &err), err);
    assert_ptr_equal(la_active(), &la_baseline);
    assert_ok(attsvm_kernels_select(first, &err), err);
    print_message("kernels chosen at start: %s\n", first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_against_long_double),
        cmocka_unit_test(rows_without_weight_are_not_read),
        cmocka_unit_test(infinity_stays_in_its_row),
        cmocka_unit_test(dot_and_axpy),
        cmocka_unit_test(first_nonfinite_is_exact),
        cmocka_unit_test(all_halves_widen_and_return),
        cmocka_unit_test(halves_round_to_nearest_even),
        cmocka_unit_test(stored_values_widen_exactly),
        cmocka_unit_test(norms_without_overflow),
        cmocka_unit_test(kernels_are_chosen_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
