/* small: the working set as a small dense problem, the input of the norms' solvers. */
#ifndef ATTSVM_SVM_SMALL_H
#define ATTSVM_SVM_SMALL_H

#include "dist/stop.h"
#include "la/la.h"
#include "svm/set/set.h"

#include <attsvm/attsvm.h>

/*
 * Rows A_r = u_r v_t', t = term[r], in working coordinates: u (rows x p), v (terms x q), term
 * ascending.  If equal[r], <A_r, W> = b_r and the multiplier is free; else >= and lambda_r >= 0.
 */
typedef struct svm_small {
    int64_t rows, terms, p, q;
    double *u, *v, *b;
    double *length; /* (rows) |A_r|                          */
    int64_t *term;
    uint8_t *equal;
    int64_t *equality, equals; /* the equalities, ascending; their number */
    dist_stop *stop;           /* asked between steps; true ends the core with its best so far */
    int64_t most;              /* iterations of the phase                                      */
    bool *spent;               /* set if a core would need one more, or makes no progress      */
    /* of a problem made from a set */
    int64_t d;
    bool matrix;
    int64_t *slot;            /* (rows) of the set                                                */
    double *left, *right;     /* bases (p x d), (q x d) of the coordinates; NULL: the identity    */
    double *W_lo, *lambda_lo; /* low parts of what a core gives, and whether there are any    */
    bool *refined;
    void *memory;
} svm_small;

/* The rows of the set, by term and token; `reduce`: in coordinates of the spans of matrix rows.
   Equalities implied by others are omitted and marked in set->implied. */
attsvm_status svm_small_create(svm_small *part, svm_set *set, bool reduce, attsvm_error *err);
void svm_small_free(svm_small *part);
/* theta (d x d or d) to W (p x q) and back; W has room for p q + p d, scratch p d. */
void svm_small_project(const svm_small *part, const double *theta, double *W);
void svm_small_expand(const svm_small *part, const double *W, double *theta, double *scratch);

/* Whether the core should end. */
bool svm_small_stopped(const svm_small *part);
/* Whether the core may take a step; counts it. */
bool svm_small_step(const svm_small *part, int64_t *iterations);

/* S (p x q) = sum_r lambda_r u_r v_r'; scratch (terms x p). */
void svm_small_sum(const svm_small *part, const double *lambda, double *S, double *scratch);
/* The same in double-double, rounded at the end; scratch (2 terms x p + p x q). */
void svm_small_sum_exact(const svm_small *part, const double *lambda, double *S, double *scratch);
/* y[r] = u_r' G v_r, G p x q with row stride ldg; scratch (terms x p). */
void svm_small_apply(const svm_small *part, const double *G, int64_t ldg, double *y,
                     double *scratch);
/* The same in double-double, rounded at the end, G without gaps; scratch (2 terms x p). */
void svm_small_apply_exact(const svm_small *part, const double *G, double *y, double *scratch);
/*
 * Approximate cost of satisfying the equalities that are violated by c_r = scale margin_r - b_r:
 * their price |lambda_r c_r|, and |c_r| / |A_r| for the part of the move outside the spaces of
 * theta.
 */
double svm_small_missed(const svm_small *part, const double *lambda, const double *margin,
                        double scale);
/* A_r / |A_r| as a matrix (p x q). */
void svm_small_unit_row(const svm_small *part, int64_t r, double *A);
/* G (equals x equals, lower): <A_r, A_s> of the equalities. */
void svm_small_equality_gram(const svm_small *part, double *G);
/* Moves W onto the equalities (independent, b in the given unit) by the smallest change. */
attsvm_status svm_small_meet_equalities(const svm_small *part, double unit, double *W,
                                        attsvm_error *err);
/*
 * The factor with which every row holds, or 0 if there is none: 1 / smallest margin over rows with
 * b = 1 (1 if an equality with e != 0 forbids scaling), provided that rows with b = 0 hold in the
 * sense of theory 4.1 and equalities nearly hold.  size: |theta|.
 */
double svm_small_scale(const svm_small *part, const double *margin, double size);

#endif
