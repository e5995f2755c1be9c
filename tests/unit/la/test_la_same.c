/*
 * Every kernel set gives the same bytes.  A case fills a buffer from a seed; the first set's buffer
 * is what the others are compared with.
 */
#include "kernel_sets.h"

#include <string.h>

enum { MOST_BYTES = 1 << 24 };
static unsigned char first[MOST_BYTES], now[MOST_BYTES];
static size_t first_size, now_size;
static bool is_first;

static void put(const void *bytes, size_t size)
{
    assert_true(now_size + size <= MOST_BYTES);
    memcpy(now + now_size, bytes, size);
    now_size += size;
}

static void put_doubles(const double *x, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        double value = isnan(x[i]) ? NAN : x[i]; /* the bits of a NaN depend on the processor */
        put(&value, sizeof value);
    }
}

static void (*current)(const la_kernels *kernels);

static void compare(const la_kernels *kernels)
{
    now_size = 0;
    current(kernels);
    if (is_first) {
        memcpy(first, now, now_size);
        first_size = now_size;
        is_first = false;
        return;
    }
    if (now_size != first_size || memcmp(first, now, now_size) != 0)
        fail_msg("kernels %s give other bytes", kernels->name);
}

static void same_in_every_set(void (*body)(const la_kernels *kernels))
{
    current = body;
    is_first = true;
    for_every_set(compare);
    assert_true(first_size > 0);
}

/* Numbers of many magnitudes, including zeros of both signs, subnormal and huge numbers. */
static void draw(base_random *r, double *x, int64_t count, bool wild)
{
    static const double odd[] = { 0, -0.0, 1, -1, 0x1p-1060, -0x1p-1074, 0x1p-500, 0x1p500, 1e-9 };
    for (int64_t i = 0; i < count; i++) {
        x[i] = base_random_gauss(r);
        if (wild && base_random_below(r, 4) == 0)
            x[i] = odd[base_random_below(r, (int64_t)(sizeof odd / sizeof *odd))];
    }
}

static void *stored(attsvm_dtype dtype, const double *x, int64_t count, int64_t shift)
{
    size_t size = attsvm_dtype_size(dtype);
    char *bytes = room(count * (int64_t)size + shift, 1), *at = bytes + shift;
    for (int64_t i = 0; i < count; i++) {
        float narrow = (float)x[i];
        uint16_t half = la_float_to_half(narrow);
        const void *from = dtype == ATTSVM_F64   ? (const void *)&x[i]
                           : dtype == ATTSVM_F32 ? (const void *)&narrow
                                                 : (const void *)&half;
        memcpy(at + (size_t)i * size, from, size);
    }
    return bytes;
}

/* ------------------------------------------------------------------------- rows */

static void one_table(const la_kernels *kernels, base_random *r, attsvm_dtype dtype, int64_t count,
                      int64_t d, bool wild)
{
    enum { DIRECTIONS = 8 };
    const int64_t shift = base_random_below(r, 8); /* any alignment */
    double *x = room_for(count * d), *p = room_for(DIRECTIONS * d),
           *w = room_for(DIRECTIONS * count), *y = room_for(DIRECTIONS * count),
           *sum = room_for(DIRECTIONS * d), *wide = room_for(count * d);
    draw(r, x, count * d, wild);
    draw(r, p, DIRECTIONS * d, wild);
    draw(r, w, DIRECTIONS * count, wild);
    draw(r, sum, DIRECTIONS * d, false);
    char *bytes = stored(dtype, x, count * d, shift);
    la_rows rows = { bytes + shift, NULL, count, d, dtype };
    kernels->rows_dot(&rows, p, NULL, y);
    put_doubles(y, count);
    kernels->rows_square(&rows, y);
    put_doubles(y, count);
    kernels->rows_sum(&rows, w, bytes, sum);
    put_doubles(sum, d);
    for (int64_t c = 1; c <= DIRECTIONS; c++) {
        kernels->rows_dots(&rows, p, c, y);
        put_doubles(y, c * count);
        kernels->rows_sums(&rows, w, c, sum);
        put_doubles(sum, c * d);
    }
    kernels->widen(dtype, rows.base, wide, count * d);
    put_doubles(wide, count * d);
    int64_t at = kernels->first_nonfinite(dtype, rows.base, count * d);
    put(&at, sizeof at);
    free(x);
    free(p);
    free(w);
    free(y);
    free(sum);
    free(wide);
    free(bytes);
}

static void rows_of(const la_kernels *kernels)
{
    static const attsvm_dtype dtypes[] = { ATTSVM_F16, ATTSVM_F32, ATTSVM_F64 };
    base_random r = base_random_stream(70, 0);
    for (int k = 0; k < 3; k++)
        for (int wild = 0; wild < 2; wild++) {
            for (int64_t d = 1; d <= 67; d += d < 34 ? 1 : 11)
                one_table(kernels, &r, dtypes[k], base_random_below(&r, 13), d, wild);
            one_table(kernels, &r, dtypes[k], 203, 67, wild);
            one_table(kernels, &r, dtypes[k], 5, 3001, wild);
        }
}

