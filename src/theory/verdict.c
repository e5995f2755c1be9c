/* Verdicts on trained models (theory 5). */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>

/* A term is saturated when its selected token has at least this much of the attention. */
static const double saturated = 1 - 1e-3;
static const double log_two = 0.69314718055994530942;

const char *attsvm_verdict_name(attsvm_verdict_kind kind)
{
    static const char *const names[] = { "none",   "unsaturated", "infeasible",
                                         "global", "local",       "not_local" };
    return kind >= ATTSVM_VERDICT_NONE && kind <= ATTSVM_VERDICT_NOT_LOCAL ? names[kind] : NULL;
}

static attsvm_verdict_kind classify(const attsvm_verdict *v)
{
    if (!(v->attention >= saturated))
        return ATTSVM_VERDICT_UNSATURATED;
    if (v->outcome == ATTSVM_INFEASIBLE)
        return ATTSVM_VERDICT_INFEASIBLE;
    if (v->optimality.global)
        return ATTSVM_VERDICT_GLOBAL;
    return v->optimality.local ? ATTSVM_VERDICT_LOCAL : ATTSVM_VERDICT_NOT_LOCAL;
}

/*
 * Efficiency (theory 3): theta scaled to margin 1 is feasible, so |theta_svm| is at most its norm.
 * Rows with b = 0 (joint problems) must hold but do not enter the margin.
 */
static attsvm_status compare(attsvm_verdict *v, const attsvm_data *data, const double *theta,
                             int64_t count, const attsvm_claim *claim, double optimal_norm,
                             attsvm_error *err)
{
    svm_rows rows;
    double min_margin, min_zero_margin;
    int64_t d = data->d;
    bool matrix = claim->settings.problem == ATTSVM_PROBLEM_W;
    TRY(svm_norm_of(&claim->settings, theta, d, matrix ? d : 1, &v->norm, err));
    if (claim->outcome == ATTSVM_INFEASIBLE)
        return ATTSVM_OK;
    v->correlation = attsvm_correlation(theta, claim->theta, count);
    v->angle = theory_angle(theta, claim->theta, count);
    TRY(theory_rows_of(&rows, data, claim, err));
    attsvm_status status = theory_margins_min(&rows, theta, &min_margin, &min_zero_margin, err);
    svm_rows_free(&rows);
    if (status == ATTSVM_OK && v->norm > 0 && isfinite(min_margin))
        v->efficiency = min_zero_margin < 0 ? 0 : min_margin / v->norm * optimal_norm;
    return status;
}

/* No head separates the selected tokens by label: there is no joint problem, only problem P. */
static bool has_no_head(const attsvm_solution *solution)
{
    const attsvm_claim *head = solution->claim.head;
    return head && head->outcome == ATTSVM_INFEASIBLE;
}

/*
 * Counts terms that are not saturated, and those whose gradient no longer matters: the gradient of
 * a term is proportional to |l'(Y f)|.  With a trained head this slope decreases like exp(-|v|
 * margin), so that terms whose label margin exceeds the smallest one drop out while their attention
 * is still spread.
 */
static void count_undecided(attsvm_verdict *v, const model *m)
{
    double largest = -INFINITY, counts[2] = { 0, 0 }, slope, exponent;
    for (int64_t g = m->term_lo; g < m->term_hi; g++) {
        model_loss_slopes(&m->loss, &m->output[g], &slope, &exponent, 1);
        largest = fmax(largest, base_log(slope) + exponent);
    }
    dist_max(m->comm, &largest, 1);
    for (int64_t g = m->term_lo; g < m->term_hi; g++) {
        model_loss_slopes(&m->loss, &m->output[g], &slope, &exponent, 1);
        bool undecided = !(m->attention[g] >= saturated);
        counts[0] += undecided;
        counts[1] += undecided && base_log(slope) + exponent < largest - 53 * log_two;
    }
    dist_sum(m->comm, counts, 2);
    v->undecided = (int64_t)counts[0];
    v->unpulled = (int64_t)counts[1];
}

/*
 * Below the ratio |v|/|p| of theory 6.8 nothing is proved between the relaxed and the unrelaxed
 * p-SVM: then the one that theta is nearer to takes the place of the relaxed one in *solution.
 */
