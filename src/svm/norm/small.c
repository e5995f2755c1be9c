/* The working set as a small dense problem: sums and products over its rank-one rows. */
#include "svm/norm/small.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool svm_small_step(const svm_small *part, int64_t *iterations)
{
    *part->spent = *part->spent || *iterations >= part->most;
    if (!*part->spent)
        ++*iterations;
    return !*part->spent;
}

bool svm_small_stopped(const svm_small *part)
{
    return part->poll && part->poll(part->poll_context);
}

static const double SETTLED = 1e-10; /* residual of an equality that svm_small_settle mends */

void svm_small_sum(const svm_small *part, const double *lambda, double *S, double *scratch)
{
    int64_t p = part->p, q = part->q;
    memset(scratch, 0, (size_t)(part->terms * p) * sizeof *scratch);
    for (int64_t r = 0; r < part->rows; r++)
        la_axpy(lambda[r], part->u + r * p, scratch + part->term[r] * p, p);
    la_gemm(true, false, p, q, part->terms, 1, scratch, p, part->v, q, 0, S, q);
}

void svm_small_sum_exact(const svm_small *part, const double *lambda, double *S, double *scratch)
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

void svm_small_apply_exact(const svm_small *part, const double *G, double *y, double *scratch)
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

double svm_small_missed(const svm_small *part, const double *lambda, const double *margin,
                        const double *norms, double scale)
{
    double sum = 0;
    for (int64_t r = 0; r < part->rows; r++)
        if (part->equal[r])
            sum += fabs(scale * margin[r] - part->b[r]) * (fabs(lambda[r]) + 1 / norms[r]);
    return sum;
}

void svm_small_apply(const svm_small *part, const double *G, int64_t ldg, double *y,
                     double *scratch)
{
    int64_t p = part->p, q = part->q;
    la_gemm(false, true, part->terms, p, q, 1, part->v, q, G, ldg, 0, scratch, p);
    for (int64_t r = 0; r < part->rows; r++)
        y[r] = la_dot(part->u + r * p, scratch + part->term[r] * p, p);
}

double svm_small_scale(const svm_small *part, const double *margin, const double *norms,
                       double size)
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

attsvm_status svm_small_settle(const svm_small *part, double unit, double *W, attsvm_error *err)
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
    svm_small_apply(part, W, q, y, scratch);
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
