/*
 * norm: solvers of the working set in every norm, and the norms themselves.  A norm uses stored
 * rows, never the data set.
 */
#ifndef ATTSVM_SVM_NORM_H
#define ATTSVM_SVM_NORM_H

#include "dist/stop.h"
#include "svm/norm/small.h"
#include "svm/set/set.h"

/* How a solve of the working set ended. */
typedef enum svm_end {
    SVM_SOLVED,        /* no row of the set is violated                          */
    SVM_INFEASIBLE,    /* `proof` shows it                                       */
    SVM_LIMIT,         /* too many iterations, or no progress                    */
    SVM_STOP,          /* stopped by `stop`                                      */
    SVM_NEEDS_EXTENDED /* within l2: rounding decides, continue in double-double */
} svm_end;

typedef enum svm_precision {
    SVM_ROUGH, /* accurate enough to see which rows are missing                    */
    SVM_PLAIN, /* to the accuracy of double                                        */
    SVM_EXACT  /* for a certificate: theta and multipliers corrected by exact sums */
} svm_precision;

/*
 * One phase of a solve: the working set in one norm.  A phase starts from the set, theta and
 * multipliers of the previous one, and stores its own in the set.
 */
typedef struct svm_phase {
    const struct svm_norm *norm;
    double q;               /* of l_q                                                */
    int64_t rank;           /* maximum rank of theta; 0: no limit                    */
    uint64_t seed;          /* of random numbers                                     */
    double tol, goal;       /* relative gap of a proof, and the target of the solver */
    bool feasibility;       /* only a first step: its iterations are not counted     */
    int64_t max_iterations; /* of all rounds of the phase                            */

    svm_set *set;
    dist_stop *stop;
    const double *start; /* (size) a feasible theta; NULL in the first phase */
    int64_t round;       /* number of previous solves                        */
    svm_precision precision;
    bool extended; /* once more in higher precision, after a certificate that failed: the driver
                      sets it, or the norm where it sees the need itself                   */

    int64_t iterations, active; /* so far; rows with a multiplier                          */
    double *proof;   /* by slot: sum proof sigma A = 0, of an infeasible set; by the norm */
    double *earlier; /* by slot: other multipliers that may give a better bound, or NULL  */
    int64_t earlier_count;
    bool undecided;    /* the gap is too large to decide which rows are tight */
    bool stationary;   /* a local minimum                                     */
    bool solved;       /* theta and multipliers come from an earlier round    */
    bool refined;      /* ... with low parts                                  */
    int64_t solved_at; /* set->changes then                                   */
    void *state;       /* between rounds, of `open`                           */
} svm_phase;

/*
 * A norm.  Each is defined in the file of its solver and has a line in the table of norms.c.
 * Solvers of a small dense problem have solve = svm_small_solve, which builds the problem and calls
 * `core`.
 */
typedef struct svm_norm {
    bool unique;       /* the minimiser is unique: the support does not depend on the solver */
    bool singular;     /* of the singular values: for vectors it is l2                       */
    bool active_set;   /* meets its rows to the last digit, in any precision                    */
    bool local;        /* finds a local minimum; the bound comes from the previous phase        */
    bool rough;        /* with many rows, starts with a rough solution                          */
    bool rows_off;     /* `core` violates rows by more than rounding                            */
    bool low_parts;    /* `core` writes part->W_lo and lambda_lo in higher precision            */
    double negligible; /* `core` gives rows that are not tight up to this share of the largest
                          |lambda A|; such multipliers are dropped                              */
    double tol;        /* default relative gap                                                  */
    const struct svm_norm *limited; /* the same with a rank limit, or NULL                     */
    /* |x| (dual: its dual norm), x rows x columns; q is that of l_q */
    attsvm_status (*size)(double q, bool dual, const double *x, int64_t rows, int64_t columns,
                          double *out, attsvm_error *err);
    /* |hi + lo| in double-double; NULL: `size` of hi is accurate enough */
    dd (*size_exact)(const double *hi, const double *lo, int64_t count);
    /* |delta z'|_dual, which must be |delta|_dual |z|_dual; z NULL: of the vector delta */
    double (*row_size)(double q, const double *delta, const double *z, int64_t d);
    /* Whether all `rows` rows of a problem should be stored at once; NULL: no. */
    bool (*stores_all)(const svm_set *set, int64_t rows);
    /* Whether the theta of the previous phase is the solution; NULL: never. */
    attsvm_status (*is_solved)(const svm_phase *phase, bool *solved, attsvm_error *err);
    attsvm_status (*open)(svm_phase *phase, attsvm_error *err); /* NULL: no state between rounds */
    void (*close)(svm_phase *phase);
    /* Theta and multipliers of the set; after a stop the best so far. */
    attsvm_status (*solve)(svm_phase *phase, svm_end *end, attsvm_error *err);
    /* W (p x q) and lambda (rows) over the small problem, from the feasible W0.  W and lambda are
       W0 and 0 on entry, and stay so if a stop leaves nothing better. */
    attsvm_status (*core)(svm_phase *phase, const svm_small *part, const double *W0, double *W,
                          double *lambda, attsvm_error *err);
} svm_norm;

