/*
 * Factorisations beyond Cholesky: inverse, pivoted Cholesky, pivoted QR, and the eigenvalues of one
 * symmetric matrix in the metric of another.  A row-major lower triangle is LAPACK's upper one by
 * columns, so nothing is copied.
 */
#include "la/la.h"

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static attsvm_status failure(int info)
{
    return info == LAPACK_WORK_MEMORY_ERROR ? ATTSVM_E_MEMORY : ATTSVM_E_NUMERIC;
}

int64_t la_cholesky_invert(int64_t n, double *L, int64_t ldl)
{
    if (n > INT_MAX || ldl > INT_MAX)
        return -1;
    int info = LAPACKE_dpotri_work(LAPACK_COL_MAJOR, 'U', (int)n, L, (int)ldl);
    for (int64_t i = 0; i < n && info == 0; i++)
        for (int64_t j = 0; j < i; j++)
            L[j * ldl + i] = L[i * ldl + j];
    return info;
}

int64_t la_eigenvalues_in(int64_t n, double *A, int64_t lda, const double *L, int64_t ldl,
                          double *w)
{
    if (n > INT_MAX || lda > INT_MAX || ldl > INT_MAX)
        return -1;
    int info = 0;
    if (L)
        info = LAPACKE_dsygst_work(LAPACK_COL_MAJOR, 1, 'U', (int)n, A, (int)lda, L, (int)ldl);
    return info != 0 ? info : LAPACKE_dsyevd(LAPACK_COL_MAJOR, 'N', 'U', (int)n, A, (int)lda, w);
}

attsvm_status la_cholesky_pivoted(int64_t n, double *A, int64_t lda, double tol, int64_t *order,
                                  int64_t *rank, attsvm_error *err)
{
    *rank = 0;
    if (n <= 0)
        return ATTSVM_OK;
    if (n > INT_MAX || lda > INT_MAX)
        return fail(err, ATTSVM_E_ARG, "Cholesky: %" PRId64 " is beyond LAPACK's int", n);
    int *pivot = NULL, found = 0;
    TRY(base_allocate(&pivot, (size_t)n, sizeof *pivot, "pivots", err));
    int info = LAPACKE_dpstrf(LAPACK_COL_MAJOR, 'U', (int)n, A, (int)lda, pivot, &found, tol);
    for (int64_t i = 0; i < n; i++)
        order[i] = pivot[i] - 1;
    free(pivot);
    if (info < 0)
        return fail(err, failure(info), "Cholesky of %" PRId64 " rows: LAPACK returned %d", n,
                    info);
    *rank = found;
    return ATTSVM_OK;
}

attsvm_status la_row_space(int64_t m, int64_t n, double *A, int64_t lda, double tol, double *Q,
                           int64_t *rank, attsvm_error *err)
{
    *rank = 0;
    int64_t most = m < n ? m : n;
    if (most <= 0)
        return ATTSVM_OK;
    if (m > INT_MAX || n > INT_MAX || lda > INT_MAX)
        return fail(err, ATTSVM_E_ARG,
                    "row space: %" PRId64 " x %" PRId64 " is beyond LAPACK's int", m, n);
    int *pivot = NULL;
    double *tau = NULL;
    attsvm_status status = base_allocate(&pivot, (size_t)m, sizeof *pivot, "pivots", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&tau, (size_t)most, sizeof *tau, "reflectors", err);
    if (status != ATTSVM_OK)
        goto done;
    /* A by rows is A' (n x m) by columns: A' P = Q R */
    int info = LAPACKE_dgeqp3(LAPACK_COL_MAJOR, (int)n, (int)m, A, (int)lda, pivot, tau);
    int64_t r = 0;
    while (info == 0 && r < most && A[r * lda + r] * A[r * lda + r] > tol * tol * A[0] * A[0])
        r++;
    for (int64_t j = 0; j < r; j++)
        memcpy(Q + j * n, A + j * lda, (size_t)n * sizeof *Q);
    if (info == 0 && r > 0)
        info = LAPACKE_dorgqr(LAPACK_COL_MAJOR, (int)n, (int)r, (int)r, Q, (int)n, tau);
    if (info != 0)
        status = fail(err, failure(info), "row space: LAPACK returned %d", info);
    *rank = r;
done:
    free(tau);
    free(pivot);
    return status;
}
