/*
 * Certificates of an optimum (theory 4.1), in any norm: theta scaled so that every row holds,
 * multipliers in norm form, and the numbers that follow, all evaluated in double-double.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share of the tolerance allowed for rounding theta or multipliers to double. */
static const double ROUNDING_SHARE = 1.0 / 16;
/* Neither rounding, nor satisfying equalities and rows with b = 0, moves a row by more. */
static const double LARGEST_SHIFT = 0.5e-7;
/* Share of the tolerance allowed for rounding theta where there are such rows. */
static const double EQUALITY_SHARE = 1.0 / 64;
/* Relative error of a norm in double, of entries or singular values, over d + 8. */
static const double NORM_ROUNDING = 0x1p-48;

attsvm_status svm_certify_reserve(svm_run *run, attsvm_error *err)
{
    size_t count = (size_t)run->set.count + 1;
    free(run->coef);
    run->coef = NULL;
    TRY(base_allocate(&run->coef, 6 * count, sizeof *run->coef, "multipliers", err));
    run->packed = run->coef + count;
    run->slots = (int32_t *)(void *)(run->packed + 2 * count);
    run->coef_lo = run->packed + 3 * count;
    run->packed_lo = run->coef_lo + count;
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
    dd value;
} entry;

/* The rows of a set with all rows of a problem are in order. */
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

/* Stores rows, values and, if one is nonzero, low parts; frees those of an earlier phase. */
static attsvm_status fill(const entry *entries, int64_t count, attsvm_row **rows, double **values,
                          double **low, attsvm_error *err)
{
    bool needed = false;
    free(*rows);
    free(*values);
    free(*low);
    *rows = NULL;
    *values = *low = NULL;
    TRY(base_allocate(rows, (size_t)count + 1, sizeof **rows, "multipliers", err));
    TRY(base_allocate(values, (size_t)count + 1, sizeof **values, "multipliers", err));
    for (int64_t k = 0; k < count; k++) {
        (*rows)[k] = entries[k].row;
        (*values)[k] = entries[k].value.hi;
        needed = needed || entries[k].value.lo != 0;
    }
    if (!needed)
        return ATTSVM_OK;
    TRY(base_allocate(low, (size_t)count + 1, sizeof **low, "multipliers", err));
    for (int64_t k = 0; k < count; k++)
        (*low)[k] = entries[k].value.lo;
    return ATTSVM_OK;
}

attsvm_status svm_certify_store(svm_run *run, attsvm_solution *solution, const double *coef,
                                const double *low, double factor, attsvm_error *err)
{
    const svm_set *set = &run->set;
    attsvm_claim *claim = &solution->claim;
    entry *entries;
    TRY(base_allocate(&entries, (size_t)set->count + 1, sizeof *entries, "multipliers", err));
    attsvm_status status = ATTSVM_OK;
    for (int pass = 0; pass < 2 && status == ATTSVM_OK; pass++) {
        int64_t count = 0;
        for (int64_t s = 0; s < set->count; s++) {
            dd value = { coef[s] * set->sigma[s], low ? low[s] * set->sigma[s] : 0 };
            if (factor != 1)
                value = base_dd_mul(value, base_dd(factor));
            if (!low)
                value = base_dd(base_dd_value(value));
            if (set->equality[s] != pass || (!pass && !(value.hi > 0)))
                continue;
            entries[count++] = (entry){ name_row(run, s), value };
        }
        if (!is_sorted(entries, count))
            qsort(entries, (size_t)count, sizeof *entries, compare_rows);
        status = fill(entries, count, pass ? &solution->equal : &solution->active,
                      pass ? &solution->mu : &solution->lambda,
                      pass ? &solution->mu_lo : &solution->lambda_lo, err);
        *(pass ? &claim->equal_count : &claim->active_count) = count;
    }
    free(entries);
    solution->info.active = claim->active_count;
    return status;
}

