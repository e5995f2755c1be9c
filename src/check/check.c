/*
 * The verdict on a claim (theory 4.1).  Optimal: a point near theta satisfies every row exactly,
 * and its norm is within the gap of the lower bound that the multipliers prove.  Infeasible: the
 * multipliers combine the rows to a contradiction, or to a bound of at least 1e18 m.  Stationary: a
 * point of the allowed rank, first-order conditions, a lower bound.  Nothing else is accepted.
 */
#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool is_euclidean(int32_t norm)
{
    return norm == ATTSVM_NORM_L2 || norm == ATTSVM_NORM_FRO;
}

/* ---------------------------------------------------------------------------- optimal */

/* (P - D)/P from above, 0 for P = 0. */
static double relative_gap(dd P, dd D)
{
    if (P.hi == 0)
        return 0;
    double gap = base_dd_value(base_dd_div(base_dd_sub(P, D), P)) * (1 + 0x1p-50) + 0x1p-96;
    return gap > 0 ? gap : isnan(gap) ? INFINITY : 0;
}

static bool gap_is_small(check_trial *r, const char *of)
{
    attsvm_report *report = r->report;
    report->needed = check_max(report->gap, r->proof.needed);
    if (report->gap <= r->tol) {
        snprintf(report->reason, sizeof report->reason,
                 "every row holds and the gap of the %s is at most %.1e", of,
                 fmax(report->gap, 1e-16));
        return true;
    }
    return check_reject(report, "the gap of the %s is %.3e, above the limit of %.1e", of,
                        report->gap, r->tol);
}

static bool hard_gap(check_trial *r)
{
    check_proof *p = &r->proof;
    check_upper_bound(r);
    check_lower_bound(r);
    r->report->gap = relative_gap(p->P, p->D);
    if (!check_kappa_is_one(r) || !gap_is_small(r, "norm"))
        return false;
    if (p->delta > 0 && !p->has_ones &&
        !(check_norm_ratio(r) * p->delta <= r->tol * base_dd_value(p->P)))
        return check_reject(r->report, "equalities are off by more than the tolerance");
    return check_within_reach(r);
}

/*
 * P = 1/2 |theta|^2 + C sum xi, or 1/2 P^2 of the hard problem where theta is near 1;
 * D = b'lambda + e'mu - 1/2 |G|^2.
 */
static bool soft_gap(check_trial *r)
{
    check_proof *p = &r->proof;
    double C = r->claim->settings.soft;
    dd half = base_dd(0.5);
    dd norm =
        p->delta > 0 ? check_plus(p->norm, check_norm_ratio(r) * p->delta * (1 + 1e-9)) : p->norm;
    dd P = check_up(base_dd_mul(half, base_dd_mul(norm, norm)));
    if (p->margins.slack.hi != 0)
        P = check_up(base_dd_add(P, check_up(base_dd_mul(base_dd(C), p->margins.slack))));
    if (norm.hi == 0 && p->margins.slack.hi == 0)
        P = base_dd(0);
    if (p->needed <= r->tol && p->has_ones && p->kappa.hi > 0) {
        check_upper_bound(r);
        dd hard = check_up(base_dd_mul(half, base_dd_mul(p->P, p->P)));
        if (base_dd_compare(hard, P) < 0)
            P = hard;
    }
    dd square = check_up(base_dd_mul(half, base_dd_mul(p->G, p->G)));
    dd D = p->dual.active == 0 && !p->dual.positive && p->G.hi == 0
               ? base_dd(0)
               : check_down(base_dd_sub(check_lower(p->dual.value), square));
    p->P = P;
    p->D = D;
    p->needed = 0;
    r->report->dual = base_dd_value(D);
    r->report->gap = relative_gap(P, D);
    return gap_is_small(r, "soft-margin objective");
}

