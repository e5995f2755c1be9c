/*
 * Writes CSV and TSV: bag, label, features, one row per token; numbers have enough digits to read
 * the same value back.
 */
#include "io/format/format.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The arrays that a table can hold. */
typedef struct content {
    const io_source *X, *offsets, *Y, *names;
    int64_t n, d;
    int64_t *first; /* (n+1) first token of each bag */
    double *label;  /* (n)                           */
} content;

/* `count` names, each with a newline after it. */
static bool names_fit(const attsvm_array *names, int64_t count)
{
    const int64_t size = attsvm_array_count(names);
    const char *bytes = names->data;
    int64_t lines = 0;
    if (names->dtype != ATTSVM_U8 || size < 1 || bytes[size - 1] != '\n')
        return false;
    for (int64_t k = 0; k < size; k++)
        lines += bytes[k] == '\n';
    return lines == count;
}

static attsvm_status find_content(content *c, const io_source *sources, int64_t count,
                                  attsvm_error *err)
{
    char name[BASE_NAME_SIZE];
    for (int64_t k = 0; k < count; k++) {
        const io_source *source = &sources[k];
        if (strcmp(source->name, "X") == 0)
            c->X = source;
        else if (strcmp(source->name, "offsets") == 0)
            c->offsets = source;
        else if (!c->Y && (strcmp(source->name, "Y") == 0 || strcmp(source->name, "y") == 0))
            c->Y = source;
        else if (strcmp(source->name, "bag_names") == 0 && source->array.data)
            c->names = source;
        else
            return fail(err, ATTSVM_E_ARG,
                        "a table holds X, offsets, Y and bag_names, not '%s'; write .npz instead",
                        base_printable(source->name, name));
    }
    if (!c->X || !c->Y)
        return fail(err, ATTSVM_E_ARG, "a table needs %s", c->X ? "labels Y" : "tokens X");
    const attsvm_array *X = &c->X->array;
    if (!(X->ndim == 3 && !c->offsets) && !(X->ndim == 2 && c->offsets))
        return fail(err, ATTSVM_E_ARG, "a table needs X (n,T,d), or X (N,d) with offsets (n+1)");
    c->d = X->shape[X->ndim - 1];
    c->n = c->offsets ? attsvm_array_count(&c->offsets->array) - 1 : X->shape[0];
    if (c->n < 1 || c->d < 1 || (!c->offsets && X->shape[1] < 1))
        return fail(err, ATTSVM_E_ARG,
                    "a table needs at least one bag and one feature, and no empty bag");
    if (c->names && !names_fit(&c->names->array, c->n))
        return fail(err, ATTSVM_E_ARG,
                    "bag_names must hold %" PRId64 " name%s: uint8 bytes with a newline after each",
                    c->n, base_plural(c->n));
    if (attsvm_array_count(&c->Y->array) != c->n)
        return fail(err, ATTSVM_E_ARG, "Y has %" PRId64 " label%s for %" PRId64 " bag%s",
                    attsvm_array_count(&c->Y->array), base_plural(attsvm_array_count(&c->Y->array)),
                    c->n, base_plural(c->n));
    return ATTSVM_OK;
}

/* Integers beyond 2^53 would be rounded to double. */
static attsvm_status value_at(const attsvm_array *array, int64_t index, const char *name,
                              int64_t shown, double *out, attsvm_error *err)
{
    *out = attsvm_array_get(array, index);
    bool wide = array->dtype == ATTSVM_I64 || array->dtype == ATTSVM_U64;
    if (!isfinite(*out) || (wide && fabs(*out) > 9007199254740992.0))
        return fail(err, ATTSVM_E_ARG,
                    "%s, element %" PRId64 " is %g; a table holds finite "
                    "numbers, and integers up to 2^53",
                    name, shown, *out);
    return ATTSVM_OK;
}

/* Calls `visit` with every element of a source as double. */
typedef attsvm_status visitor(void *context, int64_t index, double value, attsvm_error *err);

static attsvm_status visit_source(const io_source *source, visitor *visit, void *context,
                                  attsvm_error *err)
{
    io_pieces pieces;
    TRY(io_pieces_open(&pieces, source, err));
    attsvm_status status;
    size_t size;
    do {
        int64_t first = pieces.next;
        const void *bytes;
        status = io_pieces_next(&pieces, &bytes, &size, err);
        attsvm_array piece = { .data = bytes, .ndim = 1, .dtype = source->array.dtype };
        piece.shape[0] = (int64_t)(size / pieces.element);
        for (int64_t k = 0; status == ATTSVM_OK && k < piece.shape[0]; k++) {
            double value;
            status = value_at(&piece, k, source->name, first + k, &value, err);
            if (status == ATTSVM_OK)
                status = visit(context, first + k, value, err);
        }
    } while (status == ATTSVM_OK && size > 0);
    io_pieces_close(&pieces);
    return status;
}

