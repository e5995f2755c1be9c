/* Dense calls: our loops in every kernel set, and the seam, against long double. */
#include "kernel_sets.h"

#include <float.h>

/* ----------------------------------------------------------------------- matrices */

/* rows x columns inside a wider array whose other entries must not change */
typedef struct matrix {
    int64_t rows, columns, stride;
    double *entry;
} matrix;

static const double untouched = 12345.678;

static matrix make_matrix(int64_t rows, int64_t columns, base_random *random)
{
    matrix a = { rows, columns, columns + base_random_below(random, 4), NULL };
    a.stride += a.stride == 0; /* BLAS requires at least 1 */
    a.entry = room_for(rows * a.stride);
    for (int64_t i = 0; i < rows * a.stride; i++)
        a.entry[i] = i % a.stride < columns ? base_random_gauss(random) : untouched;
    return a;
}

static matrix copy_matrix(const matrix *a)
{
    matrix b = *a;
    b.entry = room_for(a->rows * a->stride);
    memcpy(b.entry, a->entry, (size_t)(a->rows * a->stride) * sizeof *b.entry);
    return b;
}

static double at(const matrix *a, bool transpose, int64_t i, int64_t j)
{
    return transpose ? a->entry[j * a->stride + i] : a->entry[i * a->stride + j];
}

static void check_margins(const matrix *a)
{
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = a->columns; j < a->stride; j++)
            assert_true(a->entry[i * a->stride + j] == untouched);
}

/* C = alpha op(A) op(B) + beta C0 to within rounding; `lower`: the rest of C is C0. */
static void check_product(bool lower, const matrix *A, bool transpose_a, const matrix *B,
                          bool transpose_b, int64_t k, double alpha, double beta, const matrix *C0,
                          const matrix *C)
{
    for (int64_t i = 0; i < C->rows; i++)
        for (int64_t j = 0; j < C->columns; j++) {
            const double old = at(C0, false, i, j), new = at(C, false, i, j);
            if (lower && j > i) {
                assert_memory_equal(&old, &new, sizeof old);
                continue;
            }
            long double sum = beta == 0 ? 0 : (long double)beta * old, size = fabsl(sum);
            for (int64_t l = 0; l < k; l++) {
                long double term =
                    (long double)alpha * at(A, transpose_a, i, l) * at(B, transpose_b, l, j);
                sum += term;
                size += fabsl(term);
            }
            assert_true(fabsl(new - sum) <= (long double)(k + 8) * DBL_EPSILON * size);
        }
    check_margins(C);
}

/* ------------------------------------------------------------- products and solves */

static const double factors[] = { 0, 1, -0.625 };

/* Mostly 0..20, sometimes large enough for BLAS. */
static int64_t some_size(base_random *random)
{
    int64_t kind = base_random_below(random, 8);
    return base_random_below(random, kind ? 21 : 71);
}

static void fill_with_nan(matrix *a)
{
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < a->columns; j++)
            a->entry[i * a->stride + j] = NAN;
}

/* `kernels` NULL: through the seam. */
static void one_gemm(const la_kernels *kernels, base_random *random)
{
    const bool ta = base_random_below(random, 2), tb = base_random_below(random, 2);
    const int64_t m = some_size(random), n = some_size(random), k = some_size(random);
    const double alpha = factors[base_random_below(random, 3)];
    const double beta = factors[base_random_below(random, 3)];
    matrix A = ta ? make_matrix(k, m, random) : make_matrix(m, k, random);
    matrix B = tb ? make_matrix(n, k, random) : make_matrix(k, n, random);
    matrix C = make_matrix(m, n, random);
    if (beta == 0)
        fill_with_nan(&C);
    matrix C0 = copy_matrix(&C);
    (kernels ? kernels->gemm : la_gemm)(ta, tb, m, n, k, alpha, A.entry, A.stride, B.entry,
                                        B.stride, beta, C.entry, C.stride);
    check_product(false, &A, ta, &B, tb, k, alpha, beta, &C0, &C);
    free(A.entry);
    free(B.entry);
    free(C.entry);
    free(C0.entry);
}

static void one_gemv(const la_kernels *kernels, int64_t m, int64_t n, base_random *random)
{
    const bool transpose = base_random_below(random, 2);
    const double alpha = factors[base_random_below(random, 3)];
    const double beta = factors[base_random_below(random, 3)];
    matrix A = make_matrix(m, n, random);
    matrix x = make_matrix(transpose ? m : n, 1, random),
           y = make_matrix(transpose ? n : m, 1, random);
    x.stride = y.stride = 1; /* the remaining entries are unused */
    for (int64_t i = 0; i < x.rows; i++)
        x.entry[i] = base_random_gauss(random);
    for (int64_t i = 0; i < y.rows; i++)
        y.entry[i] = beta == 0 ? NAN : base_random_gauss(random);
    matrix y0 = copy_matrix(&y);
    (kernels ? kernels->gemv : la_gemv)(transpose, m, n, alpha, A.entry, A.stride, x.entry, beta,
                                        y.entry);
    check_product(false, &A, transpose, &x, false, x.rows, alpha, beta, &y0, &y);
    free(A.entry);
    free(x.entry);
    free(y.entry);
    free(y0.entry);
}

