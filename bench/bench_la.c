/*
 * What the kernels of src/la cost: exp per element against libm, stored rows against the bandwidth
 * of the memory, and the sizes up to which our own dense loops beat BLAS and LAPACK.
 *
 *     bench_la [--json] [--kernels NAME] [exp] [rows] [dense]
 */
#include "la/la.h"

#ifdef BENCH_BLAS
#include <cblas.h>
#endif
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool json;
static int lines;

/* Keeps the compiler from removing work whose result is not used. */
static volatile double sink;

static void report(const char *group, const char *what, int64_t size, double value,
                   const char *unit)
{
    if (json)
        printf("%s\n  {\"group\": \"%s\", \"what\": \"%s\", \"size\": %" PRId64
               ", \"value\": %.4g, \"unit\": \"%s\"}",
               lines++ ? "," : "[", group, what, size, value, unit);
    else
        printf("%-6s %-34s %10" PRId64 " %10.4g %s\n", group, what, size, value, unit);
    fflush(stdout);
}

typedef void work(void *context);

static double run(work *body, void *context, int64_t calls)
{
    double start = base_seconds();
    for (int64_t i = 0; i < calls; i++)
        body(context);
    return base_seconds() - start;
}

/* Seconds per call of each: the best of 25 alternating runs of at least 1 ms. */
static void seconds_of_two(work *const body[2], void *context, double best[2])
{
    for (int k = 0; k < 2; k++)
        best[k] = INFINITY;
    int64_t calls[2] = { 1, 1 };
    for (int k = 0; k < 2; k++)
        while (run(body[k], context, calls[k]) < 1e-3 && calls[k] < INT64_C(1) << 30)
            calls[k] *= 2;
    for (int turn = 0; turn < 25; turn++)
        for (int k = 0; k < 2; k++)
            best[k] = fmin(best[k], run(body[k], context, calls[k]) / (double)calls[k]);
}

static double seconds_of(work *body, void *context)
{
    double best[2];
    seconds_of_two((work *const[]){ body, body }, context, best);
    return fmin(best[0], best[1]);
}

/* Filled with a byte that gives a small number in any type: zero pages would not use memory. */
static void *allocate(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory) {
        fprintf(stderr, "bench_la: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    memset(memory, 0x3c, bytes);
    return memory;
}

/* ------------------------------------------------------------------------- exp */

enum { EXP_COUNT = 2048 };
static double exp_in[EXP_COUNT], exp_out[EXP_COUNT];

static void exp_libm(void *context)
{
    (void)context;
    for (int i = 0; i < EXP_COUNT; i++)
        exp_out[i] = exp(exp_in[i]);
}

static void exp_kernel(void *context)
{
    ((const la_kernels *)context)->exp(exp_in, exp_out, EXP_COUNT);
}

static void bench_exp(void)
{
    base_random random = base_random_stream(1, 0);
    for (int i = 0; i < EXP_COUNT; i++)
        exp_in[i] = -20 * base_random_uniform(&random); /* as in a softmax */
    void *kernels = (void *)la_active();
    const double each = 1e9 / EXP_COUNT;
    report("exp", "double, libm", EXP_COUNT, seconds_of(exp_libm, NULL) * each, "ns");
    report("exp", "double, kernel", EXP_COUNT, seconds_of(exp_kernel, kernels) * each, "ns");
}

/* ------------------------------------------------------------------------ rows */

enum { ROWS_BYTES = 128 << 20, ROWS_D = 512 };

typedef struct rows_case {
    la_rows rows;
    double *p, *y, *w;
} rows_case;

typedef uint64_t words __attribute__((vector_size(16)));

/* Reads the whole array once, as one stream. */
static void read_one(void *context)
{
    const words *x = ((rows_case *)context)->rows.base;
    words a = { 0 }, b = { 0 }, c = { 0 }, e = { 0 };
    for (int64_t i = 0; i < ROWS_BYTES / 16; i += 4) {
        a += x[i];
        b += x[i + 1];
        c += x[i + 2];
        e += x[i + 3];
    }
    words sum = a + b + c + e;
    sink = (double)(sum[0] ^ sum[1]);
}

/* The same as four streams, 64 kB apart. */
static void read_four(void *context)
{
    enum { APART = 65536 / 16 };
    const words *x = ((rows_case *)context)->rows.base;
    words a = { 0 }, b = { 0 }, c = { 0 }, e = { 0 };
    for (int64_t block = 0; block < ROWS_BYTES / 16; block += 4 * APART)
        for (int64_t i = block; i < block + APART; i++) {
            a += x[i];
            b += x[i + APART];
            c += x[i + 2 * APART];
            e += x[i + 3 * APART];
        }
    words sum = a + b + c + e;
    sink = (double)(sum[0] ^ sum[1]);
}

static void rows_dot(void *context)
{
    rows_case *one = context;
    la_rows_dot(&one->rows, one->p, one->y);
}

static void rows_sum(void *context)
{
    rows_case *one = context;
    la_rows_sum(&one->rows, one->w, one->p);
}

static void nonfinite(void *context)
{
    rows_case *one = context;
    sink = (double)la_active()->first_nonfinite(one->rows.dtype, one->rows.base,
                                                one->rows.count * one->rows.d);
}

static void bench_rows(void)
{
    static const struct {
        const char *name;
        work *body;
    } works[] = { { "one stream", read_one },
                  { "four streams", read_four },
                  { "rows_dot", rows_dot },
                  { "rows_sum", rows_sum },
                  { "first_nonfinite", nonfinite } };
    rows_case one = { .rows = { .base = allocate(ROWS_BYTES), .d = ROWS_D } };
    one.p = allocate(ROWS_D * sizeof *one.p);
    one.y = allocate(ROWS_BYTES / ROWS_D / 2 * sizeof *one.y);
    one.w = allocate(ROWS_BYTES / ROWS_D / 2 * sizeof *one.w);
    for (int64_t t = 0; t < ROWS_BYTES / ROWS_D / 2; t++)
        one.w[t] = 1;
    for (attsvm_dtype dtype = ATTSVM_F16; dtype <= ATTSVM_F64; dtype++) {
        one.rows.dtype = dtype;
        one.rows.count = ROWS_BYTES / ROWS_D / (int64_t)attsvm_dtype_size(dtype);
        for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
            char what[64];
            snprintf(what, sizeof what, "%s, %s", attsvm_dtype_name(dtype), works[k].name);
            report("rows", what, one.rows.count, ROWS_BYTES / 1e9 / seconds_of(works[k].body, &one),
                   "GB/s");
        }
    }
    free((void *)one.rows.base);
    free(one.p);
    free(one.y);
    free(one.w);
}

