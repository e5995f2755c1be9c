/*
 * svm: max-margin problems over token selections, solved to a proof (theory, section 4).
 *
 *   rows      what the constraints are, from the data
 *   set       the working set: rows that are stored; which rows does theta violate?
 *   norm      the small problem over the working set, in every norm; l2 has a room of its own
 *   svm       constraint generation around them, and the certificate at its end
 */
#ifndef ATTSVM_SVM_H
#define ATTSVM_SVM_H

#include "svm/norm/l2/l2.h"
#include "svm/norm/norm.h"
#include "svm/rows/rows.h"
#include "svm/set/find.h"
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

/* A running solve. */
typedef struct svm_run {
    const attsvm_problem *problem;
    const svm_rows *rows;
    const svm_norm *norm;
    svm_set set;
    l2_active_set engine;
    svm_find find;
    svm_pass pass; /* the last one                                  */
    svm_pass_settings pass_settings;
    int64_t rounds;
    double tol, start, passes;
    double *best;      /* (size) best feasible direction so far         */
    double best_value; /* its smallest margin / norm (soft: -objective) */
    svm_pass best_pass;
    bool has_best;
    double *lambda_in_double; /* multipliers before the change to double-double */
    int64_t lambda_in_double_count;
    double asked;                /* when the observer was last called             */
    double work;                 /* with ranks: since then, about                 */
    double *sum, *sum_lo, *zero; /* (size) scratch; all zeros             */
    double *coef, *packed;       /* by slot: scratch                      */
    int32_t *slots;
    svm_candidate *candidates; /* (terms of this rank), on demand              */
    double forced_slack;       /* of the row that svm_set_add_worst says is forced   */
    attsvm_svm_observer *observer;
    void *context;
    double sum_norm;   /* of the engine's theta when it was stopped              */
    bool sampling;     /* the problem is large enough to look at parts of it first */
    bool certify_next; /* the next full pass may be the last, so it is exact         */
    bool stopped, pass_is_at_stored_theta; /* `pass` is at the rounded theta of the solution    */
    bool interrupted;    /* stopped inside a pass: there is no time for another one */
    double pass_seconds; /* that reading all tokens takes, about                    */
} svm_run;

/* As attsvm_problem_solve, except that joint problems must have their `slack` rows set. */
attsvm_status svm_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                        attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                        attsvm_error *err);
/* A solution with a copy of the selection, and what it gets from the run at the end. */
attsvm_status svm_solution_open(attsvm_solution **out, const attsvm_problem *problem,
                                attsvm_error *err);
void svm_solution_close(attsvm_solution *solution, const svm_run *run);
/* A solution that holds a copy of a claim, with the outcome that it claims. */
attsvm_status svm_solution_of_claim(attsvm_solution **out, const attsvm_data *data,
                                    const attsvm_claim *claim, attsvm_error *err);
/* A solution that holds an outcome and no proof of its own. */
attsvm_status svm_solution_without(const attsvm_problem *problem, attsvm_outcome outcome,
                                   attsvm_solution **out, attsvm_error *err);

/* Rows to start with: all of a small problem, otherwise some from a sample (theta still 0). */
attsvm_status svm_seed(svm_run *run, const attsvm_claim *warm, bool *whole, attsvm_error *err);
/* Whether all rows of the problem are gathered at the start. */
bool svm_seed_is_small(const svm_rows *rows);
int64_t svm_most_rows(const svm_rows *rows);
/* Adds the worst rows of the last pass; *forced: the worst one that the set had, or -1. */
attsvm_status svm_set_add_worst(svm_run *run, int64_t most, int64_t *added, int64_t *forced,
                                attsvm_error *err);

/* The multipliers at hand or those before the change to double-double: the better lower bound. */
void svm_choose_bound(svm_run *run);
/*
 * The certificate of theta (theory 4.1), in the norm of the run.  It reads
 *
 *   run->set     stored rows, their multipliers (lambda + lambda_lo, in units of sigma), and
 *                theta + theta_lo; stored rows are all that a multiplier can belong to
 *   run->norm    the norm and its dual, with problem->settings.q
 *   run->pass    what the last exact pass over all rows found at theta + theta_lo
 *   run->find    for passes at other points, run->tol, run->stopped
 *
 * and writes theta, multipliers, claim, outcome and numbers of the solution.  *proved false: the
 * gap is too large, and the driver tries once more in higher precision.
 */
