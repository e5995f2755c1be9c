/*
 * Sums with an exponent, so that nothing underflows: numbers, vectors, the sums of a block of
 * sequences, and totals over all blocks and ranks.
 */
#include "model/model.h"

#include <math.h>

/* --------------------------------------------------------------------- numbers */

model_scaled model_scaled_of(double value)
{
    return (model_scaled){ value, 0 };
}

double model_scaled_log(model_scaled a)
{
    return a.value == 0 ? -INFINITY : base_log(fabs(a.value)) + a.log;
}

double model_scaled_value(model_scaled a)
{
    return a.value == 0 ? 0 : a.value * base_exp(a.log);
}

/* The result has the exponent of the larger summand. */
model_scaled model_scaled_add(model_scaled a, model_scaled b)
{
    if (b.value == 0)
        return a;
    if (a.value == 0)
        return b;
    if (model_scaled_log(a) < model_scaled_log(b)) {
        model_scaled kept = a;
        a = b;
        b = kept;
    }
    a.value += a.log == b.log ? b.value : b.value * base_exp(b.log - a.log);
    return a;
}

/* --------------------------------------------------------------------- vectors */

/* A sum is rescaled when it exceeds its exponent by this many e-folds. */
static const double headroom = 200;

void model_sum_rescale(double *sum, int64_t count, double *sum_log, double log)
{
    if (log > *sum_log + headroom) {
        double factor = base_exp(*sum_log - log);
        for (int64_t j = 0; j < count; j++)
            sum[j] *= factor;
        *sum_log = log;
    }
}

double model_sum_weight(double *sum, int64_t count, double *sum_log, double log)
{
    model_sum_rescale(sum, count, sum_log, log);
    return log == -INFINITY ? 0 : base_exp(log - *sum_log);
}

/* ------------------------------------------------------------ numbers of a term */

static model_scaled add_unless_nan(model_scaled a, model_scaled b)
{
    if (isnan(a.value) || isnan(b.value))
        return model_scaled_of(NAN);
    return model_scaled_add(a, b);
}

static model_sums add_sums(const model_sums *a, const model_sums *b)
{
    return (model_sums){ .terms = a->terms + b->terms,
                         .loss = a->loss + b->loss,
                         .limit = a->limit + b->limit,
                         .best = a->best + b->best,
                         .attention = a->attention + b->attention,
                         .entropy = a->entropy + b->entropy,
                         .effective = a->effective + b->effective,
                         .accuracy = a->accuracy + b->accuracy,
                         .attention_min = fmin(a->attention_min, b->attention_min),
                         .gap = fmin(a->gap, b->gap),
                         .beyond = fmin(a->beyond, b->beyond),
                         .excess = add_unless_nan(a->excess, b->excess),
                         .small = model_scaled_add(a->small, b->small) };
}

void model_add_sums(const model *m, int64_t i, model_sums *sums)
{
    const model_loss *loss = &m->loss;
    int64_t first = data_terms_first(&m->query, i);
    for (int64_t t = first; t < first + data_terms_queries(&m->query, i); t++) {
        model_sums one = {
            .terms = 1,
            .loss = loss->value(loss, m->output[t]),
            .limit = m->loss_limit[t],
            .best = m->loss_limit[t] - m->loss_best[t],
            .attention = m->attention[t],
            .entropy = m->entropy[t],
            .effective = base_exp(m->entropy[t]),
            /* next-token prediction is correct if the label is selected, whose limit is 0 */
            .accuracy = loss->takes_log ? m->loss_limit[t] == 0 : m->output[t] > 0,
            .attention_min = m->attention[t],
            .gap = m->gap[t],
            .beyond = isnan(m->gap[t]) ? (double)t : INFINITY,
            .excess = m->loss_excess[t]
        };
        if (loss->magnitude)
            one.small = loss->magnitude(loss, m->output[t]);
        *sums = add_sums(sums, &one);
    }
}

/* ---------------------------------------------------------------------- blocks */

void model_partial_add(const model *m, model_partial *a, const model_partial *b)
{
    dist_scaled sum = { a->attention, m->map_size, a->attention_log };
    dist_scaled_add(&sum, &(dist_scaled){ b->attention, m->map_size, b->attention_log });
    a->attention_log = sum.log;
    if (m->trains_v) {
        sum = (dist_scaled){ a->v, m->head.size, a->v_log };
        dist_scaled_add(&sum, &(dist_scaled){ b->v, m->head.size, b->v_log });
        a->v_log = sum.log;
    }
    a->sums = add_sums(&a->sums, &b->sums);
}

int model_tree_levels(int64_t blocks, int64_t slots)
{
    int levels = 0;
    for (; blocks > slots; blocks -= blocks / 2)
        levels++;
    return levels;
}

/* ------------------------------------------------------------------- all ranks */

/* Ranks lo..hi-1 by halves, as their blocks are. */
static model_sums add_ranks(const model_sums *all, int lo, int hi)
{
    if (hi - lo == 1)
        return all[lo];
    int middle = lo + (hi - lo) / 2;
    model_sums a = add_ranks(all, lo, middle), b = add_ranks(all, middle, hi);
    return add_sums(&a, &b);
}

static model_sums collect(model *m)
{
    dist_comm *comm = m->comm;
    m->rank_sums[dist_rank(comm)] = m->total->sums;
    dist_gather(comm, m->rank_sums, sizeof *m->rank_sums, m->rank_number);
    return add_ranks(m->rank_sums, 0, dist_size(comm));
}

model_value model_collect_value(model *m)
{
    model_sums sums = collect(m);
    const double terms = sums.terms;
    model_value v = { .loss = sums.loss / terms,
                      .limit = sums.limit / terms,
                      .excess = { sums.excess.value / terms, sums.excess.log },
                      .attention_min = sums.attention_min,
                      .attention_mean = sums.attention / terms,
                      .entropy = sums.entropy / terms,
                      .effective_tokens = sums.effective / terms,
                      .accuracy = sums.accuracy / terms,
                      .gap = sums.gap,
                      .beyond = isinf(sums.beyond) ? -1 : (int64_t)sums.beyond };
    double best = sums.best / terms;
    /* L - L* = (L - L*(alpha)) + (L*(alpha) - L*): the second is exactly 0 if alpha is optimal */
    bool best_known = m->scores && !m->loss.takes_log;
    if (best_known && isnan(v.excess.value))
        v.over_best = model_scaled_of(v.loss - v.limit + best);
    else if (best_known)
        v.over_best = model_scaled_add(v.excess, model_scaled_of(best));
    else
        v.over_best =
            (model_scaled){ m->loss.magnitude ? sums.small.value / terms : NAN, sums.small.log };
    return v;
}

void model_gather_selected(model *m)
{
    dist_gather(m->comm, m->selected, sizeof *m->selected, m->rank_term);
}
