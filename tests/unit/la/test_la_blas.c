/*
 * The BLAS that LAPACK calls, every flag and several sizes, against sums written out.  Entries are
 * small integers, so that all products are exact and any difference is a fault.
 */
#include "unit.h"

#include "la/lapack/lapack.h"

#include <string.h>

enum { MOST = 70, LD = MOST + 3, AREA = LD * LD };

static const int sizes[] = { 1, 2, 7, 31, 32, 33, 64, 70 };
enum { SIZES = sizeof sizes / sizeof *sizes };

static double A[AREA], B[AREA], C[AREA], want[AREA];
static const int ld = LD;

static void fill(double *x, uint64_t stream)
{
    base_random random = base_random_stream(3, stream);
    for (int k = 0; k < AREA; k++)
        x[k] = (double)base_random_below(&random, 9) - 4;
}

/* Entry (i,j) of the symmetric or triangular matrix that is stored in one triangle of A. */
static double symmetric(char uplo, int i, int j)
{
    return (i <= j) == (uplo == 'u') || i == j ? A[i + j * LD] : A[j + i * LD];
}

static double triangular(char uplo, char trans, char diag, int i, int j)
{
    const int r = trans == 't' ? j : i, c = trans == 't' ? i : j;
    if (r == c)
        return diag == 'u' ? 1 : A[r + c * LD];
    return (r < c) == (uplo == 'u') ? A[r + c * LD] : 0;
}

/* x equals `want` on the first m x n entries and is unchanged elsewhere. */
static void assert_same(const double *x)
{
    for (int k = 0; k < AREA; k++)
        if (x[k] != want[k])
            fail_msg("entry (%d,%d): %g instead of %g", k % LD, k / LD, x[k], want[k]);
}

static void vectors_with_any_step(void **state)
{
    (void)state;
    static const int steps[] = { 1, 3 };
    fill(A, 1);
    for (int s = 0; s < SIZES; s++)
        for (int k = 0; k < 8; k++) {
            const int m = sizes[s], n = sizes[(s + 3) % SIZES], incx = steps[k & 1],
                      incy = steps[k >> 1 & 1];
            const bool turned = k >> 2;
            const int rows = turned ? n : m, columns = turned ? m : n;
            const double alpha = 2, beta = k & 1 ? 0 : 3;
            fill(B, 2);
            fill(C, 3);
            memcpy(want, C, sizeof C);
            for (int i = 0; i < rows; i++) {
                double sum = 0;
                for (int j = 0; j < columns; j++)
                    sum += (turned ? A[j + i * LD] : A[i + j * LD]) * B[j * incx];
                want[i * incy] = alpha * sum + beta * want[i * incy];
            }
            dgemv_(turned ? "T" : "N", &m, &n, &alpha, A, &ld, B, &incx, &beta, C, &incy);
            assert_same(C);

            fill(C, 3);
            memcpy(want, C, sizeof C);
            for (int j = 0; j < n; j++)
                for (int i = 0; i < m; i++)
                    want[i + j * LD] += alpha * B[i * incx] * A[j * incy];
            dger_(&m, &n, &alpha, B, &incx, A, &incy, C, &ld);
            assert_same(C);
        }
}

static void symmetric_matrices(void **state)
{
    (void)state;
    const int one = 1;
    const double alpha = 2, beta = -1;
    fill(A, 1);
    for (int s = 0; s < SIZES; s++)
        for (int k = 0; k < 4; k++) {
            const char *uplo = k & 1 ? "u" : "l", *side = k >> 1 ? "r" : "l";
            const int n = sizes[s], other = sizes[(s + 5) % SIZES];
            const int m = k >> 1 ? other : n, columns = k >> 1 ? n : other;
            fill(B, 2);
            fill(C, 3);
            memcpy(want, C, sizeof C);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < columns; j++) {
                    double sum = 0;
                    for (int l = 0; l < n; l++)
                        sum += k >> 1 ? B[i + l * LD] * symmetric(*uplo, l, j)
                                      : symmetric(*uplo, i, l) * B[l + j * LD];
                    want[i + j * LD] = alpha * sum + beta * want[i + j * LD];
                }
            dsymm_(side, uplo, &m, &columns, &alpha, A, &ld, B, &ld, &beta, C, &ld);
            assert_same(C);

            fill(C, 3);
            memcpy(want, C, sizeof C);
            for (int i = 0; i < n; i++) {
                double sum = 0;
                for (int j = 0; j < n; j++)
                    sum += symmetric(*uplo, i, j) * B[j];
                want[i] = alpha * sum + beta * want[i];
            }
            dsymv_(uplo, &n, &alpha, A, &ld, B, &one, &beta, C, &one);
            assert_same(C);
        }
}

