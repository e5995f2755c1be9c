/*
 * Certificates in the other norms (theory 4.1): theta scaled so that every row holds in exact
 * evaluation, multipliers scaled to dual norm 1, and the gap between them.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEND_TIMES = 2 };
static const double FARKAS = 1e-12; /* largest residual of a proof, relative to its terms */

/* ----------------------------------------------------------------------------- rows */

/* A named row with its multiplier, for sums over claims and lists alike. */
typedef struct summand {
    svm_term term;
    int64_t token;
    double factor;
} summand;

typedef struct totals {
    double *S, *S_lo; /* (size) sum of factor A      */
    double weight;    /* sum of |factor| |A|_dual      */
    double largest;   /* |A|_dual                      */
    double *delta, *lo, *z;
    void *memory;
} totals;

static attsvm_status totals_create(totals *t, const svm_rows *rows, attsvm_error *err)
{
    size_t d = (size_t)rows->d;
    *t = (totals){ 0 };
    TRY(base_allocate(&t->S, 2 * (size_t)rows->size + 5 * d, sizeof *t->S, "sum of rows", err));
    t->S_lo = t->S + rows->size;
    t->delta = t->S_lo + rows->size;
    t->lo = t->delta + d;
    t->z = t->lo + 3 * d;
    return ATTSVM_OK;
}

/* Sums in double-double: near infeasibility large multiples of rows cancel. */
static void totals_add(totals *t, const svm_rows *rows, const attsvm_svm_settings *settings,
                       summand s)
{
    int64_t d = rows->d;
    svm_rows_delta(rows, &s.term, s.token, t->delta, t->lo, t->lo + d);
    if (rows->matrix)
        svm_rows_query(rows, &s.term, t->z);
    double size = svm_norm_of_row(settings, t->delta, rows->matrix ? t->z : NULL, d);
    t->weight += fabs(s.factor) * size;
    t->largest = fmax(t->largest, size);
    const la_exact *exact = la_exact_active();
    if (!rows->matrix) {
        exact->axpy(base_dd(s.factor), t->delta, t->S, t->S_lo, d);
        exact->axpy(base_dd(s.factor), t->lo, t->S, t->S_lo, d);
        return;
    }
    for (int64_t i = 0; i < d; i++)
        if (t->delta[i] != 0)
            exact->axpy(base_dd_mul(base_dd(s.factor), (dd){ t->delta[i], t->lo[i] }), t->z,
                        t->S + i * d, t->S_lo + i * d, d);
}

/* -------------------------------------------------------------------------- optimal */

static bool has_target(const svm_norm_run *run)
{
    for (int64_t k = 0; k < run->count; k++)
        if (run->list[k].equal && run->list[k].b != 0)
            return true;
    return false;
}

/*
 * Scales theta until its least margin, in exact evaluation, is at least 1.
 */
static attsvm_status scale_theta(svm_norm_run *run, double *theta, svm_pass *pass, int64_t *merged,
                                 attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    svm_find find;
    double *zero = NULL;
    bool fixed = has_target(run);
    svm_pass_settings settings = { .share = UINT64_MAX,
                                   .slack_below =
                                       INFINITY, /* tight rows are counted in every term */
                                   .exact = true,
                                   .read_everything = true,
                                   .floor = 0x1p-53 };
    attsvm_status status =
        svm_find_create(&find, rows, base_threads(run->problem->settings.threads), err);
    if (status == ATTSVM_OK)
        status = base_allocate(&zero, (size_t)rows->size, sizeof *zero, "theta", err);
    for (int tries = 0; tries < 5 && status == ATTSVM_OK; tries++) {
        *pass = svm_find_pass(&find, theta, zero, &settings);
        run->passes += pass->visited;
        bool enough = pass->min_margin >= 1 && pass->min_margin < 1 + 1e-9;
        if (fixed || !isfinite(pass->min_margin) || !(pass->min_margin > 0) ||
            (tries > 0 && enough))
            break;
        for (int64_t k = 0; k < rows->size; k++)
            theta[k] *= pass->scale;
    }
    *merged = find.merged;
    run->pass_seconds += find.seconds;
    svm_find_free(&find);
    free(zero);
    return status;
}

