/*
 * The verdict on a claim (theory 4.1).  Optimal: every row holds, and the multipliers give a lower
 * bound of the norm that theta reaches to within the gap.  Infeasible: the multipliers combine the
 * rows into a contradiction.  Stationary: every row holds at the rank allowed, and the bound is
 * one, however far.  Nothing else can be proved, and nothing else is accepted.
 */
#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* One check in progress; functions below return false once the verdict (or an error) is known. */
typedef struct run {
    check_problem problem;
    const attsvm_claim *claim;
    const attsvm_check_settings *settings;
    attsvm_report *report;
    attsvm_status status;
    attsvm_error *err;
    uint8_t *tight;        /* JOINT: where the v-SVM is tight          */
    uint8_t *tight_here;   /* n: filled by this check, NULL: not asked */
    int64_t rows, columns; /* of theta                                 */
} run;

static bool worked(run *r, attsvm_status status)
{
    r->status = status;
    return status == ATTSVM_OK;
}

static bool is_euclidean(int32_t norm)
{
    return norm == ATTSVM_NORM_L2 || norm == ATTSVM_NORM_FRO;
}

static double tolerance(const run *r)
{
    if (r->settings->tol > 0)
        return r->settings->tol;
    return is_euclidean(r->claim->settings.norm) ? 1e-12 : 1e-9;
}

/* ------------------------------------------------------------------------- both sides */

static bool theta_is_finite(run *r)
{
    int64_t count = r->rows * r->columns;
    if (r->claim->theta_count != count || !r->claim->theta)
        return check_reject(r->report, "theta has %" PRId64 " entries; this problem has %" PRId64,
                            r->claim->theta_count, count);
    for (int64_t k = 0; k < count; k++)
        if (!isfinite(r->claim->theta[k]))
            return check_reject(r->report, "theta[%" PRId64 "] is not a finite number", k);
    return true;
}

/* |theta| from above, and its rank where the problem limits it. */
static bool theta_norm(run *r, check_size *size)
{
    const attsvm_svm_settings *s = &r->claim->settings;
    int64_t count = r->rows * r->columns, rank = 0;
    dd *theta;
    if (!worked(r, base_allocate(&theta, (size_t)count, sizeof *theta, "theta", r->err)))
        return false;
    bool zero = true;
    for (int64_t k = 0; k < count; k++) {
        theta[k] = base_dd(r->claim->theta[k]);
        zero = zero && r->claim->theta[k] == 0;
    }
    bool go_on = worked(r, check_size_of(size, (attsvm_norm)s->norm, s->q, theta, r->rows,
                                         r->columns, r->problem.threads, r->err));
    if (go_on && s->rank > 0 && r->problem.matrix && !zero) {
        check_size unused;
        go_on = worked(r, check_singular(&unused, true, theta, r->rows, r->columns, &rank,
                                         r->problem.threads, r->err));
    }
    free(theta);
    if (go_on && rank > s->rank)
        return check_reject(r->report, "theta has rank %" PRId64 ", above the limit of %" PRId64,
                            rank, s->rank);
    r->report->norm = base_dd_value(size->value);
    return go_on;
}

static bool rows_hold(run *r, check_margins *m)
{
    attsvm_report *report = r->report;
    if (!worked(r, check_margins_of(m, &r->problem, report->norm, r->tight_here, r->err)))
        return false;
    report->min_margin = isinf(m->least.hi) ? NAN : base_dd_value(m->least);
    report->violation = m->violation;
    report->tight = m->tight;
    report->merged = m->merged;
    if (m->holds)
        return true;
    char name[96];
    check_row_name(&r->problem, m->bad, name, sizeof name);
    return check_reject(report, "%s has margin %.17g (short by %.2g of %.17g)", name, m->bad_margin,
                        fabs(m->bad_limit - m->bad_margin), m->bad_limit);
}

/* Multipliers, their value, and the dual norm of the combination G with all its error. */
static bool combine(run *r, check_dual *dual, check_size *G)
{
    const attsvm_svm_settings *s = &r->claim->settings;
    double q;
    attsvm_norm norm = check_dual_norm((attsvm_norm)s->norm, s->q, &q);
    if (!check_dual_of(dual, &r->problem, r->report, &r->status, r->err))
        return false;
    if (!worked(
            r, check_size_of(G, norm, q, dual->G, r->rows, r->columns, r->problem.threads, r->err)))
        return false;
    G->error += dual->error;
    r->report->dual_norm = base_dd_value(G->value);
    r->report->active = dual->active;
    return true;
}

