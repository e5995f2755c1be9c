/*
 * svm: max-margin problems over token selections, solved to a proof (theory, section 4).
 *   rows     what the constraints are, from the data, without ever storing them
 *   pool     the few rows that are gathered, and sums over them
 *   engine   exact dual active set on the pool, in double and in double-double
 *   price    one pass over the data: which rows does theta violate?
 *   solve    constraint generation around the engine, certificate at the end
 *
 * Everything here is for l2 and Frobenius norms; other norms use the same rows.
 */
#ifndef ATTSVM_SVM_H
#define ATTSVM_SVM_H

#include "data/reader.h"

attsvm_status svm_check_settings(const attsvm_svm_settings *settings, attsvm_error *err);
/* Terms of the problem: with the queries of a W problem, without queries otherwise. */
attsvm_status svm_problem_terms(data_terms *out, const attsvm_data *data,
                                const attsvm_svm_settings *settings, attsvm_error *err);

/* ------------------------------------------------------------------------- space */

/*
 * Memory for solves that come one after the other: pieces are cut from one block and are all free
 * again when the next solve opens it.  What does not fit is allocated, and the block is larger the
 * next time.  NULL stands for no block: everything is allocated.
 */
typedef struct svm_space {
    char *base;
    size_t size, used, wanted;
} svm_space;

void svm_space_open(svm_space *space);
void svm_space_free(svm_space *space);
/* As base_arena_reserve, and as base_allocate. */
attsvm_status svm_space_arena(svm_space *space, arena *a, const char *what, attsvm_error *err);
attsvm_status svm_space_allocate(svm_space *space, void *out_pointer, size_t count, size_t size,
                                 const char *what, attsvm_error *err);
/* For pieces of either kind. */
void svm_space_release(svm_space *space, void *pointer);

/* -------------------------------------------------------------------------- rows */

typedef enum svm_row_kind {
    SVM_NO_ROW,    /* the base token itself, or a token merged with it         */
    SVM_AT_LEAST,  /* <A, theta> >= b                                          */
    SVM_EQUAL,     /* <A, theta> = b                                           */
    SVM_EMPTY,     /* A = 0 and b = 0, not merged: holds whatever theta is     */
    SVM_IMPOSSIBLE /* A = 0 and b != 0: the token has the key of the base token */
} svm_row_kind;

/*
 * The constraint rows of a problem, by term and rival token t against the base token beta of the
 * term (alpha, or the lowest index of the set O):
 *
 *   p, joint      A = W (x_beta - x_t)          theta in R^d, W the key map of the data
 *   v             A = Y x_alpha                 theta in R^d, one row a term, named by t = alpha
 *   W and others  A = (x_beta - x_t) z'         theta in R^{d x d}
 *
 * Margins of a term come from its logits, X_i u with u = W' theta or theta z.
 */
typedef struct svm_rows {
    const attsvm_data *data;
    data_terms terms;
    int32_t problem;             /* attsvm_problem_kind                                  */
    bool matrix, strict, scored; /* theta is d x d and rows are rank one; duplicates of the base
                                    token are rows; they must also have the same score   */
    int64_t d, size;             /* size of theta: d or d*d                      */
    double *keymap;              /* (d,d) or NULL                                */
    data_head head;              /* where `scored`                               */
    int64_t *base;               /* base token, (terms)                          */
    uint8_t *slack;              /* (terms) 1: b = 0; NULL: all b = 1            */
    uint8_t *sets;               /* (cells) or NULL: one row of T_i for each term */
    double *softmax;             /* (cells) or NULL                              */
    int64_t *cell;               /* (n) first cell of a sequence; with `sets`    */
    int64_t cells;
} svm_rows;

/* Copies the selection.  Call svm_rows_free also where it failed. */
attsvm_status svm_rows_create(svm_rows *rows, const attsvm_data *data,
                              const attsvm_selection *selection,
                              const attsvm_svm_settings *settings, attsvm_error *err);
void svm_rows_free(svm_rows *rows);

typedef struct svm_term {
    int64_t term, i, q, base, visible;
    int64_t cell; /* of token 0, where there are sets */
    bool slack;
} svm_term;

svm_term svm_rows_term(const svm_rows *rows, int64_t term);
/* What token t of the term is, without looking for duplicates. */
svm_row_kind svm_rows_kind(const svm_rows *rows, const svm_term *term, int64_t t);
/* The same after comparing keys: SVM_NO_ROW where merged (or 0 = 0 is asked for), otherwise
   SVM_EMPTY or SVM_IMPOSSIBLE where A = 0; scratch (2d). */
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
 * The tokens that the rows of a term are made of, from number *first on: those that its query sees;
 * of v problems the selected one alone.
 */
