/*
 * What the experiments share: data sets, training, solving, statistics, arrays, key numbers.
 */
#ifndef ATTSVM_EXPERIMENTS_TOOLS_H
#define ATTSVM_EXPERIMENTS_TOOLS_H

#include "experiments/experiments.h"

#include "model/model.h"
#include "report/report.h"
#include "svm/svm.h"
#include "theory/theory.h"
#include "train/train.h"

/* ------------------------------------------------------------------------------ running */

/* A shape and its number of dimensions: SHAPE(6, steps, 3). */
#define SHAPE(...)                                                                                 \
    ((const int64_t[]){ __VA_ARGS__ }), (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))

/* Adds an array of zeros, owned by `arrays`; *out points to its values. */
attsvm_status experiments_add(experiments_arrays *arrays, double **out, const char *name,
                              const int64_t *shape, int ndim, attsvm_error *err);

/*
 * Adds copies of the data set's arrays that `out` does not have yet, so that `attsvm train` can
 * read the file.
 */
attsvm_status experiments_add_data(experiments_arrays *out, const attsvm_named_array *arrays,
                                   int64_t count, attsvm_error *err);

/*
 * Calls body(context, k, worker, err) for k = 0..count-1 on all threads. `worker` is below the
 * number of threads and selects scratch space. Progress goes from share `from` to share `to`.
 * Returns the failure with the lowest k.
 */
typedef attsvm_status experiments_body(void *context, int64_t k, int worker, attsvm_error *err);
attsvm_status experiments_parallel(const experiments_setup *setup, int64_t count, double from,
                                   double to, experiments_body *body, void *context,
                                   attsvm_error *err);
void experiments_progress(const experiments_setup *setup, double share);

/* Status of a stopped run while it unwinds; experiments_reproduce turns it into an outcome. */
#define EXPERIMENTS_STOPPED ((attsvm_status)-100)
/* ATTSVM_OK, or EXPERIMENTS_STOPPED once the observer or the clock has ended the run. */
attsvm_status experiments_go_on(const experiments_setup *setup);
/* Observers whose context is the setup. */
bool experiments_observe_train(void *setup, const attsvm_train *train,
                               const attsvm_train_info *info);
bool experiments_observe_path(void *setup, int64_t done, int64_t points);
/* attsvm_train_run with the stop of the experiment. */
attsvm_status experiments_train(const experiments_setup *setup, attsvm_train *train,
                                attsvm_error *err);

/*
 * Training settings of every experiment: the calling thread alone, and the disturbance that shows
 * what depends on rounding. Start values become x (1 + size u), or size u where they are 0, with u
 * uniform in -1..1 (attsvm_train_settings.disturb).
 */
void experiments_train_settings(const experiments_setup *setup, attsvm_train_settings *s);
/* Disturbs `count` values with a random stream of their own, for experiments without start
   values and for runs outside the library. A size above 0 is raised to `least`. */
void experiments_disturb(const experiments_setup *setup, uint64_t stream, double least, double *x,
                         int64_t count);

/* A named array in memory, for attsvm_data_create. */
attsvm_named_array experiments_name(const char *name, const double *values, const int64_t *shape,
                                    int ndim);

/* Copies the named array of a run to out (count) as doubles; another size is an error. */
attsvm_status experiments_trained(const attsvm_train *train, const char *name, double *out,
                                  int64_t count, attsvm_error *err);

/* Solves the problem that the settings name for `alpha`, on the calling thread: theta (count), NAN
   where it is infeasible.  `info` may be NULL. */
attsvm_status experiments_solve(const attsvm_data *data, const attsvm_svm_settings *settings,
                                const int64_t *alpha, double *theta, int64_t count,
                                attsvm_svm_info *info, attsvm_error *err);

/* Number of records in a log-spaced trace of `steps` steps. */
int64_t experiments_log_records(int64_t steps);

/* ------------------------------------------------------------- small prompt problems */