/* ---------------------------------------------------------------------------- optimal */

/* gap <= max(tol, 2^-50 max|A||theta|); the second is looked up only where the first fails. */
static bool gap_is_small(run *r, double gap, const char *of)
{
    attsvm_report *report = r->report;
    double tol = tolerance(r), largest;
    if (gap <= tol) {
        snprintf(report->reason, sizeof report->reason,
                 "every row holds and the gap of the %s is at most %.1e", of, tol);
        return true;
    }
    if (!worked(r, check_largest_row(&largest, &r->problem, r->err)))
        return false;
    double limit = CHECK_FLOOR * largest * report->norm;
    if (gap <= limit) {
        snprintf(report->reason, sizeof report->reason,
                 "every row holds and the gap of the %s is at most %.1e, the floor that rounding "
                 "theta sets (the tolerance is %.1e)",
                 of, limit, tol);
        return true;
    }
    return check_reject(report, "the gap of the %s is %.3e, above the limit of %.1e", of, gap,
                        fmax(tol, limit));
}

/* (P - D)/P, 0 for P = 0. */
static double relative_gap(dd P, dd D)
{
    return P.hi == 0 ? 0 : base_dd_value(base_dd_div(base_dd_sub(P, D), P));
}

/*
 * P = |theta|, D = (b'lambda + e'mu) / max(1, |G|).  The report shows them as computed; the
 * decision is made with both norms, and the rows, taken as bad as rounding allows.
 */
static bool hard_gap(run *r, const check_size *size, const check_margins *m, const check_dual *dual,
                     const check_size *G)
{
    dd one = base_dd(1), above = base_dd_add(G->value, base_dd(G->error));
    dd D = base_dd_compare(G->value, one) > 0 ? base_dd_div(dual->value, G->value) : dual->value;
    r->report->dual = base_dd_value(D);
    r->report->gap = relative_gap(size->value, D);
    if (base_dd_compare(above, one) > 0)
        D = base_dd_div(dual->value, above);
    dd P = base_dd_add(size->value, base_dd(size->error));
    return gap_is_small(r, relative_gap(P, D) + m->slip, "norm");
}

/* P = 1/2 |theta|^2 + C sum xi, D = b'lambda + e'mu - 1/2 |G|^2; shown and decided as above. */
static bool soft_gap(run *r, const check_size *size, const check_margins *m, const check_dual *dual,
                     const check_size *G)
{
    double gap = NAN;
    for (int worst = 0; worst < 2; worst++) {
        dd norm = base_dd_add(size->value, base_dd(worst ? size->error : 0));
        dd G_norm = base_dd_add(G->value, base_dd(worst ? G->error : 0));
        dd slack = base_dd_add(m->slack, base_dd(worst ? m->slip * (double)m->tight : 0));
        dd P = base_dd_mul(base_dd(0.5), base_dd_mul(norm, norm));
        P = base_dd_add(P, base_dd_mul(base_dd(r->claim->settings.soft), slack));
        dd half = base_dd_mul(base_dd(0.5), base_dd_mul(G_norm, G_norm));
        dd D = base_dd_sub(dual->value, half);
        gap = relative_gap(P, D);
        if (!worst) {
            r->report->dual = base_dd_value(D);
            r->report->gap = gap;
        }
    }
    return gap_is_small(r, gap, "soft-margin objective");
}

static bool prove_optimal(run *r)
{
    check_size size;
    check_margins margins;
    check_dual dual = { 0 };
    check_size G;
    bool soft = r->claim->settings.soft > 0;
    bool proved =
        theta_is_finite(r) && theta_norm(r, &size) && rows_hold(r, &margins) &&
        combine(r, &dual, &G) &&
        (soft ? soft_gap(r, &size, &margins, &dual, &G) : hard_gap(r, &size, &margins, &dual, &G));
    free(dual.G);
    return proved;
}

/*
 * Stationary, with a rank limit: theta is a point of that rank where every row holds, and the
 * multipliers bound the norm of every such point from below.  That nothing near it is better is
 * not part of the claim: no certificate of this kind could show it.
 */
