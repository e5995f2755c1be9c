/* Prediction heads on single tokens, and the selections that follow from their scores. */
#include "data/data.h"

#include <stdlib.h>
#include <string.h>

bool data_head_exists(const attsvm_data *data, int32_t kind)
{
    return attsvm_data_array(data, kind == ATTSVM_HEAD_RELU ? "V" : "v") != NULL;
}

static attsvm_status read_relu(data_head *head, const attsvm_data *data, attsvm_error *err)
{
    const attsvm_array *V = attsvm_data_array(data, "V");
    if (!V || V->ndim != 2)
        return fail(err, ATTSVM_E_DATA, "the ReLU head needs its first layer V (h,%" PRId64 ")",
                    data->d);
    head->width = V->shape[0];
    TRY(data_doubles(data, "V", (int64_t[]){ head->width, data->d }, 2, &head->V, err));
    if (attsvm_data_array(data, "v"))
        return data_doubles(data, "v", &head->width, 1, &head->v, err);
    TRY(base_allocate(&head->v, (size_t)head->width, sizeof *head->v, "v", err));
    for (int64_t k = 0; k < head->width; k++)
        head->v[k] = 1;
    return ATTSVM_OK;
}

attsvm_status data_head_create(data_head *out, const attsvm_data *data, int32_t kind, double kappa,
                               attsvm_error *err)
{
    *out = (data_head){ .kind = kind, .kappa = kappa, .d = data->d };
    attsvm_status status = kind == ATTSVM_HEAD_RELU
                               ? read_relu(out, data, err)
                               : data_doubles(data, "v", &data->d, 1, &out->v, err);
    if (status != ATTSVM_OK)
        data_head_free(out);
    return status;
}

void data_head_free(data_head *head)
{
    free(head->v);
    free(head->V);
    head->v = head->V = NULL;
}

double data_head_value(const data_head *head, const double *x)
{
    if (head->kind == ATTSVM_HEAD_RELU) {
        double value = 0;
        for (int64_t k = 0; k < head->width; k++) {
            double u = la_dot(head->V + k * head->d, x, head->d);
            value += u > 0 ? head->v[k] * u : 0;
        }
        return value;
    }
    double value = la_dot(head->v, x, head->d);
    if (head->kind == ATTSVM_HEAD_CONCAVE)
        value -= head->kappa * la_dot(x, x, head->d);
    return value;
}

/* First index of the largest sign * score[t], t < count; *tied when another one equals it. */
static int64_t best_token(const double *score, int64_t count, int sign, bool *tied)
{
    int64_t best = 0;
    *tied = false;
    for (int64_t t = 1; t < count; t++) {
        double gain = sign * score[t] - sign * score[best];
        if (gain > 0) {
            best = t;
            *tied = false;
        } else if (gain == 0) {
            *tied = true;
        }
    }
    return best;
}

/* Every rank has the terms of its sequences; afterwards all have all. */
static attsvm_status gather_selection(const data_terms *terms, int64_t *alpha, int64_t *ties,
                                      attsvm_error *err)
{
    dist_comm *comm = terms->data->comm;
    double sum = (double)*ties;
    int64_t *first;
    TRY(base_allocate(&first, (size_t)dist_size(comm) + 1, sizeof *first, "shares", err));
    for (int r = 0; r <= dist_size(comm); r++)
        first[r] = data_terms_first(terms, terms->data->share[r]);
    dist_gather(comm, alpha, sizeof *alpha, first);
    dist_sum(comm, &sum, 1);
    *ties = (int64_t)sum;
    free(first);
    return ATTSVM_OK;
}

attsvm_status data_select_optimal(const data_terms *terms, const data_head *head, int64_t *alpha,
                                  int64_t *ties, attsvm_error *err)
{
    const attsvm_data *data = terms->data;
    int64_t tied_terms = 0, d = data->d;
    if (!data->Y)
        return fail(err, ATTSVM_E_DATA, "scores need labels Y, and the data set has none");
    double *score;
    TRY(base_allocate(&score, (size_t)(data->T_max + d), sizeof *score, "scores", err));
    double *x = score + data->T_max;
    attsvm_status status = ATTSVM_OK;
    int64_t lo, hi;
    data_own(data, &lo, &hi);
    int64_t given = lo;
    for (int64_t i = lo; i < hi && status == ATTSVM_OK; i++) {
        la_rows rows = data_sequence(data, i);
        for (int64_t t = 0; t < rows.count; t++) {
            la_row(&rows, t, x);
            score[t] = data_head_value(head, x);
        }
        for (int64_t q = 0; q < data_terms_queries(terms, i) && status == ATTSVM_OK; q++) {
            bool tied;
            int label = data_terms_label(terms, i, q);
            if (label == 0)
                status = fail(err, ATTSVM_E_DATA,
                              "Y has %" PRId64 " labels for %" PRId64 " sequences with %" PRId64
                              " queries",
                              data->labels, data->n, terms->count);
            alpha[data_terms_first(terms, i) + q] =
                best_token(score, data_terms_visible(terms, i, q), label, &tied);
            tied_terms += tied;
        }
        data_passed(data, i, &given);
    }
    free(score);
    if (data->comm) {
        TRY(dist_agree(data->comm, status, err));
        status = gather_selection(terms, alpha, &tied_terms, err);
    }
    if (ties)
        *ties = tied_terms;
    return status;
}

bool data_same_key(const attsvm_data *data, const double *W, int64_t i, int64_t a, int64_t t)
{
    la_rows rows = data_sequence(data, i);
    int64_t d = data->d, row_a = rows.index ? rows.index[a] : a;
    int64_t row_t = rows.index ? rows.index[t] : t;
    attsvm_array X = { rows.base, { (row_a > row_t ? row_a : row_t) + 1, d }, 2, data->dtype };
    if (row_a == row_t)
        return true;
    if (!W) {
        for (int64_t j = 0; j < d; j++)
            if (attsvm_array_get(&X, row_a * d + j) != attsvm_array_get(&X, row_t * d + j))
                return false;
        return true;
    }
    for (int64_t k = 0; k < d; k++) {
        dd key = base_dd(0);
        for (int64_t j = 0; j < d; j++) {
            dd delta = base_dd_sum(attsvm_array_get(&X, row_a * d + j),
                                   -attsvm_array_get(&X, row_t * d + j));
            key = base_dd_add(key, base_dd_mul(base_dd(W[k * d + j]), delta));
        }
        if (key.hi != 0 || key.lo != 0)
            return false;
    }
    return true;
}
