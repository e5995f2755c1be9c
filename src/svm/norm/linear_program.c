/*
 * l1 and l_infinity norms over stored rows: linear programs, solved by Clp.
 *
 *   l1     min sum (x+ + x-)       A (x+ - x-) >= b/unit,  x+, x- >= 0    W = unit (x+ - x-)
 *   linf   max m                   A y - m b/unit >= 0,    -1 <= y <= 1   W = unit y/m
 *
 * with equalities for equality rows, and a unit that brings the unknowns near 1.  The prices of the
 * rows are the multipliers.  Rows are scaled by powers of two to a length from 1/2 to 1.  What Clp
 * returns is only a proposal: the caller recomputes the gap from W and lambda.
 *
 * Large programs start with few columns, those that the l_q solution of a q near 1, or a large q,
 * suggests: x+ or x- at 0 elsewhere, y at its bound.  Columns whose price is wrong join, and Clp
 * goes on from its basis.
 */
#include "svm/norm/clp/clp.h"
#include "svm/norm/cores.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLP_CUT = 3 };                  /* Clp's status after the most iterations */
enum { CLP_UPPER = 2, CLP_LOWER = 3 }; /* Clp's codes of columns at a bound */
enum { LP_WHOLE = 200000, LP_ROUNDS = 200, LP_MANY = 100 };
static const double CLP_TOLERANCE = 1e-12; /* of primal and dual feasibility, Clp's own units */
static const double LP_WORK = 5e8;         /* entries times iterations of a piece               */
static const double LP_LEAST = 100;        /* iterations of a piece                             */
static const double LP_GROW = 1.25;        /* of a piece over the last                          */
static const double LP_TURN = 5;           /* iterations over rows and columns of the first turn */
static const double LP_PRICE = 1e-11;      /* of the largest price: a column is right           */
static const double LP_WORST = 0.3;        /* of the worst price: joins, where there are many   */
static const double LP_Q1 = 1.1;           /* the q that stands for 1 ...                       */
static const double LP_Q8 = 8;             /* ... and for infinity                              */
static const double LP_GUESS = 1e-4;       /* gap of that solution                              */
static const double LP_NEAR1 = 0.9;        /* price over the largest of a column that starts    */

/* Columns of the program, dense: `columns` of `rows` entries each. */
typedef struct program {
    int columns, rows;
    CoinBigIndex *start;
    int *index;
    double *value, *low, *high, *cost, *row_low, *row_high;
} program;

static attsvm_status program_create(program *lp, int64_t columns, int64_t rows, attsvm_error *err)
{
    *lp = (program){ 0 };
    size_t entries, m = (size_t)rows, n = (size_t)columns;
    if (!base_multiply(n, m, &entries) || entries > INT_MAX)
        return fail(err, ATTSVM_E_ARG,
                    "linear program of %" PRId64 " x %" PRId64 " entries is beyond Clp's int", rows,
                    columns);
    lp->columns = (int)columns;
    lp->rows = (int)rows;
    TRY(base_allocate(&lp->start, n + 1, sizeof *lp->start, "linear program", err));
    TRY(base_allocate(&lp->index, entries, sizeof *lp->index, "linear program", err));
    TRY(base_allocate(&lp->value, entries, sizeof *lp->value, "linear program", err));
    TRY(base_allocate(&lp->low, n, sizeof *lp->low, "linear program", err));
    TRY(base_allocate(&lp->high, n, sizeof *lp->high, "linear program", err));
    TRY(base_allocate(&lp->cost, n, sizeof *lp->cost, "linear program", err));
    TRY(base_allocate(&lp->row_low, m, sizeof *lp->row_low, "linear program", err));
    return base_allocate(&lp->row_high, m, sizeof *lp->row_high, "linear program", err);
}

static void program_free(program *lp)
{
    void *owned[] = { lp->start, lp->index, lp->value,   lp->low,
                      lp->high,  lp->cost,  lp->row_low, lp->row_high };
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        free(owned[k]);
}

