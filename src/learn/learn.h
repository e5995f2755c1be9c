/*
 * learn: classifiers (theory 8).  Bags and their features, pools and their gradients, fits by
 * L-BFGS, choices by validation, predictions and explanations.
 */
#ifndef ATTSVM_LEARN_H
#define ATTSVM_LEARN_H

#include "data/data.h"
#include "dist/stop.h"

/* ------------------------------------------------------------------------- features */

/*
 * phi(x) = (x - mu) * scale, scale_j = 1 / (sigma_j sqrt(d)); mu = 0, scale = 1 without scaling.
 * phi' q = x' (scale q) - mu' (scale q), so that stored tokens need no conversion.
 */
typedef struct learn_features {
    int64_t d;
    double *mu, *sigma, *scale; /* (d) */
    bool plain;                 /* phi(x) = x */
} learn_features;

/* Each token has the weight (n) of its bag; NULL: 1. */
attsvm_status learn_features_create(learn_features *out, const attsvm_data *data,
                                    const double *weight, int32_t scale, int threads,
                                    attsvm_error *err);
/* From stored mu and sigma. */
attsvm_status learn_features_restore(learn_features *out, int64_t d, const double *mu,
                                     const double *sigma, bool plain, attsvm_error *err);
void learn_features_free(learn_features *features);

/* ---------------------------------------------------------------------------- pools */

/*
 * The shape of a model.  Its parameters are one vector: prompts p_h (d each; pool prompt), heads
 * v_hk (d each), log beta_k (score and witness), b_k.  A column is one of these directions; a pool
 * depends on a bag only through the values phi_t' p_h and phi_t' v_hk of its tokens.
 */
typedef struct learn_shape {
    int32_t pool;             /* attsvm_pool, never AUTO                         */
    int64_t d, heads;         /* heads: 1 unless the pool is prompt              */
    int64_t classes, outputs; /* outputs: 1 for two classes                      */
    int64_t prompts, columns; /* columns that are prompts, and all               */
    int64_t size;             /* of the parameter vector                         */
    int64_t betas, biases;    /* offsets of log beta and b in it; betas -1: none */
} learn_shape;

learn_shape learn_shape_of(int32_t pool, int64_t d, int64_t heads, int64_t classes);

/*
 * One bag in M members of the same shape, side by side:
 *
 *   value[(t * columns + c) * M + m]   phi_t' q of column c
 *   attention[(t * A + a) * M + m]     the softmax distributions, A = learn_pool_attentions
 *   top[a * M + m]                     the token of most attention
 *   f[k * M + m]                       scores
 *   tail[k * M + m]                    beta_k (score, witness), then b_k
 */
typedef struct learn_bag {
    int64_t T, members;
    double *value, *attention, *top, *f;
    const double *tail;
} learn_bag;

/* Number of softmax distributions per bag and member. */
int64_t learn_pool_attentions(const learn_shape *shape);
/* Number of rows of `tail`; fills it from the parameters of the members. */
int64_t learn_pool_tails(const learn_shape *shape);
void learn_pool_tail(const learn_shape *shape, const double *const *theta, int64_t members,
                     double *tail);
/* Attention, top and f from values and tail; an empty bag has f = b (witness: -infinity). */
void learn_pool_forward(const learn_shape *shape, const learn_bag *bag);
/*
 * From slopes r = d loss / d f: value becomes d loss / d value, and the part of the bag is added
 * to tail_gradient (rows of tail x M, in log beta and b).
 */
void learn_pool_backward(const learn_shape *shape, const learn_bag *bag, const double *r,
                         double *tail_gradient);
/* Contribution of token t to output k in member m: f_k is b_k plus the sum over tokens. */
double learn_pool_contribution(const learn_shape *shape, const learn_bag *bag, int64_t t, int64_t k,
                               int64_t m);
/* Output k for a bag that contains only token t. */
double learn_pool_alone(const learn_shape *shape, const learn_bag *bag, int64_t t, int64_t k,
                        int64_t m);
double learn_pool_bias(const learn_shape *shape, const learn_bag *bag, int64_t k, int64_t m);

/* Adds weight * loss of the scores for a class to loss (M); r (outputs x M): its slopes. */
void learn_loss(const learn_shape *shape, int64_t members, const double *f, int64_t label,
                double weight, double *r, double *loss);
/* Probabilities of the classes. */
void learn_probabilities(const learn_shape *shape, const double *f, double *probability);
/* The class of largest score; the first on ties. */
int64_t learn_predicted(const learn_shape *shape, const double *f);

/* ------------------------------------------------------------------------ objective */

/* sum_i weight_i loss_i + lambda |v|^2 + lambda |p|^2 (score, witness: 1e-4 |log beta|^2). */
typedef struct learn_problem {
    const attsvm_data *data;
    const learn_features *features;
    learn_shape shape;
    const int64_t *label; /* (n)                                          */
    const double *weight; /* (n), sum 1                                   */
    bool by_row;          /* columns are computed once for each stored row, because words repeat */
    int64_t blocks;       /* number of blocks of the sums */
} learn_problem;