/* lambda and mu of the list, divided by `ball`, into the solution; both are in order already. */
static attsvm_status store(const svm_norm_run *run, attsvm_solution *solution, double ball,
                           attsvm_error *err)
{
    attsvm_claim *claim = &solution->claim;
    size_t room = (size_t)run->count + 1;
    TRY(base_allocate(&solution->active, room, sizeof *solution->active, "multipliers", err));
    TRY(base_allocate(&solution->lambda, room, sizeof *solution->lambda, "multipliers", err));
    TRY(base_allocate(&solution->equal, room, sizeof *solution->equal, "multipliers", err));
    TRY(base_allocate(&solution->mu, room, sizeof *solution->mu, "multipliers", err));
    claim->active_count = claim->equal_count = 0;
    for (int64_t k = 0; k < run->count; k++) {
        const svm_gathered *g = &run->list[k];
        svm_term term = svm_rows_term(run->rows, g->term);
        attsvm_row row = { term.i, term.q, g->token };
        if (g->equal) {
            solution->equal[claim->equal_count] = row;
            solution->mu[claim->equal_count++] = g->lambda / ball;
        } else if (g->lambda > 0) {
            solution->active[claim->active_count] = row;
            solution->lambda[claim->active_count++] = g->lambda / ball;
        }
    }
    claim->active = solution->active;
    claim->lambda = solution->lambda;
    claim->equal = solution->equal;
    claim->mu = solution->mu;
    solution->info.active = claim->active_count;
    return ATTSVM_OK;
}

/* theta of the solution settled and scaled, its norm, and whether all rows hold. */
static attsvm_status evaluate(svm_norm_run *run, attsvm_solution *solution, svm_pass *pass,
                              bool *hold, attsvm_error *err)
{
    const attsvm_svm_settings *settings = &run->problem->settings;
    attsvm_svm_info *info = &solution->info;
    int64_t d = run->rows->d, lines = run->rows->matrix ? d : 1;
    double *theta = solution->theta;
    bool linear = settings->norm == ATTSVM_NORM_L1 || settings->norm == ATTSVM_NORM_LINF;
    if (settings->rank == 0) /* Clp leaves rows as far off as it tolerates */
        TRY(svm_project_onto_active_rows(run, linear, theta, err));
    for (int tries = 0;; tries++) {
        TRY(scale_theta(run, theta, pass, &info->merged, err));
        TRY(svm_norm_of(settings, false, theta, lines, d, &info->norm, err));
        TRY(svm_norm_rows_hold(run, theta, info->norm, &info->violation, hold, err));
        if (*hold || tries == MEND_TIMES)
            break;
        TRY(svm_project_onto_active_rows(run, true, theta, err));
    }
    *hold = *hold && !(pass->min_margin < 1);
    return ATTSVM_OK;
}

/* After a stop theta may break rows outside the working set: the start, where it is better. */
static attsvm_status evaluate_stopped(svm_norm_run *run, attsvm_solution *solution, svm_pass *pass,
                                      bool *hold, attsvm_error *err)
{
    int64_t d = run->rows->d, lines = run->rows->matrix ? d : 1;
    double start;
    TRY(svm_norm_of(&run->problem->settings, false, run->fro->theta, lines, d, &start, err));
    if (*hold && solution->info.norm <= start)
        return ATTSVM_OK;
    memcpy(solution->theta, run->fro->theta, (size_t)run->rows->size * sizeof(double));
    return evaluate(run, solution, pass, hold, err);
}

