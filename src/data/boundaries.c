/* Where sequences begin: offsets (n+1), or lengths (n), or bags (N), the bag of every token. */
#include "data/data.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = { "offsets", "lengths", "bags" };

/* The one of the three arrays that the data set has. */
static attsvm_status find(const attsvm_data *data, const char *of, const char **name,
                          const attsvm_array **array, attsvm_error *err)
{
    *array = NULL;
    for (int k = 0; k < 3; k++) {
        const attsvm_array *next = attsvm_data_array(data, names[k]);
        if (next && *array)
            return fail(err, ATTSVM_E_DATA, "%s and %s are both present; keep one of them", *name,
                        names[k]);
        if (next) {
            *array = next;
            *name = names[k];
        }
    }
    if (!*array)
        return fail(err, ATTSVM_E_DATA,
                    "%s has one row per token: add offsets (n+1), lengths (n) or bags (N) to say "
                    "which rows form a sequence",
                    of);
    if (data_is_float((*array)->dtype) || (*array)->dtype == ATTSVM_BOOL)
        return fail(err, ATTSVM_E_DATA, "%s is %s; expected integers", *name,
                    attsvm_dtype_name((*array)->dtype));
    return ATTSVM_OK;
}

static attsvm_status bad_shape(const attsvm_array *array, const char *name, const char *expected,
                               attsvm_error *err)
{
    char shape[160];
    attsvm_array_shape_text(array, shape, sizeof shape);
    return fail(err, ATTSVM_E_DATA, "%s has shape %s; expected %s", name, shape, expected);
}

attsvm_status data_count_sequences(const attsvm_data *data, int64_t rows, const char *of,
                                   int64_t *n, attsvm_error *err)
{
    const attsvm_array *array;
    const char *name;
    TRY(find(data, of, &name, &array, err));
    int64_t count = attsvm_array_count(array);
    if (strcmp(name, "offsets") == 0) {
        if (array->ndim != 1 || count < 2)
            return bad_shape(array, name, "(n+1,) with n at least 1", err);
        *n = count - 1;
    } else if (strcmp(name, "lengths") == 0) {
        if (array->ndim != 1 || count < 1)
            return bad_shape(array, name, "(n,) with n at least 1", err);
        *n = count;
    } else {
        if (array->ndim != 1 || count != rows || count < 1)
            return bad_shape(array, name, "one entry for each token", err);
        *n = 1;
        for (int64_t k = 1; k < count; k++) {
            int64_t last, next;
            TRY(data_integer(array, name, k - 1, &last, err));
            TRY(data_integer(array, name, k, &next, err));
            *n += next != last;
        }
    }
    return ATTSVM_OK;
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* The tokens of a bag must follow each other: no bag may come back after another one. */
static attsvm_status fill_bags(const attsvm_array *bags, int64_t n, int64_t *out, attsvm_error *err)
{
    int64_t *seen, count = attsvm_array_count(bags), found = 0;
    attsvm_status status = ATTSVM_OK;
    TRY(base_allocate(&seen, (size_t)n, sizeof *seen, "bags", err));
    for (int64_t k = 0; k < count; k++) {
        int64_t bag = 0;
        status = data_integer(bags, "bags", k, &bag, err);
        if (status != ATTSVM_OK)
            break;
        if (found == 0 || bag != seen[found - 1]) {
            out[found] = k;
            seen[found++] = bag;
        }
    }
    out[n] = count;
    qsort(seen, (size_t)found, sizeof *seen, by_value);
    for (int64_t k = 1; k < found && status == ATTSVM_OK; k++)
        if (seen[k] == seen[k - 1])
            status = fail(err, ATTSVM_E_DATA,
                          "bags: bag %" PRId64 " appears again after other bags; sort the tokens "
                          "by bag",
                          seen[k]);
    free(seen);
    return status;
}

static attsvm_status fill_lengths(const attsvm_array *lengths, int64_t rows, const char *of,
                                  int64_t *out, attsvm_error *err)
{
    int64_t n = lengths->shape[0], length;
    out[0] = 0;
    for (int64_t i = 0; i < n; i++) {
        TRY(data_integer(lengths, "lengths", i, &length, err));
        if (length < 1 || length > rows - out[i])
            return fail(err, ATTSVM_E_DATA,
                        "lengths[%" PRId64 "] = %" PRId64 " is not in 1..%" PRId64
                        ", the rows of %s that are left",
                        i, length, rows - out[i], of);
        out[i + 1] = out[i] + length;
    }
    if (out[n] != rows)
        return fail(err, ATTSVM_E_DATA,
                    "lengths add up to %" PRId64 ", but %s has %" PRId64 " rows", out[n], of, rows);
    return ATTSVM_OK;
}

attsvm_status data_fill_offsets(const attsvm_data *data, const char *of, bool empty, int64_t *out,
                                attsvm_error *err)
{
    const attsvm_array *array;
    const char *name;
    TRY(find(data, of, &name, &array, err));
    if (strcmp(name, "bags") == 0)
        return fill_bags(array, data->n, out, err);
    if (strcmp(name, "lengths") == 0)
        return fill_lengths(array, data->tokens, of, out, err);
    return data_check_offsets(array, data->tokens, of, empty, out, err);
}
