/* Memory of the engine, the change to double-double, and refinement of a solved active set. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t number(const svm_engine *e)
{
    return e->extended ? sizeof(dd) : sizeof(double);
}

static void layout(svm_engine *e, arena *a, size_t capacity, size_t square)
{
    size_t n = capacity + 2, size = number(e);
    e->L = base_take(a, square, size);
    e->g = base_take(a, n, size);
    e->y = base_take(a, n, size);
    e->r = base_take(a, n, size);
    e->rotation = base_take(a, 2 * n, size);
    e->coef = take(a, n);
    e->coef_lo = take(a, n);
    e->combination = take(a, n);
    e->active = base_take(a, n, sizeof *e->active);
}

/* Memory for `capacity` active rows; the factor is kept. */
static attsvm_status grow_factor(svm_engine *e, int64_t capacity, attsvm_error *err)
{
    svm_engine old = *e;
    arena a = { 0 };
    size_t square;
    if (!base_multiply((size_t)capacity, (size_t)capacity, &square))
        return fail(err, ATTSVM_E_MEMORY, "a factor of %" PRId64 " active rows is too large",
                    capacity);
    layout(e, &a, (size_t)capacity, square);
    attsvm_status status = svm_space_arena(e->pool->space, &a, "factor of the active rows", err);
    if (status != ATTSVM_OK) {
        *e = old;
        return status;
    }
    e->memory = a.base;
    layout(e, &a, (size_t)capacity, square);
    size_t size = number(e);
    for (int64_t i = 0; i < e->count; i++)
        memcpy((char *)e->L + (size_t)(i * capacity) * size,
               (char *)old.L + (size_t)(i * old.capacity) * size, (size_t)(i + 1) * size);
    if (e->count > 0)
        memcpy(e->active, old.active, (size_t)e->count * sizeof *e->active);
    svm_space_release(e->pool->space, old.memory);
    e->capacity = capacity;
    return ATTSVM_OK;
}

attsvm_status svm_engine_create(svm_engine *e, svm_pool *pool, attsvm_error *err)
{
    *e = (svm_engine){ .pool = pool, .entering = -1 };
    size_t size = (size_t)pool->size;
    TRY(svm_space_allocate(pool->space, &e->theta, 4 * size, sizeof(double), "theta", err));
    e->theta_lo = e->theta + size;
    e->step = e->theta_lo + size;
    e->step_lo = e->step + size;
    return ATTSVM_OK;
}

void svm_engine_free(svm_engine *e)
{
    void *pieces[] = { e->memory, e->residual, e->theta, e->work, e->order };
    svm_space *space = e->pool ? e->pool->space : NULL;
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++)
        svm_space_release(space, pieces[k]);
}

/* At most `size` rows are independent, and none that is not in the pool is active. */
static attsvm_status reserve_margins(svm_engine *e, attsvm_error *err)
{
    svm_pool *pool = e->pool;
    if (pool->count <= e->residual_capacity)
        return ATTSVM_OK;
    svm_space_release(pool->space, e->residual);
    e->residual = NULL;
    e->residual_capacity = pool->capacity;
    return svm_space_allocate(pool->space, &e->residual, (size_t)pool->capacity, sizeof(double),
                              "margins", err);
}

static attsvm_status reserve(svm_engine *e, attsvm_error *err)
{
    svm_pool *pool = e->pool;
    int64_t most = pool->count < pool->size ? pool->count : pool->size;
    if (e->L && most <= e->capacity)
        return ATTSVM_OK;
    int64_t capacity = 2 * e->capacity > most ? 2 * e->capacity : most;
    capacity = capacity < pool->size ? capacity : pool->size;
    return grow_factor(e, capacity < 8 ? 8 : (capacity + 7) / 8 * 8, err);
}

/* Many rows: conjugate gradients, with no factor.  Where they fail, the engine takes over for good.
 */
