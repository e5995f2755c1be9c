/*
 * BLAS for LAPACK: matrices by columns (lapack.h).  A matrix by columns is its transpose by rows,
 * so products go straight to our kernels.  Symmetric and triangular matrices are cut into blocks:
 * what is off the diagonal is a plain product, a diagonal block is copied and filled up.
 */
#include "la/lapack/lapack.h"

enum { BLOCK = 32, CHUNK = 256 };

static const double one = 1;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool is_transposed(fortran_letter trans)
{
    return fortran_flag(trans) != 'n';
}

/* ---------------------------------------------------------------- matrix and vector */

static void gather(int64_t count, const double *x, int64_t step, double *out)
{
    for (int64_t i = 0; i < count; i++)
        out[i] = x[i * step];
}

/* y += alpha op(A) x with x and y in memory without gaps. */
static void add_product(bool transpose, int64_t m, int64_t n, double alpha, const double *A,
                        int64_t lda, const double *x, double *y)
{
    la_active()->gemv(!transpose, n, m, alpha, A, lda, x, 1, y);
}

void dgemv_(fortran_letter trans, fortran_int m, fortran_int n, fortran_real alpha, fortran_real A,
            fortran_int lda, fortran_real x, fortran_int incx, fortran_real beta, double *y,
            fortran_int incy)
{
    const bool transpose = is_transposed(trans);
    const int64_t rows = transpose ? *n : *m, columns = transpose ? *m : *n, ld = *lda;
    double x_part[CHUNK], y_part[CHUNK];
    if (*m <= 0 || *n <= 0)
        return;
    x += fortran_first(columns, *incx);
    y += fortran_first(rows, *incy);
    for (int64_t i = 0; i < rows && *beta != 1; i++)
        y[i * *incy] = *beta == 0 ? 0 : *beta * y[i * *incy];
    const int64_t rows_step = *incy == 1 ? rows : CHUNK,
                  columns_step = *incx == 1 ? columns : CHUNK;
    for (int64_t i = 0; i < rows && *alpha != 0; i += rows_step) {
        const int64_t here = smaller(rows_step, rows - i);
        double *to = *incy == 1 ? y + i : y_part;
        if (*incy != 1)
            gather(here, y + i * *incy, *incy, y_part);
        for (int64_t j = 0; j < columns; j += columns_step) {
            const int64_t wide = smaller(columns_step, columns - j);
            const double *from = *incx == 1 ? x + j : x_part;
            if (*incx != 1)
                gather(wide, x + j * *incx, *incx, x_part);
            if (transpose)
                add_product(true, wide, here, *alpha, A + j + i * ld, ld, from, to);
            else
                add_product(false, here, wide, *alpha, A + i + j * ld, ld, from, to);
        }
        for (int64_t k = 0; k < here && *incy != 1; k++)
            y[(i + k) * *incy] = y_part[k];
    }
}

void dger_(fortran_int m, fortran_int n, fortran_real alpha, fortran_real x, fortran_int incx,
           fortran_real y, fortran_int incy, double *A, fortran_int lda)
{
    double x_part[CHUNK];
    if (*m <= 0 || *n <= 0)
        return;
    x += fortran_first(*m, *incx);
    y += fortran_first(*n, *incy);
    const int64_t step = *incx == 1 ? *m : CHUNK;
    for (int64_t i = 0; i < *m; i += step) {
        const int64_t here = smaller(step, *m - i);
        const double *from = *incx == 1 ? x + i : x_part;
        if (*incx != 1)
            gather(here, x + i * *incx, *incx, x_part);
        for (int64_t j = 0; j < *n; j++)
            la_axpy(*alpha * y[j * *incy], from, A + i + j * *lda, here);
    }
}

/* The diagonal block of a symmetric matrix, whole, by columns of `size`. */
static void fill_symmetric(bool upper, int64_t size, const double *A, int64_t lda, double *out)
{
    for (int64_t j = 0; j < size; j++)
        for (int64_t i = 0; i < size; i++)
            out[i + j * size] = (i <= j) == upper || i == j ? A[i + j * lda] : A[j + i * lda];
}

void dsymv_(fortran_letter uplo, fortran_int n, fortran_real alpha, fortran_real A, fortran_int lda,
            fortran_real x, fortran_int incx, fortran_real beta, double *y, fortran_int incy)
{
    const bool upper = fortran_flag(uplo) == 'u';
    double diagonal[BLOCK * BLOCK];
    x += fortran_first(*n, *incx);
    y += fortran_first(*n, *incy);
    for (int64_t i = 0; i < *n && *beta != 1; i++)
        y[i * *incy] = *beta == 0 ? 0 : *beta * y[i * *incy];
    for (int64_t j = 0; j < *n; j += BLOCK) {
        const int wide = (int)smaller(BLOCK, *n - j);
        /* rows off the diagonal that are stored in these columns */
        const int64_t from = upper ? 0 : j + wide;
        const int rows = (int)(upper ? j : *n - from);
        const double *off = A + from + j * *lda;
        fill_symmetric(upper, wide, A + j + j * *lda, *lda, diagonal);
        dgemv_("n", &wide, &wide, alpha, diagonal, &wide, x + j * *incx, incx, &one, y + j * *incy,
               incy);
        dgemv_("n", &rows, &wide, alpha, off, lda, x + j * *incx, incx, &one, y + from * *incy,
               incy);
        dgemv_("t", &rows, &wide, alpha, off, lda, x + from * *incx, incx, &one, y + j * *incy,
               incy);
    }
}

