/*
 * The norms l2 and Frobenius: solves the working set in double, and in double-double where that
 * does not suffice; memory, refinement of a solved active set, proofs of infeasibility.
 */
#include "svm/norm/l2/l2.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t number(const l2_active_set *e)
{
    return e->extended ? sizeof(dd) : sizeof(double);
}

static void layout(l2_active_set *e, arena *a, size_t capacity, size_t square)
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
static attsvm_status grow_factor(l2_active_set *e, int64_t capacity, attsvm_error *err)
{
    l2_active_set old = *e;
    arena a = { 0 };
    size_t square;
    if (!base_multiply((size_t)capacity, (size_t)capacity, &square))
        return fail(err, ATTSVM_E_MEMORY, "a factor of %" PRId64 " active rows is too large",
                    capacity);
    layout(e, &a, (size_t)capacity, square);
    attsvm_status status = base_arena_reserve(&a, "factor of the active rows", err);
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
    free(old.memory);
    e->capacity = capacity;
    return ATTSVM_OK;
}

attsvm_status l2_create(l2_active_set *e, svm_phase *phase, attsvm_error *err)
{
    *e = (l2_active_set){ .phase = phase, .set = phase->set, .entering = -1 };
    size_t size = (size_t)e->set->size;
    TRY(base_allocate(&e->step, 2 * size, sizeof(double), "theta", err));
    e->step_lo = e->step + size;
    return ATTSVM_OK;
}

void l2_free(l2_active_set *e)
{
    void *pieces[] = { e->memory, e->residual, e->step, e->work, e->order };
    for (size_t k = 0; k < sizeof pieces / sizeof *pieces; k++)
        free(pieces[k]);
}

static attsvm_status reserve_margins(l2_active_set *e, attsvm_error *err)
{
    svm_set *set = e->set;
    if (set->count <= e->residual_capacity)
        return ATTSVM_OK;
    free(e->residual);
    e->residual = NULL;
    e->residual_capacity = set->capacity;
    return base_allocate(&e->residual, (size_t)set->capacity, sizeof(double), "margins", err);
}

/* Memory of the factor: at most `size` rows are independent, and only rows of the set are active.
 */
static attsvm_status reserve(l2_active_set *e, attsvm_error *err)
{
    svm_set *set = e->set;
    int64_t most = set->count < set->size ? set->count : set->size;
    if (e->L && most <= e->capacity)
        return ATTSVM_OK;
    int64_t capacity = 2 * e->capacity > most ? 2 * e->capacity : most;
    capacity = capacity < set->size ? capacity : set->size;
    return grow_factor(e, capacity < 8 ? 8 : (capacity + 7) / 8 * 8, err);
}

/* Many rows: conjugate gradients, without a factor.  After a failure the active-set method is used
   from then on. */
static attsvm_status run_gradients(l2_active_set *e, bool exact, svm_end *end, attsvm_error *err)
{
    bool solved;
    TRY(l2_cg_solve(e, exact, &solved, err));
    *end = solved ? SVM_SOLVED : SVM_NEEDS_EXTENDED;
    if (!solved && l2_stopped(e))
        *end = SVM_STOP;
    else if (!solved && e->phase->iterations >= e->phase->max_iterations)
        *end = SVM_LIMIT;
    if (*end != SVM_NEEDS_EXTENDED)
        return ATTSVM_OK;
    e->cg_active = -1;
    TRY(reserve(e, err));
    return l2_restart(e, err);
}

/* Block pivoting, then one row at a time. */
static attsvm_status run_factor(l2_active_set *e, svm_end *end, attsvm_error *err)
{
    *end = l2_enter_equalities(e);
    if (*end != SVM_SOLVED)
        return ATTSVM_OK;
    TRY(l2_block_pivoting(e, err));
    *end = l2_stopped(e) ? SVM_STOP : l2_run_double(e);
    return ATTSVM_OK;
}

