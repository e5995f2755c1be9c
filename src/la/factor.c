/*
 * Factorisations beyond Cholesky: inverse, pivoted Cholesky, pivoted QR, and the eigenvalues of one
 * symmetric matrix in the metric of another.  A row-major lower triangle is LAPACK's upper one by
 * columns, so nothing is copied.
 */
#include "la/lapack/lapack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

int64_t la_cholesky_invert(int64_t n, double *L, int64_t ldl)
{
    if (n > INT_MAX || ldl > INT_MAX)
        return -1;
    const int order = (int)n, stride = (int)ldl;
    int info;
    dpotri_("U", &order, L, &stride, &info, 1);
    for (int64_t i = 0; i < n && info == 0; i++)
        for (int64_t j = 0; j < i; j++)
            L[j * ldl + i] = L[i * ldl + j];
    return info;
}

enum { EIGEN_BLOCK = 32 }; /* LAPACK's, of the reduction to a tridiagonal matrix */

int64_t la_eigenvalues_room(int64_t n)
{
    return (EIGEN_BLOCK + 3) * n + 1; /* the eigenvalues; diagonals, reflectors, a block */
}

int64_t la_eigenvalues_in(int64_t n, double *A, int64_t lda, const double *L, int64_t ldl,
                          double *w)
{
    const int64_t size = la_eigenvalues_room(n) - n;
    if (size > INT_MAX || lda > INT_MAX || ldl > INT_MAX)
        return -1;
    const int order = (int)n, stride = (int)lda, stride_L = (int)ldl, type = 1, room = (int)size;
    const int one = 1; /* dummy integer workspace: eigenvalues alone need none */
    int info = 0, scratch;
    if (L)
        dsygst_(&type, "U", &order, A, &stride, L, &stride_L, &info, 1);
    if (info == 0)
        dsyevd_("N", "U", &order, A, &stride, w, w + n, &room, &scratch, &one, &info, 1, 1);
    return info;
}

attsvm_status la_cholesky_pivoted(int64_t n, double *A, int64_t lda, double tol, int64_t *order,
                                  int64_t *rank, attsvm_error *err)
{
    *rank = 0;
    if (n <= 0)
        return ATTSVM_OK;
    if (n > INT_MAX || lda > INT_MAX)
        return fail(err, ATTSVM_E_ARG, "Cholesky: %" PRId64 " is beyond LAPACK's int", n);
    const int rows = (int)n, stride = (int)lda;
    int *pivot = NULL, found = 0, info = 0;
    double *work = NULL;
    attsvm_status status = base_allocate(&pivot, (size_t)n, sizeof *pivot, "pivots", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&work, 2 * (size_t)n, sizeof *work, "pivots", err);
    if (status != ATTSVM_OK)
        goto done;
    dpstrf_("U", &rows, A, &stride, pivot, &found, &tol, work, &info, 1);
    for (int64_t i = 0; i < n; i++)
        order[i] = pivot[i] - 1;
    if (info < 0)
        status = fail(err, ATTSVM_E_NUMERIC, "Cholesky of %" PRId64 " rows: LAPACK returned %d", n,
                      info);
    else
        *rank = found;
done:
    free(work);
    free(pivot);
    return status;
}

/* Workspace for a QR factorisation of n x m by columns and for its first `r` columns of Q. */
static int row_space_work(int n, int m, int lda)
{
    const int ask = -1, most = m < n ? m : n;
    int info;
    double best = 0, best_q = 0, none;
    int pivot;
    dgeqp3_(&n, &m, &none, &lda, &pivot, &none, &best, &ask, &info);
    dorgqr_(&n, &most, &most, &none, &n, &none, &best_q, &ask, &info);
    return (int)fmax(best, best_q);
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
    const int columns = (int)m, length = (int)n, stride = (int)lda;
    const int size = row_space_work(length, columns, stride);
    int *pivot = NULL, info = 0;
    double *tau = NULL, *work = NULL;
    attsvm_status status = base_allocate(&pivot, (size_t)m, sizeof *pivot, "pivots", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&tau, (size_t)most, sizeof *tau, "reflectors", err);
    if (status == ATTSVM_OK)
        status = base_reserve(&work, (size_t)size * sizeof *work, "reflectors", err);
    if (status != ATTSVM_OK)
        goto done;
    /* A by rows is A' (n x m) by columns: A' P = Q R */
    dgeqp3_(&length, &columns, A, &stride, pivot, tau, work, &size, &info);
    int r = 0;
    while (info == 0 && r < most && A[r * lda + r] * A[r * lda + r] > tol * tol * A[0] * A[0])
        r++;
    for (int64_t j = 0; j < r; j++)
        memcpy(Q + j * n, A + j * lda, (size_t)n * sizeof *Q);
    if (info == 0 && r > 0)
        dorgqr_(&length, &r, &r, Q, &length, tau, work, &size, &info);
    if (info != 0)
        status = fail(err, ATTSVM_E_NUMERIC, "row space: LAPACK returned %d", info);
    else
        *rank = r;
done:
    free(work);
    free(tau);
    free(pivot);
    return status;
}
