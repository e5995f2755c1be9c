/*
 * The npy format: a magic string, a version, a Python dictionary that names type, memory order and
 * shape, and the elements.  The header parser accepts what numpy writes and nothing else, so that a
 * damaged header is refused.
 */
#include "io/format/format.h"

#include <stdlib.h>
#include <string.h>

typedef struct cursor {
    const unsigned char *at, *end;
} cursor;

static const struct {
    char kind, size;
    attsvm_dtype dtype;
} types[] = {
    { 'f', 2, ATTSVM_F16 }, { 'f', 4, ATTSVM_F32 }, { 'f', 8, ATTSVM_F64 }, { 'b', 1, ATTSVM_BOOL },
    { 'i', 1, ATTSVM_I8 },  { 'i', 2, ATTSVM_I16 }, { 'i', 4, ATTSVM_I32 }, { 'i', 8, ATTSVM_I64 },
    { 'u', 1, ATTSVM_U8 },  { 'u', 2, ATTSVM_U16 }, { 'u', 4, ATTSVM_U32 }, { 'u', 8, ATTSVM_U64 },
};

enum { TYPES = sizeof types / sizeof *types };

static void skip_spaces(cursor *c)
{
    while (c->at < c->end && *c->at == ' ')
        c->at++;
}

/* Takes `character` after any spaces. */
static bool take_character(cursor *c, char character)
{
    skip_spaces(c);
    if (c->at == c->end || *c->at != (unsigned char)character)
        return false;
    c->at++;
    return true;
}

