/* Singular values, through LAPACKE, and the name of the library behind it. */
#include "la/la.h"

#include <cblas.h>
#include <lapacke.h>
#include <limits.h>
#include <stdio.h>

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

static attsvm_status report(const char *what, int info, int64_t m, int64_t n, attsvm_error *err)
{
    if (info == 0)
        return ATTSVM_OK;
    if (info == LAPACK_WORK_MEMORY_ERROR)
        return fail(err, ATTSVM_E_MEMORY, "%s of %" PRId64 " x %" PRId64 ": no memory", what, m, n);
    return fail(err, ATTSVM_E_NUMERIC, "%s of %" PRId64 " x %" PRId64 ": LAPACK returned %d", what,
                m, n, info);
}

/* A by rows is A' by columns, and A' = V diag(s) U': the factors change places. */
attsvm_status la_svd(int64_t m, int64_t n, double *A, int64_t lda, double *s, double *U,
                     int64_t ldu, double *Vt, int64_t ldvt, attsvm_error *err)
{
    if (m <= 0 || n <= 0)
        return ATTSVM_OK;
    TRY(check("singular values", m, n, A, lda, err));
    int info = LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'S', (int)n, (int)m, A, (int)lda, s, Vt, (int)ldvt,
                              U, (int)ldu);
    return report("singular values", info, m, n, err);
}

attsvm_status la_singular_values(int64_t m, int64_t n, double *A, int64_t lda, double *s,
                                 attsvm_error *err)
{
    double none[1];
    if (m <= 0 || n <= 0)
        return ATTSVM_OK;
    TRY(check("singular values", m, n, A, lda, err));
    int info =
        LAPACKE_dgesdd(LAPACK_COL_MAJOR, 'N', (int)n, (int)m, A, (int)lda, s, none, 1, none, 1);
    return report("singular values", info, m, n, err);
}

/* Only OpenBLAS has it; with another BLAS the address is NULL. */
extern char *openblas_get_config(void) __attribute__((weak));

const char *la_blas_name(void)
{
    return openblas_get_config ? openblas_get_config() : "CBLAS";
}