extern const svm_norm svm_norm_l2, svm_norm_nuclear, svm_norm_spectral, svm_norm_lq, svm_norm_l1,
    svm_norm_linf, svm_norm_fro_limited, svm_norm_nuclear_limited;

/* The entry that solves the norm of the settings: l2 if the norm equals l2 (q = 2, singular values
 * of a vector). */
const svm_norm *svm_norm_solved(const attsvm_svm_settings *settings, bool matrix);
/* |x| in the norm of the settings. */
attsvm_status svm_norm_of(const attsvm_svm_settings *settings, const double *x, int64_t rows,
                          int64_t columns, double *out, attsvm_error *err);
/* |A|_dual of a row of the set. */
double svm_norm_of_row(const svm_norm *norm, double q, svm_set *set, int64_t slot);

/* Shared by several norms: l2, and the sum or the largest of the singular values. */
attsvm_status svm_norm_euclidean(double q, bool dual, const double *x, int64_t rows,
                                 int64_t columns, double *out, attsvm_error *err);
double svm_norm_euclidean_row(double q, const double *delta, const double *z, int64_t d);
dd svm_norm_euclidean_exact(const double *hi, const double *lo, int64_t count);
/* The number of singular values of theta (d x d) above `zero` times the largest. */
attsvm_status svm_norm_rank(const double *theta, int64_t d, double zero, int64_t *rank,
                            attsvm_error *err);
attsvm_status svm_norm_singular(bool sum, const double *x, int64_t rows, int64_t columns,
                                double *out, attsvm_error *err);

/* The solve of norms that have a core. */
attsvm_status svm_small_solve(svm_phase *phase, svm_end *end, attsvm_error *err);
/*
 * Moves a large theta onto the active rows by the smallest change, with exact evaluation.  `mend`:
 * any theta, and also onto rows with b = 0 that are nearly tight.
 */
attsvm_status svm_norm_project_onto_active_rows(svm_set *set, bool mend, attsvm_error *err);

/* -------------------------------------------------------------- interior points */

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
/*
 * Cholesky factor of A (n x n, lower), in place; if rounding makes A indefinite, of A with its
 * diagonal increased by the smallest of 1e-15, 1e-14, ... 1e-7 (relative) that suffices; d (n) is
 * scratch.
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
    bool polished;
} svm_nuclear_point;

/* Newton from (lambda, w, W); changes the point only if the gap decreases. */
attsvm_status svm_nuclear_newton(const svm_small *part, const double *lambda, const double *w,
                                 const double *W, double primal, svm_nuclear_point *point,
                                 attsvm_error *err);

/*
 * One Newton step of W (p x q) and lambda (rows) on the equations of the optimum, where W has its
 * largest singular value `rank` times and the rows in play (1, others 0) are equal; A (rows x p q)
 * and b are those of the part, scaled.  Does nothing if the problem is too large.
 */
attsvm_status svm_spectral_newton(const svm_small *part, const double *A, const double *b,
                                  const uint8_t *play, int64_t rank, double *W, double *lambda,
                                  attsvm_error *err);

/* ------------------------------------------------------------------- linear programs */

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
    void *memory;
} svm_columns;

/* W (size) and lambda (rows) of the basis in double-double, low parts into those of the part;
 *part->refined false: they are as they were. */
attsvm_status svm_vertex_solve(svm_columns *of, const svm_set *set, double *W, double *lambda,
                               attsvm_error *err);

/* ----------------------------------------------------------------------- l_q */

/* (sum |x|^q)^(1/q) without intermediate overflow. */
double svm_norm_of_entries(const double *x, int64_t count, double q);
/* x^y for x >= 0 */
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
