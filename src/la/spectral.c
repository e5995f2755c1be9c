/* Singular values, by LAPACK. */
#include "la/lapack/lapack.h"

#include <limits.h>
#include <stdlib.h>

/* LAPACK may loop or crash on values that are not finite. */
static attsvm_status check(const char *what, int64_t m, int64_t n, const double *A, int64_t lda,
                           attsvm_error *err)
{
    if (m > INT_MAX || n > INT_MAX || lda > INT_MAX)
        return fail(err, ATTSVM_E_ARG, "%s: %" PRId64 " x %" PRId64 " is beyond LAPACK's int", what,
                    m, n);
    for (int64_t i = 0; i < m; i++) {
        int64_t j = la_active()->first_nonfinite(ATTSVM_F64, A + i * lda, n);
        if (j >= 0)
            return fail(err, ATTSVM_E_NUMERIC,
                        "%s: entry (%" PRId64 ",%" PRId64 ") = %g is not finite", what, i, j,
                        A[i * lda + j]);
    }
    return ATTSVM_OK;
}

/* SVD of A (m x n) by columns; job "S" computes U and Vt, "N" does not. */
static attsvm_status decompose(const char *job, int m, int n, double *A, int lda, double *s,
                               double *U, int ldu, double *Vt, int ldvt, attsvm_error *err)
{
    const int ask = -1, few = m < n ? m : n;
    int info, size;
    int *integers = NULL;
    double best, *work = NULL;
    dgesdd_(job, &m, &n, A, &lda, s, U, &ldu, Vt, &ldvt, &best, &ask, NULL, &info, 1);
    size = (int)best;
    attsvm_status status =
        base_allocate(&integers, 8 * (size_t)few, sizeof *integers, "singular values", err);
    if (status == ATTSVM_OK)
        status = base_reserve(&work, (size_t)size * sizeof *work, "singular values", err);
    if (status == ATTSVM_OK)
        dgesdd_(job, &m, &n, A, &lda, s, U, &ldu, Vt, &ldvt, work, &size, integers, &info, 1);
    free(work);
    free(integers);
    if (status == ATTSVM_OK && info != 0)
        status = fail(err, ATTSVM_E_NUMERIC, "singular values of %d x %d: LAPACK returned %d", n, m,
                      info);
    return status;
}

/* A by rows is A' by columns, and A' = V diag(s) U': the factors are swapped. */
attsvm_status la_svd(int64_t m, int64_t n, double *A, int64_t lda, double *s, double *U,
                     int64_t ldu, double *Vt, int64_t ldvt, attsvm_error *err)
{
    if (m <= 0 || n <= 0)
        return ATTSVM_OK;
    TRY(check("singular values", m, n, A, lda, err));
    return decompose("S", (int)n, (int)m, A, (int)lda, s, Vt, (int)ldvt, U, (int)ldu, err);
}

attsvm_status la_singular_values(int64_t m, int64_t n, double *A, int64_t lda, double *s,
                                 attsvm_error *err)
{
    double none[1];
    if (m <= 0 || n <= 0)
        return ATTSVM_OK;
    TRY(check("singular values", m, n, A, lda, err));
    return decompose("N", (int)n, (int)m, A, (int)lda, s, none, 1, none, 1, err);
}
