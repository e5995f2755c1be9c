/*
 * safetensors: eight bytes of length, a JSON header {"name": {"dtype", "shape", "data_offsets"}},
 * and the elements, little-endian, which the tensors cover without gap or overlap.
 */
#include "io/format/format.h"

#include <stdlib.h>
#include <string.h>

typedef struct tensor {
    const char *name;
    attsvm_array array;
    bool bfloat;  /* to be widened to float32               */
    bool foreign; /* of a type that attsvm does not support */
    int64_t begin, end;
} tensor;

static const struct {
    const char *name;
    size_t size;
    attsvm_dtype dtype;
    bool bfloat;
} types[] = {
    { "F64", 8, ATTSVM_F64, false },   { "F32", 4, ATTSVM_F32, false },
    { "F16", 2, ATTSVM_F16, false },   { "BF16", 2, ATTSVM_F32, true },
    { "I64", 8, ATTSVM_I64, false },   { "I32", 4, ATTSVM_I32, false },
    { "I16", 2, ATTSVM_I16, false },   { "I8", 1, ATTSVM_I8, false },
    { "U64", 8, ATTSVM_U64, false },   { "U32", 4, ATTSVM_U32, false },
    { "U16", 2, ATTSVM_U16, false },   { "U8", 1, ATTSVM_U8, false },
    { "BOOL", 1, ATTSVM_BOOL, false },
};

enum { TYPES = sizeof types / sizeof *types };

static attsvm_status read_type(const io_json *json, tensor *t, size_t *size, attsvm_error *err)
{
    const char *text = io_json_as_text(json);
    char printable[BASE_NAME_SIZE];
    if (!text)
        return fail(err, ATTSVM_E_FORMAT, "its dtype is not a text");
    for (int k = 0; k < TYPES; k++) {
        if (strcmp(text, types[k].name) == 0) {
            t->array.dtype = types[k].dtype;
            t->bfloat = types[k].bfloat;
            *size = types[k].size;
            return ATTSVM_OK;
        }
    }
    t->foreign = !data_is_known(t->name) || data_is_text(t->name);
    if (t->foreign)
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_FORMAT,
                "its dtype '%s' is not one of F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL",
                base_printable(text, printable));
}

static attsvm_status read_shape(const io_json *json, tensor *t, attsvm_error *err)
{
    int64_t ndim = io_json_is_list(json) ? io_json_count(json) : -1;
    if (ndim < 0 || ndim > ATTSVM_MAX_DIMS)
        return fail(err, ATTSVM_E_FORMAT, "its shape is not a list of at most %d dimensions",
                    ATTSVM_MAX_DIMS);
    t->array.ndim = (int32_t)ndim;
    for (int64_t k = 0; k < ndim; k++)
        if (!io_json_as_integer(io_json_at(json, k), &t->array.shape[k]) || t->array.shape[k] < 0)
            return fail(err, ATTSVM_E_FORMAT, "shape[%" PRId64 "] is not a non-negative integer",
                        k);
    return ATTSVM_OK;
}

/* One entry of the header.  `size` is that of all elements of all tensors. */
static attsvm_status read_entry(const io_json *json, tensor *t, int64_t size, attsvm_error *err)
{
    size_t element = 0, bytes;
    int64_t count;
    if (io_json_count(json) != 3 || !io_json_get(json, "dtype") || !io_json_get(json, "shape") ||
        !io_json_get(json, "data_offsets"))
        return fail(err, ATTSVM_E_FORMAT, "it must have exactly dtype, shape and data_offsets");
    TRY(read_type(io_json_get(json, "dtype"), t, &element, err));
    TRY(read_shape(io_json_get(json, "shape"), t, err));
    const io_json *offsets = io_json_get(json, "data_offsets");
    if (io_json_count(offsets) != 2 || !io_json_as_integer(io_json_at(offsets, 0), &t->begin) ||
        !io_json_as_integer(io_json_at(offsets, 1), &t->end))
        return fail(err, ATTSVM_E_FORMAT, "its data_offsets are not two integers");
    if (t->begin < 0 || t->end < t->begin || t->end > size)
        return fail(err, ATTSVM_E_FORMAT,
                    "its data_offsets %" PRId64 "..%" PRId64 " are not within 0..%" PRId64,
                    t->begin, t->end, size);
    if (t->foreign)
        return ATTSVM_OK;
    if (!base_shape_count(t->array.shape, t->array.ndim, &count) ||
        !base_multiply((size_t)count, element, &bytes) || bytes != (size_t)(t->end - t->begin)) {
        char shape[IO_SHAPE_SIZE];
        attsvm_array_shape_text(&t->array, shape, sizeof shape);
        return fail(err, ATTSVM_E_FORMAT,
                    "it has %" PRId64 " byte%s, which is not shape %s of elements of %zu byte%s",
                    t->end - t->begin, base_plural(t->end - t->begin), shape, element,
                    base_plural((int64_t)element));
    }
    return ATTSVM_OK;
}

