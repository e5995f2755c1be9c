/*
 * train: one loop, step rules from a table, stopping, trace, checkpoints (theory, section 3).
 */
#ifndef ATTSVM_TRAIN_H
#define ATTSVM_TRAIN_H

#include "io/io.h"
#include "model/model.h"

/* ------------------------------------------------------------------ step rules */

/* One step of one block.  Its gradient is exp(log) g; an exact zero has log = -INFINITY or g = 0.
 */
typedef struct train_step {
    double *theta;   /* rows x cols                                */
    const double *g; /* rows x cols                                */
    double log;
    int64_t rows, cols, count;
    double *state;   /* rule->states x count, kept between steps */
    double *scratch; /* rule->scratch(rows, cols)                */
    double lr, eps, parameter, max_step;
    int64_t iter;      /* steps done                               */
    model_scaled over; /* L - L*, where rule->values asks for it   */
    double gap;        /* smallest logit distance, likewise        */
} train_step;

/* A rule is one file and one line of the table in rules.c. */
typedef struct train_rule {
    const char *flag, *help;
    const char *norm;                 /* of the SVM that it leads to; "": no claim             */
    double standard, lowest, highest; /* number after the colon; lowest > highest: takes none  */
    bool takes_eps, takes_lstar;
    int states;     /* vectors of state                                      */
    int64_t values; /* `over` and `gap` are wanted every so many steps; 0: not */
    int64_t (*scratch)(int64_t rows, int64_t cols);
    void (*start)(const train_step *s); /* sets the state from theta                           */
    attsvm_status (*step)(const train_step *s, attsvm_error *err);
} train_rule;

extern const train_rule train_rule_gd, train_rule_ngd, train_rule_polyak, train_rule_md,
    train_rule_nmd, train_rule_sign, train_rule_coordinate, train_rule_spectral,
    train_rule_momentum, train_rule_adam, train_rule_rescale;
extern const train_rule *const train_rules[]; /* NULL-terminated */

/* "nmd:3" into rule and number. */
attsvm_status train_rule_find(const char *text, const train_rule **rule, double *parameter,
                              attsvm_error *err);

/* |g|_2 of a gradient vector of moderate size. */
double train_norm(const double *g, int64_t count);

/* theta -= length g/size, where length/size may be beyond the range of doubles. */
void train_move(const train_step *s, double length, double size);

/* ------------------------------------------------------------------------- run */

enum {
    TRAIN_DIRECTION_STEPS = 100,
    TRAIN_MOST_ARRAYS = 32,
    TRAIN_PACK_MOST = 8,
    TRAIN_NUMBERS = 13
};

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
    int64_t *iter;                    /* (count)                                          */
    double *theta[MODEL_MOST_BLOCKS]; /* (count, block)                            */
    double *number[TRAIN_NUMBERS];    /* (count); NULL: the model has none         */
    double *softmax;                  /* (count, terms): attention of the selected token  */
    int64_t *ids;                     /* (count, terms); both on rank 0 alone             */
    void *memory;
} train_trace;

struct attsvm_train {
    attsvm_train_settings settings;
    char *texts; /* the texts of the settings, copied                */
    const attsvm_data *data;
    model *m;
    const train_rule *rule;
    double parameter, eps, eps_v, lstar;
    int64_t iter;
    double *theta, *gradient, *state, *scratch;
    double *direction;       /* theta/|theta| at the last multiple of 100 steps  */
    double direction_change; /* of the one before; NAN: none yet                 */
    bool has_direction;
    bool stood;             /* the gradient was zero once, and the reason was looked at */
    double earlier_seconds; /* of the runs that this one goes on from           */
    double start;
    int64_t *order;  /* mini-batches: permutation of this epoch          */
    int64_t epoch;   /* of `order`; -1: none                             */
    double *softmax; /* of all terms of this rank, at the end            */
    double *matrix;  /* d x d and d, for singular values; models with W  */
    train_trace trace;
    attsvm_train_info info;
    attsvm_named_array arrays[TRAIN_MOST_ARRAYS];
    int64_t arrays_count;
    void *memory;
};

/* Start values into t->theta. */
attsvm_status train_init(attsvm_train *t, attsvm_error *err);

/* The state of the step rule and the direction at the start values. */
void train_start(attsvm_train *t);
/* From the present state to the end, and the results. */
attsvm_status train_go_on(attsvm_train *t, attsvm_train_observer *observer, void *context,
                          attsvm_error *err);
/* Every 100 steps: how far the direction of the logit map moved. */
void train_follow_direction(attsvm_train *t);

/* Whether two runs may be done side by side; a run that fits itself may be in a pack. */
bool train_pack_fits(const attsvm_train *a, const attsvm_train *b);
/* Runs 1..LA_LANES runs that fit each other. */
attsvm_status train_pack_run(attsvm_train *const *runs, int64_t count, attsvm_error *err);

/* Number of records of a run of `iters` steps; whether iteration `iter` is one (the last always is,
   which the loop sees to). */
attsvm_status train_trace_create(attsvm_train *t, attsvm_error *err);
bool train_trace_wanted(const train_trace *trace, int64_t iter);
void train_trace_add(attsvm_train *t, const attsvm_train_info *info);

/* The run's arrays, from the state at its end.  With ranks, `softmax` has no data: each has its
   share, and they meet in the file. */
void train_results(attsvm_train *t);

/* Writes the state; reads it back where the file exists (otherwise nothing happens). */
attsvm_status train_checkpoint_write(const attsvm_train *t, attsvm_error *err);
attsvm_status train_checkpoint_read(attsvm_train *t, attsvm_error *err);

#endif
