/*
 * svm: max-margin problems over token selections, solved to a proof (theory 4).
 *
 *   rows      the constraints, computed from the data
 *   set       the working set: stored rows, and the search for violated ones
 *   norm      the small problem over the working set, in every norm; l2 has its own folder
 *   svm       the driver: constraint generation, and the certificate at its end
 */
#ifndef ATTSVM_SVM_H
#define ATTSVM_SVM_H

#include "svm/norm/l2/l2.h"
#include "svm/norm/norm.h"
#include "svm/rows/rows.h"
#include "svm/set/sample.h"
#include "svm/set/set.h"

attsvm_status svm_check_settings(const attsvm_svm_settings *settings, attsvm_error *err);

struct attsvm_problem {
    const attsvm_data *data;
    attsvm_svm_settings settings;
    svm_rows rows;
};

struct attsvm_solution {
    attsvm_svm_info info;
    attsvm_claim claim;
    attsvm_solution *head; /* of a joint problem: the v-SVM */
    int64_t *alpha;
    uint8_t *sets;
    double *softmax, *theta, *lambda, *mu;
    double *theta_lo, *theta_lo2, *lambda_lo, *mu_lo; /* low parts, or NULL: zeros */
    attsvm_row *active, *equal;
};

/* The phases of a problem: l2 for feasibility, then its norm, then its rank limit. */
enum { SVM_MOST_PHASES = 3 };
typedef struct svm_plan {
    svm_phase phases[SVM_MOST_PHASES];
    int count;
} svm_plan;

/* A running solve. */
typedef struct svm_run {
    const attsvm_problem *problem;
    const svm_rows *rows;
    svm_plan *plan;
    svm_phase *phase; /* the current one */
    svm_set set;
    svm_find find;
    svm_pass pass; /* the last one                                                   */
    svm_pass_settings pass_settings;

    /* of the certificate: the norm of the phase; after a stop that of the problem */
    const svm_norm *norm;
    double q, tol;
    double *best;      /* (size) best feasible direction so far                      */
    double best_value; /* its smallest margin / norm (soft: -objective); NAN: not computed yet */
    svm_pass best_pass;
    bool has_best;
    double *zero, *sum, *sum_lo; /* (size) all zeros; scratch                         */
    double *start;               /* (size) where later phases start                   */
    double *coef, *packed;       /* by slot: scratch of the certificates              */
    double *coef_lo, *packed_lo;
    double *low; /* (size) low part of the theta of a certificate     */
    int32_t *slots;

    dist_stop stop;
    attsvm_svm_observer *observer;
    void *context;
    double late_work; /* of proofs after a stop: svm_stop_proof */
    int64_t rounds, idle_rounds;
    bool sampling;     /* the problem is large enough to start with samples                    */
    bool patient;      /* passes are exact only near the end, because exact ones are expensive */
    bool certify_next; /* the next full pass may be the last, so it is exact                   */
    bool stopped, pass_is_at_stored_theta; /* `pass` is at the theta of the solution   */
    bool projected;                        /* theta was moved to the equalities        */
    bool interrupted;                      /* stopped inside a pass: do not start another one */
} svm_run;

/* Solves the phases of the plan, as attsvm_problem_solve; the right-hand sides of a joint problem
   must be known. */
attsvm_status svm_drive(const attsvm_problem *problem, svm_plan *plan, const attsvm_claim *warm,
                        attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                        attsvm_error *err);
/* The same with the phases of the problem's settings. */
attsvm_status svm_problem_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                                attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                                attsvm_error *err);
/* The v-SVM first; its tight rows decide the right-hand sides of the p-SVM. */
attsvm_status svm_joint_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                              attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                              attsvm_error *err);

/* Creates a solution with a copy of the selection, and fills it from the run at the end. */
attsvm_status svm_solution_open(attsvm_solution **out, const attsvm_problem *problem,
                                attsvm_error *err);
void svm_solution_close(attsvm_solution *solution, const svm_run *run);
/* A solution that holds a copy of a claim, with the outcome that it claims. */
attsvm_status svm_solution_of_claim(attsvm_solution **out, const attsvm_data *data,
                                    const attsvm_claim *claim, attsvm_error *err);
/* A solution with an outcome and without a proof. */
attsvm_status svm_solution_without(const attsvm_problem *problem, attsvm_outcome outcome,
                                   attsvm_solution **out, attsvm_error *err);

/* ------------------------------------------------------------------------ stopping */

