/*
 * learn: classifiers (theory, section 8).  Bags and their features, pools and their gradients, fits
 * by L-BFGS, choices by validation, predictions and what they rest on.
 */
#ifndef ATTSVM_LEARN_H
#define ATTSVM_LEARN_H

#include "data/data.h"
#include "dist/stop.h"

/* ------------------------------------------------------------------------- features */

/*
 * phi(x) = (x - mu) * scale, scale_j = 1 / (sigma_j sqrt(d)); mu = 0, scale = 1 without scaling.
 * phi' q = x' (scale q) - mu' (scale q), so that stored tokens are used as they are.
 */
typedef struct learn_features {
    int64_t d;
    double *mu, *sigma, *scale; /* (d) */
    bool plain;                 /* phi(x) = x */
} learn_features;

/* weight (n) of each bag counts for its tokens; NULL: 1. */
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
 * v_hk (d each), log beta_k (score and witness), b_k.  A column is one of these directions: the
 * values phi_t' p_h and phi_t' v_hk of the tokens are all that a pool sees of a bag.
 */
typedef struct learn_shape {
    int32_t pool;             /* attsvm_pool, never AUTO                            */
    int64_t d, heads;         /* heads: 1 unless the pool is prompt                 */
    int64_t classes, outputs; /* outputs: 1 for two classes                         */
    int64_t prompts, columns; /* columns that are prompts, and all                  */
    int64_t size;             /* of the parameter vector                            */
    int64_t betas, biases;    /* where log beta and b begin in it; betas -1: none   */
} learn_shape;

learn_shape learn_shape_of(int32_t pool, int64_t d, int64_t heads, int64_t classes);

/* One bag: values of its tokens by column, value[c * stride + t]. */
typedef struct learn_bag {
    int64_t T, stride;
    double *value;
} learn_bag;

/*
 * Scores f (outputs) of a bag; an empty one has b (witness: -infinity).  attention (heads or
 * outputs x stride: the softmax of each) must have room; `tail` is the part of theta after the
 * columns: log beta, b.
 */
void learn_pool_forward(const learn_shape *shape, const double *tail, const learn_bag *bag,
                        double *attention, double *f);
/*
 * From slopes r = d loss / d f to weights: value becomes d loss / d value, and tail_gradient gets
 * the share of the bag.  `attention` is that of learn_pool_forward.
 */
void learn_pool_backward(const learn_shape *shape, const double *tail, learn_bag *bag,
                         const double *attention, const double *f, const double *r,
                         double *tail_gradient);
/* Softmax distributions that a bag has. */
int64_t learn_pool_attentions(const learn_shape *shape);
/* What token t adds to output k: the sum over tokens and b_k are f_k. */
double learn_pool_contribution(const learn_shape *shape, const double *tail, const learn_bag *bag,
                               const double *attention, const double *f, int64_t t, int64_t k);
/* Output k of a bag of token t alone. */
double learn_pool_alone(const learn_shape *shape, const double *tail, const learn_bag *bag,
                        int64_t t, int64_t k);

/* loss of scores f for a class, and its slopes r (outputs). */
double learn_loss(const learn_shape *shape, const double *f, int64_t label, double *r);
/* Probabilities of the classes. */
void learn_probabilities(const learn_shape *shape, const double *f, double *probability);
/* The class of largest score; the first on ties, of two classes too. */
int64_t learn_predicted(const learn_shape *shape, const double *f);

/* ------------------------------------------------------------------------ objective */

/* sum_i weight_i loss_i + lambda |v|^2 + lambda |p|^2 (score, witness: 1e-4 |log beta|^2). */
typedef struct learn_problem {
    const attsvm_data *data;
    const learn_features *features;
    learn_shape shape;
    const int64_t *label; /* (n)                                          */
    const double *weight; /* (n), sum 1                                   */
    double lambda;
    bool by_row;    /* columns are computed once for each stored row: words are repeated */
    int64_t blocks; /* the sums are cut into                              */
} learn_problem;

