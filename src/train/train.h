/*
 * train: one loop, step rules from a table (rules.h), trace, checkpoints (theory, section 3).
 */
#ifndef ATTSVM_TRAIN_H
#define ATTSVM_TRAIN_H

#include "io/io.h"
#include "train/rules.h"

/* ------------------------------------------------------------------------- run */

enum { TRAIN_DIRECTION_STEPS = 100, TRAIN_MOST_ARRAYS = 32, TRAIN_NUMBERS = 13 };

/* A number kept at recorded iterations: where it is in attsvm_train_info. */
typedef struct train_number {
    const char *name; /* of its array */
    size_t offset;
    bool matrix; /* of models with a matrix only */
} train_number;

extern const train_number train_numbers[TRAIN_NUMBERS];
/* Whether runs of this model have number k. */
bool train_has_number(const model *m, int k);

/* What is kept at recorded iterations. */
typedef struct train_trace {
    int64_t every; /* 0: nothing; -1: log-spaced                      */
    int64_t capacity, count;
    int64_t *iter;                        /* (count)                                          */
    double *theta[MODEL_MOST_PARAMETERS]; /* (count, block)                            */
    double *number[TRAIN_NUMBERS];        /* (count); NULL: the model has none         */
    double *softmax;                      /* (count, terms): attention of the selected token  */
    int64_t *ids;                         /* (count, terms); both on rank 0 alone             */
    void *memory;
} train_trace;

struct attsvm_train {
    attsvm_train_settings settings;
    char *texts; /* the texts of the settings, copied                */
    const attsvm_data *data;
    model *m;
    const train_rule *rule;
    double parameter, eps, eps_v, lstar;
    attsvm_schedule_callback schedule; /* value NULL: lr and decay of the settings    */
    int64_t iter;
    double *theta, *gradient, *state, *scratch;
    double *direction;       /* theta/|theta| at the last multiple of 100 steps  */
    double direction_change; /* of the one before; NAN: none yet                 */
    bool has_direction;
    bool zero_gradient_reported;
    bool restored;          /* from a file, without the state of the step rule                  */
    double earlier_seconds; /* of the runs that this one goes on from           */
    double start;
    int64_t *order;   /* mini-batches: permutation of this epoch          */
    int64_t epoch;    /* of `order`; -1: none                             */
    double *softmax;  /* of all terms of this rank, at the end            */
    double *matrix;   /* d x d and d, for singular values; models with W  */
    double *textbook; /* arithmetic other than exact: its work space             */
    double textbook_angle, textbook_wrong_norm;
    int64_t textbook_wrong; /* first step whose textbook gradient is wrong; -1: none */
    train_trace trace;
    attsvm_train_info info;
    attsvm_named_array arrays[TRAIN_MOST_ARRAYS];
    int64_t arrays_count;
    void *memory;
};

/* Start values into t->theta. */
attsvm_status train_start_values(attsvm_train *t, attsvm_error *err);

/* The state of the step rule and the direction at the start values. */
void train_start(attsvm_train *t);
/* From the present state to the end, and the results. */
attsvm_status train_continue(attsvm_train *t, attsvm_train_observer *observer, void *context,
                             attsvm_error *err);

/* A run whose parameters and trace were read: its state at the end, and the results. */
attsvm_status train_restore(attsvm_train *t, int64_t iters, attsvm_train_outcome outcome,
                            attsvm_error *err);

/* Seconds of the run, earlier parts included. */
double train_seconds(const attsvm_train *t);
/* Parameters and gradient are finite; otherwise an error says what left the range of doubles. */
attsvm_status train_check_range(const attsvm_train *t, attsvm_error *err);
/* All numbers about the present state, whose full gradient was the last, into t->info. */
attsvm_status train_measure(attsvm_train *t, attsvm_error *err);
/* Nuclear norm and effective rank, which take 3 d^3 operations. */
attsvm_status train_measure_rank(attsvm_train *t, attsvm_error *err);
/* Every 100 steps: how far the direction of the logit map moved. */
void train_follow_direction(attsvm_train *t);

/* Degrees from which on the textbook's gradient is called wrong. */
#define TRAIN_TEXTBOOK_WRONG 1.0
/* Doubles of its work space; what it cannot do is refused. */
int64_t train_textbook_room(const model *m);
attsvm_status train_textbook_check(const attsvm_train *t, attsvm_error *err);
/* Replaces the exact gradient g of these sequences (NULL: all) by that of the textbook. */
void train_textbook_gradient(attsvm_train *t, const int64_t *sequences, int64_t count,
                             model_gradient *g);
/* theta as the type of the arithmetic stores it. */
void train_textbook_round(attsvm_train *t);

/* Whether a batch steps two runs side by side; a run that fits itself may be one of them. */
bool train_batch_fits(const attsvm_train *a, const attsvm_train *b);

/* Number of records of a run of `iters` steps; whether iteration `iter` is one (the last always is,
   which the loop sees to). */
attsvm_status train_trace_create(attsvm_train *t, attsvm_error *err);
/* Room for the records of a run of `iters` steps; those that there are stay. */
attsvm_status train_trace_extend(attsvm_train *t, int64_t iters, attsvm_error *err);
bool train_trace_wanted(const train_trace *trace, int64_t iter);
void train_trace_add(attsvm_train *t, const attsvm_train_info *info);

/* The run's arrays, from the state at its end.  With ranks, `softmax` has no data: each has its
   share, and they meet in the file. */
void train_results(attsvm_train *t);

/* Writes the state; reads it back where the file exists (otherwise nothing happens). */
attsvm_status train_checkpoint_write(const attsvm_train *t, attsvm_error *err);
attsvm_status train_checkpoint_read(attsvm_train *t, attsvm_error *err);

#endif