la_rows svm_rows_tokens(const svm_rows *rows, const svm_term *term, int64_t *first);
/* Equalities included, duplicates not looked for. */
int64_t svm_rows_count(const svm_rows *rows);

/* -------------------------------------------------------------------------- pool */

enum { SVM_SMALL_POOL = 64 }; /* rows whose Gram matrix is formed as a whole */

enum { SVM_AT_ZERO = -1, SVM_AT_UPPER = -2, SVM_REDUNDANT = -3 };

/*
 * Gathered rows, stored as sigma A, sigma a power of two that brings |sigma A| into [1/2, 1]:
 * multipliers here are lambda / sigma.  Multipliers and theta are double-double.
 */
typedef struct svm_pool {
    const svm_rows *rows;
    svm_space *space;
    int threads; /* that share the products of many rows */
    int64_t count, capacity, d, size;
    int64_t *term;
    int32_t *token;
    double *hi, *lo; /* sigma delta, (capacity,d); see svm_pool_low      */
    double *sigma;
    double *square; /* |sigma A|^2                                      */
    double *length; /* |sigma A|                                        */
    double *b;      /* sigma b                                          */
    double *upper;  /* largest multiplier: C / sigma, infinite when hard */
    uint8_t *equality;
    uint8_t *exact; /* lo is 0, and was not written */
    int32_t *query; /* which z                                   */
    int32_t *place; /* position in the active set, or SVM_AT_... */
    double *lambda, *lambda_lo;
    double *margin; /* scratch: sigma <A, theta>                 */
    int64_t queries, query_capacity;
    int64_t *query_term;
    double *z, *u, *u_lo; /* (query_capacity,d): queries, and scratch     */
    double *z_norm;       /* (query_capacity): |z|                        */
    double *along;        /* (query_capacity): scratch, z_p' z            */
    double soft;          /* C, 0: hard                                   */
    int64_t *table;       /* hash of (term, token): slot + 1              */
    int64_t table_size;
    int32_t *query_table; /* hash of terms: number of the query + 1       */
    int64_t query_table_size;
    uint8_t *used;   /* (query_capacity): scratch                         */
    double *scratch; /* (3d)                                              */
    double *zeros;   /* (d)                                               */
    void *row_memory, *query_memory;
    double *gram; /* (gram_count,gram_count) of a small pool; valid while that is `count` */
    int64_t gram_count;
} svm_pool;

/* Row s is pool->hi + s d and this. */
static inline const double *svm_pool_low(const svm_pool *pool, int64_t s)
{
    return pool->exact[s] ? pool->zeros : pool->lo + s * pool->d;
}

attsvm_status svm_pool_create(svm_pool *pool, const svm_rows *rows, svm_space *space, double soft,
                              int64_t capacity, attsvm_error *err);
void svm_pool_free(svm_pool *pool);
int64_t svm_pool_find(const svm_pool *pool, int64_t term, int64_t token);
/* Room for so many more rows at once, instead of growing by and by. */
attsvm_status svm_pool_reserve(svm_pool *pool, int64_t more, attsvm_error *err);
/* Adds a row that svm_rows_resolve found to be one, and is not in the pool; *slot may be NULL. */
attsvm_status svm_pool_add(svm_pool *pool, const svm_term *term, int64_t token, int64_t *slot,
                           attsvm_error *err);
/* Removes inactive rows with margin above b + most_margin; moved[old slot] = new slot or -1. */
void svm_pool_shrink(svm_pool *pool, double most_margin, int32_t *moved);
/* out (size) = sum of coef[k] sigma A over the slots. */
void svm_pool_combine(svm_pool *pool, const int32_t *slots, const double *coef, int64_t count,
                      double *out);
/* Adds the same sum in double-double. */
void svm_pool_combine_exact(svm_pool *pool, const int32_t *slots, const double *coef,
                            const double *coef_lo, int64_t count, double *hi, double *lo);
/* margin[slot] = sigma <A, theta> for all rows of the pool. */
void svm_pool_margins(svm_pool *pool, const double *theta);
/* residual (count) = b - sigma <A, theta>, in double-double rounded to double; slots NULL: all. */
void svm_pool_residual_exact(svm_pool *pool, const int32_t *slots, int64_t count, const double *hi,
                             const double *lo, double *residual);
void svm_pool_margins_exact(svm_pool *pool, const int32_t *slots, int64_t count, const double *hi,
                            const double *lo, double *margins);
