/*
 * The two bounds of a certificate (theory 4.1): P, the norm of a point near theta that satisfies
 * every row exactly, rounded up, and D = (b'lambda + e'mu)/|G|_dual, rounded down.
 */
#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------- theta */

/* Checks that every low part of x is within the rounding error of the parts before it. */
static bool parts_fit(check_trial *r, const double *hi, const double *lo, const double *lo2,
                      int64_t count, const char *name)
{
    for (int64_t k = 0; k < count; k++) {
        double low = lo ? lo[k] : 0, lower = lo2 ? lo2[k] : 0;
        if (!isfinite(hi[k]) || !isfinite(low) || !isfinite(lower))
            return check_reject(r->report, "%s[%" PRId64 "] is not a finite number", name, k);
        if (hi[k] + low != hi[k] || low + lower != low)
            return check_reject(r->report,
                                "%s_lo[%" PRId64 "] is not a low part: it changes %s[%" PRId64 "]",
                                name, k, name, k);
    }
    return true;
}

bool check_theta_fits(check_trial *r)
{
    const attsvm_claim *c = r->claim;
    int64_t count = r->rows * r->columns;
    if (c->theta_count != count || !c->theta)
        return check_reject(r->report, "theta has %" PRId64 " entries; this problem has %" PRId64,
                            c->theta_count, count);
    return parts_fit(r, c->theta, c->theta_lo, c->theta_lo2, count, "theta");
}

/* |theta| from above. */
bool check_theta_norm(check_trial *r)
{
    const attsvm_claim *c = r->claim;
    const attsvm_svm_settings *s = &c->settings;
    int64_t count = r->rows * r->columns;
    double left_out = 0;
    dd *theta;
    check_size size;
    if (!check_worked(r, base_allocate(&theta, (size_t)count, sizeof *theta, "theta", r->err)))
        return false;
    for (int64_t k = 0; k < count; k++) {
        theta[k] = (dd){ c->theta[k], c->theta_lo ? c->theta_lo[k] : 0 };
        left_out += c->theta_lo2 ? fabs(c->theta_lo2[k]) : 0; /* at least its Frobenius norm */
    }
    bool good = check_worked(r, check_size_of(&size, (attsvm_norm)s->norm, s->q, theta, r->rows,
                                              r->columns, &r->problem, r->err));
    free(theta);
    if (!good)
        return false;
    left_out *= check_norm_ratio(r) * (1 + 1e-9);
    r->proof.norm = check_plus(check_plus(size.value, size.error), left_out);
    if (size.value.hi == 0 && left_out == 0)
        r->proof.norm = base_dd(0);
    r->report->norm = base_dd_value(size.value);
    return isfinite(r->proof.norm.hi) ||
           check_reject(r->report, "the norm of theta leaves the range of doubles");
}

/* ------------------------------------------------------------------- the upper bound */

/*
 * Allowed rounding error.  The gap of a head decides which rows are tight, whatever the tolerance:
 * it is computed to the last digit.
 */
static double accuracy(const check_trial *r)
{
    return r->margin ? 0x1p-93 : r->tol;
}

static bool take_margins(check_trial *r, double shift)
{
    check_margins *m = &r->proof.margins;
    check_margins_free(m);
    if (!check_worked(r, check_margins_of(m, &r->problem, accuracy(r), shift, r->margin, r->err)))
        return false;
    if (m->overflow)
        return check_reject(r->report, "a difference of tokens leaves the range of doubles");
    return true;
}

/* Whether all rows of the second list are in the first; both are in the order of rows. */
static bool contains(const check_list *list, const check_list *other)
{
    int64_t at = 0;
    for (int64_t k = 0; k < other->count; k++) {
        while (at < list->count &&
               memcmp(&list->rows[at], &other->rows[k], sizeof *list->rows) != 0)
            at++;
        if (at == list->count)
            return false;
    }
    return true;
}

/*
 * A point within Delta of theta satisfies exactly the equalities and the rows with b = 0 that theta
 * violates; rows with b = 0 that this point might violate are added until there are no more.
 */
static bool meet_equalities(check_trial *r)
{
    enum { MOST_ROUNDS = 20 };
    check_proof *p = &r->proof;
    check_list list = { 0 };
    bool settled = p->margins.fixed.count == 0;
    char why[128];
    for (int round = 0; !settled && round < MOST_ROUNDS; round++) {
        free(list.rows);
        list = p->margins.fixed;
        p->margins.fixed = (check_list){ 0 };
        if (!check_distance(&r->problem, &list, &p->delta, why, &r->status, r->err)) {
            free(list.rows);
            return r->status == ATTSVM_OK && check_reject(r->report, "%s", why);
        }
        if (!take_margins(r, p->delta)) {
            free(list.rows);
            return false;
        }
        settled = contains(&list, &p->margins.fixed);
    }
    free(list.rows);
    return settled || check_reject(r->report, "rows with b = 0 cannot be satisfied together");
}

