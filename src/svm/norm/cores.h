/* cores: what the solvers of one norm, one or two files each, share with each other. */
#ifndef ATTSVM_SVM_CORES_H
#define ATTSVM_SVM_CORES_H

#include "svm/norm/norm.h"

/* M (order p + q) = [t I, factor W; factor W', t I], W p x q. */
void interior_lift(int64_t p, int64_t q, double t, double factor, const double *W, double *M);
/* x (p x q) = 2 M_12. */
void interior_corner(int64_t p, int64_t q, const double *M, double *x);
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
/*
 * The linearised X Z = target I, made symmetric, all n x n.  First base = target Z^-1 - E, where
 * E = sym(Z^-1 dZ dX) is the second-order term of a predictor (dZ NULL: no term); then, for the
 * direction dZ, dX = base - X - sym(Z^-1 dZ X).
 */
void interior_target(int64_t n, double target, const double *Zinv, const double *dZ,
                     const double *dX, double *scratch, double *base);
void interior_direction(int64_t n, const double *base, const double *Zinv, const double *dZ,
                        const double *X, double *scratch, double *dX);
/* Largest step in 0..1 that keeps x + step dx >= 0 on the inequalities. */
double interior_ray_step(const svm_small *part, const double *x, const double *dx);
/* Largest step in 0..1 that keeps L L' + step dM positive definite; scratch (n x n), eig (n). */
double interior_cone_step(int64_t n, const double *L, const double *dM, double *scratch,
                          double *eig);
/* Copies the lower triangle of A (n x n) to the upper one and its diagonal to d, before A is
   factored; and back, with the diagonal times 1 + shift. */
void interior_save_lower(int64_t n, double *A, double *d);
void interior_restore_lower(int64_t n, double *A, const double *d, double shift);
/* Cholesky factor of A (n x n, lower), in place; if rounding makes A indefinite, of A with its
   diagonal increased by the smallest of 1e-15, 1e-14, ... 1e-7 (relative) that suffices; d (n) is
   scratch. */
bool interior_cholesky_shifted(int64_t n, double *A, double *d);
/*
 * Lower triangle of H_rs (rows x rows, stride ldh), for symmetric F, G of order p + q:
 * H_rs = tr(B_r F B_s G) made symmetric, B_r = [0 A_r; A_r' 0].
 */
typedef struct interior_schur {
    double *FU, *GU, *block_f, *block_g; /* rows x p twice, SCHUR_BLOCK x rows twice         */
    double *Fvu, *Gvu, *Fvv, *Gvv;       /* terms x rows twice, terms x terms twice      */
    double *side;                        /* terms x (p + q)                              */
} interior_schur;
void interior_schur_layout(interior_schur *work, arena *a, int64_t rows, int64_t terms, int64_t p,
                           int64_t q);
void interior_schur_form(const interior_schur *work, const svm_small *part, const double *F,
                         const double *G, double *H, int64_t ldh);

/* The best proof so far: W (p x q), lambda (rows). */
typedef struct svm_nuclear_point {
    double *W, *lambda;
    double gap;
    bool by_newton;
} svm_nuclear_point;

/* Newton from (lambda, w, W); changes the point only if the gap decreases. */
attsvm_status svm_nuclear_newton(const svm_small *part, const double *lambda, const double *w,
                                 const double *W, double primal, svm_nuclear_point *point,
                                 attsvm_error *err);

/*
 * One Newton step of W (p x q) and lambda (rows) on the equations of the optimum, where W has its
 * largest singular value `rank` times and the active rows (1, others 0) are equal; A (rows x p q)
 * and b are those of the part, scaled.  Does nothing if the problem is too large.
 */
attsvm_status svm_spectral_newton(const svm_small *part, const double *A, const double *b,
                                  const uint8_t *active, int64_t rank, double *W, double *lambda,
                                  attsvm_error *err);

/*
 * Columns of a linear program and its last basis.  Column k is entry k of the rows; of l1, entry
 * k - size with the sign turned from there on; of linf, column `total` is m.
 */
typedef struct svm_columns {
    const svm_small *part;
    bool l1;
    double unit;
    int64_t size, total;
    uint8_t *in;    /* (total) in the program                             */
    double *y;      /* (size) linf: value of the columns that are not     */
    double *S;      /* (size)                                             */
    double *fixed;  /* (rows) what those columns add to the rows          */
    double *lambda; /* (rows)                                             */
    double *sigma;  /* (rows) scale of the row                            */
    double *sums;   /* (terms x p)                                        */
    unsigned char *column_status, *row_status; /* Clp's, (total + 1), (rows) */
    unsigned char *status;                     /* both, as Clp wants them    */
} svm_columns;

/* The basis in double-double: W (size), lambda (rows), low parts; unchanged if !part->refined. */
attsvm_status svm_vertex_solve(svm_columns *of, const svm_set *set, double *W, double *lambda,
                               attsvm_error *err);

/* (sum |x|^q)^(1/q) without intermediate overflow; x^y for x >= 0. */
double svm_norm_of_entries(const double *x, int64_t count, double q);
double svm_norm_power(double x, double y);
/*
 * min |W|_q over the part, from theta0 (p x q; best a feasible point), to relative gap tol or as
 * far as rounding allows: theta (p x q), lambda (rows) with |sum lambda A|_q' = 1.
 */
attsvm_status svm_lq_core(const svm_small *part, double q, const double *theta0, double tol,
                          double *theta, double *lambda, int64_t *iterations, attsvm_error *err);

/*
 * Newton from the result of svm_lq_core if that does not decide which rows are tight; *decided
 * false: still undecided.  Changes theta and lambda only if the gap does not grow.
 */
attsvm_status svm_lq_newton(const svm_small *part, double q, double *theta, double *lambda,
                            bool *decided, attsvm_error *err);

#endif
