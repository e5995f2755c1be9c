/* Solutions: the result of a solve, with a copy of the selection. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const attsvm_svm_info nothing_computed = {
    .norm = NAN,
    .margin = NAN,
    .dual = NAN,
    .gap = NAN,
    .violation = NAN,
    .objective = NAN,
    .residual = NAN,
    .bound = NAN,
    .tight = -1,
    .rank = -1,
    .pair = { -1, -1, -1 },
    .pair_selected = -1,
};

/* A strictly convex norm has a unique minimiser; others may have a face of minimisers. */
static bool is_unique(const attsvm_svm_settings *settings)
{
    return settings->rank == 0 && svm_norm_solved(settings, svm_rows_need_matrix(settings))->unique;
}

/* The pointer at `out` gets a copy of `count` elements, or zeros if `from` is NULL. */
static attsvm_status copy(void *out, const void *from, int64_t count, size_t size,
                          attsvm_error *err)
{
    void *memory;
    TRY(base_allocate(&memory, (size_t)count + 1, size, "solution", err));
    memcpy(out, &memory, sizeof memory);
    if (from && count > 0)
        memcpy(memory, from, (size_t)count * size);
    return ATTSVM_OK;
}

/* The same, but NULL stays NULL. */
static attsvm_status copy_optional(double **out, const double *from, int64_t count,
                                   attsvm_error *err)
{
    return from ? copy(out, from, count, sizeof **out, err) : ATTSVM_OK;
}

attsvm_status svm_solution_open(attsvm_solution **out, const attsvm_problem *problem,
                                attsvm_error *err)
{
    attsvm_solution *s;
    const svm_rows *rows = &problem->rows;
    *out = NULL;
    TRY(base_allocate(&s, 1, sizeof *s, "solution", err));
    *out = s;
    s->info = nothing_computed;
    s->info.unique = is_unique(&problem->settings);
    TRY(copy(&s->theta, NULL, rows->size, sizeof(double), err));
    if (rows->sets)
        TRY(copy(&s->sets, rows->sets, rows->cells, 1, err));
    else
        TRY(copy(&s->alpha, rows->base, rows->terms.count, sizeof(int64_t), err));
    return copy_optional(&s->softmax, rows->softmax, rows->cells, err);
}

void attsvm_solution_free(attsvm_solution *solution)
{
    if (!solution)
        return;
    attsvm_solution_free(solution->head);
    free(solution->alpha);
    free(solution->sets);
    free(solution->softmax);
    free(solution->theta);
    free(solution->theta_lo);
    free(solution->theta_lo2);
    free(solution->lambda);
    free(solution->lambda_lo);
    free(solution->mu);
    free(solution->mu_lo);
    free(solution->active);
    free(solution->equal);
    free(solution);
}

attsvm_svm_info attsvm_solution_describe(const attsvm_solution *solution)
{
    if (!solution)
        return (attsvm_svm_info){ 0 };
    return solution->info;
}

attsvm_claim attsvm_solution_claim(const attsvm_solution *solution)
{
    if (!solution)
        return (attsvm_claim){ 0 };
    return solution->claim;
}

/* The claim borrows the arrays of the solution. */
static void borrow_arrays(attsvm_solution *s, int64_t terms, int64_t cells)
{
    attsvm_claim *claim = &s->claim;
    claim->selection = (attsvm_selection){ .alpha = s->alpha,
                                           .sets = s->sets,
                                           .softmax = s->softmax,
                                           .terms = s->alpha ? terms : 0,
                                           .cells = s->sets ? cells : 0 };
    claim->theta = s->theta;
    claim->theta_lo = s->theta_lo;
    claim->theta_lo2 = s->theta_lo2;
    claim->active = s->active;
    claim->lambda = s->lambda;
    claim->lambda_lo = s->lambda_lo;
    claim->equal = s->equal;
    claim->mu = s->mu;
    claim->mu_lo = s->mu_lo;
}

static void make_claim(attsvm_solution *s, const attsvm_problem *problem)
{
    attsvm_claim *claim = &s->claim;
    claim->settings = problem->settings;
    claim->outcome = s->info.outcome;
    claim->theta_count = problem->rows.size;
    borrow_arrays(s, problem->rows.terms.count, problem->rows.cells);
}

/*
 * Merged tokens are counted when a term is first read.  An infeasible problem may end earlier: a
 * small one is counted here; for a large one that was not fully read the number is unknown (-1).
 */
static int64_t count_merged(const svm_run *run)
{
    const svm_rows *rows = run->rows;
    const svm_find *find = &run->find;
    bool whole = true;
    for (int64_t g = find->lo; g < find->hi; g++)
        whole = whole && find->path_at_read[g] >= 0;
    if (rows->data->comm)
        whole = !dist_any(rows->data->comm, !whole);
    if (whole)
        return find->merged;
    if (!svm_first_is_small(rows))
        return -1;
    int64_t merged = 0;
    for (int64_t g = 0; g < rows->terms.count; g++) {
        svm_term term = svm_rows_term(rows, g);
        for (int64_t t = 0; t < term.visible; t++)
            merged += svm_rows_kind(rows, &term, t) == SVM_AT_LEAST &&
                      svm_rows_resolve(rows, &term, t, run->set.scratch) == SVM_NO_ROW;
    }
    return merged;
}