static int by_offset(const void *a, const void *b)
{
    const tensor *s = a, *t = b;
    if (s->begin != t->begin)
        return s->begin < t->begin ? -1 : 1;
    return (s->end > t->end) - (s->end < t->end);
}

/* Tensors, in the order of their bytes, must cover 0..size. */
static attsvm_status check_cover(const tensor *tensors, int64_t count, int64_t size,
                                 attsvm_error *err)
{
    tensor *order;
    TRY(base_allocate(&order, (size_t)count, sizeof *order, "list of tensors", err));
    memcpy(order, tensors, (size_t)count * sizeof *order);
    qsort(order, (size_t)count, sizeof *order, by_offset);
    attsvm_status status = ATTSVM_OK;
    int64_t end = 0;
    for (int64_t k = 0; k < count && status == ATTSVM_OK; k++) {
        char name[BASE_NAME_SIZE];
        if (order[k].begin != end)
            status = fail(err, ATTSVM_E_FORMAT,
                          "%s: it begins at byte %" PRId64 ", but the one before it ends at "
                          "%" PRId64,
                          base_printable(order[k].name, name), order[k].begin, end);
        end = order[k].end;
    }
    if (status == ATTSVM_OK && end != size)
        status = fail(err, ATTSVM_E_FORMAT,
                      "the tensors have %" PRId64 " byte%s, but %" PRId64 " follow the header", end,
                      base_plural(end), size);
    free(order);
    return status;
}

/* bfloat16 is the upper half of a float32. */
static void widen(const unsigned char *in, int64_t count, uint32_t *out)
{
    for (int64_t k = 0; k < count; k++)
        out[k] = ((uint32_t)in[2 * k] | (uint32_t)in[2 * k + 1] << 8) << 16;
}

static attsvm_status add_tensor(attsvm_archive *archive, const tensor *t,
                                const unsigned char *elements, attsvm_error *err)
{
    if (t->foreign)
        return io_archive_leave_out(archive, t->name, ATTSVM_E_FORMAT, err);
    attsvm_array array = t->array;
    size_t size = (size_t)(t->end - t->begin);
    size_t element = attsvm_dtype_size(array.dtype);
    array.data = elements + t->begin;
    void *memory = NULL;
    if (t->bfloat) {
        TRY(base_reserve(&memory, 2 * size, "its elements", err)); /* size: bytes of the file */
        widen(array.data, (int64_t)(size / 2), memory);
    } else if (size < IO_MAP_FROM || (element > 1 && !io_little_endian())) {
        TRY(base_reserve(&memory, size, "its elements", err));
        memcpy(memory, array.data, size);
        if (!io_little_endian())
            io_swap_bytes(memory, size / element, element);
    }
    if (memory)
        array.data = memory;
    return io_archive_add(archive, t->name, &array, memory, err);
}

static attsvm_status check_metadata(const io_json *json, attsvm_error *err)
{
    if (io_json_count(json) < 0 || io_json_is_list(json))
        return fail(err, ATTSVM_E_FORMAT, "__metadata__ is not an object");
    for (const char *key = io_json_next_key(json, NULL); key; key = io_json_next_key(json, key))
        if (!io_json_as_text(io_json_get(json, key)))
            return fail(err, ATTSVM_E_FORMAT, "__metadata__ has a value that is not a text");
    return ATTSVM_OK;
}

