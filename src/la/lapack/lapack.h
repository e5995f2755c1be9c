/*
 * The Fortran names of BLAS and LAPACK, for la alone.  LAPACK comes as an archive and is linked
 * into the library; the BLAS that it calls is ours (blas.c, blas_vectors.c), on our own kernels.
 * So the library starts no threads, keeps no buffers, waits for nobody, and gives the same bytes on
 * every processor.  Matrices are stored by columns.  Lengths of texts follow the last argument.
 */
#ifndef ATTSVM_LA_LAPACK_H
#define ATTSVM_LA_LAPACK_H

#include "la/la.h"

typedef const int *fortran_int;
typedef const double *fortran_real;
typedef const char *fortran_letter;

/* The letter that a flag begins with, in lower case. */
static inline char fortran_flag(fortran_letter letter)
{
    return (char)(*letter | 0x20);
}

/* Entry 0 of a vector: with a negative step it is the last in memory. */
static inline int64_t fortran_first(int64_t count, int64_t step)
{
    return step < 0 ? (1 - count) * step : 0;
}

/* ------------------------------------------------------------------- BLAS: ours */

void daxpy_(fortran_int n, fortran_real a, fortran_real x, fortran_int incx, double *y,
            fortran_int incy);
void dcopy_(fortran_int n, fortran_real x, fortran_int incx, double *y, fortran_int incy);
double ddot_(fortran_int n, fortran_real x, fortran_int incx, fortran_real y, fortran_int incy);
double dnrm2_(fortran_int n, fortran_real x, fortran_int incx);
void drot_(fortran_int n, double *x, fortran_int incx, double *y, fortran_int incy, fortran_real c,
           fortran_real s);
void dscal_(fortran_int n, fortran_real a, double *x, fortran_int incx);
void dswap_(fortran_int n, double *x, fortran_int incx, double *y, fortran_int incy);
int idamax_(fortran_int n, fortran_real x, fortran_int incx);

void dgemv_(fortran_letter trans, fortran_int m, fortran_int n, fortran_real alpha, fortran_real A,
            fortran_int lda, fortran_real x, fortran_int incx, fortran_real beta, double *y,
            fortran_int incy);
void dger_(fortran_int m, fortran_int n, fortran_real alpha, fortran_real x, fortran_int incx,
           fortran_real y, fortran_int incy, double *A, fortran_int lda);
void dsymv_(fortran_letter uplo, fortran_int n, fortran_real alpha, fortran_real A, fortran_int lda,
            fortran_real x, fortran_int incx, fortran_real beta, double *y, fortran_int incy);
void dsyr2_(fortran_letter uplo, fortran_int n, fortran_real alpha, fortran_real x,
            fortran_int incx, fortran_real y, fortran_int incy, double *A, fortran_int lda);
void dtrmv_(fortran_letter uplo, fortran_letter trans, fortran_letter diag, fortran_int n,
            fortran_real A, fortran_int lda, double *x, fortran_int incx);
void dtrsv_(fortran_letter uplo, fortran_letter trans, fortran_letter diag, fortran_int n,
            fortran_real A, fortran_int lda, double *x, fortran_int incx);

void dgemm_(fortran_letter transa, fortran_letter transb, fortran_int m, fortran_int n,
            fortran_int k, fortran_real alpha, fortran_real A, fortran_int lda, fortran_real B,
            fortran_int ldb, fortran_real beta, double *C, fortran_int ldc);
void dsymm_(fortran_letter side, fortran_letter uplo, fortran_int m, fortran_int n,
            fortran_real alpha, fortran_real A, fortran_int lda, fortran_real B, fortran_int ldb,
            fortran_real beta, double *C, fortran_int ldc);
void dsyrk_(fortran_letter uplo, fortran_letter trans, fortran_int n, fortran_int k,
            fortran_real alpha, fortran_real A, fortran_int lda, fortran_real beta, double *C,
            fortran_int ldc);
void dsyr2k_(fortran_letter uplo, fortran_letter trans, fortran_int n, fortran_int k,
             fortran_real alpha, fortran_real A, fortran_int lda, fortran_real B, fortran_int ldb,
             fortran_real beta, double *C, fortran_int ldc);
void dtrmm_(fortran_letter side, fortran_letter uplo, fortran_letter trans, fortran_letter diag,
            fortran_int m, fortran_int n, fortran_real alpha, fortran_real A, fortran_int lda,
            double *B, fortran_int ldb);
void dtrsm_(fortran_letter side, fortran_letter uplo, fortran_letter trans, fortran_letter diag,
            fortran_int m, fortran_int n, fortran_real alpha, fortran_real A, fortran_int lda,
            double *B, fortran_int ldb);

/* LAPACK's report of a bad argument, ours too: it prints nothing, and the call returns its info. */
void xerbla_(fortran_letter name, fortran_int argument, size_t length);

/* ------------------------------------------------------------- LAPACK: the archive's */

void dgesdd_(fortran_letter jobz, fortran_int m, fortran_int n, double *A, fortran_int lda,
             double *s, double *U, fortran_int ldu, double *Vt, fortran_int ldvt, double *work,
             fortran_int lwork, int *iwork, int *info, size_t);
void dsyevd_(fortran_letter jobz, fortran_letter uplo, fortran_int n, double *A, fortran_int lda,
             double *w, double *work, fortran_int lwork, int *iwork, fortran_int liwork, int *info,
             size_t, size_t);
void dsygst_(fortran_int itype, fortran_letter uplo, fortran_int n, double *A, fortran_int lda,
             fortran_real B, fortran_int ldb, int *info, size_t);
void dpotrf_(fortran_letter uplo, fortran_int n, double *A, fortran_int lda, int *info, size_t);
void dpotri_(fortran_letter uplo, fortran_int n, double *A, fortran_int lda, int *info, size_t);
void dpstrf_(fortran_letter uplo, fortran_int n, double *A, fortran_int lda, int *pivot, int *rank,
             fortran_real tol, double *work, int *info, size_t);
void dgeqp3_(fortran_int m, fortran_int n, double *A, fortran_int lda, int *pivot, double *tau,
             double *work, fortran_int lwork, int *info);
void dorgqr_(fortran_int m, fortran_int n, fortran_int k, double *A, fortran_int lda,
             fortran_real tau, double *work, fortran_int lwork, int *info);

#endif
