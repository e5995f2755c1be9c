/*
 * rows: the constraints, computed from the data and never stored.  Only this folder distinguishes
 * the problems p, v, joint, W, multi and finite.
 */
#ifndef ATTSVM_SVM_ROWS_H
#define ATTSVM_SVM_ROWS_H

#include "data/reader.h"

/* Whether theta is d x d and its rows need queries: W, multi, finite. */
bool svm_rows_need_matrix(const attsvm_svm_settings *settings);
/* Terms of the problem: with the queries of a W problem, without queries otherwise. */
attsvm_status svm_rows_terms(data_terms *out, const attsvm_data *data,
                             const attsvm_svm_settings *settings, attsvm_error *err);

typedef enum svm_row_kind {
    SVM_NO_ROW,    /* the base token itself, or a token merged with it          */
    SVM_AT_LEAST,  /* <A, theta> >= b                                           */
    SVM_EQUAL,     /* <A, theta> = b                                            */
    SVM_EMPTY,     /* A = 0 and b = 0, not merged: holds for every theta        */
    SVM_IMPOSSIBLE /* A = 0 and b != 0: the token has the key of the base token */
} svm_row_kind;

/*
 * The constraint rows of a problem, by term and rival token t against the base token beta of the
 * term (alpha, or the lowest index of the set O):
 *
 *   p, joint      A = W (x_beta - x_t)          theta in R^d, W the key map of the data
 *   v             A = Y x_alpha                 theta in R^d, one row per term, with t = alpha
 *   W and others  A = (x_beta - x_t) z'         theta in R^{d x d}
 *
 * Margins of a term come from its logits, X_i u with u = W' theta or theta z.
 */
typedef struct svm_rows {
    const attsvm_data *data;
    data_terms terms;
    int32_t problem;        /* attsvm_problem_kind                                    */
    bool matrix;            /* theta is d x d, and rows are rank one                  */
    bool strict;            /* duplicates of the base token are rows                  */
    bool merge_needs_score; /* only duplicates with the same score are merged         */
    int64_t d, size;        /* size of theta: d or d*d                                */
    double *keymap;         /* (d,d) or NULL                                          */
    data_head head;         /* if `merge_needs_score`                                 */
    int64_t *base;          /* (terms) base token                                     */
    uint8_t *b_is_zero;     /* (terms) 1: b = 0; NULL: all b = 1                      */
    uint8_t *sets;          /* (cells) or NULL: one row of T_i for each term          */
    double *softmax;        /* (cells) or NULL                                        */
    int64_t *cell;          /* (n) first cell of a sequence; with `sets`              */
    int64_t cells;
} svm_rows;

/* Copies the selection.  Call svm_rows_free also on failure. */
attsvm_status svm_rows_create(svm_rows *rows, const attsvm_data *data,
                              const attsvm_selection *selection,
                              const attsvm_svm_settings *settings, attsvm_error *err);
void svm_rows_free(svm_rows *rows);

typedef struct svm_term {
    int64_t term, i, q, base, visible;
    int64_t cell; /* of token 0, if there are sets */
    bool b_is_zero;
} svm_term;

svm_term svm_rows_term(const svm_rows *rows, int64_t term);
/* The kind of row of token t, without a test for duplicates. */
svm_row_kind svm_rows_kind(const svm_rows *rows, const svm_term *term, int64_t t);
/* The same after comparing keys: SVM_NO_ROW if merged (or for 0 = 0), otherwise SVM_EMPTY or
   SVM_IMPOSSIBLE if A = 0; scratch (2d). */
svm_row_kind svm_rows_resolve(const svm_rows *rows, const svm_term *term, int64_t t,
                              double *scratch);
double svm_rows_rhs(const svm_rows *rows, const svm_term *term, int64_t t);
/* delta of the row (d) in double-double: A, or A = delta z'; scratch (2d). */
void svm_rows_delta(const svm_rows *rows, const svm_term *term, int64_t t, double *hi, double *lo,
                    double *scratch);
/* z (d) of a matrix problem. */
void svm_rows_query(const svm_rows *rows, const svm_term *term, double *z);
/* u (d) with logits X_i u: W' theta or theta z; z is scratch that receives the query. */
void svm_rows_direction(const svm_rows *rows, const svm_term *term, const double *theta, double *z,
                        double *u);
/* The same in double-double. */
void svm_rows_direction_exact(const svm_rows *rows, const svm_term *term, const double *hi,
                              const double *lo, double *z, double *u_hi, double *u_lo);
/*
 * The tokens of the rows of a term, from number *first on: those that its query sees; for v
 * problems only the selected one.
 */
la_rows svm_rows_tokens(const svm_rows *rows, const svm_term *term, int64_t *first);
/* Number of rows, including equalities and duplicates. */
int64_t svm_rows_count(const svm_rows *rows);

#endif