void dsyr2_(fortran_letter uplo, fortran_int n, fortran_real alpha, fortran_real x,
            fortran_int incx, fortran_real y, fortran_int incy, double *A, fortran_int lda)
{
    const bool upper = fortran_flag(uplo) == 'u';
    x += fortran_first(*n, *incx);
    y += fortran_first(*n, *incy);
    for (int64_t j = 0; j < *n; j++) {
        const double by_x = *alpha * y[j * *incy], by_y = *alpha * x[j * *incx];
        for (int64_t i = upper ? 0 : j; i < (upper ? j + 1 : *n); i++)
            A[i + j * *lda] += x[i * *incx] * by_x + y[i * *incy] * by_y;
    }
}

/* --------------------------------------------------------------------- triangular */

/* op(A) as it stands in a product. */
typedef struct triangle {
    const double *A;
    int64_t lda;
    bool upper; /* after the transposition */
    bool transposed, has_unit_diagonal;
} triangle;

static triangle triangle_of(fortran_letter uplo, fortran_letter trans, fortran_letter diag,
                            const double *A, int64_t lda)
{
    const bool transposed = is_transposed(trans);
    return (triangle){ A, lda, (fortran_flag(uplo) == 'u') != transposed, transposed,
                       fortran_flag(diag) == 'u' };
}

/* Where block (i,j) of op(A) is stored, transposed where op is. */
static const double *block_at(const triangle *T, int64_t i, int64_t j)
{
    return T->transposed ? T->A + j + i * T->lda : T->A + i + j * T->lda;
}

/* Entry (i,j) of op(A). */
static double entry(const triangle *T, int64_t i, int64_t j)
{
    if (i == j && T->has_unit_diagonal)
        return 1;
    return i == j || (i < j) == T->upper ? *block_at(T, i, j) : 0;
}

/* Diagonal block from `first` on, by columns of `size`. */
static void fill_triangle(const triangle *T, int64_t first, int64_t size, double *out)
{
    for (int64_t j = 0; j < size; j++)
        for (int64_t i = 0; i < size; i++)
            out[i + j * size] = entry(T, first + i, first + j);
}

void dtrmv_(fortran_letter uplo, fortran_letter trans, fortran_letter diag, fortran_int n,
            fortran_real A, fortran_int lda, double *x, fortran_int incx)
{
    const triangle T = triangle_of(uplo, trans, diag, A, *lda);
    x += fortran_first(*n, *incx);
    for (int64_t k = 0; k < *n; k++) { /* an entry is written when no other needs it any more */
        const int64_t i = T.upper ? k : *n - 1 - k;
        double sum = 0;
        for (int64_t j = T.upper ? i : 0; j < (T.upper ? *n : i + 1); j++)
            sum += entry(&T, i, j) * x[j * *incx];
        x[i * *incx] = sum;
    }
}

void dtrsv_(fortran_letter uplo, fortran_letter trans, fortran_letter diag, fortran_int n,
            fortran_real A, fortran_int lda, double *x, fortran_int incx)
{
    const triangle T = triangle_of(uplo, trans, diag, A, *lda);
    x += fortran_first(*n, *incx);
    for (int64_t k = 0; k < *n; k++) {
        const int64_t i = T.upper ? *n - 1 - k : k;
        double sum = x[i * *incx];
        for (int64_t j = T.upper ? i + 1 : 0; j < (T.upper ? *n : i); j++)
            sum -= entry(&T, i, j) * x[j * *incx];
        x[i * *incx] = sum / entry(&T, i, i);
    }
}

/* ------------------------------------------------------------------------ products */

/* C = alpha op(A) op(B) + beta C, C m x n. */
static void product(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k,
                    double alpha, const double *A, int64_t lda, const double *B, int64_t ldb,
                    double beta, double *C, int64_t ldc)
{
    if (m > 0 && n > 0 && ((k > 0 && alpha != 0) || beta != 1))
        la_active()->gemm(transpose_b, transpose_a, n, m, alpha == 0 ? 0 : k, alpha, B, ldb, A, lda,
                          beta, C, ldc);
}

