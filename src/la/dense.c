/*
 * Dense row-major matrices: the seam to CBLAS and LAPACKE.  A call through BLAS costs tens of
 * nanoseconds before any work is done, so tiny sizes are plain loops here; so are sizes beyond
 * BLAS's int, where there is no other way.
 */
#include "la/la.h"

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <math.h>

enum {
    GEMV_PLAIN = 64,     /* m n up to which gemv is a plain loop   */
    GEMM_PLAIN = 256,    /* m n k, gemm                            */
    SYRK_PLAIN = 256,    /* n n k, syrk                            */
    CHOLESKY_PLAIN = 16, /* n, Cholesky and triangular solves      */
};

/*
 * Products are made in our own blocks, several at a time; each stays on the thread that asks for
 * it, so that results do not depend on the number of threads.
 */
__attribute__((constructor)) static void stay_on_one_thread(void)
{
    openblas_set_num_threads(1);
}

static bool fits(int64_t a, int64_t b, int64_t c)
{
    return a <= INT_MAX && b <= INT_MAX && c <= INT_MAX;
}

static CBLAS_TRANSPOSE transposed(bool transpose)
{
    return transpose ? CblasTrans : CblasNoTrans;
}

/* y = beta y; what y held does not matter where beta is 0. */
static void scale(int64_t count, double beta, double *y)
{
    for (int64_t i = 0; i < count; i++)
        y[i] = beta == 0 ? 0 : beta * y[i];
}

void la_gemv(bool transpose, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
             const double *x, double beta, double *y)
{
    if (m > 0 && n > 0 && m > GEMV_PLAIN / n && fits(m, n, lda)) {
        cblas_dgemv(CblasRowMajor, transposed(transpose), (int)m, (int)n, alpha, A, (int)lda, x, 1,
                    beta, y, 1);
        return;
    }
    scale(transpose ? n : m, beta, y);
    for (int64_t i = 0; i < m; i++)
        if (transpose)
            la_axpy(alpha * x[i], A + i * lda, y, n);
        else
            y[i] += alpha * la_dot(A + i * lda, x, n);
}

void la_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
             const double *A, int64_t lda, const double *B, int64_t ldb, double beta, double *C,
             int64_t ldc)
{
    if (m > 0 && n > 0 && k > 0 && m > GEMM_PLAIN / n / k && fits(m, n, k) && fits(lda, ldb, ldc)) {
        cblas_dgemm(CblasRowMajor, transposed(transpose_a), transposed(transpose_b), (int)m, (int)n,
                    (int)k, alpha, A, (int)lda, B, (int)ldb, beta, C, (int)ldc);
        return;
    }
    int64_t next_row = transpose_a ? 1 : lda, next_inner = transpose_a ? lda : 1;
    for (int64_t i = 0; i < m; i++) {
        double *row = C + i * ldc;
        scale(n, beta, row);
        for (int64_t l = 0; l < k; l++) {
            double a = alpha * A[i * next_row + l * next_inner];
            for (int64_t j = 0; j < n; j++)
                row[j] += a * (transpose_b ? B[j * ldb + l] : B[l * ldb + j]);
        }
    }
}

void la_syrk(bool transpose, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
             double beta, double *C, int64_t ldc)
{
    if (n > 0 && k > 0 && n > SYRK_PLAIN / n / k && fits(n, k, lda) && fits(ldc, 0, 0)) {
        cblas_dsyrk(CblasRowMajor, CblasLower, transposed(transpose), (int)n, (int)k, alpha, A,
                    (int)lda, beta, C, (int)ldc);
        return;
    }
    int64_t next_row = transpose ? 1 : lda, next_inner = transpose ? lda : 1;
    for (int64_t i = 0; i < n; i++) {
        scale(i + 1, beta, C + i * ldc);
        for (int64_t l = 0; l < k; l++) {
            double a = alpha * A[i * next_row + l * next_inner];
            for (int64_t j = 0; j <= i; j++)
                C[i * ldc + j] += a * A[j * next_row + l * next_inner];
        }
    }
}

void la_trsv(bool transpose, int64_t n, const double *L, int64_t ldl, double *x)
{
    if (n > CHOLESKY_PLAIN && fits(n, ldl, 0)) {
        cblas_dtrsv(CblasRowMajor, CblasLower, transposed(transpose), CblasNonUnit, (int)n, L,
                    (int)ldl, x, 1);
        return;
    }
    if (!transpose) {
        for (int64_t i = 0; i < n; i++)
            x[i] = (x[i] - la_dot(L + i * ldl, x, i)) / L[i * ldl + i];
    } else {
        for (int64_t i = n - 1; i >= 0; i--) {
            x[i] /= L[i * ldl + i];
            la_axpy(-x[i], L + i * ldl, x, i);
        }
    }
}

/* By rows: L_ij = (A_ij - sum_{l<j} L_il L_jl) / L_jj, L_ii = sqrt(A_ii - sum_{l<i} L_il^2). */
static int64_t cholesky_plain(int64_t n, double *A, int64_t lda)
{
    for (int64_t i = 0; i < n; i++) {
        double *row = A + i * lda;
        for (int64_t j = 0; j < i; j++)
            row[j] = (row[j] - la_dot(row, A + j * lda, j)) / A[j * lda + j];
        double pivot = row[i] - la_dot(row, row, i);
        if (!(pivot > 0)) /* NaN too */
            return i + 1;
        row[i] = sqrt(pivot);
    }
    return 0;
}

int64_t la_cholesky(int64_t n, double *A, int64_t lda)
{
    if (n <= CHOLESKY_PLAIN || !fits(n, lda, 0))
        return cholesky_plain(n, A, lda);
    /* the lower triangle by rows is the upper one by columns: nothing is copied */
    return LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)n, A, (int)lda);
}
