/* Labels of next-token prediction: for each context one of its words. */
#include "data/data.h"

#include <stdlib.h>

static attsvm_status check_next(const attsvm_data *data, const attsvm_array *labels, int32_t *out,
                                attsvm_error *err)
{
    for (int64_t i = 0; i < data->n; i++) {
        int64_t word;
        TRY(data_integer(labels, "labels", i, &word, err));
        if (word < 0 || word >= data->vocabulary)
            return fail(err, ATTSVM_E_DATA,
                        "labels[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64 ", the rows of E",
                        i, word, data->vocabulary - 1);
        int64_t t = data_first(data, i), end = data_first(data, i + 1);
        while (t < end && data->index[t] != word)
            t++;
        if (t == end)
            return fail(err, ATTSVM_E_DATA,
                        "labels[%" PRId64 "] = %" PRId64 " is not among the %" PRId64
                        " token%s of sequence %" PRId64
                        "; attention can only predict words of its context",
                        i, word, data_length(data, i), base_plural(data_length(data, i)), i);
        out[i] = (int32_t)word;
    }
    return ATTSVM_OK;
}

attsvm_status data_next_words(const attsvm_data *data, int32_t **out, attsvm_error *err)
{
    const attsvm_array *labels = attsvm_data_array(data, "labels");
    int32_t *next;
    *out = NULL;
    if (!data->vocabulary)
        return fail(err, ATTSVM_E_DATA,
                    "next-token prediction needs a vocabulary: E (V,d) with tokens (N) and offsets "
                    "(n+1), instead of X");
    if (!labels)
        return fail(err, ATTSVM_E_DATA,
                    "Missing array labels (n): for each context the row of E that follows it.");
    if (labels->ndim != 1 || labels->shape[0] != data->n) {
        char shape[160];
        attsvm_array_shape_text(labels, shape, sizeof shape);
        return fail(err, ATTSVM_E_DATA, "labels has shape %s; expected (%" PRId64 ",)", shape,
                    data->n);
    }
    TRY(base_allocate(&next, (size_t)data->n, sizeof *next, "labels", err));
    attsvm_status status = check_next(data, labels, next, err);
    if (status != ATTSVM_OK) {
        free(next);
        return status;
    }
    *out = next;
    return ATTSVM_OK;
}
