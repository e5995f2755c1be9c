/* What the cores share: sums and products over rank-one rows, their Schur matrix, steps in cones.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SETTLED = 1e-10; /* residual of an equality that svm_part_settle mends */

void svm_part_sum(const svm_part *part, const double *lambda, double *S, double *scratch)
{
    int64_t p = part->p, q = part->q;
    memset(scratch, 0, (size_t)(part->terms * p) * sizeof *scratch);
    for (int64_t r = 0; r < part->rows; r++)
        la_axpy(lambda[r], part->u + r * p, scratch + part->term[r] * p, p);
    la_gemm(true, false, p, q, part->terms, 1, scratch, p, part->v, q, 0, S, q);
}

void svm_part_sum_exact(const svm_part *part, const double *lambda, double *S, double *scratch)
{
    const la_exact *exact = la_exact_active();
    int64_t p = part->p, q = part->q, terms = part->terms;
    double *hi = scratch, *lo = hi + terms * p, *S_lo = lo + terms * p;
    memset(scratch, 0, (size_t)(2 * terms * p + p * q) * sizeof *scratch);
    memset(S, 0, (size_t)(p * q) * sizeof *S);
    for (int64_t r = 0; r < part->rows; r++)
        if (lambda[r] != 0)
            exact->axpy(base_dd(lambda[r]), part->u + r * p, hi + part->term[r] * p,
                        lo + part->term[r] * p, p);
    for (int64_t t = 0; t < terms; t++)
        for (int64_t i = 0; i < p; i++)
            exact->axpy((dd){ hi[t * p + i], lo[t * p + i] }, part->v + t * q, S + i * q,
                        S_lo + i * q, q);
}

void svm_part_apply_exact(const svm_part *part, const double *G, double *y, double *scratch)
{
    const la_exact *exact = la_exact_active();
    int64_t p = part->p, q = part->q, terms = part->terms;
    double *hi = scratch, *lo = hi + terms * p;
    for (int64_t t = 0; t < terms; t++)
        for (int64_t i = 0; i < p; i++) {
            dd along = base_dd_dot(part->v + t * q, G + i * q, q);
            hi[t * p + i] = along.hi;
            lo[t * p + i] = along.lo;
        }
    for (int64_t r = 0; r < part->rows; r++)
        y[r] = base_dd_value(
            exact->dot(part->u + r * p, hi + part->term[r] * p, lo + part->term[r] * p, p));
}

double svm_part_missed(const svm_part *part, const double *lambda, const double *margin,
                       const double *norms, double scale)
{
    double sum = 0;
    for (int64_t r = 0; r < part->rows; r++)
        if (part->equal[r])
            sum += fabs(scale * margin[r] - part->b[r]) * (fabs(lambda[r]) + 1 / norms[r]);
    return sum;
}

void svm_part_apply(const svm_part *part, const double *G, int64_t ldg, double *y, double *scratch)
{
    int64_t p = part->p, q = part->q;
    la_gemm(false, true, part->terms, p, q, 1, part->v, q, G, ldg, 0, scratch, p);
    for (int64_t r = 0; r < part->rows; r++)
        y[r] = la_dot(part->u + r * p, scratch + part->term[r] * p, p);
}

double svm_part_scale(const svm_part *part, const double *margin, const double *norms, double size)
{
    double least = INFINITY;
    bool fixed = false;
    for (int64_t r = 0; r < part->rows; r++) {
        double b = part->b[r], limit = norms[r] * size;
        if (part->equal[r]) {
            if (fabs(margin[r] - b) > SETTLED * (fabs(b) + limit))
                return 0;
            fixed = fixed || b != 0;
        } else if (b > 0) {
            least = fmin(least, margin[r] / b);
        } else if (margin[r] < b - 0.5e-13 * limit) {
            return 0;
        }
    }
    if (!(least > 0) || (fixed && least < 1 - 1e-12))
        return 0;
    return fixed || isinf(least) ? 1 : 1 / least;
}

attsvm_status svm_part_settle(const svm_part *part, double unit, double *W, attsvm_error *err)
{
    int64_t equals = 0, p = part->p, q = part->q;
    for (int64_t r = 0; r < part->rows; r++)
        equals += part->equal[r];
    if (equals == 0)
        return ATTSVM_OK;
    arena a = { 0 };
    double *G, *c, *y, *scratch;
    int64_t *row;
    for (int pass = 0; pass < 2; pass++) {
        G = take(&a, (size_t)equals * (size_t)equals);
        c = take(&a, (size_t)equals);
        y = take(&a, (size_t)part->rows);
        scratch = take(&a, (size_t)(part->terms * p));
        row = take_int64(&a, (size_t)equals);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "equalities", err));
    }
    for (int64_t r = 0, e = 0; r < part->rows; r++)
        if (part->equal[r])
            row[e++] = r;
    svm_part_apply(part, W, q, y, scratch);
    for (int64_t i = 0; i < equals; i++) {
        const double *u = part->u + row[i] * p, *v = part->v + part->term[row[i]] * q;
        for (int64_t j = 0; j <= i; j++)
            G[i * equals + j] =
                la_dot(u, part->u + row[j] * p, p) * la_dot(v, part->v + part->term[row[j]] * q, q);
        c[i] = part->b[row[i]] / unit - y[row[i]];
    }
    if (la_cholesky(equals, G, equals) == 0) {
        la_trsv(false, equals, G, equals, c);
        la_trsv(true, equals, G, equals, c);
        for (int64_t i = 0; i < equals; i++)
            for (int64_t k = 0; k < p; k++)
                la_axpy(c[i] * part->u[row[i] * p + k], part->v + part->term[row[i]] * q, W + k * q,
                        q);
    }
    free(a.base);
    return ATTSVM_OK;
}

