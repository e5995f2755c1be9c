/* BLAS for LAPACK: vectors (lapack.h). */
#include "la/lapack/lapack.h"

#include <string.h>

void daxpy_(fortran_int n, fortran_real a, fortran_real x, fortran_int incx, double *y,
            fortran_int incy)
{
    const int64_t count = *n;
    if (count <= 0 || *a == 0)
        return;
    if (*incx == 1 && *incy == 1) {
        la_axpy(*a, x, y, count);
        return;
    }
    x += fortran_first(count, *incx);
    y += fortran_first(count, *incy);
    for (int64_t i = 0; i < count; i++)
        y[i * *incy] += *a * x[i * *incx];
}

void dcopy_(fortran_int n, fortran_real x, fortran_int incx, double *y, fortran_int incy)
{
    const int64_t count = *n;
    if (count <= 0)
        return;
    if (*incx == 1 && *incy == 1) {
        memmove(y, x, (size_t)count * sizeof *y);
        return;
    }
    x += fortran_first(count, *incx);
    y += fortran_first(count, *incy);
    for (int64_t i = 0; i < count; i++)
        y[i * *incy] = x[i * *incx];
}

double ddot_(fortran_int n, fortran_real x, fortran_int incx, fortran_real y, fortran_int incy)
{
    const int64_t count = *n;
    if (count <= 0)
        return 0;
    if (*incx == 1 && *incy == 1)
        return la_dot(x, y, count);
    double sum = 0;
    x += fortran_first(count, *incx);
    y += fortran_first(count, *incy);
    for (int64_t i = 0; i < count; i++)
        sum += x[i * *incx] * y[i * *incy];
    return sum;
}

/* Squares are taken in units of a power of two near the largest entry. */
double dnrm2_(fortran_int n, fortran_real x, fortran_int incx)
{
    const int64_t count = *n;
    if (count <= 0)
        return 0;
    if (*incx == 1)
        return la_norm(x, count);
    double largest = 0, sum = 0;
    x += fortran_first(count, *incx);
    for (int64_t i = 0; i < count; i++)
        largest = x[i * *incx] != x[i * *incx] ? x[i * *incx] : fmax(largest, fabs(x[i * *incx]));
    if (largest == 0 || !(largest <= 1.7976931348623157e308))
        return largest;
    int exponent;
    frexp(largest, &exponent);
    for (int64_t i = 0; i < count; i++) {
        const double scaled = ldexp(x[i * *incx], -exponent);
        sum += scaled * scaled;
    }
    return ldexp(sqrt(sum), exponent);
}

void drot_(fortran_int n, double *x, fortran_int incx, double *y, fortran_int incy, fortran_real c,
           fortran_real s)
{
    const int64_t count = *n;
    if (count <= 0)
        return;
    const double cosine = *c, sine = *s;
    x += fortran_first(count, *incx);
    y += fortran_first(count, *incy);
    for (int64_t i = 0; i < count; i++) {
        const double old = x[i * *incx];
        x[i * *incx] = cosine * old + sine * y[i * *incy];
        y[i * *incy] = cosine * y[i * *incy] - sine * old;
    }
}

void dscal_(fortran_int n, fortran_real a, double *x, fortran_int incx)
{
    for (int64_t i = 0; i<*n && * incx> 0; i++)
        x[i * *incx] *= *a;
}

void dswap_(fortran_int n, double *x, fortran_int incx, double *y, fortran_int incy)
{
    const int64_t count = *n;
    if (count <= 0)
        return;
    x += fortran_first(count, *incx);
    y += fortran_first(count, *incy);
    for (int64_t i = 0; i < count; i++) {
        const double old = x[i * *incx];
        x[i * *incx] = y[i * *incy];
        y[i * *incy] = old;
    }
}

/* The first entry of largest size, counted from 1. */
int idamax_(fortran_int n, fortran_real x, fortran_int incx)
{
    int best = 0;
    for (int i = 1; i<*n && * incx> 0; i++)
        if (fabs(x[(int64_t)i * *incx]) > fabs(x[(int64_t)best * *incx]))
            best = i;
    return *n > 0 && *incx > 0 ? best + 1 : 0;
}

void xerbla_(fortran_letter name, fortran_int argument, size_t length)
{
    (void)name, (void)argument, (void)length;
}

/* The one call into Fortran's run-time library that these parts of LAPACK make: texts are joined
   and filled up with spaces.  With it here, nobody needs that library. */
void _gfortran_concat_string(size_t size, char *out, size_t first_size, const char *first,
                             size_t second_size, const char *second);
void _gfortran_concat_string(size_t size, char *out, size_t first_size, const char *first,
                             size_t second_size, const char *second)
{
    for (size_t k = 0; k < size; k++)
        out[k] = k < first_size                 ? first[k]
                 : k < first_size + second_size ? second[k - first_size]
                                                : ' ';
}