static attsvm_status keep_label(void *context, int64_t index, double value, attsvm_error *err)
{
    content *c = context;
    if (value != -1 && value != 0 && value != 1)
        return fail(err, ATTSVM_E_ARG, "Y[%" PRId64 "] = %g; labels are -1 and 1, or 0 and 1",
                    index, value);
    c->label[index] = value;
    return ATTSVM_OK;
}

static attsvm_status keep_offset(void *context, int64_t index, double value, attsvm_error *err)
{
    content *c = context;
    int64_t N = c->X->array.shape[0];
    double lowest = index == 0 ? 0 : (double)c->first[index - 1] + 1;
    bool last = index == c->n;
    if (value != floor(value) || value < lowest || value > (double)N ||
        (index == 0 && value != 0) || (last && value != (double)N))
        return fail(err, ATTSVM_E_ARG,
                    "offsets[%" PRId64 "] = %g; offsets rise from 0 to the %" PRId64
                    " token%s, and a table has no empty bag",
                    index, value, N, base_plural(N));
    c->first[index] = (int64_t)value;
    return ATTSVM_OK;
}

static attsvm_status read_bags(content *c, attsvm_error *err)
{
    TRY(base_allocate(&c->first, (size_t)c->n + 1, sizeof *c->first, "offsets", err));
    TRY(base_allocate(&c->label, (size_t)c->n, sizeof *c->label, "labels", err));
    TRY(visit_source(c->Y, keep_label, c, err));
    if (c->offsets)
        return visit_source(c->offsets, keep_offset, c, err);
    for (int64_t i = 0; i <= c->n; i++)
        c->first[i] = i * c->X->array.shape[1];
    return ATTSVM_OK;
}

typedef struct printer {
    const content *content;
    io_file *file;
    char separator;
    int64_t bag;      /* of the current token             */
    const char *name; /* of that bag, up to '\n', or NULL */
} printer;

/* The first field of a row: the name of the bag, quoted if necessary, or its number. */
static attsvm_status print_bag(printer *p, attsvm_error *err)
{
    char number[32];
    const char *name = p->name, *end = name ? strchr(name, '\n') : NULL;
    if (!name) {
        int size = snprintf(number, sizeof number, "%" PRId64, p->bag);
        return io_file_write(p->file, number, (size_t)size, err);
    }
    const size_t size = (size_t)(end - name);
    if (size > 0 && !memchr(name, p->separator, size) && !memchr(name, '"', size))
        return io_file_write(p->file, name, size, err);
    TRY(io_file_write(p->file, "\"", 1, err));
    for (; name < end; name++)
        TRY(io_file_write(p->file, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1, err));
    return io_file_write(p->file, "\"", 1, err);
}

static attsvm_status print_value(void *context, int64_t index, double value, attsvm_error *err)
{
    printer *p = context;
    const content *c = p->content;
    int64_t token = index / c->d, feature = index % c->d;
    char text[64];
    if (token == c->first[p->bag + 1]) {
        p->bag++;
        p->name = p->name ? strchr(p->name, '\n') + 1 : NULL;
    }
    if (feature == 0) {
        TRY(print_bag(p, err));
        int size = snprintf(text, sizeof text, "%c%d", p->separator, (int)c->label[p->bag]);
        TRY(io_file_write(p->file, text, (size_t)size, err));
    }
    text[0] = p->separator;
    size_t size = 1 + io_print_number(value, text + 1);
    if (feature == c->d - 1)
        text[size++] = '\n';
    return io_file_write(p->file, text, size, err);
}

static attsvm_status print_titles(const printer *p, attsvm_error *err)
{
    char text[32];
    int size = snprintf(text, sizeof text, "bag%clabel", p->separator);
    TRY(io_file_write(p->file, text, (size_t)size, err));
    for (int64_t k = 0; k < p->content->d; k++) {
        size = snprintf(text, sizeof text, "%cx%" PRId64, p->separator, k);
        TRY(io_file_write(p->file, text, (size_t)size, err));
    }
    return io_file_write(p->file, "\n", 1, err);
}

static attsvm_status write_table(io_file *file, const io_source *sources, int64_t count,
                                 char separator, attsvm_error *err)
{
    content c = { 0 };
    printer p = { .content = &c, .file = file, .separator = separator };
    attsvm_status status = find_content(&c, sources, count, err);
    if (status == ATTSVM_OK)
        status = read_bags(&c, err);
    if (status == ATTSVM_OK)
        status = print_titles(&p, err);
    p.name = c.names ? c.names->array.data : NULL;
    if (status == ATTSVM_OK)
        status = visit_source(c.X, print_value, &p, err);
    free(c.first);
    free(c.label);
    return status;
}

attsvm_status io_csv_write(io_file *file, const io_source *sources, int64_t count,
                           const io_write_options *options, attsvm_error *err)
{
    (void)options;
    return write_table(file, sources, count, ',', err);
}

attsvm_status io_csv_write_tabs(io_file *file, const io_source *sources, int64_t count,
                                const io_write_options *options, attsvm_error *err)
{
    (void)options;
    return write_table(file, sources, count, '\t', err);
}
