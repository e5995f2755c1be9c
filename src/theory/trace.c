/* The recorded parameters of a run against the SVM of the tokens that it selects (theory 3). */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One record after the other, with the memory that they share. */
typedef struct comparison {
    attsvm_train *run;
    const attsvm_claim *claim;
    double optimal_norm; /* |theta_svm|                   */
    svm_rows rows;
    double *theta, *map;                      /* parameters of a record, their logit map */
    double *correlation, *angle, *efficiency; /* (records)                               */
} comparison;

static void read_record(const comparison *c, int64_t k)
{
    const model *m = c->run->m;
    for (int b = 0; b < m->parameters; b++) {
        const int64_t count = m->parameter[b].count;
        memcpy(c->theta + m->parameter[b].offset, c->run->trace.theta[b] + k * count,
               (size_t)count * sizeof *c->theta);
    }
}

static attsvm_status compare_record(const comparison *c, int64_t k, attsvm_error *err)
{
    const int64_t d = c->run->m->data->d, count = c->claim->theta_count;
    double norm, min_margin, min_zero_margin;
    read_record(c, k);
    memcpy(c->map, model_logit_map(c->run->m, c->theta), (size_t)count * sizeof *c->map);
    TRY(svm_norm_of(&c->claim->settings, c->map, d, count / d, &norm, err));
    TRY(theory_margins_min(&c->rows, c->map, &min_margin, &min_zero_margin, err));
    c->correlation[k] = attsvm_correlation(c->map, c->claim->theta, count);
    c->angle[k] = theory_angle(c->map, c->claim->theta, count);
    if (norm > 0 && isfinite(min_margin))
        c->efficiency[k] = min_zero_margin < 0 ? 0 : min_margin / norm * c->optimal_norm;
    return ATTSVM_OK;
}

static attsvm_status compare_all(comparison *c, const attsvm_data *data, attsvm_error *err)
{
    const int64_t records = c->run->trace.count;
    double *memory;
    TRY(base_allocate(&memory, (size_t)(c->run->m->size + c->run->m->map_size), sizeof *memory,
                      "parameters of a record", err));
    c->theta = memory;
    c->map = memory + c->run->m->size;
    attsvm_status status = ATTSVM_OK;
    if (isnan(c->optimal_norm)) /* a loaded solution */
        status = svm_norm_of(&c->claim->settings, c->claim->theta, data->d,
                             c->claim->theta_count / data->d, &c->optimal_norm, err);
    if (status == ATTSVM_OK)
        status = theory_rows_of(&c->rows, data, c->claim, err);
    if (status == ATTSVM_OK) {
        for (int64_t k = 0; k < records && status == ATTSVM_OK; k++)
            status = compare_record(c, k, err);
        svm_rows_free(&c->rows);
    }
    free(memory);
    return status;
}

static attsvm_status compare(attsvm_train *run, const attsvm_data *data,
                             const attsvm_solution *solution, attsvm_error *err)
{
    const attsvm_claim claim = attsvm_solution_claim(solution);
    const int64_t records = run->trace.count;
    double *values;
    if (claim.theta_count != run->m->map_size)
        return fail(err, ATTSVM_E_ARG,
                    "the solution has %" PRId64 " entries and the run's parameters %" PRId64,
                    claim.theta_count, run->m->map_size);
    TRY(base_allocate(&values, 3 * (size_t)records + 1, sizeof *values, "trace", err));
    for (int64_t k = 0; k < 3 * records; k++)
        values[k] = NAN;
    comparison c = { .run = run,
                     .claim = &claim,
                     .optimal_norm = attsvm_solution_describe(solution).norm,
                     .correlation = values,
                     .angle = values + records,
                     .efficiency = values + 2 * records };
    attsvm_status status = ATTSVM_OK;
    if (claim.outcome != ATTSVM_INFEASIBLE)
        status = compare_all(&c, data, err);
    if (status == ATTSVM_OK)
        train_put_comparison(run, values);
    else
        free(values);
    return status;
}

attsvm_status attsvm_train_compare(attsvm_train *run, const attsvm_solution *solution,
                                   attsvm_error *err)
{
    NEED(run);
    data_view view;
    attsvm_svm_settings svm;
    attsvm_solution *own = NULL;
    if (run->info.outcome == ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run has not been trained yet");
    if (run->trace.every == 0)
        return ATTSVM_OK;
    const attsvm_data *data = theory_data_of(run, &view);
    if (!solution) {
        attsvm_verdict verdict;
        TRY(attsvm_train_limit(&run->settings, &svm, NULL, err));
        svm.time_limit = run->settings.time_limit;
        TRY(attsvm_verdict_compute(&verdict, run, &svm, NULL, NULL, &own, err));
    }
    attsvm_status status = compare(run, data, solution ? solution : own, err);
    attsvm_solution_free(own);
    return status;
}
