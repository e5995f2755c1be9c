/* Which terms a pass reads: those of its sample that may be violated, or close to it. */
#include "svm/svm.h"

#include <math.h>

bool svm_pricing_sampled(const svm_pass_settings *settings, int64_t term)
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
 * What the slack of a term may have become: a step of theta moves a row by its length times that of
 * the step at most (rate 1), and by that over sqrt(size) as a rule (`spread`).
 */
static double slack_now(const svm_pricing *pricing, int64_t g, double rate)
{
    double moved = pricing->travelled - pricing->when[g];
    return pricing->slack[g] - rate * pricing->bound[g] * moved;
}

double svm_pricing_quantile(const svm_pricing *pricing, double share)
{
    /* counted by halves of powers of two: slack below 2^-12, 2^-11.5, ... */
    enum { BINS = 48, LOWEST = -24 };
    double counts[BINS] = { 0 }, all = 0, sum = 0;
    for (int64_t g = pricing->lo; g < pricing->hi; g++) {
        int exponent, half = LOWEST;
        if (pricing->when[g] < 0)
            continue;
        double slack = slack_now(pricing, g, pricing->spread);
        if (slack > 0)
            half = (frexp(slack, &exponent) > M_SQRT1_2) + 2 * exponent - 1;
        int bin = half - LOWEST;
        counts[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
    }
    dist_sum(pricing->rows->data->comm, counts, BINS);
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

bool svm_pricing_wants(const svm_pricing *pricing, const svm_pass_settings *settings, int64_t g)
{
    bool fresh = pricing->when[g] < 0;
    if (!svm_pricing_sampled(settings, g) || (settings->fresh && !fresh) ||
        (isfinite(settings->near) && slack_now(pricing, g, pricing->spread) > settings->near))
        return false;
    /* certainly neither violated nor tight at the present theta: nothing to see */
    return settings->all || fresh || slack_now(pricing, g, 1) <= 2 * SVM_NEAR;
}
