/* Measures the state of a run, and checks that it is within the range of doubles. */
#include "train/train.h"

#include <math.h>
#include <string.h>

double train_seconds(const attsvm_train *t)
{
    return t->earlier_seconds + base_seconds() - t->start;
}

/* The array of entry `at` of the parameter vector; *at becomes the index within it. */
static const char *name_entry(const attsvm_train *t, int64_t *at)
{
    const model_parameter *block = t->m->parameter;
    while (*at >= block->offset + block->count)
        block++;
    *at -= block->offset;
    return block->name;
}

/* Before the first step only the data and the start values can be too large. */
static const char *remedy(const attsvm_train *t)
{
    return t->iter > 0 ? "use a smaller step size or fewer steps, or scale the tokens down"
                       : "scale tokens, queries, the head or start values down";
}

/* Infinite or NaN parameters stay so, and a gradient with such entries cannot move them. */
attsvm_status train_check_range(const attsvm_train *t, attsvm_error *err)
{
    int64_t at = la_active()->first_nonfinite(ATTSVM_F64, t->theta, t->m->size);
    if (at >= 0) {
        double value = t->theta[at];
        const char *name = name_entry(t, &at);
        return fail(err, ATTSVM_E_NUMERIC,
                    "after %" PRId64 " step%s entry %" PRId64
                    " of %s is %g: the run has left the range of doubles; use a step size below lr "
                    "= %g or fewer steps, or scale the tokens down",
                    t->iter, base_plural(t->iter), at, name, value, t->settings.lr);
    }
    at = la_active()->first_nonfinite(ATTSVM_F64, t->gradient, t->m->size);
    if (at < 0)
        return ATTSVM_OK;
    double value = t->gradient[at];
    const char *name = name_entry(t, &at);
    return fail(err, ATTSVM_E_NUMERIC,
                "after %" PRId64 " step%s entry %" PRId64
                " of the gradient of %s is %g, beyond the "
                "range of doubles; %s",
                t->iter, base_plural(t->iter), at, name, isnan(value) ? NAN : value, remedy(t));
}

/*
 * Fills t->info for the current state, whose full gradient was the last evaluation.  Logits beyond
 * the range of doubles make the gradient zero: training would stop moving without an error.
 */
attsvm_status train_measure(attsvm_train *t, attsvm_error *err)
{
    model *m = t->m;
    model_value v;
    attsvm_train_info *info = &t->info;
    model_evaluate(m, t->theta, NULL, 0, NULL, &v);
    info->iters = t->iter;
    info->terms = m->terms;
    info->seconds = train_seconds(t);
    info->loss = v.loss;
    info->loss_limit = v.limit;
    info->loss_excess = isnan(v.excess.value) ? NAN : model_scaled_value(v.excess);
    info->log_excess = v.excess.value > 0 ? model_scaled_log(v.excess) : NAN;
    info->norm = model_norm(m, t->theta);
    info->grad_log_scale = model_gradient_log(m, t->theta);
    info->softmax_min = v.attention_min;
    info->softmax_mean = v.attention_mean;
    info->entropy = v.entropy;
    info->effective_tokens = v.effective_tokens;
    info->accuracy = v.accuracy;
    info->margin = v.gap;
    info->nuclear = info->effective_rank = NAN;
    info->direction_change = t->direction_change;
    info->textbook_angle = t->textbook ? t->textbook_angle : NAN;
    info->wrong_norm = t->textbook_wrong >= 0 ? t->textbook_wrong_norm : NAN;
    info->wrong_step = t->textbook_wrong;
    if (v.beyond < 0)
        return ATTSVM_OK;
    TRY(train_check_range(t, err));
    int64_t i, q;
    data_terms_find(&m->query, v.beyond, &i, &q);
    return fail(err, ATTSVM_E_NUMERIC,
                "after %" PRId64 " step%s the logits of sequence %" PRId64 " (query %" PRId64
                ") leave the range of doubles; %s",
                t->iter, base_plural(t->iter), i, q, remedy(t));
}

/*
 * Nuclear norm and exp of the entropy of the singular values, at records and at the end: about 3
 * d^3 operations, too slow for progress reports.
 */
attsvm_status train_measure_rank(attsvm_train *t, attsvm_error *err)
{
    const int64_t d = t->m->d;
    if (!model_has_matrix(t->m))
        return ATTSVM_OK;
    double *sigma = t->matrix + d * d, sum = 0, entropy = 0;
    memcpy(t->matrix, model_matrix(t->m, t->theta), (size_t)(d * d) * sizeof *t->matrix);
    TRY(la_singular_values(d, d, t->matrix, d, sigma, err));
    for (int64_t j = 0; j < d; j++)
        sum += sigma[j];
    for (int64_t j = 0; j < d && sum > 0; j++)
        entropy -= sigma[j] > 0 ? sigma[j] / sum * base_log(sigma[j] / sum) : 0;
    t->info.nuclear = sum;
    t->info.effective_rank = sum > 0 ? base_exp(entropy) : 0;
    return ATTSVM_OK;
}

void train_follow_direction(attsvm_train *t)
{
    const double *map = model_logit_map(t->m, t->theta);
    const int64_t size = t->m->map_size;
    double norm = train_norm(map, size), square = 0;
    if (!(norm > 0))
        return;
    for (int64_t j = 0; j < size; j++) {
        double now = map[j] / norm, moved = now - t->direction[j];
        square += moved * moved;
        t->direction[j] = now;
    }
    if (t->has_direction)
        t->direction_change = sqrt(square);
    t->has_direction = true;
}