static bool prove_bounded(run *r)
{
    check_size size;
    check_margins margins;
    check_dual dual = { 0 };
    check_size G;
    const attsvm_svm_settings *s = &r->claim->settings;
    if (!(s->rank > 0) || !r->problem.matrix || s->soft > 0)
        return check_reject(r->report, "claims to be stationary, but no rank limit is set");
    bool proved = theta_is_finite(r) && theta_norm(r, &size) && rows_hold(r, &margins) &&
                  combine(r, &dual, &G);
    if (proved) {
        dd above = base_dd_add(G.value, base_dd(G.error));
        bool outside = base_dd_compare(above, base_dd(1)) > 0;
        dd D = outside ? base_dd_div(dual.value, above) : dual.value;
        r->report->dual = base_dd_value(D);
        r->report->gap = relative_gap(size.value, D);
        proved = D.hi > 0 || check_reject(r->report, "the multipliers give no lower bound");
    }
    free(dual.G);
    if (proved)
        snprintf(r->report->reason, sizeof r->report->reason,
                 "every row holds, the rank is at most %" PRId64
                 ", and no matrix that holds them has a norm below %.17g",
                 (int64_t)s->rank, r->report->dual);
    return proved;
}

/* ---------------------------------------------------------------------------- stalled */

/*
 * A claim of no proof.  What it holds is verified all the same: is theta feasible, and are the
 * multipliers a lower bound?  Never valid, but consistent where the second is so.
 */
static bool describe(run *r)
{
    attsvm_report *report = r->report;
    bool soft = r->claim->settings.soft > 0;
    check_size size = { base_dd(0), 0 }, G;
    check_margins margins;
    check_dual dual = { 0 };
    char why[128];
    bool feasible = theta_is_finite(r) && theta_norm(r, &size) && rows_hold(r, &margins);
    snprintf(why, sizeof why, "%.127s", report->reason);
    bool bounded = r->status == ATTSVM_OK && combine(r, &dual, &G);
    report->consistent = bounded;
    if (bounded && feasible &&
        (soft ? soft_gap(r, &size, &margins, &dual, &G) : hard_gap(r, &size, &margins, &dual, &G)))
        check_reject(report, "claims no proof (stalled), although its gap of %.1e is one",
                     report->gap);
    else if (bounded && feasible)
        check_reject(report,
                     "claims no proof (stalled); consistent: every row holds, and nothing is below "
                     "%.10g (gap %.1e)",
                     report->dual, report->gap);
    else if (bounded) {
        double value = base_dd_value(dual.value), norm = base_dd_value(G.value) + G.error;
        report->dual = soft ? value - norm * norm / 2 : value / fmax(1, norm);
        check_reject(
            report,
            "claims no proof (stalled); consistent: nothing is below %.10g, but theta is not "
            "feasible: %.110s",
            report->dual, why);
    }
    free(dual.G);
    return false;
}

/* ------------------------------------------------------------------------- infeasible */

static bool contradiction(run *r, const check_dual *dual, const check_size *G)
{
    attsvm_report *report = r->report;
    double value = base_dd_value(dual->value);
    double eps = (base_dd_value(G->value) + G->error) / value;
    double limit = CHECK_FARKAS * dual->weight / value;
    if (r->claim->settings.soft > 0 && dual->active > 0)
        return check_reject(report, "a soft margin is never infeasible through its inequalities");
    if (!(fabs(value - 1) <= fmin(0.5, 1e-9 * dual->scale)))
        return check_reject(report, "b'lambda + e'mu is %.17g, not 1", value);
    report->dual_norm /= value;
    /* where a key map sends a row to zero, the limit is 0 and rounding has to be allowed for */
    bool vanishes = base_dd_value(G->value) <= dual->error;
    if (!(eps <= limit) && !vanishes)
        return check_reject(report,
                            "the combined rows leave eps = %.3e, above %.3e: a solution of norm "
                            "%.3e is not excluded",
                            eps, limit, 1 / eps);
    if (report->dual_norm > 0)
        snprintf(report->reason, sizeof report->reason,
                 "the rows contradict each other: no theta of norm below %.1e satisfies them",
                 1 / eps);
    else
        snprintf(report->reason, sizeof report->reason,
                 "the rows contradict each other: no theta satisfies them");
    return true;
}

static bool prove_infeasible(run *r)
{
    check_dual dual = { 0 };
    check_size G;
    bool proved = combine(r, &dual, &G) && contradiction(r, &dual, &G);
    free(dual.G);
    return proved;
}

/* ------------------------------------------------------------------------------- joint */

static attsvm_status check_claim(attsvm_report *report, const attsvm_data *data,
                                 const attsvm_claim *claim, const attsvm_check_settings *settings,
                                 dist_stop *stop, uint8_t *tight, attsvm_error *err);