/* Rank limit: singular values beyond it, and the residual of the first-order conditions. */
static bool rank_fits(check_trial *r, double *residual)
{
    double beyond;
    *residual = 0;
    if (!(r->claim->settings.rank > 0) || !r->problem.matrix || r->proof.norm.hi == 0)
        return true;
    if (!check_worked(
            r, check_first_order(&r->problem, &r->proof.margins.close, residual, &beyond, r->err)))
        return false;
    return beyond <= CHECK_RANK || check_reject(r->report,
                                                "theta has rank above the limit of %" PRId64
                                                ": the next singular value is %.1e of the largest",
                                                (int64_t)r->claim->settings.rank, beyond);
}

static bool prove_optimal(check_trial *r)
{
    double residual;
    bool soft = r->claim->settings.soft > 0;
    return check_theta_fits(r) && check_theta_norm(r) && check_look_at_rows(r) &&
           rank_fits(r, &residual) && (soft || check_kappa_is_one(r)) && check_combine(r, false) &&
           (soft ? soft_gap(r) : hard_gap(r));
}

/*
 * Stationary, with a rank limit: theta is a point of that rank near one where every row holds, no
 * direction within the rank improves it to first order, and the multipliers bound the norm of every
 * such point from below.
 */
static bool prove_stationary(check_trial *r)
{
    const attsvm_svm_settings *s = &r->claim->settings;
    double residual;
    if (!(s->rank > 0) || !r->problem.matrix || s->soft > 0)
        return check_reject(r->report, "claims to be stationary, but no rank limit is set");
    if (!check_theta_fits(r) || !check_theta_norm(r) || !check_look_at_rows(r) ||
        !rank_fits(r, &residual) || !check_combine(r, false))
        return false;
    check_upper_bound(r);
    check_lower_bound(r);
    r->report->gap = relative_gap(r->proof.P, r->proof.D);
    if (!check_kappa_is_one(r) || !check_within_reach(r))
        return false;
    if (!(r->proof.D.hi > 0))
        return check_reject(r->report, "the multipliers give no lower bound");
    if (!(residual <= CHECK_FIRST))
        return check_reject(r->report, "first-order conditions are off by %.1e, relative",
                            residual);
    snprintf(r->report->reason, sizeof r->report->reason,
             "every row holds, the rank is at most %" PRId64
             ", first-order conditions hold to %.1e, and no matrix that holds the rows has a norm "
             "below %.17g",
             (int64_t)s->rank, residual, r->report->dual);
    return true;
}

/* ---------------------------------------------------------------------------- stalled */

/*
 * A claim without a proof.  Its content is verified nevertheless: is theta feasible, and do the
 * multipliers prove a lower bound?  Never valid, but consistent if they do.
 */
static bool describe(check_trial *r)
{
    attsvm_report *report = r->report;
    bool soft = r->claim->settings.soft > 0;
    char why[128];
    bool feasible = check_theta_fits(r) && check_theta_norm(r) && check_look_at_rows(r);
    if (feasible && !soft && r->proof.has_ones)
        feasible = r->proof.kappa.hi > 0 || check_reject(report, "a row has no positive margin");
    snprintf(why, sizeof why, "%.127s", report->reason);
    report->consistent = r->status == ATTSVM_OK && check_combine(r, false);
    if (!report->consistent)
        return false;
    if (feasible && (soft ? soft_gap(r) : hard_gap(r)))
        return check_reject(report, "claims no proof (stalled), although its gap of %.1e is one",
                            report->gap);
    if (!soft)
        check_lower_bound(r);
    if (r->status != ATTSVM_OK)
        return false;
    if (feasible)
        return check_reject(
            report,
            "claims no proof (stalled); consistent: every row holds, and nothing is "
            "below %.10g (gap %.1e)",
            report->dual, report->gap);
    report->gap = NAN;
    return check_reject(
        report,
        "claims no proof (stalled); consistent: nothing is below %.10g, but theta is not "
        "feasible: %.110s",
        report->dual, why);
}

/* ------------------------------------------------------------------------- infeasible */