/* The Gram matrix of a small pool, for those that look entries up; *small false: it is not small.
 */
attsvm_status svm_pool_gram_all(svm_pool *pool, bool *small, attsvm_error *err);
/* margin = G lambda, from that matrix; returns |theta| of these multipliers. */
double svm_pool_margins_gram(svm_pool *pool);
/* out[k] = <sigma A_p, sigma A_k> */
void svm_pool_gram(svm_pool *pool, int64_t p, const int32_t *slots, int64_t count, double *out);
dd svm_pool_gram_exact(const svm_pool *pool, int64_t p, int64_t r);

/* ------------------------------------------------------------------------ engine */

typedef enum svm_engine_end {
    SVM_SOLVED,     /* no row of the pool is violated            */
    SVM_INFEASIBLE, /* `entering` and `combination` prove it     */
    SVM_LIMIT,      /* too many changes                          */
    SVM_STOP,       /* `poll` said so                            */
    SVM_DOUBT       /* rounding decides: go on in double-double  */
} svm_engine_end;

/*
 * Dual active set (Goldfarb and Idnani 1983) for
 *
 *   min 1/2 |theta|^2,  <A_r, theta> >= b_r,   dual: max b'l - 1/2 |sum l A|^2, 0 <= l <= upper
 *
 * over the rows of the pool.  theta = sum l A always; rows of the active set S are met with
 * equality; L L' is the Gram matrix of S.  Numbers of L, g, y, r are double, or double-double
 * once `extended`.
 */
typedef struct svm_engine {
    svm_pool *pool;
    bool extended;
    bool lazy; /* in a run of a small pool: margins come from its Gram matrix, theta at the end */
    int64_t count, capacity;
    int32_t *active;            /* slots of S, in the order of L                  */
    void *L;                    /* (capacity,capacity), lower                     */
    void *g, *y, *r, *rotation; /* scratch                                        */
    double *coef, *coef_lo;     /* scratch                                        */
    double *combination;        /* r of an infeasible row                         */
    double *residual;           /* (residual_capacity) b - <A, theta> by slot     */
    int64_t residual_capacity;
    double *theta, *theta_lo, *step, *step_lo; /* (size)                         */
    int64_t iterations, max_iterations;
    int64_t patience;            /* iterations at which a run is taken for a circle         */
    void *memory;                /* of L and what goes with it                              */
    void *work;                  /* scratch of block pivoting, */
    size_t work_size;            /* in bytes */
    bool (*poll)(void *context); /* true: stop at once; NULL: nobody to ask       */
    void *poll_context;
    int64_t settled;  /* active rows found by conjugate gradients; -1: they failed    */
    int32_t *order;   /* slots of equalities in the order in which they enter; NULL: as they come */
    int64_t ordered;  /* how many these are                                  */
    int64_t entering; /* slot whose row cannot be met                        */
    double entering_sign; /* -1: an equality that had to come down               */
} svm_engine;

attsvm_status svm_engine_create(svm_engine *engine, svm_pool *pool, attsvm_error *err);
void svm_engine_free(svm_engine *engine);
/* Until the pool is solved; makes room first.  `exact`: multipliers must be refined, too. */
attsvm_status svm_engine_run(svm_engine *engine, bool exact, svm_engine_end *end,
                             attsvm_error *err);
/* Whether the pool is one for conjugate gradients; solves it with them, `exact` to the last digit.
 *solved false: it did not settle. */
bool svm_gradients_apply(const svm_engine *engine);
attsvm_status svm_gradients_solve(svm_engine *engine, bool exact, bool *solved, attsvm_error *err);
/* Block pivoting towards the solution of the pool, before a run. */
attsvm_status svm_engine_block(svm_engine *engine, attsvm_error *err);
/* Room for all rows of the pool to be active, as far as they can be. */
attsvm_status svm_engine_reserve(svm_engine *engine, attsvm_error *err);
/* Whether all rows of a soft problem may be gathered; an active set near its solution, for them. */
bool svm_soft_applies(const svm_rows *rows, double soft);
attsvm_status svm_soft_start(svm_engine *engine, attsvm_error *err);
/* Starts again from theta = 0; the second in double-double. */
attsvm_status svm_engine_restart(svm_engine *engine, attsvm_error *err);
attsvm_status svm_engine_extend(svm_engine *engine, attsvm_error *err);
/* Multipliers and theta of S to double-double accuracy.  *again: a multiplier turned out negative
   and its row left S, so the engine has to run again. */