/* The v-SVM that decides the right-hand sides must itself be proved, for the same selection. */
static bool prove_head(run *r, bool *settled)
{
    const attsvm_claim *head = r->claim->head;
    const attsvm_data *data = r->problem.data;
    const attsvm_svm_settings *s = &r->claim->settings;
    if (!head || head->settings.problem != ATTSVM_PROBLEM_V || head->settings.soft > 0)
        return check_reject(r->report, "the claim brings no v-SVM to decide right-hand sides");
    if (head->settings.norm != s->norm &&
        !(is_euclidean(head->settings.norm) && is_euclidean(s->norm)))
        return check_reject(r->report, "the v-SVM is solved in another norm");
    if (!head->selection.alpha || head->selection.terms != data->n)
        return check_reject(r->report, "the v-SVM has no selection");
    for (int64_t i = 0; i < data->n; i++)
        if (head->selection.alpha[i] != r->claim->selection.alpha[i])
            return check_reject(r->report,
                                "the v-SVM is about another selection at sequence %" PRId64, i);
    if (!worked(r, base_allocate(&r->tight, (size_t)data->n, 1, "tight sequences", r->err)))
        return false;
    attsvm_report report;
    if (!worked(r,
                check_claim(&report, data, head, r->settings, r->problem.stop, r->tight, r->err)))
        return false;
    if (!report.valid)
        return check_reject(r->report, "v-SVM: %.230s", report.reason);
    r->problem.tight = r->tight;
    *settled = report.outcome == ATTSVM_INFEASIBLE;
    if (*settled && r->claim->outcome != ATTSVM_INFEASIBLE)
        return check_reject(r->report, "the v-SVM is infeasible, so there is no joint problem");
    if (*settled) {
        *r->report = report;
        snprintf(r->report->reason, sizeof r->report->reason, "v-SVM: %.230s", report.reason);
    }
    return true;
}

/* ----------------------------------------------------------------------------- verdict */

static bool prove(run *r)
{
    bool settled = false;
    if (r->claim->settings.problem == ATTSVM_PROBLEM_JOINT && !prove_head(r, &settled))
        return false;
    if (settled)
        return true;
    switch (r->claim->outcome) {
    case ATTSVM_OPTIMAL: return prove_optimal(r);
    case ATTSVM_INFEASIBLE: return prove_infeasible(r);
    case ATTSVM_STATIONARY: return prove_bounded(r);
    case ATTSVM_STALLED: return describe(r);
    case ATTSVM_NOT_RUN: break;
    }
    return check_reject(r->report, "the claim has no outcome");
}

/* `tight` (n, may be NULL) gets 1 at sequences with a tight row. */
static attsvm_status check_claim(attsvm_report *report, const attsvm_data *data,
                                 const attsvm_claim *claim, const attsvm_check_settings *settings,
                                 dist_stop *stop, uint8_t *tight, attsvm_error *err)
{
    *report = (attsvm_report){ .outcome = claim->outcome,
                               .norm = NAN,
                               .dual = NAN,
                               .gap = NAN,
                               .dual_norm = NAN,
                               .min_margin = NAN,
                               .violation = NAN,
                               .tight = -1,
                               .active = -1,
                               .merged = -1 };
    run r = {
        .claim = claim, .settings = settings, .report = report, .err = err, .tight_here = tight
    };
    if (check_problem_open(&r.problem, data, claim, report, &r.status, err)) {
        r.problem.threads = base_threads(settings->threads);
        r.problem.stop = stop;
        r.rows = r.problem.matrix ? data->d : 1;
        r.columns = data->d;
        report->valid = prove(&r);
    }
    check_problem_close(&r.problem);
    free(r.tight);
    return r.status == ATTSVM_OK ? dist_stop_status(stop, err) : r.status;
}

#define SETTINGS attsvm_check_settings
static const field check_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(tol), FIELD_DOUBLE, 0, 1, 0,
      "relative gap that counts as optimal; 0: 1e-12 for l2 and fro, else 1e-9", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0, "seconds of wall clock; 0: no limit", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0, "threads; 0: all cores", 0, 0 },
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
    TRY(attsvm_settings_check(&attsvm_check_table, s, err));
    dist_stop_watch(&stop, NULL, s->time_limit, &watch);
    return check_claim(report, data, claim, s, &stop, NULL, err);
}