static attsvm_status choose_relaxed(attsvm_verdict *v, const attsvm_train *run,
                                    const attsvm_scores *scores, const attsvm_selection *selection,
                                    dist_stop *stop, attsvm_solution **solution, attsvm_error *err)
{
    const attsvm_claim *claim = &(*solution)->claim;
    const model *m = run->m;
    attsvm_svm_settings svm = v->svm;
    attsvm_solution *other;
    int64_t count, tight;
    double needed;
    if (claim->outcome != ATTSVM_OPTIMAL)
        return ATTSVM_OK;
    const double *theta = attsvm_train_theta(run, &count);
    const double *head = run->theta + m->parameter[m->parameters - 1].offset;
    TRY(theory_relaxed_ratio(scores->data, selection, claim->head->theta, (*solution)->info.norm,
                             &tight, &needed, err));
    if (la_norm(head, m->d) >= needed * la_norm(theta, count))
        return ATTSVM_OK;
    svm.problem = ATTSVM_PROBLEM_P;
    TRY(theory_solve(scores->data, selection, &svm, stop, &other, err));
    /* the relaxed one may be 0: then its correlation is NAN */
    if (other->info.outcome == ATTSVM_OPTIMAL &&
        !(attsvm_correlation(theta, other->claim.theta, count) <=
          attsvm_correlation(theta, claim->theta, count))) {
        attsvm_solution *relaxed = *solution;
        *solution = other;
        other = relaxed;
        v->svm = svm;
    }
    attsvm_solution_free(other);
    return ATTSVM_OK;
}

static attsvm_status judge(attsvm_verdict *v, const attsvm_train *run, attsvm_scores *scores,
                           dist_stop *stop, attsvm_solution **solution, attsvm_error *err)
{
    int64_t count;
    const attsvm_selection selection = { .alpha = run->m->selected, .terms = run->m->terms };
    TRY(theory_solve(scores->data, &selection, &v->svm, stop, solution, err));
    if (has_no_head(*solution)) {
        attsvm_solution_free(*solution);
        *solution = NULL;
        v->svm.problem = ATTSVM_PROBLEM_P;
        TRY(theory_solve(scores->data, &selection, &v->svm, stop, solution, err));
    } else if (v->svm.problem == ATTSVM_PROBLEM_JOINT) {
        TRY(choose_relaxed(v, run, scores, &selection, stop, solution, err));
    }
    attsvm_svm_info info = attsvm_solution_describe(*solution);
    attsvm_claim claim = attsvm_solution_claim(*solution);
    v->outcome = info.outcome;
    v->margin = info.margin;
    v->gap = info.gap;
    if (run->settings.model == ATTSVM_MODEL_KQ && run->settings.rank > 0 &&
        info.outcome == ATTSVM_OPTIMAL) {
        TRY(attsvm_solution_rank(*solution, err));
        /* K Q' does not reach a matrix of larger rank */
        v->claimed = v->claimed && (*solution)->info.rank <= run->settings.rank;
    }
    TRY(attsvm_optimality_compute(&v->optimality, scores, *solution, NULL, 0, err));
    const double *theta = attsvm_train_theta(run, &count);
    return compare(v, scores->data, theta, count, &claim, info.norm, err);
}

attsvm_status attsvm_verdict_compute(attsvm_verdict *out, const attsvm_train *run,
                                     const attsvm_svm_settings *svm, attsvm_observer *observer,
                                     void *context, attsvm_solution **solution, attsvm_error *err)
{
    if (solution)
        *solution = NULL;
    NEED(out);
    NEED(run);
    dist_watch watch = { .observer = observer, .context = context };
    dist_stop stop;
    const model *m = run->m;
    attsvm_scores *scores;
    attsvm_solution *own = NULL;
    data_view view;
    *out = (attsvm_verdict){ .terms = m->terms,
                             .attention = run->info.softmax_min,
                             .norm = NAN,
                             .correlation = NAN,
                             .angle = NAN,
                             .efficiency = NAN,
                             .margin = NAN,
                             .gap = NAN };
    if (run->info.outcome == ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run has not been trained yet");
    TRY(attsvm_train_limit(&run->settings, &out->svm, &out->claimed, err));
    out->svm.threads = m->threads;
    if (svm)
        out->svm = *svm;
    TRY(theory_scores_of_model(&scores, run, err));
    scores->data = theory_data_of(run, &view);
    dist_stop_watch(&stop, m->data->comm, 0, &watch);
    attsvm_status status = judge(out, run, scores, &stop, &own, err);
    count_undecided(out, m);
    if (status == ATTSVM_OK)
        out->kind = classify(out);
    attsvm_scores_free(scores);
    if (status == ATTSVM_OK && solution)
        *solution = own;
    else
        attsvm_solution_free(own);
    return status;
}
