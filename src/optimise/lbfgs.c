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

/* The line search: the step is between lo and hi. */
typedef struct bracket {
    double step, start; /* start: initial slope */
    double lo, lo_slope, hi, hi_slope;
    bool chord; /* the slope changes its sign between the ends */
    int trial;
} bracket;

struct optimise_lbfgs_state {
    int64_t size, iterations, evaluations, most_iterations;
    pairs history;
    bracket line;
    bool begun, convex;
    optimise_outcome outcome; /* 0: going on */
    double *x, *g, *trial, *trial_g, *direction;
    double value, tol, relative, gradient, gradient_start;
    double best_gradient, best_value;
    int64_t since; /* iterations since the best */
    void *memory;
};

static void layout(optimise_lbfgs_state *w, arena *a)
{
    size_t size = (size_t)w->size;
    w->x = take(a, size);
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
static void descend(optimise_lbfgs_state *w)
{
    pairs *p = &w->history;
    double alpha[OPTIMISE_MOST_HISTORY] = { 0 };
    for (int64_t j = 0; j < w->size; j++)
        w->direction[j] = -w->g[j];
    for (int64_t back = 0; back < p->count; back++) {
        int64_t k = (p->newest - back + p->most) % p->most;
        alpha[k] = p->rho[k] * la_dot(p->s[k], w->direction, w->size);
        la_axpy(-alpha[k], p->y[k], w->direction, w->size);
    }
    if (p->count > 0) {
        const double *y = p->y[p->newest];
        double scale = 1 / (p->rho[p->newest] * la_dot(y, y, w->size));
        for (int64_t j = 0; j < w->size; j++)
            w->direction[j] *= scale;
    }
    for (int64_t back = p->count - 1; back >= 0; back--) {
        int64_t k = (p->newest - back + p->most) % p->most;
        double beta = p->rho[k] * la_dot(p->y[k], w->direction, w->size);
        la_axpy(alpha[k] - beta, p->s[k], w->direction, w->size);
    }
}

/* --------------------------------------------------------------------- line search */

static void place_trial(optimise_lbfgs_state *w)
{
    for (int64_t j = 0; j < w->size; j++)
        w->trial[j] = w->x[j] + w->line.step * w->direction[j];
}

/* Whether F has decreased sufficiently at the trial point. */
static bool has_fallen(const optimise_lbfgs_state *w, double value)
{
    if (w->convex)
        return true;
    if (!isfinite(value))
        return false;
    return value <= w->value + enough_fall * w->line.step * w->line.start ||
           value <= w->value + rounding * fabs(w->value);
}

/* Whether the trial point is acceptable; if not, chooses the next step. */
static bool judge(optimise_lbfgs_state *w, double value)
{
    bracket *l = &w->line;
    double slope = la_dot(w->trial_g, w->direction, w->size);
    bool fallen = has_fallen(w, value);
    if (fallen && fabs(slope) <= -enough_slope * l->start)
        return true;
    if (fallen && slope < 0) {
        l->lo = l->step;
        l->lo_slope = slope;
    } else {
        l->hi = l->step;
        l->hi_slope = slope;
        l->chord = slope > 0 && isfinite(slope);
    }
    /* the zero of the chord, away from the ends; double the step while there is no upper end */
    double share = l->chord ? fmin(fmax(l->lo_slope / (l->lo_slope - l->hi_slope), 0.1), 0.9) : 0.5;
    l->step = isinf(l->hi) ? 2 * l->step : l->lo + share * (l->hi - l->lo);
    l->trial++;
    return false;
}

/* Starts a line search from x; restarts with steepest descent if the direction does not descend. */
static void set_out(optimise_lbfgs_state *w)
{
    for (;; w->history.count = 0) {
        descend(w);
        double start = la_dot(w->g, w->direction, w->size);
        if (start < 0) {
            double step = w->history.count > 0 ? 1 : 1 / fmax(1, w->gradient);
            w->line = (bracket){ .step = step, .start = start, .lo_slope = start, .hi = INFINITY };
            place_trial(w);
            return;
        }
        if (w->history.count == 0) {
            w->outcome = OPTIMISE_STALLED;
            return;
        }
    }
}

/* ----------------------------------------------------------------------- iterations */

static void remember(optimise_lbfgs_state *w)
{
    pairs *p = &w->history;
    const int64_t k = (p->newest + 1) % p->most;
    for (int64_t j = 0; j < w->size; j++) {
        p->s[k][j] = w->trial[j] - w->x[j];
        p->y[k][j] = w->trial_g[j] - w->g[j];
    }
    double sy = la_dot(p->s[k], p->y[k], w->size);
    if (!(sy > 0))
        return;
    p->rho[k] = 1 / sy;
    p->newest = k;
    p->count = p->count < p->most ? p->count + 1 : p->most;
}

/* Begins the next iteration, or ends. */
static void go_on(optimise_lbfgs_state *w)
{
    if (w->gradient <= fmax(w->tol, w->relative * w->gradient_start))
        w->outcome = OPTIMISE_CONVERGED;
    else if (w->since >= PATIENCE || !isfinite(w->gradient))
        w->outcome = OPTIMISE_STALLED;
    else if (w->iterations >= w->most_iterations)
        w->outcome = OPTIMISE_LIMIT;
    else
        set_out(w);
}

static void begin(optimise_lbfgs_state *w, double value)
{
    memcpy(w->g, w->trial_g, (size_t)w->size * sizeof *w->g);
    w->begun = true;
    w->value = w->best_value = value;
    w->gradient = w->gradient_start = w->best_gradient = la_norm(w->g, w->size);
    go_on(w);
}

/* Moves to the trial point. */
static void accept(optimise_lbfgs_state *w, double value)
{
    const size_t bytes = (size_t)w->size * sizeof *w->x;
    remember(w);
    memcpy(w->x, w->trial, bytes);
    memcpy(w->g, w->trial_g, bytes);
    w->value = value;
    w->gradient = la_norm(w->g, w->size);
    bool better = w->gradient < w->best_gradient || (!w->convex && value < w->best_value);
    w->best_gradient = fmin(w->best_gradient, w->gradient);
    w->best_value = fmin(w->best_value, value);
    w->since = better ? 0 : w->since + 1;
    w->iterations++;
    go_on(w);
}

void optimise_lbfgs_tell(optimise_lbfgs_state *w, double value)
{
    w->evaluations++;
    if (!w->begun) {
        begin(w, value);
    } else if (judge(w, value)) {
        accept(w, value);
    } else if (w->line.trial < MOST_TRIALS) {
        place_trial(w);
    } else if (w->history.count > 0) {
        w->history.count = 0;
        w->iterations++;
        go_on(w);
    } else {
        w->outcome = OPTIMISE_STALLED;
    }
}

const double *optimise_lbfgs_ask(const optimise_lbfgs_state *w, double **gradient)
{
    *gradient = w->trial_g;
    return w->outcome ? NULL : w->trial;
}

attsvm_status optimise_lbfgs_create(optimise_lbfgs_state **out, int64_t size,
                                    const optimise_lbfgs_settings *settings, const double *x,
                                    attsvm_error *err)
{
    *out = NULL;
    optimise_lbfgs_state *w;
    arena a = { 0 };
    int64_t most = settings->history > 0 ? settings->history : STANDARD_HISTORY;
    TRY(base_allocate(&w, 1, sizeof *w, "minimisation", err));
    *w = (optimise_lbfgs_state){ .size = size,
                                 .most_iterations = settings->iterations,
                                 .tol = settings->tol,
                                 .relative = settings->relative,
                                 .convex = settings->convex,
                                 .history = { .newest = -1 } };
    w->history.most = most < OPTIMISE_MOST_HISTORY ? most : OPTIMISE_MOST_HISTORY;
    layout(w, &a);
    attsvm_status status = base_arena_allocate(&a, "minimisation", err);
    if (status != ATTSVM_OK) {
        free(w);
        return status;
    }
    w->memory = a.base;
    layout(w, &a);
    memcpy(w->x, x, (size_t)size * sizeof *x);
    memcpy(w->trial, x, (size_t)size * sizeof *x);
    *out = w;
    return ATTSVM_OK;
}

void optimise_lbfgs_end(optimise_lbfgs_state *w, double *x, optimise_lbfgs_info *info)
{
    memcpy(x, w->x, (size_t)w->size * sizeof *x);
    *info = (optimise_lbfgs_info){ .outcome = w->outcome ? w->outcome : OPTIMISE_STOPPED,
                                   .value = w->value,
                                   .gradient = w->gradient,
                                   .gradient_start = w->gradient_start,
                                   .iterations = w->iterations,
                                   .evaluations = w->evaluations };
    free(w->memory);
    free(w);
}

attsvm_status optimise_lbfgs(const optimise_function *f, const optimise_lbfgs_settings *settings,
                             double *x, optimise_lbfgs_info *info, attsvm_error *err)
{
    optimise_lbfgs_state *state;
    const double *point;
    double *gradient;
    TRY(optimise_lbfgs_create(&state, f->size, settings, x, err));
    while ((point = optimise_lbfgs_ask(state, &gradient)) && !attsvm_interrupted() &&
           !(f->stop && f->stop(f->context)))
        optimise_lbfgs_tell(state, f->evaluate(f->context, point, gradient));
    optimise_lbfgs_end(state, x, info);
    return ATTSVM_OK;
}