void dgemm_(fortran_letter transa, fortran_letter transb, fortran_int m, fortran_int n,
            fortran_int k, fortran_real alpha, fortran_real A, fortran_int lda, fortran_real B,
            fortran_int ldb, fortran_real beta, double *C, fortran_int ldc)
{
    product(is_transposed(transa), is_transposed(transb), *m, *n, *k, *alpha, A, *lda, B, *ldb,
            *beta, C, *ldc);
}

/* One triangle of C = alpha (op(A) op(B)' + op(B) op(A)') + beta C, or alpha op(A) op(A)' + ...
   where B is NULL. */
static void rank_update(bool upper, bool transpose, int64_t n, int64_t k, double alpha,
                        const double *A, int64_t lda, const double *B, int64_t ldb, double beta,
                        double *C, int64_t ldc)
{
    const int64_t step_a = transpose ? lda : 1, step_b = B ? (transpose ? ldb : 1) : step_a;
    const double *right = B ? B : A;
    const int64_t ld_right = B ? ldb : lda;
    double diagonal[BLOCK * BLOCK];
    for (int64_t j = 0; j < n; j += BLOCK) {
        const int64_t wide = smaller(BLOCK, n - j), from = upper ? 0 : j + wide;
        const int64_t rows = upper ? j : n - from;
        double *off = C + from + j * ldc;
        product(transpose, !transpose, rows, wide, k, alpha, A + from * step_a, lda,
                right + j * step_b, ld_right, beta, off, ldc);
        product(transpose, !transpose, wide, wide, k, alpha, A + j * step_a, lda,
                right + j * step_b, ld_right, 0, diagonal, wide);
        if (B) {
            product(transpose, !transpose, rows, wide, k, alpha, B + from * step_b, ldb,
                    A + j * step_a, lda, 1, off, ldc);
            product(transpose, !transpose, wide, wide, k, alpha, B + j * step_b, ldb,
                    A + j * step_a, lda, 1, diagonal, wide);
        }
        for (int64_t c = 0; c < wide; c++)
            for (int64_t r = upper ? 0 : c; r < (upper ? c + 1 : wide); r++) {
                double *at = C + j + r + (j + c) * ldc;
                *at = diagonal[r + c * wide] + (beta == 0 ? 0 : beta * *at);
            }
    }
}

void dsyrk_(fortran_letter uplo, fortran_letter trans, fortran_int n, fortran_int k,
            fortran_real alpha, fortran_real A, fortran_int lda, fortran_real beta, double *C,
            fortran_int ldc)
{
    rank_update(fortran_flag(uplo) == 'u', is_transposed(trans), *n, *k, *alpha, A, *lda, NULL, 0,
                *beta, C, *ldc);
}

void dsyr2k_(fortran_letter uplo, fortran_letter trans, fortran_int n, fortran_int k,
             fortran_real alpha, fortran_real A, fortran_int lda, fortran_real B, fortran_int ldb,
             fortran_real beta, double *C, fortran_int ldc)
{
    rank_update(fortran_flag(uplo) == 'u', is_transposed(trans), *n, *k, *alpha, A, *lda, B, *ldb,
                *beta, C, *ldc);
}

void dsymm_(fortran_letter side, fortran_letter uplo, fortran_int m, fortran_int n,
            fortran_real alpha, fortran_real A, fortran_int lda, fortran_real B, fortran_int ldb,
            fortran_real beta, double *C, fortran_int ldc)
{
    const bool left = fortran_flag(side) == 'l', upper = fortran_flag(uplo) == 'u';
    const int64_t size = left ? *m : *n;
    double diagonal[BLOCK * BLOCK];
    product(false, false, *m, *n, 0, 1, A, *lda, B, *ldb, *beta, C, *ldc);
    for (int64_t j = 0; j < size; j += BLOCK) {
        const int64_t wide = smaller(BLOCK, size - j), from = upper ? 0 : j + wide;
        const int64_t rows = upper ? j : size - from;
        const double *off = A + from + j * *lda;
        fill_symmetric(upper, wide, A + j + j * *lda, *lda, diagonal);
        if (left) {
            product(false, false, wide, *n, wide, *alpha, diagonal, wide, B + j, *ldb, 1, C + j,
                    *ldc);
            product(false, false, rows, *n, wide, *alpha, off, *lda, B + j, *ldb, 1, C + from,
                    *ldc);
            product(true, false, wide, *n, rows, *alpha, off, *lda, B + from, *ldb, 1, C + j, *ldc);
        } else {
            double *here = C + j * *ldc, *there = C + from * *ldc;
            product(false, false, *m, wide, wide, *alpha, B + j * *ldb, *ldb, diagonal, wide, 1,
                    here, *ldc);
            product(false, false, *m, wide, rows, *alpha, B + from * *ldb, *ldb, off, *lda, 1, here,
                    *ldc);
            product(false, true, *m, rows, wide, *alpha, B + j * *ldb, *ldb, off, *lda, 1, there,
                    *ldc);
        }
    }
}

