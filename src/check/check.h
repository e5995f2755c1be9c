/*
 * check: certificates recomputed from raw data (theory 4.1).  No code is shared with the solvers:
 * this folder widens tokens, compares keys and rebuilds the rows of a problem itself.  Every
 * decisive number is evaluated in double-double with a bound on its rounding error; if the bound
 * leaves a decision open, exact arithmetic decides.
 */
#ifndef ATTSVM_CHECK_H
#define ATTSVM_CHECK_H

#include "base/base.h"
#include "check/exact.h"
#include "data/terms.h"
#include "dist/stop.h"

/* Constants of theory 4 and 4.1. */
#define CHECK_TIGHT   1e-7     /* a row is tight when <A,theta> <= b + this * max(1,|b|) */
#define CHECK_SHIFT   1e-7     /* Delta |A_r| <= this * kappa: theta itself is nearly feasible */
#define CHECK_BEYOND  1e18     /* norms of at least this * m count as infeasible */
#define CHECK_RANK    1e-12    /* singular values beyond the rank limit, relative to the largest */
#define CHECK_FIRST   1e-6     /* first-order conditions of a stationary point, relative */
#define CHECK_LOG     0x1p-51  /* right-hand sides of FINITE are known to this * max(1,|e|) */
#define CHECK_UNIT    0x1p-53  /* rounding unit of double */
#define CHECK_DD_UNIT 0x1p-103 /* relative error of one double-double step: at most 7 u^2 */
#define CHECK_LARGE   0x1p450  /* larger factors are left to exact arithmetic */
#define CHECK_SMALL   0x1p-500 /* bounds the effect of underflow on sums of smaller factors */

/* A problem and the data of its rows; `claim` and `data` are borrowed. */
typedef struct check_problem {
    const attsvm_data *data;
    const attsvm_claim *claim;
    int64_t d;
    int64_t queries;      /* per sequence; 0: as many as tokens                      */
    bool matrix;          /* theta is W (d,d), rows are rank-one                     */
    bool sets;            /* rows come from sets (MULTI, FINITE), not from alpha     */
    bool causal;          /* query m sees tokens 0..m                                */
    bool has_head;        /* there are scores                                        */
    la_rows Z;            /* given queries, if count > 0                             */
    int64_t *row;         /* n: first set entry of a sequence, T_i entries per query */
    double *key_map;      /* W (d,d) of P and JOINT, NULL: identity                  */
    data_head head;       /* read only if a key map makes scores matter              */
    const uint8_t *tight; /* JOINT: is the v-SVM tight at sequence i                 */
    int threads;
    dist_stop *stop; /* asked by the passes over the data; NULL: none */
} check_problem;

/*
 * Inside long loops, after about `work` multiplications in double: true once the check must end.
 * What is left undone then proves nothing; the check ends with an error in any case.  A product of
 * two exact numbers takes as long as CHECK_EXACT multiplications or more.
 */
enum { CHECK_EXACT = 50 };
static inline bool check_stops(const check_problem *problem, double work)
{
    return dist_stop_poll(problem->stop, work);
}

/* A sequence with one of its queries. */
typedef struct check_term {
    int64_t sequence, query;
    int64_t base;    /* the selected token, beta of a set; -1: the term has no rows */
    int64_t visible; /* tokens 0..visible-1 take part                               */
    la_rows tokens;
} check_term;

typedef enum check_kind {
    CHECK_NO_ROW,
    CHECK_MERGED, /* a copy of the selected token: no row */
    CHECK_ABOVE,  /* <A,theta> >= right                    */
    CHECK_EQUAL,  /* <A,theta> = right                     */
} check_kind;

/* -------------------------------------------------------------- numbers with error bounds */

/* |value - exact| <= error */
typedef struct check_real {
    dd value;
    double error;
} check_real;

/* Upper and lower bounds of the result of a few double-double operations. */
static inline dd check_up(dd a)
{
    return base_dd_add(a, base_dd(fabs(a.hi) * 0x1p-98 + 0x1p-1000));
}

static inline dd check_down(dd a)
{
    return base_dd_sub(a, base_dd(fabs(a.hi) * 0x1p-98 + 0x1p-1000));
}

static inline dd check_upper(check_real a)
{
    return check_up(base_dd_add(a.value, base_dd(a.error)));
}

static inline dd check_lower(check_real a)
{
    return check_down(base_dd_sub(a.value, base_dd(a.error)));
}

