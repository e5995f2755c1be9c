/*
 * A data set over named arrays: checks which arrays exist and that their shapes agree.  Tokens keep
 * their stored type (float16, 32 or 64, in memory or mapped); only integer tokens are converted
 * once, to float32 or float64.
 */
#include "data/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const data_known_arrays[] = { "X",       "E",      "tokens",     "offsets",   "Y",
                                          "y",       "Z",      "v",          "V",         "W",
                                          "p",       "ids",    "O",          "s",         "init_p",
                                          "init_W",  "init_K", "init_Q",     "init_v",    "labels",
                                          "lengths", "bags",   "vocabulary", "bag_names", "words",
                                          NULL };

const attsvm_array *attsvm_data_array(const attsvm_data *data, const char *name)
{
    if (!data || !name)
        return NULL;
    for (int64_t k = 0; k < data->count; k++)
        if (strcmp(data->arrays[k].name, name) == 0)
            return &data->arrays[k].array;
    return NULL;
}

bool data_is_text(const char *name)
{
    return strcmp(name, "bag_names") == 0 || strcmp(name, "words") == 0;
}

bool data_is_known(const char *name)
{
    for (const char *const *known = data_known_arrays; *known; known++)
        if (strcmp(name, *known) == 0)
            return true;
    return false;
}

