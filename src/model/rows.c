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