static void one_syrk(const la_kernels *kernels, base_random *random)
{
    const bool transpose = base_random_below(random, 2);
    const int64_t n = some_size(random), k = some_size(random);
    const double alpha = factors[base_random_below(random, 3)];
    const double beta = factors[base_random_below(random, 3)];
    matrix A = transpose ? make_matrix(k, n, random) : make_matrix(n, k, random);
    matrix C = make_matrix(n, n, random);
    if (beta == 0)
        fill_with_nan(&C);
    matrix C0 = copy_matrix(&C);
    (kernels ? kernels->syrk : la_syrk)(transpose, n, k, alpha, A.entry, A.stride, beta, C.entry,
                                        C.stride);
    check_product(true, &A, transpose, &A, !transpose, k, alpha, beta, &C0, &C);
    free(A.entry);
    free(C.entry);
    free(C0.entry);
}

/* op(L) x = b: the residual is small against |op(L)| |x|. */
static void one_trsv(const la_kernels *kernels, int64_t n, base_random *random)
{
    const bool transpose = base_random_below(random, 2);
    matrix L = make_matrix(n, n, random);
    double b[300], x[300];
    for (int64_t i = 0; i < n; i++) {
        b[i] = x[i] = base_random_gauss(random);
        for (int64_t j = i + 1; j < n; j++)
            L.entry[i * L.stride + j] = NAN; /* not to be read */
        L.entry[i * L.stride + i] += i % 2 ? 40 : -40;
    }
    (kernels ? kernels->trsv : la_trsv)(transpose, n, L.entry, L.stride, x);
    for (int64_t i = 0; i < n; i++) {
        long double sum = 0, size = 0;
        for (int64_t j = transpose ? i : 0; j < (transpose ? n : i + 1); j++) {
            sum += (long double)at(&L, transpose, i, j) * x[j];
            size += fabsl((long double)at(&L, transpose, i, j) * x[j]);
        }
        assert_true(fabsl(sum - b[i]) <= (long double)(n + 8) * DBL_EPSILON * size);
    }
    check_margins(&L);
    free(L.entry);
}

static void products_of(const la_kernels *kernels)
{
    base_random random = base_random_stream(40, 0);
    for (int i = 0; i < 600; i++) {
        one_gemv(kernels, some_size(&random), some_size(&random), &random);
        one_gemm(kernels, &random);
        one_syrk(kernels, &random);
        one_trsv(kernels, some_size(&random), &random);
    }
}

static void seam_of(const la_kernels *kernels)
{
    (void)kernels; /* selected, since the seam uses it below the crossover */
    base_random random = base_random_stream(44, 0);
    products_of(NULL);
    for (int64_t i = 0; i < long_or_short(6, 2); i++) {
        one_gemv(NULL, 1201 - i, 1103 + i, &random);
        one_trsv(NULL, 294 + i, &random);
    }
}

static void loops_against_long_double(void **state)
{
    (void)state;
    for_every_set(products_of);
}

static void seam_against_long_double(void **state)
{
    (void)state;
    for_every_set(seam_of);
}

/* ----------------------------------------------------------------------- Cholesky */

/* G G' + I in the lower triangle; NaN above it, which must not be read. */
static matrix make_definite(int64_t n, base_random *random)
{
    matrix G = make_matrix(n, n, random), A = make_matrix(n, n, random);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = i == j;
            for (int64_t l = 0; l < n; l++)
                sum += at(&G, false, i, l) * at(&G, false, j, l);
            A.entry[i * A.stride + j] = j <= i ? sum : NAN;
        }
    free(G.entry);
    return A;
}

static void cholesky_both(int64_t (*factor)(int64_t n, double *A, int64_t lda))
{
    base_random random = base_random_stream(41, 0);
    for (int64_t n = 0; n <= 140; n += n < 20 ? 1 : 17) {
        matrix A = make_definite(n, &random);
        for (int64_t bad = 0; bad <= n; bad += n < 20 ? 1 : 11) {
            matrix L = copy_matrix(&A);
            if (bad > 0)
                L.entry[(bad - 1) * (L.stride + 1)] = bad % 3 ? -1 : bad % 2 ? 0 : NAN;
            assert_int_equal(factor(n, L.entry, L.stride), bad);
            for (int64_t i = 0; i < n && bad == 0; i++)
                for (int64_t j = 0; j < n; j++) {
                    if (j > i) {
                        assert_true(isnan(at(&L, false, i, j)));
                        continue;
                    }
                    long double sum = 0, size = 0;
                    for (int64_t l = 0; l <= j; l++) {
                        sum += (long double)at(&L, false, i, l) * at(&L, false, j, l);
                        size += fabsl((long double)at(&L, false, i, l) * at(&L, false, j, l));
                    }
                    assert_true(fabsl(sum - at(&A, false, i, j)) <=
                                (long double)(n + 8) * DBL_EPSILON * size);
                }
            check_margins(&L);
            free(L.entry);
        }
        free(A.entry);
    }
}