/* Every solution has norm at least B = (b'lambda + e'mu)/|G|: is it beyond 1e18 m? */
static bool beyond_reach(check_trial *r)
{
    attsvm_report *report = r->report;
    check_range m;
    check_lower_bound(r);
    report->bound = base_dd_value(r->proof.D) * (1 - 1e-15);
    report->dual = NAN;
    if (!check_worked(r, check_longest_request(&m, &r->problem, r->err)))
        return false;
    if (!(report->bound >= CHECK_BEYOND * m.high && m.high > 0))
        return check_reject(
            report,
            "the rows do not contradict each other; a solution of norm %.3e remains possible",
            report->bound);
    report->proof = ATTSVM_PROOF_BEYOND;
    snprintf(report->reason, sizeof report->reason,
             "every solution has norm at least %.3e, %.0e times what a single row requires",
             report->bound, report->bound / m.high);
    return true;
}

static bool prove_infeasible(check_trial *r)
{
    attsvm_report *report = r->report;
    if (!check_combine(r, true))
        return false;
    if (r->claim->settings.soft > 0 && r->proof.dual.active > 0)
        return check_reject(report, "a soft margin is never infeasible through its inequalities");
    if (!r->proof.dual.positive)
        return check_reject(report, "b'lambda + e'mu is not shown to be positive: %.3g",
                            base_dd_value(r->proof.dual.value.value));
    report->dual_norm /= base_dd_value(r->proof.dual.value.value);
    bool exact = r->proof.dual.zero || check_contradiction(&r->problem, &r->status, r->err);
    if (r->status != ATTSVM_OK)
        return false;
    if (!exact)
        return beyond_reach(r);
    report->proof = ATTSVM_PROOF_EXACT;
    report->bound = INFINITY;
    snprintf(report->reason, sizeof report->reason,
             "the rows contradict each other: no theta satisfies them");
    return true;
}

/* ------------------------------------------------------------------------------- joint */

static attsvm_status open_run(check_trial *r, const attsvm_data *data, const attsvm_claim *claim,
                              const attsvm_check_settings *settings, dist_stop *stop,
                              attsvm_report *report, attsvm_error *err, bool *opened);
static void close_run(check_trial *r);

/* The same in rational numbers; the gap that decides stays that of the rounded bounds. */
static bool prove_exactly(check_trial *r)
{
    double gap = r->report->gap;
    bool good = check_exactly(&r->problem, r->tol, r->report, &r->status, r->err);
    r->report->gap = r->claim->settings.problem == ATTSVM_PROBLEM_V ? gap : r->report->gap;
    return good;
}

/* Whether the claim's head is a v-SVM with the same selection and norm. */
static bool head_fits(check_trial *r)
{
    const attsvm_claim *head = r->claim->head;
    const attsvm_svm_settings *s = &r->claim->settings;
    if (!head || head->settings.problem != ATTSVM_PROBLEM_V || head->settings.soft > 0)
        return check_reject(r->report, "the claim has no v-SVM to decide the right-hand sides");
    if (head->settings.norm != s->norm &&
        !(is_euclidean(head->settings.norm) && is_euclidean(s->norm)))
        return check_reject(r->report, "the v-SVM is solved in another norm");
    if (s->norm == ATTSVM_NORM_LQ && head->settings.q != s->q)
        return check_reject(r->report, "the v-SVM is solved in another norm");
    if (!head->selection.alpha || head->selection.terms != r->problem.data->n)
        return check_reject(r->report, "the v-SVM has no selection");
    for (int64_t i = 0; i < r->problem.data->n; i++)
        if (head->selection.alpha[i] != r->claim->selection.alpha[i])
            return check_reject(r->report, "the v-SVM has another selection at sequence %" PRId64,
                                i);
    return true;
}

/*
 * Where is the v-SVM tight?  In l2 every optimal v is within rho = P sqrt(2 gap) of v/kappa, and by
 * complementarity lambda_i (m_i - 1) <= |G|P - b'lambda at every optimal v, m_i its margin; in
 * other norms the claimed head decides. -1: undecided.
 */