/* Multipliers by slot times the factor, with low parts: coef + coef_lo of the run. */
static void take_multipliers(svm_run *run, dd factor)
{
    const svm_set *set = &run->set;
    for (int64_t s = 0; s < set->count; s++) {
        dd lambda = { set->lambda[s], set->lambda_lo[s] };
        if (!set->equality[s]) { /* after an interrupted step rounding may leave them out of bounds
                                  */
            if (!(lambda.hi > 0))
                lambda = base_dd(0);
            else if (base_dd_compare(lambda, base_dd(set->upper[s])) > 0)
                lambda = base_dd(set->upper[s]);
        }
        if (factor.hi != 1 || factor.lo != 0)
            lambda = base_dd_mul(lambda, factor);
        run->coef[s] = lambda.hi;
        run->coef_lo[s] = lambda.lo;
    }
}

attsvm_status svm_certify_evaluate(svm_run *run, const double *coef, const double *low, dd *value,
                                   dd *norm, attsvm_error *err)
{
    svm_set *set = &run->set;
    int64_t count = 0;
    *value = base_dd(0);
    memset(run->sum, 0, (size_t)set->size * sizeof *run->sum);
    memset(run->sum_lo, 0, (size_t)set->size * sizeof *run->sum_lo);
    for (int64_t s = 0; s < set->count; s++) {
        if (coef[s] == 0)
            continue;
        dd weight = { coef[s], low ? low[s] : 0 };
        double room = fabs(coef[s]) * svm_equalities_room(run, s) * (1 + 1e-6);
        dd part = base_dd_sub(base_dd_mul(weight, base_dd(set->b[s])), base_dd(room));
        *value = base_dd_add(*value, part);
        run->slots[count] = (int32_t)s;
        run->packed_lo[count] = weight.lo;
        run->packed[count++] = coef[s];
    }
    svm_set_combine_exact(set, run->slots, run->packed, low ? run->packed_lo : NULL, count,
                          run->sum, run->sum_lo);
    return measure(run, true, run->sum, run->sum_lo, norm, err);
}

attsvm_status svm_certify_choose(svm_run *run, attsvm_error *err)
{
    svm_set *set = &run->set;
    const svm_phase *phase = run->phase;
    double *lambda = run->packed + set->count + 1; /* svm_certify_evaluate does not use it */
    double bound[2];
    if (phase->earlier_count == 0)
        return ATTSVM_OK;
    memcpy(lambda, set->lambda, (size_t)set->count * sizeof *lambda);
    for (int k = 0; k < 2; k++) {
        dd norm, value;
        if (k == 1)
            for (int64_t s = 0; s < set->count; s++)
                set->lambda[s] = s < phase->earlier_count ? phase->earlier[s] : 0;
        if (k == 1)
            memset(set->lambda_lo, 0, (size_t)set->count * sizeof *set->lambda_lo);
        take_multipliers(run, base_dd(1));
        TRY(svm_certify_evaluate(run, run->coef, run->coef_lo, &value, &norm, err));
        bound[k] = set->soft > 0 ? value.hi - norm.hi * norm.hi / 2
                                 : (norm.hi > 0 ? value.hi / norm.hi : 0);
    }
    if (!(bound[1] > bound[0]))
        memcpy(set->lambda, lambda, (size_t)set->count * sizeof *lambda);
    return ATTSVM_OK;
}

/* ---------------------------------------------------------------------------- rows */

/* The longest row of the set, |A|_F. */
static double longest_row(const svm_run *run)
{
    double longest = run->pass.largest;
    for (int64_t s = 0; s < run->set.count; s++)
        longest = fmax(longest, run->set.length[s] / run->set.sigma[s]);
    return longest;
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
    double norm = la_norm(set->theta, set->size);
    return norm <= 0x1p-96 * sum || (set->soft > 0 && norm * longest_row(run) <= run->tol / 4);
}