/* |.| <= c |.|_F, rounded up. */
double check_norm_ratio(const check_trial *r)
{
    const attsvm_svm_settings *s = &r->claim->settings;
    double count = (double)r->rows * (double)r->columns;
    switch ((attsvm_norm)s->norm) {
    case ATTSVM_NORM_NUC: return sqrt((double)(r->rows > 1 ? r->rows : 1)) * (1 + 1e-9);
    case ATTSVM_NORM_L1: return sqrt(count) * (1 + 1e-9);
    case ATTSVM_NORM_LQ: return s->q >= 2 ? 1 : base_pow(count, 1 / s->q - 0.5) * (1 + 1e-9);
    case ATTSVM_NORM_L2:
    case ATTSVM_NORM_FRO:
    case ATTSVM_NORM_SPECTRAL:
    case ATTSVM_NORM_LINF: break;
    }
    return 1;
}

static void name_worst(const check_trial *r, char *name, size_t size)
{
    check_row_name(&r->problem, r->proof.margins.worst, name, size);
}

/* Margins of all rows, Delta, kappa. */
bool check_look_at_rows(check_trial *r)
{
    check_proof *p = &r->proof;
    attsvm_report *report = r->report;
    if (!take_margins(r, 0))
        return false;
    const check_margins *m = &p->margins;
    p->has_ones = !isinf(m->least.hi);
    p->kappa_up = m->least_up;
    report->min_margin = p->has_ones ? base_dd_value(m->shown) : NAN;
    report->violation = m->violation;
    report->tight = m->tight;
    report->merged = m->merged;
    dd least = m->least; /* of theta itself */
    if (!meet_equalities(r))
        return false;
    p->kappa = p->margins.least;
    double below = base_dd_value(base_dd_sub(base_dd(1), least));
    double above = base_dd_value(base_dd_sub(p->kappa_up, base_dd(1)));
    p->needed = p->has_ones ? fmax(0, check_max(below, above)) : 0;
    bool hard = r->claim->settings.soft == 0;
    double limit = CHECK_SHIFT * (p->has_ones && hard ? p->kappa.hi : 1);
    if (p->delta > 0 && !(p->margins.longest <= limit))
        return check_reject(report,
                            "equalities, or rows with b = 0, are off by %.1e: no solution is shown "
                            "to be near theta",
                            m->longest);
    return true;
}

/* theta itself is near 1: |kappa - 1| <= tol. */
bool check_kappa_is_one(check_trial *r)
{
    check_proof *p = &r->proof;
    if (p->needed <= r->tol && (!p->has_ones || p->kappa.hi > 0))
        return true;
    char name[96];
    name_worst(r, name, sizeof name);
    double margin = r->report->min_margin;
    return check_reject(r->report, "%s has margin %.17g (%s by %.2g, the tolerance is %.1e)", name,
                        margin, margin < 1 ? "short of 1" : "above 1 with all others", p->needed,
                        r->tol);
}

/* P = (|theta| + c Delta) / kappa: the norm of a point that satisfies all rows. */
void check_upper_bound(check_trial *r)
{
    check_proof *p = &r->proof;
    p->P =
        p->delta > 0 ? check_plus(p->norm, check_norm_ratio(r) * p->delta * (1 + 1e-9)) : p->norm;
    if (p->has_ones && p->P.hi > 0)
        p->P = check_up(base_dd_div(p->P, p->kappa));
}

/* ------------------------------------------------------------------- the lower bound */

/* Multipliers, their value, and the dual norm of the combination G from above. */
bool check_combine(check_trial *r, bool exact)
{
    const attsvm_svm_settings *s = &r->claim->settings;
    check_proof *p = &r->proof;
    double q;
    check_size G;
    attsvm_norm norm = check_dual_norm((attsvm_norm)s->norm, s->q, &q);
    for (;; exact = true) {
        free(p->dual.G);
        p->dual.G = NULL;
        if (!check_dual_of(&p->dual, &r->problem, exact, r->report, &r->status, r->err))
            return false;
        if (!check_worked(
                r, check_size_of(&G, norm, q, p->dual.G, r->rows, r->columns, &r->problem, r->err)))
            return false;
        /* if rounding errors are not small compared with G, compute G exactly */
        if (exact || p->dual.error <= accuracy(r) / 1024 * G.value.hi)
            break;
    }
    p->G = check_plus(check_plus(G.value, G.error), p->dual.error);
    if (p->dual.zero)
        p->G = base_dd(0);
    r->report->dual_norm = base_dd_value(G.value);
    r->report->active = p->dual.active;
    return true;
}

/* D = (b'lambda + e'mu) / |G|; 0 is always a lower bound. */
void check_lower_bound(check_trial *r)
{
    check_proof *p = &r->proof;
    dd value = check_lower(p->dual.value);
    p->D = base_dd(0);
    if (p->dual.positive && value.hi > 0 && p->G.hi > 0)
        p->D = check_down(base_dd_div(value, p->G));
    r->report->dual = base_dd_value(p->D);
}

/* Whether P < 1e18 m: usually shown by the rows with multipliers, otherwise by all rows. */
bool check_within_reach(check_trial *r)
{
    const check_proof *p = &r->proof;
    double length = base_dd_value(p->P) * (1 + 1e-15);
    check_range m;
    if (p->P.hi == 0 || length < CHECK_BEYOND / p->dual.shortest * (1 - 1e-15))
        return true;
    if (!check_worked(r, check_longest_request(&m, &r->problem, r->err)))
        return false;
    return length < CHECK_BEYOND * m.low ||
           check_reject(
               r->report,
               "the norm of %.3e is too large: at least 1e18 times what a single row requires",
               length);
}