static int is_tight(const check_trial *head, int64_t i, double lambda, double length)
{
    const check_proof *p = &head->proof;
    double limit = 1 + CHECK_TIGHT, low, up, rho = 0;
    check_real m = head->margin[i];
    if (is_euclidean(head->claim->settings.norm))
        rho = base_dd_value(p->P) * sqrt(2 * head->report->gap) * (1 + 1e-9);
    dd down = check_down(base_dd_div(check_lower(m), p->kappa_up));
    dd top = check_up(base_dd_div(check_upper(m), p->kappa));
    if (!is_euclidean(head->claim->settings.norm)) {
        down = check_lower(m);
        top = check_upper(m);
    }
    low = base_dd_value(down) * (1 - 1e-15) - rho * length;
    up = base_dd_value(top) * (1 + 1e-15) + rho * length;
    if (low > limit)
        return 0;
    if (up <= limit)
        return 1;
    if (!is_euclidean(head->claim->settings.norm) || !(lambda > 0))
        return -1;
    dd rest = check_up(base_dd_mul(p->G, p->P));
    rest = base_dd_sub(rest, check_lower(p->dual.value));
    return base_dd_value(rest) * (1 + 1e-9) + 0x1p-96 <= CHECK_TIGHT * lambda * (1 - 1e-15) ? 1
                                                                                            : -1;
}

/* tight (n) of the joint problem from its head. */
static bool decide_tight(check_trial *r, const check_trial *head, uint8_t *tight)
{
    int64_t n = r->problem.data->n, d = r->problem.d;
    double *lambda, *x;
    if (!check_worked(r, base_allocate(&lambda, (size_t)(n + d), sizeof *lambda, "head", r->err)))
        return false;
    x = lambda + n;
    for (int64_t k = 0; k < head->claim->active_count; k++) /* rows of V: one a sequence */
        lambda[head->claim->active[k].sequence] = head->claim->lambda[k];
    bool good = true;
    for (int64_t i = 0; i < n && good; i++) {
        check_term term = check_term_of(&head->problem, i, 0);
        check_token(&term.tokens, term.base, x);
        double length = check_vector_norm(ATTSVM_NORM_L2, 2, x, d) * (1 + 1e-9);
        int answer = is_tight(head, i, lambda[i], length);
        good = answer >= 0 ||
               check_reject(r->report,
                            "head undecided: whether the v-SVM is tight at sequence %" PRId64
                            " does not follow from a gap of %.1e",
                            i, head->report->gap);
        tight[i] = answer == 1;
    }
    free(lambda);
    return good;
}

/* The v-SVM that decides the right-hand sides must itself be proved, for the same selection. */
static bool prove_head(check_trial *r, uint8_t *tight, bool *settled)
{
    check_trial head;
    attsvm_report report;
    bool opened;
    if (!head_fits(r))
        return false;
    const attsvm_claim *claim = r->claim->head;
    if (!check_worked(r, open_run(&head, r->problem.data, claim, r->settings, r->problem.stop,
                                  &report, r->err, &opened)))
        return false;
    bool good = false, infeasible = claim->outcome == ATTSVM_INFEASIBLE;
    if (opened && check_worked(r, base_allocate(&head.margin, (size_t)r->problem.data->n,
                                                sizeof *head.margin, "margins", r->err))) {
        if (claim->outcome == ATTSVM_OPTIMAL)
            good = prove_optimal(&head) && (!r->settings->exact || prove_exactly(&head));
        else if (infeasible)
            good = prove_infeasible(&head);
        else
            check_reject(&report, "its status is %s", attsvm_outcome_name(claim->outcome));
        r->status = head.status;
    }
    *settled = good && infeasible;
    if (r->status == ATTSVM_OK && !good)
        check_reject(r->report, "v-SVM: %.230s", report.reason);
    if (good && infeasible && r->claim->outcome != ATTSVM_INFEASIBLE)
        good = check_reject(r->report, "the v-SVM is infeasible, so there is no joint problem");
    else if (good && infeasible) {
        *r->report = report;
        snprintf(r->report->reason, sizeof r->report->reason, "v-SVM: %.230s", report.reason);
    } else if (good) {
        good = decide_tight(r, &head, tight);
    }
    free(head.margin);
    close_run(&head);
    return good;
}

/* ----------------------------------------------------------------------------- verdict */