/* Whether rounding a theta of that length to double exceeds its share of the tolerance. */
static bool needs_low_parts(const svm_run *run, double norm)
{
    const svm_set *set = &run->set;
    double moved = 0x1p-52 * (2 + run->pass.largest * norm); /* of a row near its b */
    bool fixed = false;
    for (int64_t s = 0; s < set->count && !fixed; s++)
        fixed = set->equality[s] || set->b[s] == 0;
    if (set->soft > 0) { /* violations are summed */
        double objective = norm * norm / 2 + set->soft * run->pass.slacks;
        moved *= fmax(1, set->soft * (double)run->pass.tight / objective);
    }
    if (fixed)
        moved = 0x1p-52 * (2 + longest_row(run) * norm) / EQUALITY_SHARE;
    return moved > ROUNDING_SHARE * fmin(run->tol, LARGEST_SHIFT);
}

/*
 * theta (size) and run->low = scale * theta of the set.  Without low parts, rounding changes <A,
 * theta> by at most 2^-53 |A| |theta|; the pass has increased the scale accordingly, so that rows
 * with b = 1 hold exactly.
 */
static void scale_theta(svm_run *run, double *theta)
{
    const svm_set *set = &run->set;
    double least = run->pass.min_margin, norm = la_norm(set->theta, set->size);
    bool scaled = set->soft == 0 && isfinite(least) && least > 0 && !any_target(run);
    bool low = needs_low_parts(run, scaled ? norm / least : norm) && !run->interrupted;
    dd scale = base_dd(1);
    if (set->soft > 0) {
        /* satisfied rows stay satisfied, and at its minimum the objective hardly changes; after a
           stop inside a pass the known margins belong to the unscaled theta */
        bool zero = vanishes(run) && !run->interrupted;
        scale = base_dd(zero ? 0 : low ? 1 : 1 + 0x1p-52 * (2 + run->pass.largest * norm));
    } else if (scaled) {
        scale = low ? base_dd_div(base_dd(1), base_dd(least)) : base_dd(run->pass.scale);
    }
    for (int64_t k = 0; k < set->size; k++) {
        dd value = base_dd_mul(scale, (dd){ set->theta[k], set->theta_lo[k] });
        theta[k] = base_dd_value(value);
        run->low[k] = low ? (value.hi - theta[k]) + value.lo : 0;
    }
}

/*
 * What it costs, relative to the objective, that equalities and rows with b = 0 are satisfied
 * exactly only by a theta' within `off` of theta: c off for the norm, |.| <= c |.|_F, and off |A|
 * for every row close to its b = 1.  INFINITY where theta' is too far for theory 4.1.
 */
static double equality_cost(const svm_run *run, const double *theta, double off)
{
    const svm_set *set = &run->set;
    double norm = la_norm(theta, set->size), longest = longest_row(run), bound = 0;
    if (off == 0)
        return 0;
    for (int64_t g = run->find.lo; g < run->find.hi; g++)
        bound = fmax(bound, run->find.bound[g]);
    dist_max(run->rows->data->comm, &bound, 1);
    if (!(norm > 0) || !(off * bound <= LARGEST_SHIFT) || !(run->pass.zero_distance > off))
        return INFINITY;
    if (set->soft > 0) {
        double objective = norm * norm / 2 + set->soft * run->pass.slacks;
        return 2 * off * (norm + set->soft * longest * (double)run->pass.tight) / objective;
    }
    double c = run->norm->size_exact ? 1 : sqrt((double)set->size);
    return 2 * off * (c / norm + longest);
}

/* Projects theta to the rows above if their cost exceeds its share of the tolerance. */
static attsvm_status meet_equalities(svm_run *run, double *theta, attsvm_error *err)
{
    double off, violation;
    TRY(svm_equalities_distance(run, theta, false, &violation, &off, err));
    run->projected = !run->interrupted && isfinite(off) &&
                     (run->rows->problem == ATTSVM_PROBLEM_FINITE ||
                      !(equality_cost(run, theta, off) <= EQUALITY_SHARE * run->tol));
    return run->projected ? svm_equalities_project(run, theta, err) : ATTSVM_OK;
}

/*
 * Evaluates the rows again at the stored theta if rounding theta changes margins noticeably: the
 * allowance of scale_theta is then no proof, and the tight rows may change.  Likewise if scaling
 * changed them noticeably, after a projection, and for soft problems, whose slacks sum all
 * roundings.
 */
