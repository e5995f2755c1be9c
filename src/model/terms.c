/* Which terms there are: sequences, queries, masks, labels. */
#include "model/model.h"

la_rows model_rows_of(const attsvm_data *data, const la_rows *keys, int64_t i)
{
    int64_t first = data_first(data, i);
    la_rows rows = *keys;
    rows.count = data_first(data, i + 1) - first;
    if (data->index)
        rows.index = data->index + first;
    else
        rows.base = (const char *)keys->base +
                    (size_t)first * (size_t)keys->d * attsvm_dtype_size(keys->dtype);
    return rows;
}

int64_t model_queries(const model *m, int64_t i)
{
    switch (m->query) {
    case MODEL_PROMPT:
    case MODEL_TOKEN: return 1;
    case MODEL_GIVEN: return m->data->queries;
    case MODEL_ALL:
    case MODEL_CAUSAL: break;
    }
    return data_length(m->data, i);
}

int64_t model_first_term(const model *m, int64_t i)
{
    switch (m->query) {
    case MODEL_PROMPT:
    case MODEL_TOKEN: return i;
    case MODEL_GIVEN: return i * m->data->queries;
    case MODEL_ALL:
    case MODEL_CAUSAL: break;
    }
    return data_first(m->data, i);
}

int64_t model_visible(const model *m, int64_t i, int64_t query)
{
    return m->query == MODEL_CAUSAL ? query + 1 : data_length(m->data, i);
}

/* One label per term, or one per sequence. */
int model_label(const model *m, int64_t i, int64_t query)
{
    const attsvm_data *data = m->data;
    return data->labels == m->terms ? data->Y[model_first_term(m, i) + query] : data->Y[i];
}

void model_query_vector(const model *m, int64_t i, int64_t query, double *z)
{
    const attsvm_data *data = m->data;
    if (m->query == MODEL_GIVEN) {
        const attsvm_array *Z = attsvm_data_array(data, "Z");
        la_rows rows = { Z->data, NULL, m->terms, data->d, Z->dtype };
        la_row(&rows, i * data->queries + query, z);
        return;
    }
    la_rows rows = data_sequence(data, i);
    la_row(&rows, m->query == MODEL_TOKEN ? m->query_token : query, z);
}
