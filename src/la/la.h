/*
 * la: linear algebra.  Our own kernels: rows of stored tokens (float16, float32, float64, widened
 * in registers), vector exp, dense products; and the only interface to LAPACK, which calls these
 * kernels (lapack/lapack.h).
 *
 * Kernels exist once per instruction set (baseline, AVX2, AVX-512) and are reached through one
 * table chosen when the library is loaded.  All tables give the same bytes (la/kernels/kernels.c).
 */
#ifndef ATTSVM_LA_H
#define ATTSVM_LA_H

#include "base/base.h"

/*
 * Rows of equal length d in memory, borrowed: row t is at base + (index ? index[t] : t) * d
 * elements.  Every kernel sees a sequence in this form, for any storage.  `base` need not be
 * aligned.  If `base` is NULL, row t is the unit vector with entry index[t] (or t): one-hot words.
 */
typedef struct la_rows {
    const void *base;
    const int32_t *index; /* NULL: rows are contiguous */
    int64_t count, d;
    attsvm_dtype dtype; /* ATTSVM_F16, F32 or F64 */
} la_rows;

/* --------------------------------------------- small problems side by side */

/*
 * `problems` softmax problems of T tokens in d dimensions, one per lane; unused lanes are zero or
 * repeat a problem.
 * `count` and `stride` are multiples of LA_LANES.  Logits are X[t] . B with B = map Z' (queries,
 * map d x d) or B = map (no queries, map d).  With own_maps lane k of every eight uses map number
 * k, map d x d x 8: eight models at once.
 */
enum { LA_LANES = 8 };

typedef struct la_small {
    int64_t problems, count, T, d, stride;
    int64_t units; /* of the ReLU head; 0: scores are given */
    bool queries, own_maps;
    const double *X;  /* T x d x count: tokens                                                */
    const double *Zt; /* d x count: queries                                                   */
    const double *Z;  /* problems x stride: the same, row by row; not own_maps                */
    const double *P;  /* T x units x count: V x_t                                             */
    const double *v;  /* units x count                                                        */
    const double *Y;  /* count                                                                */
    double *score;    /* T x count: scores c; if given: not all equal within a problem, T > 1 */
    double *gate;     /* units x count: Y v if the unit is active, else 0                     */
    double
        *needs_general; /* count: not 0 if some but not all scores of a ReLU problem were equal */
    double *B;          /* d x count                                                            */
    double *w;          /* T x count: weights (model.h, model_weights)                          */
    double *M;          /* count: largest exponent; INFINITY: no gradient                       */
    double *Z_sum;      /* count: sum of exp(-m)                                                */
    double *output;     /* count: Y f                                                           */
    double *U;          /* d x count                                                            */
    double *G;          /* d x stride; not own_maps                                             */
    double *square;     /* LA_LANES: |gradient|^2, with own_maps                                */
} la_small;

/* M, Z_sum and output of la_small, for one softmax problem. */
typedef struct la_weighed {
    double M, Z, output;
} la_weighed;

/* --------------------------------------------- as if in twice the precision */

/* Vectors in double-double are two arrays, hi and lo. */
typedef struct la_exact {
    dd (*dot)(const double *x, const double *hi, const double *lo, int64_t count); /* x'(hi+lo) */
    void (*axpy)(dd a, const double *x, double *hi, double *lo, int64_t count); /* hi+lo += a x */
} la_exact;

/* ------------------------------------------------- kernels by instruction set */