static attsvm_status read_tensors(attsvm_archive *archive, const io_json *header, tensor *tensors,
                                  const unsigned char *elements, size_t size, attsvm_error *err)
{
    int64_t count = 0;
    char printable[BASE_NAME_SIZE];
    for (const char *key = io_json_next_key(header, NULL); key;
         key = io_json_next_key(header, key)) {
        if (strcmp(key, "__metadata__") == 0) {
            TRY(check_metadata(io_json_get(header, key), err));
            continue;
        }
        if (!*key)
            return fail(err, ATTSVM_E_FORMAT, "the header has a tensor without a name");
        tensors[count].name = key;
        attsvm_status status =
            read_entry(io_json_get(header, key), &tensors[count], (int64_t)size, err);
        if (status != ATTSVM_OK)
            return base_fail_in(err, status, base_printable(key, printable));
        count++;
    }
    TRY(check_cover(tensors, count, (int64_t)size, err));
    for (int64_t k = 0; k < count; k++) {
        attsvm_status status = add_tensor(archive, &tensors[k], elements, err);
        if (status != ATTSVM_OK)
            return base_fail_in(err, status, base_printable(tensors[k].name, printable));
    }
    return ATTSVM_OK;
}

/*
 * A safetensors file begins with the length of its JSON header, little-endian in eight bytes, and
 * the header with a brace.  No text file does: eight characters make a number beyond the limit.
 */
bool io_format_is_safetensors(const unsigned char *bytes, size_t size)
{
    uint64_t length = 0;
    if (size < 10 || bytes[8] != '{')
        return false;
    for (int k = 7; k >= 0; k--)
        length = length << 8 | bytes[k];
    return length <= IO_SAFETENSORS_HEADER_MOST;
}

attsvm_status io_safetensors_read(attsvm_archive *archive, const char *name, const void *bytes,
                                  size_t size, const attsvm_read_settings *settings,
                                  attsvm_error *err)
{
    (void)name, (void)settings;
    const unsigned char *start = bytes;
    uint64_t length = 0;
    if (size < 8)
        return fail(err, ATTSVM_E_FORMAT, "it has %zu byte%s, fewer than any safetensors header",
                    size, base_plural((int64_t)size));
    for (int k = 7; k >= 0; k--)
        length = length << 8 | start[k];
    if (length > IO_SAFETENSORS_HEADER_MOST || length > size - 8)
        return fail(err, ATTSVM_E_FORMAT,
                    "the safetensors header has %" PRIu64 " byte%s, the file %zu (limit %d)",
                    length, base_plural((int64_t)length), size, IO_SAFETENSORS_HEADER_MOST);
    if (length == 0 || start[8] != '{')
        return fail(err, ATTSVM_E_FORMAT, "the safetensors header does not begin with {");
    io_json *header;
    TRY(io_json_parse(&header, (const char *)start + 8, (size_t)length, "safetensors header", err));
    tensor *tensors;
    attsvm_status status = base_allocate(&tensors, (size_t)io_json_count(header), sizeof *tensors,
                                         "list of tensors", err);
    if (status == ATTSVM_OK)
        status = read_tensors(archive, header, tensors, start + 8 + length,
                              size - 8 - (size_t)length, err);
    free(tensors);
    io_json_free(header);
    return status;
}

/* ---------------------------------------------------------------------- writing */

/* {"dtype": "F32", "shape": [3, 4], "data_offsets": [0, 48]} */
static io_json *describe(const attsvm_array *array, int64_t begin, int64_t end)
{
    int type = 0;
    while (types[type].dtype != array->dtype || types[type].bfloat)
        type++;
    io_json *json = io_json_object();
    io_json_set(json, "dtype", io_json_text(types[type].name));
    io_json_set(json, "shape", io_json_integers(array->shape, array->ndim));
    io_json_set(json, "data_offsets", io_json_integers((int64_t[]){ begin, end }, 2));
    return json;
}