enum { EXPERIMENTS_MOST_D = 64 };

/* n sequences of T tokens, and a descent on p (and v) from a start value.  Arrays are borrowed. */
typedef struct experiments_prompt {
    const experiments_setup *setup;
    int64_t n, T, d;
    const double *X; /* (n,T,d)                                            */
    const double *Y; /* (n)                                                */
    const double *W; /* (d,d), NULL: identity                              */
    const double *v; /* (d), fixed head or start of v                      */
    const double *p; /* (d), start                                         */
    bool trains_v;
    const char *step;      /* "ngd", "gd", ...                                   */
    const char *loss;      /* NULL: logistic                                     */
    double lr, eps, eps_v; /* eps 0: exact normalised steps                      */
    int64_t steps;
} experiments_prompt;

/* The same for a prompt problem: X, Y, W, v and the start. */
attsvm_status experiments_add_prompt(experiments_arrays *out, const experiments_prompt *q,
                                     attsvm_error *err);

/* Exact descent: trace_p, trace_v (steps+1, d); softmax (steps+1, n) of the selected token;
   trace_v and softmax may be NULL. */
attsvm_status experiments_exact(const experiments_prompt *q, double *trace_p, double *trace_v,
                                double *softmax, attsvm_error *err);
/* The same steps with the textbook gradient in float (single) or double; logistic loss, ngd. */
attsvm_status experiments_naive(const experiments_prompt *prompt, bool single, double *trace_p,
                                double *trace_v, attsvm_error *err);
/* The textbook gradient in p alone at prompt->p, in float or double, into g (d). */
attsvm_status experiments_naive_gradient(const experiments_prompt *prompt, bool single, double *g,
                                         attsvm_error *err);
/* The SVM of `kind` (P, V, JOINT) for alpha (n) into theta (d). */
attsvm_status experiments_prompt_svm(const experiments_prompt *q, attsvm_problem_kind kind,
                                     const int64_t *alpha, double *theta, attsvm_error *err);
/* argmax_t of the logits X_i W'p of sequence i. */
int64_t experiments_argmax(const experiments_prompt *q, int64_t i, const double *p);

/* ---------------------------------------------------- samples: unit vectors, trained */

/* Data set number k of a shape: unit tokens and queries, random labels, head v or ReLU layer V. */
typedef struct experiments_sample {
    const experiments_setup *setup;
    int64_t n, T, d, h; /* h: units of the ReLU head, 0: linear head           */
    double *X, *Z, *Y, *v, *V;
    int64_t seed; /* of the start values                                       */
    attsvm_data *data;
    struct experiments_known *known; /* norms of the SVM solutions so far      */
    int64_t known_count;
    size_t known_room;
    void *memory;
} experiments_sample;

attsvm_status experiments_sample_create(experiments_sample *u, const experiments_setup *setup,
                                        int64_t n, int64_t T, int64_t d, int64_t h, int64_t k,
                                        attsvm_error *err);
void experiments_sample_free(experiments_sample *u);

/* Creates a run from Uniform(1/sqrt(d)). `published`: with the eps rule and, for K and Q, the
   ridge. */
attsvm_status experiments_sample_train(const experiments_sample *u, attsvm_model_kind kind,
                                       const char *step, bool published, const char *record,
                                       int64_t iters, attsvm_train **out, attsvm_error *err);
/*
 * Continues the run to `first` steps, then doubles the steps until the margin efficiency in `norm`
 * changes by less than 1e-3, up to `cap` steps. The run must not be recorded. *efficiency is the
 * final value.
 */
attsvm_status experiments_settle(experiments_sample *s, attsvm_train *run, const char *norm,
                                 int64_t first, int64_t cap, double *efficiency, attsvm_error *err);
/* A job over data sets k and rules: run_rule for each rule on the unit data set number k. */
typedef attsvm_status experiments_rule_run(const void *job, experiments_sample *s, int64_t k,
                                           int rule, attsvm_error *err);