typedef struct la_kernels {
    const char *name;
    /* y[i] = exp(x[i]), at most 1 ulp; x and y may be the same array */
    void (*exp)(const double *x, double *y, int64_t count);
    /* y[t] = x_t' p over the rows.  `ahead` (may be NULL) points to the rows that will be read
       next, as many bytes: this call prefetches the first half of each row, rows_sum the second */
    void (*rows_dot)(const la_rows *rows, const double *p, const void *ahead, double *y);
    /* y[t] = |x_t|^2; the squares must not overflow */
    void (*rows_square)(const la_rows *rows, double *y);
    /* y += sum_t w[t] x_t; rows with w[t] == 0 are not read */
    void (*rows_sum)(const la_rows *rows, const double *w, const void *ahead, double *y);
    /* rows_dot and rows_sum for `count` directions side by side, of rows that are stored: y[t *
       count + c] = x_t' p_c, p (count x d); y_c += sum_t w[t * count + c] x_t, y (count x d) */
    void (*rows_dots)(const la_rows *rows, const double *p, int64_t count, double *y);
    void (*rows_sums)(const la_rows *rows, const double *w, int64_t count, double *y);
    /* index of the first element that is not finite, or -1 */
    int64_t (*first_nonfinite)(attsvm_dtype dtype, const void *x, int64_t count);
    /* count floats of any stored type to double */
    void (*widen)(attsvm_dtype dtype, const void *x, double *y, int64_t count);
    double (*dot)(const double *x, const double *y, int64_t count);
    void (*axpy)(double a, const double *x, double *y, int64_t count); /* y += a x */
    /* the dense functions below, as loops for small sizes */
    void (*gemv)(bool transpose, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
                 const double *x, double beta, double *y);
    void (*gemm)(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
                 const double *A, int64_t lda, const double *B, int64_t ldb, double beta, double *C,
                 int64_t ldc);
    void (*syrk)(bool transpose, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
                 double beta, double *C, int64_t ldc);
    void (*trsv)(bool transpose, int64_t n, const double *L, int64_t ldl, double *x);
    void (*trsm)(bool transpose, int64_t n, int64_t columns, const double *L, int64_t ldl,
                 double *B, int64_t ldb);
    int64_t (*cholesky)(int64_t n, double *A, int64_t lda);
    /* eight stored rows, one per lane: y[j * stride + k] = row[k][j], j < d */
    void (*small_place)(attsvm_dtype dtype, const void *const row[LA_LANES], int64_t d,
                        int64_t stride, double *y);
    /* w, M, Z_sum and output at `map` */
    void (*small_forward)(const la_small *small, const double *map);
    /* gradient = sum over problems of rate (sum_t w_t x_t) z' (d x d, with own_maps d x d x 8),
       without queries (d); w is multiplied by rate */
    void (*small_backward)(const la_small *small, const double *rate, double *gradient);
    /* y += a x, lane by lane: x and y count x 8, a (8) */
    void (*small_axpy)(int64_t count, const double *a, const double *x, double *y);
    /* As small_forward for one problem of T tokens with logits a and scores Y score; false if T = 1
       or another token has the score of the selected one */
    bool (*weigh)(int64_t T, const double *a, const double *score, double Y, double *w,
                  la_weighed *out);
    la_exact exact; /* as if in twice the precision */
} la_kernels;

extern const la_kernels la_baseline;
#ifdef ATTSVM_X86
extern const la_kernels la_avx2, la_avx512;
#endif

/* The table in use; attsvm_kernels_select writes it. */
extern const la_kernels *la_chosen;

static inline const la_kernels *la_active(void)
{
    return la_chosen;
}

static inline const la_exact *la_exact_active(void)
{
    return &la_chosen->exact;
}

static inline void la_exp(const double *x, double *y, int64_t count)
{
    la_active()->exp(x, y, count);
}

static inline void la_rows_dot(const la_rows *rows, const double *p, double *y)
{
    la_active()->rows_dot(rows, p, NULL, y);
}

static inline void la_rows_sum(const la_rows *rows, const double *w, double *y)
{
    la_active()->rows_sum(rows, w, NULL, y);
}

static inline double la_dot(const double *x, const double *y, int64_t count)
{
    return la_active()->dot(x, y, count);
}

static inline void la_axpy(double a, const double *x, double *y, int64_t count)
{
    la_active()->axpy(a, x, y, count);
}

