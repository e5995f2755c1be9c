/* Shared by the interior point methods: the Schur matrix of rank-one rows, steps in cones. */
#include "svm/norm/cores.h"

#include <math.h>
#include <string.h>

enum { SCHUR_BLOCK = 96 }; /* rows of the Schur matrix formed at a time */

void interior_lift(int64_t p, int64_t q, double t, double factor, const double *W, double *M)
{
    int64_t N = p + q;
    memset(M, 0, (size_t)(N * N) * sizeof *M);
    for (int64_t i = 0; i < N; i++)
        M[i * N + i] = t;
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            M[i * N + p + j] = M[(p + j) * N + i] = factor * W[i * q + j];
}

void interior_corner(int64_t p, int64_t q, const double *M, double *x)
{
    for (int64_t i = 0; i < p; i++)
        for (int64_t j = 0; j < q; j++)
            x[i * q + j] = 2 * M[i * (p + q) + p + j];
}

double interior_trace(int64_t n, const double *M)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += M[i * n + i];
    return sum;
}

void interior_symmetrise(int64_t n, double *M)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            M[i * n + j] = M[j * n + i] = 0.5 * (M[i * n + j] + M[j * n + i]);
}

/* out = -sym(Z^-1 dZ X). */
static void minus_product(int64_t n, const double *Zinv, const double *dZ, const double *X,
                          double *scratch, double *out)
{
    la_gemm(false, false, n, n, n, 1, dZ, n, X, n, 0, scratch, n);
    la_gemm(false, false, n, n, n, -1, Zinv, n, scratch, n, 0, out, n);
    interior_symmetrise(n, out);
}

void interior_target(int64_t n, double target, const double *Zinv, const double *dZ,
                     const double *dX, double *scratch, double *base)
{
    if (dZ)
        minus_product(n, Zinv, dZ, dX, scratch, base);
    else
        memset(base, 0, (size_t)(n * n) * sizeof *base);
    la_axpy(target, Zinv, base, n * n);
}

void interior_direction(int64_t n, const double *base, const double *Zinv, const double *dZ,
                        const double *X, double *scratch, double *dX)
{
    minus_product(n, Zinv, dZ, X, scratch, dX);
    for (int64_t k = 0; k < n * n; k++)
        dX[k] += base[k] - X[k];
}

double interior_ray_step(const svm_small *part, const double *x, const double *dx)
{
    double step = 1;
    for (int64_t r = 0; r < part->rows; r++)
        if (!part->equal[r] && dx[r] < 0)
            step = fmin(step, -x[r] / dx[r]);
    return step;
}

double interior_cone_step(int64_t n, const double *L, const double *dM, double *scratch,
                          double *eig)
{
    memcpy(scratch, dM, (size_t)(n * n) * sizeof *dM);
    if (la_eigenvalues_in(n, scratch, n, L, n, eig) != 0)
        return 0;
    return eig[0] < 0 ? fmin(1, -1 / eig[0]) : 1;
}

void interior_save_lower(int64_t n, double *A, double *d)
{
    for (int64_t i = 0; i < n; i++) {
        d[i] = A[i * n + i];
        for (int64_t j = 0; j < i; j++)
            A[j * n + i] = A[i * n + j];
    }
}

void interior_restore_lower(int64_t n, double *A, const double *d, double shift)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i; j++)
            A[i * n + j] = A[j * n + i];
        A[i * n + i] = d[i] * (1 + shift);
    }
}

bool interior_cholesky_shifted(int64_t n, double *A, double *d)
{
    interior_save_lower(n, A, d);
    int64_t info = la_cholesky(n, A, n);
    for (double shift = 1e-15; info != 0 && shift < 1e-6; shift *= 10) {
        interior_restore_lower(n, A, d, shift);
        info = la_cholesky(n, A, n);
    }
    return info == 0;
}

void interior_schur_layout(interior_schur *work, arena *a, int64_t rows, int64_t terms, int64_t p,
                           int64_t q)
{
    size_t m = (size_t)rows, t = (size_t)terms;
    work->FU = take(a, m * (size_t)p);
    work->GU = take(a, m * (size_t)p);
    work->block_f = take(a, m * SCHUR_BLOCK);
    work->block_g = take(a, m * SCHUR_BLOCK);
    work->Fvu = take(a, t * m);
    work->Gvu = take(a, t * m);
    work->Fvv = take(a, t * t);
    work->Gvv = take(a, t * t);
    work->side = take(a, t * (size_t)(p > q ? p : q));
}

