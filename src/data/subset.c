/*
 * Some sequences of a data set, in any order, as a data set.  Tokens are borrowed through an index
 * of the stored rows.  Arrays with entries per sequence (labels, queries, selections) are copied;
 * the others (heads, key maps, start values) are shared.
 */
#include "data/reader.h"

#include <stdlib.h>
#include <string.h>

/* How the entries of an array belong to sequences. */
typedef enum spread {
    SHARED,         /* the array belongs to all sequences          */
    BY_SEQUENCE,    /* one row of the first dimension per sequence */
    BY_TOKEN,       /* one per token                               */
    BY_QUERY_TOKEN, /* one per given query and token               */
    BY_TOKEN_PAIR,  /* one per pair of tokens                      */
    LEFT_OUT,       /* the tokens and their index                  */
} spread;

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static spread spread_of(const attsvm_data *data, const attsvm_named_array *named)
{
    static const char *const of_tokens[] = { "X",    "tokens",    "offsets", "lengths",
                                             "bags", "bag_names", NULL };
    static const char *const of_sequences[] = { "Y", "y", "Z", "ids", "O", "s", "labels", NULL };
    const attsvm_array *array = &named->array;
    const int64_t count = attsvm_array_count(array);
    if (is_one_of(named->name, of_tokens))
        return LEFT_OUT;
    if (!is_one_of(named->name, of_sequences))
        return SHARED;
    if (array->ndim > 0 && array->shape[0] == data->n)
        return BY_SEQUENCE;
    if (count == data->n * data->queries || (!data->offsets && count == data->tokens))
        return BY_SEQUENCE;
    if (count == data->tokens)
        return BY_TOKEN;
    return count == data->tokens * data->queries ? BY_QUERY_TOKEN : BY_TOKEN_PAIR;
}

/* Entries of sequence i of the whole set in an array of that spread. */
static int64_t entries_of(const attsvm_data *data, const attsvm_array *array, spread how, int64_t i)
{
    const int64_t T = data_length(data, i);
    switch (how) {
    case BY_SEQUENCE: return attsvm_array_count(array) / data->n;
    case BY_TOKEN: return T;
    case BY_QUERY_TOKEN: return T * data->queries;
    case BY_TOKEN_PAIR: return T * T;
    default: return 0;
    }
}

/* A subset under construction. */
typedef struct subset {
    const attsvm_data *whole;
    const int64_t *indices;
    int64_t count;
    int64_t *offsets;
    int32_t *index;
    int8_t *Y;
    int64_t *first; /* (whole n) first entry of each sequence in the current array */
} subset;

static int64_t entries_of_all(const subset *s, const attsvm_array *array, spread how)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < s->count; k++)
        sum += entries_of(s->whole, array, how, s->indices[k]);
    return sum;
}

/* The entries of the chosen sequences, element size `size`, from `from` to `to`. */
static void gather(const subset *s, const attsvm_array *array, spread how, char *to)
{
    const size_t size = attsvm_dtype_size(array->dtype);
    int64_t sum = 0;
    for (int64_t i = 0; i < s->whole->n; i++) {
        s->first[i] = sum;
        sum += entries_of(s->whole, array, how, i);
    }
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t i = s->indices[k];
        const size_t bytes = (size_t)entries_of(s->whole, array, how, i) * size;
        memcpy(to, (const char *)array->data + (size_t)s->first[i] * size, bytes);
        to += bytes;
    }
}

/* The array of the subset; `memory` has room for its entries. */
static attsvm_array narrowed(const subset *s, const attsvm_array *array, spread how, char *memory)
{
    attsvm_array out = *array;
    if (how == BY_SEQUENCE && array->shape[0] == s->whole->n) {
        out.shape[0] = s->count;
    } else {
        out.ndim = 1;
        out.shape[0] = entries_of_all(s, array, how);
    }
    out.data = memory;
    if (memory)
        gather(s, array, how, memory);
    return out;
}

/* Runs twice: measures, then fills. */
static void layout(subset *s, attsvm_data *out, arena *a)
{
    const attsvm_data *whole = s->whole;
    const size_t count = (size_t)s->count;
    s->offsets = whole->offsets ? take_int64(a, count + 1) : NULL;
    s->index = base_take(a, (size_t)out->tokens, sizeof *s->index);
    s->Y = whole->Y ? base_take(a, (size_t)out->labels, 1) : NULL;
    s->first = take_int64(a, (size_t)whole->n);
    out->count = 0;
    for (int64_t k = 0; k < whole->count; k++) {
        const attsvm_named_array *named = &whole->arrays[k];
        const spread how = spread_of(whole, named);
        if (how == LEFT_OUT)
            continue;
        attsvm_array array = named->array;
        if (how != SHARED) {
            char *memory = base_take(a, (size_t)entries_of_all(s, &array, how),
                                     attsvm_dtype_size(array.dtype));
            array = narrowed(s, &array, how, memory);
        }
        out->arrays[out->count++] = (attsvm_named_array){ named->name, array };
    }
}

/* Number of labels of sequence i, and the index of the first. */
static int64_t labels_of(const attsvm_data *data, int64_t i, int64_t *first)
{
    const bool each = data->labels == data->n, given = data->labels == data->n * data->queries;
    *first = each ? i : given ? i * data->queries : data_first(data, i);
    return each ? 1 : given ? data->queries : data_length(data, i);
}

