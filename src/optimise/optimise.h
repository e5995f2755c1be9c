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
    /* returns F and fills gradient (size); a value that is not finite is a point to stay away from
     */
    double (*evaluate)(void *context, const double *x, double *gradient);
    bool (*stop)(void *context); /* asked before every evaluation; true: end here.  NULL: never,
                                    but attsvm_interrupt ends it, too */
    void *context;
    double reach; /* trust region: steps shorter than this hardly change the shape of F          */
} optimise_function;

/* ------------------------------------------------------------------------------- L-BFGS */

enum { OPTIMISE_MOST_HISTORY = 24 };

typedef struct optimise_lbfgs_settings {
    double tol;         /* ends where |gradient| <= tol ...                              */
    double relative;    /* ... or <= relative * |gradient at the start|                  */
    int64_t iterations; /* at most                                                       */
    int64_t history;    /* pairs of steps and gradient changes; 0: 10, at most 24        */
    bool convex;        /* judge steps by slopes alone: near the minimum of a convex F
                           values no longer tell points apart, slopes do                 */
} optimise_lbfgs_settings;

typedef enum optimise_outcome {
    OPTIMISE_CONVERGED = 1, /* the gradient is below its tolerance                       */
    OPTIMISE_LIMIT,         /* as many iterations as allowed                             */
    OPTIMISE_STOPPED,       /* stop() said so                                            */
    OPTIMISE_STALLED        /* rounding hides any further progress, or F is not finite   */
} optimise_outcome;

typedef struct optimise_lbfgs_info {
    optimise_outcome outcome;
    double value;                    /* F at the end                  */
    double gradient, gradient_start; /* |gradient| at the end, at the start */
    int64_t iterations, evaluations;
} optimise_lbfgs_info;

/* From x (size) on; x holds the last point, whatever the outcome. */
attsvm_status optimise_lbfgs(const optimise_function *f, const optimise_lbfgs_settings *settings,
                             double *x, optimise_lbfgs_info *info, attsvm_error *err);

/* ------------------------------------------------------------------------- trust region */

/*
 * Where x may move: x = offset + y with y orthogonal to the rows of `basis`, which are orthonormal,
 * and |y| = radius where that is positive.
 */
typedef struct optimise_surface {
    const double *offset; /* (size); NULL: 0          */
    const double *basis;  /* (count,size); NULL: none */
    int64_t count;
    double radius; /* 0: no sphere             */
    double limit;  /* without a sphere: the search ends where |x| is larger; 0: never */
    /* Entries from `split` on are a second vector with a sphere or limit of its own; 0: one vector.
       The basis is empty then. */
    int64_t split;
    double second_radius, second_limit;
} optimise_surface;

typedef struct optimise_end {
    double value;       /* F                                                              */
    double slope;       /* |gradient along the surface| / |gradient|; without a sphere
                           |gradient| reach                                               */
    double pull;        /* -<gradient, y> / radius: positive where F falls outwards       */
    double second_pull; /* the same of the second vector                            */
    int64_t steps, evaluations;
    bool stopped; /* by the function's stop(); x is the best point so far           */
} optimise_end;

enum { OPTIMISE_TRUST_REGION_VECTORS = 10 }; /* vectors of `size` in the work space */

/* A local minimum from x (on the surface) on, by Newton steps in a trust region. */
void optimise_trust_region(const optimise_function *f, const optimise_surface *surface, double *x,
                           double *work, optimise_end *end);

#endif
