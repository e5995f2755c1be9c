/*
 * check: certificates recomputed from raw data.  Nothing here is shared with the solvers: the rows
 * of a problem are rebuilt from the tokens, and every figure that decides is evaluated in
 * double-double with a bound on what that arithmetic may have lost.
 */
#ifndef ATTSVM_CHECK_H
#define ATTSVM_CHECK_H

#include "base/base.h"
#include "data/terms.h"
#include "dist/stop.h"

/* Tolerances of theory 4 and 4.1. */
#define CHECK_TIGHT    1e-7     /* a row is tight when <A,theta> <= b + this * max(1,|b|)       */
#define CHECK_ZERO_ROW 1e-13    /* rows with b = 0 hold to minus this * |A||theta|              */
#define CHECK_EQUALITY 1e-12    /* equalities hold to this * (|e| + |A||theta|)                 */
#define CHECK_FARKAS   1e-12    /* infeasible: eps <= this * sum (lambda + |mu|) |A|            */
#define CHECK_FLOOR    0x1p-50  /* gap that rounding theta alone may cause: this * |A||theta| */
#define CHECK_RANGE    1e280    /* rows longer, or shorter than its inverse, prove nothing     */
#define CHECK_UNIT     0x1p-53  /* rounding unit of double                                    */
#define CHECK_DD_UNIT  0x1p-103 /* relative error of one double-double step: at most 7 u^2    */

/* What a problem's rows are made of; `claim` and `data` are borrowed. */
typedef struct check_problem {
    const attsvm_data *data;
    const attsvm_claim *claim;
    int64_t d;
    int64_t queries;      /* a sequence has; 0: as many as tokens                    */
    bool matrix;          /* theta is W (d,d), rows are rank-one                     */
    bool sets;            /* rows come from sets (MULTI, FINITE), not from alpha     */
    bool causal;          /* query m sees tokens 0..m                                */
    bool has_head;        /* there are scores                                        */
    la_rows Z;            /* given queries, where count > 0                          */
    int64_t *row;         /* n: where the sets of a sequence begin, T_i entries a query */
    double *key_map;      /* W (d,d) of P and JOINT, NULL: identity                  */
    data_head head;       /* read only where a key map makes scores matter           */
    const uint8_t *tight; /* JOINT: is the v-SVM tight at sequence i                */
    int threads;
    dist_stop *stop; /* asked by the passes over the data; NULL: none */
} check_problem;

/* A sequence with one of its queries: the unit that rows come in. */
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

/* ------------------------------------------------------------------ sums of products */

/*
 * s + c, where s is a plain sum and c gathers all that its roundings lost (Ogita, Rump, Oishi
 * 2005).  After n terms |s + c - exact| <= 2 n^2 u^2 sum |terms|, u = 2^-53, as good as
 * double-double for our n; but c hangs on no chain of dependent operations.
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

/* What token t is to a term, copies apart, and its right-hand side. */
check_kind check_row(const check_problem *problem, const check_term *term, int64_t t,
                     double *right);
/* Whether the inequality of token t, x (d), is none because the token is a copy of the base token
   or of another member of the set (theory 4.3).  Equalities between copies stay: 0 = e. */
bool check_is_copy(const check_problem *problem, const check_term *term, int64_t t,
                   const double *base, const double *x);

/* "sequence 3, token 5": for messages. */
void check_row_name(const check_problem *problem, attsvm_row row, char *out, size_t size);

/* delta = x_base - x_t (for V: Y x_base), exactly. */
void check_difference(const check_problem *problem, const check_term *term, const double *base,
                      const double *x, dd *delta);

/* Dual norm of the row with that difference and query: |A|_dual = |W delta| |z|. */
double check_row_norm(const check_problem *problem, const dd *delta, const double *z,
                      double *scratch);

/* ------------------------------------------------------------------------ norms */

/*
 * An enclosure from above: the norm of the exact matrix that A stands for is at most
 * value + error when A is exact.  q is read for ATTSVM_NORM_LQ only.
 */
typedef struct check_size {
    dd value;
    double error;
} check_size;

attsvm_norm check_dual_norm(attsvm_norm norm, double q, double *dual_q);
attsvm_status check_size_of(check_size *out, attsvm_norm norm, double q, const dd *A, int64_t rows,
                            int64_t columns, int threads, attsvm_error *err);
/* The same for a vector of doubles, to double accuracy. */
double check_vector_norm(attsvm_norm norm, double q, const double *x, int64_t count);

/* Nuclear or spectral norm through a Jacobi SVD whose result is verified; rank (may be NULL)
   counts singular values above 1e-6 of the largest. */
attsvm_status check_singular(check_size *out, bool nuclear, const dd *A, int64_t rows,
                             int64_t columns, int64_t *rank, int threads, attsvm_error *err);

/* ---------------------------------------------------------------------- margins */

typedef struct check_margins {
    dd least;         /* smallest margin over rows with b = 1 (+infinity: there are none)    */
    dd slack;         /* sum of xi = max(0, b - margin)                                      */
    double violation; /* largest violation of any row                                        */
    double slip;      /* what double-double may have hidden of a row's violation             */
    int64_t tight, merged, rows;
    bool holds;     /* every row holds within the limits of theory 4.1                       */
    attsvm_row bad; /* the row that misses it by most, its margin and the least it may be      */
    double bad_margin, bad_limit;
} check_margins;

/*
 * Evaluates <A_r, theta> of every row.  `tight` (n, may be NULL) gets 1 where some row of the
 * sequence is tight.
 */
attsvm_status check_margins_of(check_margins *out, const check_problem *problem, double norm,
                               uint8_t *tight, attsvm_error *err);

/* max_r |A_r|_dual over all rows, to double accuracy. */
attsvm_status check_largest_row(double *out, const check_problem *problem, attsvm_error *err);

/* ------------------------------------------------------------------------- dual */

typedef struct check_dual {
    dd *G;         /* sum lambda A + sum mu A, d or d*d entries; free() it           */
    dd value;      /* b'lambda + e'mu                                                */
    double weight; /* sum (lambda + |mu|) |A|_dual                                   */
    double error;  /* bound on the norm of what rounding did to G                    */
    double scale;  /* sum |b lambda| + |e mu|                                        */
    int64_t active;
} check_dual;

/* False where the multipliers are not what theory 4.1 asks for, or *status is not ATTSVM_OK. */
bool check_dual_of(check_dual *out, const check_problem *problem, attsvm_report *report,
                   attsvm_status *status, attsvm_error *err);

#endif
