/* Numerical cores of the norms other than l2, on rows in plain arrays. */
#ifndef ATTSVM_CORES_H
#define ATTSVM_CORES_H

#include "base/base.h"

/*
 * Rows A_r = u_r v_t', t = term[r], in working coordinates: u (rows x p), v (terms x q), term
 * ascending.  Where equal[r], <A_r, W> = b_r and the multiplier is free; else >= and lambda_r >= 0.
 */
typedef struct svm_part {
    int64_t rows, terms, p, q;
    double *u, *v, *b;
    int64_t *term;
    uint8_t *equal;
} svm_part;

/* S (p x q) = sum_r lambda_r u_r v_r'; scratch (terms x p). */
void svm_part_sum(const svm_part *part, const double *lambda, double *S, double *scratch);
/* y[r] = u_r' G v_r, G p x q with row stride ldg; scratch (terms x p). */
void svm_part_apply(const svm_part *part, const double *G, int64_t ldg, double *y, double *scratch);
/* M = (M + M')/2, n x n. */
void svm_symmetrise(int64_t n, double *M);
/* Largest step in 0..1 that keeps L L' + step dM positive definite; scratch (n x n), eig (n). */
double svm_cone_step(int64_t n, const double *L, const double *dM, double *scratch, double *eig);
/*
 * Cholesky factor of A (n x n, lower), in place; where rounding makes A indefinite, of A with its
 * diagonal raised by the least of 1e-15, 1e-14, ... 1e-7 (relative) that helps; d (n) is scratch.
 */
bool svm_cholesky_shifted(int64_t n, double *A, double *d);
/*
 * The factor that makes every row hold, or 0 where none does: 1/least margin over rows with b = 1
 * (at least; 1 where an equality with e != 0 forbids scaling), after rows with b = 0 and equalities
 * were found to hold within theory 4.1.  norms (rows): |A_r|, size: |theta|.
 */
double svm_part_scale(const svm_part *part, const double *margin, const double *norms, double size);
/*
 * Lower triangle of H_rs (rows x rows, stride ldh), for symmetric F, G of order p + q:
 * H_rs = tr(B_r F B_s G) made symmetric, B_r = [0 A_r; A_r' 0].
 */
typedef struct svm_schur {
    double *FU, *GU, *block_f, *block_g; /* rows x p twice, SVM_SCHUR_BLOCK x rows twice */
    double *Fvu, *Gvu, *Fvv, *Gvv;       /* terms x rows twice, terms x terms twice      */
    double *side;                        /* terms x (p + q)                              */
} svm_schur;
enum { SVM_SCHUR_BLOCK = 96 };
void svm_schur_layout(svm_schur *work, arena *a, int64_t rows, int64_t terms, int64_t p, int64_t q);
void svm_schur_form(const svm_schur *work, const svm_part *part, const double *F, const double *G,
                    double *H, int64_t ldh);

/* ------------------------------------------------------------------- nuclear */

typedef struct svm_nuclear {
    const svm_part *part;
    int64_t order;                       /* p + q */
    double *lambda, *w;                  /* rows: multipliers; slacks <A,W> - b, 0 for equalities */
    double *X, *Z;                       /* order^2 */
    double mu, primal, dual, infeasible; /* tr X, b'lambda, largest |rp| / max(1,|b|) */
    int64_t iterations;
    /* work */
    double *Zinv, *dX, *dZ, *dXa, *dZa, *L, *T1, *T2, *eig;
    double *H, *rhs, *dlambda, *dw, *dlambda_a, *dw_a, *rp, *rows1, *sums;
    svm_schur schur;
    void *memory;
} svm_nuclear;

attsvm_status svm_nuclear_create(svm_nuclear *s, const svm_part *part, attsvm_error *err);
void svm_nuclear_free(svm_nuclear *s);
attsvm_status svm_nuclear_start(svm_nuclear *s, const double *W, attsvm_error *err);
/* One predictor-corrector step; false when the arithmetic allows no further one. */
bool svm_nuclear_step(svm_nuclear *s);

/* The best proof so far: W (p x q), lambda (rows). */
typedef struct svm_nuclear_point {
    double *W, *lambda;
    double gap;
    int64_t rank;
    bool polished;
} svm_nuclear_point;

/* Newton from (lambda, w, W); changes the point only where the gap falls. */
attsvm_status svm_nuclear_polish(const svm_part *part, const double *lambda, const double *w,
                                 const double *W, double primal, svm_nuclear_point *point,
                                 attsvm_error *err);

/* min |W|_* over the part from a feasible W0 (p x q), certified, into the point. */
attsvm_status svm_nuclear_core(const svm_part *part, const double *W0, svm_nuclear_point *point,
                               int64_t *iterations, attsvm_error *err);

/* ------------------------------------------------------------------ spectral */

/* min |W|_2 over the part from a feasible W0, to relative gap tol or as far as rounding allows. */
attsvm_status svm_spectral_core(const svm_part *part, const double *W0, double tol, double *W,
                                double *lambda, double *gap, int64_t *iterations,
                                attsvm_error *err);

/* ----------------------------------------------------------------------- l_q */

/* (sum |x|^q)^(1/q) without overflow on the way. */
double svm_norm_q(const double *x, int64_t count, double q);
/*
 * min |W|_q over the part, from theta0 (p x q; best a feasible point), to relative gap tol or as
 * far as rounding allows: theta (p x q), lambda (rows) with |sum lambda A|_q' = 1.
 */
attsvm_status svm_lq_core(const svm_part *part, double q, const double *theta0, double tol,
                          double *theta, double *lambda, int64_t *iterations, attsvm_error *err);

/* ------------------------------------------------------------- l1, l_infinity */

/* min |W|_1 or |W|_inf over the part by linear programming; *solved: Clp reports an optimum. */
attsvm_status svm_lp_core(const svm_part *part, bool l1, double *W, double *lambda, bool *solved,
                          int64_t *iterations, attsvm_error *err);

#endif
