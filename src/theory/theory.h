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
    double *keymap; /* (d,d) of the prompt problems, or NULL: tells copies */
    double *value;  /* (tokens) h(x)                                       */
    int8_t *label;  /* (terms)                                             */
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

/* <a,b>/(|a||b|), NAN where one of them is 0, and the angle in degrees, accurate near 0. */
double theory_correlation(const double *a, const double *b, int64_t count);
double theory_angle(const double *a, const double *b, int64_t count);

/* Tight rows are those with <A, theta> <= b + this * max(1, |b|) (theory 4). */
#define THEORY_TIGHT 1e-7

/* -------------------------------------------------------------------------- runs */

/* What the logits of a finished run see, as the SVM's theta: p, W, K Q', W'p.  Valid until the
   model is evaluated again. */
const double *theory_theta(const attsvm_train *run, int64_t *count);

/* A view of `data` without its key map W: shares all else, owns nothing but `arrays`. */
typedef struct theory_bare {
    attsvm_data data;
    attsvm_named_array *arrays;
} theory_bare;
attsvm_status theory_bare_create(theory_bare *out, const attsvm_data *data, attsvm_error *err);
void theory_bare_free(theory_bare *bare);

/* ------------------------------------------------------------------- enumeration */

extern const settings_table theory_enumerate_table;

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

#endif