static attsvm_status run_gradients(svm_engine *e, bool exact, svm_engine_end *end,
                                   attsvm_error *err)
{
    bool solved;
    TRY(svm_gradients_solve(e, exact, &solved, err));
    *end = solved ? SVM_SOLVED : SVM_DOUBT;
    if (!solved && e->poll && e->poll(e->poll_context))
        *end = SVM_STOP;
    else if (!solved && e->iterations >= e->max_iterations)
        *end = SVM_LIMIT;
    if (*end != SVM_DOUBT)
        return ATTSVM_OK;
    e->settled = -1;
    TRY(reserve(e, err));
    return svm_engine_restart(e, err);
}

/* Block pivoting, then one row at a time. */
static attsvm_status run_factor(svm_engine *e, svm_engine_end *end, attsvm_error *err)
{
    *end = svm_engine_equalities_double(e);
    if (*end != SVM_SOLVED)
        return ATTSVM_OK;
    TRY(svm_engine_block(e, err));
    *end = svm_engine_run_double(e);
    return ATTSVM_OK;
}

/* theta = sum of all multipliers times their rows, in double. */
static void form_theta(svm_engine *e)
{
    svm_pool *pool = e->pool;
    int64_t count = 0;
    int32_t slots[SVM_SMALL_POOL];
    double coef[SVM_SMALL_POOL];
    for (int64_t s = 0; s < pool->count; s++)
        if (pool->lambda[s] != 0) {
            slots[count] = (int32_t)s;
            coef[count++] = pool->lambda[s];
        }
    svm_pool_combine(pool, slots, coef, count, e->theta);
    memset(e->theta_lo, 0, (size_t)pool->size * sizeof(double));
}

attsvm_status svm_engine_run(svm_engine *e, bool exact, svm_engine_end *end, attsvm_error *err)
{
    TRY(reserve_margins(e, err));
    if (svm_gradients_apply(e)) {
        if (e->settled == 0)
            TRY(svm_engine_restart(e, err));
        TRY(run_gradients(e, exact, end, err));
        if (*end != SVM_DOUBT)
            return ATTSVM_OK;
    } else if (e->settled > 0) { /* the pool has shrunk below what they are for */
        e->settled = -1;
        TRY(reserve(e, err));
        TRY(svm_engine_restart(e, err));
    }
    TRY(reserve(e, err));
    e->patience = e->iterations + 40 * (e->pool->count + 50);
    if (e->extended) {
        *end = svm_engine_run_extended(e);
        return ATTSVM_OK;
    }
    if (!e->pool->rows->sets) /* equalities look at theta */
        TRY(svm_pool_gram_all(e->pool, &e->lazy, err));
    attsvm_status status = run_factor(e, end, err);
    if (e->lazy)
        form_theta(e);
    e->lazy = false;
    return status;
}

attsvm_status svm_engine_restart(svm_engine *e, attsvm_error *err)
{
    svm_pool *pool = e->pool;
    e->count = 0;
    for (int64_t s = 0; s < pool->count; s++) {
        bool zero = pool->square[s] == 0 && isfinite(pool->upper[s]);
        pool->place[s] = zero ? SVM_AT_UPPER : SVM_AT_ZERO;
        pool->lambda[s] = zero ? pool->upper[s] : 0;
        pool->lambda_lo[s] = 0;
    }
    memset(e->theta, 0, (size_t)pool->size * sizeof(double));
    memset(e->theta_lo, 0, (size_t)pool->size * sizeof(double));
    return e->L ? grow_factor(e, e->capacity, err) : ATTSVM_OK;
}

attsvm_status svm_engine_extend(svm_engine *e, attsvm_error *err)
{
    e->extended = true;
    e->settled = -1;
    TRY(svm_engine_order(e, err));
    return svm_engine_restart(e, err);
}

void svm_engine_move(svm_engine *e, const int32_t *moved)
{
    for (int64_t k = 0; k < e->count; k++)
        e->active[k] = moved[e->active[k]];
}

/* ---------------------------------------------------------------------- refining */

