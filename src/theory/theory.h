/*
 * theory: what attention selects, and how it compares with the max-margin problems (theory,
 * sections 5 and 6).  Scores, support tokens, optimality, verdicts, enumeration, conditions.
 */
#ifndef ATTSVM_THEORY_H
#define ATTSVM_THEORY_H

#include "svm/svm.h"
#include "train/train.h"

/* ------------------------------------------------------------------------ scores */

/* gamma of token t of a term is label[term] * value[first token of the sequence + t]. */
struct attsvm_scores {
    const attsvm_data *data;
    data_terms terms;
    dist_comm *comm;          /* ranks that share the sequences; NULL: all are here  */
    int64_t lo, hi;           /* sequences of this rank                              */
    int64_t term_lo, term_hi; /* their terms                                         */
    double *keymap;           /* (d,d) of the prompt problems, or NULL: tells copies */
    double *value;            /* (tokens) h(x), of sequences lo..hi-1 alone          */
    int8_t *label;            /* (terms)                                             */
};

/* The same for the head of a model, trained or not, at theta; terms and key map are its own. */
attsvm_status theory_scores_of_model(attsvm_scores **out, const attsvm_train *run,
                                     attsvm_error *err);

/* Whether tokens a and t of sequence i are copies: the same key and score. */
bool theory_is_copy(const attsvm_scores *scores, int64_t i, int64_t a, int64_t t);

/* ------------------------------------------------------------- margins of a theta */

/* The rows of a claim's problem, right-hand sides of a joint one included.  On success the caller
   frees them with svm_rows_free. */
attsvm_status theory_rows_of(svm_rows *rows, const attsvm_data *data, const attsvm_claim *claim,
                             attsvm_error *err);

/*
 * Smallest <A_r, theta> over the rows with b = 1 (*least; INFINITY: there are none) and over those
 * with b = 0 (*least_zero).
 */
attsvm_status theory_margins(const svm_rows *rows, const double *theta, double *least,
                             double *least_zero, attsvm_error *err);

/* The angle between a and b in degrees, accurate near 0; NAN where one of them is 0. */
double theory_angle(const double *a, const double *b, int64_t count);

/* Optimality is a property of the hard margin without a rank limit (theory 5). */
attsvm_status theory_check_hard(const attsvm_svm_settings *svm, attsvm_error *err);

/* Tight rows are those with <A, theta> <= b + this * max(1, |b|) (theory 4). */
#define THEORY_TIGHT 1e-7

/* ------------------------------------------------------------------- enumeration */

/* Selections, or beginnings of selections: alpha (count, width). */
typedef struct theory_list {
    int32_t *alpha;
    int64_t count, width;
} theory_list;

/* What was found about one of them. */
typedef struct theory_judged {
    attsvm_outcome outcome;
    bool local, global;
    double norm, advantage;
} theory_judged;

struct attsvm_enumeration {
    const attsvm_scores *scores;
    attsvm_svm_settings svm;
    attsvm_enumerate_settings settings;
    attsvm_enumeration_info info;
    int64_t *alpha;        /* (count, terms)                   */
    theory_judged *judged; /* (count)                          */
    int64_t capacity;
};

/* Solves the SVM of every member, whole ones with `scores`; the order of the list is kept. */
attsvm_status theory_judge(const theory_list *list, const attsvm_scores *scores,
                           const attsvm_data *data, const attsvm_svm_settings *svm, int64_t threads,
                           theory_judged *out, attsvm_error *err);
/* All selections but those whose beginning is infeasible; *fits: there were at most `most`. */
attsvm_status theory_grow_all(attsvm_enumeration *e, theory_list *whole, bool *fits,
                              attsvm_error *err);

/* --------------------------------------------------------- next-token prediction */

struct attsvm_graph {
    const attsvm_data *data;
    int64_t lasts, nodes, edges, cyclic; /* cyclic: components of more than one word */
    int32_t *next;             /* (n) labels                                               */
    int32_t *last;             /* (lasts) last tokens, increasing                          */
    int64_t *first_node;       /* (lasts+1) nodes of each                                  */
    int64_t *first_edge;       /* (nodes+1) edges of each node; of all parts one after another */
    int32_t *word, *component; /* (nodes)                                                  */
    int64_t *components;       /* (lasts)                                                  */
    attsvm_graph_edge *edge;   /* (edges) places in the part of their last token           */
    uint8_t *sets;             /* (tokens)                                                 */
    void *memory;
};

