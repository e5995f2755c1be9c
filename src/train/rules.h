/* Step rules (theory 3): the table of rules, and the input of a step. */
#ifndef ATTSVM_TRAIN_RULES_H
#define ATTSVM_TRAIN_RULES_H

#include "model/model.h"

/* One step of one trained array.  Its gradient is exp(log_scale) g; an exact zero has log_scale =
   -INFINITY or g = 0. */
typedef struct train_block {
    double *theta;   /* rows x cols                                */
    const double *g; /* rows x cols                                */
    double log_scale;
    int64_t rows, cols, count;
    double *state;   /* rule->states x count, persists between steps */
    double *scale;   /* log-scale of the averages in `state`         */
    double *scratch; /* rule->scratch(rows, cols)                    */
    double lr, eps, parameter, max_step;
    int64_t iter;        /* steps done                                         */
    model_scaled excess; /* L - L*, at steps that are multiples of value_every */
    double min_margin;   /* smallest logit distance, at the same steps         */
} train_block;

/* To add a rule: one or two functions and a line of the table in rules.c. */
typedef struct train_rule {
    const char *flag;
    const char *norm;                 /* of the SVM that theory predicts; "": no prediction   */
    double standard, lowest, highest; /* number after the colon; lowest > highest: takes none */
    double eps;                       /* default; NAN: the rule takes none                    */
    bool takes_lstar;
    int states;          /* vectors of state                                      */
    int64_t value_every; /* steps between two uses of excess, min_margin; 0: none */
    int64_t (*scratch)(int64_t rows, int64_t cols);
    void (*start)(const train_block *b); /* sets the state from theta */
    attsvm_status (*step)(const train_block *b, attsvm_error *err);
} train_rule;

extern const train_rule train_rules[]; /* ends with a flag NULL */

/* "nmd:3" into rule and number. */
attsvm_status train_rule_find(const char *text, const train_rule **rule, double *parameter,
                              attsvm_error *err);
bool train_rule_is(const train_rule *rule, const char *flag);

/* |g|_2 of a gradient vector of moderate size. */
double train_norm(const double *g, int64_t count);

#endif
