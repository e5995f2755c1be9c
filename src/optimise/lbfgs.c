/*
 * L-BFGS (Nocedal 1980): x <- x - step H gradient, H the approximate inverse Hessian built from the
 * last steps and gradient changes.
 *
 * The line search brackets a point where the slope along the direction is at most half of the
 * initial slope and, unless F is convex, F has decreased sufficiently: by a fraction of the step
 * times the initial slope or, if rounding hides that, to within rounding of the initial value (the
 * approximate Wolfe conditions of Hager and Zhang 2005).  Comparing values alone would limit the
 * accuracy to the square root of the rounding error.
 */
#include "optimise/optimise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "la/la.h"

enum { MOST_TRIALS = 60, PATIENCE = 100, STANDARD_HISTORY = 10 };

static const double enough_slope = 0.5; /* of the initial slope, at the end of a step */
static const double enough_fall = 1e-4; /* of step * initial slope                    */
static const double rounding = 1e-14;   /* of F, relative                             */

typedef struct pairs {
    int64_t most, count, newest;
    double *s[OPTIMISE_MOST_HISTORY], *y[OPTIMISE_MOST_HISTORY], rho[OPTIMISE_MOST_HISTORY];
} pairs;

typedef struct search {
    const optimise_function *f;
    pairs history;
    bool convex, stopped;
    double *g, *trial, *trial_g, *direction;
    double value, trial_value;
    int64_t evaluations;
} search;

static void layout(search *w, arena *a)
{
    size_t size = (size_t)w->f->size;
    w->g = take(a, size);
    w->trial = take(a, size);
    w->trial_g = take(a, size);
    w->direction = take(a, size);
    for (int64_t k = 0; k < w->history.most; k++) {
        w->history.s[k] = take(a, size);
        w->history.y[k] = take(a, size);
    }
}

/* direction = -H g by the two loops of Nocedal. */
static void descend(search *w)
{
    pairs *p = &w->history;
    const int64_t size = w->f->size;
    double alpha[OPTIMISE_MOST_HISTORY] = { 0 };
    for (int64_t j = 0; j < size; j++)
        w->direction[j] = -w->g[j];
    for (int64_t back = 0; back < p->count; back++) {
        int64_t k = (p->newest - back + p->most) % p->most;
        alpha[k] = p->rho[k] * la_dot(p->s[k], w->direction, size);
        la_axpy(-alpha[k], p->y[k], w->direction, size);
    }
    if (p->count > 0) {
        const double *y = p->y[p->newest];
        double scale = 1 / (p->rho[p->newest] * la_dot(y, y, size));
        for (int64_t j = 0; j < size; j++)
            w->direction[j] *= scale;
    }
    for (int64_t back = p->count - 1; back >= 0; back--) {
        int64_t k = (p->newest - back + p->most) % p->most;
        double beta = p->rho[k] * la_dot(p->y[k], w->direction, size);
        la_axpy(alpha[k] - beta, p->s[k], w->direction, size);
    }
}

/* Evaluates F and its gradient at trial = x + step * direction; false: stopped. */
static bool try_step(search *w, const double *x, double step)
{
    const optimise_function *f = w->f;
    w->stopped = attsvm_interrupted() || (f->stop && f->stop(f->context));
    if (w->stopped)
        return false;
    for (int64_t j = 0; j < f->size; j++)
        w->trial[j] = x[j] + step * w->direction[j];
    w->trial_value = f->evaluate(f->context, w->trial, w->trial_g);
    w->evaluations++;
    return true;
}

/* Whether F has decreased sufficiently at the trial point, given the initial slope. */
static bool has_fallen(const search *w, double step, double slope)
{
    if (w->convex)
        return true;
    if (!isfinite(w->trial_value))
        return false;
    return w->trial_value <= w->value + enough_fall * step * slope ||
           w->trial_value <= w->value + rounding * fabs(w->value);
}