attsvm_status l2_run(l2_active_set *e, bool exact, svm_end *end, attsvm_error *err)
{
    TRY(reserve_margins(e, err));
    if (l2_cg_applies(e)) {
        if (e->cg_active == 0)
            TRY(l2_restart(e, err));
        TRY(run_gradients(e, exact, end, err));
        if (*end != SVM_NEEDS_EXTENDED)
            return ATTSVM_OK;
    } else if (e->cg_active > 0) { /* the set is now too small for conjugate gradients */
        e->cg_active = -1;
        TRY(reserve(e, err));
        TRY(l2_restart(e, err));
    }
    TRY(reserve(e, err));
    e->cycle_limit = e->phase->iterations + 40 * (e->set->count + 50);
    if (e->extended) {
        *end = l2_run_extended(e);
        return ATTSVM_OK;
    }
    return run_factor(e, end, err);
}

attsvm_status l2_restart(l2_active_set *e, attsvm_error *err)
{
    svm_set *set = e->set;
    e->count = 0;
    for (int64_t s = 0; s < set->count; s++) {
        bool zero = set->square[s] == 0 && isfinite(set->upper[s]);
        set->place[s] = zero ? SVM_AT_UPPER : SVM_AT_ZERO;
        set->lambda[s] = zero ? set->upper[s] : 0;
        set->lambda_lo[s] = 0;
    }
    memset(set->theta, 0, (size_t)set->size * sizeof(double));
    memset(set->theta_lo, 0, (size_t)set->size * sizeof(double));
    return e->L ? grow_factor(e, e->capacity, err) : ATTSVM_OK;
}

attsvm_status l2_extend(l2_active_set *e, attsvm_error *err)
{
    e->extended = true;
    e->cg_active = -1;
    TRY(l2_order_equalities(e, err));
    return l2_restart(e, err);
}

bool l2_stopped(l2_active_set *e)
{
    svm_phase *phase = e->phase;
    double active = (double)e->count;
    phase->active = e->cg_active > 0 ? e->cg_active : e->count;
    return dist_stop_poll(phase->stop, active * active + (double)e->set->count * (double)e->set->d);
}

/* ---------------------------------------------------------------------- refining */

/* theta = sum of all multipliers times their rows, in double-double. */
static void sum_theta(l2_active_set *e)
{
    svm_set *set = e->set;
    size_t bytes = (size_t)set->size * sizeof(double);
    memset(set->theta, 0, bytes);
    memset(set->theta_lo, 0, bytes);
    for (int64_t k = 0; k < e->count; k++) {
        e->coef[k] = set->lambda[e->active[k]];
        e->coef_lo[k] = set->lambda_lo[e->active[k]];
    }
    svm_set_combine_exact(set, e->active, e->coef, e->coef_lo, e->count, set->theta, set->theta_lo);
    for (int64_t s = 0; s < set->count; s++) {
        int32_t slot = (int32_t)s;
        if (set->place[s] == SVM_AT_UPPER)
            svm_set_combine_exact(set, &slot, &set->upper[s], NULL, 1, set->theta, set->theta_lo);
    }
}

/* Largest |residual| of S relative to the size of its rounding error. */
static double largest_residual(const l2_active_set *e, const double *residual)
{
    const svm_set *set = e->set;
    double largest = 0, norm = la_norm(set->theta, set->size);
    for (int64_t k = 0; k < e->count; k++) {
        int64_t s = e->active[k];
        double scale = fabs(set->b[s]) + set->length[s] * norm;
        if (scale > 0)
            largest = fmax(largest, fabs(residual[k]) / scale);
    }
    return largest;
}

/* Removes rows from S whose multiplier is outside its bounds. */
static bool drop_outside(l2_active_set *e)
{
    svm_set *set = e->set;
    bool dropped = false;
    for (int64_t k = e->count - 1; k >= 0; k--) {
        int64_t s = e->active[k];
        if (!set->equality[s] && !(set->lambda[s] > 0 && set->lambda[s] < set->upper[s])) {
            l2_leave(e, k);
            dropped = true;
        }
    }
    return dropped;
}

/* Adds `change` to the multipliers of S, and updates theta, in double. */
static void correct_multipliers(l2_active_set *e, const double *change)
{
    svm_set *set = e->set;
    for (int64_t k = 0; k < e->count; k++) {
        int64_t s = e->active[k];
        dd sum = base_dd_add((dd){ set->lambda[s], set->lambda_lo[s] }, base_dd(change[k]));
        set->lambda[s] = sum.hi;
        set->lambda_lo[s] = sum.lo;
    }
    svm_set_combine(set, e->active, change, e->count, e->step);
    for (int64_t j = 0; j < set->size; j++) {
        dd sum = base_dd_add((dd){ set->theta[j], set->theta_lo[j] }, base_dd(e->step[j]));
        set->theta[j] = sum.hi;
        set->theta_lo[j] = sum.lo;
    }
}