/* max that propagates NaN, so that later comparisons fail. */
static inline double check_max(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/*
 * s + c, where s is a plain sum and c gathers all that its roundings lost (Ogita, Rump, Oishi
 * 2005).  After n terms |s + c - exact| <= 2 n^2 u^2 sum |terms|, u = 2^-53, as good as
 * double-double for our n, but without its chain of dependent operations.
 */
typedef struct check_sum {
    double s, c;
} check_sum;

/* sum += a b */
static inline void check_sum_add(check_sum *sum, dd a, dd b)
{
    dd product = base_dd_product(a.hi, b.hi);
    dd total = base_dd_sum(sum->s, product.hi);
    sum->s = total.hi;
    sum->c += total.lo + (product.lo + (a.hi * b.lo + a.lo * b.hi));
}

static inline dd check_sum_value(check_sum sum)
{
    return base_dd_sum(sum.s, sum.c);
}

/* The bound above for n terms, as a factor of sum |terms|, with room for errors of a and b. */
static inline double check_sum_error(int64_t n)
{
    return (double)(n + 8) * (double)(n + 8) * 0x1p-103;
}

/* Prints into the report why the claim is not valid. Returns false. */
bool check_reject(attsvm_report *report, const char *format, ...) BASE_PRINTF(2, 3);

/* ------------------------------------------------------------------------- tokens */

/* Row t of stored rows as doubles, exactly. */
void check_token(const la_rows *rows, int64_t t, double *x);
/* Whether W (x - y) = 0, exactly; x = y where W (d,d) is NULL. */
bool check_same_key(const double *W, const double *x, const double *y, int64_t d);
/* Whether h(x) = h(y), exactly. */
bool check_same_score(const data_head *head, const double *x, const double *y);

/* ------------------------------------------------------------------------- rows */

/*
 * Opens a problem: which rows there are.  False where the claim does not fit the data (report
 * says why) or *status is not ATTSVM_OK.
 */
bool check_problem_open(check_problem *problem, const attsvm_data *data, const attsvm_claim *claim,
                        attsvm_report *report, attsvm_status *status, attsvm_error *err);
void check_problem_close(check_problem *problem);

/* Queries of sequence i, and the term of its query m. */
int64_t check_queries(const check_problem *problem, int64_t i);
check_term check_term_of(const check_problem *problem, int64_t i, int64_t m);
/* z of a term into z (d), for matrix problems. */
void check_query(const check_problem *problem, const check_term *term, double *z);

/* The kind of row of token t, ignoring copies, and its right-hand side. */
check_kind check_row(const check_problem *problem, const check_term *term, int64_t t,
                     double *right);
/* Whether the inequality of token t, x (d), is none because the token is a copy of the base token
   or of another member of the set (theory 4.3).  Equalities between copies stay: 0 = e.
   scratch (d) */
bool check_is_copy(const check_problem *problem, const check_term *term, int64_t t,
                   const double *base, const double *x, double *scratch);

/* "sequence 3, token 5": for messages. */
void check_row_name(const check_problem *problem, attsvm_row row, char *out, size_t size);

/* delta = x_base - x_t (for V: Y x_base), exactly. */
void check_difference(const check_problem *problem, const check_term *term, const double *base,
                      const double *x, dd *delta);

/* A single row: its difference, its query (ones if theta is a vector), right-hand side. */
typedef struct check_single {
    attsvm_row row;
    dd *delta; /* d */
    double *z; /* d */
    double right;
    bool equal;
} check_single;

/* Reads a row that exists; x and base (d) are scratch. */
void check_read_row(const check_problem *problem, attsvm_row row, double *base, double *x,
                    check_single *out);

/*
 * low <= |A_r| <= high in a norm.  A nonzero row has high > 0; low is 0 if the row is zero or
 * beyond the range of doubles.  scratch: 2 d.
 */
typedef struct check_range {
    double low, high;
} check_range;
check_range check_row_size(const check_problem *problem, attsvm_norm norm, double q,
                           const dd *delta, const double *z, double *scratch);
/* The entries of A_r, d or d*d numbers, exactly. */
void check_row_entries(const check_problem *problem, const dd *delta, const double *z,
                       check_exact *out);
/* <A_r, theta>, exactly, of the stored theta. */
void check_row_value(const check_problem *problem, const dd *delta, const double *z,
                     check_exact *out);

/* ------------------------------------------------------------------------ norms */

/* The norm of the exact matrix is at most value + error. */
typedef struct check_size {
    dd value;
    double error;
} check_size;

attsvm_norm check_dual_norm(attsvm_norm norm, double q, double *dual_q);
/* A (rows x columns); `problem` for its threads and its stop.  INFINITY after a stop. */
attsvm_status check_size_of(check_size *out, attsvm_norm norm, double q, const dd *A, int64_t rows,
                            int64_t columns, const check_problem *problem, attsvm_error *err);
/* The same for a vector of doubles, to double accuracy. */
double check_vector_norm(attsvm_norm norm, double q, const double *x, int64_t count);

/* Nuclear or spectral norm through a Jacobi SVD whose result is verified. */
attsvm_status check_singular(check_size *out, bool nuclear, const dd *A, int64_t rows,
                             int64_t columns, const check_problem *problem, attsvm_error *err);
/* Singular values, largest first, and vectors of a d x d matrix, in double: U and V by columns. */
attsvm_status check_singular_vectors(const check_problem *problem, const dd *A, int64_t d,
                                     double *sigma, double *U, double *V, attsvm_error *err);

/* ---------------------------------------------------------------------- margins */

/* Growing list of rows. */
typedef struct check_list {
    attsvm_row *rows;
    int64_t count, capacity;
    bool failed; /* no memory */
} check_list;
void check_list_add(check_list *list, attsvm_row row);

typedef struct check_margins {
    dd least, least_up; /* smallest <A,theta> - Delta|A|_F over rows with b = 1, from below, and a
                           bound of the smallest <A,theta> from above; infinite: there are none   */
    dd shown;           /* the smallest <A,theta> as computed                                     */
    dd slack;           /* sum of max(0, b - (<A,theta> - Delta|A|_F)), from above                */
    double violation;   /* largest violation of any row                                           */
    double longest;     /* largest Delta |A_r|_F, from above                                      */
    bool overflow;      /* a difference of tokens leaves the range of doubles                     */
    int64_t tight, merged, rows;
    check_list close; /* with a rank limit: rows with b = 1 that are tight                      */
    check_list fixed; /* equalities, and rows with b = 0 whose margin is below Delta |A_r|_F    */
    attsvm_row worst; /* of the rows with b = 1                                                  */
    attsvm_row below; /* a row with b = 0 that is violated, and its margin                       */
    double below_margin;
} check_margins;

/*
 * Evaluates <A_r, theta> of every row, to `accuracy` where it matters; `shift` (Delta) is how far
 * from theta the point may be that satisfies the equalities.  `margin` (n, may be NULL, V only)
 * gets the margin of each sequence.  Free out with check_margins_free.
 */
attsvm_status check_margins_of(check_margins *out, const check_problem *problem, double accuracy,
                               double shift, check_real *margin, attsvm_error *err);

void check_margins_free(check_margins *margins);

/* Bounds of m = max b_r / |A_r|_dual over rows with b_r > 0 (FINITE: |e_r|), A_r != 0. */
attsvm_status check_longest_request(check_range *out, const check_problem *problem,
                                    attsvm_error *err);

/* ------------------------------------------------------------------------- dual */

typedef struct check_dual {
    dd *G;            /* sum lambda A + sum mu A, d or d*d entries; free() it          */
    check_real value; /* b'lambda + e'mu                                               */
    double error;     /* bound on the dual norm of the rounding error of G             */
    bool zero;        /* G is 0, exactly                                               */
    bool positive;    /* the value is above 0, exactly                                 */
    double shortest;  /* over the listed rows with b > 0: |A_r|_dual / b_r, from above */
    int64_t active;
} check_dual;

/*
 * False if the multipliers violate theory 4.1, or *status is not ATTSVM_OK. `exact`: in exact
 * arithmetic, rounded at the end.
 */
bool check_dual_of(check_dual *out, const check_problem *problem, bool exact, attsvm_report *report,
                   attsvm_status *status, attsvm_error *err);

/* Rows as exact numbers (rows x columns), columns the entries of theta. */
typedef struct check_table {
    int64_t rows, columns;
    bool fits; /* within the limits of elimination; otherwise nothing is allocated */
    check_exact *entries;
    double *right;   /* b or e                                           */
    uint8_t *chosen; /* 1: in the submatrix of full rank                 */
    int64_t *pivot;  /* of a chosen row: its column there                */
    double *base, *x;
    check_single one;
    void *memory;
} check_table;
attsvm_status check_table_open(check_table *table, const check_problem *problem, int64_t rows,
                               attsvm_error *err);
void check_table_read(check_table *table, const check_problem *problem, int64_t at, attsvm_row row);
/* The rank; sets `chosen` and `pivot`. */
int64_t check_table_rank(check_table *table, const check_problem *problem, attsvm_status *status,
                         attsvm_error *err);
void check_table_close(check_table *table);

/*
 * n equations with `sides` right-hand sides: sum_j x_j M[i n + j] = r[i sides + side], x = y / det,
 * det > 0.  M and r point to numbers of the caller.
 */
typedef struct check_system {
    dist_stop *stop;
    int64_t n, sides;
    check_exact **M, **r;
    mpz_t *y, det;
} check_system;
attsvm_status check_system_open(check_system *system, const check_problem *problem, int64_t n,
                                int64_t sides, attsvm_error *err);
/* False where M is singular, the work beyond the limit, after a stop, or *status not ATTSVM_OK. */
bool check_system_solve(check_system *system, attsvm_status *status, attsvm_error *err);
void check_system_close(check_system *system);
/*
 * Whether the rows that are not chosen are combinations of the chosen ones, exactly, and the same
 * combinations of `rest` (rows) give their `raw` (rows), to within `slack` (rows).
 */
bool check_dependent(const check_problem *problem, const check_table *table, int64_t rank,
                     const check_exact *rest, const check_exact *raw, const double *slack,
                     attsvm_status *status, attsvm_error *err);

/* Maximum number of listed rows for elimination. */
enum { CHECK_MOST_ROWS = 160 };

/*
 * Whether the listed rows have multipliers of the right signs with sum 0 and a positive value, near
 * the stored ones: rational elimination.
 */
bool check_contradiction(const check_problem *problem, attsvm_status *status, attsvm_error *err);

/*
 * Delta: some theta' with |theta' - theta|_F <= *delta satisfies all rows of the list as
 * equalities, exactly.  False where that cannot be shown; `why` (128) says why.
 */
bool check_distance(const check_problem *problem, const check_list *list, double *delta, char *why,
                    attsvm_status *status, attsvm_error *err);

/* Rows delta z', or delta where z is NULL, and r = scale (e - <A, theta>), scale near 1 / |A|. */
typedef struct check_equalities {
    int64_t count, d;
    const dd *delta; /* count x d */
    const double *z, *scale, *r;
    dist_stop *stop; /* false after a stop; may be NULL */
} check_equalities;
/* The same for many rows of clear independence. */
bool check_nearby(const check_equalities *rows, double *delta, attsvm_status *status,
                  attsvm_error *err);

/* ------------------------------------------------------------------------- bounds */

/* Bounds and numbers found for a claim. */
typedef struct check_proof {
    check_margins margins;
    check_dual dual;
    dd norm;            /* |theta|, from above                                           */
    dd G;               /* |G|_dual, from above                                          */
    dd P, D;            /* upper and lower bound                                         */
    double delta;       /* Delta: distance within which a point satisfies the equalities */
    dd kappa, kappa_up; /* smallest margin of rows with b = 1                            */
    bool has_ones;      /* there are such rows                                           */
    double needed;      /* the smallest tolerance that kappa asks for                    */
} check_proof;

/* One check in progress: its functions return false once the verdict (or an error) is known. */
typedef struct check_trial {
    check_problem problem;
    const attsvm_claim *claim;
    const attsvm_check_settings *settings;
    attsvm_report *report;
    attsvm_status status;
    attsvm_error *err;
    double tol;
    check_real *margin;    /* n, of a head: its margins; may be NULL */
    int64_t rows, columns; /* of theta                               */
    check_proof proof;
} check_trial;

static inline bool check_worked(check_trial *r, attsvm_status status)
{
    r->status = status;
    return status == ATTSVM_OK;
}

static inline dd check_plus(dd a, double b) /* rounded up */
{
    return check_up(base_dd_add(a, base_dd(b)));
}

/* theta has the right size, finite entries and low parts that are low; |theta| from above. */
bool check_theta_fits(check_trial *r);
bool check_theta_norm(check_trial *r);
/* Margins of all rows, Delta and kappa; then whether |kappa - 1| <= tol. */
bool check_look_at_rows(check_trial *r);
bool check_kappa_is_one(check_trial *r);
/* G and its norm, from rounded or exact sums. */
bool check_combine(check_trial *r, bool exact);
/* proof.P and proof.D. */
void check_upper_bound(check_trial *r);
void check_lower_bound(check_trial *r);
/* Whether P < 1e18 m. */
bool check_within_reach(check_trial *r);
/* |.| <= c |.|_F, rounded up. */
double check_norm_ratio(const check_trial *r);

/* ----------------------------------------------------------------------- verdicts */

/*
 * First-order conditions of a problem with a rank limit, over the tight rows `close`: *residual is
 * their relative residual (INFINITY: undefined for the norm), *beyond the largest singular value of
 * theta beyond the limit, relative to the largest.
 */
attsvm_status check_first_order(const check_problem *problem, const check_list *close,
                                double *residual, double *beyond, attsvm_error *err);

/*
 * Proves an accepted claim again in rational numbers.  Sets report->gap (for an infeasible claim
 * report->bound) to that of this proof; false with a reason if it fails.
 */
bool check_exactly(const check_problem *problem, double tol, attsvm_report *report,
                   attsvm_status *status, attsvm_error *err);

#endif
