/*
 * optimise: local minima of smooth functions.  L-BFGS for many parameters (classifiers, graphs), a
 * trust region for functions whose curvature differs by many orders (paths), on spheres and planes.
 */
#ifndef ATTSVM_OPTIMISE_H
#define ATTSVM_OPTIMISE_H

#include "base/base.h"

/* A smooth function F of x (size). */
typedef struct optimise_function {
    int64_t size;
    /* returns F and fills gradient (size); the search avoids points whose value is not finite */
    double (*evaluate)(void *context, const double *x, double *gradient);
    bool (*stop)(void *context); /* called before every evaluation; true ends the search.  May be
                                    NULL; attsvm_interrupt also ends it */
    void *context;
    double reach; /* trust region: length over which the Hessian of F is nearly constant */
} optimise_function;

/* ------------------------------------------------------------------------------- L-BFGS */

enum { OPTIMISE_MOST_HISTORY = 24 };

typedef struct optimise_lbfgs_settings {
    double tol;         /* stop when |gradient| <= tol ...                        */
    double relative;    /* ... or <= relative * |gradient at the start|           */
    int64_t iterations; /* at most                                                */
    int64_t history;    /* pairs of steps and gradient changes; 0: 10, at most 24 */
    bool convex;        /* accept steps by slope alone: near the minimum of a convex F rounding
                           hides differences of values, not of slopes */
} optimise_lbfgs_settings;

typedef enum optimise_outcome {
    OPTIMISE_CONVERGED = 1, /* the gradient is below its tolerance                     */
    OPTIMISE_LIMIT,         /* the maximum number of iterations                        */
    OPTIMISE_STOPPED,       /* stop() returned true                                    */
    OPTIMISE_STALLED        /* rounding hides any further progress, or F is not finite */
} optimise_outcome;

typedef struct optimise_lbfgs_info {
    optimise_outcome outcome;
    double value;                    /* F at the end                  */
    double gradient, gradient_start; /* |gradient| at the end, at the start */
    int64_t iterations, evaluations;
} optimise_lbfgs_info;

/*
 * Stepwise interface, for callers that evaluate several functions together:
 *
 *     optimise_lbfgs_create(&state, size, settings, x, err);
 *     while ((point = optimise_lbfgs_ask(state, &gradient)))
 *         optimise_lbfgs_tell(state, F(point, gradient));
 *     optimise_lbfgs_end(state, x, &info);
 *
 * The state owns the point and the gradient; their addresses do not change.
 */
typedef struct optimise_lbfgs_state optimise_lbfgs_state;
attsvm_status optimise_lbfgs_create(optimise_lbfgs_state **out, int64_t size,
                                    const optimise_lbfgs_settings *settings, const double *x,
                                    attsvm_error *err);
/* The next point to evaluate; NULL: the search has ended. */
const double *optimise_lbfgs_ask(const optimise_lbfgs_state *w, double **gradient);
void optimise_lbfgs_tell(optimise_lbfgs_state *w, double value);
/* Returns the last point and frees the state; OPTIMISE_STOPPED if the search has not ended. */
void optimise_lbfgs_end(optimise_lbfgs_state *w, double *x, optimise_lbfgs_info *info);

/* Starts at x (size); on return x is the last point, for any outcome. */
attsvm_status optimise_lbfgs(const optimise_function *f, const optimise_lbfgs_settings *settings,
                             double *x, optimise_lbfgs_info *info, attsvm_error *err);

/* ------------------------------------------------------------------------- trust region */

/*
 * The feasible set: x = offset + y with y orthogonal to the orthonormal rows of `basis`, and |y| =
 * radius if that is positive.
 */
typedef struct optimise_surface {
    const double *offset; /* (size); NULL: 0          */
    const double *basis;  /* (count,size); NULL: none */
    int64_t count;
    double radius; /* 0: no sphere                                                   */
    double limit;  /* without a sphere: the search ends when |x| is larger; 0: never */
    /* Entries from `split` on are a second vector with its own sphere or limit; the basis must then
       be empty. 0: one vector. */
    int64_t split;
    double second_radius, second_limit;
} optimise_surface;

typedef struct optimise_end {
    double value;       /* F                                                              */
    double slope;       /* |gradient along the surface| / |gradient|; without a sphere
                           |gradient| reach                                               */
    double pull;        /* -<gradient, y> / radius: positive if F decreases outwards */
    double second_pull; /* the same for the second vector                            */
    int64_t steps, evaluations;
    bool stopped; /* by the function's stop(); x is the best point so far           */
} optimise_end;

enum { OPTIMISE_TRUST_REGION_VECTORS = 10 }; /* vectors of `size` in the work space */

/* Finds a local minimum from x (on the surface), by Newton steps in a trust region. */
void optimise_trust_region(const optimise_function *f, const optimise_surface *surface, double *x,
                           double *work, optimise_end *end);

#endif
