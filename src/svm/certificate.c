/*
 * Certificates of an optimum (theory 4.1), in any norm: theta scaled so that every row holds,
 * multipliers in norm form, and the numbers that follow, all evaluated in double-double.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Equalities hold to this times |e| + |A||theta|; the checker allows 1e-12. */
static const double EQUALITY = 5e-13;
/* Rows with b = 0 hold to this times |A||theta|. */
static const double ZERO_ROW = 1e-13;

attsvm_status svm_certify_reserve(svm_run *run, attsvm_error *err)
{
    size_t count = (size_t)run->set.count + 1;
    free(run->coef);
    run->coef = NULL;
    TRY(base_allocate(&run->coef, 4 * count, sizeof *run->coef, "multipliers", err));
    run->packed = run->coef + count;
    run->slots = (int32_t *)(void *)(run->packed + 2 * count);
    return ATTSVM_OK;
}

void svm_certify_in(svm_run *run, const svm_phase *phase)
{
    run->norm = phase->norm;
    run->q = phase->q;
    run->tol = phase->tol;
}

attsvm_status svm_certify_size(const svm_run *run, const double *theta, double *out,
                               attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    return run->norm->size(run->q, false, theta, rows->matrix ? rows->d : 1, rows->d, out, err);
}

/* |hi + lo| in the norm of the run. */
static attsvm_status measure(const svm_run *run, bool dual, const double *hi, const double *lo,
                             dd *out, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    double size;
    if (run->norm->size_exact) {
        *out = run->norm->size_exact(hi, lo, rows->size);
        return ATTSVM_OK;
    }
    TRY(run->norm->size(run->q, dual, hi, rows->matrix ? rows->d : 1, rows->d, &size, err));
    *out = base_dd(size);
    return ATTSVM_OK;
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

static attsvm_row name_row(const svm_run *run, int64_t slot)
{
    svm_term at = svm_rows_term(run->rows, run->set.term[slot]);
    return (attsvm_row){ at.i, at.q, run->set.token[slot] };
}

static attsvm_status fill(const entry *entries, int64_t count, attsvm_row **rows, double **values,
                          attsvm_error *err)
{
    free(*rows); /* those of an earlier phase */
    free(*values);
    *rows = NULL;
    *values = NULL;
    TRY(base_allocate(rows, (size_t)count + 1, sizeof **rows, "multipliers", err));
    TRY(base_allocate(values, (size_t)count + 1, sizeof **values, "multipliers", err));
    for (int64_t k = 0; k < count; k++) {
        (*rows)[k] = entries[k].row;
        (*values)[k] = entries[k].value;
    }
    return ATTSVM_OK;
}

attsvm_status svm_certify_store(svm_run *run, attsvm_solution *solution, const double *coef,
                                double factor, attsvm_error *err)
{
    const svm_set *set = &run->set;
    attsvm_claim *claim = &solution->claim;
    entry *entries;
    TRY(base_allocate(&entries, (size_t)set->count + 1, sizeof *entries, "multipliers", err));
    attsvm_status status = ATTSVM_OK;
    for (int pass = 0; pass < 2 && status == ATTSVM_OK; pass++) {
        int64_t count = 0;
        for (int64_t s = 0; s < set->count; s++) {
            double value = factor * coef[s] * set->sigma[s];
            if (set->equality[s] != pass || (!pass && !(value > 0)))
                continue;
            entries[count++] = (entry){ name_row(run, s), value };
        }
        if (!is_sorted(entries, count))
            qsort(entries, (size_t)count, sizeof *entries, compare_rows);
        status = fill(entries, count, pass ? &solution->equal : &solution->active,
                      pass ? &solution->mu : &solution->lambda, err);
        *(pass ? &claim->equal_count : &claim->active_count) = count;
    }
    free(entries);
    solution->info.active = claim->active_count;
    return status;
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

attsvm_status svm_certify_evaluate(svm_run *run, const double *coef, dd *value, dd *norm,
                                   attsvm_error *err)
{
    svm_set *set = &run->set;
    int64_t count = 0;
    *value = base_dd(0);
    memset(run->sum, 0, (size_t)set->size * sizeof *run->sum);
    memset(run->sum_lo, 0, (size_t)set->size * sizeof *run->sum_lo);
    for (int64_t s = 0; s < set->count; s++) {
        if (coef[s] == 0)
            continue;
        *value = base_dd_add(*value, base_dd_product(coef[s], set->b[s]));
        run->slots[count] = (int32_t)s;
        run->packed[count++] = coef[s];
    }
    svm_set_combine_exact(set, run->slots, run->packed, NULL, count, run->sum, run->sum_lo);
    return measure(run, true, run->sum, run->sum_lo, norm, err);
}

attsvm_status svm_certify_choose(svm_run *run, attsvm_error *err)
{
    svm_set *set = &run->set;
    const svm_phase *phase = run->phase;
    double *lambda = run->packed + set->count + 1; /* not used by svm_certify_evaluate */
    double bound[2];
    if (phase->earlier_count == 0)
        return ATTSVM_OK;
    memcpy(lambda, set->lambda, (size_t)set->count * sizeof *lambda);
    for (int k = 0; k < 2; k++) {
        dd norm, value;
        if (k == 1)
            for (int64_t s = 0; s < set->count; s++)
                set->lambda[s] = s < phase->earlier_count ? phase->earlier[s] : 0;
        round_multipliers(run, 1, run->coef);
        TRY(svm_certify_evaluate(run, run->coef, &value, &norm, err));
        bound[k] = set->soft > 0 ? value.hi - norm.hi * norm.hi / 2
                                 : (norm.hi > 0 ? value.hi / norm.hi : 0);
    }
    if (!(bound[1] > bound[0]))
        memcpy(set->lambda, lambda, (size_t)set->count * sizeof *lambda);
    return ATTSVM_OK;
}

/*
 * What multipliers are divided by, |sum lambda A|_dual.  An active set has theta = sum lambda A;
 * after a stop theta is another, better point.
 */
static attsvm_status size_of_sum(svm_run *run, double *out, attsvm_error *err)
{
    dd value, norm;
    if (run->phase->norm->exact && run->norm->size_exact && !run->stopped) {
        *out = la_norm(run->set.theta, run->set.size);
        return ATTSVM_OK;
    }
    round_multipliers(run, 1, run->coef);
    TRY(svm_certify_evaluate(run, run->coef, &value, &norm, err));
    *out = base_dd_value(norm);
    return ATTSVM_OK;
}

/* ---------------------------------------------------------------------------- rows */

/*
 * The rows of the set with a right-hand side that does not scale, at theta of the given norm:
 * their largest violation; *holds: equalities to EQUALITY (|e| + |A||theta|) and rows with b = 0 to
 * ZERO_ROW |A||theta|.
 */
static double set_violation(svm_run *run, const double *theta, double norm, bool *holds)
{
    svm_set *set = &run->set;
    double largest = 0;
    *holds = true;
    for (int64_t s = 0; s < set->count; s++) {
        int32_t slot = (int32_t)s;
        double residual;
        if (!set->equality[s] && (set->b[s] != 0 || set->soft > 0))
            continue;
        svm_set_residual_exact(set, &slot, 1, theta, run->zero, &residual);
        double miss = set->equality[s] ? fabs(residual) : fmax(residual, 0);
        double size = svm_norm_of_row(run->norm, run->q, set, s) * set->sigma[s] * norm;
        double limit = set->equality[s] ? EQUALITY * (fabs(set->b[s]) + size) : ZERO_ROW * size;
        largest = fmax(largest, miss / set->sigma[s]);
        *holds = *holds && miss <= limit;
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
 * True if theta is only rounding error: equalities = 0 leave it no direction, or the rows in
 * sum lambda A cancel.
 */
static bool vanishes(const svm_run *run)
{
    const svm_set *set = &run->set;
    double sum = 0;
    int64_t pinned = 0;
    for (int64_t s = 0; s < set->count; s++) {
        pinned += set->equality[s] && set->place[s] >= 0;
        if (!set->equality[s])
            sum += set->lambda[s] * set->length[s];
    }
    if (pinned == set->size && !any_target(run))
        return true;
    return la_norm(set->theta, set->size) <= 0x1p-96 * sum;
}

/*
 * theta (size) = scale * theta of the set, rounded.  Rounding moves a row by at most
 * 2^-53 |A| |theta|, and the scale itself is rounded too; the pass has made it larger by as much,
 * row by row, so that rows with b = 1 hold exactly.
 */
static void scale_theta(const svm_run *run, double *theta)
{
    const svm_set *set = &run->set;
    double least = run->pass.min_margin, norm = la_norm(set->theta, set->size);
    dd scale = base_dd(1);
    if (set->soft > 0) {
        /* rows that are met stay so; to the objective, at its minimum, this is nothing.  After a
           stop inside a pass what is known belongs to theta as it is */
        bool zero = vanishes(run) && !run->interrupted;
        scale = base_dd(zero ? 0 : 1 + 0x1p-52 * (2 + run->pass.largest * norm));
    } else if (isfinite(least) && least > 0 && !any_target(run)) {
        scale = base_dd(run->pass.scale);
    }
    for (int64_t k = 0; k < set->size; k++)
        theta[k] = base_dd_value(base_dd_mul(scale, (dd){ set->theta[k], set->theta_lo[k] }));
}

/*
 * Where rounding theta moves rows visibly, the room that scale_theta made is no proof that they
 * hold, and which rows are tight may change: the rows are looked at again, at the theta that is
 * stored.  So they are where scaling moved them visibly, and those of a soft problem, whose slacks
 * add up what rounding does to each.
 */
static attsvm_status look_at_stored(svm_run *run, const double *theta, attsvm_error *err)
{
    const double visible = 1e-9;
    const double norm = la_norm(theta, run->set.size), least = run->pass.min_margin;
    bool rounded = 0x1p-52 * run->pass.largest * norm > visible;
    bool scaled = run->set.soft == 0 && isfinite(least) && fabs(least - 1) > visible;
    run->pass_is_at_stored_theta = !run->interrupted && (run->set.soft > 0 || rounded || scaled);
    if (!run->pass_is_at_stored_theta)
        return ATTSVM_OK;
    svm_pass_settings settings = run->pass_settings;
    svm_sample_all(&settings);
    settings.read_everything = settings.exact = true;
    settings.most = 0;
    dist_stop *stop = run->find.stop;
    run->find.stop = NULL; /* a proof that is cut is none */
    TRY(svm_find_pass(&run->find, theta, run->zero, &settings, &run->pass, err));
    run->find.stop = stop;
    return ATTSVM_OK;
}

/* |A|_dual of the longest row that counts: of an active set any; else those with a multiplier. */
static double largest_row(svm_run *run)
{
    svm_set *set = &run->set;
    bool any = run->norm->size_exact != NULL;
    double largest = any ? run->pass.largest : 0;
    for (int64_t s = 0; s < set->count; s++)
        if (any || run->coef[s] != 0)
            largest = fmax(largest, any ? set->length[s] / set->sigma[s]
                                        : svm_norm_of_row(run->norm, run->q, set, s));
    return largest;
}

/* ------------------------------------------------------------------------- numbers */

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
    set_violation(run, theta, info->norm, &holds);
    info->violation = fmax(1 - run->pass.min_margin, 0);
    return holds;
}

/* True where all rows hold as theory 4.1 asks. */
static bool hard_numbers(svm_run *run, attsvm_svm_info *info, const double *theta, dd norm,
                         dd value, dd dual_norm)
{
    const svm_pass *pass = &run->pass;
    bool holds;
    dd dual = dual_norm.hi > 1 ? base_dd_div(value, dual_norm) : value;
    double now = la_norm(theta, run->set.size), before = la_norm(run->set.theta, run->set.size);
    double scale = run->pass_is_at_stored_theta || !(now > 0) ? 1 : now / before;
    info->objective = info->norm;
    info->gap = info->norm > 0 ? base_dd_value(base_dd_div(base_dd_sub(norm, dual), norm)) : 0;
    info->violation = set_violation(run, theta, info->norm, &holds);
    if (pass->min_zero_margin < 0)
        info->violation = fmax(info->violation, -pass->min_zero_margin * scale);
    if (isfinite(pass->min_margin))
        info->violation = fmax(info->violation, 1 - pass->min_margin * scale);
    /* rows with b = 0 that another norm measures are all in the set */
    holds = holds && (pass->violated_zero_rows == 0 || !run->norm->size_exact) &&
            (!isfinite(pass->min_margin) || pass->min_margin * scale >= 1 - 1e-15);
    info->dual = info->norm > 0 || !holds ? base_dd_value(dual) : 0;
    return holds;
}

attsvm_status svm_certify(svm_run *run, attsvm_solution *solution, bool *proved, attsvm_error *err)
{
    attsvm_svm_info *info = &solution->info;
    bool soft = run->set.soft > 0, holds;
    double *coef, *theta = solution->theta, sum_size;
    dd size, norm, value;
    TRY(svm_certify_reserve(run, err));
    coef = run->coef;
    scale_theta(run, theta);
    TRY(look_at_stored(run, theta, err));
    TRY(measure(run, false, theta, run->zero, &size, err));
    TRY(size_of_sum(run, &sum_size, err));
    info->norm = base_dd_value(size);
    info->margin = info->norm > 0 ? 1 / info->norm : NAN;
    round_multipliers(run, soft || sum_size == 0 ? 1 : 1 / sum_size, coef);
    TRY(svm_certify_evaluate(run, coef, &value, &norm, err));
    if (soft)
        holds = soft_numbers(run, info, theta, value, norm);
    else
        holds = hard_numbers(run, info, theta, size, value, norm);
    double floor = 0x1p-50 * largest_row(run) * info->norm;
    *proved = holds && info->gap <= fmax(run->tol, floor);
    info->floor_decided = *proved && info->gap > run->tol;
    info->outcome = *proved ? ATTSVM_OPTIMAL : ATTSVM_STALLED;
    info->tight = run->pass.tight;
    info->undecided = run->phase->undecided;
    if (!holds) /* the gap of a point that is not feasible proves nothing */
        info->gap = NAN;
    if (!*proved && !run->stopped && !run->norm->local)
        return ATTSVM_OK;
    return svm_certify_store(run, solution, coef, 1, err);
}
