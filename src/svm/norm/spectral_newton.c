/*
 * Spectral norm: Newton steps on the equations of the optimum.
 *
 * There W has the largest singular value t with multiplicity r, singular vectors U1, V1, and S =
 * sum lambda A = U1 K V1' with K symmetric, tr K = 1.  Interior point steps end where rounding of
 * K_WW ends them; the remaining part of S outside U1 x V1 then costs its nuclear norm in the bound
 * b'lambda / |S|_*.  In the coordinates D = U' dW V of all singular vectors of W, singular values
 * s, the leading spaces rotate by U2 P and V2 Q,
 *
 *   P_ij = (t D_ij + s_i D_ji) / (t^2 - s_i^2),   Q_ij = (t D_ji + s_i D_ij) / (t^2 - s_i^2)
 *
 * (i > r >= j), and with B = U' S V, linear in lambda, the equations to first order are
 *
 *   <A_k, W + dW> = b_k on active rows      sym(D_11) + diag(s_1) = t I
 *   B_21 = P K,  B_12 = K Q',  B_22 = 0      B_11 = B_11',  tr B_11 = 1
 *
 * W is padded with zeros to n x n: as many equations as unknowns (D, t, lambda), solved by SVD,
 * because D_22 may be undetermined.
 */
#include "svm/norm/cores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEWTON_REFINE = 3,
    NEWTON_MOST = 700
};                                      /* maximum unknowns: above this, a step is too expensive */
static const double NEWTON_CUT = 1e-14; /* singular value over the largest taken for zero  */

typedef struct newton {
    const svm_small *part;
    int64_t n, tight, order, rank;
    int64_t *row;               /* active rows                                     */
    double *rotated;            /* tight x n^2: U' A V                              */
    double *W, *U, *Vt, *sigma; /* n x n, n                                         */
    double *half, *B;           /* n x n                                            */
    double *M, *copy;           /* order^2: the equations                           */
    double *left, *right;       /* order^2: their singular vectors                  */
    double *values, *rhs, *x;   /* order                                            */
} newton;

static void layout(newton *s, arena *a)
{
    size_t n = (size_t)s->n, order = (size_t)s->order;
    s->rotated = take(a, (size_t)s->tight * n * n);
    double **squares[] = { &s->W, &s->U, &s->Vt, &s->half, &s->B };
    for (size_t k = 0; k < sizeof squares / sizeof *squares; k++)
        *squares[k] = take(a, n * n);
    s->sigma = take(a, n);
    s->M = take(a, order * order);
    s->copy = take(a, order * order);
    s->left = take(a, order * order);
    s->right = take(a, order * order);
    s->values = take(a, order);
    s->rhs = take(a, order);
    s->x = take(a, order);
}

/* to (n x n) = from (p x q) with zeros around it. */
static void pad(const newton *s, const double *from, double *to)
{
    int64_t p = s->part->p, q = s->part->q;
    memset(to, 0, (size_t)(s->n * s->n) * sizeof *to);
    for (int64_t i = 0; i < p; i++)
        memcpy(to + i * s->n, from + i * q, (size_t)q * sizeof *to);
}

/* Singular vectors of W, active rows in their coordinates, B at the multipliers at hand. */
static attsvm_status rotate(newton *s, const double *A, const double *W, const double *lambda,
                            attsvm_error *err)
{
    int64_t n = s->n, square = n * n, size = s->part->p * s->part->q;
    pad(s, W, s->W);
    memcpy(s->half, s->W, (size_t)square * sizeof *s->half);
    TRY(la_svd(n, n, s->half, n, s->sigma, s->U, n, s->Vt, n, err));
    memset(s->B, 0, (size_t)square * sizeof *s->B);
    for (int64_t k = 0; k < s->tight; k++) {
        double *to = s->rotated + k * square;
        pad(s, A + s->row[k] * size, to);
        la_gemm(true, false, n, n, n, 1, s->U, n, to, n, 0, s->half, n);
        la_gemm(false, true, n, n, n, 1, s->half, n, s->Vt, n, 0, to, n);
        la_axpy(lambda[s->row[k]], to, s->B, square);
    }
    double trace = 0; /* K is B_11 made symmetric, at trace 1 */
    for (int64_t i = 0; i < s->rank; i++)
        trace += s->B[i * n + i];
    for (int64_t k = 0; k < square && trace > 0; k++)
        s->B[k] /= trace;
    interior_symmetrise(n, s->B);
    return ATTSVM_OK;
}

/*
 * The equation of entry (i, j) of B: B_ij (lambda) minus the effect of the rotation, (P K)_ij for i
 * > r >= j, (K Q')_ij for j > r >= i.
 */
