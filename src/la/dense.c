/*
 * Dense row-major matrices: the seam to CBLAS and LAPACKE.  A call through BLAS costs tens of
 * nanoseconds before any work is done, so small sizes go to our own loops; so do sizes beyond
 * BLAS's int, where there is no other way.
 */
#include "la/la.h"

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>

/*
 * Up to these sizes our own loops are used: where they are as fast (`bench_la dense` measures
 * them), and wherever d is at most 64, because the bits of BLAS follow the processor.
 */
enum {
    GEMV_OWN = 512 * 512,         /* m n                                            */
    GEMM_OWN = 64,                /* two of m, n, k                                 */
    SYRK_OWN = 64,                /* n                                              */
    SYRK_OWN_WORK = 32 * 32 * 32, /* or n n k                               */
    TRSV_OWN = 256,               /* n                                              */
    TRSM_OWN = 96,                /* n                                              */
    CHOLESKY_OWN = 96,            /* n                                              */
};

/* At least one, and no more than BLAS's int can say. */
static bool fits(int64_t a, int64_t b, int64_t c)
{
    return a > 0 && b > 0 && c > 0 && a <= INT_MAX && b <= INT_MAX && c <= INT_MAX;
}

static CBLAS_TRANSPOSE op(bool transpose)
{
    return transpose ? CblasTrans : CblasNoTrans;
}

void la_gemv(bool transpose, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
             const double *x, double beta, double *y)
{
    if (!fits(m, n, lda) || m <= GEMV_OWN / n)
        la_active()->gemv(transpose, m, n, alpha, A, lda, x, beta, y);
    else
        cblas_dgemv(CblasRowMajor, op(transpose), (int)m, (int)n, alpha, A, (int)lda, x, 1, beta, y,
                    1);
}

void la_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
             const double *A, int64_t lda, const double *B, int64_t ldb, double beta, double *C,
             int64_t ldc)
{
    const bool beyond = !fits(m, n, k) || !fits(lda, ldb, ldc);
    if (beyond || (m <= GEMM_OWN) + (n <= GEMM_OWN) + (k <= GEMM_OWN) >= 2)
        la_active()->gemm(transpose_a, transpose_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
    else
        cblas_dgemm(CblasRowMajor, op(transpose_a), op(transpose_b), (int)m, (int)n, (int)k, alpha,
                    A, (int)lda, B, (int)ldb, beta, C, (int)ldc);
}

void la_syrk(bool transpose, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
             double beta, double *C, int64_t ldc)
{
    if (!fits(n, k, lda) || !fits(ldc, 1, 1) || n <= SYRK_OWN || n <= SYRK_OWN_WORK / n / k)
        la_active()->syrk(transpose, n, k, alpha, A, lda, beta, C, ldc);
    else
        cblas_dsyrk(CblasRowMajor, CblasLower, op(transpose), (int)n, (int)k, alpha, A, (int)lda,
                    beta, C, (int)ldc);
}

void la_trsv(bool transpose, int64_t n, const double *L, int64_t ldl, double *x)
{
    if (n <= TRSV_OWN || !fits(n, ldl, 1))
        la_active()->trsv(transpose, n, L, ldl, x);
    else
        cblas_dtrsv(CblasRowMajor, CblasLower, op(transpose), CblasNonUnit, (int)n, L, (int)ldl, x,
                    1);
}

void la_trsm(bool transpose, int64_t n, int64_t columns, const double *L, int64_t ldl, double *B,
             int64_t ldb)
{
    if (n <= TRSM_OWN || !fits(n, columns, ldl) || !fits(ldb, 1, 1))
        la_active()->trsm(transpose, n, columns, L, ldl, B, ldb);
    else
        cblas_dtrsm(CblasRowMajor, CblasLeft, CblasLower, op(transpose), CblasNonUnit, (int)n,
                    (int)columns, 1.0, L, (int)ldl, B, (int)ldb);
}

/*
 * The lower triangle by rows is the upper one by columns, so nothing is copied.  OpenBLAS does not
 * take a NaN for a failure; it then stands on the diagonal from the minor on that it spoilt.
 */
int64_t la_cholesky(int64_t n, double *A, int64_t lda)
{
    if (n <= CHOLESKY_OWN || !fits(n, lda, 1))
        return la_active()->cholesky(n, A, lda);
    int64_t failed = LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'U', (int)n, A, (int)lda);
    for (int64_t i = 0; i < n && failed == 0; i++)
        if (!(A[i * lda + i] > 0))
            failed = i + 1;
    return failed;
}