svm_engine_end svm_engine_refine(svm_engine *engine, bool *again);
void svm_engine_move(svm_engine *engine, const int32_t *moved);

/* Margins of the pool in double; returns |theta|. */
double svm_engine_margins(svm_engine *engine);
svm_engine_end svm_engine_run_double(svm_engine *engine);
svm_engine_end svm_engine_run_extended(svm_engine *engine);
/* Chooses `order` for the double-double engine. */
attsvm_status svm_engine_order(svm_engine *engine, attsvm_error *err);
svm_engine_end svm_engine_equalities_double(svm_engine *engine);
svm_engine_end svm_engine_enter_double(svm_engine *e, int64_t p, double violation, double sign);
/* Row p joins S, unless its pivot is below `clear` relative to |A|^2. */
void svm_engine_append_double(svm_engine *engine, int64_t p, double clear);
void svm_engine_leave_double(svm_engine *engine, int64_t k);
void svm_engine_solve_double(svm_engine *engine, const double *rhs, double *x);

/* ----------------------------------------------------------------------- pricing */

#define SVM_NEAR 1e-6 /* a row that is so near to its b, or below it, is never skipped */

/* What one pass over the data found. */
typedef struct svm_pass {
    double visited;    /* share of the tokens that was read                            */
    double least;      /* smallest <A, theta> over rows with b = 1 (infinite: none)     */
    double least_zero; /* smallest <A, theta> over rows with b = 0                      */
    double scale;   /* times this, rounded, theta meets all rows with b = 1; 0: none near, infinite:
                       none does */
    double largest; /* largest |A| among rows near their b                           */
    double slacks;  /* sum of max(0, b - <A, theta>), of a soft problem              */
    int64_t violated; /* terms with a violated row                                     */
    int64_t tight, merged;
    int64_t broken; /* rows with b = 0 that do not hold                              */
    double noise;   /* largest error that rounding makes in <A, theta>, where not exact */
    bool cut;       /* it was stopped before its end                                 */
    int64_t conflict_term, conflict_token; /* A = 0 and b = 1; -1: none                    */
} svm_pass;

/*
 * Terms between passes.  One whose smallest <A, theta> - b was m when last read is not read again
 * while m - bound |theta - theta then| shows that it can be neither violated nor tight.
 */
typedef struct svm_pricing {
    const svm_rows *rows;
    svm_space *space;
    int threads;
    int64_t terms, blocks;
    int64_t lo, hi;   /* terms of this rank; the arrays below hold those alone */
    double *slack;    /* smallest <A, theta> - b when last read               */
    double *when;     /* length of theta's path at that time; negative: never */
    double *bound;    /* |A| <= bound for all rows of the term                */
    int32_t *worst;   /* token of the smallest slack, -1: no row              */
    double travelled; /* length of theta's path so far                        */
    double spread;    /* 1 / sqrt(size)                                       */
    double *previous; /* theta of the last pass                               */
    int64_t merged;   /* counted when a term is first read                    */
    double *scratch;  /* (threads, ...)                                       */
    int64_t scratch_each;
    struct svm_block *results;   /* (blocks)                                       */
    bool (*poll)(void *context); /* asked by one thread while it reads; true: stop */
    void *poll_context;
    bool stopped;   /* atomic */
    double seconds; /* that passes took */
    void *memory;
} svm_pricing;

attsvm_status svm_pricing_create(svm_pricing *pricing, const svm_rows *rows, svm_space *space,
                                 int threads, attsvm_error *err);
void svm_pricing_free(svm_pricing *pricing);

typedef struct svm_pass_settings {
    uint64_t seed, share; /* terms whose hash is at most `share` are read; UINT64_MAX: all */
    int run_bits;         /* 2^run_bits terms side by side have the same hash              */
    bool exact;           /* evaluate rows near their b in double-double                   */
    bool all;             /* do not skip                                                   */
    bool fresh;           /* only terms that were never read                               */
    double near;          /* only terms whose slack may be at most this; infinite: all     */
    double tolerance;     /* a row is violated when <A, theta> < b - tolerance - floor     */
    double floor;         /* ... floor |A| |theta|                                         */
    const svm_pool *soft; /* of a soft problem: rows at their bound may be violated        */
} svm_pass_settings;

/* Reads the terms that may be violated at theta = hi + lo. */
svm_pass svm_pricing_pass(svm_pricing *pricing, const double *hi, const double *lo,
                          const svm_pass_settings *settings);