/* Strongly connected components (Tarjan) of the part's nodes, topologically numbered. */
attsvm_status theory_components(attsvm_graph *graph, int64_t part, attsvm_error *err);

/*
 * Minimises a smooth convex f from x (size) on by L-BFGS with a line search on slopes alone: near
 * the minimum values no longer tell points apart, slopes do.  `gradient` fills g (size).  Returns
 * |g| at the end, with the point in x and the steps in *iterations.
 */
typedef void theory_gradient(void *context, const double *x, double *g);
attsvm_status theory_lbfgs(int64_t size, double *x, theory_gradient *gradient, void *context,
                           double tol, int64_t most, double *norm, int64_t *iterations,
                           attsvm_error *err);

/* -------------------------------------------------------------- smooth minimisation */

/* A smooth function F of x (size).  Steps shorter than `reach` hardly change its shape. */
typedef struct theory_function {
    int64_t size;
    double reach;
    double (*evaluate)(void *context, const double *x, double *gradient); /* returns F */
    void *context;
} theory_function;

/*
 * Where x may move: x = offset + y with y orthogonal to the rows of `basis`, which are orthonormal,
 * and |y| = radius where that is positive.
 */
typedef struct theory_surface {
    const double *offset; /* (size); NULL: 0          */
    const double *basis;  /* (count,size); NULL: none */
    int64_t count;
    double radius; /* 0: no sphere             */
    double limit;  /* without a sphere: the search ends where |x| is larger; 0: never */
} theory_surface;

typedef struct theory_end {
    double value; /* F                                                              */
    double slope; /* |gradient along the surface| / |gradient|; without a sphere
                     |gradient| reach                                               */
    double pull;  /* -<gradient, y> / radius: positive where F falls outwards       */
    int64_t steps, evaluations;
} theory_end;

enum { THEORY_MINIMISE_VECTORS = 10 }; /* vectors of `size` in the work space */

/* A local minimum from x (on the surface) on, by Newton steps in a trust region. */
void theory_minimise(const theory_function *f, const theory_surface *surface, double *x,
                     double *work, theory_end *end);

/* --------------------------------------------------------------- what a path minimises */

typedef enum theory_kind {
    THEORY_EXCESS,   /* log (L - L*), L* the loss with all attention on the tokens alpha */
    THEORY_LOG_LOSS, /* log L, for losses that fall to 0; else L                         */
    THEORY_LOSS,     /* L                                                                */
} theory_kind;

/*
 * A function of parameters first..first+count-1 of a model; the others stay as they are in theta.
 * With `ridge` > 0 the loss has the term ridge |x|^2.
 */
typedef struct theory_objective {
    model *m;
    theory_kind kind;
    int64_t first, count;
    double ridge;
    double *theta;      /* (m->size)                                                  */
    double *score;      /* (tokens) v'x; linear heads                                 */
    int64_t *alpha;     /* (terms) tokens of L*                                       */
    double *slope;      /* (m->size) scratch                                          */
    double key_spread;  /* largest |k_t - k_s| of a sequence, times the largest |z|   */
    double token_size;  /* largest |x|                                                */
    model_value value;  /* at the last evaluation                                     */
    model_scaled above; /* L - L* there; negative: alpha is not the best there        */
} theory_objective;

attsvm_status theory_objective_create(theory_objective *out, model *m, attsvm_error *err);
void theory_objective_free(theory_objective *o);
/* Scores of the head v (d) and, with `best`, the tokens of best score into alpha. */
void theory_objective_head(theory_objective *o, const double *v, bool best);
/* As a function on balls of that radius. */
theory_function theory_objective_function(theory_objective *o, double radius);
/* Fills o->value and o->above at theta. */
void theory_objective_look(theory_objective *o, const double *theta);

/* ------------------------------------------------------------------------------ paths */

/* "1:1000:7" into *out (*count), log-spaced; the caller frees. */
attsvm_status theory_path_points(const char *name, const char *text, double **out, int64_t *count,
                                 attsvm_error *err);

/* An SVM that a path is compared with; theta is NULL where it has no solution. */
typedef struct theory_target {
    attsvm_outcome outcome;
    double norm, gap;
    double *theta; /* p (d), v (d) or W (d,d) */
} theory_target;

