/*
 * Spectral norm: multipliers to full accuracy.
 *
 * At the optimum S = sum lambda A = U K V', with U, V the singular vectors of W for its largest
 * singular value, of multiplicity r.  Interior point steps leave a part of S outside U x V, which
 * costs its nuclear norm in the bound b'lambda/|S|_*.  With A_r^ = A_r - U U' A_r V V' the
 * multipliers sought are a null vector of the Gram matrix of the A^ of tight rows: the projection
 * of those at hand onto its null space.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct outside {
    const double *A; /* rows x size, the rows in play first gathered into `rest` */
    double *rest;    /* tight x size: A^                                         */
    double *G, *w, *x, *U, *Vt, *sigma, *copy, *half, *block;
    int64_t *row;
    int64_t tight;
} outside;

static void layout(outside *s, arena *a, int64_t rows, int64_t p, int64_t q)
{
    size_t m = (size_t)rows, size = (size_t)(p * q), n = (size_t)(p < q ? p : q);
    s->rest = take(a, m * size);
    s->G = take(a, m * m);
    s->w = take(a, m);
    s->x = take(a, m);
    s->U = take(a, (size_t)p * n);
    s->Vt = take(a, n * (size_t)q);
    s->sigma = take(a, n);
    s->copy = take(a, size);
    s->half = take(a, size);
    s->block = take(a, n * n);
    s->row = take_int64(a, m);
}

/* rest = A - U (U' A V) V' for each row in play. */
static void outside_rows(outside *s, int64_t p, int64_t q, int64_t r)
{
    int64_t size = p * q, n = p < q ? p : q;
    for (int64_t k = 0; k < s->tight; k++) {
        double *to = s->rest + k * size;
        memcpy(to, s->A + s->row[k] * size, (size_t)size * sizeof *to);
        la_gemm(true, false, r, q, p, 1, s->U, n, to, q, 0, s->half, q);
        la_gemm(false, true, r, r, q, 1, s->half, q, s->Vt, q, 0, s->block, r);
        la_gemm(false, false, r, q, r, 1, s->block, r, s->Vt, q, 0, s->half, q);
        la_gemm(false, false, p, q, r, -1, s->U, n, s->half, q, 1, to, q);
    }
}

/* lambda of the rows in play, projected onto the eigenvectors of G up to `cut` times the largest
   eigenvalue (the least one always), into s->x. */
static attsvm_status project(outside *s, int64_t size, const double *lambda, double cut,
                             attsvm_error *err)
{
    int64_t m = s->tight;
    la_syrk(false, m, size, 1, s->rest, size, 0, s->G, m);
    TRY(la_eigen(m, s->G, m, s->w, err));
    memset(s->x, 0, (size_t)m * sizeof *s->x);
    for (int64_t k = 0; k < m && (k == 0 || s->w[k] <= cut * s->w[m - 1]); k++) {
        double along = 0;
        for (int64_t i = 0; i < m; i++)
            along += s->G[i * m + k] * lambda[s->row[i]];
        for (int64_t i = 0; i < m; i++)
            s->x[i] += along * s->G[i * m + k];
    }
    return ATTSVM_OK;
}

attsvm_status svm_spectral_polish(const svm_part *part, const double *A, const double *W,
                                  const double *w, double *lambda, int64_t rank, double cut,
                                  attsvm_error *err)
{
    int64_t p = part->p, q = part->q, n = p < q ? p : q;
    outside s = { .A = A };
    arena a = { 0 };
    layout(&s, &a, part->rows, p, q);
    TRY(base_arena_allocate(&a, "spectral multipliers", err));
    layout(&s, &a, part->rows, p, q);
    memcpy(s.copy, W, (size_t)(p * q) * sizeof *W);
    attsvm_status status = la_svd(p, q, s.copy, q, s.sigma, s.U, n, s.Vt, q, err);
    for (int64_t r = 0; r < part->rows; r++)
        if (part->equal[r] || lambda[r] > w[r])
            s.row[s.tight++] = r;
    if (status == ATTSVM_OK && s.tight > 0) {
        outside_rows(&s, p, q, rank);
        status = project(&s, p * q, lambda, cut, err);
    }
    if (status == ATTSVM_OK) {
        for (int64_t r = 0; r < part->rows; r++)
            lambda[r] = 0;
        for (int64_t k = 0; k < s.tight; k++)
            lambda[s.row[k]] = part->equal[s.row[k]] ? s.x[k] : fmax(s.x[k], 0);
    }
    free(a.base);
    return status;
}
