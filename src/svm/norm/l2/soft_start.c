/*
 * A start for large soft problems over vectors.  With all rows in the set, a primal-dual interior
 * point method for
 *
 *   min 1/2 |theta|^2 + sum U_r xi_r,   <A_r, theta> - b_r + xi_r = s_r,   s, xi >= 0
 *
 * (multipliers 0 <= l <= U) determines which multipliers are at zero, at their bound, or between;
 * the exact active-set method continues from there.  One iteration reads the rows a few times and
 * factors I + A' D^-1 A in R^d.
 */
#include "svm/norm/l2/l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 60, MOST_SIZE = 512, BLOCK = 256, MOST_DROPS = 60 };

/* Complementarity relative to the start at which the partition is determined. */
static const double ENOUGH = 1e-13, CENTRE = 0.1, SHORTEN = 0.99;

typedef struct interior {
    svm_set *set;
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

bool l2_soft_applies(const svm_set *set, int64_t rows)
{
    double bytes = (double)rows * (double)(2 * set->d + 20) * 8;
    return set->soft > 0 && !set->matrix && !set->has_sets && set->size <= MOST_SIZE &&
           bytes <= 0x1p25;
}

/* Mean of l s and (U - l) xi. */
static double complementarity(const interior *w)
{
    double sum = 0;
    for (int64_t r = 0; r < w->rows; r++)
        sum += w->l[r] * w->s[r] + (w->set->upper[r] - w->l[r]) * w->xi[r];
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
            const double *row = w->set->hi + (lo + k) * d;
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
    const svm_set *set = w->set;
    int64_t d = w->d;
    svm_set_margins(w->set, w->theta);
    for (int64_t j = 0; j < d; j++)
        w->rhs[j] = -w->theta[j];
    for (int64_t r = 0; r < w->rows; r++) {
        double room = set->upper[r] - w->l[r];
        w->inverse[r] = 1 / (w->xi[r] / room + w->s[r] / w->l[r]);
        w->miss[r] = set->b[r] - set->margin[r] - mu / room + mu / w->l[r];
        la_axpy(w->inverse[r] * w->miss[r] + w->l[r], set->hi + r * d, w->rhs, d);
    }
    if (!factor(w))
        return false;
    memcpy(w->step, w->rhs, (size_t)d * sizeof *w->step);
    la_cholesky_solve(d, w->H, d, w->step);
    svm_set_margins(w->set, w->step);
    for (int64_t r = 0; r < w->rows; r++) {
        double room = set->upper[r] - w->l[r];
        w->dl[r] = w->inverse[r] * (w->miss[r] - set->margin[r]);
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
        t = shorter(t, w->set->upper[r] - w->l[r], -w->dl[r]);
        t = shorter(t, w->s[r], w->ds[r]);
        t = shorter(t, w->xi[r], w->dxi[r]);
    }
    t *= SHORTEN;
    la_axpy(t, w->step, w->theta, w->d);
    la_axpy(t, w->dl, w->l, w->rows);
    la_axpy(t, w->ds, w->s, w->rows);
    la_axpy(t, w->dxi, w->xi, w->rows);
}

static void descend(interior *w, l2_active_set *e)
{
    for (int64_t r = 0; r < w->rows; r++) {
        w->l[r] = w->set->upper[r] / 2;
        w->s[r] = w->xi[r] = 1;
    }
    double first = complementarity(w), now = first;
    for (int step = 0; step < MOST_STEPS && now > ENOUGH * first; step++) {
        if (l2_stopped(e) || !newton(w, CENTRE * now))
            return;
        advance(w);
        now = complementarity(w);
    }
}

/*
 * Multipliers of S given those at their bounds; rows out of bounds leave until there are none.
 * False: no convergence.
 */
static bool settle(l2_active_set *e)
{
    svm_set *set = e->set;
    for (int round = 0; round < MOST_DROPS; round++) {
        bool dropped = false;
        memset(set->theta, 0, (size_t)set->size * sizeof(double));
        for (int64_t s = 0; s < set->count; s++)
            if (set->place[s] == SVM_AT_UPPER)
                la_axpy(set->upper[s], set->hi + s * set->d, set->theta, set->size);
        for (int64_t k = 0; k < e->count; k++)
            e->combination[k] = set->b[e->active[k]] -
                                la_dot(set->hi + e->active[k] * set->d, set->theta, set->size);
        l2_solve_factored(e, e->combination, e->coef);
        for (int64_t k = 0; k < e->count; k++)
            set->lambda[e->active[k]] = e->coef[k];
        for (int64_t k = e->count - 1; k >= 0; k--) {
            int64_t s = e->active[k];
            if (set->lambda[s] > 0 && set->lambda[s] < set->upper[s])
                continue;
            l2_leave(e, k);
            dropped = true;
        }
        if (dropped)
            continue;
        for (int64_t k = 0; k < e->count; k++)
            la_axpy(set->lambda[e->active[k]], set->hi + e->active[k] * set->d, set->theta,
                    set->size);
        return true;
    }
    return false;
}

attsvm_status l2_soft_start(l2_active_set *e, attsvm_error *err)
{
    svm_set *set = e->set;
    interior w = { .set = set, .rows = set->count, .d = set->d };
    arena a = { 0 };
    layout(&w, &a);
    TRY(base_arena_allocate(&a, "interior point", err));
    void *memory = a.base;
    layout(&w, &a);
    descend(&w, e);
    attsvm_status status = l2_reserve(e, err);
    double norm = la_norm(w.theta, w.d);
    for (int64_t r = 0; r < w.rows && status == ATTSVM_OK; r++) {
        double U = set->upper[r], size = fabs(set->b[r]) + set->length[r] * norm;
        if (set->square[r] == 0)
            continue;
        bool zero = w.l[r] / U < w.s[r] / size, full = (U - w.l[r]) / U < w.xi[r] / size;
        set->place[r] = full && !zero ? SVM_AT_UPPER : SVM_AT_ZERO;
        set->lambda[r] = full && !zero ? U : 0;
        if (!zero && !full)
            l2_append(e, r);
    }
    if (status == ATTSVM_OK && !settle(e))
        status = l2_restart(e, err);
    free(memory);
    return status;
}
