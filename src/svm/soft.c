/*
 * A start for large soft problems over vectors.  With all rows in the pool, a primal-dual interior
 * point method for
 *
 *   min 1/2 |theta|^2 + sum U_r xi_r,   <A_r, theta> - b_r + xi_r = s_r,   s, xi >= 0
 *
 * (multipliers 0 <= l <= U) tells which rows are at zero, at their bound, or between; the engine
 * goes on from there and is exact.  One iteration reads the rows some times and factors
 * I + A' D^-1 A in R^d.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 60, MOST_SIZE = 512, BLOCK = 256, MOST_DROPS = 60 };

/* Complementarity relative to the start at which the partition is read off. */
static const double ENOUGH = 1e-13, CLEAR = 1e-8, CENTRE = 0.1, SHORTEN = 0.99;

typedef struct interior {
    svm_pool *pool;
    int64_t rows, d;
    double *l, *s, *xi, *dl, *ds, *dxi, *miss, *inverse; /* (rows)                */
    double *theta, *step, *rhs, *H, *block;              /* (d), (d,d), (BLOCK,d) */
} interior;

static void layout(interior *w, arena *a)
{
    size_t rows = (size_t)w->rows, d = (size_t)w->d;
    w->l = take(a, rows);
    w->s = take(a, rows);
    w->xi = take(a, rows);
    w->dl = take(a, rows);
    w->ds = take(a, rows);
    w->dxi = take(a, rows);
    w->miss = take(a, rows);
    w->inverse = take(a, rows);
    w->theta = take(a, d);
    w->step = take(a, d);
    w->rhs = take(a, d);
    w->H = take(a, d * d);
    w->block = take(a, BLOCK * d);
}

bool svm_soft_applies(const svm_rows *rows, double soft)
{
    double bytes = (double)svm_rows_count(rows) * (double)(2 * rows->d + 20) * 8;
    return soft > 0 && !rows->matrix && !rows->sets && !rows->slack && !rows->data->comm &&
           rows->size <= MOST_SIZE && bytes <= 0x1p25;
}

/* Mean of l s and (U - l) xi. */
static double complementarity(const interior *w)
{
    double sum = 0;
    for (int64_t r = 0; r < w->rows; r++)
        sum += w->l[r] * w->s[r] + (w->pool->upper[r] - w->l[r]) * w->xi[r];
    return sum / (2 * (double)w->rows);
}

/* H = I + A' D^-1 A, block by block. */
static bool factor(interior *w)
{
    int64_t d = w->d;
    memset(w->H, 0, (size_t)(d * d) * sizeof *w->H);
    for (int64_t j = 0; j < d; j++)
        w->H[j * d + j] = 1;
    for (int64_t lo = 0; lo < w->rows; lo += BLOCK) {
        int64_t count = w->rows - lo < BLOCK ? w->rows - lo : BLOCK;
        for (int64_t k = 0; k < count; k++) {
            const double *row = w->pool->hi + (lo + k) * d;
            double root = sqrt(w->inverse[lo + k]);
            for (int64_t j = 0; j < d; j++)
                w->block[k * d + j] = root * row[j];
        }
        la_syrk(true, d, count, 1, w->block, d, 1, w->H, d);
    }
    return la_cholesky(d, w->H, d) == 0;
}

/*
 * Newton's step towards l s = (U - l) xi = mu.  With D = xi / (U - l) + s / l,
 *
 *   H dtheta = A' D^-1 q - (theta - A' l),   dl = D^-1 (q - A dtheta),
 *   q = -(A theta - b + xi - s) - (mu - (U - l) xi) / (U - l) + (mu - l s) / l.
 */
static bool newton(interior *w, double mu)
{
    const svm_pool *pool = w->pool;
    int64_t d = w->d;
    svm_pool_margins(w->pool, w->theta);
    for (int64_t j = 0; j < d; j++)
        w->rhs[j] = -w->theta[j];
    for (int64_t r = 0; r < w->rows; r++) {
        double room = pool->upper[r] - w->l[r];
        w->inverse[r] = 1 / (w->xi[r] / room + w->s[r] / w->l[r]);
        w->miss[r] = pool->b[r] - pool->margin[r] - mu / room + mu / w->l[r];
        la_axpy(w->inverse[r] * w->miss[r] + w->l[r], pool->hi + r * d, w->rhs, d);
    }
    if (!factor(w))
        return false;
    memcpy(w->step, w->rhs, (size_t)d * sizeof *w->step);
    la_trsv(false, d, w->H, d, w->step);
    la_trsv(true, d, w->H, d, w->step);
    svm_pool_margins(w->pool, w->step);
    for (int64_t r = 0; r < w->rows; r++) {
        double room = pool->upper[r] - w->l[r];
        w->dl[r] = w->inverse[r] * (w->miss[r] - pool->margin[r]);
        w->ds[r] = (mu - w->l[r] * w->s[r] - w->s[r] * w->dl[r]) / w->l[r];
        w->dxi[r] = (mu - room * w->xi[r] + w->xi[r] * w->dl[r]) / room;
    }
    return true;
}

