/*
 * train: one loop, step rules from a table (rules.h), trace, checkpoints (theory 3).
 */
#ifndef ATTSVM_TRAIN_H
#define ATTSVM_TRAIN_H

#include "io/io.h"
#include "train/rules.h"

/* ------------------------------------------------------------------------- run */

enum { TRAIN_DIRECTION_STEPS = 100, TRAIN_MOST_ARRAYS = 32, TRAIN_NUMBERS = 13 };

/* A number recorded in the trace: its position in attsvm_train_info. */
typedef struct train_number {
    const char *name; /* of its array */
    size_t offset;
    bool matrix; /* only for models with a matrix */
} train_number;

extern const train_number train_numbers[TRAIN_NUMBERS];
/* Whether runs of this model have number k. */
bool train_has_number(const model *m, int k);

/* The records. */
typedef struct train_trace {
    int64_t every; /* 0: nothing; -1: log-spaced                      */
    int64_t capacity, count;
    int64_t *iter;                        /* (count)                                         */
    double *theta[MODEL_MOST_PARAMETERS]; /* (count, block)                                  */
    double *number[TRAIN_NUMBERS];        /* (count); NULL: the model has none               */
    double *softmax;                      /* (count, terms): attention of the selected token */
    int64_t *ids;                         /* (count, terms); both only on rank 0             */
    double *compared; /* (3, count) correlation, angle, efficiency; NULL: not compared       */
    void *memory;
} train_trace;

struct attsvm_train {
    attsvm_train_settings settings;
    char *texts; /* the texts of the settings, copied                */
    const attsvm_data *data;
    model *m;
    const train_rule *rule;
    double parameter;                  /* the number of the step rule, as 0.9 of momentum:0.9 */
    double eps, eps_v;                 /* of the attention parameters, and of v               */
    double lstar;                      /* given by the caller; NAN: known from the model      */
    attsvm_schedule_callback schedule; /* value NULL: lr and decay of the settings    */
    int64_t iter;
    double *theta, *gradient, *state, *scratch;
    double *direction;       /* theta/|theta| at the last multiple of 100 steps */
    double direction_change; /* from the previous one; NAN: none yet            */
    bool has_direction;
    bool zero_gradient_measured; /* see `record` of loop.c                               */
    bool restored;               /* read from a file, without the state of the step rule */
    double earlier_seconds;      /* of the earlier parts of this run                     */
    double start;                /* base_seconds() when this part began                  */
    int64_t *order;              /* mini-batches: permutation of this epoch              */
    int64_t epoch;               /* of `order`; -1: none                                 */
    double *softmax;             /* of all terms of this rank, at the end                */
    double *matrix;              /* d x d and d, for singular values; models with W      */
    double *textbook;            /* arithmetic other than exact: its work space          */
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
/* Continues from the current state to the end and computes the results. */
attsvm_status train_continue(attsvm_train *t, attsvm_train_observer *observer, void *context,
                             attsvm_error *err);

/* Restores the final state and results of a run whose parameters and trace were read. */
attsvm_status train_restore(attsvm_train *t, int64_t iters, attsvm_train_outcome outcome,
                            attsvm_error *err);

/* Seconds of the run, including earlier parts. */
double train_seconds(const attsvm_train *t);
/* Fails if parameters or gradient are not finite; the error names the entry. */
attsvm_status train_check_range(const attsvm_train *t, attsvm_error *err);
/* Fills t->info for the current state, whose full gradient was the last evaluation. */
attsvm_status train_measure(attsvm_train *t, attsvm_error *err);
/* Nuclear norm and effective rank, about 3 d^3 operations. */
attsvm_status train_measure_rank(attsvm_train *t, attsvm_error *err);
/* Every 100 steps: measures how far the direction of the logit map moved. */
void train_follow_direction(attsvm_train *t);

/* Angle, in degrees, above which the textbook gradient counts as wrong. */
#define TRAIN_TEXTBOOK_WRONG 1.0
/* Doubles of its work space; settings that it does not support are refused. */
int64_t train_textbook_room(const model *m);
attsvm_status train_textbook_check(const attsvm_train *t, attsvm_error *err);
/* Replaces the exact gradient g of these sequences (NULL: all) by that of the textbook. */
void train_textbook_gradient(attsvm_train *t, const int64_t *sequences, int64_t count,
                             model_gradient *g);
/* Rounds theta to the type of the arithmetic. */
void train_textbook_round(attsvm_train *t);

/* Whether a batch can step two runs together; (a, a): whether a can be in one. */
bool train_batch_fits(const attsvm_train *a, const attsvm_train *b);

/* Allocates the records. */
attsvm_status train_trace_create(attsvm_train *t, attsvm_error *err);
/* Extends the records to a run of `iters` steps; existing ones stay. */
attsvm_status train_trace_extend(attsvm_train *t, int64_t iters, attsvm_error *err);
/* Whether iteration `iter` is recorded; the loop always records the last. */
bool train_trace_wanted(const train_trace *trace, int64_t iter);
void train_trace_add(attsvm_train *t, const attsvm_train_info *info);

/* The arrays of the finished run.  With several ranks `softmax` has no data: each rank has its
   share, and the file combines them. */
void train_results(attsvm_train *t);
/* Adds the records' correlation, angle and efficiency: values (3, count), which the run then owns.
 */
void train_put_comparison(attsvm_train *t, double *values);

/* Writes the state; reads it if the file exists. */
attsvm_status train_checkpoint_write(const attsvm_train *t, attsvm_error *err);
attsvm_status train_checkpoint_read(attsvm_train *t, attsvm_error *err);

#endif
