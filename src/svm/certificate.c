/*
 * Certificates (theory 4.1): theta scaled so that every row holds, multipliers in norm form, and
 * the numbers that follow, all evaluated in double-double.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Largest residual of a proof of infeasibility, relative to its terms. */
static const double FARKAS = 1e-12;
/* Equalities hold to this times |e| + |A||theta|; the checker allows 1e-12. */
static const double EQUALITY = 5e-13;

static dd norm_exact(const double *hi, const double *lo, int64_t count)
{
    dd sum = base_dd_add(la_exact_active()->dot(hi, hi, lo, count),
                         base_dd(lo ? la_dot(lo, hi, count) : 0));
    return base_dd_sqrt(sum);
}

static attsvm_row name_row(const svm_run *run, int64_t term, int64_t token)
{
    svm_term at = svm_rows_term(run->rows, term);
    return (attsvm_row){ at.i, at.q, token };
}

/* ------------------------------------------------------------------- multipliers */

static int compare_rows(const void *a, const void *b)
{
    const attsvm_row *x = a, *y = b;
    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (x->query != y->query)
        return x->query < y->query ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

typedef struct entry {
    attsvm_row row; /* first, so that entries sort as rows */
    double value;
} entry;

/* Rows of a set that took in all of a problem come in order. */
static bool is_sorted(const entry *entries, int64_t count)
{
    for (int64_t k = 1; k < count; k++)
        if (compare_rows(&entries[k - 1], &entries[k]) > 0)
            return false;
    return true;
}

/*
 * Stores factor * coef[k] sigma as lambda (inequalities above 0) and mu (all equalities of the
 * set), ordered by row.  coef is by slot, in set units.
 */
static attsvm_status store(svm_run *run, attsvm_solution *solution, const double *coef,
                           double factor, attsvm_error *err)
{
    const svm_set *set = &run->set;
    attsvm_claim *claim = &solution->claim;
    entry *entries;
    size_t room = (size_t)set->count + 1;
    TRY(base_allocate(&entries, room, sizeof *entries, "multipliers", err));
    for (int pass = 0; pass < 2; pass++) {
        int64_t count = 0;
        for (int64_t s = 0; s < set->count; s++) {
            double value = factor * coef[s] * set->sigma[s];
            if (set->equality[s] != pass || (!pass && !(value > 0)))
                continue;
            entries[count++] = (entry){ name_row(run, set->term[s], set->token[s]), value };
        }
        if (!is_sorted(entries, count))
            qsort(entries, (size_t)count, sizeof *entries, compare_rows);
        attsvm_row **rows = pass ? &solution->equal : &solution->active;
        double **values = pass ? &solution->mu : &solution->lambda;
        attsvm_status status =
            base_allocate(rows, (size_t)count + 1, sizeof **rows, "multipliers", err);
        if (status == ATTSVM_OK)
            status = base_allocate(values, (size_t)count + 1, sizeof **values, "multipliers", err);
        if (status != ATTSVM_OK) {
            free(entries);
            return status;
        }
        for (int64_t k = 0; k < count; k++) {
            (*rows)[k] = entries[k].row;
            (*values)[k] = entries[k].value;
        }
        *(pass ? &claim->equal_count : &claim->active_count) = count;
    }
    free(entries);
    return ATTSVM_OK;
}

/* Multipliers by slot as doubles: what is stored, so what the numbers must be computed from. */
static void round_multipliers(const svm_run *run, double factor, double *coef)
{
    const svm_set *set = &run->set;
    for (int64_t s = 0; s < set->count; s++) {
        double lambda = set->lambda[s];
        if (!set->equality[s]) /* a step that was broken off may leave them outside by rounding */
            lambda = lambda > set->upper[s] ? set->upper[s] : lambda > 0 ? lambda : 0;
        coef[s] = lambda * factor;
    }
}

/* b'lambda + e'mu, and the norm of sum lambda A + sum mu A; hi and lo (size) are scratch. */
static dd evaluate_dual(svm_run *run, const double *coef, double *hi, double *lo, dd *norm)
{
    svm_set *set = &run->set;
    dd value = base_dd(0);
    int32_t *slots = run->slots;
    double *packed = run->packed;
    int64_t count = 0;
    memset(hi, 0, (size_t)set->size * sizeof *hi);
    memset(lo, 0, (size_t)set->size * sizeof *lo);
    for (int64_t s = 0; s < set->count; s++) {
        if (coef[s] == 0)
            continue;
        value = base_dd_add(value, base_dd_product(coef[s], set->b[s]));
        slots[count] = (int32_t)s;
        packed[count++] = coef[s];
    }
    svm_set_combine_exact(set, slots, packed, NULL, count, hi, lo);
    *norm = norm_exact(hi, lo, set->size);
    return value;
}

void svm_choose_bound(svm_run *run)
{
    svm_set *set = &run->set;
    double *lambda = run->packed + set->count + 1; /* not used by evaluate_dual */
    double bound[2], norms[2];
    memcpy(lambda, set->lambda, (size_t)set->count * sizeof *lambda);
    for (int k = 0; k < 2; k++) {
        dd norm, value;
        if (k == 1)
            for (int64_t s = 0; s < set->count; s++)
                set->lambda[s] = s < run->lambda_in_double_count ? run->lambda_in_double[s] : 0;
        round_multipliers(run, 1, run->coef);
        value = evaluate_dual(run, run->coef, run->sum, run->sum_lo, &norm);
        norms[k] = base_dd_value(norm);
        bound[k] = set->soft > 0 ? value.hi - norm.hi * norm.hi / 2
                                 : (norm.hi > 0 ? value.hi / norm.hi : 0);
    }
    bool first = run->lambda_in_double_count == 0 || !(bound[1] > bound[0]);
    if (first)
        memcpy(set->lambda, lambda, (size_t)set->count * sizeof *lambda);
    run->sum_norm = norms[!first];
}

/* ----------------------------------------------------------------------- optimal */

/* Largest |<A, theta> - e| over the equalities; *holds: all to 1e-12 (|e| + |A||theta|). */
static double equality_violation(svm_run *run, const double *theta, double norm, bool *holds)
{
    svm_set *set = &run->set;
    double largest = 0;
    const double *zero = run->zero;
    *holds = true;
    for (int64_t s = 0; s < set->count; s++) {
        int32_t slot = (int32_t)s;
        double residual;
        if (!set->equality[s])
            continue;
        svm_set_residual_exact(set, &slot, 1, theta, zero, &residual);
        largest = fmax(largest, fabs(residual / set->sigma[s]));
        if (fabs(residual) > EQUALITY * (fabs(set->b[s]) + set->length[s] * norm))
            *holds = false;
    }
    return largest;
}

static bool any_target(const svm_run *run)
{
    for (int64_t s = 0; s < run->set.count; s++)
        if (run->set.equality[s] && run->set.b[s] != 0)
            return true;
    return false;
}

/*
 * Whether theta is what rounding leaves of rows that cancel each other: equalities = 0 that leave
 * it no direction, or multipliers whose sum is nothing.
 */
static bool vanishes(const svm_run *run)
{
    const svm_set *set = &run->set;
    const l2_active_set *e = &run->engine;
    double sum = 0;
    int64_t pinned = 0;
    for (int64_t k = 0; k < e->count; k++)
        pinned += set->equality[e->active[k]];
    if (pinned == set->size && !any_target(run))
        return true;
    for (int64_t s = 0; s < set->count; s++)
        if (!set->equality[s])
            sum += set->lambda[s] * set->length[s];
    return la_norm(run->engine.theta, set->size) <= 0x1p-96 * sum;
}

/*
 * theta (size) = scale * theta of the engine, rounded.  Rounding moves a row by at most
 * 2^-53 |A| |theta|, and the scale itself is rounded too; it is made larger by as much, so that
 * rows with b = 1 hold exactly.
 */
static void scale_theta(const svm_run *run, double *theta)
{
    const l2_active_set *e = &run->engine;
    double least = run->pass.min_margin, norm = la_norm(e->theta, run->set.size);
    dd scale = base_dd(1);
    if (run->set.soft > 0) {
        /* rows that are met stay so; to the objective, at its minimum, this is nothing.  After a
           stop inside a pass what is known belongs to theta as it is */
        bool zero = vanishes(run) && !run->interrupted;
        scale = base_dd(zero ? 0 : 1 + 0x1p-52 * (2 + run->pass.largest * norm));
    } else if (isfinite(least) && least > 0 && !any_target(run)) {
        double room = 0x1p-52 * (2 + run->pass.largest * norm / least);
        scale = base_dd_div(base_dd(1 + room), base_dd(least));
    }
    for (int64_t k = 0; k < run->set.size; k++)
        theta[k] = base_dd_value(base_dd_mul(scale, (dd){ e->theta[k], e->theta_lo[k] }));
}

/*
 * Where rounding theta moves rows visibly, the room that scale_theta made is no proof that they
 * hold, and which rows are tight may change: the rows are looked at again, at the theta that is
 * stored.  So are those of a soft problem, whose slacks add up what rounding does to each.
 */
static void look_at_stored(svm_run *run, const double *theta)
{
    svm_pass_settings settings = run->pass_settings;
    double norm = la_norm(theta, run->set.size);
    run->pass_is_at_stored_theta =
        !run->interrupted && (run->set.soft > 0 || 0x1p-52 * run->pass.largest * norm > 1e-9);
    if (!run->pass_is_at_stored_theta)
        return;
    settings.share = UINT64_MAX;
    settings.slack_below = INFINITY;
    settings.unread_only = false;
    settings.read_everything = settings.exact = true;
    bool (*poll)(void *) = run->find.poll;
    run->find.poll = NULL; /* a proof that is cut is none */
    run->pass = svm_find_pass(&run->find, theta, run->zero, &settings);
    run->passes += run->pass.visited;
    run->find.poll = poll;
}

static double largest_row(const svm_run *run)
{
    double largest = run->pass.largest;
    for (int64_t s = 0; s < run->set.count; s++)
        largest = fmax(largest, run->set.length[s] / run->set.sigma[s]);
    return largest;
}

/* Objectives of the soft problem: P = 1/2 |theta|^2 + C sum xi, D = b'l - 1/2 |sum l A|^2. */
static bool soft_numbers(svm_run *run, attsvm_svm_info *info, const double *theta, dd value,
                         dd norm)
{
    bool holds;
    dd half = base_dd_mul(base_dd(0.5), base_dd_mul(base_dd(info->norm), base_dd(info->norm)));
    dd primal = base_dd_add(half, base_dd_product(run->set.soft, run->pass.slacks));
    dd dual = base_dd_sub(value, base_dd_mul(base_dd(0.5), base_dd_mul(norm, norm)));
    info->objective = base_dd_value(primal);
    info->dual = base_dd_value(dual);
    /* where P is beyond the range of doubles there is no gap */
    info->gap = primal.hi == 0 ? 0 : base_dd_value(base_dd_div(base_dd_sub(primal, dual), primal));
    equality_violation(run, theta, info->norm, &holds);
    info->violation = fmax(1 - run->pass.min_margin, 0);
    return holds;
}

/* True where all rows hold as theory 4.1 asks. */
static bool hard_numbers(svm_run *run, attsvm_svm_info *info, const double *theta, dd value,
                         dd dual_norm)
{
    bool holds;
    dd norm = norm_exact(theta, run->zero, run->set.size);
    dd dual = dual_norm.hi > 1 ? base_dd_div(value, dual_norm) : value;
    double size =
        run->pass_is_at_stored_theta ? info->norm : la_norm(run->engine.theta, run->set.size);
    double scale = info->norm > 0 ? info->norm / size : 1;
    info->objective = info->norm;
    info->dual = info->norm > 0 ? base_dd_value(dual) : 0;
    info->gap = info->norm > 0 ? base_dd_value(base_dd_div(base_dd_sub(norm, dual), norm)) : 0;
    info->violation = equality_violation(run, theta, info->norm, &holds);
    if (run->pass.min_zero_margin < 0)
        info->violation = fmax(info->violation, -run->pass.min_zero_margin * scale);
    if (isfinite(run->pass.min_margin))
        info->violation = fmax(info->violation, 1 - run->pass.min_margin * scale);
    return holds && run->pass.violated_zero_rows == 0 &&
           (!isfinite(run->pass.min_margin) || run->pass.min_margin * scale >= 1 - 1e-15);
}

attsvm_status svm_certify(svm_run *run, attsvm_solution *solution, bool *proved, attsvm_error *err)
{
    svm_set *set = &run->set;
    attsvm_svm_info *info = &solution->info;
    bool soft = set->soft > 0;
    double *coef = run->coef, *hi = run->sum, *lo = run->sum_lo, *theta = solution->theta;
    /* |sum lambda A|; after a stop theta is another, better point */
    double sum_norm = run->stopped ? run->sum_norm : la_norm(run->engine.theta, set->size);
    scale_theta(run, theta);
    look_at_stored(run, theta);
    info->norm = base_dd_value(norm_exact(theta, run->zero, set->size));
    info->margin = info->norm > 0 ? 1 / info->norm : NAN;
    double factor = soft || sum_norm == 0 ? 1 : 1 / sum_norm;
    round_multipliers(run, factor, coef);
    dd norm, value = evaluate_dual(run, coef, hi, lo, &norm);
    bool holds;
    if (soft)
        holds = soft_numbers(run, info, theta, value, norm);
    else
        holds = hard_numbers(run, info, theta, value, norm);
    double floor = 0x1p-50 * largest_row(run) * info->norm;
    *proved = holds && info->gap <= fmax(run->tol, floor);
    info->floor_decided = *proved && info->gap > run->tol;
    info->outcome = *proved ? ATTSVM_OPTIMAL : ATTSVM_STALLED;
    info->tight = run->pass.tight;
    if (!holds) /* the gap of a point that is not feasible proves nothing */
        info->gap = NAN;
    if (!*proved && !run->stopped)
        return ATTSVM_OK;
    TRY(store(run, solution, coef, 1, err));
    info->active = solution->claim.active_count;
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------- infeasible */

/* Fills coef from the row that could not enter: +-(A_p - sum r_j A_j), inequalities at least 0. */
static void combine_rows(svm_run *run, const double *r, double *coef)
{
    const l2_active_set *e = &run->engine;
    const svm_set *set = &run->set;
    memset(coef, 0, (size_t)set->count * sizeof *coef);
    coef[e->entering] = e->entering_sign;
    for (int64_t j = 0; j < e->count; j++) {
        int64_t s = e->active[j];
        coef[s] = -e->entering_sign * r[j];
        if (!set->equality[s] && coef[s] < 0)
            coef[s] = 0;
    }
}

/* Sum of lambda |A|, in set units. */
static double total_size(const svm_run *run, const double *coef)
{
    double sum = 0;
    for (int64_t s = 0; s < run->set.count; s++)
        sum += fabs(coef[s]) * run->set.length[s];
    return sum;
}

/* One step of refinement of r: the residual vector w = sum coef A should be orthogonal to S. */
static void refine_combination(svm_run *run, double *r, const double *hi, const double *lo)
{
    l2_active_set *e = &run->engine;
    svm_set *set = &run->set;
    double *rhs = e->coef, *change = e->coef_lo;
    svm_set_residual_exact(set, e->active, e->count, hi, lo, rhs);
    for (int64_t j = 0; j < e->count; j++) /* <A_j, w>, up to the sign */
        rhs[j] = e->entering_sign * (set->b[e->active[j]] - rhs[j]);
    l2_solve_factored(e, rhs, change);
    for (int64_t j = 0; j < e->count; j++)
        r[j] += change[j];
}

attsvm_status svm_certify_infeasible(svm_run *run, attsvm_solution *solution, bool *proved,
                                     attsvm_error *err)
{
    l2_active_set *e = &run->engine;
    attsvm_svm_info *info = &solution->info;
    double *coef = run->coef, *hi = run->sum, *lo = run->sum_lo, *r = e->combination;
    dd norm, value;
    for (int round = 0;; round++) {
        combine_rows(run, r, coef);
        value = evaluate_dual(run, coef, hi, lo, &norm);
        *proved = value.hi > 0 && norm.hi <= FARKAS / 2 * total_size(run, coef);
        if (*proved || e->extended || round == 3)
            break;
        refine_combination(run, r, hi, lo);
    }
    if (!*proved)
        return ATTSVM_OK;
    info->outcome = ATTSVM_INFEASIBLE;
    info->residual = norm.hi / value.hi;
    for (int64_t k = 0; k < run->set.size; k++)
        solution->theta[k] = NAN;
    TRY(store(run, solution, coef, 1 / value.hi, err));
    info->active = solution->claim.active_count;
    return ATTSVM_OK;
}

attsvm_status svm_certify_conflict(svm_run *run, attsvm_solution *solution, int64_t term,
                                   int64_t token, attsvm_error *err)
{
    svm_term at = svm_rows_term(run->rows, term);
    attsvm_claim *claim = &solution->claim;
    attsvm_svm_info *info = &solution->info;
    bool equality = svm_rows_kind(run->rows, &at, token) == SVM_EQUAL;
    attsvm_row **rows = equality ? &solution->equal : &solution->active;
    double **values = equality ? &solution->mu : &solution->lambda;
    TRY(base_allocate(rows, 1, sizeof **rows, "proof", err));
    TRY(base_allocate(values, 1, sizeof **values, "proof", err));
    (*rows)[0] = (attsvm_row){ at.i, at.q, token };
    (*values)[0] = 1 / svm_rows_rhs(run->rows, &at, token);
    *(equality ? &claim->equal_count : &claim->active_count) = 1;
    info->outcome = ATTSVM_INFEASIBLE;
    info->conflict = true;
    info->pair = (*rows)[0];
    info->pair_selected = at.base;
    info->residual = 0;
    info->active = !equality;
    for (int64_t k = 0; k < run->rows->size; k++)
        solution->theta[k] = NAN;
    return ATTSVM_OK;
}
