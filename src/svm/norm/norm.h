/*
 * norm: solvers of the working set in every norm, and the norms themselves.  A norm sees stored
 * rows, never the data set.
 */
#ifndef ATTSVM_SVM_NORM_H
#define ATTSVM_SVM_NORM_H

#include "svm/norm/small.h"
#include "svm/set/set.h"

/* How a solve of the working set ended. */
typedef enum svm_end {
    SVM_SOLVED,        /* no row of the set is violated            */
    SVM_INFEASIBLE,    /* `entering` and `combination` prove it     */
    SVM_LIMIT,         /* too many changes                          */
    SVM_STOP,          /* `poll` said so                            */
    SVM_NEEDS_EXTENDED /* rounding decides: go on in double-double  */
} svm_end;

/* A norm.  Each is defined in the file of its solver, and has a line in the table of norms.c. */
typedef struct svm_norm {
    const char *flag; /* "nuc", as --norm takes it                                             */
    bool unique;      /* one minimiser: the support does not depend on the solver              */
    bool singular;    /* of the singular values: for vectors it is l2                          */
    double tol;       /* default relative gap                                                  */
    /* |x| (dual: its dual norm), x rows x columns; q is that of l_q */
    attsvm_status (*size)(double q, bool dual, const double *x, int64_t rows, int64_t columns,
                          double *out, attsvm_error *err);
    /* |delta z'|_dual (z NULL: of the vector delta): the product of the vectors' dual norms */
    double (*row_size)(double q, const double *delta, const double *z, int64_t d);
} svm_norm;

extern const svm_norm svm_norm_l2, svm_norm_fro, svm_norm_nuclear, svm_norm_spectral, svm_norm_lq,
    svm_norm_l1, svm_norm_linf;

/* The entry of an attsvm_norm. */
const svm_norm *svm_norm_named(int32_t norm);
/* The entry that solves it: l2 where the norm equals l2 (q = 2, singular values of a vector). */
const svm_norm *svm_norm_solved(const attsvm_svm_settings *settings, bool matrix);
/* |x| in the norm of the settings, and |delta z'|_dual. */
attsvm_status svm_norm_of(const attsvm_svm_settings *settings, bool dual, const double *x,
                          int64_t rows, int64_t columns, double *out, attsvm_error *err);
double svm_norm_of_row(const attsvm_svm_settings *settings, const double *delta, const double *z,
                       int64_t d);

/* Entries that several norms have: of l2, and the sum or the largest of the singular values. */
attsvm_status svm_norm_euclidean(double q, bool dual, const double *x, int64_t rows,
                                 int64_t columns, double *out, attsvm_error *err);
double svm_norm_euclidean_row(double q, const double *delta, const double *z, int64_t d);
attsvm_status svm_norm_singular(bool sum, const double *x, int64_t rows, int64_t columns,
                                double *out, attsvm_error *err);

/* -------------------------------------------------------------- interior points */

/* M (order p + q) = [t I, factor W; factor W', t I], W p x q. */
void interior_lift(int64_t p, int64_t q, double t, double factor, const double *W, double *M);
double interior_trace(int64_t n, const double *M);
/* M = (M + M')/2, n x n. */
void interior_symmetrise(int64_t n, double *M);
/* Independent rows of Q (rows x n) made orthonormal. */
void interior_orthonormal(int64_t rows, int64_t n, double *Q);
/* x <- P x, P = I - Q'Q. */
void interior_project_vector(int64_t n, double *x, int64_t rows, const double *Q);
/* K <- P K P + kappa Q'Q, kappa the mean of its diagonal (K given lower); QK (rows x n), scratch
   (rows). */
void interior_project_matrix(int64_t n, double *K, int64_t rows, const double *Q, double *QK,
                             double *scratch);
/* Largest step in 0..1 that keeps x + step dx >= 0 on the inequalities. */
double interior_ray_step(const svm_small *part, const double *x, const double *dx);
/* Largest step in 0..1 that keeps L L' + step dM positive definite; scratch (n x n), eig (n). */
double interior_cone_step(int64_t n, const double *L, const double *dM, double *scratch,
                          double *eig);
/*
 * Cholesky factor of A (n x n, lower), in place; where rounding makes A indefinite, of A with its
 * diagonal raised by the least of 1e-15, 1e-14, ... 1e-7 (relative) that helps; d (n) is scratch.
 */
bool interior_cholesky_shifted(int64_t n, double *A, double *d);
/*
 * Lower triangle of H_rs (rows x rows, stride ldh), for symmetric F, G of order p + q:
 * H_rs = tr(B_r F B_s G) made symmetric, B_r = [0 A_r; A_r' 0].
 */
