/* Samples of the terms of a large problem, which grow until all terms have been read. */
#include "svm/set/sample.h"

#include <math.h>

/*
 * Samples `share` of the terms, in about RUNS runs of consecutive terms for any sample size: a disk
 * reads long runs at full speed, and many runs cover all parts of the data.
 */
static void set_share(svm_pass_settings *settings, const svm_rows *rows, double share)
{
    enum { RUNS = 16, LONGEST = 1 << 24 };
    const attsvm_data *data = rows->data;
    double terms = (double)rows->terms.count;
    double bytes = (double)data->tokens * (double)data_row_bytes(data);
    settings->share = share < 1 ? (uint64_t)(share * 0x1p64) : UINT64_MAX;
    settings->run_bits = 0;
    for (double most = fmin(share / RUNS, LONGEST / bytes) * terms; most >= 2; most /= 2)
        settings->run_bits++;
}

bool svm_sample_start(svm_pass_settings *settings, const svm_rows *rows)
{
    double terms = (double)rows->terms.count, share = 1;
    if (rows->problem != ATTSVM_PROBLEM_FINITE && !rows->matrix && terms > 2000)
        share = fmax(0.02, 2.0 * (double)rows->d / terms);
    bool large = share < 0.5;
    set_share(settings, rows, large ? share : 1);
    return large;
}

bool svm_sample_is_whole(const svm_pass_settings *settings)
{
    return settings->share == UINT64_MAX && isinf(settings->slack_below) && !settings->unread_only;
}

void svm_sample_all(svm_pass_settings *settings)
{
    settings->share = UINT64_MAX;
    settings->slack_below = INFINITY;
    settings->unread_only = false;
}

void svm_sample_near(svm_pass_settings *settings, const svm_find *find)
{
    settings->slack_below = svm_skip_quantile(find, 0.1);
}

/* A soft problem has too many rows at their bound to search only new terms: it solves every sample.
 */
void svm_sample_grow(svm_pass_settings *settings, const svm_find *find)
{
    if (settings->unread_only && settings->share == UINT64_MAX) {
        settings->unread_only = false;
        svm_sample_near(settings, find);
        return;
    }
    settings->unread_only = !settings->soft;
    set_share(settings, find->rows,
              (double)settings->share * 0x1p-64 * (settings->unread_only ? 4 : 8));
}

void svm_sample_widen(svm_pass_settings *settings, const svm_find *find)
{
    if (isfinite(settings->slack_below))
        settings->slack_below = INFINITY;
    else
        svm_sample_grow(settings, find);
}
