/*
 * l2 and Frobenius norms: an exact dual active set on the working set, in double and in
 * double-double, with block pivoting or conjugate gradients for many rows.
 */
#ifndef ATTSVM_SVM_L2_H
#define ATTSVM_SVM_L2_H

#include "svm/norm/norm.h"

/*
 * Dual active set (Goldfarb and Idnani 1983) for
 *
 *   min 1/2 |theta|^2,  <A_r, theta> >= b_r,   dual: max b'l - 1/2 |sum l A|^2, 0 <= l <= upper
 *
 * over the rows of the set.  theta = sum l A always; rows of the active set S hold with equality; L
 * L' is the Gram matrix of S.  L, g, y, r are double, or double-double if `extended`.
 */
typedef struct l2_active_set {
    svm_phase *phase;
    svm_set *set;  /* of the phase                                              */
    bool extended; /* now; phase->extended asks for it                          */
    int64_t count, capacity;
    int32_t *active;            /* slots of S, in the order of L                  */
    void *L;                    /* (capacity,capacity), lower                     */
    void *g, *y, *r, *rotation; /* scratch                                        */
    double *coef, *coef_lo;     /* scratch                                        */
    double *combination;        /* r of an infeasible row                         */
    double *residual;           /* (residual_capacity) b - <A, theta> by slot     */
    int64_t residual_capacity;
    double *step, *step_lo; /* (size)                                                   */
    int64_t cycle_limit;    /* iteration count after which we assume the method cycles   */
    void *memory;           /* of L and its companions                                   */
    void *work;             /* scratch of block pivoting,                                */
    size_t work_size;       /* in bytes                                                  */
    int64_t cg_active;      /* active rows found by conjugate gradients; -1: they failed */
    int32_t *order;         /* (ordered) equalities as they enter; NULL: in their own order      */
    int64_t ordered;
    int64_t entering;     /* slot whose row cannot be satisfied        */
    double entering_sign; /* -1: an equality that was above its value  */
} l2_active_set;

attsvm_status l2_create(l2_active_set *e, svm_phase *phase, attsvm_error *err);
void l2_free(l2_active_set *e);
/* Runs until the set is solved; allocates first.  `exact`: also refines the multipliers. */
attsvm_status l2_run(l2_active_set *e, bool exact, svm_end *end, attsvm_error *err);
/* Whether conjugate gradients apply to the set. */
bool l2_cg_applies(const l2_active_set *e);
/* Solves it with them, `exact`: to the last digit; *solved false: no convergence. */
attsvm_status l2_cg_solve(l2_active_set *e, bool exact, bool *solved, attsvm_error *err);
/* Block pivoting towards the solution of the set, before a run. */
attsvm_status l2_block_pivoting(l2_active_set *e, attsvm_error *err);
/* Reserves memory for all rows of the set that can be active. */
attsvm_status l2_reserve(l2_active_set *e, attsvm_error *err);
/* Whether a problem with `rows` rows is soft and small enough to be stored for l2_soft_start. */
bool l2_soft_applies(const svm_set *set, int64_t rows);
/* Starts from an active set near the solution; the set must hold all rows. */
attsvm_status l2_soft_start(l2_active_set *e, attsvm_error *err);
/* Restarts from theta = 0. */
attsvm_status l2_restart(l2_active_set *e, attsvm_error *err);
/* The same, and from now on in double-double. */
attsvm_status l2_extend(l2_active_set *e, attsvm_error *err);
/* Multipliers and theta of S to double-double accuracy. *again: a multiplier was negative and its
   row left S, so the method must run again. */
svm_end l2_refine(l2_active_set *e, bool *again);
/* The contradicting rows as phase->proof, refined to the accuracy of double. */
attsvm_status l2_prove(l2_active_set *e, attsvm_error *err);
/* Whether to stop; cheap for most calls. */
bool l2_stopped(l2_active_set *e);

/* Margins of the set in double; returns |theta|. */
double l2_margins(l2_active_set *e);
svm_end l2_run_double(l2_active_set *e);
svm_end l2_run_extended(l2_active_set *e);
/* Chooses `order` for the double-double method. */
attsvm_status l2_order_equalities(l2_active_set *e, attsvm_error *err);
svm_end l2_enter_equalities(l2_active_set *e);
/* Smallest pivot, relative to |A|^2, of a row that block pivoting and the soft start add to S; the
   others are left to the active-set method. */
#define L2_CLEAR 1e-8
/* Adds row p to S unless its pivot is smaller. */
void l2_append(l2_active_set *e, int64_t p);
void l2_leave(l2_active_set *e, int64_t k);
void l2_solve_factored(l2_active_set *e, const double *rhs, double *x);
void l2_solve_extended(l2_active_set *e, const double *rhs, double *x); /* only if extended */

#endif