/* theta = sum of all multipliers times their rows, in double-double. */
static void sum_theta(svm_engine *e)
{
    svm_pool *pool = e->pool;
    size_t bytes = (size_t)pool->size * sizeof(double);
    memset(e->theta, 0, bytes);
    memset(e->theta_lo, 0, bytes);
    for (int64_t k = 0; k < e->count; k++) {
        e->coef[k] = pool->lambda[e->active[k]];
        e->coef_lo[k] = pool->lambda_lo[e->active[k]];
    }
    svm_pool_combine_exact(pool, e->active, e->coef, e->coef_lo, e->count, e->theta, e->theta_lo);
    for (int64_t s = 0; s < pool->count; s++) {
        int32_t slot = (int32_t)s;
        if (pool->place[s] == SVM_AT_UPPER)
            svm_pool_combine_exact(pool, &slot, &pool->upper[s], NULL, 1, e->theta, e->theta_lo);
    }
}

/* Largest |residual| of S relative to what its rounding is measured by. */
static double largest_residual(const svm_engine *e, const double *residual)
{
    const svm_pool *pool = e->pool;
    double largest = 0, norm = la_norm(e->theta, pool->size);
    for (int64_t k = 0; k < e->count; k++) {
        int64_t s = e->active[k];
        double scale = fabs(pool->b[s]) + pool->length[s] * norm;
        if (scale > 0)
            largest = fmax(largest, fabs(residual[k]) / scale);
    }
    return largest;
}

/* Rows of S whose multiplier is not inside its bounds leave it. */
static bool drop_outside(svm_engine *e)
{
    svm_pool *pool = e->pool;
    bool dropped = false;
    for (int64_t k = e->count - 1; k >= 0; k--) {
        int64_t s = e->active[k];
        if (!pool->equality[s] && !(pool->lambda[s] > 0 && pool->lambda[s] < pool->upper[s])) {
            svm_engine_leave_double(e, k);
            dropped = true;
        }
    }
    return dropped;
}

/* Adds `change` to the multipliers of S, and to theta what comes of it, in double. */
static void correct_multipliers(svm_engine *e, const double *change)
{
    svm_pool *pool = e->pool;
    for (int64_t k = 0; k < e->count; k++) {
        int64_t s = e->active[k];
        dd sum = base_dd_add((dd){ pool->lambda[s], pool->lambda_lo[s] }, base_dd(change[k]));
        pool->lambda[s] = sum.hi;
        pool->lambda_lo[s] = sum.lo;
    }
    svm_pool_combine(pool, e->active, change, e->count, e->step);
    for (int64_t j = 0; j < pool->size; j++) {
        dd sum = base_dd_add((dd){ e->theta[j], e->theta_lo[j] }, base_dd(e->step[j]));
        e->theta[j] = sum.hi;
        e->theta_lo[j] = sum.lo;
    }
}

attsvm_status svm_engine_reserve(svm_engine *e, attsvm_error *err)
{
    TRY(reserve_margins(e, err));
    return reserve(e, err);
}

svm_engine_end svm_engine_refine(svm_engine *e, bool *again)
{
    enum { ROUNDS = 12 };
    static const double converged = 1e-17, small = 1e-14;
    svm_pool *pool = e->pool;
    double last = INFINITY;
    *again = false;
    if (e->extended || e->settled > 0)
        return SVM_SOLVED;
    for (int round = 0; round < ROUNDS; round++) {
        double *rhs = e->combination, *change = e->coef;
        sum_theta(e);
        svm_pool_residual_exact(pool, e->active, e->count, e->theta, e->theta_lo, rhs);
        double size = largest_residual(e, rhs);
        if (size > converged) {
            if (!(size < last / 4))
                return SVM_DOUBT;
            svm_engine_solve_double(e, rhs, change);
            correct_multipliers(e, change);
        }
        last = size;
        if (size < small) { /* the error of so small a correction is nothing */
            *again = drop_outside(e);
            if (*again)
                sum_theta(e);
            return SVM_SOLVED;
        }
    }
    return SVM_DOUBT;
}
