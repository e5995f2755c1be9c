/* Solutions: what a solve leaves behind, with its own copy of the selection. */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

attsvm_status svm_solution_open(attsvm_solution **out, const attsvm_problem *problem,
                                attsvm_error *err)
{
    attsvm_solution *s;
    const svm_rows *rows = &problem->rows;
    *out = NULL;
    TRY(base_allocate(&s, 1, sizeof *s, "solution", err));
    *out = s;
    s->info = (attsvm_svm_info){ .norm = NAN,
                                 .margin = NAN,
                                 .dual = NAN,
                                 .gap = NAN,
                                 .violation = NAN,
                                 .objective = NAN,
                                 .residual = NAN,
                                 .tight = -1,
                                 .rank = -1,
                                 .pair = { -1, -1, -1 },
                                 .pair_selected = -1 };
    TRY(base_allocate(&s->theta, (size_t)rows->size, sizeof(double), "solution", err));
    size_t terms = (size_t)rows->terms.count, cells = (size_t)rows->cells;
    if (rows->sets) {
        TRY(base_allocate(&s->sets, cells, 1, "solution", err));
        memcpy(s->sets, rows->sets, cells);
    } else {
        TRY(base_allocate(&s->alpha, terms, sizeof *s->alpha, "solution", err));
        memcpy(s->alpha, rows->base, terms * sizeof *s->alpha);
    }
    if (rows->softmax) {
        TRY(base_allocate(&s->softmax, cells, sizeof(double), "solution", err));
        memcpy(s->softmax, rows->softmax, cells * sizeof(double));
    }
    return ATTSVM_OK;
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
    free(solution->lambda);
    free(solution->mu);
    free(solution->active);
    free(solution->equal);
    free(solution);
}

attsvm_svm_info attsvm_solution_info(const attsvm_solution *solution)
{
    return solution->info;
}

attsvm_claim attsvm_solution_claim(const attsvm_solution *solution)
{
    return solution->claim;
}

void svm_solution_close(attsvm_solution *s, const svm_run *run)
{
    attsvm_claim *claim = &s->claim;
    s->info.merged = run->pricing.merged;
    s->info.rounds = run->rounds;
    s->info.iterations = run->engine.iterations;
    s->info.passes = run->passes;
    s->info.pass_seconds = run->pricing.seconds;
    s->info.seconds = base_seconds() - run->start;
    claim->settings = run->problem->settings;
    claim->selection = (attsvm_selection){ s->alpha, s->sets, s->softmax };
    claim->outcome = s->info.outcome;
    claim->theta = s->theta;
    claim->theta_count = run->rows->size;
    claim->active = s->active;
    claim->lambda = s->lambda;
    claim->equal = s->equal;
    claim->mu = s->mu;
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
    svm_run run = { .problem = (attsvm_problem *)problem,
                    .rows = &problem->rows,
                    .start = base_seconds() };
    (*out)->info.outcome = outcome;
    for (int64_t k = 0; k < problem->rows.size; k++)
        (*out)->theta[k] = NAN;
    svm_solution_close(*out, &run);
    return ATTSVM_OK;
}