typedef struct interior_schur {
    double *FU, *GU, *block_f, *block_g; /* rows x p twice, INTERIOR_SCHUR_BLOCK x rows twice */
    double *Fvu, *Gvu, *Fvv, *Gvv;       /* terms x rows twice, terms x terms twice      */
    double *side;                        /* terms x (p + q)                              */
} interior_schur;
enum { INTERIOR_SCHUR_BLOCK = 96 };
void interior_schur_layout(interior_schur *work, arena *a, int64_t rows, int64_t terms, int64_t p,
                           int64_t q);
void interior_schur_form(const interior_schur *work, const svm_small *part, const double *F,
                         const double *G, double *H, int64_t ldh);

/* ------------------------------------------------------------------- nuclear */
/* The best proof so far: W (p x q), lambda (rows). */
typedef struct svm_nuclear_point {
    double *W, *lambda;
    double gap;
    int64_t rank;
    bool polished;
} svm_nuclear_point;

/* Newton from (lambda, w, W); changes the point only where the gap falls. */
attsvm_status svm_nuclear_newton(const svm_small *part, const double *lambda, const double *w,
                                 const double *W, double primal, svm_nuclear_point *point,
                                 attsvm_error *err);

/* min |W|_* over the part from a feasible W0 (p x q), to relative gap `enough` or the best. */
attsvm_status svm_nuclear_core(const svm_small *part, const double *W0, double enough,
                               svm_nuclear_point *point, int64_t *iterations, attsvm_error *err);

/* min |W|_2 over the part from a feasible W0, to relative gap tol or as far as rounding allows. */
attsvm_status svm_spectral_core(const svm_small *part, const double *W0, double tol, double *W,
                                double *lambda, double *gap, int64_t *iterations,
                                attsvm_error *err);

/*
 * One Newton step of W (p x q) and lambda (rows) on the equations of the optimum, where W has its
 * largest singular value `rank` times and the rows in play (1, others 0) are equal; A (rows x p q)
 * and b are those of the part, scaled.  Problems too large for it are left as they are.
 */
attsvm_status svm_spectral_newton(const svm_small *part, const double *A, const double *b,
                                  const uint8_t *play, int64_t rank, double *W, double *lambda,
                                  attsvm_error *err);

/* ----------------------------------------------------------------------- l_q */

/* (sum |x|^q)^(1/q) without overflow on the way. */
double svm_lq_norm(const double *x, int64_t count, double q);
/*
 * min |W|_q over the part, from theta0 (p x q; best a feasible point), to relative gap tol or as
 * far as rounding allows: theta (p x q), lambda (rows) with |sum lambda A|_q' = 1.
 */
attsvm_status svm_lq_core(const svm_small *part, double q, const double *theta0, double tol,
                          double *theta, double *lambda, int64_t *iterations, attsvm_error *err);

/*
 * Newton from the result of svm_lq_core, where it leaves in doubt which rows are tight; *decided
 * false: it still does.  Changes theta and lambda only where the gap is no worse for it.
 */
attsvm_status svm_lq_newton(const svm_small *part, double q, double *theta, double *lambda,
                            bool *decided, attsvm_error *err);

/* Workspace of dense_qp_solve, for parts of that many rows and, with q = 1, p = size. */
typedef struct dense_qp {
    int64_t size, most;    /* of x; of rows that can be active                       */
    int64_t count;         /* rows in S                                              */
    int64_t *active;       /* (most) these rows                                      */
    uint8_t *held;         /* (rows) 1: in S                                         */
    double *Q, *L;         /* most x size, most x most: A_S = L Q                    */
    double *lambda;        /* (most)                                                 */
    double *w, *r, *z;     /* of the row that enters, (most), (most), (size)         */
    double *margin, *norm; /* (rows) a_r'x, |a_r|                                  */
} dense_qp;
void dense_qp_layout(dense_qp *s, arena *a, int64_t rows, int64_t size);
/*
 * x (p) of least length over the rows of the part (q = 1, v = 1, no equalities); false where there
 * is none, or the core was stopped.  The active rows of the last solution are where the next one
 * begins, unless count = 0.
 */
bool dense_qp_solve(dense_qp *work, const svm_small *part, double *x, int64_t *iterations);

/*
 * min |W|_1 or |W|_inf over the part, W0 of its size; *solved: Clp reports an optimum.  Otherwise W
 * is the best that there was on the way, or as it was, and lambda belongs to it or is 0.
 */
attsvm_status svm_linear_program(const svm_small *part, bool l1, const double *W0, double *W,
                                 double *lambda, bool *solved, int64_t *iterations,
                                 attsvm_error *err);

/* ------------------------------------------------------------------ rank limit */

/*
 * A local minimum of rank rho over the part, from the convex W0, or from a local minimum over some
 * of its rows (or NULL); *stationary: it is one.  W = 0 where no start led to positive margins.
 */
attsvm_status svm_rank_core(const svm_small *part, bool nuclear, int64_t rho, const double *W0,
                            const double *from, uint64_t seed, double *W, bool *stationary,
                            int64_t *iterations, attsvm_error *err);

#endif