static bool prove(check_trial *r)
{
    switch (r->claim->outcome) {
    case ATTSVM_OPTIMAL: return prove_optimal(r);
    case ATTSVM_INFEASIBLE: return prove_infeasible(r);
    case ATTSVM_STATIONARY: return prove_stationary(r);
    case ATTSVM_STALLED: return describe(r);
    case ATTSVM_NOT_RUN: break;
    }
    return check_reject(r->report, "the claim has no outcome");
}

static attsvm_status open_run(check_trial *r, const attsvm_data *data, const attsvm_claim *claim,
                              const attsvm_check_settings *settings, dist_stop *stop,
                              attsvm_report *report, attsvm_error *err, bool *opened)
{
    *report = (attsvm_report){ .outcome = claim->outcome,
                               .norm = NAN,
                               .dual = NAN,
                               .gap = NAN,
                               .needed = NAN,
                               .bound = NAN,
                               .dual_norm = NAN,
                               .min_margin = NAN,
                               .violation = NAN,
                               .tight = -1,
                               .active = -1,
                               .merged = -1 };
    double standard = is_euclidean(claim->settings.norm) ? 1e-12 : 1e-9;
    *r = (check_trial){ .claim = claim,
                        .settings = settings,
                        .report = report,
                        .err = err,
                        .tol = settings->tol > 0 ? settings->tol : standard };
    *opened = check_problem_open(&r->problem, data, claim, report, &r->status, err);
    r->problem.threads = base_threads(settings->threads);
    r->problem.stop = stop;
    r->rows = r->problem.matrix ? data->d : 1;
    r->columns = data->d;
    return r->status;
}

static void close_run(check_trial *r)
{
    check_margins_free(&r->proof.margins);
    free(r->proof.dual.G);
    check_problem_close(&r->problem);
}

#define SETTINGS attsvm_check_settings
static const field check_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(tol), FIELD_DOUBLE, 0, 1, 0,
      "relative gap that counts as optimal; 0: 1e-12 for l2 and fro, else 1e-9", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0, "seconds of wall clock; 0: no limit", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
    { F(exact), FIELD_BOOL, 0, 1, 0,
      "prove it in rational numbers as well: l2, fro, l1, linf and infeasible claims", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_check_table = { "check", check_fields,
                                            sizeof check_fields / sizeof *check_fields,
                                            sizeof(attsvm_check_settings), NULL };

void attsvm_check_settings_init(attsvm_check_settings *settings)
{
    attsvm_settings_init(&attsvm_check_table, settings);
}

attsvm_status attsvm_check(attsvm_report *report, const attsvm_data *data,
                           const attsvm_claim *claim, const attsvm_check_settings *settings,
                           attsvm_observer *observer, void *context, attsvm_error *err)
{
    NEED(report);
    NEED(data);
    NEED(claim);
    static const attsvm_check_settings defaults = { 0 };
    const attsvm_check_settings *s = settings ? settings : &defaults;
    dist_watch watch = { .observer = observer, .context = context };
    dist_stop stop;
    check_trial r;
    uint8_t *tight = NULL;
    bool opened, settled = false;
    TRY(attsvm_settings_check(&attsvm_check_table, s, err));
    dist_stop_watch(&stop, NULL, s->time_limit, &watch);
    attsvm_status status = open_run(&r, data, claim, s, &stop, report, err, &opened);
    if (status == ATTSVM_OK && opened) {
        bool good = true;
        if (claim->settings.problem == ATTSVM_PROBLEM_JOINT) {
            good = check_worked(&r, base_allocate(&tight, (size_t)data->n, 1, "tight", err)) &&
                   prove_head(&r, tight, &settled);
            r.problem.tight = tight;
        }
        report->valid = good && (settled || prove(&r));
        if (report->valid && s->exact && !settled)
            report->valid = report->exact = prove_exactly(&r);
        report->exact = report->exact || (report->valid && report->proof == ATTSVM_PROOF_EXACT);
        status = r.status;
    }
    close_run(&r);
    free(tight);
    return status == ATTSVM_OK ? dist_stop_status(&stop, err) : status;
}