#define SETTINGS attsvm_read_settings
static const field read_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(threads), FIELD_INT, 0, 4096, 0, "threads that check values; 0: all cores", 0, 0 },
    { F(inflate_limit), FIELD_INT, 1, 1e15, 8589934592.0,
      "maximum size of a compressed array after decompression, in bytes", 0, 0 },
    { F(memory), FIELD_INT, 0, 1e18, 0,
      "bytes of mapped tokens held in memory; 0 = half of the machine's memory", 0, 0 },
    { F(verify), FIELD_BOOL, 0, 1, 0, "also verify the stored checksums of mapped arrays", 0, 0 },
    { F(empty), FIELD_BOOL, 0, 1, 0, "accept sequences without tokens, for classifiers", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_read_table = { "read", read_fields,
                                           sizeof read_fields / sizeof *read_fields,
                                           sizeof(attsvm_read_settings), NULL };

void attsvm_read_settings_init(attsvm_read_settings *settings)
{
    attsvm_settings_init(&attsvm_read_table, settings);
}

static attsvm_status wrong_shape(const attsvm_array *array, const char *name, const char *expected,
                                 attsvm_error *err)
{
    char shape[160];
    attsvm_array_shape_text(array, shape, sizeof shape);
    return fail(err, ATTSVM_E_DATA, "%s has shape %s; expected %s", name, shape, expected);
}

/* Keeps the known arrays, each at most once. */
static attsvm_status keep_arrays(attsvm_data *data, const attsvm_named_array *arrays, int64_t count,
                                 attsvm_error *err)
{
    for (int64_t k = 0; k < count; k++) {
        if (!data_is_known(arrays[k].name))
            continue;
        if (attsvm_data_array(data, arrays[k].name))
            return fail(err, ATTSVM_E_DATA, "%s is given twice", arrays[k].name);
        data->arrays[data->count++] = arrays[k];
    }
    return ATTSVM_OK;
}

/* A list of `count` names: bytes with a newline after each. */
static attsvm_status check_names(const attsvm_data *data, const char *name, int64_t count,
                                 attsvm_error *err)
{
    const attsvm_array *list = attsvm_data_array(data, name);
    if (!list)
        return ATTSVM_OK;
    int64_t size = attsvm_array_count(list), lines = 0;
    const uint8_t *bytes = list->data;
    bool fits = list->dtype == ATTSVM_U8 && list->ndim == 1 && size > 0 && bytes[size - 1] == '\n';
    for (int64_t k = 0; fits && k < size; k++)
        lines += bytes[k] == '\n';
    if (!fits || lines != count)
        return fail(err, ATTSVM_E_DATA,
                    "%s must hold %" PRId64 " name%s: uint8 bytes with a newline after each", name,
                    count, base_plural(count));
    return ATTSVM_OK;
}

static attsvm_status need_integers(const attsvm_array *array, const char *name, attsvm_error *err)
{
    if (data_is_float(array->dtype) || array->dtype == ATTSVM_BOOL)
        return fail(err, ATTSVM_E_DATA, "%s is %s; expected integers", name,
                    attsvm_dtype_name(array->dtype));
    return ATTSVM_OK;
}

/* Sizes from X (n,T,d). */
static attsvm_status shape_equal(attsvm_data *data, const attsvm_array *X, attsvm_error *err)
{
    static const char *const ragged[] = { "offsets", "lengths", "bags" };
    for (int k = 0; k < 3; k++)
        if (attsvm_data_array(data, ragged[k]))
            return fail(err, ATTSVM_E_DATA,
                        "X has three dimensions, so its sequences have equal lengths and %s must "
                        "not be given",
                        ragged[k]);
    data->storage = ATTSVM_EQUAL;
    data->n = X->shape[0];
    data->T_min = data->T_max = X->shape[1];
    data->d = X->shape[2];
    if (data->n < 1 || data->T_max < 1 || data->d < 1)
        return wrong_shape(X, "X", "at least one sequence, token and coordinate", err);
    data->tokens = data->n * data->T_max;
    return ATTSVM_OK;
}

/* Sizes from a matrix with `rows` tokens. */
static attsvm_status shape_ragged(attsvm_data *data, int64_t rows, const char *of,
                                  attsvm_error *err)
{
    data->tokens = rows;
    return data_count_sequences(data, rows, of, &data->n, err);
}

/* Index of words: tokens (N). */
static attsvm_status shape_words(attsvm_data *data, attsvm_error *err)
{
    const attsvm_array *tokens = attsvm_data_array(data, "tokens");
    if (!tokens)
        return fail(err, ATTSVM_E_DATA, "%s, so tokens (N) must index it",
                    attsvm_data_array(data, "E") ? "E is a table of words"
                                                 : "vocabulary is a number of words");
    if (tokens->ndim != 1)
        return wrong_shape(tokens, "tokens", "(N,)", err);
    TRY(need_integers(tokens, "tokens", err));
    return shape_ragged(data, tokens->shape[0], "tokens", err);
}

/* One-hot words: d = vocabulary; the unit vectors are not stored. */
static attsvm_status shape_one_hot(attsvm_data *data, const attsvm_array *words, attsvm_error *err)
{
    TRY(need_integers(words, "vocabulary", err));
    if (attsvm_array_count(words) != 1)
        return wrong_shape(words, "vocabulary", "one number", err);
    TRY(data_integer(words, "vocabulary", 0, &data->d, err));
    if (data->d < 1 || data->d > INT32_MAX)
        return fail(err, ATTSVM_E_DATA, "vocabulary = %" PRId64 " is not in 1..%d", data->d,
                    INT32_MAX);
    data->storage = ATTSVM_STORAGE_ONE_HOT;
    data->vocabulary = data->d;
    return shape_words(data, err);
}

static attsvm_status shape_table(attsvm_data *data, const attsvm_array *E, attsvm_error *err)
{
    if (E->ndim != 2 || E->shape[0] < 1 || E->shape[1] < 1)
        return wrong_shape(E, "E", "(V,d)", err);
    if (E->shape[0] > INT32_MAX)
        return fail(err, ATTSVM_E_DATA, "E has %" PRId64 " rows; a table may have %d", E->shape[0],
                    INT32_MAX);
    data->storage = ATTSVM_TABLE;
    data->vocabulary = E->shape[0];
    data->d = E->shape[1];
    return shape_words(data, err);
}

/* Error if there is neither X nor E; names the arrays that exist. */
static attsvm_status no_tokens(const attsvm_named_array *arrays, int64_t count, attsvm_error *err)
{
    char found[240] = "nothing";
    size_t used = 0;
    bool lower = false;
    for (int64_t k = 0; k < count; k++)
        lower = lower || strcmp(arrays[k].name, "x") == 0;
    for (int64_t k = 0; k < count && used + 40 < sizeof found; k++) {
        char shape[160];
        attsvm_array_shape_text(&arrays[k].array, shape, sizeof shape);
        int written = snprintf(found + used, sizeof found - used, "%s%.24s %.24s", k ? ", " : "",
                               arrays[k].name, shape);
        used += written > 0 ? (size_t)written : 0;
    }
    bool more = used + 40 >= sizeof found;
    return fail(err, ATTSVM_E_DATA,
                "no tokens: expected X (n,T,d), X (N,d) with offsets (n+1), or E (V,d) with "
                "tokens (N) and offsets (n+1); found %s%s%s",
                found, more ? " and more" : "", lower ? "; did you mean X for x?" : "");
}

static attsvm_status shape_tokens(attsvm_data *data, attsvm_error *err)
{
    const attsvm_array *X = attsvm_data_array(data, "X"), *E = attsvm_data_array(data, "E");
    if (X && E)
        return fail(err, ATTSVM_E_DATA,
                    "X and E are both present; tokens are either X, or E with tokens");
    if (E)
        return shape_table(data, E, err);
    if (!X)
        return shape_one_hot(data, attsvm_data_array(data, "vocabulary"), err);
    if (X->ndim == 3)
        return shape_equal(data, X, err);
    if (X->ndim != 2 || X->shape[0] < 1 || X->shape[1] < 1)
        return wrong_shape(X, "X", "(n,T,d), or (N,d) with offsets", err);
    data->storage = ATTSVM_RAGGED;
    data->d = X->shape[1];
    return shape_ragged(data, X->shape[0], "X", err);
}

/* Queries Z (n,d) or (n,M,d). */
static attsvm_status shape_queries(attsvm_data *data, attsvm_error *err)
{
    const attsvm_array *Z = attsvm_data_array(data, "Z");
    if (!Z)
        return ATTSVM_OK;
    bool one = Z->ndim == 2, many = Z->ndim == 3;
    if ((!one && !many) || Z->shape[0] != data->n || Z->shape[Z->ndim - 1] != data->d ||
        (many && Z->shape[1] < 1)) {
        char expected[96];
        snprintf(expected, sizeof expected,
                 "(%" PRId64 ",%" PRId64 ") or (%" PRId64 ",M,%" PRId64 ")", data->n, data->d,
                 data->n, data->d);
        return wrong_shape(Z, "Z", expected, err);
    }
    data->queries = one ? 1 : Z->shape[1];
    return ATTSVM_OK;
}

/* One entry per sequence, per given query, or per token (every token a query). */
static attsvm_status shape_per_query(const attsvm_data *data, const attsvm_array *array,
                                     const char *name, attsvm_error *err)
{
    int64_t count = attsvm_array_count(array);
    bool per_query = data->queries > 0 && count == data->n * data->queries;
    bool list = array->ndim == 1 || (array->ndim == 2 && array->shape[0] == data->n);
    if (!list || (count != data->n && !per_query && count != data->tokens)) {
        char expected[128];
        const attsvm_array *offsets = attsvm_data_array(data, "offsets");
        int64_t last = data->tokens;
        if (offsets)
            TRY(data_integer(offsets, "offsets", data->n, &last, err));
        if (last != data->tokens)
            return fail(err, ATTSVM_E_DATA,
                        "offsets[%" PRId64 "] = %" PRId64
                        ", the last, is not the number of tokens, %" PRId64 "; %s has %" PRId64
                        " entr%s",
                        data->n, last, data->tokens, name, attsvm_array_count(array),
                        attsvm_array_count(array) == 1 ? "y" : "ies");
        snprintf(expected, sizeof expected,
                 "one entry for each of the %" PRId64 " sequences (or for each query)", data->n);
        return wrong_shape(array, name, expected, err);
    }
    return ATTSVM_OK;
}

static attsvm_status shape_labels(attsvm_data *data, const attsvm_array **labels, const char **name,
                                  attsvm_error *err)
{
    const attsvm_array *upper = attsvm_data_array(data, "Y"), *lower = attsvm_data_array(data, "y");
    if (upper && lower)
        return fail(err, ATTSVM_E_DATA,
                    "Y and y are both present; keep the one that holds the labels");
    *labels = upper ? upper : lower;
    *name = upper ? "Y" : "y";
    if (!*labels)
        return ATTSVM_OK;
    data->labels = attsvm_array_count(*labels);
    return shape_per_query(data, *labels, *name, err);
}

/* Integer tokens of one or two bytes are exact in float32; wider ones go to float64. */
static attsvm_dtype stored_type(attsvm_dtype dtype)
{
    if (data_is_float(dtype))
        return dtype;
    return attsvm_dtype_size(dtype) <= 2 ? ATTSVM_F32 : ATTSVM_F64;
}

typedef struct pieces {
    int64_t *offsets;
    int32_t *index;
    int8_t *Y;
    void *X, *Z; /* widened integer tokens and queries, NULL where stored as floats */
} pieces;

static void layout(pieces *own, arena *a, const attsvm_data *data, const attsvm_array *X,
                   const attsvm_array *Z)
{
    bool ragged = data->storage != ATTSVM_EQUAL;
    own->offsets = ragged ? take_int64(a, (size_t)data->n + 1) : NULL;
    own->index = data->vocabulary ? base_take(a, (size_t)data->tokens, sizeof(int32_t)) : NULL;
    own->Y = data->labels ? base_take(a, (size_t)data->labels, 1) : NULL;
    own->X = !X || data_is_float(X->dtype) ? NULL
                                           : base_take(a, (size_t)attsvm_array_count(X),
                                                       attsvm_dtype_size(stored_type(X->dtype)));
    own->Z = !Z || data_is_float(Z->dtype) ? NULL
                                           : base_take(a, (size_t)attsvm_array_count(Z),
                                                       attsvm_dtype_size(stored_type(Z->dtype)));
}

static void widen_integers(attsvm_array *array, void *memory)
{
    attsvm_dtype dtype = stored_type(array->dtype);
    for (int64_t k = 0, count = attsvm_array_count(array); k < count; k++) {
        double value = attsvm_array_get(array, k);
        if (dtype == ATTSVM_F32)
            ((float *)memory)[k] = (float)value;
        else
            ((double *)memory)[k] = value;
    }
    array->data = memory;
    array->dtype = dtype;
}

static attsvm_status fill_offsets(attsvm_data *data, int64_t *offsets, bool empty,
                                  attsvm_error *err)
{
    if (!offsets)
        return ATTSVM_OK;
    TRY(data_fill_offsets(data, data->vocabulary ? "tokens" : "X", empty, offsets, err));
    data->offsets = offsets;
    data->T_min = INT64_MAX;
    for (int64_t i = 0; i < data->n; i++) {
        int64_t T = offsets[i + 1] - offsets[i];
        data->T_min = T < data->T_min ? T : data->T_min;
        data->T_max = T > data->T_max ? T : data->T_max;
    }
    return ATTSVM_OK;
}

/*
 * One entry per token, (n,T) or (N); or one per query and token, row after row: (n,M,T), or (n,T,T)
 * where every token is a query; any of them flat.
 */
static bool is_per_token(const attsvm_data *data, const attsvm_array *array)
{
    int64_t count = attsvm_array_count(array), T = data->T_max, cells = 0;
    bool equal = data->storage == ATTSVM_EQUAL && array->ndim > 1 && array->shape[0] == data->n &&
                 array->shape[array->ndim - 1] == T;
    if (count == data->tokens)
        return array->ndim == 1 || (array->ndim == 2 && equal);
    if (array->ndim != 1 && !(array->ndim == 3 && equal))
        return false;
    data_terms own = { .data = data, .mode = ATTSVM_QUERY_ALL };
    return (data->queries > 0 && count / data->queries == data->tokens &&
            count % data->queries == 0) ||
           (data_terms_cells(&own, NULL, &cells, NULL) == ATTSVM_OK && count == cells);
}

static attsvm_status check_sets(const attsvm_data *data, attsvm_error *err)
{
    static const char *const names[] = { "O", "s" };
    for (int k = 0; k < 2; k++) {
        const attsvm_array *array = attsvm_data_array(data, names[k]);
        if (array && !is_per_token(data, array)) {
            char expected[96];
            snprintf(expected, sizeof expected,
                     "one entry for each of the %" PRId64 " tokens, or for each query and token",
                     data->tokens);
            return wrong_shape(array, names[k], expected, err);
        }
        if (array && k == 0)
            TRY(data_check_sets(data, array, err));
        if (array && k == 1)
            TRY(data_check_finite(array, "s", "softmax values", 1, err));
    }
    return ATTSVM_OK;
}

/* Shapes first, then memory, then values: nothing is read before its size is known to fit. */
static attsvm_status build(attsvm_data *data, const attsvm_read_settings *settings,
                           const data_source *source, attsvm_error *err)
{
    int threads = base_threads(settings->threads);
    const attsvm_array *labels = NULL;
    const char *labels_name = NULL;
    TRY(shape_tokens(data, err));
    TRY(shape_queries(data, err));
    TRY(shape_labels(data, &labels, &labels_name, err));
    const bool one_hot = data->storage == ATTSVM_STORAGE_ONE_HOT;
    attsvm_array *X = (attsvm_array *)attsvm_data_array(data, data->vocabulary ? "E" : "X");
    attsvm_array *Z = (attsvm_array *)attsvm_data_array(data, "Z");
    pieces own;
    arena a = { 0 };
    layout(&own, &a, data, X, Z);
    TRY(base_arena_allocate(&a, "data set", err));
    data->memory = a.base;
    layout(&own, &a, data, X, Z);

    TRY(fill_offsets(data, own.offsets, settings->empty, err));
    if (own.X)
        widen_integers(X, own.X);
    if (own.Z)
        widen_integers(Z, own.Z);
    data->X = one_hot ? NULL : X->data;
    data->dtype = one_hot ? ATTSVM_F64 : X->dtype;
    data->rows = data->vocabulary ? data->vocabulary : data->tokens;
    if (own.index)
        TRY(data_check_tokens(attsvm_data_array(data, "tokens"), data->vocabulary, own.index, err));
    data->index = own.index;
    if (labels)
        TRY(data_check_labels(labels, labels_name, own.Y, &data->positive, err));
    data->Y = own.Y;
    data_set_memory(data, source->mapped && !own.X && !one_hot, settings->memory);
    TRY(data_share(data, source->comm, err));
    if (!one_hot)
        TRY(data_check_own_tokens(data, X, threads, err));
    if (Z)
        TRY(data_check_finite(Z, "Z", "queries", threads, err));
    const attsvm_array *ids = attsvm_data_array(data, "ids");
    if (ids) {
        TRY(shape_per_query(data, ids, "ids", err));
        TRY(need_integers(ids, "ids", err));
        TRY(data_check_selection(data, ids, err));
    }
    TRY(check_names(data, "bag_names", data->n, err));
    if (data->vocabulary > 0)
        TRY(check_names(data, "words", data->vocabulary, err));
    return check_sets(data, err);
}

attsvm_status data_create(attsvm_data **out, const attsvm_named_array *arrays, int64_t count,
                          const attsvm_read_settings *settings, const data_source *source,
                          attsvm_error *err)
{
    *out = NULL;
    attsvm_read_settings standard;
    attsvm_read_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(attsvm_settings_check(&attsvm_read_table, settings, err));
    attsvm_data *data;
    TRY(base_allocate(&data, 1, sizeof *data, "data set", err));
    size_t known = sizeof data_known_arrays / sizeof *data_known_arrays;
    attsvm_status status = base_allocate(&data->arrays, known, sizeof *data->arrays, "arrays", err);
    if (status == ATTSVM_OK)
        status = keep_arrays(data, arrays, count, err);
    if (status == ATTSVM_OK && !attsvm_data_array(data, "X") && !attsvm_data_array(data, "E") &&
        !attsvm_data_array(data, "vocabulary"))
        status = no_tokens(arrays, count, err);
    if (status == ATTSVM_OK)
        status = build(data, settings, source, err);
    status = dist_agree(source->comm, status, err);
    if (status == ATTSVM_OK)
        status = data_check_ranks(data, source->comm, err);
    if (status != ATTSVM_OK) {
        attsvm_data_free(data);
        return status;
    }
    data->file = "";
    data->owner = source->owner;
    data->release = source->release;
    *out = data;
    return ATTSVM_OK;
}

attsvm_status attsvm_data_create(attsvm_data **out, const attsvm_named_array *arrays, int64_t count,
                                 const attsvm_read_settings *settings, attsvm_error *err)
{
    NEED_OUT(out);
    TRY(data_check_arrays(arrays, count, "arrays", err));
    return data_create(out, arrays, count, settings, &(data_source){ 0 }, err);
}

void attsvm_data_free(attsvm_data *data)
{
    if (!data)
        return;
    if (data->release)
        data->release(data->owner);
    free(data->share);
    free(data->memory);
    free(data->arrays);
    free(data);
}