attsvm_status l2_reserve(l2_active_set *e, attsvm_error *err)
{
    TRY(reserve_margins(e, err));
    return reserve(e, err);
}

/* Steps of the double-double method accumulate rounding in theta: restore its rows. */
static void refine_extended(l2_active_set *e)
{
    enum { ROUNDS = 4 };
    static const double converged = 1e-30;
    double *rhs = e->combination, *change = e->coef;
    for (int round = 0; round < ROUNDS; round++) {
        sum_theta(e);
        svm_set_residual_exact(e->set, e->active, e->count, e->set->theta, e->set->theta_lo, rhs);
        if (largest_residual(e, rhs) <= converged)
            return;
        l2_solve_extended(e, rhs, change);
        correct_multipliers(e, change);
    }
    sum_theta(e);
}

svm_end l2_refine(l2_active_set *e, bool *again)
{
    enum { ROUNDS = 12 };
    static const double converged = 1e-17, small = 1e-14;
    svm_set *set = e->set;
    double last = INFINITY;
    *again = false;
    if (e->extended)
        refine_extended(e);
    if (e->extended || e->cg_active > 0)
        return SVM_SOLVED;
    for (int round = 0; round < ROUNDS; round++) {
        double *rhs = e->combination, *change = e->coef;
        sum_theta(e);
        svm_set_residual_exact(set, e->active, e->count, set->theta, set->theta_lo, rhs);
        double size = largest_residual(e, rhs);
        if (size > converged) {
            if (!(size < last / 4))
                return SVM_NEEDS_EXTENDED;
            l2_solve_factored(e, rhs, change);
            correct_multipliers(e, change);
        }
        last = size;
        if (size < small) { /* the error of such a small correction is negligible */
            *again = drop_outside(e);
            if (*again)
                sum_theta(e);
            return SVM_SOLVED;
        }
    }
    return SVM_NEEDS_EXTENDED;
}

/* ---------------------------------------------------------------------- infeasible */

/* The row that could not enter: +-(A_p - sum r_j A_j), inequalities at least 0. */
static void combine_rows(const l2_active_set *e, double *coef)
{
    const svm_set *set = e->set;
    memset(coef, 0, (size_t)set->count * sizeof *coef);
    coef[e->entering] = e->entering_sign;
    for (int64_t j = 0; j < e->count; j++) {
        int64_t s = e->active[j];
        coef[s] = -e->entering_sign * e->combination[j];
        if (!set->equality[s] && coef[s] < 0)
            coef[s] = 0;
    }
}

/* One step of refinement of r: the residual vector w = sum coef A should be orthogonal to S. */
static void refine_combination(l2_active_set *e)
{
    svm_set *set = e->set;
    double *rhs = e->coef, *change = e->coef_lo;
    svm_set_residual_exact(set, e->active, e->count, e->step, e->step_lo, rhs);
    for (int64_t j = 0; j < e->count; j++) /* <A_j, w>, up to the sign */
        rhs[j] = e->entering_sign * (set->b[e->active[j]] - rhs[j]);
    l2_solve_factored(e, rhs, change);
    for (int64_t j = 0; j < e->count; j++)
        e->combination[j] += change[j];
}

