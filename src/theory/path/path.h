/* path: minimisers of the loss in growing balls, and the SVM of the limit (theory 6.7 to 6.9). */
#ifndef ATTSVM_THEORY_PATH_H
#define ATTSVM_THEORY_PATH_H

#include "optimise/optimise.h"
#include "theory/theory.h"

/* --------------------------------------------------------------- what a path minimises */

typedef enum path_objective_kind {
    PATH_LOG_EXCESS, /* log (L - L*), L* the loss with all attention on the tokens alpha */
    PATH_LOG_LOSS,   /* log L, for losses that tend to 0; else L                         */
    PATH_LOSS,       /* L                                                                */
} path_objective_kind;

/*
 * The loss as a function of parameters first..first+count-1 of a model; the others are fixed in
 * theta.  `ridge` > 0 adds ridge |x|^2.
 */
typedef struct path_objective {
    model *m;
    path_objective_kind kind;
    int64_t first, count;
    double ridge;
    double head_scale;  /* if p and v vary together, x contains v times this; else 0 */
    double *theta;      /* (m->size)                                                 */
    double *score;      /* (tokens) v'x; linear heads                                */
    int64_t *alpha;     /* (terms) tokens of L*                                      */
    double *slope;      /* (m->size) scratch                                         */
    double key_spread;  /* largest |k_t - k_s| of a sequence, times the largest |z|  */
    double token_size;  /* largest |x|                                               */
    model_value value;  /* at the last evaluation                                    */
    dist_stop *stop;    /* asked before every evaluation; NULL: never                */
    model_scaled above; /* L - L* there; negative: alpha is not optimal there        */
} path_objective;

attsvm_status path_objective_create(path_objective *out, model *m, attsvm_error *err);
void path_objective_free(path_objective *o);
/* Scores of the head v (d), and the tokens of best score into alpha. */
void path_objective_set_head(path_objective *o, const double *v);
/* The objective as a function on balls of that radius. */
optimise_function path_objective_function(path_objective *o, double radius);
/* Fills o->value and o->above at theta. */
void path_objective_look(path_objective *o, const double *theta);

/* ------------------------------------------------------------------------------ paths */

/* "1:1000:7" into *out (*count), log-spaced; the caller frees. */
attsvm_status path_read_points(const char *name, const char *text, double **out, int64_t *count,
                               attsvm_error *err);

/* An SVM that a path is compared with; theta is NULL if it has no solution. */
typedef struct path_target {
    attsvm_outcome outcome;
    double norm, gap;
    double *theta; /* p (d), v (d) or W (d,d) */
} path_target;

enum { PATH_ARRAYS = 24, PATH_HEADS = 2 };

struct attsvm_path {
    attsvm_path_settings settings;
    char *texts; /* the texts of the settings, copied */
    const attsvm_data *data;
    model *m;
    path_objective objective;
    bool by_ridge, joint, linear;
    bool given;                /* alpha was given                             */
    int64_t points;            /* of the path; fewer if the observer ended it */
    double *point;             /* (points) radii, or ridges                   */
    int64_t *alpha;            /* (terms) tokens of the targets               */
    bool targeted;             /* the targets are those of alpha              */
    path_target target;        /* p, W                                        */
    path_target relaxed, head; /* vp: joint and v problems                    */
    int64_t tight;             /* vp: sequences that are tight in the v-SVM   */
    /* The search: candidates at this point, best first after it is solved. */
    int64_t capacity, count;
    double *candidate;  /* (capacity,size)                                        */
    double *value;      /* (capacity)                                             */
    double *excess;     /* (capacity) log (L - L*) if value is log L: joint paths */
    bool *inside;       /* (capacity) the ball does not bind                      */
    int heads;          /* vp: starts at heads of large margin                    */
    double *head_start; /* (PATH_HEADS,size)                                     */
    uint64_t drawn;     /* random directions so far                               */
    dist_watch watch;   /* counts points                                          */
    dist_stop stop;
    int turns;     /* maximum alternations between the blocks of a joint path          */
    double *work;  /* of optimise_trust_region                                         */
    double *spare; /* (4,size), size of the parameters or the map, whichever is larger */
    /* Results, (points) each. */
    double *radius, *radius_v, *correlation, *correlation_v, *correlation_relaxed;
    double *correlation_unrelaxed, *loss, *loss_excess, *log_excess, *efficiency, *attention;
    double *margin, *predictivity;
    double *theta;           /* (points,size)                                     */
    double *matrix;          /* (points,d,d) K Q'                                 */
    uint8_t *within;         /* (points) the ball does not bind                   */
    int64_t *selected;       /* (points,terms)                                    */
    attsvm_archive *archive; /* arrays of a path read from a file; NULL: computed */
    attsvm_path_info info;
    attsvm_named_array arrays[PATH_ARRAYS];
    int64_t arrays_count;
    void *memory;
};