static void symmetric_updates(void **state)
{
    (void)state;
    const double alpha = 2;
    fill(A, 1);
    fill(B, 2);
    for (int s = 0; s < SIZES; s++)
        for (int k = 0; k < 8; k++) {
            const char *uplo = k & 1 ? "u" : "l", *trans = k & 2 ? "t" : "n";
            const int n = sizes[s], inner = sizes[(s + 4) % SIZES];
            const int row = k & 2 ? LD : 1, column = k & 2 ? 1 : LD; /* steps of op(A) */
            const double beta = k & 4 ? 0 : -1;
            for (int both = 0; both < 2; both++) {
                fill(C, 3);
                memcpy(want, C, sizeof C);
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) {
                        if (i != j && (i < j) != (*uplo == 'u'))
                            continue;
                        double sum = 0;
                        for (int l = 0; l < inner; l++) {
                            const int at = i * row + l * column, to = j * row + l * column;
                            sum += both ? A[at] * B[to] + B[at] * A[to] : A[at] * A[to];
                        }
                        want[i + j * LD] = alpha * sum + beta * want[i + j * LD];
                    }
                if (both)
                    dsyr2k_(uplo, trans, &n, &inner, &alpha, A, &ld, B, &ld, &beta, C, &ld);
                else
                    dsyrk_(uplo, trans, &n, &inner, &alpha, A, &ld, &beta, C, &ld);
                assert_same(C);
            }
        }
}

/* A product followed by a solve gives the original back. Diagonals are +-1 and triangles sparse,
   so that solutions stay exact. */
static void triangular_matrices(void **state)
{
    (void)state;
    const double alpha = 2, half = 0.5;
    fill(A, 1);
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j < MOST; j++)
            A[i + j * LD] = i == j ? (i % 3 ? 1 : -1) : (i + j) % 11 == 0 ? A[i + j * LD] : 0;
    for (int s = 0; s < SIZES; s++)
        for (int k = 0; k < 16; k++) {
            const char *side = k & 1 ? "r" : "l", *uplo = k & 2 ? "u" : "l",
                       *trans = k & 4 ? "t" : "n", *diag = k & 8 ? "u" : "n";
            const int n = sizes[s], other = sizes[(s + 3) % SIZES];
            const int m = k & 1 ? other : n, columns = k & 1 ? n : other;
            fill(C, 3);
            memcpy(want, C, sizeof C);
            memcpy(B, C, sizeof C);
            for (int i = 0; i < m; i++)
                for (int j = 0; j < columns; j++) {
                    double sum = 0;
                    for (int l = 0; l < n; l++)
                        sum += k & 1 ? C[i + l * LD] * triangular(*uplo, *trans, *diag, l, j)
                                     : triangular(*uplo, *trans, *diag, i, l) * C[l + j * LD];
                    want[i + j * LD] = alpha * sum;
                }
            dtrmm_(side, uplo, trans, diag, &m, &columns, &alpha, A, &ld, C, &ld);
            assert_same(C);
            memcpy(want, B, sizeof B);
            dtrsm_(side, uplo, trans, diag, &m, &columns, &half, A, &ld, C, &ld);
            assert_same(C);

            const int step = k & 1 ? 3 : 1, length = n > MOST / 3 ? MOST / 3 : n;
            fill(C, 4);
            memcpy(want, C, sizeof C);
            dtrmv_(uplo, trans, diag, &length, A, &ld, C, &step);
            dtrsv_(uplo, trans, diag, &length, A, &ld, C, &step);
            assert_same(C);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_with_any_step),
        cmocka_unit_test(symmetric_matrices),
        cmocka_unit_test(symmetric_updates),
        cmocka_unit_test(triangular_matrices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