attsvm_status l2_prove(l2_active_set *e, attsvm_error *err)
{
    enum { REFINEMENTS = 3 };
    static const double small = 5e-13; /* of sum |coef A|: the sum counts as 0 */
    svm_set *set = e->set;
    size_t bytes = (size_t)set->size * sizeof(double);
    free(e->phase->proof);
    e->phase->proof = NULL;
    TRY(base_allocate(&e->phase->proof, 3 * (size_t)set->count, sizeof(double), "proof", err));
    double *coef = e->phase->proof, *packed = coef + set->count;
    int32_t *slots = (int32_t *)(void *)(packed + set->count);
    for (int round = 0;; round++) {
        double sizes = 0;
        int64_t count = 0;
        combine_rows(e, coef);
        for (int64_t s = 0; s < set->count; s++)
            if (coef[s] != 0) {
                sizes += fabs(coef[s]) * set->length[s];
                slots[count] = (int32_t)s;
                packed[count++] = coef[s];
            }
        memset(e->step, 0, bytes);
        memset(e->step_lo, 0, bytes);
        svm_set_combine_exact(set, slots, packed, NULL, count, e->step, e->step_lo);
        bool enough = svm_norm_euclidean_exact(e->step, e->step_lo, set->size).hi <= small * sizes;
        if (enough || e->extended || round == REFINEMENTS)
            return ATTSVM_OK;
        refine_combination(e);
    }
}

/* ------------------------------------------------------------------------ the norm */

enum { SOFT_ROWS = 320 }; /* above which a soft problem starts with an interior point method */

static attsvm_status open(svm_phase *phase, attsvm_error *err)
{
    l2_active_set *e;
    TRY(base_allocate(&e, 1, sizeof *e, "active set", err));
    phase->state = e;
    return l2_create(e, phase, err);
}

/* Other norms do not use positions in an active set. */
static void close(svm_phase *phase)
{
    for (int64_t s = 0; s < phase->set->count; s++)
        phase->set->place[s] = SVM_AT_ZERO;
    if (phase->state)
        l2_free(phase->state);
    free(phase->state);
    phase->state = NULL;
}

/* Restarts in double-double; keeps the multipliers so far for a bound. */
static attsvm_status extend(l2_active_set *e, attsvm_error *err)
{
    svm_phase *phase = e->phase;
    const svm_set *set = e->set;
    free(phase->earlier);
    phase->earlier = NULL;
    phase->earlier_count = 0;
    TRY(base_allocate(&phase->earlier, (size_t)set->count + 1, sizeof(double), "multipliers", err));
    memcpy(phase->earlier, set->lambda, (size_t)set->count * sizeof(double));
    phase->earlier_count = set->count;
    phase->extended = true;
    return l2_extend(e, err);
}

/* Rows of the set may have moved: `place` has the new positions. */
static void follow_rows(l2_active_set *e)
{
    for (int64_t s = 0; s < e->set->count && e->count > 0; s++)
        if (e->set->place[s] >= 0)
            e->active[e->set->place[s]] = (int32_t)s;
}

/* Solves the set in double, then in double-double if that is not enough. */
static attsvm_status solve_set(l2_active_set *e, bool exact, svm_end *end, attsvm_error *err)
{
    enum { MOST_TRIES = 20 };
    for (int tries = 0;; tries++) {
        bool again = false;
        TRY(l2_run(e, exact, end, err));
        if (*end == SVM_SOLVED && exact)
            *end = l2_refine(e, &again);
        bool doubt = *end == SVM_NEEDS_EXTENDED;
        if (!again && (!doubt || e->extended)) {
            *end = doubt ? SVM_LIMIT : *end;
            return ATTSVM_OK;
        }
        if (doubt || tries > MOST_TRIES)
            TRY(extend(e, err));
    }
}

static attsvm_status solve(svm_phase *phase, svm_end *end, attsvm_error *err)
{
    l2_active_set *e = phase->state;
    svm_set *set = phase->set;
    follow_rows(e);
    if (phase->round == 0 && set->whole && set->count > SOFT_ROWS &&
        l2_soft_applies(set, set->count))
        TRY(l2_soft_start(e, err));
    if (phase->extended && !e->extended)
        TRY(extend(e, err));
    TRY(solve_set(e, phase->precision == SVM_EXACT, end, err));
    phase->active = e->cg_active > 0 ? e->cg_active : e->count;
    return *end == SVM_INFEASIBLE ? l2_prove(e, err) : ATTSVM_OK;
}

const svm_norm svm_norm_l2 = { .unique = true,
                               .active_set = true,
                               .tol = 1e-12,
                               .limited = &svm_norm_fro_limited,
                               .size = svm_norm_euclidean,
                               .size_exact = svm_norm_euclidean_exact,
                               .row_size = svm_norm_euclidean_row,
                               .stores_all = l2_soft_applies,
                               .open = open,
                               .close = close,
                               .solve = solve };
