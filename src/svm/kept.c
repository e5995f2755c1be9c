/* Which sequences stay in memory where tokens stream: as many as there is room for, by slack. */
#include "svm/svm.h"

#include <math.h>

/* Bytes of the tokens of this rank. */
static double own_bytes(const attsvm_data *data)
{
    int64_t lo, hi;
    data_own(data, &lo, &hi);
    double tokens = (double)(data_first(data, hi) - data_first(data, lo));
    return tokens * (double)data_row_bytes(data);
}

/*
 * Half of the memory that tokens may stay in, less what the rows of the working set take: these are
 * doubles with their rounding errors, and about twice as many as may join at a time.  But no more
 * than a thirty-second of the tokens: hardly more are wanted again, and fresh memory takes time.
 */
static int64_t room(const svm_rows *rows)
{
    const int64_t entry = 2 * sizeof(double);
    int64_t most = (int64_t)(own_bytes(rows->data) / 32);
    int64_t left = rows->data->allowed / 2 - 2 * svm_most_rows(rows) * rows->d * entry;
    return left < most ? left : most;
}

attsvm_status svm_kept_open(svm_run *run, attsvm_error *err)
{
    attsvm_problem *problem = run->problem;
    int64_t bytes = room(run->rows);
    if (!problem->data->streams || !run->sampling || bytes <= 0)
        return ATTSVM_OK;
    TRY(data_kept_open(&run->kept, problem->data, bytes, err));
    run->view = *problem->data;
    run->view.kept = &run->kept;
    problem->rows.data = problem->rows.terms.data = &run->view;
    run->pricing.keep = INFINITY; /* the first sample, as far as there is room */
    return ATTSVM_OK;
}

void svm_kept_close(svm_run *run)
{
    attsvm_problem *problem = run->problem;
    problem->rows.data = problem->rows.terms.data = problem->data;
    data_kept_close(&run->kept);
}

/* Sequences are terms: only problems without queries are sampled. */
static bool is_close(const void *context, int64_t i)
{
    const svm_pricing *pricing = context;
    return pricing->slack[i] <= pricing->keep;
}

void svm_kept_choose(svm_run *run)
{
    svm_pricing *pricing = &run->pricing;
    const attsvm_data *data = run->rows->data;
    if (!data->kept)
        return;
    double share = (double)data->kept->size / own_bytes(data);
    pricing->keep = svm_pricing_quantile(pricing, share, false, NULL);
    data_keep_only(data->kept, is_close, pricing);
}