/* The `share`-quantile of what the slacks of the terms that were read may have become since. */
double svm_pricing_quantile(const svm_pricing *pricing, double share);
bool svm_pricing_sampled(const svm_pass_settings *settings, int64_t term);
/* Whether a pass reads the term. */
bool svm_pricing_wants(const svm_pricing *pricing, const svm_pass_settings *settings, int64_t term);

/*
 * The terms lo..end-1 as a pass reads them; of a v problem with long sequences single tokens.  The
 * context of the reader is `pass`.
 */
typedef struct svm_walk {
    const svm_pricing *pricing;
    const svm_pass_settings *settings;
} svm_walk;
data_reader svm_walk_open(const svm_walk *pass, int64_t lo, int64_t end);
/* Blocks that walk side by side, on the threads of `pricing`. */
void svm_walk_all(svm_pricing *pricing, const svm_pass_settings *settings, int64_t blocks,
                  base_block_body *body, void *context);

/* ------------------------------------------------------------------------- solve */

struct attsvm_problem {
    const attsvm_data *data;
    attsvm_svm_settings settings;
    svm_rows rows;
    svm_space *space; /* of a batch while it is solved, or NULL */
};

struct attsvm_solution {
    attsvm_svm_info info;
    attsvm_claim claim;
    attsvm_solution *head; /* of a joint problem: the v-SVM */
    int64_t *alpha;
    uint8_t *sets;
    double *softmax, *theta, *lambda, *mu;
    attsvm_row *active, *equal;
};

/* A row that may join a working set; the first are those of the smallest slack. */
typedef struct svm_candidate {
    double slack; /* <A, theta> - b */
    int64_t term;
    int32_t token, reserved;
} svm_candidate;

bool svm_candidate_before(const svm_candidate *a, const svm_candidate *b);
/* Brings the `most` first of `count` to the front; */
void svm_candidates_select(svm_candidate *c, int64_t count, int64_t most);
/* ... in order. */
void svm_candidates_sort(svm_candidate *c, int64_t count, int64_t most);
/* The `keep` first entries of every rank, on all of them; the list is replaced. */
attsvm_status svm_candidates_share(dist_comm *comm, svm_candidate **list, int64_t *count,
                                   int64_t keep, attsvm_error *err);

/* A running solve. */
typedef struct svm_run {
    const attsvm_problem *problem;
    const svm_rows *rows;
    svm_pool pool;
    svm_engine engine;
    svm_pricing pricing;
    svm_pass pass; /* the last one                                  */
    svm_pass_settings pass_settings;
    int64_t rounds;
    double tol, start, passes;
    double *best;      /* (size) best feasible direction so far         */
    double best_value; /* its smallest margin / norm (soft: -objective) */
    svm_pass best_pass;
    bool has_best;
    double *earlier; /* multipliers before the change to double-double */
    int64_t earlier_count;
    double asked;                /* when the observer was last called             */
    double work;                 /* with ranks: since then, about                 */
    double *sum, *sum_lo, *zero; /* (size) scratch; all zeros             */
    double *coef, *packed;       /* by slot: scratch                      */
    int32_t *slots;
    svm_candidate *candidates; /* (terms of this rank), on demand              */
    double forced_slack;       /* of the row that svm_collect says is forced   */
    attsvm_svm_observer *observer;
    void *context;
    double sum_norm;      /* of the engine's theta when it was stopped              */
    bool sampling;        /* the problem is large enough to look at parts of it first */
    bool last;            /* the next full pass may be the last, so it is exact         */
    bool stopped, stored; /* `pass` is at the rounded theta of the solution    */
    bool cut;             /* stopped inside a pass: there is no time for another one */
    double pass_seconds;  /* that reading all tokens takes, about                    */
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
/* Adds the worst rows of the last pass; *forced: the worst one that the pool had, or -1. */
attsvm_status svm_collect(svm_run *run, int64_t most, int64_t *added, int64_t *forced,
                          attsvm_error *err);

/* The multipliers at hand or those before the change to double-double: the better lower bound. */
void svm_choose_bound(svm_run *run);
/* The optimal certificate from the last, exact pass; false where its gap is too large. */
attsvm_status svm_certify(svm_run *run, attsvm_solution *solution, bool *proved, attsvm_error *err);
/* The certificate of infeasibility from the engine; false where its residual is too large. */
attsvm_status svm_certify_infeasible(svm_run *run, attsvm_solution *solution, bool *proved,
                                     attsvm_error *err);
attsvm_status svm_certify_conflict(svm_run *run, attsvm_solution *solution, int64_t term,
                                   int64_t token, attsvm_error *err);
/* Other norms: gathered rows, the cores, and constraint generation around them. */
#include "svm/norms.inc"

#endif