/* B = alpha D B or alpha B D in place, D a filled block of `size` on a side of B (m x n). */
static void multiply_block(bool left, int64_t size, const double *D, double alpha, int64_t m,
                           int64_t n, double *B, int64_t ldb)
{
    double copy[BLOCK * CHUNK];
    const int64_t across = left ? n : m; /* B goes by pieces of these */
    for (int64_t k = 0; k < across; k += CHUNK) {
        const int64_t here = smaller(CHUNK, across - k);
        const int64_t rows = left ? size : here, columns = left ? here : size;
        double *piece = left ? B + k * ldb : B + k;
        for (int64_t c = 0; c < columns; c++)
            for (int64_t r = 0; r < rows; r++)
                copy[r + c * rows] = piece[r + c * ldb];
        if (left)
            product(false, false, rows, columns, size, alpha, D, size, copy, rows, 0, piece, ldb);
        else
            product(false, false, rows, columns, size, alpha, copy, rows, D, size, 0, piece, ldb);
    }
}

/* D X = B or X D = B in place, D a filled triangle. */
static void divide_block(bool left, bool upper, int64_t size, const double *D, int64_t m, int64_t n,
                         double *B, int64_t ldb)
{
    const bool last_first = upper == left;
    for (int64_t k = 0; k < size; k++) {
        const int64_t i = last_first ? size - 1 - k : k;
        const double pivot = D[i + i * size];
        for (int64_t c = 0; c < n && left; c++) {
            double *x = B + c * ldb;
            x[i] /= pivot;
            for (int64_t r = upper ? 0 : i + 1; r < (upper ? i : size); r++)
                x[r] -= D[r + i * size] * x[i];
        }
        for (int64_t r = 0; r < m && !left; r++)
            B[r + i * ldb] /= pivot;
        for (int64_t c = upper ? i + 1 : 0; c < (upper ? size : i) && !left; c++)
            la_axpy(-D[i + c * size], B + i * ldb, B + c * ldb, m);
    }
}

/*
 * Blocks of rows (on the left) or columns of B, one after the other.  A product is written where no
 * other block needs the old values any more; a solution where all that it needs is solved.
 */
static void triangular(bool solve, bool left, const triangle *T, int64_t m, int64_t n, double alpha,
                       double *B, int64_t ldb)
{
    const int64_t size = left ? m : n, blocks = (size + BLOCK - 1) / BLOCK;
    const bool last_first = (T->upper == left) == solve;
    double diagonal[BLOCK * BLOCK];
    for (int64_t k = 0; k < blocks; k++) {
        const int64_t i = (last_first ? blocks - 1 - k : k) * BLOCK;
        const int64_t wide = smaller(BLOCK, size - i);
        const bool after = T->upper == left; /* the other blocks that count follow this one */
        const int64_t from = after ? i + wide : 0, others = after ? size - from : i;
        double *here = left ? B + i : B + i * ldb;
        const double *there = left ? B + from : B + from * ldb;
        const double *off = left ? block_at(T, i, from) : block_at(T, from, i);
        const int64_t rows = left ? wide : m, columns = left ? n : wide;
        fill_triangle(T, i, wide, diagonal);
        if (!solve)
            multiply_block(left, wide, diagonal, alpha, rows, columns, here, ldb);
        const double by = solve ? -1 : alpha, old = solve ? alpha : 1;
        if (left)
            product(T->transposed, false, rows, columns, others, by, off, T->lda, there, ldb, old,
                    here, ldb);
        else
            product(false, T->transposed, rows, columns, others, by, there, ldb, off, T->lda, old,
                    here, ldb);
        if (solve)
            divide_block(left, T->upper, wide, diagonal, rows, columns, here, ldb);
    }
}

void dtrmm_(fortran_letter side, fortran_letter uplo, fortran_letter trans, fortran_letter diag,
            fortran_int m, fortran_int n, fortran_real alpha, fortran_real A, fortran_int lda,
            double *B, fortran_int ldb)
{
    const triangle T = triangle_of(uplo, trans, diag, A, *lda);
    if (*m > 0 && *n > 0)
        triangular(false, fortran_flag(side) == 'l', &T, *m, *n, *alpha, B, *ldb);
}

void dtrsm_(fortran_letter side, fortran_letter uplo, fortran_letter trans, fortran_letter diag,
            fortran_int m, fortran_int n, fortran_real alpha, fortran_real A, fortran_int lda,
            double *B, fortran_int ldb)
{
    const triangle T = triangle_of(uplo, trans, diag, A, *lda);
    if (*m > 0 && *n > 0)
        triangular(true, fortran_flag(side) == 'l', &T, *m, *n, *alpha, B, *ldb);
}