enum { THEORY_PATH_ARRAYS = 24 };

struct attsvm_path {
    attsvm_path_settings settings;
    char *texts; /* the texts of the settings, copied */
    const attsvm_data *data;
    model *m;
    theory_objective objective;
    bool by_ridge, joint, linear;
    bool given;                  /* alpha was given                                             */
    int64_t points;              /* of the path, less where the observer ended it               */
    double *point;               /* (points) radii, or ridges                                   */
    int64_t *alpha;              /* (terms) tokens of the targets                               */
    bool targeted;               /* the targets are those of alpha                              */
    theory_target target;        /* p, W                                                        */
    theory_target relaxed, head; /* vp: joint and v problems                             */
    int64_t tight;               /* vp: sequences that are tight in the v-SVM                   */
    /* The search: candidates at this point, best first after it is solved. */
    int64_t capacity, count;
    double *candidate; /* (capacity,size)                                             */
    double *value;     /* (capacity)                                                  */
    bool *inside;      /* (capacity) the ball does not bind                           */
    uint64_t drawn;    /* random directions so far                                    */
    double *work;      /* of theory_minimise                                          */
    double *spare;     /* (4,size)                                                    */
    /* Results, (points) each. */
    double *radius, *radius_v, *correlation, *correlation_v, *correlation_relaxed;
    double *correlation_unrelaxed, *loss, *loss_excess, *log_excess, *efficiency, *attention;
    double *margin, *predictivity;
    double *theta;     /* (points,size)                                               */
    double *matrix;    /* (points,d,d) K Q'                                           */
    uint8_t *within;   /* (points) the ball does not bind                             */
    int64_t *selected; /* (points,terms)                                              */
    attsvm_path_info info;
    attsvm_named_array arrays[THEORY_PATH_ARRAYS];
    int64_t arrays_count;
    void *memory;
};

/* The candidates of the next point, then their local minima, sorted. */
attsvm_status theory_path_starts(attsvm_path *path, int64_t k, attsvm_error *err);
void theory_path_solve(attsvm_path *path, double point);
/* Minimises over the varied part of the objective in the ball of that radius, from x on; with
 *inside first without its sphere. */
theory_end theory_path_ball(attsvm_path *path, double radius, double *x, bool *inside);
/* Both blocks of the joint path, from theta on. */
double theory_path_joint(attsvm_path *path, double radius, double radius_v, double *theta,
                         bool *inside);

/* Solves the SVMs of the tokens in path->alpha. */
attsvm_status theory_path_target(attsvm_path *path, attsvm_error *err);
/* theta of the model along the SVM direction; false where there is none. */
bool theory_path_towards(attsvm_path *path, bool relaxed, double *theta);
/* K and Q (halves of theta) with K Q' = W (d,d) up to scale and rank. */
attsvm_status theory_path_factor(attsvm_path *path, const double *W, double *theta,
                                 attsvm_error *err);
/* Correlations and efficiency at every point; the case of a joint path. */
attsvm_status theory_path_compare(attsvm_path *path, attsvm_error *err);
/* The same for a nonlinear head: the sets kept at every point, W_fin + R W_svm. */
attsvm_status theory_path_several(attsvm_path *path, attsvm_error *err);

/* ------------------------------------------------------------------ joint training */

/* Solves one problem over a selection. */
attsvm_status theory_solve(const attsvm_data *data, const int64_t *alpha,
                           const attsvm_svm_settings *settings, attsvm_solution **out,
                           attsvm_error *err);

/* Points of the search for a small nu. */
typedef struct theory_label {
    const attsvm_data *data;
    const int64_t *alpha; /* (n)                             */
    double margin;        /* Gamma                           */
    int threads;
} theory_label;

/*
 * Gamma(p) of the pooled tokens X' softmax(X u) and m = max_i (1 - s_i,alpha), copies of alpha
 * counted with it; u (d) is p, or W'p where keys are W x.
 */
attsvm_status theory_label_margin(const theory_label *label, const double *u, double *margin,
                                  double *miss, attsvm_error *err);
/* The smallest nu over iterates (count, d), random directions and descent; u_best (d). */
attsvm_status theory_search_nu(const theory_label *label, const attsvm_joint_settings *settings,
                               const double *iterates, int64_t count, double *nu, double *nu_norm,
                               int64_t *tried, attsvm_error *err);

#endif