static attsvm_status look_at_stored(svm_run *run, const double *theta, attsvm_error *err)
{
    const double visible = 1e-9;
    const double norm = la_norm(theta, run->set.size), least = run->pass.min_margin;
    bool rounded = 0x1p-52 * run->pass.largest * norm > visible;
    bool scaled = run->set.soft == 0 && isfinite(least) && fabs(least - 1) > visible;
    run->pass_is_at_stored_theta =
        !run->interrupted && (run->set.soft > 0 || rounded || scaled || run->projected);
    if (!run->pass_is_at_stored_theta)
        return ATTSVM_OK;
    svm_pass_settings settings = run->pass_settings;
    svm_sample_all(&settings);
    settings.read_everything = settings.exact = true;
    settings.most = 0;
    dist_stop *stop = run->find.stop;
    run->find.stop = NULL; /* an incomplete proof is worthless */
    TRY(svm_find_pass(&run->find, theta, run->low, &settings, &run->pass, err));
    run->find.stop = stop;
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------- numbers */

/*
 * Objectives of the soft problem: P = 1/2 |theta|^2 + C sum xi, or 1/2 |theta/kappa|^2 where the
 * smallest margin kappa is 1 to within the tolerance; D = b'l - 1/2 |sum l A|^2.
 */
static void soft_numbers(svm_run *run, attsvm_svm_info *info, double cost, dd size, dd value,
                         dd norm)
{
    const double least = run->pass.min_margin;
    dd half = base_dd_mul(base_dd(0.5), base_dd_mul(size, size));
    dd primal = base_dd_add(half, base_dd_product(run->set.soft, run->pass.slacks));
    dd dual = base_dd_sub(value, base_dd_mul(base_dd(0.5), base_dd_mul(norm, norm)));
    if (fabs(least - 1) <= run->tol / 2) {
        dd hard = base_dd_div(half, base_dd_product(least, least));
        primal = base_dd_compare(hard, primal) < 0 ? hard : primal;
    }
    info->objective = base_dd_value(primal);
    info->dual = base_dd_value(dual);
    /* no gap if P exceeds the range of doubles */
    dd gap = primal.hi == 0 ? primal : base_dd_div(base_dd_sub(primal, dual), primal);
    info->gap = isnan(gap.hi) ? NAN : fmax(0, base_dd_value(gap)) + cost;
    info->violation = fmax(1 - least, 0);
}

/* A lower bound of m of theory 4.1, over the stored rows. */
static double longest_request(svm_run *run)
{
    const svm_set *set = &run->set;
    double longest = 0;
    for (int64_t s = 0; s < set->count; s++) {
        double size = svm_norm_of_row(run->norm, run->q, &run->set, s);
        if (set->b[s] != 0 && size > 0)
            longest = fmax(longest, fabs(set->b[s]) / set->sigma[s] / size);
    }
    return longest;
}

/* True if all rows hold in the sense of theory 4.1; `cost`: of equalities. */
static bool hard_numbers(svm_run *run, attsvm_svm_info *info, const double *theta, double cost,
                         dd norm, dd value, dd dual_norm)
{
    const svm_pass *pass = &run->pass;
    dd dual = dual_norm.hi > 0 ? base_dd_div(value, dual_norm) : base_dd(0);
    double now = la_norm(theta, run->set.size), before = la_norm(run->set.theta, run->set.size);
    double scale = run->pass_is_at_stored_theta || !(now > 0) ? 1 : now / before;
    double least = isfinite(pass->min_margin) ? pass->min_margin * scale : 1;
    dd upper = least > 0 && least < 1 ? base_dd_div(norm, base_dd(least)) : norm;
    info->objective = info->norm;
    dd gap = info->norm > 0 ? base_dd_div(base_dd_sub(upper, dual), upper) : base_dd(0);
    /* norms in double, of theta and of its dual */
    double rounding =
        info->norm > 0 && !run->norm->size_exact ? NORM_ROUNDING * (double)(run->set.d + 8) : 0;
    info->gap = fmax(0, base_dd_value(gap)) + cost + rounding;
    if (pass->min_zero_margin < 0)
        info->violation = fmax(info->violation, -pass->min_zero_margin * scale);
    info->violation = fmax(info->violation, 1 - least);
    bool holds = isfinite(cost) && fabs(least - 1) <= run->tol / 2 &&
                 (pass->violated_zero_rows == 0 || !run->norm->size_exact) &&
                 (info->norm == 0 || info->norm < SVM_BEYOND * longest_request(run));
    info->dual = info->norm > 0 || !holds ? base_dd_value(dual) : 0;
    return holds;
}

/* Drops low parts of the multipliers if they are not needed. */
static void round_multipliers(svm_run *run, double norm)
{
    const svm_set *set = &run->set;
    double sizes = 0;
    for (int64_t s = 0; s < set->count; s++)
        sizes += fabs(run->coef[s]) * set->length[s];
    /* in l2 an error of G enters the bound by its square */
    double moved = norm > 0 ? 0x1p-53 * sizes / norm : 0;
    bool l2 = run->norm->size_exact != NULL;
    if ((l2 ? moved * moved : moved) > ROUNDING_SHARE * run->tol)
        return;
    for (int64_t s = 0; s < set->count; s++) {
        run->coef[s] += run->coef_lo[s];
        run->coef_lo[s] = 0;
    }
}

/* Stores the low parts of theta if one is nonzero. */
static attsvm_status store_low(svm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    bool needed = false;
    for (int64_t k = 0; k < run->set.size; k++)
        needed = needed || run->low[k] != 0;
    free(solution->theta_lo);
    solution->theta_lo = NULL;
    if (!needed)
        return ATTSVM_OK;
    size_t size = (size_t)run->set.size;
    TRY(base_allocate(&solution->theta_lo, size, sizeof(double), "theta", err));
    memcpy(solution->theta_lo, run->low, size * sizeof(double));
    return ATTSVM_OK;
}

attsvm_status svm_certify(svm_run *run, attsvm_solution *solution, bool *proved, attsvm_error *err)
{
    attsvm_svm_info *info = &solution->info;
    bool soft = run->set.soft > 0, holds;
    double *theta = solution->theta;
    dd size, norm, value;
    double off;
    TRY(svm_certify_reserve(run, err));
    scale_theta(run, theta);
    TRY(meet_equalities(run, theta, err));
    TRY(look_at_stored(run, theta, err));
    TRY(measure(run, false, theta, run->low, &size, err));
    info->norm = base_dd_value(size);
    info->margin = info->norm > 0 ? 1 / info->norm : NAN;
    take_multipliers(run, base_dd(1));
    TRY(svm_certify_evaluate(run, run->coef, run->coef_lo, &value, &norm, err));
    if (!soft && norm.hi > 0)
        take_multipliers(run, base_dd_div(base_dd(1), norm));
    round_multipliers(run, soft || norm.hi == 0 ? base_dd_value(norm) : 1);
    TRY(svm_certify_evaluate(run, run->coef, run->coef_lo, &value, &norm, err));
    TRY(svm_equalities_distance(run, theta, run->projected, &info->violation, &off, err));
    double cost = equality_cost(run, theta, off);
    if (soft)
        soft_numbers(run, info, cost, size, value, norm);
    holds = soft ? isfinite(cost) : hard_numbers(run, info, theta, cost, size, value, norm);
    *proved = holds && info->gap <= run->tol;
    info->outcome = *proved ? ATTSVM_OPTIMAL : ATTSVM_STALLED;
    info->tight = run->pass.tight;
    info->undecided = run->phase->undecided;
    if (!holds) /* the gap of an infeasible point proves nothing */
        info->gap = NAN;
    if (!*proved && !run->stopped && !run->norm->local)
        return ATTSVM_OK;
    TRY(store_low(run, solution, err));
    return svm_certify_store(run, solution, run->coef, run->coef_lo, 1, err);
}