attsvm_status svm_certify(svm_run *run, attsvm_solution *solution, bool *proved, attsvm_error *err);
/* The certificate of infeasibility from the engine; false where its residual is too large. */
attsvm_status svm_certify_infeasible(svm_run *run, attsvm_solution *solution, bool *proved,
                                     attsvm_error *err);
attsvm_status svm_certify_conflict(svm_run *run, attsvm_solution *solution, int64_t term,
                                   int64_t token, attsvm_error *err);

/* --------------------------------------------------------------- other norms */

/* One row of a working set in another norm. */
typedef struct svm_gathered {
    int64_t term;
    int32_t token;
    bool equal;
    bool dependent; /* an equality that others imply: met, but not handed to the core */
    double b, lambda;
} svm_gathered;

/* Constraint generation around one of the cores. */
typedef struct svm_norm_run {
    const attsvm_problem *problem;
    const svm_rows *rows;
    attsvm_solution *fro; /* the Frobenius solution: feasible, where all starts */
    svm_gathered *list;   /* sorted by term, then token                         */
    int64_t count, capacity;
    svm_small part;       /* the list in working coordinates                    */
    int64_t *at;          /* (part rows) place in the list                      */
    double *left, *right; /* bases (p x d), (q x d) of the coordinates, or NULL */
    void *part_memory;
    double *theta; /* (size)                                             */
    double tol, gap, start;
    int64_t rounds, iterations;
    double passes, pass_seconds;
    attsvm_svm_observer *observer;
    void *context;
    double asked; /* when the observer was last called                       */
    bool stopped;
    bool loose, solved; /* a round only looks for rows; the last one did more */
    bool undecided;     /* which rows are tight hangs on digits that the gap does not fix */
} svm_norm_run;

/* Tells the observer, and looks at the clock; true: stop. */
bool svm_norm_should_stop(svm_norm_run *run);
/* The same from inside a core or, of one process, a pass: most calls find that it is too early. */
bool svm_norm_poll(void *context);

/* The same with a rank limit, which the settings have. */
attsvm_status svm_rank_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                             attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                             attsvm_error *err);

/* As svm_solve, in the norm and with the rank limit of the problem. */
attsvm_status svm_norm_solve(const attsvm_problem *problem, const attsvm_claim *warm,
                             attsvm_svm_observer *observer, void *context, attsvm_solution **out,
                             attsvm_error *err);
/* Adds the `most` rows with the smallest <A, theta> - b below `limit`; *added says how many. */
attsvm_status svm_norm_collect(svm_norm_run *run, const double *theta, double limit, int64_t most,
                               int64_t *added, attsvm_error *err);
/* The list as a part; `reduce`: in coordinates of the spans of its rows. */
attsvm_status svm_norm_gather(svm_norm_run *run, bool reduce, attsvm_error *err);
/* theta (d x d or d) to W (p x q) and back. */
void svm_norm_project(const svm_norm_run *run, const double *theta, double *W);
void svm_norm_expand(const svm_norm_run *run, const double *W, double *theta, double *scratch);

/*
 * Equalities and rows with b = 0, in exact evaluation: the largest violation, and whether each
 * holds within theory 4.1 at |theta| = norm.
 */
attsvm_status svm_norm_rows_hold(const svm_norm_run *run, const double *theta, double norm,
                                 double *violation, bool *hold, attsvm_error *err);
/*
 * Moves theta, where it is large, onto the rows in play by the least change.  `mend`: in any case,
 * and onto the rows with b = 0 that are nearly tight as well.
 */
attsvm_status svm_project_onto_active_rows(svm_norm_run *run, bool mend, double *theta,
                                           attsvm_error *err);
/* theta and the multipliers of the list, scaled and certified, into the solution. */
attsvm_status svm_norm_certify(svm_norm_run *run, attsvm_solution *solution, attsvm_error *err);
/* What the Frobenius solver found where it is no optimum, measured in the problem's norm. */
attsvm_status svm_certificate_in_norm(const attsvm_problem *problem, attsvm_solution *solution,
                                      attsvm_error *err);

#endif