static void cholesky_of(const la_kernels *kernels)
{
    cholesky_both(kernels->cholesky);
    cholesky_both(la_cholesky);
}

static void cholesky_factors_or_names_the_minor(void **state)
{
    (void)state;
    for_every_set(cholesky_of);
}

/* -------------------------------------------------------------- singular values */

/* Columns (or rows) of Q are orthonormal to 1e-13. */
static void check_orthonormal(const matrix *Q, bool by_rows)
{
    const int64_t count = by_rows ? Q->rows : Q->columns, d = by_rows ? Q->columns : Q->rows;
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j <= i; j++) {
            double sum = 0;
            for (int64_t l = 0; l < d; l++)
                sum += at(Q, !by_rows, i, l) * at(Q, !by_rows, j, l);
            assert_double_equal(sum, i == j, 1e-13);
        }
}

static void one_svd(int64_t m, int64_t n, int64_t rank, base_random *random)
{
    const int64_t r = m < n ? m : n;
    attsvm_error err;
    matrix F = make_matrix(m, rank, random), G = make_matrix(rank, n, random);
    matrix A = make_matrix(m, n, random), U = make_matrix(m, r, random);
    matrix Vt = make_matrix(r, n, random);
    double s[40];
    la_gemm(false, false, m, n, rank, 1, F.entry, F.stride, G.entry, G.stride, 0, A.entry,
            A.stride);
    matrix B = copy_matrix(&A);
    assert_ok(la_svd(m, n, B.entry, B.stride, s, U.entry, U.stride, Vt.entry, Vt.stride, &err),
              err);
    check_orthonormal(&U, false);
    check_orthonormal(&Vt, true);
    check_margins(&B);
    check_margins(&U);
    check_margins(&Vt);
    for (int64_t l = 0; l < r; l++) {
        assert_true(s[l] >= 0 && (l == 0 || s[l] <= s[l - 1]));
        assert_true(l < rank || s[l] <= 1e-12 * s[0]);
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < r; l++)
                sum += at(&U, false, i, l) * s[l] * at(&Vt, false, l, j);
            assert_double_equal(sum, at(&A, false, i, j), 1e-12 * s[0]);
        }
    matrix all[] = { F, G, A, U, Vt, B };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        free(all[k].entry);
}

static void singular_values_rebuild_the_matrix(void **state)
{
    (void)state;
    base_random random = base_random_stream(43, 0);
    for (int i = 0; i < 60; i++) {
        int64_t m = base_random_below(&random, 40), n = base_random_below(&random, 40);
        int64_t r = m < n ? m : n;
        one_svd(m, n, r, &random);
        one_svd(m, n, base_random_below(&random, r + 1), &random); /* rank 0 among them */
    }
}

static void bad_matrices_are_refused(void **state)
{
    (void)state;
    attsvm_error err;
    double w[3], U[9], Vt[9];
    double B[] = { 1, 2, 3, 4, INFINITY, 6, 7, 8, 9 };
    assert_fails(la_svd(3, 3, B, 3, w, U, 3, Vt, 3, &err), err, ATTSVM_E_NUMERIC, "(1,1) = inf");
    B[4] = NAN;
    assert_fails(la_svd(3, 3, B, 3, w, U, 3, Vt, 3, &err), err, ATTSVM_E_NUMERIC, "not finite");
    assert_fails(la_svd(INT64_C(1) << 40, 1, B, 1, w, U, 1, Vt, 1, &err), err, ATTSVM_E_ARG,
                 "beyond LAPACK's int");
}

/* Non-finite input gives non-finite output, and the call ends. */
static void products_with_nan_end(void **state)
{
    (void)state;
    for (int64_t n = 1; n <= 70; n += 23) {
        double *A = room_for(n * n), *C = room_for(n * n);
        for (int64_t i = 0; i < n * n; i++)
            A[i] = i % 2 ? INFINITY : NAN;
        la_gemm(false, false, n, n, n, 1, A, n, A, n, 0, C, n);
        assert_true(isnan(C[0]) && isnan(C[n * n - 1]));
        assert_int_equal(la_cholesky(n, A, n), 1);
        free(A);
        free(C);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loops_against_long_double),
        cmocka_unit_test(seam_against_long_double),
        cmocka_unit_test(cholesky_factors_or_names_the_minor),
        cmocka_unit_test(singular_values_rebuild_the_matrix),
        cmocka_unit_test(bad_matrices_are_refused),
        cmocka_unit_test(products_with_nan_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