static void entry_equation(newton *s, int64_t i, int64_t j, double *line)
{
    int64_t n = s->n, r = s->rank, square = n * n;
    double t = s->sigma[0];
    for (int64_t k = 0; k < s->tight; k++)
        line[square + 1 + k] = s->rotated[k * square + i * n + j];
    bool below = i >= r && j < r, beside = i < r && j >= r;
    if (!below && !beside)
        return;
    int64_t outer = below ? i : j, inner = below ? j : i;
    double s_o = s->sigma[outer], scale = 1 / ((t - s_o) * (t + s_o));
    for (int64_t l = 0; l < r; l++) { /* P or Q at (outer, l), times K at (l, inner) */
        double K = s->B[l * n + inner] * scale;
        line[outer * n + l] -= (below ? t : s_o) * K;
        line[l * n + outer] -= (below ? s_o : t) * K;
    }
}

/* All equations; unknowns are D, t, lambda in this order. */
static void form(newton *s, const double *A, const double *b, const double *W)
{
    int64_t n = s->n, r = s->rank, square = n * n, order = s->order, at = 0;
    int64_t size = s->part->p * s->part->q;
    memset(s->M, 0, (size_t)(order * order) * sizeof *s->M);
    memset(s->rhs, 0, (size_t)order * sizeof *s->rhs);
    for (int64_t k = 0; k < s->tight; k++, at++) {
        memcpy(s->M + at * order, s->rotated + k * square, (size_t)square * sizeof *s->M);
        s->rhs[at] = b[s->row[k]] - la_dot(A + s->row[k] * size, W, size);
    }
    for (int64_t i = 0; i < r; i++)
        for (int64_t j = 0; j <= i; j++, at++) {
            s->M[at * order + i * n + j] += 0.5;
            s->M[at * order + j * n + i] += 0.5;
            s->M[at * order + square] = i == j ? -1 : 0;
            s->rhs[at] = i == j ? -s->sigma[i] : 0;
        }
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) {
            double *line = s->M + at * order;
            if (i < r && j < r && j >= i)
                continue;
            entry_equation(s, i, j, line);
            for (int64_t k = 0; k < s->tight && i < r && j < r; k++)
                line[square + 1 + k] -= s->rotated[k * square + j * n + i];
            at++;
        }
    for (int64_t k = 0; k < s->tight; k++)
        for (int64_t i = 0; i < r; i++)
            s->M[at * order + square + 1 + k] += s->rotated[k * square + i * n + i];
    s->rhs[at] = 1;
}

/* x, the shortest solution of M x = rhs, with refinement: multipliers are large near infeasibility.
 */
static attsvm_status solve(newton *s, attsvm_error *err)
{
    int64_t order = s->order;
    memcpy(s->copy, s->M, (size_t)(order * order) * sizeof *s->M);
    TRY(la_svd(order, order, s->copy, order, s->values, s->left, order, s->right, order, err));
    memset(s->x, 0, (size_t)order * sizeof *s->x);
    double *rest = s->copy,
           *along = s->copy + order; /* free memory: M was overwritten by its SVD */
    for (int round = 0; round < NEWTON_REFINE; round++) {
        for (int64_t k = 0; k < order; k++) {
            dd sum = base_dd_dot(s->M + k * order, s->x, order);
            rest[k] = -base_dd_value(base_dd_add(sum, base_dd(-s->rhs[k])));
        }
        la_gemv(true, order, order, 1, s->left, order, rest, 0, along);
        for (int64_t k = 0; k < order; k++)
            if (s->values[k] > NEWTON_CUT * s->values[0])
                la_axpy(along[k] / s->values[k], s->right + k * order, s->x, order);
    }
    return ATTSVM_OK;
}

attsvm_status svm_spectral_newton(const svm_small *part, const double *A, const double *b,
                                  const uint8_t *active, int64_t rank, double *W, double *lambda,
                                  attsvm_error *err)
{
    int64_t p = part->p, q = part->q, n = p > q ? p : q, square = n * n;
    newton s = { .part = part, .n = n, .rank = rank };
    for (int64_t r = 0; r < part->rows; r++)
        s.tight += active[r];
    s.order = square + 1 + s.tight;
    if (s.order > NEWTON_MOST)
        return ATTSVM_OK;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        layout(&s, &a);
        s.row = take_int64(&a, (size_t)s.tight);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "spectral Newton step", err));
    }
    for (int64_t r = 0, k = 0; r < part->rows; r++)
        if (active[r])
            s.row[k++] = r;
    attsvm_status status = rotate(&s, A, W, lambda, err);
    if (status == ATTSVM_OK) {
        form(&s, A, b, W);
        status = solve(&s, err);
    }
    if (status == ATTSVM_OK) { /* W += U D V' */
        la_gemm(false, false, n, n, n, 1, s.U, n, s.x, n, 0, s.half, n);
        la_gemm(false, false, n, n, n, 1, s.half, n, s.Vt, n, 1, s.W, n);
        for (int64_t i = 0; i < p; i++)
            memcpy(W + i * q, s.W + i * n, (size_t)q * sizeof *W);
        memset(lambda, 0, (size_t)part->rows * sizeof *lambda);
        for (int64_t k = 0; k < s.tight; k++) {
            double value = s.x[square + 1 + k];
            lambda[s.row[k]] = part->equal[s.row[k]] ? value : fmax(value, 0);
        }
    }
    free(a.base);
    return status;
}
