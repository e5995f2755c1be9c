/*
 * l1 and l_infinity norms over gathered rows: linear programs, solved by Clp.
 *
 *   l1     min sum (x+ + x-)       A (x+ - x-) >= b/unit,  x+, x- >= 0    W = unit (x+ - x-)
 *   linf   max m                   A y - m b/unit >= 0,    -1 <= y <= 1   W = unit y/m
 *
 * with equalities where the row is one, and a unit that brings the unknowns near 1.  The prices of
 * the rows are the multipliers.  What Clp returns is only a proposal: the caller recomputes the gap
 * from W and lambda.
 */
#include "svm/svm.h"

#include <coin/Clp_C_Interface.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CLP_TOLERANCE = 1e-12; /* of primal and dual feasibility, Clp's own units */

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

/* Entry (i, j) of A_r. */
static double entry(const svm_part *part, int64_t r, int64_t i, int64_t j)
{
    return part->u[r * part->p + i] * part->v[part->term[r] * part->q + j];
}

/* Column `at` = sign * (entry k of every row). */
static void fill_column(program *lp, const svm_part *part, int64_t at, int64_t k, double sign)
{
    for (int64_t r = 0; r < part->rows; r++) {
        lp->index[at * part->rows + r] = (int)r;
        lp->value[at * part->rows + r] = sign * entry(part, r, k / part->q, k % part->q);
    }
}

static attsvm_status program_l1(program *lp, const svm_part *part, double unit, attsvm_error *err)
{
    int64_t size = part->p * part->q;
    TRY(program_create(lp, 2 * size, part->rows, err));
    for (int64_t k = 0; k < size; k++) {
        fill_column(lp, part, k, k, 1);
        fill_column(lp, part, size + k, k, -1);
    }
    for (int64_t k = 0; k < 2 * size; k++) {
        lp->cost[k] = 1;
        lp->high[k] = INFINITY;
    }
    for (int64_t r = 0; r < part->rows; r++) {
        lp->row_low[r] = part->b[r] / unit;
        lp->row_high[r] = part->equal[r] ? part->b[r] / unit : INFINITY;
    }
    return ATTSVM_OK;
}

static attsvm_status program_linf(program *lp, const svm_part *part, double unit, attsvm_error *err)
{
    int64_t size = part->p * part->q;
    TRY(program_create(lp, size + 1, part->rows, err));
    for (int64_t k = 0; k < size; k++) {
        fill_column(lp, part, k, k, 1);
        lp->low[k] = -1;
        lp->high[k] = 1;
    }
    for (int64_t r = 0; r < part->rows; r++) {
        lp->index[size * part->rows + r] = (int)r;
        lp->value[size * part->rows + r] = -part->b[r] / unit;
        lp->row_high[r] = part->equal[r] ? 0 : INFINITY;
    }
    lp->low[size] = 0;
    lp->high[size] = INFINITY;
    lp->cost[size] = -1;
    return ATTSVM_OK;
}

/* W, lambda and their sizes from the solved program; false where Clp found no optimum. */
static bool take_solution(Clp_Simplex *model, const svm_part *part, bool l1, double unit, double *W,
                          double *lambda)
{
    int64_t size = part->p * part->q;
    if (Clp_status(model) != 0)
        return false;
    const double *x = Clp_primalColumnSolution(model), *price = Clp_dualRowSolution(model);
    double scale = l1 ? 1 : x[size];
    if (!(scale > 0))
        return false;
    for (int64_t k = 0; k < size; k++)
        W[k] = unit * (l1 ? x[k] - x[size + k] : x[k] / scale);
    for (int64_t r = 0; r < part->rows; r++)
        lambda[r] = part->equal[r] ? price[r] : fmax(price[r], 0);
    return true;
}

attsvm_status svm_lp_core(const svm_part *part, bool l1, const double *W0, double *W,
                          double *lambda, bool *solved, int64_t *iterations, attsvm_error *err)
{
    program lp;
    double unit = 0; /* of W: the largest entry of W0 */
    *solved = false;
    for (int64_t k = 0; k < part->p * part->q; k++)
        unit = fmax(unit, fabs(W0[k]));
    unit = unit > 0 ? unit : 1;
    attsvm_status status =
        l1 ? program_l1(&lp, part, unit, err) : program_linf(&lp, part, unit, err);
    Clp_Simplex *model = status == ATTSVM_OK ? Clp_newModel() : NULL;
    if (status == ATTSVM_OK && !model)
        status = fail(err, ATTSVM_E_MEMORY, "linear program: no memory");
    if (status == ATTSVM_OK) {
        for (int k = 0; k <= lp.columns; k++)
            lp.start[k] = k * lp.rows;
        Clp_setLogLevel(model, 0);
        Clp_loadProblem(model, lp.columns, lp.rows, lp.start, lp.index, lp.value, lp.low, lp.high,
                        lp.cost, lp.row_low, lp.row_high);
        Clp_setPrimalTolerance(model, CLP_TOLERANCE);
        Clp_setDualTolerance(model, CLP_TOLERANCE);
        Clp_dual(model, 0);
        *iterations += Clp_numberIterations(model);
        *solved = take_solution(model, part, l1, unit, W, lambda);
    }
    if (model)
        Clp_deleteModel(model);
    program_free(&lp);
    return status;
}