void learn_problem_init(learn_problem *problem, const attsvm_data *data,
                        const learn_features *features, const learn_shape *shape,
                        const int64_t *label, const double *weight);

/* Objective of a member at theta, and its gradient (size); NULL: only the value. */
typedef struct learn_point {
    double lambda;
    const double *theta;
    double *gradient;
    double value;
} learn_point;

/* Work space for evaluations of one problem at up to `members` points. */
typedef struct learn_work learn_work;
attsvm_status learn_work_create(learn_work **out, const learn_problem *problem, int64_t members,
                                int threads, attsvm_error *err);
void learn_work_free(learn_work *work);
/* Evaluates all points in one pass over the data; each result is independent of the others. */
void learn_evaluate(learn_work *work, learn_point *points, int64_t count);

/* Directions scale * q of the columns of all members, (columns x M) x d, and offsets -mu' (scale
 * q). */
void learn_directions(const learn_shape *shape, const learn_features *features,
                      const double *const *theta, int64_t members, double *direction,
                      double *offset);
/* Values of rows in `count` directions: value[t * count + c]. */
void learn_values(const la_rows *rows, const double *direction, const double *offset, int64_t count,
                  double *value);

/* ----------------------------------------------------------------------------- fits */

/* One minimisation: a member of an ensemble. */
typedef struct learn_job {
    double lambda;
    double *theta; /* (size) the start, then the end */
    int64_t iterations, evaluations;
    double loss, gradient;
    bool converged;
} learn_job;

typedef struct learn_run {
    const attsvm_fit_settings *settings;
    int threads;
    dist_stop *stop;
    int64_t *done; /* finished jobs, for the observer; may be NULL */
} learn_run;

/* Random values of member `start`: prompts .3, heads .01 (score, witness .3) times N(0,1). */
void learn_start(const learn_shape *shape, int64_t seed, int64_t start, double *theta);
/* Minimises from the current theta of each job, in lockstep: all share every pass over the data. */
attsvm_status learn_jobs_run(const learn_problem *problem, learn_job *jobs, int64_t count,
                             int64_t iterations, const learn_run *run, attsvm_error *err);

/* Training data without bags of weight 0. */
typedef struct learn_training {
    const attsvm_data *data;
    int64_t n, classes;
    const int64_t *label;
    const double *sample;      /* (n) positive                         */
    const double *class_given; /* (classes) factors, or NULL           */
} learn_training;

/* Weights (n) of the loss, sum 1. */
void learn_weights(const learn_training *t, int32_t weighting, double *weight);
/* The members of models with the given ridges into theta (ridges x members x size), out (ridges).
 */
typedef struct learn_fitted {
    double loss, gradient;
    int64_t iterations, evaluations, converged;
} learn_fitted;
attsvm_status learn_fit_members(const learn_training *t, const learn_features *features,
                                const learn_shape *shape, const double *lambda, int64_t ridges,
                                const learn_run *run, double *theta, learn_fitted *out,
                                attsvm_error *err);
/* Members of a model of this shape: a convex problem has one. */
int64_t learn_members(const learn_shape *shape, int64_t starts);
/* Mean scores (n x outputs) of members. */
attsvm_status learn_scores(const attsvm_data *data, const learn_features *features,
                           const learn_shape *shape, const double *theta, int64_t members,
                           int threads, double *score, attsvm_error *err);
/* Pool and ridge, chosen by validation if the settings say auto. */
typedef struct learn_choice {
    int32_t pool;
    double lambda;
    double value[2]; /* of prompt and score at the chosen lambda; NAN: not compared */
    int64_t evaluations;
} learn_choice;
attsvm_status learn_choose(const learn_training *t, const learn_run *run, learn_choice *out,
                           attsvm_error *err);

/* ----------------------------------------------------------------------- classifier */

struct attsvm_classifier {
    learn_shape shape;
    learn_features features;
    int64_t members;
    double *theta; /* (members x size) */
    attsvm_classifier_info info;
    char **class_name; /* (classes) */
    char **word;       /* (info.words) vocabulary, or NULL */
    void *table;       /* float32 (words, embedded) word vectors, or NULL */
    attsvm_named_array arrays[6];
    int64_t count;
    double *p, *v, *beta, *b; /* the public arrays */
};

/* Takes ownership of the features. */
attsvm_status learn_classifier_create(attsvm_classifier **out, const learn_shape *shape,
                                      learn_features *features, int64_t members, attsvm_error *err);
/* Computes the public arrays from theta. */
attsvm_status learn_classifier_show(attsvm_classifier *classifier, attsvm_error *err);
/* Checks that the model can be applied to the data; an error says what differs. */
attsvm_status learn_classifier_check(const attsvm_classifier *classifier, const attsvm_data *data,
                                     attsvm_error *err);

#endif