/* Reports to the observer; false: stop.  The context is the run. */
bool svm_stop_tell(void *run);
/* Between rounds. */
bool svm_stop_now(svm_run *run);
/*
 * Inside proofs, after about `work` multiplications in double (20 for one in double-double): true
 * once the solve was stopped, less what fits in a tenth of a second, so that the answer of a small
 * problem still has its numbers.
 */
bool svm_stop_proof(svm_run *run, double work);
/* Stores theta if it is the best so far: by smallest margin over norm, or by soft objective, over
   all rows. */
attsvm_status svm_stop_keep_best(svm_run *run, attsvm_error *err);
/*
 * After a stop: the best theta that a pass has seen and the multipliers with the best bound,
 * evaluated over all rows in the norm of the problem.
 */
attsvm_status svm_stop_finish(svm_run *run, attsvm_solution *solution, attsvm_error *err);

/* -------------------------------------------------------------------- certificates */

/* A norm of at least this times m of theory 4.1 counts as infeasible. */
#define SVM_BEYOND 1e18

/* Sets norm and tolerance of the following certificates; |theta| in that norm. */
void svm_certify_in(svm_run *run, const svm_phase *phase);
attsvm_status svm_certify_size(const svm_run *run, const double *theta, double *out,
                               attsvm_error *err);

/*
 * The certificate of theta (theory 4.1), in the norm of the run.  It reads
 *
 *   run->set     stored rows, their multipliers (lambda + lambda_lo, in units of sigma), and
 *                theta + theta_lo; stored rows are all that a multiplier can belong to
 *   run->norm    the norm and its dual, with run->q
 *   run->pass    result of the last exact pass over all rows at theta + theta_lo
 *   run->find    for passes at other points, run->tol, run->stopped
 *
 * and writes theta, multipliers, claim, outcome and numbers of the solution.  *proved false: the
 * gap is too large, and the driver tries once more in higher precision.
 */
attsvm_status svm_certify(svm_run *run, attsvm_solution *solution, bool *proved, attsvm_error *err);
/* The certificate of infeasibility from phase->proof; false if its residual is too large. */
attsvm_status svm_certify_infeasible(svm_run *run, attsvm_solution *solution, bool *proved,
                                     attsvm_error *err);
/* The row pass->conflict_term, _token is 0, and b is not. */
attsvm_status svm_certify_conflict(svm_run *run, attsvm_solution *solution, attsvm_error *err);
/* Chooses the current multipliers or phase->earlier, by the better lower bound, for the set. */
attsvm_status svm_certify_choose(svm_run *run, attsvm_error *err);

/* Tolerance of a row's right-hand side, in units of the set: that of FINITE is the logarithm of a
   rounded number. */
double svm_equalities_room(const svm_run *run, int64_t slot);
/*
 * *distance: how far from theta, with run->low, a point is that satisfies equalities and rows with
 * b = 0 exactly, in the Frobenius norm; *violation: the largest violation of one.  `fine`: in more
 * than double-double.
 */
attsvm_status svm_equalities_distance(svm_run *run, const double *theta, bool fine,
                                      double *violation, double *distance, attsvm_error *err);
/* The same for many rows with residuals r (count) over |A|, known to within `noise`, and in step
   (size) the way to that point; INFINITY if they are dependent, or nearly so. */
attsvm_status svm_equalities_many(svm_run *run, const int32_t *slots, const double *r,
                                  int64_t count, double noise, double *step, double *distance,
                                  attsvm_error *err);
/* Moves theta + run->low to that point, in double-double. */
attsvm_status svm_equalities_project(svm_run *run, double *theta, attsvm_error *err);

/* Shared by both kinds.  Reserves scratch by slot for the current set; */
attsvm_status svm_certify_reserve(svm_run *run, attsvm_error *err);
/* value = b'coef, less what the tolerances of right-hand sides may cost, and norm = |sum coef
   A|_dual, coef + low (or NULL) by slot in units of the set; */
attsvm_status svm_certify_evaluate(svm_run *run, const double *coef, const double *low, dd *value,
                                   dd *norm, attsvm_error *err);
/* factor (coef + low) sigma as lambda (inequalities above 0) and mu (all equalities), ordered by
 * row. */
attsvm_status svm_certify_store(svm_run *run, attsvm_solution *solution, const double *coef,
                                const double *low, double factor, attsvm_error *err);
/*
 * Multipliers near coef (by slot) with which the rows cancel exactly, into coef + low; *exact
 * false: there are none, or too many rows for elimination.
 */
attsvm_status svm_exact_contradiction(svm_run *run, double *coef, double *low, bool *exact,
                                      attsvm_error *err);

#endif
