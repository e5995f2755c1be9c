/* Borrowed views: sequences as rows, runs of sequences, single values. */
#include "data/data.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

la_rows data_sequence(const attsvm_data *data, int64_t i)
{
    int64_t first = data_first(data, i);
    la_rows rows = { data->X, NULL, data_first(data, i + 1) - first, data->d, data->dtype };
    if (data->index)
        rows.index = data->index + first;
    else
        rows.base = (const char *)data->X + (size_t)(first * data_row_bytes(data));
    return rows;
}

int64_t data_block_first(const attsvm_data *data, int64_t blocks, int64_t b)
{
    int64_t token, next, low = 0, high = data->n;
    if (b == blocks)
        return data->n;
    base_block(data->tokens, blocks, b, &token, &next);
    while (low < high) { /* the lowest sequence that begins at `token` or later */
        int64_t middle = low + (high - low) / 2;
        if (data_first(data, middle) < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void data_blocks(const attsvm_data *data, int64_t blocks, int64_t *first)
{
    for (int64_t b = 0; b <= blocks; b++)
        first[b] = data_block_first(data, blocks, b);
}

void data_view_open(data_view *view, const attsvm_data *data, int64_t n, bool key_map)
{
    assert(n == data->n || !data->comm);
    view->data = *data;
    if (n < data->n) {
        view->data.n = n;
        view->data.tokens = data_first(data, n);
        if (data->labels == data->n)
            view->data.labels = n;
        else if (data->labels == data->tokens)
            view->data.labels = view->data.tokens;
        else if (data->labels > 0)
            view->data.labels = n * data->queries;
        view->data.positive = 0;
        for (int64_t k = 0; k < view->data.labels; k++)
            view->data.positive += data->Y[k] > 0;
    }
    view->data.arrays = view->arrays;
    view->data.count = 0;
    for (int64_t k = 0; k < data->count; k++)
        if (key_map || strcmp(data->arrays[k].name, "W") != 0)
            view->arrays[view->data.count++] = data->arrays[k];
}

/* A head has d entries, or one for each row of V. */
static attsvm_status check_head(const attsvm_data *data, const double *v, int64_t count,
                                attsvm_error *err)
{
    const attsvm_array *V = attsvm_data_array(data, "V");
    const int64_t rows = V && V->ndim == 2 ? V->shape[0] : data->d;
    if (count != data->d && count != rows)
        return fail(err, ATTSVM_E_ARG, "count = %" PRId64 " entries of v; expected %" PRId64, count,
                    rows);
    return base_check_finite(v, count, "v", err);
}

attsvm_status attsvm_data_with_head(attsvm_data **out, const attsvm_data *data, const double *v,
                                    int64_t count, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    NEED(v);
    TRY(check_head(data, v, count, err));
    attsvm_data *own;
    TRY(base_allocate(&own, 1, sizeof *own, "data set", err));
    *own = *data;
    own->headless = data->headless ? data->headless : data;
    own->memory = own->owner = own->share = NULL;
    own->release = NULL;
    own->arrays = NULL;
    double *head = NULL;
    attsvm_status status =
        base_allocate(&own->arrays, (size_t)data->count + 1, sizeof *own->arrays, "arrays", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&head, (size_t)count + 1, sizeof *head, "head", err);
    own->memory = head;
    if (status == ATTSVM_OK && data->comm) { /* the view keeps the shares of the ranks */
        size_t ranks = (size_t)dist_size(data->comm) + 1;
        status = base_allocate(&own->share, ranks, sizeof *own->share, "shares", err);
        if (status == ATTSVM_OK)
            memcpy(own->share, data->share, ranks * sizeof *own->share);
    }
    if (status != ATTSVM_OK) {
        attsvm_data_free(own);
        return status;
    }
    memcpy(head, v, (size_t)count * sizeof *head);
    own->count = 0;
    for (int64_t k = 0; k < data->count; k++)
        if (strcmp(data->arrays[k].name, "v") != 0)
            own->arrays[own->count++] = data->arrays[k];
    own->arrays[own->count++] = (attsvm_named_array){
        "v", { .data = head, .shape = { count }, .ndim = 1, .dtype = ATTSVM_F64 }
    };
    *out = own;
    return ATTSVM_OK;
}

attsvm_data_info attsvm_data_describe(const attsvm_data *data)
{
    if (!data)
        return (attsvm_data_info){ 0 };
    return (attsvm_data_info){ .n = data->n,
                               .d = data->d,
                               .tokens = data->tokens,
                               .T_min = data->T_min,
                               .T_max = data->T_max,
                               .vocabulary = data->vocabulary,
                               .queries = data->queries,
                               .positive = data->positive,
                               .negative = data->labels - data->positive,
                               .dtype = data->dtype,
                               .storage = data->storage };
}

int64_t attsvm_data_length(const attsvm_data *data, int64_t i)
{
    return data && i >= 0 && i < data->n ? data_length(data, i) : 0;
}

int64_t attsvm_data_offset(const attsvm_data *data, int64_t i)
{
    return data && i >= 0 && i <= data->n ? data_first(data, i) : 0;
}

void attsvm_data_token(const attsvm_data *data, int64_t i, int64_t t, double *x)
{
    if (!data || !x || i < 0 || i >= data->n || t < 0 || t >= data_length(data, i))
        return;
    la_rows rows = data_sequence(data, i);
    la_row(&rows, t, x);
}

int attsvm_data_label(const attsvm_data *data, int64_t i)
{
    /* with one label per query: the label of the first query */
    if (!data || !data->Y || i < 0 || i >= data->n)
        return 0;
    if (data->labels == data->n)
        return data->Y[i];
    return data->Y[data->labels == data->tokens ? data_first(data, i) : i * data->queries];
}

/* The purpose of a missing array and an alternative to it, for messages. */
static const char *purpose(const char *name)
{
    static const char *const known[][2] = {
        { "v", ": the fixed head. Add it, or learn the head too with model vp, vW, vKQ or vpW." },
        { "V", ": the first layer of the ReLU head." },
        { "p", ": the fixed prompt of model pW." },
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strcmp(known[k][0], name) == 0)
            return known[k][1];
    return ".";
}

attsvm_status data_doubles(const attsvm_data *data, const char *name, const int64_t *shape,
                           int ndim, double **out, attsvm_error *err)
{
    *out = NULL;
    const attsvm_array *array = attsvm_data_array(data, name);
    attsvm_array wanted = { .ndim = ndim };
    memcpy(wanted.shape, shape, (size_t)ndim * sizeof *shape);
    char expected[160], found[160];
    attsvm_array_shape_text(&wanted, expected, sizeof expected);
    if (!array)
        return fail(err, ATTSVM_E_DATA, "Missing array %s %s%s", name, expected, purpose(name));
    attsvm_array_shape_text(array, found, sizeof found);
    if (array->ndim != ndim || memcmp(array->shape, shape, (size_t)ndim * sizeof *shape) != 0)
        return fail(err, ATTSVM_E_DATA, "%s has shape %s; expected %s", name, found, expected);
    TRY(data_check_finite(array, name, "its values", 1, err));
    int64_t count = attsvm_array_count(array);
    TRY(base_allocate(out, (size_t)count, sizeof **out, name, err));
    for (int64_t k = 0; k < count; k++)
        (*out)[k] = attsvm_array_get(array, k);
    return ATTSVM_OK;
}
