/* Which terms a pass reads: those of its sample that may be violated or close to it. */
#include "svm/set/find.h"

#include <math.h>

static bool is_sampled(const svm_pass_settings *settings, int64_t term)
{
    if (settings->share == UINT64_MAX)
        return true;
    uint64_t run = (uint64_t)term >> settings->run_bits;
    uint64_t h = run + settings->seed * 0x9e3779b97f4a7c15u + 0x9e3779b97f4a7c15u;
    h = (h ^ h >> 30) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 27) * 0x94d049bb133111ebu;
    return (h ^ h >> 31) <= settings->share;
}

/*
 * A bound or estimate of the current slack of a term: a step of theta changes a row by at most its
 * length times that of the step (rate 1), and typically by that over sqrt(size) (`likely_rate`).
 */
static double slack_now(const svm_find *find, int64_t g, double rate)
{
    /* a sum of steps hides those that are short beside it */
    double hidden = 0x1p-50 * find->path_length;
    double moved = find->path_length - find->path_at_read[g] + hidden;
    return find->slack[g] - rate * find->bound[g] * moved;
}

double svm_skip_quantile(const svm_find *find, double share)
{
    /* histogram over half powers of two: slack below 2^-12, 2^-11.5, ... */
    enum { BINS = 48, LOWEST = -24 };
    double counts[BINS] = { 0 }, all = 0, sum = 0;
    for (int64_t g = find->lo; g < find->hi; g++) {
        int exponent, half = LOWEST;
        if (find->path_at_read[g] < 0)
            continue;
        double slack = slack_now(find, g, find->likely_rate);
        if (slack > 0)
            half = (frexp(slack, &exponent) > M_SQRT1_2) + 2 * exponent - 1;
        int bin = half - LOWEST;
        counts[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
    }
    dist_sum(find->rows->data->comm, counts, BINS);
    for (int bin = 0; bin < BINS; bin++)
        all += counts[bin];
    int bin = 0;
    for (; bin < BINS - 1; bin++) {
        sum += counts[bin];
        if (sum + counts[bin + 1] > share * all)
            break;
    }
    return base_pow(2, 0.5 * (bin + LOWEST));
}

bool svm_skip_needs_read(const svm_find *find, const svm_pass_settings *settings, int64_t g)
{
    bool fresh = find->path_at_read[g] < 0;
    if (!is_sampled(settings, g) || (settings->unread_only && !fresh) ||
        (isfinite(settings->slack_below) &&
         slack_now(find, g, find->likely_rate) > settings->slack_below))
        return false;
    /* certainly neither violated nor tight at the current theta: skip */
    return settings->read_everything || fresh || !(slack_now(find, g, 1) > 2 * SVM_NEAR);
}

/* Whether a term of a v problem needs only one of many tokens. */
static bool is_token(const svm_rows *rows, const svm_term *term)
{
    const int64_t few = 1 << 14; /* bytes that take no longer to read than one row */
    return rows->problem == ATTSVM_PROBLEM_V && term->visible * data_row_bytes(rows->data) > few;
}

static int64_t needs(const void *context, int64_t g)
{
    const svm_skip *walk = context;
    const svm_rows *rows = walk->find->rows;
    if (!svm_skip_needs_read(walk->find, walk->settings, g))
        return DATA_NOTHING;
    svm_term term = svm_rows_term(rows, g);
    return is_token(rows, &term) ? term.base : DATA_ALL;
}

data_reader svm_skip_reader(const svm_skip *walk, int64_t lo, int64_t end)
{
    data_reader reader = data_reader_terms(&walk->find->rows->terms, lo, end);
    reader.needs = needs;
    reader.context = walk;
    return reader;
}

void svm_skip_walk(svm_find *find, const svm_pass_settings *settings, int64_t blocks,
                   base_block_body *body, void *context)
{
    const attsvm_data *data = find->rows->data;
    bool most = settings->share == UINT64_MAX && isinf(settings->slack_below);
    data_reader_order(data, most ? DATA_IN_ORDER : DATA_IN_RUNS);
    const double start = base_seconds();
    base_parallel(find->threads, blocks, body, context);
    find->seconds += base_seconds() - start;
    data_reader_order(data, DATA_IN_ORDER);
}
