/*
 * Dense row-major matrices.  All products use our own loops (la/kernels), whose bits are the same
 * on every processor; blocked factorisations come from LAPACK and call the same loops
 * (lapack/lapack.h).
 */
#include "la/lapack/lapack.h"

#include <limits.h>

/* Blocked LAPACK code is faster from these sizes on (`bench_la dense` measures them). */
enum {
    TRSM_OWN = 96,     /* n */
    CHOLESKY_OWN = 96, /* n */
};

void la_gemv(bool transpose, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
             const double *x, double beta, double *y)
{
    la_active()->gemv(transpose, m, n, alpha, A, lda, x, beta, y);
}

void la_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
             const double *A, int64_t lda, const double *B, int64_t ldb, double beta, double *C,
             int64_t ldc)
{
    la_active()->gemm(transpose_a, transpose_b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc);
}

void la_syrk(bool transpose, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
             double beta, double *C, int64_t ldc)
{
    la_active()->syrk(transpose, n, k, alpha, A, lda, beta, C, ldc);
}

void la_trsv(bool transpose, int64_t n, const double *L, int64_t ldl, double *x)
{
    la_active()->trsv(transpose, n, L, ldl, x);
}

static bool fits(int64_t a, int64_t b, int64_t c)
{
    return a <= INT_MAX && b <= INT_MAX && c <= INT_MAX;
}

/* LAPACK sees the transposed system X' op(L') = B', because it stores columns. */
void la_trsm(bool transpose, int64_t n, int64_t columns, const double *L, int64_t ldl, double *B,
             int64_t ldb)
{
    if (n <= TRSM_OWN || !fits(n, columns, ldl) || !fits(ldb, 0, 0)) {
        la_active()->trsm(transpose, n, columns, L, ldl, B, ldb);
        return;
    }
    const int m = (int)columns, order = (int)n, stride = (int)ldl, stride_b = (int)ldb;
    const double one = 1;
    dtrsm_("r", "u", transpose ? "t" : "n", "n", &m, &order, &one, L, &stride, B, &stride_b);
}

/* The lower triangle by rows is the upper one by columns, so nothing is copied. */
int64_t la_cholesky(int64_t n, double *A, int64_t lda)
{
    if (n <= CHOLESKY_OWN || !fits(n, lda, 0))
        return la_active()->cholesky(n, A, lda);
    const int order = (int)n, stride = (int)lda;
    int info;
    dpotrf_("U", &order, A, &stride, &info, 1);
    return info;
}
