/* Prediction heads: what describes them in a data set, and h(x); the only place that computes it.
 */
#include "data/data.h"

#include <stdlib.h>

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

double data_head_with(const data_head *head, const double *v, const double *x)
{
    if (head->kind == ATTSVM_HEAD_RELU) {
        double value = 0;
        for (int64_t k = 0; k < head->width; k++) {
            double u = la_dot(head->V + k * head->d, x, head->d);
            value += u > 0 ? v[k] * u : 0;
        }
        return value;
    }
    double value = la_dot(v, x, head->d);
    if (head->kind == ATTSVM_HEAD_CONCAVE)
        value -= head->kappa * la_dot(x, x, head->d);
    return value;
}

double data_head_value(const data_head *head, const double *x)
{
    return data_head_with(head, head->v, x);
}