void learn_problem_init(learn_problem *problem, const attsvm_data *data,
                        const learn_features *features, const learn_shape *shape,
                        const int64_t *label, const double *weight, double lambda);

/* Memory of evaluations of one problem, for one thread that may share its work. */
typedef struct learn_work learn_work;
attsvm_status learn_work_create(learn_work **out, const learn_problem *problem, int threads,
                                attsvm_error *err);
void learn_work_free(learn_work *work);
/* The objective at theta, and its gradient (size); NULL: the value alone. */
double learn_evaluate(learn_work *work, const double *theta, double *gradient);

/* Directions scale * q of all columns of theta and their offsets -mu' (scale q). */
void learn_directions(const learn_shape *shape, const learn_features *features, const double *theta,
                      double *direction, double *offset);
/* Values of the tokens of one sequence in the given columns. */
void learn_values(const learn_shape *shape, const la_rows *rows, const double *direction,
                  const double *offset, learn_bag *bag);

/* ----------------------------------------------------------------------------- fits */

/* One minimisation: a member of an ensemble. */
typedef struct learn_job {
    const learn_problem *problem;
    double *theta; /* (size) the start, then the end */
    int64_t start; /* number of the member           */
    int64_t iterations, evaluations;
    double loss, gradient;
    bool converged;
    attsvm_status status;
    attsvm_error error;
} learn_job;

typedef struct learn_run {
    const attsvm_fit_settings *settings;
    int threads;
    dist_stop *stop;
    int64_t *done; /* jobs that are over, for the observer; NULL: nobody counts */
} learn_run;

/* Random values of member `start`: prompts .3, heads .01 (score, witness .3) times N(0,1). */
void learn_start(const learn_shape *shape, int64_t seed, int64_t start, double *theta);
/* Runs all jobs, side by side where they are small. */
attsvm_status learn_jobs_run(learn_job *jobs, int64_t count, const learn_run *run,
                             attsvm_error *err);

/* Training data after bags of weight 0 are gone. */
typedef struct learn_training {
    const attsvm_data *data;
    int64_t n, classes;
    const int64_t *label;
    const double *sample;      /* (n) positive                         */
    const double *class_given; /* (classes) factors, or NULL           */
} learn_training;

/* Weights (n) of the loss, sum 1. */
void learn_weights(const learn_training *t, int32_t weighting, double *weight);
/* The members of a model into theta (starts x size). */
typedef struct learn_fitted {
    double loss, gradient;
    int64_t iterations, evaluations, converged;
} learn_fitted;
attsvm_status learn_fit_members(const learn_training *t, const learn_features *features,
                                const learn_shape *shape, double lambda, const learn_run *run,
                                double *theta, learn_fitted *out, attsvm_error *err);
/* Members of a model of this shape: a convex problem has one. */
int64_t learn_members(const learn_shape *shape, int64_t starts);
/* Mean scores (n x outputs) of members. */
attsvm_status learn_scores(const attsvm_data *data, const learn_features *features,
                           const learn_shape *shape, const double *theta, int64_t members,
                           int threads, double *score, attsvm_error *err);
/* Pool and ridge by validation where the settings leave them open. */
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
    double *p, *v, *beta, *b; /* what the arrays show */
};

/* Takes the features over. */
attsvm_status learn_classifier_create(attsvm_classifier **out, const learn_shape *shape,
                                      learn_features *features, int64_t members, attsvm_error *err);
/* After theta was filled: the arrays that callers see. */
attsvm_status learn_classifier_show(attsvm_classifier *classifier, attsvm_error *err);
/* Data that the model can be applied to; an error says what differs. */
attsvm_status learn_classifier_check(const attsvm_classifier *classifier, const attsvm_data *data,
                                     attsvm_error *err);

#endif