#ifdef BENCH_BLAS
/* ----------------------------------------------------------------------- dense */

enum { DENSE_MOST = 2048 };

/* One size, square matrices. */
typedef struct dense_case {
    int64_t n;
    double *A, *B, *C, *x, *y;
    bool transpose_a, transpose_b;
} dense_case;

static CBLAS_TRANSPOSE op(bool transpose)
{
    return transpose ? CblasTrans : CblasNoTrans;
}

static void gemv_own(void *context)
{
    dense_case *c = context;
    la_active()->gemv(c->transpose_a, c->n, c->n, 1, c->A, c->n, c->x, 0, c->y);
}

static void gemv_blas(void *context)
{
    dense_case *c = context;
    int n = (int)c->n;
    cblas_dgemv(CblasRowMajor, op(c->transpose_a), n, n, 1, c->A, n, c->x, 1, 0, c->y, 1);
}

static void gemm_own(void *context)
{
    dense_case *c = context;
    la_active()->gemm(c->transpose_a, c->transpose_b, c->n, c->n, c->n, 1, c->A, c->n, c->B, c->n,
                      0, c->C, c->n);
}

static void gemm_blas(void *context)
{
    dense_case *c = context;
    int n = (int)c->n;
    cblas_dgemm(CblasRowMajor, op(c->transpose_a), op(c->transpose_b), n, n, n, 1, c->A, n, c->B, n,
                0, c->C, n);
}

static void syrk_own(void *context)
{
    dense_case *c = context;
    la_active()->syrk(c->transpose_a, c->n, c->n, 1, c->A, c->n, 0, c->C, c->n);
}

static void syrk_blas(void *context)
{
    dense_case *c = context;
    int n = (int)c->n;
    cblas_dsyrk(CblasRowMajor, CblasLower, op(c->transpose_a), n, n, 1, c->A, n, 0, c->C, n);
}

static void trsv_own(void *context)
{
    dense_case *c = context;
    memcpy(c->y, c->x, (size_t)c->n * sizeof *c->y);
    la_active()->trsv(c->transpose_a, c->n, c->B, c->n, c->y);
}

static void trsv_blas(void *context)
{
    dense_case *c = context;
    int n = (int)c->n;
    memcpy(c->y, c->x, (size_t)c->n * sizeof *c->y);
    cblas_dtrsv(CblasRowMajor, CblasLower, op(c->transpose_a), CblasNonUnit, n, c->B, n, c->y, 1);
}

/* Both copy the matrix first, so both times include the copy. */
static void cholesky_own(void *context)
{
    dense_case *c = context;
    memcpy(c->C, c->B, (size_t)(c->n * c->n) * sizeof *c->C);
    la_active()->cholesky(c->n, c->C, c->n);
}