/* Finds an acceptable step; false if there is none or the search was stopped. */
static bool search_line(search *w, const double *x)
{
    const int64_t size = w->f->size;
    double start = la_dot(w->g, w->direction, size), lo = 0, lo_slope = start, hi = INFINITY;
    double hi_slope = 0, step = w->history.count > 0 ? 1 : 1 / fmax(1, la_norm(w->g, size));
    bool chord = false; /* the upper end has a positive slope: the zero is between the ends */
    for (int trial = 0; start < 0 && trial < MOST_TRIALS; trial++) {
        if (!try_step(w, x, step))
            return false;
        double slope = la_dot(w->trial_g, w->direction, size);
        bool fallen = has_fallen(w, step, start);
        if (fallen && fabs(slope) <= -enough_slope * start)
            return true;
        if (fallen && slope < 0) {
            lo = step;
            lo_slope = slope;
        } else {
            hi = step;
            hi_slope = slope;
            chord = slope > 0 && isfinite(slope);
        }
        /* the zero of the chord, away from the ends; double the step while there is no upper end */
        double share = chord ? fmin(fmax(lo_slope / (lo_slope - hi_slope), 0.1), 0.9) : 0.5;
        step = isinf(hi) ? 2 * step : lo + share * (hi - lo);
    }
    return false;
}

static void remember(search *w, const double *x)
{
    pairs *p = &w->history;
    const int64_t size = w->f->size, k = (p->newest + 1) % p->most;
    for (int64_t j = 0; j < size; j++) {
        p->s[k][j] = w->trial[j] - x[j];
        p->y[k][j] = w->trial_g[j] - w->g[j];
    }
    double sy = la_dot(p->s[k], p->y[k], size);
    if (!(sy > 0))
        return;
    p->rho[k] = 1 / sy;
    p->newest = k;
    p->count = p->count < p->most ? p->count + 1 : p->most;
}

/* Moves to the trial point; true if it is the best so far. */
static bool accept(search *w, double *x, double *best_gradient, double *best_value)
{
    const size_t bytes = (size_t)w->f->size * sizeof *x;
    remember(w, x);
    memcpy(x, w->trial, bytes);
    memcpy(w->g, w->trial_g, bytes);
    w->value = w->trial_value;
    double norm = la_norm(w->g, w->f->size);
    bool better = norm < *best_gradient || (!w->convex && w->value < *best_value);
    *best_gradient = fmin(*best_gradient, norm);
    *best_value = fmin(*best_value, w->value);
    return better;
}

/* The loop; returns how it ended. */
static optimise_outcome minimise(search *w, const optimise_lbfgs_settings *settings, double *x,
                                 optimise_lbfgs_info *info)
{
    const int64_t size = w->f->size;
    w->value = w->f->evaluate(w->f->context, x, w->g);
    w->evaluations = 1;
    info->gradient_start = la_norm(w->g, size);
    double tol = fmax(settings->tol, settings->relative * info->gradient_start);
    double best_gradient = info->gradient_start, best_value = w->value;
    for (int64_t since = 0;; info->iterations++) {
        double norm = la_norm(w->g, size);
        if (norm <= tol)
            return OPTIMISE_CONVERGED;
        if (since >= PATIENCE || !isfinite(norm))
            return OPTIMISE_STALLED;
        if (info->iterations >= settings->iterations)
            return OPTIMISE_LIMIT;
        descend(w);
        if (search_line(w, x)) {
            since = accept(w, x, &best_gradient, &best_value) ? 0 : since + 1;
        } else if (w->stopped) {
            return OPTIMISE_STOPPED;
        } else if (w->history.count > 0) {
            w->history.count = 0; /* restart with steepest descent */
        } else {
            return OPTIMISE_STALLED;
        }
    }
}

attsvm_status optimise_lbfgs(const optimise_function *f, const optimise_lbfgs_settings *settings,
                             double *x, optimise_lbfgs_info *info, attsvm_error *err)
{
    int64_t most = settings->history > 0 ? settings->history : STANDARD_HISTORY;
    search w = { .f = f, .convex = settings->convex, .history = { .newest = -1 } };
    w.history.most = most < OPTIMISE_MOST_HISTORY ? most : OPTIMISE_MOST_HISTORY;
    arena a = { 0 };
    *info = (optimise_lbfgs_info){ 0 };
    layout(&w, &a);
    TRY(base_arena_allocate(&a, "minimisation", err));
    layout(&w, &a);
    info->outcome = minimise(&w, settings, x, info);
    info->value = w.value;
    info->gradient = la_norm(w.g, f->size);
    info->evaluations = w.evaluations;
    free(a.base);
    return ATTSVM_OK;
}
