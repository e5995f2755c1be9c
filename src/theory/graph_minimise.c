/*
 * L-BFGS for smooth convex functions.  Along a descent direction the slope of a convex function
 * rises from negative to positive, so a step is found by bracketing its zero; no values are
 * compared, which would stop at the square root of the rounding.
 */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY = 24, MOST_TRIALS = 60, PATIENCE = 100 };

typedef struct pairs {
    int64_t size, count, newest;
    double *s[MEMORY], *y[MEMORY], rho[MEMORY];
} pairs;

typedef struct work {
    pairs kept;
    double *g, *trial, *trial_g, *direction;
} work;

static void layout(work *w, arena *a)
{
    size_t size = (size_t)w->kept.size;
    w->g = take(a, size);
    w->trial = take(a, size);
    w->trial_g = take(a, size);
    w->direction = take(a, size);
    for (int k = 0; k < MEMORY; k++) {
        w->kept.s[k] = take(a, size);
        w->kept.y[k] = take(a, size);
    }
}

/* direction = -H g by the two loops of Nocedal. */
static void descend(work *w)
{
    pairs *p = &w->kept;
    double alpha[MEMORY] = { 0 };
    for (int64_t j = 0; j < p->size; j++)
        w->direction[j] = -w->g[j];
    for (int64_t back = 0; back < p->count; back++) {
        int64_t k = (p->newest - back + MEMORY) % MEMORY;
        alpha[k] = p->rho[k] * la_dot(p->s[k], w->direction, p->size);
        la_axpy(-alpha[k], p->y[k], w->direction, p->size);
    }
    if (p->count > 0) {
        const double *y = p->y[p->newest];
        double scale = 1 / (p->rho[p->newest] * la_dot(y, y, p->size));
        for (int64_t j = 0; j < p->size; j++)
            w->direction[j] *= scale;
    }
    for (int64_t back = p->count - 1; back >= 0; back--) {
        int64_t k = (p->newest - back + MEMORY) % MEMORY;
        double beta = p->rho[k] * la_dot(p->y[k], w->direction, p->size);
        la_axpy(alpha[k] - beta, p->s[k], w->direction, p->size);
    }
}

/* A point on the line whose slope is at most half of the first; false where there is none. */
static bool search_line(work *w, const double *x, theory_gradient *gradient, void *context)
{
    const double enough = 0.5;
    const int64_t size = w->kept.size;
    double start = la_dot(w->g, w->direction, size), lo = 0, lo_slope = start, hi = INFINITY;
    double hi_slope = 0, step = w->kept.count > 0 ? 1 : 1 / fmax(1, la_norm(w->g, size));
    for (int trial = 0; start < 0 && trial < MOST_TRIALS; trial++) {
        for (int64_t j = 0; j < size; j++)
            w->trial[j] = x[j] + step * w->direction[j];
        gradient(context, w->trial, w->trial_g);
        double slope = la_dot(w->trial_g, w->direction, size);
        if (fabs(slope) <= -enough * start)
            return true;
        if (slope < 0) {
            lo = step;
            lo_slope = slope;
        } else {
            hi = step;
            hi_slope = slope;
        }
        /* the zero of the chord, kept off the ends; twice as far while there is no upper end */
        double share = isinf(hi) ? 0 : fmin(fmax(lo_slope / (lo_slope - hi_slope), 0.1), 0.9);
        step = isinf(hi) ? 2 * step : lo + share * (hi - lo);
    }
    return false;
}

static void keep(work *w, const double *x)
{
    pairs *p = &w->kept;
    int64_t k = (p->newest + 1) % MEMORY;
    double sy = 0;
    for (int64_t j = 0; j < p->size; j++) {
        p->s[k][j] = w->trial[j] - x[j];
        p->y[k][j] = w->trial_g[j] - w->g[j];
    }
    sy = la_dot(p->s[k], p->y[k], p->size);
    if (!(sy > 0))
        return;
    p->rho[k] = 1 / sy;
    p->newest = k;
    p->count = p->count < MEMORY ? p->count + 1 : MEMORY;
}

attsvm_status theory_lbfgs(int64_t size, double *x, theory_gradient *gradient, void *context,
                           double tol, int64_t most, double *norm, int64_t *iterations,
                           attsvm_error *err)
{
    work w = { .kept = { .size = size, .newest = -1 } };
    arena a = { 0 };
    layout(&w, &a);
    TRY(base_arena_allocate(&a, "minimisation", err));
    layout(&w, &a);
    gradient(context, x, w.g);
    double best = la_norm(w.g, size);
    int64_t since = 0, k = 0;
    for (; k < most && (*norm = la_norm(w.g, size)) > tol && since < PATIENCE; k++) {
        descend(&w);
        if (!search_line(&w, x, gradient, context)) {
            if (w.kept.count == 0)
                break;
            w.kept.count = 0; /* once more along the gradient itself */
            continue;
        }
        keep(&w, x);
        memcpy(x, w.trial, (size_t)size * sizeof *x);
        memcpy(w.g, w.trial_g, (size_t)size * sizeof *x);
        since = la_norm(w.g, size) < best ? 0 : since + 1;
        best = fmin(best, la_norm(w.g, size));
    }
    *norm = la_norm(w.g, size);
    *iterations = k;
    free(a.base);
    return ATTSVM_OK;
}