void svm_solution_close(attsvm_solution *s, const svm_run *run)
{
    s->info.merged = s->info.outcome == ATTSVM_INFEASIBLE ? count_merged(run) : run->find.merged;
    s->info.rounds = run->rounds;
    s->info.iterations = run->phase ? run->phase->iterations : 0;
    s->info.passes = run->find.passes;
    s->info.pass_seconds = run->find.seconds;
    make_claim(s, run->problem);
}

attsvm_status svm_solution_without(const attsvm_problem *problem, attsvm_outcome outcome,
                                   attsvm_solution **out, attsvm_error *err)
{
    attsvm_status status = svm_solution_open(out, problem, err);
    if (status != ATTSVM_OK) {
        attsvm_solution_free(*out);
        *out = NULL;
        return status;
    }
    attsvm_solution *s = *out;
    s->info.outcome = outcome;
    s->info.merged = -1;
    for (int64_t k = 0; k < problem->rows.size; k++)
        s->theta[k] = NAN;
    make_claim(s, problem);
    return ATTSVM_OK;
}

const char *attsvm_outcome_name(attsvm_outcome outcome)
{
    static const char *const names[] = { "not run", "optimal", "infeasible", "stalled",
                                         "stationary" };
    return outcome >= ATTSVM_NOT_RUN && outcome <= ATTSVM_STATIONARY ? names[outcome] : NULL;
}

const char *attsvm_proof_name(attsvm_proof proof)
{
    static const char *const names[] = { "none", "exact", "beyond" };
    return proof >= ATTSVM_PROOF_NONE && proof <= ATTSVM_PROOF_BEYOND ? names[proof] : NULL;
}

static attsvm_status copy_claim(attsvm_solution *s, const attsvm_data *data,
                                const attsvm_claim *claim, attsvm_error *err)
{
    int64_t terms, cells;
    TRY(attsvm_svm_terms(data, &claim->settings, &terms, err));
    TRY(attsvm_svm_cells(data, &claim->settings, &cells, err));
    TRY(copy(&s->theta, claim->theta, claim->theta_count, sizeof(double), err));
    TRY(copy(&s->active, claim->active, claim->active_count, sizeof(attsvm_row), err));
    TRY(copy(&s->lambda, claim->lambda, claim->active_count, sizeof(double), err));
    TRY(copy(&s->equal, claim->equal, claim->equal_count, sizeof(attsvm_row), err));
    TRY(copy(&s->mu, claim->mu, claim->equal_count, sizeof(double), err));
    TRY(copy_optional(&s->theta_lo, claim->theta_lo, claim->theta_count, err));
    TRY(copy_optional(&s->theta_lo2, claim->theta_lo2, claim->theta_count, err));
    TRY(copy_optional(&s->lambda_lo, claim->lambda_lo, claim->active_count, err));
    TRY(copy_optional(&s->mu_lo, claim->mu_lo, claim->equal_count, err));
    if (claim->selection.alpha)
        TRY(copy(&s->alpha, claim->selection.alpha, terms, sizeof(int64_t), err));
    if (claim->selection.sets)
        TRY(copy(&s->sets, claim->selection.sets, cells, 1, err));
    TRY(copy_optional(&s->softmax, claim->selection.softmax, cells, err));
    s->claim = *claim;
    s->claim.head = NULL;
    borrow_arrays(s, terms, cells);
    return ATTSVM_OK;
}

attsvm_status svm_solution_of_claim(attsvm_solution **out, const attsvm_data *data,
                                    const attsvm_claim *claim, attsvm_error *err)
{
    attsvm_solution *s;
    *out = NULL;
    TRY(base_allocate(&s, 1, sizeof *s, "solution", err));
    s->info = nothing_computed;
    s->info.unique = is_unique(&claim->settings);
    s->info.outcome = claim->outcome;
    s->info.active = claim->active_count;
    s->info.merged = -1;
    attsvm_status status = copy_claim(s, data, claim, err);
    if (status == ATTSVM_OK && claim->head)
        status = svm_solution_of_claim(&s->head, data, claim->head, err);
    if (status != ATTSVM_OK) {
        attsvm_solution_free(s);
        return status;
    }
    if (s->head)
        s->claim.head = &s->head->claim;
    *out = s;
    return ATTSVM_OK;
}

attsvm_status attsvm_solution_rank(attsvm_solution *solution, attsvm_error *err)
{
    NEED(solution);
    int64_t d = (int64_t)(sqrt((double)solution->claim.theta_count) + 0.5);
    if (!svm_rows_need_matrix(&solution->claim.settings) ||
        solution->info.outcome == ATTSVM_INFEASIBLE)
        return ATTSVM_OK;
    return svm_norm_rank(solution->theta, d, 1e-6, &solution->info.rank, err);
}