static attsvm_status measure(const subset *s, attsvm_data *out, attsvm_error *err)
{
    const attsvm_data *whole = s->whole;
    int64_t first;
    if (whole->comm)
        return fail(err, ATTSVM_E_ARG, "a data set that ranks share has no subsets");
    if (whole->rows > INT32_MAX)
        return fail(err, ATTSVM_E_ARG,
                    "the data set has %" PRId64 " tokens; subsets need at most %d", whole->rows,
                    INT32_MAX);
    if (s->count < 1)
        return fail(err, ATTSVM_E_ARG, "count = %" PRId64 " indices; a subset needs at least one",
                    s->count);
    out->tokens = out->labels = out->T_max = 0;
    out->T_min = INT64_MAX;
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t i = s->indices[k];
        if (i < 0 || i >= whole->n)
            return fail(err, ATTSVM_E_ARG,
                        "indices[%" PRId64 "] = %" PRId64 " is not in 0..%" PRId64, k, i,
                        whole->n - 1);
        const int64_t T = data_length(whole, i);
        out->tokens += T;
        out->labels += whole->Y ? labels_of(whole, i, &first) : 0;
        out->T_min = T < out->T_min ? T : out->T_min;
        out->T_max = T > out->T_max ? T : out->T_max;
    }
    return ATTSVM_OK;
}

static void fill(const subset *s, attsvm_data *out)
{
    const attsvm_data *whole = s->whole;
    int64_t token = 0, label = 0, first;
    out->positive = 0;
    for (int64_t k = 0; k < s->count; k++) {
        const int64_t i = s->indices[k];
        for (int64_t t = data_first(whole, i); t < data_first(whole, i + 1); t++)
            s->index[token++] = whole->index ? whole->index[t] : (int32_t)t;
        if (s->offsets)
            s->offsets[k + 1] = token;
        const int64_t labels = whole->Y ? labels_of(whole, i, &first) : 0;
        for (int64_t j = 0; j < labels; j++, label++) {
            s->Y[label] = whole->Y[first + j];
            out->positive += s->Y[label] > 0;
        }
    }
    out->index = s->index;
    out->offsets = s->offsets;
    out->Y = s->Y;
    if (whole->vocabulary)
        out->arrays[out->count++] = (attsvm_named_array){
            "tokens", { .data = s->index, .shape = { out->tokens }, .ndim = 1, .dtype = ATTSVM_I32 }
        };
    if (s->offsets)
        out->arrays[out->count++] = (attsvm_named_array){
            "offsets",
            { .data = s->offsets, .shape = { s->count + 1 }, .ndim = 1, .dtype = ATTSVM_I64 }
        };
}

/* Whether the stored rows are read from first to last, so that they can stream. */
static bool ascends(const subset *s)
{
    for (int64_t k = 1; k < s->count; k++)
        if (s->indices[k] <= s->indices[k - 1])
            return false;
    return true;
}

static attsvm_status build(subset *s, attsvm_data *out, attsvm_error *err)
{
    arena a = { 0 };
    TRY(base_allocate(&out->arrays, DATA_MOST_ARRAYS, sizeof *out->arrays, "arrays", err));
    TRY(measure(s, out, err));
    layout(s, out, &a);
    TRY(base_arena_allocate(&a, "subset", err));
    out->memory = a.base;
    /* `first` is needed while the arrays are filled, so it is allocated before them */
    layout(s, out, &a);
    fill(s, out);
    return ATTSVM_OK;
}

attsvm_status attsvm_data_subset(attsvm_data **out, const attsvm_data *data, const int64_t *indices,
                                 int64_t count, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    NEED(indices);
    attsvm_data *own;
    TRY(base_allocate(&own, 1, sizeof *own, "subset", err));
    *own = *data;
    own->headless = NULL;
    own->n = count;
    own->arrays = NULL;
    own->memory = own->owner = NULL;
    own->release = NULL;
    own->share = NULL;
    subset s = { .whole = data, .indices = indices, .count = count };
    attsvm_status status = build(&s, own, err);
    own->streams = status == ATTSVM_OK && data->streams && ascends(&s);
    if (status != ATTSVM_OK) {
        attsvm_data_free(own);
        return status;
    }
    *out = own;
    return ATTSVM_OK;
}

attsvm_status data_subset_load(attsvm_data *part, attsvm_error *err)
{
    const size_t bytes = (size_t)data_row_bytes(part);
    char *own;
    TRY(base_allocate(&own, (size_t)part->tokens, bytes, "tokens of a batch", err));
    data_reader reader = data_reader_open(part, 0, part->n);
    for (int64_t i; data_reader_each(&reader, &i);)
        for (int64_t t = data_first(part, i); t < data_first(part, i + 1); t++)
            memcpy(own + (size_t)t * bytes, (const char *)part->X + (size_t)part->index[t] * bytes,
                   bytes);
    part->X = part->owner = own;
    part->release = free;
    part->rows = part->tokens;
    part->index = NULL;
    part->streams = false;
    return ATTSVM_OK;
}