void svm_symmetrise(int64_t n, double *M)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++)
            M[i * n + j] = M[j * n + i] = 0.5 * (M[i * n + j] + M[j * n + i]);
}

double svm_ray_step(const svm_part *part, const double *x, const double *dx)
{
    double step = 1;
    for (int64_t r = 0; r < part->rows; r++)
        if (!part->equal[r] && dx[r] < 0)
            step = fmin(step, -x[r] / dx[r]);
    return step;
}

double svm_cone_step(int64_t n, const double *L, const double *dM, double *scratch, double *eig)
{
    memcpy(scratch, dM, (size_t)(n * n) * sizeof *dM);
    if (la_eigenvalues_in(n, scratch, n, L, n, eig) != 0)
        return 0;
    return eig[0] < 0 ? fmin(1, -1 / eig[0]) : 1;
}

bool svm_cholesky_shifted(int64_t n, double *A, double *d)
{
    for (int64_t i = 0; i < n; i++) {
        d[i] = A[i * n + i];
        for (int64_t j = 0; j < i; j++)
            A[j * n + i] = A[i * n + j];
    }
    int64_t info = la_cholesky(n, A, n);
    for (double shift = 1e-15; info != 0 && shift < 1e-6; shift *= 10) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < i; j++)
                A[i * n + j] = A[j * n + i];
            A[i * n + i] = d[i] * (1 + shift);
        }
        info = la_cholesky(n, A, n);
    }
    return info == 0;
}

void svm_schur_layout(svm_schur *work, arena *a, int64_t rows, int64_t terms, int64_t p, int64_t q)
{
    size_t m = (size_t)rows, t = (size_t)terms;
    work->FU = take(a, m * (size_t)p);
    work->GU = take(a, m * (size_t)p);
    work->block_f = take(a, m * SVM_SCHUR_BLOCK);
    work->block_g = take(a, m * SVM_SCHUR_BLOCK);
    work->Fvu = take(a, t * m);
    work->Gvu = take(a, t * m);
    work->Fvv = take(a, t * t);
    work->Gvv = take(a, t * t);
    work->side = take(a, t * (size_t)(p > q ? p : q));
}

/* Gram matrices of one symmetric F = [F11 F12; F21 F22]: FU = U F11, Fvu = V F21 U', V F22 V'. */
static void grams(const svm_part *part, const double *F, double *FU, double *Fvu, double *Fvv,
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
 * Hadamard products of small Gram matrices, O(rows^2 p) in all.  Terms share their v, so all but
 * the u-u products are of the size of the terms.
 */
void svm_schur_form(const svm_schur *work, const svm_part *part, const double *F, const double *G,
                    double *H, int64_t ldh)
{
    int64_t p = part->p, rows = part->rows, terms = part->terms;
    grams(part, F, work->FU, work->Fvu, work->Fvv, work->side);
    grams(part, G, work->GU, work->Gvu, work->Gvv, work->side);
    for (int64_t lo = 0; lo < rows; lo += SVM_SCHUR_BLOCK) {
        int64_t hi = lo + SVM_SCHUR_BLOCK < rows ? lo + SVM_SCHUR_BLOCK : rows;
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

void svm_orthonormal(int64_t rows, int64_t n, double *Q)
{
    for (int64_t e = 0; e < rows; e++)
        for (int64_t twice = 0; twice < 2; twice++) { /* once loses digits */
            double *x = Q + e * n;
            for (int64_t f = 0; f < e; f++)
                la_axpy(-la_dot(Q + f * n, x, n), Q + f * n, x, n);
            double length = la_norm(x, n);
            for (int64_t j = 0; j < n; j++)
                x[j] /= length;
        }
}

void svm_project_vector(int64_t n, double *x, int64_t rows, const double *Q)
{
    for (int64_t e = 0; e < rows; e++)
        la_axpy(-la_dot(Q + e * n, x, n), Q + e * n, x, n);
}

/* With R = QK - (QK Q')Q/2, P K P = K - Q'R - R'Q; kappa Q'Q is taken along in R. */
void svm_project_matrix(int64_t n, double *K, int64_t rows, const double *Q, double *QK,
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