static void columns_layout(svm_columns *c, arena *a)
{
    size_t size = (size_t)c->size, total = (size_t)c->total, rows = (size_t)c->part->rows;
    c->y = take(a, size);
    c->S = take(a, size);
    c->fixed = take(a, rows);
    c->lambda = take(a, rows);
    c->sigma = take(a, rows);
    c->sums = take(a, (size_t)(c->part->terms * c->part->p));
    c->in = base_take(a, total, 1);
    c->column_status = base_take(a, total + 1, 1);
    c->row_status = base_take(a, rows, 1);
    c->status = base_take(a, total + 1 + rows, 1);
}

static void scale_rows(svm_columns *c)
{
    const svm_small *part = c->part;
    for (int64_t r = 0; r < part->rows; r++) {
        int exponent;
        frexp(part->length[r], &exponent);
        c->sigma[r] = ldexp(1, -exponent);
    }
}

/* Entry (i, j) of sigma A_r. */
static double entry(const svm_columns *c, int64_t r, int64_t i, int64_t j)
{
    const svm_small *part = c->part;
    return c->sigma[r] * part->u[r * part->p + i] * part->v[part->term[r] * part->q + j];
}

static int64_t count_in(const svm_columns *c)
{
    int64_t count = 0;
    for (int64_t k = 0; k < c->total; k++)
        count += c->in[k];
    return count;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* The columns to start with, from the l_q solution, which is W until there is a better one. */
static attsvm_status guess(svm_columns *c, const double *W0, double *W, int64_t *iterations,
                           attsvm_error *err)
{
    const svm_small *part = c->part;
    memset(c->in, 1, (size_t)c->total);
    if (c->size * part->rows <= LP_WHOLE)
        return ATTSVM_OK;
    TRY(svm_lq_core(part, c->l1 ? LP_Q1 : LP_Q8, W0, LP_GUESS, c->y, c->lambda, iterations, err));
    if (la_norm(c->y, c->size) > 0) /* it was not stopped before its first step */
        memcpy(W, c->y, (size_t)c->size * sizeof *W);
    svm_small_sum(part, c->lambda, c->S, c->sums);
    double largest = 0;
    for (int64_t k = 0; k < c->size; k++) {
        largest = fmax(largest, fabs(c->S[k]));
        c->S[k] = c->l1 ? c->S[k] : fabs(c->y[k]);
    }
    /* a basis has as many columns off their bounds as rows */
    if (!c->l1)
        qsort(c->S, (size_t)c->size, sizeof *c->S, ascending);
    double small = c->S[part->rows < c->size ? part->rows : c->size - 1];
    for (int64_t k = 0; k < c->size; k++) {
        if (c->l1) {
            c->in[k] = c->S[k] >= LP_NEAR1 * largest;
            c->in[c->size + k] = -c->S[k] >= LP_NEAR1 * largest;
        } else {
            c->in[k] = fabs(c->y[k]) <= small;
            c->y[k] = c->y[k] < 0 ? -1 : 1;
        }
    }
    return ATTSVM_OK;
}

/* By how much the price of a column outside the program is wrong, over the largest price. */
static double wrong(const svm_columns *c, int64_t k, double unit)
{
    if (c->in[k])
        return 0;
    if (c->l1)
        return (k < c->size ? c->S[k] : -c->S[k - c->size]) - 1;
    return -c->y[k] * c->S[k] / unit;
}

/* Adds columns with a wrong price; returns their number. */
static int64_t join(svm_columns *c)
{
    double worst = 0, unit = 1;
    int64_t many = 0, joined = 0;
    svm_small_sum(c->part, c->lambda, c->S, c->sums);
    for (int64_t k = 0; k < c->size && !c->l1; k++)
        unit = fmax(k == 0 ? 0 : unit, fabs(c->S[k]));
    for (int64_t k = 0; k < c->total; k++) {
        double by = wrong(c, k, unit);
        worst = fmax(worst, by);
        many += by > LP_PRICE;
    }
    double limit = many > LP_MANY ? fmax(LP_PRICE, LP_WORST * worst) : LP_PRICE;
    for (int64_t k = 0; k < c->total; k++)
        if (wrong(c, k, unit) > limit) {
            c->in[k] = 1;
            c->column_status[k] = !c->l1 && c->y[k] > 0 ? CLP_UPPER : CLP_LOWER;
            joined++;
        }
    return joined;
}

/* The program of the columns that are in, in their order; linf has m last. */
static attsvm_status program_build(program *lp, svm_columns *c, attsvm_error *err)
{
    const svm_small *part = c->part;
    int64_t rows = part->rows, at = 0;
    TRY(program_create(lp, count_in(c) + !c->l1, rows, err));
    for (int64_t k = 0; k < c->size && !c->l1; k++)
        c->S[k] = c->in[k] ? 0 : c->y[k];
    if (!c->l1)
        svm_small_apply(part, c->S, part->q, c->fixed, c->sums);
    for (int64_t k = 0; k < c->total; k++) {
        if (!c->in[k])
            continue;
        int64_t e = k % c->size;
        for (int64_t r = 0; r < rows; r++)
            lp->value[at * rows + r] =
                (k < c->size ? 1 : -1) * entry(c, r, e / part->q, e % part->q);
        lp->low[at] = c->l1 ? 0 : -1;
        lp->high[at] = c->l1 ? INFINITY : 1;
        lp->cost[at++] = c->l1 ? 1 : 0;
    }
    for (int64_t r = 0; r < rows; r++) {
        double low = c->sigma[r] * (c->l1 ? part->b[r] / c->unit : -c->fixed[r]);
        lp->row_low[r] = low;
        lp->row_high[r] = part->equal[r] ? low : INFINITY;
        if (!c->l1)
            lp->value[at * rows + r] = -c->sigma[r] * part->b[r] / c->unit;
    }
    if (!c->l1) {
        lp->low[at] = count_in(c) == c->total ? 0 : -INFINITY; /* few columns may not reach 0 */
        lp->high[at] = INFINITY;
        lp->cost[at] = -1;
    }
    for (int64_t k = 0; k <= lp->columns; k++)
        lp->start[k] = (CoinBigIndex)(k * rows);
    for (int64_t k = 0; k < lp->columns * rows; k++)
        lp->index[k] = (int)(k % rows);
    return ATTSVM_OK;
}

/* Basis of the last round to Clp (`out`) or from it. */
static void carry_basis(const clp_calls *clp, Clp_Simplex *model, svm_columns *c, bool out)
{
    int64_t at = 0;
    unsigned char *status = out ? c->status : clp->statusArray(model);
    for (int64_t k = 0; k < c->total + !c->l1; k++)
        if (k == c->total || c->in[k]) {
            if (out)
                status[at++] = c->column_status[k];
            else
                c->column_status[k] = status[at++];
        }
    memcpy(out ? status + at : c->row_status, out ? c->row_status : status + at,
           (size_t)c->part->rows);
    if (out)
        clp->copyinStatus(model, status);
}

/* W and lambda from the solved program; false where Clp found no optimum. */
static bool take_solution(const clp_calls *clp, Clp_Simplex *model, svm_columns *c, double *W)
{
    const svm_small *part = c->part;
    if (clp->status(model) != 0)
        return false;
    const double *x = clp->primalColumnSolution(model), *price = clp->dualRowSolution(model);
    double scale = c->l1 ? 1 : x[count_in(c)];
    if (!(scale > 0))
        return false;
    for (int64_t k = 0; k < c->size; k++)
        W[k] = c->l1 || c->in[k] ? 0 : c->unit * c->y[k] / scale;
    for (int64_t k = 0, at = 0; k < c->total; k++)
        if (c->in[k])
            W[k % c->size] += (k < c->size ? 1 : -1) * c->unit * x[at++] / scale;
    for (int64_t r = 0; r < part->rows; r++)
        c->lambda[r] = c->sigma[r] * (part->equal[r] ? price[r] : fmax(price[r], 0));
    return true;
}

/*
 * Clp cannot be stopped, so it runs a limited number of iterations at a time and continues from its
 * basis; a time limit would make the result depend on the clock.  The number grows, because a
 * restart may undo some progress.  If many rows are tight at once, one of the two methods may
 * cycle: they alternate, each for longer than before.
 */
static void run_simplex(const clp_calls *clp, Clp_Simplex *model, const svm_columns *c, bool warm,
                        int64_t *iterations)
{
    double entries = (double)c->part->rows * (double)(count_in(c) + 1);
    double piece = fmax(LP_LEAST, LP_WORK / entries), spent = 0;
    double turn = LP_TURN * (double)(c->part->rows + count_in(c) + 1);
    bool primal = warm;
    do {
        double left = (double)(c->part->most - *iterations);
        clp->setMaximumIterations(model, (int)fmin(fmin(piece, left), fmin(turn - spent, INT_MAX)));
        if (primal)
            clp->primal(model, 0);
        else
            clp->dual(model, 0);
        *iterations += clp->numberIterations(model);
        spent += clp->numberIterations(model);
        piece *= LP_GROW;
        if (spent >= turn) {
            primal = !primal;
            turn *= 2;
            spent = 0;
        }
    } while (clp->status(model) == CLP_CUT && *iterations < c->part->most &&
             !svm_small_stopped(c->part));
    if (clp->status(model) == CLP_CUT && *iterations >= c->part->most)
        *c->part->spent = true;
}

/* One solve of a program. */
typedef struct attempt {
    const clp_calls *clp;
    Clp_Simplex *model;
    svm_columns *c;
    const program *lp;
    bool warm, solved; /* from the basis of the last one; Clp found the optimum */
    double *W;
    int64_t *iterations;
} attempt;

/* In here Clp may throw; nothing that it would leave behind is owned here. */
static void run_program(void *context)
{
    attempt *run = context;
    const clp_calls *clp = run->clp;
    const program *lp = run->lp;
    Clp_Simplex *model = run->model = clp->newModel();
    clp->setLogLevel(model, 0);
    clp->loadProblem(model, lp->columns, lp->rows, lp->start, lp->index, lp->value, lp->low,
                     lp->high, lp->cost, lp->row_low, lp->row_high);
    clp->setPrimalTolerance(model, CLP_TOLERANCE);
    clp->setDualTolerance(model, CLP_TOLERANCE);
    if (run->warm)
        carry_basis(clp, model, run->c, true);
    run_simplex(clp, model, run->c, run->warm, run->iterations);
    run->solved = take_solution(clp, model, run->c, run->W);
    carry_basis(clp, model, run->c, false);
}

static void delete_model(void *context)
{
    attempt *run = context;
    run->clp->deleteModel(run->model);
}

/* One program; `warm`: from the basis of the last one. */
static attsvm_status solve_program(svm_columns *c, bool warm, double *W, bool *solved,
                                   int64_t *iterations, attsvm_error *err)
{
    program lp;
    attempt run = { .c = c, .lp = &lp, .warm = warm, .W = W, .iterations = iterations };
    attsvm_status status = program_build(&lp, c, err);
    if (status == ATTSVM_OK)
        status = clp_load(&run.clp, err);
    if (status == ATTSVM_OK)
        status = clp_run(run_program, &run, err);
    if (run.model && clp_run(delete_model, &run, NULL) != ATTSVM_OK && status == ATTSVM_OK)
        status = fail(err, ATTSVM_E_NUMERIC, "linear program: Clp failed");
    *solved = status == ATTSVM_OK && run.solved;
    program_free(&lp);
    return status;
}

/*
 * min |W|_1 or |W|_inf over the part.  If Clp finds no optimum, W is the best point so far (or
 * unchanged) and lambda its multipliers (or 0), and the phase ends.
 */
static attsvm_status solve(svm_phase *phase, const svm_small *part, bool l1, const double *W0,
                           double *W, double *lambda, attsvm_error *err)
{
    int64_t *iterations = &phase->iterations, size = part->p * part->q;
    svm_columns c = { .part = part, .l1 = l1, .size = size, .total = l1 ? 2 * size : size };
    for (int64_t k = 0; k < size; k++) /* of W: the largest entry of W0 */
        c.unit = fmax(c.unit, fabs(W0[k]));
    c.unit = c.unit > 0 ? c.unit : 1;
    arena a = { 0 };
    columns_layout(&c, &a);
    TRY(base_arena_allocate(&a, "columns", err));
    void *memory = a.base;
    columns_layout(&c, &a);
    scale_rows(&c);
    attsvm_status status = guess(&c, W0, W, iterations, err);
    bool warm = false, solved = false;
    for (int64_t round = 0; status == ATTSVM_OK && round < LP_ROUNDS && !svm_small_stopped(part);
         round++) {
        status = solve_program(&c, warm, W, &solved, iterations, err);
        bool whole = count_in(&c) == c.total;
        if (status != ATTSVM_OK || whole || (solved && join(&c) == 0))
            break;
        warm = solved;
        if (!solved) /* too few columns to meet the rows: all of them */
            memset(c.in, 1, (size_t)c.total);
    }
    memcpy(lambda, c.lambda, (size_t)part->rows * sizeof *lambda);
    *part->spent = *part->spent || !solved;
    if (status == ATTSVM_OK && solved && phase->extended)
        status = svm_vertex_solve(&c, phase->set, W, lambda, err);
    free(memory);
    return status;
}

/* ----------------------------------------------------------------------- the norms */

static double l1_of(const double *x, int64_t count)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++)
        sum += fabs(x[k]);
    return sum;
}