/* Row t, widened, into x (d). */
void la_row(const la_rows *rows, int64_t t, double *x);

/* Euclidean norm without intermediate overflow or underflow. */
double la_norm(const double *x, int64_t count);
/* Replaces logits a (count) by their softmax, -INFINITY by 0.  The plain form: entries may round
   to 0 or 1. */
void la_softmax(double *a, int64_t count);

/* float16 <-> float32 bits, round to nearest even (IEEE 754). */
float la_half_to_float(uint16_t half);
uint16_t la_float_to_half(float value);

/* -------------------------------------------------------- dense, row-major */

/* y = alpha op(A) x + beta y, A m x n with row stride lda. */
void la_gemv(bool transpose, int64_t m, int64_t n, double alpha, const double *A, int64_t lda,
             const double *x, double beta, double *y);
/* C = alpha op(A) op(B) + beta C, C m x n, inner size k. */
void la_gemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, double alpha,
             const double *A, int64_t lda, const double *B, int64_t ldb, double beta, double *C,
             int64_t ldc);
/* C (n x n, lower triangle) = alpha A A' + beta C (A n x k), or A' A with transpose (A k x n). */
void la_syrk(bool transpose, int64_t n, int64_t k, double alpha, const double *A, int64_t lda,
             double beta, double *C, int64_t ldc);
/* Solves L x = b or L' x = b in place, L n x n lower. */
void la_trsv(bool transpose, int64_t n, const double *L, int64_t ldl, double *x);
/* Lower Cholesky factor in place; returns 0, or k > 0 when the leading minor k is not positive. */
int64_t la_cholesky(int64_t n, double *A, int64_t lda);
/* Solves L L' x = b in place. */
static inline void la_cholesky_solve(int64_t n, const double *L, int64_t ldl, double *x)
{
    la_trsv(false, n, L, ldl, x);
    la_trsv(true, n, L, ldl, x);
}
/* Replaces the factor L by the full inverse of L L'; returns 0 on success. */
int64_t la_cholesky_invert(int64_t n, double *L, int64_t ldl);
/* Solves L X = B or L' X = B in place, B n x columns. */
void la_trsm(bool transpose, int64_t n, int64_t columns, const double *L, int64_t ldl, double *B,
             int64_t ldb);
/*
 * Eigenvalues, ascending, of L^-1 A L^-T (of A if L is NULL) into w (n), which workspace follows:
 * la_eigenvalues_room(n) numbers in total.  A (lower) is overwritten.  Returns 0 on success.
 */
int64_t la_eigenvalues_in(int64_t n, double *A, int64_t lda, const double *L, int64_t ldl,
                          double *w);
int64_t la_eigenvalues_room(int64_t n);
/*
 * Rank-revealing Cholesky of a semidefinite A (lower, overwritten): L L' = A[order, order] up to
 * pivots at most tol; the first *rank rows of L are the factor of the chosen rows.
 */
attsvm_status la_cholesky_pivoted(int64_t n, double *A, int64_t lda, double tol, int64_t *order,
                                  int64_t *rank, attsvm_error *err);
/* Orthonormal rows Q (*rank x n) that span the rows of A (m x n, overwritten), by pivoted QR. */
attsvm_status la_row_space(int64_t m, int64_t n, double *A, int64_t lda, double tol, double *Q,
                           int64_t *rank, attsvm_error *err);
/* Singular values of A (m x n, overwritten), descending: s (min(m,n)). */
attsvm_status la_singular_values(int64_t m, int64_t n, double *A, int64_t lda, double *s,
                                 attsvm_error *err);
/* Thin SVD A = U diag(s) Vt, A m x n overwritten, r = min(m,n): U m x r, Vt r x n, s descending. */
attsvm_status la_svd(int64_t m, int64_t n, double *A, int64_t lda, double *s, double *U,
                     int64_t ldu, double *Vt, int64_t ldvt, attsvm_error *err);

#endif