static double shorter(double t, double value, double change)
{
    return change < 0 && -value / change < t ? -value / change : t;
}

static void advance(interior *w)
{
    double t = 1 / SHORTEN;
    for (int64_t r = 0; r < w->rows; r++) {
        t = shorter(t, w->l[r], w->dl[r]);
        t = shorter(t, w->pool->upper[r] - w->l[r], -w->dl[r]);
        t = shorter(t, w->s[r], w->ds[r]);
        t = shorter(t, w->xi[r], w->dxi[r]);
    }
    t *= SHORTEN;
    la_axpy(t, w->step, w->theta, w->d);
    la_axpy(t, w->dl, w->l, w->rows);
    la_axpy(t, w->ds, w->s, w->rows);
    la_axpy(t, w->dxi, w->xi, w->rows);
}

static void descend(interior *w, const svm_engine *e)
{
    for (int64_t r = 0; r < w->rows; r++) {
        w->l[r] = w->pool->upper[r] / 2;
        w->s[r] = w->xi[r] = 1;
    }
    double first = complementarity(w), now = first;
    for (int step = 0; step < MOST_STEPS && now > ENOUGH * first; step++) {
        if ((e->poll && e->poll(e->poll_context)) || !newton(w, CENTRE * now))
            return;
        advance(w);
        now = complementarity(w);
    }
}

/*
 * Multipliers of S given those at their bounds; rows outside their bounds leave, until none does.
 * False: there is no end to it.
 */
static bool settle(svm_engine *e)
{
    svm_pool *pool = e->pool;
    for (int round = 0; round < MOST_DROPS; round++) {
        bool dropped = false;
        memset(e->theta, 0, (size_t)pool->size * sizeof(double));
        for (int64_t s = 0; s < pool->count; s++)
            if (pool->place[s] == SVM_AT_UPPER)
                la_axpy(pool->upper[s], pool->hi + s * pool->d, e->theta, pool->size);
        for (int64_t k = 0; k < e->count; k++)
            e->combination[k] = pool->b[e->active[k]] -
                                la_dot(pool->hi + e->active[k] * pool->d, e->theta, pool->size);
        svm_engine_solve_double(e, e->combination, e->coef);
        for (int64_t k = 0; k < e->count; k++)
            pool->lambda[e->active[k]] = e->coef[k];
        for (int64_t k = e->count - 1; k >= 0; k--) {
            int64_t s = e->active[k];
            if (pool->lambda[s] > 0 && pool->lambda[s] < pool->upper[s])
                continue;
            svm_engine_leave_double(e, k);
            dropped = true;
        }
        if (dropped)
            continue;
        for (int64_t k = 0; k < e->count; k++)
            la_axpy(pool->lambda[e->active[k]], pool->hi + e->active[k] * pool->d, e->theta,
                    pool->size);
        return true;
    }
    return false;
}

attsvm_status svm_soft_start(svm_engine *e, attsvm_error *err)
{
    svm_pool *pool = e->pool;
    interior w = { .pool = pool, .rows = pool->count, .d = pool->d };
    arena a = { 0 };
    layout(&w, &a);
    TRY(base_arena_allocate(&a, "interior point", err));
    void *memory = a.base;
    layout(&w, &a);
    descend(&w, e);
    attsvm_status status = svm_engine_reserve(e, err);
    double norm = la_norm(w.theta, w.d);
    for (int64_t r = 0; r < w.rows && status == ATTSVM_OK; r++) {
        double U = pool->upper[r], size = fabs(pool->b[r]) + pool->length[r] * norm;
        if (pool->square[r] == 0)
            continue;
        bool zero = w.l[r] / U < w.s[r] / size, full = (U - w.l[r]) / U < w.xi[r] / size;
        pool->place[r] = full && !zero ? SVM_AT_UPPER : SVM_AT_ZERO;
        pool->lambda[r] = full && !zero ? U : 0;
        if (!zero && !full)
            svm_engine_append_double(e, r, CLEAR);
    }
    if (status == ATTSVM_OK && !settle(e))
        status = svm_engine_restart(e, err);
    free(memory);
    return status;
}