attsvm_status svm_norm_certify(svm_norm_run *run, attsvm_solution *solution, attsvm_error *err)
{
    const svm_rows *rows = run->rows;
    const attsvm_svm_settings *settings = &run->problem->settings;
    attsvm_svm_info *info = &solution->info;
    int64_t lines = rows->matrix ? rows->d : 1;
    double ball, value = 0;
    bool hold;
    svm_pass pass;
    memcpy(solution->theta, run->theta, (size_t)rows->size * sizeof(double));
    TRY(evaluate(run, solution, &pass, &hold, err));
    if (run->stopped && run->fro)
        TRY(evaluate_stopped(run, solution, &pass, &hold, err));
    totals sum;
    TRY(totals_create(&sum, rows, err));
    for (int64_t k = 0; k < run->count; k++) {
        const svm_gathered *g = &run->list[k];
        if (g->lambda != 0)
            totals_add(&sum, rows, settings,
                       (summand){ svm_rows_term(rows, g->term), g->token, g->lambda });
        value += g->b * g->lambda;
    }
    attsvm_status status = svm_norm_of(settings, true, sum.S, lines, rows->d, &ball, err);
    double largest = sum.largest;
    free(sum.S);
    TRY(status);
    ball = ball > 0 ? ball : 1;
    info->margin = info->norm > 0 ? 1 / info->norm : NAN;
    info->objective = info->norm;
    info->dual = info->norm > 0 || !hold ? value / ball : 0;
    info->gap = info->norm > 0 ? (info->norm - info->dual) / info->norm : 0;
    if (!hold) /* the gap of a point that is not feasible proves nothing */
        info->gap = NAN;
    if (isfinite(pass.min_margin))
        info->violation = fmax(info->violation, 1 - pass.min_margin);
    double floor = 0x1p-50 * largest * info->norm;
    bool proved = info->gap <= fmax(run->tol, floor) && hold;
    info->floor_decided = proved && info->gap > run->tol;
    info->outcome = proved ? ATTSVM_OPTIMAL : ATTSVM_STALLED;
    info->tight = pass.tight;
    info->undecided = run->undecided;
    info->rounds = run->rounds;
    info->iterations = run->iterations;
    info->passes = run->passes;
    info->pass_seconds = run->pass_seconds;
    info->seconds = base_seconds() - run->start;
    solution->claim.outcome = info->outcome;
    return store(run, solution, ball, err);
}

/* ---------------------------------------------------------- infeasible, or stopped */

/* theta in the norm, and the bound of its multipliers, scaled: S = sum lambda A has |S|_dual =
 * ball. */
static attsvm_status restate_point(const attsvm_problem *problem, attsvm_solution *solution,
                                   double value, double ball, attsvm_error *err)
{
    const svm_rows *rows = &problem->rows;
    attsvm_svm_info *info = &solution->info;
    TRY(svm_norm_of(&problem->settings, false, solution->theta, rows->matrix ? rows->d : 1, rows->d,
                    &info->norm, err));
    info->objective = info->norm;
    info->margin = info->norm > 0 ? 1 / info->norm : NAN;
    info->dual = ball > 0 ? value / ball : 0;
    for (int64_t k = 0; k < solution->claim.active_count && ball > 0; k++)
        solution->lambda[k] /= ball;
    for (int64_t k = 0; k < solution->claim.equal_count && ball > 0; k++)
        solution->mu[k] /= ball;
    if (!isnan(info->gap))
        info->gap = info->norm > 0 ? (info->norm - info->dual) / info->norm : 0;
    return ATTSVM_OK;
}

attsvm_status svm_certificate_in_norm(const attsvm_problem *problem, attsvm_solution *solution,
                                      attsvm_error *err)
{
    const svm_rows *rows = &problem->rows;
    const attsvm_claim *claim = &solution->claim;
    attsvm_svm_info *info = &solution->info;
    solution->claim.settings = problem->settings;
    if (info->conflict)
        return ATTSVM_OK;
    totals sum;
    double ball, value = 0;
    TRY(totals_create(&sum, rows, err));
    for (int64_t k = 0; k < claim->active_count + claim->equal_count; k++) {
        bool equal = k >= claim->active_count;
        int64_t at = equal ? k - claim->active_count : k;
        attsvm_row row = equal ? claim->equal[at] : claim->active[at];
        int64_t term = data_terms_first(&rows->terms, row.sequence) + row.query;
        summand s = { svm_rows_term(rows, term), row.token,
                      equal ? claim->mu[at] : claim->lambda[at] };
        totals_add(&sum, rows, &problem->settings, s);
        value += svm_rows_rhs(rows, &s.term, s.token) * s.factor;
    }
    attsvm_status status = svm_norm_of(&problem->settings, true, sum.S, rows->matrix ? rows->d : 1,
                                       rows->d, &ball, err);
    double weight = sum.weight;
    free(sum.S);
    TRY(status);
    if (info->outcome != ATTSVM_INFEASIBLE)
        return restate_point(problem, solution, value, ball, err);
    info->residual = ball;
    if (!(ball <= FARKAS * weight))
        solution->info.outcome = solution->claim.outcome = ATTSVM_STALLED;
    return ATTSVM_OK;
}