/* Gram matrices of one symmetric F = [F11 F12; F21 F22]: FU = U F11, Fvu = V F21 U', V F22 V'. */
static void grams(const svm_small *part, const double *F, double *FU, double *Fvu, double *Fvv,
                  double *side)
{
    int64_t p = part->p, q = part->q, N = p + q, rows = part->rows, terms = part->terms;
    la_gemm(false, false, rows, p, p, 1, part->u, p, F, N, 0, FU, p);
    la_gemm(false, false, terms, p, q, 1, part->v, q, F + p * N, N, 0, side, p);
    la_gemm(false, true, terms, rows, p, 1, side, p, part->u, p, 0, Fvu, rows);
    la_gemm(false, false, terms, q, q, 1, part->v, q, F + p * N + p, N, 0, side, q);
    la_gemm(false, true, terms, terms, q, 1, side, q, part->v, q, 0, Fvv, terms);
}

/*
 * With B_r = u v' + v u' (u, v padded to order p + q) and a = term[r], b = term[s],
 *
 *   tr(B_r F B_s G) = (v_a F v_b)(u_r G u_s) + (u_r F u_s)(v_a G v_b)
 *                   + (v_a F u_s)(v_b G u_r) + (v_b F u_r)(v_a G u_s):
 *
 * Hadamard products of small Gram matrices, O(rows^2 p) in total.  Rows of a term share their v, so
 * all products except u-u have the size of the terms.
 */
void interior_schur_form(const interior_schur *work, const svm_small *part, const double *F,
                         const double *G, double *H, int64_t ldh)
{
    int64_t p = part->p, rows = part->rows, terms = part->terms;
    grams(part, F, work->FU, work->Fvu, work->Fvv, work->side);
    grams(part, G, work->GU, work->Gvu, work->Gvv, work->side);
    for (int64_t lo = 0; lo < rows; lo += SCHUR_BLOCK) {
        int64_t hi = lo + SCHUR_BLOCK < rows ? lo + SCHUR_BLOCK : rows;
        la_gemm(false, true, hi - lo, hi, p, 1, work->FU + lo * p, p, part->u, p, 0, work->block_f,
                hi);
        la_gemm(false, true, hi - lo, hi, p, 1, work->GU + lo * p, p, part->u, p, 0, work->block_g,
                hi);
        for (int64_t r = lo; r < hi; r++) {
            int64_t a = part->term[r];
            const double *f = work->block_f + (r - lo) * hi, *g = work->block_g + (r - lo) * hi;
            const double *fv = work->Fvu + a * rows, *gv = work->Gvu + a * rows;
            double *h = H + r * ldh;
            for (int64_t s = 0; s <= r;) {
                int64_t b = part->term[s];
                double f_vv = work->Fvv[a * terms + b], g_vv = work->Gvv[a * terms + b];
                double f_vu = work->Fvu[b * rows + r], g_vu = work->Gvu[b * rows + r];
                for (; s <= r && part->term[s] == b; s++)
                    h[s] = f_vv * g[s] + g_vv * f[s] + fv[s] * g_vu + f_vu * gv[s];
            }
        }
    }
}

void interior_orthonormal(int64_t rows, int64_t n, double *Q)
{
    for (int64_t e = 0; e < rows; e++)
        for (int64_t twice = 0; twice < 2; twice++) { /* once is not accurate enough */
            double *x = Q + e * n;
            for (int64_t f = 0; f < e; f++)
                la_axpy(-la_dot(Q + f * n, x, n), Q + f * n, x, n);
            double length = la_norm(x, n);
            for (int64_t j = 0; j < n; j++)
                x[j] /= length;
        }
}

void interior_project_vector(int64_t n, double *x, int64_t rows, const double *Q)
{
    for (int64_t e = 0; e < rows; e++)
        la_axpy(-la_dot(Q + e * n, x, n), Q + e * n, x, n);
}

/* With R = QK - (QK Q')Q/2, P K P = K - Q'R - R'Q; R includes kappa Q'Q. */
void interior_project_matrix(int64_t n, double *K, int64_t rows, const double *Q, double *QK,
                             double *scratch)
{
    double kappa = 0;
    if (rows == 0)
        return;
    for (int64_t i = 0; i < n; i++) {
        kappa += K[i * n + i] / (double)n;
        for (int64_t j = 0; j < i; j++)
            K[j * n + i] = K[i * n + j];
    }
    la_gemm(false, false, rows, n, n, 1, Q, n, K, n, 0, QK, n);
    for (int64_t e = 0; e < rows; e++) {
        double *row = QK + e * n;
        la_gemv(false, rows, n, 0.5, Q, n, row, 0, scratch);
        for (int64_t f = 0; f < rows; f++)
            la_axpy(-scratch[f], Q + f * n, row, n);
        la_axpy(-0.5 * kappa, Q + e * n, row, n);
    }
    la_gemm(true, false, n, n, rows, -1, Q, n, QK, n, 1, K, n);
    la_gemm(true, false, n, n, rows, -1, QK, n, Q, n, 1, K, n);
}