static bool take_word(cursor *c, const char *word)
{
    size_t length = strlen(word);
    skip_spaces(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

/* A short string in either kind of quotes, without escapes. */
static bool take_string(cursor *c, char *out, size_t size)
{
    skip_spaces(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    unsigned char quote = *c->at++;
    size_t length = 0;
    while (c->at < c->end && *c->at != quote) {
        if (*c->at == '\\' || *c->at < ' ' || *c->at > '~' || length + 1 >= size)
            return false;
        out[length++] = (char)*c->at++;
    }
    out[length] = '\0';
    return take_character(c, (char)quote);
}

static attsvm_status bad_header(const char *why, attsvm_error *err)
{
    return fail(err, ATTSVM_E_FORMAT, "its npy header %s", why);
}

static attsvm_status take_dimension(cursor *c, int64_t *out, attsvm_error *err)
{
    skip_spaces(c);
    const unsigned char *start = c->at;
    int64_t value = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        int digit = *c->at - '0';
        if (value > (INT64_MAX - digit) / 10)
            return bad_header("has a dimension beyond 2^63 - 1", err);
        value = 10 * value + digit;
    }
    if (c->at == start)
        return bad_header(c->at < c->end && *c->at == '-' ? "has a negative dimension"
                                                          : "has a shape that is not a tuple "
                                                            "of integers",
                          err);
    if (c->at - start > 1 && *start == '0')
        return bad_header("has a dimension with a leading zero", err);
    *out = value;
    return ATTSVM_OK;
}

/* (), (3,), (3, 4) */
static attsvm_status take_shape(cursor *c, io_npy *npy, attsvm_error *err)
{
    attsvm_array *array = &npy->array;
    if (!take_character(c, '('))
        return bad_header("has a shape that is not a tuple", err);
    array->ndim = 0;
    bool comma = true;
    while (!take_character(c, ')')) {
        if (!comma)
            return bad_header("has a shape without a comma between dimensions", err);
        npy->foreign = array->ndim == ATTSVM_MAX_DIMS;
        if (npy->foreign)
            return fail(err, ATTSVM_E_FORMAT, "it has more than %d dimensions", ATTSVM_MAX_DIMS);
        TRY(take_dimension(c, &array->shape[array->ndim++], err));
        comma = take_character(c, ',');
    }
    if (array->ndim == 1 && !comma)
        return bad_header("has a shape that is not a tuple", err);
    return ATTSVM_OK;
}

static const char *unsupported_kind(char kind)
{
    switch (kind) {
    case 'O': return "Python objects";
    case 'c': return "complex numbers";
    case 'S':
    case 'a':
    case 'U': return "text";
    case 'V': return "raw or structured records";
    case 'M':
    case 'm': return "dates or time spans";
    default: return NULL;
    }
}

/* "<f8": byte order, kind, size in bytes. */
static attsvm_status parse_descr(const char *descr, io_npy *npy, attsvm_error *err)
{
    char order = descr[0];
    if (order != '<' && order != '>' && order != '|')
        return fail(err, ATTSVM_E_FORMAT, "its type '%s' does not begin with <, > or |", descr);
    const char *what = unsupported_kind(descr[1]);
    npy->foreign = what || strcmp(descr + 1, "f12") == 0 || strcmp(descr + 1, "f16") == 0;
    if (what)
        return fail(err, ATTSVM_E_FORMAT,
                    "its type '%s' means %s; only bool, integers and float16/32/64 can be read",
                    descr, what);
    for (int k = 0; k < TYPES; k++) {
        if (descr[1] != types[k].kind || descr[2] != '0' + types[k].size || descr[3] != '\0')
            continue;
        if (order == '|' && types[k].size > 1)
            return fail(err, ATTSVM_E_FORMAT, "its type '%s' does not tell the byte order", descr);
        npy->array.dtype = types[k].dtype;
        npy->swapped = types[k].size > 1 && (order == '<') != io_little_endian();
        return ATTSVM_OK;
    }
    return fail(err, ATTSVM_E_FORMAT,
                "its type '%s' is not one of bool, int8..int64, uint8..uint64, float16/32/64",
                descr);
}

static attsvm_status take_type(cursor *c, io_npy *npy, attsvm_error *err)
{
    skip_spaces(c);
    npy->foreign = c->at < c->end && (*c->at == '[' || *c->at == '{' || *c->at == '(');
    if (npy->foreign)
        return fail(err, ATTSVM_E_FORMAT, "its elements are structured records, not numbers");
    char descr[16] = "";
    if (!take_string(c, descr, sizeof descr))
        return bad_header("has no type that can be read", err);
    return parse_descr(descr, npy, err);
}

static attsvm_status take_order(cursor *c, io_npy *npy, attsvm_error *err)
{
    if (take_word(c, "True"))
        npy->fortran = true;
    else if (take_word(c, "False"))
        npy->fortran = false;
    else
        return bad_header("has a fortran_order that is neither True nor False", err);
    return ATTSVM_OK;
}

/* The dictionary: three keys in any order, each once. */
static attsvm_status take_dictionary(cursor *c, io_npy *npy, attsvm_error *err)
{
    static const char *const keys[] = { "descr", "fortran_order", "shape" };
    bool seen[3] = { false, false, false };
    bool comma = true;
    if (!take_character(c, '{'))
        return bad_header("is not a dictionary", err);
    while (!take_character(c, '}')) {
        char key[16];
        int which = 0;
        if (!comma || !take_string(c, key, sizeof key) || !take_character(c, ':'))
            return bad_header("is not a dictionary of descr, fortran_order and shape", err);
        while (which < 3 && strcmp(key, keys[which]) != 0)
            which++;
        if (which == 3)
            return fail(err, ATTSVM_E_FORMAT, "its npy header has an unknown key '%s'", key);
        if (seen[which])
            return fail(err, ATTSVM_E_FORMAT, "its npy header has the key '%s' twice", key);
        seen[which] = true;
        TRY(which == 0   ? take_type(c, npy, err)
            : which == 1 ? take_order(c, npy, err)
                         : take_shape(c, npy, err));
        comma = take_character(c, ',');
    }
    for (int k = 0; k < 3; k++)
        if (!seen[k])
            return fail(err, ATTSVM_E_FORMAT, "its npy header has no '%s'", keys[k]);
    return ATTSVM_OK;
}

/* Bytes before the dictionary: magic, version, and a length of two or four bytes. */
static size_t preamble(const unsigned char *bytes)
{
    return bytes[6] == 1 ? 10 : 12;
}

attsvm_status io_npy_measure(const unsigned char first[12], size_t *header_size, attsvm_error *err)
{
    if (memcmp(first, "\x93NUMPY", 6) != 0)
        return fail(err, ATTSVM_E_FORMAT, "it does not begin like an npy file");
    if (first[6] < 1 || first[6] > 3 || first[7] != 0)
        return fail(err, ATTSVM_E_FORMAT, "it is of npy version %d.%d; 1.0 to 3.0 can be read",
                    first[6], first[7]);
    size_t length = (size_t)first[8] | (size_t)first[9] << 8;
    if (first[6] > 1)
        length |= (size_t)first[10] << 16 | (size_t)first[11] << 24;
    if (length > IO_NPY_HEADER_MOST)
        return fail(err, ATTSVM_E_FORMAT, "its npy header of %zu bytes is longer than %d", length,
                    IO_NPY_HEADER_MOST);
    *header_size = preamble(first) + length;
    return ATTSVM_OK;
}

attsvm_status io_npy_parse(io_npy *npy, const unsigned char *bytes, size_t header_size,
                           attsvm_error *err)
{
    memset(npy, 0, sizeof *npy);
    cursor c = { bytes + preamble(bytes), bytes + header_size };
    TRY(take_dictionary(&c, npy, err));
    skip_spaces(&c);
    if (c.end - c.at != 1 || *c.at != '\n')
        return bad_header("does not end in spaces and one newline", err);
    npy->header_size = header_size;
    int64_t count;
    if (!base_shape_count(npy->array.shape, npy->array.ndim, &count) ||
        !base_multiply((size_t)count, attsvm_dtype_size(npy->array.dtype), &npy->data_size) ||
        npy->data_size > (size_t)PTRDIFF_MAX - IO_NPY_HEADER_MOST - 12) {
        char shape[IO_SHAPE_SIZE];
        attsvm_array_shape_text(&npy->array, shape, sizeof shape);
        return fail(err, ATTSVM_E_FORMAT, "its shape %s is too large for any memory", shape);
    }
    return ATTSVM_OK;
}

attsvm_status io_npy_check_size(const io_npy *npy, uint64_t size, attsvm_error *err)
{
    uint64_t expected = npy->header_size + npy->data_size;
    if (size == expected)
        return ATTSVM_OK;
    char shape[IO_SHAPE_SIZE];
    attsvm_array_shape_text(&npy->array, shape, sizeof shape);
    return fail(
        err, ATTSVM_E_FORMAT,
        "it has %" PRIu64 " byte%s, but its header says shape %s of %s, which makes %" PRIu64, size,
        base_plural((int64_t)size), shape, attsvm_dtype_name(npy->array.dtype), expected);
}

/*
 * Column-major to row-major.  The first index is contiguous in `in`, the last in `out`: these two
 * are traversed in tiles, so that both sides stay in the cache, for each value of the other
 * indices.
 */
static void reverse_order(const attsvm_array *array, const unsigned char *in, unsigned char *out)
{
    enum { TILE = 32 };
    int last = array->ndim - 1;
    size_t size = attsvm_dtype_size(array->dtype);
    size_t from[ATTSVM_MAX_DIMS], to[ATTSVM_MAX_DIMS]; /* strides in bytes */
    from[0] = to[last] = size;
    for (int k = 1; k <= last; k++) {
        from[k] = from[k - 1] * (size_t)array->shape[k - 1];
        to[last - k] = to[last - k + 1] * (size_t)array->shape[last - k + 1];
    }
    int64_t index[ATTSVM_MAX_DIMS] = { 0 };
    int64_t rows = array->shape[0], columns = array->shape[last];
    for (;;) {
        size_t source = 0, target = 0;
        for (int k = 1; k < last; k++) {
            source += (size_t)index[k] * from[k];
            target += (size_t)index[k] * to[k];
        }
        for (int64_t i0 = 0; i0 < rows; i0 += TILE)
            for (int64_t j0 = 0; j0 < columns; j0 += TILE)
                for (int64_t i = i0; i < rows && i < i0 + TILE; i++)
                    for (int64_t j = j0; j < columns && j < j0 + TILE; j++)
                        memcpy(out + target + (size_t)i * to[0] + (size_t)j * size,
                               in + source + (size_t)i * size + (size_t)j * from[last], size);
        int k = last - 1;
        while (k > 0 && ++index[k] == array->shape[k])
            index[k--] = 0;
        if (k <= 0)
            return;
    }
}

attsvm_status io_npy_arrange(const io_npy *npy, void **data, attsvm_error *err)
{
    size_t size = attsvm_dtype_size(npy->array.dtype);
    if (npy->swapped)
        io_swap_bytes(*data, npy->data_size / size, size);
    if (npy->fortran && npy->array.ndim > 1 && npy->data_size > 0) {
        void *copy;
        TRY(base_reserve(&copy, npy->data_size, "its copy in row-major order", err));
        reverse_order(&npy->array, *data, copy);
        free(*data);
        *data = copy;
    }
    return ATTSVM_OK;
}

/* Copies the elements out of `bytes`, arranged. */
static attsvm_status copy_elements(const io_npy *npy, const unsigned char *bytes, void **memory,
                                   attsvm_error *err)
{
    TRY(base_reserve(memory, npy->data_size, "its elements", err));
    memcpy(*memory, bytes, npy->data_size);
    attsvm_status status = io_npy_arrange(npy, memory, err);
    if (status != ATTSVM_OK) {
        free(*memory);
        *memory = NULL;
    }
    return status;
}

bool io_format_is_npy(const unsigned char *bytes, size_t size)
{
    return size >= 6 && memcmp(bytes, "\x93NUMPY", 6) == 0;
}

attsvm_status io_npy_read(attsvm_archive *archive, const char *name, const void *bytes, size_t size,
                          const attsvm_read_settings *settings, attsvm_error *err)
{
    (void)settings;
    if (size < 12)
        return fail(err, ATTSVM_E_FORMAT, "it has %zu byte%s, fewer than any npy header", size,
                    base_plural((int64_t)size));
    size_t header_size = 0;
    TRY(io_npy_measure(bytes, &header_size, err));
    if (header_size > size)
        return fail(err, ATTSVM_E_FORMAT, "it has %zu byte%s, but its npy header alone has %zu",
                    size, base_plural((int64_t)size), header_size);
    io_npy npy;
    attsvm_status status = io_npy_parse(&npy, bytes, header_size, err);
    if (status != ATTSVM_OK)
        return npy.foreign ? io_archive_leave_out(archive, name, status, err) : status;
    TRY(io_npy_check_size(&npy, size, err));
    attsvm_array array = npy.array;
    void *memory = NULL;
    const unsigned char *elements = (const unsigned char *)bytes + header_size;
    array.data = elements;
    if (npy.swapped || npy.fortran || npy.data_size < IO_MAP_FROM) {
        TRY(copy_elements(&npy, elements, &memory, err));
        array.data = memory;
    }
    return io_archive_add(archive, name, &array, memory, err);
}

/* The dictionary as numpy writes it, padded so that the elements begin at a multiple of 64. */
size_t io_npy_header(const attsvm_array *array, unsigned char header[IO_NPY_HEADER_SIZE])
{
    static const char kinds[] = "ffbiiiiuuuu";
    size_t size = attsvm_dtype_size(array->dtype);
    char kind = array->dtype == ATTSVM_F16 ? 'f' : kinds[array->dtype - ATTSVM_F32];
    char order = size == 1 ? '|' : io_little_endian() ? '<' : '>';
    char *text = (char *)header;
    size_t most = IO_NPY_HEADER_SIZE;
    size_t used = 10 + (size_t)snprintf(text + 10, most - 10,
                                        "{'descr': '%c%c%zu', 'fortran_order': False, 'shape': (",
                                        order, kind, size);
    for (int k = 0; k < array->ndim; k++)
        used += (size_t)snprintf(text + used, most - used, "%s%" PRId64, k ? ", " : "",
                                 array->shape[k]);
    used += (size_t)snprintf(text + used, most - used, "%s), }", array->ndim == 1 ? "," : "");
    size_t total = (used + 1 + 63) / 64 * 64;
    memset(header + used, ' ', total - used);
    header[total - 1] = '\n';
    memcpy(header, "\x93NUMPY\x01\x00", 8);
    header[8] = (unsigned char)((total - 10) & 0xff);
    header[9] = (unsigned char)((total - 10) >> 8);
    return total;
}

attsvm_status io_npy_write(io_file *file, const io_source *sources, int64_t count,
                           const io_write_options *options, attsvm_error *err)
{
    unsigned char header[IO_NPY_HEADER_SIZE];
    (void)count, (void)options;
    TRY(io_file_write(file, header, io_npy_header(&sources[0].array, header), err));
    return io_elements_write(file, &sources[0], false, err);
}
