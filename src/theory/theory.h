/*
 * theory: what attention selects, and how it compares with the max-margin problems (theory 5 and
 * 6).  Scores, margins, support tokens, optimality, verdicts, conditions, several tokens.
 * Subfolders: enumeration of local optima, joint training, paths, graphs.
 */
#ifndef ATTSVM_THEORY_H
#define ATTSVM_THEORY_H

#include "dist/stop.h"
#include "svm/svm.h"
#include "train/train.h"

/* ------------------------------------------------------------------------ scores */

/* gamma of token t of a term is label[term] * value[first token of the sequence + t]. */
struct attsvm_scores {
    const attsvm_data *data;
    data_terms terms;
    dist_comm *comm;          /* ranks that share the sequences; NULL: one process                */
    int64_t lo, hi;           /* sequences of this rank                                           */
    int64_t term_lo, term_hi; /* their terms                                                      */
    double *keymap; /* (d,d) of the prompt problems, or NULL; decides which tokens are copies */
    double *value;  /* (tokens) h(x), only for sequences lo..hi-1                       */
    int8_t *label;  /* (terms)                                                          */
};

/* The same with terms, key map and head of a model at theta. */
attsvm_status theory_scores_of_model(attsvm_scores **out, const attsvm_train *run,
                                     attsvm_error *err);

/* Whether tokens a and t of sequence i are copies: the same key and score. */
bool theory_is_copy(const attsvm_scores *scores, int64_t i, int64_t a, int64_t t);

/* ------------------------------------------------------------- margins of a theta */

/* The rows of a claim's problem, including the right-hand sides of a joint one.  On success the
   caller frees them with svm_rows_free. */
attsvm_status theory_rows_of(svm_rows *rows, const attsvm_data *data, const attsvm_claim *claim,
                             attsvm_error *err);

/* Logits of one term and exact margins of its rows at theta; the caller frees the memory. */
typedef struct theory_margins {
    const svm_rows *rows;
    const double *theta;
    double *zero;           /* (size) the low part of theta                      */
    double *z, *u, *u_lo;   /* (d) query; direction of the logits                */
    double *a, *square;     /* (T) logits, |x|^2                                 */
    double *hi, *lo, *more; /* (d), (d), (2d): one row                           */
    double doubt;           /* bound on the rounding error of a margin in double */
    void *memory;
} theory_margins;

attsvm_status theory_margins_create(theory_margins *m, const svm_rows *rows, const double *theta,
                                    attsvm_error *err);
/* Logits of a term, X_i u, into a. */
void theory_margins_visit(theory_margins *m, const svm_term *term);
/* <A, theta> of one row in double-double. */
double theory_margins_exact(theory_margins *m, const svm_term *term, int64_t t);

/*
 * Smallest <A_r, theta> over the rows with b = 1 (*min_margin; INFINITY: no such row) and over
 * those with b = 0 (*min_zero_margin).
 */
attsvm_status theory_margins_min(const svm_rows *rows, const double *theta, double *min_margin,
                                 double *min_zero_margin, attsvm_error *err);

/* The angle between a and b in degrees, accurate near 0; NAN if one of them is 0. */
double theory_angle(const double *a, const double *b, int64_t count);

/* Refuses soft margins and rank limits: optimality is defined for neither (theory 5). */
attsvm_status theory_check_hard(const attsvm_svm_settings *svm, attsvm_error *err);

/* Tight rows are those with <A, theta> <= b + this * max(1, |b|) (theory 4); b is 0 or 1 here. */
#define THEORY_TIGHT 1e-7

/* Y_i x_i,token' v in double-double: the row of sequence i in the v-SVM; x (d) is scratch. */
double theory_head_margin(const attsvm_data *data, int64_t i, int64_t token, const double *v,
                          double *x);
/*
 * The smallest |v|/|p| of a path that converges to the relaxed p-SVM (theory 6.8): for i not tight
 *
 *   ratio (Y_i v'x_i,alpha / |v| - Gamma) >= 1/|p_joint|,   v the v-SVM; 0 where all are tight.
 *
 * relaxed is |p_joint|; *tight counts the sequences that are tight in the v-SVM.
 */
attsvm_status theory_relaxed_ratio(const attsvm_data *data, const attsvm_selection *selection,
                                   const double *v, double relaxed, int64_t *tight, double *ratio,
                                   attsvm_error *err);

/* ------------------------------------------------------------------------ solving */

/*
 * Creates the problem of a selection, solves it and frees it.  `stop` (NULL: none) ends it early,
 * with a solution that is stalled.
 */
attsvm_status theory_solve(const attsvm_data *data, const attsvm_selection *selection,
                           const attsvm_svm_settings *settings, dist_stop *stop,
                           attsvm_solution **out, attsvm_error *err);

/*
 * The data set whose rows a run's SVM has: where W is trained with a prompt its fixed key map does
 * not count, and the tokens themselves are the keys.  May borrow from `view`.
 */
const attsvm_data *theory_data_of(const attsvm_train *run, data_view *view);

#endif
