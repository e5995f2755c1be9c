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
    bool undecided;  /* the gap is too large to decide which rows are tight */
    bool stationary; /* a local minimum, if these rows (slots) are tight    */
    int32_t *tight;  /* by the norm, or NULL                                */
    int64_t tight_count;
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

#endif