static double linf_of(const double *x, int64_t count)
{
    double largest = 0;
    for (int64_t k = 0; k < count; k++)
        largest = fmax(largest, fabs(x[k]));
    return largest;
}

static attsvm_status l1_size(double q, bool dual, const double *x, int64_t rows, int64_t width,
                             double *out, attsvm_error *err)
{
    (void)q, (void)err;
    *out = dual ? linf_of(x, rows * width) : l1_of(x, rows * width);
    return ATTSVM_OK;
}

static attsvm_status linf_size(double q, bool dual, const double *x, int64_t rows, int64_t width,
                               double *out, attsvm_error *err)
{
    return l1_size(q, !dual, x, rows, width, out, err);
}

static double l1_row_size(double q, const double *delta, const double *z, int64_t d)
{
    (void)q;
    return linf_of(delta, d) * (z ? linf_of(z, d) : 1);
}

static double linf_row_size(double q, const double *delta, const double *z, int64_t d)
{
    (void)q;
    return l1_of(delta, d) * (z ? l1_of(z, d) : 1);
}

static attsvm_status l1_core(svm_phase *phase, const svm_small *part, const double *W0, double *W,
                             double *lambda, attsvm_error *err)
{
    return solve(phase, part, true, W0, W, lambda, err);
}

static attsvm_status linf_core(svm_phase *phase, const svm_small *part, const double *W0, double *W,
                               double *lambda, attsvm_error *err)
{
    return solve(phase, part, false, W0, W, lambda, err);
}

const svm_norm svm_norm_l1 = { .rows_off = true, /* up to Clp's tolerance */
                               .low_parts = true,
                               .negligible = 1e-11,
                               .tol = 1e-9,
                               .size = l1_size,
                               .row_size = l1_row_size,
                               .solve = svm_small_solve,
                               .core = l1_core };
const svm_norm svm_norm_linf = { .rows_off = true,
                                 .low_parts = true,
                                 .negligible = 1e-11,
                                 .tol = 1e-9,
                                 .size = linf_size,
                                 .row_size = linf_row_size,
                                 .solve = svm_small_solve,
                                 .core = linf_core };