/* The candidates of the next point: *known from the previous point, and new ones. */
attsvm_status path_add_starts(attsvm_path *path, int64_t k, int64_t *known, attsvm_error *err);
/* vp: path->head_start, from selections whose v-SVM has a large margin; changes the targets. */
attsvm_status path_find_heads(attsvm_path *path, attsvm_error *err);
/* Nonlinear heads: random points of the ball itself, beside those that come from small radii. */
void path_add_direct_starts(attsvm_path *path, int64_t k);
/* Their local minima, sorted, without duplicates; or only those from `first` on, unsorted. */
void path_solve(attsvm_path *path, double point);
void path_solve_some(attsvm_path *path, int64_t first, double point);
/* Finds a local minimum from x; counts solves and evaluations. */
optimise_end path_minimise(attsvm_path *path, const optimise_function *f,
                           const optimise_surface *surface, double *x);
/* Minimises the objective in the ball of that radius, from x; `inside`: starts without the sphere.
 */
optimise_end path_solve_ball(attsvm_path *path, double radius, double *x, bool *inside);
/* Minimises over both blocks of the joint path, from theta. */
double path_solve_joint(attsvm_path *path, double radius, double radius_v, double *theta,
                        bool *inside);

/* Solves the SVMs of the tokens in path->alpha. */
attsvm_status path_find_targets(attsvm_path *path, attsvm_error *err);
/* theta of the model along the SVM direction; false if there is none. */
bool path_towards(attsvm_path *path, bool relaxed, double *theta);
/* K and Q (halves of theta) with K Q' = W (d,d) up to scale and rank. */
attsvm_status path_factor(attsvm_path *path, const double *W, double *theta, attsvm_error *err);
/* Correlations and efficiency at every point; the case of a joint path. */
attsvm_status path_compare(attsvm_path *path, attsvm_error *err);
/* The same for a nonlinear head, with the kept sets of every point and W_fin + R W_svm. */
attsvm_status path_compare_multi_token(attsvm_path *path, attsvm_error *err);

/* ----------------------------------------------------------- what stays and what grows */

/* The finite and the growing part of W when attention keeps several tokens. */
typedef struct split {
    attsvm_path *path;
    model *m;        /* the path's model; for K Q' that of W on the same data      */
    uint8_t *sets;   /* (cells)                                                    */
    double *weight;  /* (cells) of a token outside: |l'| s_beta (cbar - c_t), or 0 */
    double *log;     /* (cells) exponents at the last evaluation                   */
    double *softmax; /* (cells)                                                    */
    int64_t *base;   /* (terms) beta                                               */
    double *basis;   /* (rank,size) of S; size is that of the map: d or d x d      */
    double *finite;  /* (size) part of W in S                                      */
    double *W, *G;   /* (size)                                                     */
    double *z, *u, *x, *slope, *head;
    double *multiplier, *residual; /* (rank) of the part in S, for K Q'            */
    double penalty;
    int64_t cells, rank;
    void *memory;
} split;

/* Allocates; call split_free also on failure. */
attsvm_status split_create(split *s, attsvm_path *path, attsvm_error *err);
void split_free(split *s);

/* The space S of s->sets, which have `rows` tokens. */
attsvm_status split_find_span(split *s, int64_t rows, attsvm_error *err);
/*
 * The finite part, from `start`, and the weights of the tokens outside the sets; `direction`
 * separates them.  Counts tokens of weight 0: the loss does not depend on their attention (inactive
 * ReLU units).
 */
void split_find_finite(split *s, const double *start, const double *direction,
                       int64_t *zero_weight);
/* The parameters of radius R, starting at the SVM direction, into theta; false if none exist. */
bool split_find_growing(split *s, double R, const double *direction, double *theta);

#endif