/* LAPACK's blocked algorithm on our loops, which la_cholesky uses for large sizes. */
static void cholesky_blocks(void *context)
{
    dense_case *c = context;
    memcpy(c->C, c->B, (size_t)(c->n * c->n) * sizeof *c->C);
    la_cholesky(c->n, c->C, c->n);
}

/* Makes B positive definite: small entries, n on the diagonal. */
static void fill(dense_case *c)
{
    base_random random = base_random_stream(2, (uint64_t)c->n);
    base_random_gauss_fill(&random, c->A, c->n * c->n);
    base_random_gauss_fill(&random, c->x, c->n);
    for (int64_t i = 0; i < c->n; i++)
        for (int64_t j = 0; j < c->n; j++)
            c->B[i * c->n + j] = i == j ? (double)c->n : 0.5 * base_random_uniform(&random);
}

static void bench_dense(void)
{
    static const struct {
        const char *name;
        work *own, *blas;
        bool transpose_a, transpose_b;
    } works[] = { { "gemv", gemv_own, gemv_blas, false, false },
                  { "gemv transposed", gemv_own, gemv_blas, true, false },
                  { "gemm A B", gemm_own, gemm_blas, false, false },
                  { "gemm A B'", gemm_own, gemm_blas, false, true },
                  { "gemm A' B", gemm_own, gemm_blas, true, false },
                  { "gemm A' B'", gemm_own, gemm_blas, true, true },
                  { "syrk A A'", syrk_own, syrk_blas, false, false },
                  { "syrk A' A", syrk_own, syrk_blas, true, false },
                  { "trsv", trsv_own, trsv_blas, false, false },
                  { "trsv transposed", trsv_own, trsv_blas, true, false },
                  { "cholesky", cholesky_own, cholesky_blocks, false, false } };
    static const int64_t sizes[] = { 2,  4,  6,  8,   10,  12,  16,  20,   24,  32,
                                     48, 64, 96, 128, 192, 256, 512, 1024, 2048 };
    const size_t area = (size_t)DENSE_MOST * DENSE_MOST * sizeof(double);
    dense_case c = { 0 };
    c.A = allocate(area);
    c.B = allocate(area);
    c.C = allocate(area);
    c.x = allocate(DENSE_MOST * sizeof *c.x);
    c.y = allocate(DENSE_MOST * sizeof *c.y);
    for (size_t k = 0; k < sizeof works / sizeof *works; k++) {
        int64_t crossover = 0; /* largest size up to which our loop always won */
        bool ahead = true;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            char what[64];
            c.n = sizes[s];
            c.transpose_a = works[k].transpose_a;
            c.transpose_b = works[k].transpose_b;
            fill(&c);
            double best[2];
            seconds_of_two((work *const[]){ works[k].own, works[k].blas }, &c, best);
            const double own = 1e9 * best[0], blas = 1e9 * best[1];
            ahead = ahead && own <= blas;
            crossover = ahead ? c.n : crossover;
            snprintf(what, sizeof what, "%s, own", works[k].name);
            report("dense", what, c.n, own, "ns");
            snprintf(what, sizeof what, "%s, BLAS", works[k].name);
            report("dense", what, c.n, blas, "ns");
            if (own > 1.25 * blas && c.n >= 32)
                break;
        }
        char what[64];
        snprintf(what, sizeof what, "%s, own wins up to", works[k].name);
        report("dense", what, crossover, (double)crossover, "n");
    }
    free(c.A);
    free(c.B);
    free(c.C);
    free(c.x);
    free(c.y);
}
#else
static void bench_dense(void)
{
    fprintf(stderr, "bench_la: built without OpenBLAS: nothing to compare dense loops with\n");
}
#endif

int main(int argc, char **argv)
{
    bool all = true, want[3] = { false };
    static const char *const names[] = { "exp", "rows", "dense" };
    static void (*const benches[])(void) = { bench_exp, bench_rows, bench_dense };
    for (int i = 1; i < argc; i++) {
        attsvm_error err;
        bool known = strcmp(argv[i], "--json") == 0;
        json = json || known;
        if (strcmp(argv[i], "--kernels") == 0 && i + 1 < argc) {
            if (attsvm_kernels_select(argv[++i], &err) != ATTSVM_OK) {
                fprintf(stderr, "bench_la: %s\n", err.message);
                return 2;
            }
            continue;
        }
        for (int k = 0; k < 3; k++)
            if (strcmp(argv[i], names[k]) == 0) {
                want[k] = known = true;
                all = false;
            }
        if (!known) {
            fprintf(stderr, "usage: bench_la [--json] [--kernels NAME] [exp] [rows] [dense]\n");
            return 2;
        }
    }
    if (!json)
        printf("kernels %s\n", attsvm_kernels());
    for (int k = 0; k < 3; k++)
        if (all || want[k])
            benches[k]();
    if (json)
        printf("\n]\n");
    return 0;
}