static void rows_are_the_same(void **state)
{
    (void)state;
    same_in_every_set(rows_of);
}

/* ---------------------------------------------------------------- plain vectors */

static void vectors_of(const la_kernels *kernels)
{
    base_random r = base_random_stream(71, 0);
    for (int64_t count = 0; count <= 140; count += count < 40 ? 1 : 17)
        for (int wild = 0; wild < 2; wild++) {
            double *x = room_for(count), *y = room_for(count), *lo = room_for(count);
            draw(&r, x, count, wild);
            draw(&r, y, count, wild);
            for (int64_t j = 0; j < count; j++)
                lo[j] = y[j] * 0x1p-54 * base_random_uniform(&r);
            double dot = kernels->dot(x, y, count);
            put_doubles(&dot, 1);
            dd exact = kernels->exact.dot(x, y, lo, count);
            put_doubles(&exact.hi, 1);
            put_doubles(&exact.lo, 1);
            kernels->exact.axpy((dd){ 0.7, 0x1p-56 }, x, y, lo, count);
            put_doubles(y, count);
            put_doubles(lo, count);
            kernels->axpy(1.3, x, y, count);
            put_doubles(y, count);
            for (int64_t j = 0; j < count; j++)
                x[j] *= 300;
            kernels->exp(x, y, count);
            put_doubles(y, count);
            free(x);
            free(y);
            free(lo);
        }
}

static void vectors_are_the_same(void **state)
{
    (void)state;
    same_in_every_set(vectors_of);
}

/* ------------------------------------------------------------------------ dense */

static void one_dense(const la_kernels *kernels, base_random *r, int64_t m, int64_t n, int64_t k)
{
    const int64_t most = (m > n ? m : n) > k ? (m > n ? m : n) : k, ld = most + 3;
    double *A = room_for(most * ld), *B = room_for(most * ld), *C = room_for(most * ld),
           *x = room_for(most), *y = room_for(most);
    draw(r, A, most * ld, false);
    draw(r, B, most * ld, false);
    draw(r, C, most * ld, false);
    draw(r, x, most, false);
    draw(r, y, most, false);
    for (int how = 0; how < 4; how++) {
        const double beta = how == 1 ? 0 : how == 2 ? 1 : 0.3;
        kernels->gemm(how & 1, how & 2, m, n, k, 1.1, A, ld, B, ld, beta, C, ld);
        put_doubles(C, most * ld);
        kernels->syrk(how & 1, n, k, 0.9, A, ld, beta, C, ld);
        put_doubles(C, most * ld);
        kernels->gemv(how & 1, m, n, 0.8, A, ld, x, beta, y);
        put_doubles(y, most);
    }
    for (int64_t i = 0; i < n; i++)
        B[i * ld + i] = 10 + (double)n;
    for (int transpose = 0; transpose < 2; transpose++) {
        kernels->trsv(transpose, n, B, ld, x);
        put_doubles(x, most);
        kernels->trsm(transpose, n, k, B, ld, C, ld);
        put_doubles(C, most * ld);
    }
    int64_t failed = kernels->cholesky(n, B, ld);
    put(&failed, sizeof failed);
    put_doubles(B, most * ld);
    free(A);
    free(B);
    free(C);
    free(x);
    free(y);
}

static void dense_of(const la_kernels *kernels)
{
    base_random r = base_random_stream(72, 0);
    for (int64_t n = 1; n <= 20; n++)
        one_dense(kernels, &r, base_random_below(&r, 20) + 1, n, base_random_below(&r, 20) + 1);
    one_dense(kernels, &r, 33, 31, 29);
    one_dense(kernels, &r, 5, 7, 70);
    one_dense(kernels, &r, 13, 66, 65);
}

static void dense_products_are_the_same(void **state)
{
    (void)state;
    same_in_every_set(dense_of);
}

/* ---------------------------------------------------------------------- softmax */

static void softmax_of(const la_kernels *kernels)
{
    static const double scales[] = { 0, 1e-8, 1, 30, 1e3, 1e5 };
    base_random r = base_random_stream(73, 0);
    for (int64_t T = 1; T <= 70; T += T < 20 ? 1 : 7)
        for (int k = 0; k < 6; k++) {
            double *a = room_for(T), *score = room_for(T), *w = room_for(T);
            la_weighed out = { 0, 0, 0 };
            draw(&r, a, T, false);
            draw(&r, score, T, false);
            for (int64_t t = 0; t < T; t++)
                a[t] = scales[k] * (base_random_below(&r, 5) ? a[t] : a[0]); /* ties */
            bool usual = kernels->weigh(T, a, score, k % 2 ? 1 : -1, w, &out);
            put(&usual, sizeof usual);
            if (usual) {
                put_doubles(w, T);
                put_doubles(&out.M, 1);
                put_doubles(&out.Z, 1);
                put_doubles(&out.output, 1);
            }
            free(a);
            free(score);
            free(w);
        }
}

static void softmax_is_the_same(void **state)
{
    (void)state;
    same_in_every_set(softmax_of);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_the_same),
        cmocka_unit_test(vectors_are_the_same),
        cmocka_unit_test(dense_products_are_the_same),
        cmocka_unit_test(softmax_is_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