attsvm_status experiments_each_rule(const void *job, const experiments_setup *setup, int64_t n,
                                    int64_t T, int64_t d, int64_t k, int rules,
                                    experiments_rule_run *run_rule, attsvm_error *err);
/* Final margin efficiency (theory 3) in a norm, by the SVM of the selected tokens. */
attsvm_status experiments_efficiency(experiments_sample *s, const attsvm_train *run,
                                     const char *norm, double *out, attsvm_error *err);
/* The W-SVM of alpha (n) in a norm ("fro", "lq:3") into theta (d x d); info may be NULL. */
attsvm_status experiments_sample_solve(const experiments_sample *u, const char *norm,
                                       const int64_t *alpha, double *theta, attsvm_svm_info *info,
                                       attsvm_error *err);

/* ------------------------------------------------------------------- review sentences */

/* The built-in sentences (examples/reviews.txt) with a random unit vector for each word. */
typedef struct experiments_reviews {
    int64_t n, d, words;
    int64_t *Y, *offsets, *tokens; /* (n), (n+1), (offsets[n]) */
    double *E;                     /* (words,d)                */
    char (*word)[32];
    void *memory;
} experiments_reviews;

attsvm_status experiments_reviews_create(experiments_reviews *reviews, int64_t d, int64_t seed,
                                         attsvm_error *err);
/* Borrows from `reviews`. */
attsvm_status experiments_reviews_data(const experiments_reviews *reviews, attsvm_data **out,
                                       attsvm_error *err);
void experiments_reviews_free(experiments_reviews *reviews);

/* ------------------------------------------------------------------------------ reading */

typedef struct experiments_view {
    const double *x; /* row-major */
    int64_t shape[ATTSVM_MAX_DIMS];
    int ndim;
    int64_t count;
} experiments_view;

/* The array of that name; a missing array is an error. */
attsvm_status experiments_get(const experiments_result *result, const char *name,
                              experiments_view *out, attsvm_error *err);

/* Adds a key number, which expected/ID.json may check; texts are copied. */
void experiments_number(experiments_numbers *out, const char *key, double value,
                        const char *meaning);
/* Appends a sentence to the findings. */
void experiments_finds(experiments_numbers *out, const char *format, ...) BASE_PRINTF(2, 3);

/* Angle between two vectors in degrees, accurate for small angles too. */
double experiments_angle(const double *a, const double *b, int64_t count);

/* Mean and sample standard deviation of the finite values among x[0], x[stride], ... */
void experiments_mean(const double *x, int64_t count, int64_t stride, double *mean,
                      double *deviation);

/* ------------------------------------------------------- from a run to its files */

attsvm_status experiments_arrays_create(experiments_arrays **out, attsvm_error *err);
void experiments_arrays_free(experiments_arrays *arrays);
attsvm_status experiments_arrays_write(const experiments_arrays *arrays, const experiment *e,
                                       const experiments_setup *setup, const char *path,
                                       attsvm_error *err);
attsvm_status experiments_result_read(experiments_result **out, const experiment *e,
                                      const char *path, attsvm_error *err);
void experiments_result_free(experiments_result *result);
/* How it was run: runs, seed, disturb, disturb_seed. */
experiments_setup experiments_result_setup(const experiments_result *result);

void experiments_numbers_free(experiments_numbers *numbers);
/* Compares with expected/ID.json and, for a run of the published size with seed 0, with
   expected/own.json. *failed counts the numbers that differ. */
attsvm_status experiments_compare(const experiment *e, experiments_numbers *numbers,
                                  const experiments_setup *setup, int64_t *failed,
                                  attsvm_error *err);

attsvm_status experiments_json_write(const experiments_outcome *outcome, const char *path,
                                     attsvm_error *err);
/* `seconds` of an earlier run; NAN if there is none. */
double experiments_json_seconds(const char *path);

#endif