/* The header as text, padded with spaces to a multiple of eight bytes; the caller frees it. */
static attsvm_status make_header(const io_json *json, char **out, size_t *size, attsvm_error *err)
{
    *out = NULL;
    FILE *stream = open_memstream(out, size);
    if (!stream)
        return fail(err, ATTSVM_E_MEMORY, "no memory for the safetensors header");
    attsvm_status status = io_json_print(json, stream, false, err);
    fprintf(stream, "%8s", "");
    bool lost = ferror(stream) != 0; /* fclose alone may not report it */
    lost = fclose(stream) != 0 || lost || !*out || *size < 9;
    if (lost && status == ATTSVM_OK)
        status = fail(err, ATTSVM_E_MEMORY, "no memory for the safetensors header");
    if (status != ATTSVM_OK) {
        free(*out);
        *out = NULL;
        return status;
    }
    (*out)[*size - 9] = ' '; /* the newline */
    *size = *size / 8 * 8;
    if (*size > IO_SAFETENSORS_HEADER_MOST) {
        free(*out);
        return fail(err, ATTSVM_E_ARG, "the safetensors header would have more than %d bytes",
                    IO_SAFETENSORS_HEADER_MOST);
    }
    return ATTSVM_OK;
}

static attsvm_status write_header(io_file *file, const io_json *json, attsvm_error *err)
{
    char *text;
    size_t size;
    unsigned char length[8];
    TRY(make_header(json, &text, &size, err));
    for (int k = 0; k < 8; k++)
        length[k] = (unsigned char)((uint64_t)size >> (8 * k));
    attsvm_status status = io_file_write(file, length, sizeof length, err);
    if (status == ATTSVM_OK)
        status = io_file_write(file, text, size, err);
    free(text);
    return status;
}

/*
 * Arrays are ordered by element size, widest first, so that all are aligned (PyTorch requires
 * that); within a size, and in the header, the caller's order is kept.  Fills begin (count).
 */
static attsvm_status place(const io_source *sources, int64_t count, int64_t *begin,
                           attsvm_error *err)
{
    int64_t end = 0;
    for (size_t element = 8; element > 0; element /= 2) {
        for (int64_t k = 0; k < count; k++) {
            if (attsvm_dtype_size(sources[k].array.dtype) != element)
                continue;
            int64_t bytes = attsvm_array_count(&sources[k].array) * (int64_t)element;
            if (bytes > INT64_MAX - end)
                return fail(err, ATTSVM_E_ARG, "the arrays have more than 2^63 bytes");
            begin[k] = end;
            end += bytes;
        }
    }
    return ATTSVM_OK;
}

static attsvm_status write_all(io_file *file, const io_source *sources, int64_t count,
                               const int64_t *begin, io_json *header, attsvm_error *err)
{
    for (int64_t k = 0; k < count; k++) {
        const attsvm_array *array = &sources[k].array;
        int64_t bytes = attsvm_array_count(array) * (int64_t)attsvm_dtype_size(array->dtype);
        if (strcmp(sources[k].name, "__metadata__") == 0)
            return fail(err, ATTSVM_E_ARG, "no array in safetensors may be named __metadata__");
        io_json_set(header, sources[k].name, describe(array, begin[k], begin[k] + bytes));
    }
    TRY(write_header(file, header, err));
    for (size_t element = 8; element > 0; element /= 2)
        for (int64_t k = 0; k < count; k++)
            if (attsvm_dtype_size(sources[k].array.dtype) == element)
                TRY(io_elements_write(file, &sources[k], true, err));
    return ATTSVM_OK;
}

attsvm_status io_safetensors_write(io_file *file, const io_source *sources, int64_t count,
                                   const io_write_options *options, attsvm_error *err)
{
    (void)options;
    int64_t *begin;
    TRY(base_allocate(&begin, (size_t)count, sizeof *begin, "offsets", err));
    attsvm_status status = place(sources, count, begin, err);
    if (status == ATTSVM_OK) {
        io_json *header = io_json_object();
        status = write_all(file, sources, count, begin, header, err);
        io_json_free(header);
    }
    free(begin);
    return status;
}
