/* Training and solving in one call, and disturbed start values. */
#include "experiments/tools/tools.h"

#include <string.h>

void experiments_train_settings(const experiments_setup *setup, attsvm_train_settings *s)
{
    attsvm_train_settings_init(s);
    s->threads = 1;
    s->disturb = setup->disturb;
    s->disturb_seed = setup->disturb_seed;
}

void experiments_disturb(const experiments_setup *setup, uint64_t stream, double least, double *x,
                         int64_t count)
{
    const double size = fmax(setup->disturb, least);
    base_random r = base_random_stream((uint64_t)setup->disturb_seed, (uint64_t)1 << 63 | stream);
    for (int64_t k = 0; k < count && setup->disturb > 0; k++) {
        double noise = size * (2 * base_random_uniform(&r) - 1);
        x[k] = x[k] == 0 ? noise : x[k] * (1 + noise);
    }
}

attsvm_status experiments_trained(const attsvm_train *train, const char *name, double *out,
                                  int64_t count, attsvm_error *err)
{
    const attsvm_array *array = attsvm_train_find(train, name);
    int64_t have = array ? attsvm_array_count(array) : 0;
    if (have != count)
        return fail(err, ATTSVM_E_DATA, "the run has %" PRId64 " values %s, not %" PRId64, have,
                    name, count);
    for (int64_t k = 0; k < count; k++)
        out[k] = attsvm_array_get(array, k);
    return ATTSVM_OK;
}

attsvm_status experiments_solve(const attsvm_data *data, const attsvm_svm_settings *settings,
                                const int64_t *alpha, double *theta, int64_t count,
                                attsvm_svm_info *info, attsvm_error *err)
{
    attsvm_problem *problem = NULL;
    attsvm_solution *solution = NULL;
    attsvm_selection selection = { .alpha = alpha };
    TRY(attsvm_svm_terms(data, settings, &selection.terms, err));
    attsvm_status status = attsvm_problem_create(&problem, data, &selection, settings, err);
    if (status == ATTSVM_OK)
        status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, err);
    if (status == ATTSVM_OK) {
        attsvm_claim claim = attsvm_solution_claim(solution);
        if (info)
            *info = attsvm_solution_describe(solution);
        if (claim.theta_count != count)
            status = fail(err, ATTSVM_E_ARG, "theta has %" PRId64 " entries, not %" PRId64,
                          claim.theta_count, count);
        else
            memcpy(theta, claim.theta, (size_t)count * sizeof *theta);
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return status;
}

int64_t experiments_log_records(int64_t steps)
{
    int64_t count = 1; /* the start */
    for (int64_t iter = 1; iter <= steps; iter++)
        count += iter == steps || train_trace_wanted(&(train_trace){ .every = -1 }, iter);
    return count;
}
