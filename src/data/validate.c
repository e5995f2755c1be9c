/*
 * Checks of the arrays of a data set.  A message names array, index, value and expectation.
 */
#include "data/reader.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Elements per block of the scan for finite values: about 1 MB, which fits into the cache. */
enum { SCAN_BLOCK = 1 << 17 };

typedef struct scan {
    const attsvm_array *array;
    int64_t from, to; /* elements to scan                               */
    int64_t first;    /* first element found that is not finite; atomic */
} scan;

static void scan_block(void *context, int64_t block, int worker)
{
    (void)worker;
    scan *s = context;
    int64_t lo = s->from + block * SCAN_BLOCK;
    int64_t size = s->to - lo < SCAN_BLOCK ? s->to - lo : SCAN_BLOCK;
    int64_t known = __atomic_load_n(&s->first, __ATOMIC_RELAXED);
    if (lo > known || attsvm_interrupted())
        return;
    const char *at = (const char *)s->array->data + (size_t)lo * attsvm_dtype_size(s->array->dtype);
    int64_t found = la_active()->first_nonfinite(s->array->dtype, at, size);
    if (found < 0)
        return;
    found += lo;
    while (found < known && !__atomic_compare_exchange_n(&s->first, &known, found, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

/* "3,7" for element `index` of an array of that shape. */
static void index_text(const attsvm_array *array, int64_t index, char *out, size_t size)
{
    int64_t place[ATTSVM_MAX_DIMS] = { 0 };
    for (int k = array->ndim - 1; k >= 0; k--) {
        place[k] = index % array->shape[k];
        index /= array->shape[k];
    }
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < array->ndim && used < size; k++)
        used += (size_t)snprintf(out + used, size - used, "%s%" PRId64, k ? "," : "", place[k]);
}

static attsvm_status scan_elements(scan *s, const char *name, const char *role, int threads,
                                   attsvm_error *err)
{
    if (!data_is_float(s->array->dtype))
        return ATTSVM_OK;
    s->first = INT64_MAX;
    base_parallel(threads, (s->to - s->from + SCAN_BLOCK - 1) / SCAN_BLOCK, scan_block, s);
    TRY(base_interrupted(err));
    if (s->first == INT64_MAX)
        return ATTSVM_OK;
    char place[128];
    index_text(s->array, s->first, place, sizeof place);
    double value = attsvm_array_get(s->array, s->first);
    return fail(err, ATTSVM_E_DATA, "%s[%s] is %s; %s must be finite", name, place,
                isnan(value) ? "NaN"
                : value > 0  ? "+infinity"
                             : "-infinity",
                role);
}

attsvm_status data_check_finite(const attsvm_array *array, const char *name, const char *role,
                                int threads, attsvm_error *err)
{
    scan s = { .array = array, .to = attsvm_array_count(array) };
    return scan_elements(&s, name, role, threads, err);
}

attsvm_status data_check_own_tokens(const attsvm_data *data, const attsvm_array *X, int threads,
                                    attsvm_error *err)
{
    int64_t lo, hi;
    if (data->vocabulary)
        return data_check_finite(X, "E", "tokens", threads, err);
    data_own(data, &lo, &hi);
    data_reader reader = data_reader_open(data, lo, hi);
    while (data_reader_next(&reader)) {
        scan s = { .array = X,
                   .from = data_first(data, reader.lo) * data->d,
                   .to = data_first(data, reader.hi) * data->d };
        TRY(scan_elements(&s, "X", "tokens", threads, err));
    }
    return ATTSVM_OK;
}

attsvm_status data_check_offsets(const attsvm_array *offsets, int64_t rows, const char *of,
                                 bool empty, int64_t *out, attsvm_error *err)
{
    int64_t n = offsets->shape[0] - 1;
    for (int64_t i = 0; i <= n; i++) {
        TRY(data_integer(offsets, "offsets", i, &out[i], err));
        if (i == 0 && out[0] != 0)
            return fail(err, ATTSVM_E_DATA, "offsets[0] = %" PRId64 " is not 0", out[0]);
        if (i > 0 && out[i] < out[i - 1])
            return fail(err, ATTSVM_E_DATA,
                        "offsets[%" PRId64 "] = %" PRId64 " is below offsets[%" PRId64
                        "] = %" PRId64,
                        i, out[i], i - 1, out[i - 1]);
        if (!empty && i > 0 && out[i] == out[i - 1])
            return fail(err, ATTSVM_E_DATA,
                        "offsets[%" PRId64 "] = offsets[%" PRId64 "] = %" PRId64
                        ": sequence %" PRId64 " has no token; every sequence needs one",
                        i, i - 1, out[i], i - 1);
        if (out[i] > rows)
            return fail(err, ATTSVM_E_DATA,
                        "offsets[%" PRId64 "] = %" PRId64 " is beyond the %" PRId64 " row%s of %s",
                        i, out[i], rows, base_plural(rows), of);
    }
    if (out[n] != rows)
        return fail(err, ATTSVM_E_DATA,
                    "offsets[%" PRId64 "] = %" PRId64
                    ", the last, is not the number of rows of %s, "
                    "%" PRId64,
                    n, out[n], of, rows);
    return ATTSVM_OK;
}

attsvm_status data_check_tokens(const attsvm_array *tokens, int64_t vocabulary, int32_t *out,
                                attsvm_error *err)
{
    for (int64_t k = 0; k < tokens->shape[0]; k++) {
        int64_t word;
        TRY(data_integer(tokens, "tokens", k, &word, err));
        if (word < 0 || word >= vocabulary)
            return fail(err, ATTSVM_E_DATA,
                        "tokens[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64 ", the rows of E",
                        k, word, vocabulary - 1);
        out[k] = (int32_t)word;
    }
    return ATTSVM_OK;
}

/* Labels are -1/+1, or 0/1, which are mapped to them; a mixture of 0 and -1 is an error. */
attsvm_status data_check_labels(const attsvm_array *labels, const char *name, int8_t *out,
                                int64_t *positive, attsvm_error *err)
{
    int64_t count = attsvm_array_count(labels), first_zero = -1, first_minus = -1;
    *positive = 0;
    for (int64_t i = 0; i < count; i++) {
        double y = attsvm_array_get(labels, i);
        if (y != 1 && y != 0 && y != -1)
            return fail(err, ATTSVM_E_DATA,
                        "%s[%" PRId64 "] = %g is not a label; labels are -1 and +1, or 0 and 1",
                        name, i, y);
        if (y == 0 && first_zero < 0)
            first_zero = i;
        if (y == -1 && first_minus < 0)
            first_minus = i;
        if (first_zero >= 0 && first_minus >= 0)
            return fail(err, ATTSVM_E_DATA,
                        "%s[%" PRId64 "] = 0 and %s[%" PRId64
                        "] = -1: labels are -1 and +1, or 0 and 1, not both",
                        name, first_zero, name, first_minus);
        out[i] = y == 1 ? 1 : -1;
        *positive += y == 1;
    }
    return ATTSVM_OK;
}

/*
 * The sequence of entry k of an array with one entry per sequence, query or token.  If there are as
 * many queries as tokens, the entries belong to the queries.
 */
static int64_t sequence_of(const attsvm_data *data, int64_t count, int64_t k)
{
    if (count != data->tokens || count == data->n || count == data->n * data->queries)
        return k / (count / data->n);
    int64_t lo = 0, hi = data->n - 1;
    while (lo < hi) {
        int64_t middle = (lo + hi + 1) / 2;
        if (data_first(data, middle) <= k)
            lo = middle;
        else
            hi = middle - 1;
    }
    return lo;
}

attsvm_status data_check_selection(const attsvm_data *data, const attsvm_array *ids,
                                   attsvm_error *err)
{
    int64_t count = attsvm_array_count(ids);
    for (int64_t k = 0; k < count; k++) {
        int64_t id, i = sequence_of(data, count, k);
        TRY(data_integer(ids, "ids", k, &id, err));
        if (id < 0 || id >= data_length(data, i))
            return fail(err, ATTSVM_E_DATA,
                        "ids[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64
                        ", the tokens of sequence %" PRId64,
                        k, id, data_length(data, i) - 1, i);
    }
    return ATTSVM_OK;
}

/* One set: entries first..first+T-1; *chosen counts its members. */
static attsvm_status check_set(const attsvm_array *sets, int64_t first, int64_t T, int64_t *chosen,
                               attsvm_error *err)
{
    *chosen = 0;
    for (int64_t k = first; k < first + T; k++) {
        double member = attsvm_array_get(sets, k);
        if (member != 0 && member != 1) {
            char place[128];
            index_text(sets, k, place, sizeof place);
            return fail(err, ATTSVM_E_DATA, "O[%s] = %g is neither 0 nor 1", place, member);
        }
        *chosen += member == 1;
    }
    return ATTSVM_OK;
}

attsvm_status data_check_sets(const attsvm_data *data, const attsvm_array *sets, attsvm_error *err)
{
    int64_t count = attsvm_array_count(sets), first = 0;
    for (int64_t i = 0; i < data->n; i++) {
        int64_t T = data_length(data, i), queries = T, chosen; /* a set for every token */
        if (count == data->tokens)
            queries = 1;
        else if (count == data->tokens * data->queries)
            queries = data->queries;
        for (int64_t q = 0; q < queries; q++, first += T) {
            TRY(check_set(sets, first, T, &chosen, err));
            if (chosen == 0 && queries == 1)
                return fail(err, ATTSVM_E_DATA,
                            "O selects no token of sequence %" PRId64 "; every set needs one", i);
            if (chosen == 0)
                return fail(err, ATTSVM_E_DATA,
                            "O selects no token of sequence %" PRId64 " for query %" PRId64
                            "; every set needs one",
                            i, q);
        }
    }
    return ATTSVM_OK;
}

/* Boundaries of sequences: offsets (n+1), or lengths (n), or bags (N), the bag of every token. */
static const char *const boundary_names[] = { "offsets", "lengths", "bags" };

/* Finds which of the three arrays the data set has. */
static attsvm_status find_boundaries(const attsvm_data *data, const char *of, const char **name,
                                     const attsvm_array **array, attsvm_error *err)
{
    *array = NULL;
    for (int k = 0; k < 3; k++) {
        const attsvm_array *next = attsvm_data_array(data, boundary_names[k]);
        if (next && *array)
            return fail(err, ATTSVM_E_DATA, "%s and %s are both present; keep one of them", *name,
                        boundary_names[k]);
        if (next) {
            *array = next;
            *name = boundary_names[k];
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
    TRY(find_boundaries(data, of, &name, &array, err));
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

/* The tokens of a bag must be contiguous. */
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
                    "lengths add up to %" PRId64 ", but %s has %" PRId64 " row%s", out[n], of, rows,
                    base_plural(rows));
    return ATTSVM_OK;
}

attsvm_status data_fill_offsets(const attsvm_data *data, const char *of, bool empty, int64_t *out,
                                attsvm_error *err)
{
    const attsvm_array *array;
    const char *name;
    TRY(find_boundaries(data, of, &name, &array, err));
    if (strcmp(name, "bags") == 0)
        return fill_bags(array, data->n, out, err);
    if (strcmp(name, "lengths") == 0)
        return fill_lengths(array, data->tokens, of, out, err);
    return data_check_offsets(array, data->tokens, of, empty, out, err);
}
