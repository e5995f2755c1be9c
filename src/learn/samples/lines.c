/*
 * Files of texts: lines `label<TAB>text`, or CSV with a header that has a column `text` and perhaps
 * `label`.  Lines without a tab are texts without a label, or comments if they begin with #.
 */
#include "learn/samples/samples.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool ends_with(const char *path, const char *ending)
{
    const size_t length = strlen(path), size = strlen(ending);
    return length >= size && strcmp(path + length - size, ending) == 0;
}

/* The file with a terminating NUL; the caller frees *bytes. */
static attsvm_status read_all(const char *path, char **bytes, size_t *size, attsvm_error *err)
{
    bool is_directory = false;
    void *base = NULL;
    *bytes = NULL;
    attsvm_status status = io_map_file(AT_FDCWD, path, &is_directory, &base, size, err);
    if (status == ATTSVM_OK && is_directory)
        status = fail(err, ATTSVM_E_FORMAT, "is a directory, not a file of texts");
    if (status == ATTSVM_OK)
        status = base_allocate(bytes, *size + 1, 1, "text", err);
    if (status == ATTSVM_OK && base)
        memcpy(*bytes, base, *size);
    if (base)
        munmap(base, *size);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, base_path_tail(path));
}

/* --------------------------------------------------------------------------------- CSV */

/* The next field of a CSV record, unquoted in place; *at moves behind it.  *more: another field
   follows in this record. */
static char *next_field(char **at, bool *more)
{
    char *from = *at, *value = from, *to = from;
    bool quoted = *from == '"';
    from += quoted;
    for (; *from; from++) {
        if (quoted && from[0] == '"' && from[1] == '"')
            from++;
        else if (quoted && from[0] == '"') {
            quoted = false;
            continue;
        } else if (!quoted && (*from == ',' || *from == '\n'))
            break;
        *to++ = *from;
    }
    *more = *from == ',';
    *at = *from ? from + 1 : from;
    if (!*more && to > value && to[-1] == '\r')
        to--;
    *to = '\0';
    return value;
}

/* Columns of `label` and `text` in a header; -1: missing.  Changes `header`. */
static void find_columns(char **header, int64_t *label, int64_t *text)
{
    bool more = true;
    *label = *text = -1;
    for (int64_t column = 0; more; column++) {
        const char *name = next_field(header, &more);
        if (strcmp(name, "label") == 0)
            *label = column;
        if (strcmp(name, "text") == 0)
            *text = column;
    }
}

static attsvm_status add(samples_lines *l, const char *label, const char *text, attsvm_error *err)
{
    if (!base_is_utf8(text) || (label && !base_is_utf8(label)))
        return fail(err, ATTSVM_E_FORMAT, "text %" PRId64 " is not UTF-8", l->count + 1);
    if (label && *label == '\0')
        return fail(err, ATTSVM_E_DATA, "text %" PRId64 " has an empty label", l->count + 1);
    const char **texts = io_grow(l->text, (size_t)l->count, 1, &l->capacity, sizeof *texts, err);
    if (!texts)
        return ATTSVM_E_MEMORY;
    l->text = texts;
    const char **labels =
        io_grow(l->label, (size_t)l->count, 1, &l->label_capacity, sizeof *labels, err);
    if (!labels)
        return ATTSVM_E_MEMORY;
    l->label = labels;
    l->text[l->count] = text;
    l->label[l->count++] = label;
    return ATTSVM_OK;
}

static attsvm_status read_records(samples_lines *l, char *at, int64_t label_column,
                                  int64_t text_column, attsvm_error *err)
{
    while (*at) {
        const char *label = NULL, *text = NULL;
        bool more = true, first = true;
        int64_t column = 0;
        for (; more; column++) {
            const char *value = next_field(&at, &more);
            label = column == label_column ? value : label;
            text = column == text_column ? value : text;
            first = first && column == 0 && !*value;
        }
        if (column == 1 && first)
            continue; /* an empty line */
        if (!text || (label_column >= 0 && !label))
            return fail(err, ATTSVM_E_FORMAT,
                        "record %" PRId64 " has %" PRId64
                        " fields; the header has columns up to %" PRId64,
                        l->count + 1, column,
                        (label_column > text_column ? label_column : text_column) + 1);
        TRY(add(l, label, text, err));
    }
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------------- lines */

static attsvm_status read_lines(samples_lines *l, char *at, attsvm_error *err)
{
    while (*at) {
        char *end = at + strcspn(at, "\n"), *next = *end ? end + 1 : end;
        *end = '\0';
        if (end > at && end[-1] == '\r')
            *--end = '\0';
        char *tab = strchr(at, '\t');
        if (tab)
            *tab = '\0';
        if (end > at && (tab || *at != '#')) /* others that begin with # are comments */
            TRY(add(l, tab ? at : NULL, tab ? tab + 1 : at, err));
        at = next;
    }
    return ATTSVM_OK;
}

/* The first line of a file as a header of CSV: a copy, cut short. */
static bool has_text_column(const char *bytes, int64_t *label, int64_t *text)
{
    char header[1024], *at = header;
    size_t size = strcspn(bytes, "\n");
    *label = *text = -1;
    if (size >= sizeof header)
        return false;
    memcpy(header, bytes, size);
    header[size] = '\0';
    find_columns(&at, label, text);
    return *text >= 0;
}

attsvm_status samples_is_text(const char *path, bool *out, attsvm_error *err)
{
    char *bytes;
    size_t size;
    int64_t label, text;
    *out = ends_with(path, ".txt");
    if (*out || !ends_with(path, ".csv"))
        return ATTSVM_OK;
    TRY(read_all(path, &bytes, &size, err));
    *out = has_text_column(bytes, &label, &text);
    free(bytes);
    return ATTSVM_OK;
}

/* The lines of out->bytes, which holds `size` bytes and a NUL. */
static attsvm_status cut(samples_lines *out, size_t size, attsvm_error *err)
{
    int64_t label, text;
    char *at = out->bytes;
    if (size >= 3 && memcmp(at, "\xef\xbb\xbf", 3) == 0)
        at += 3; /* byte order mark */
    if (memchr(out->bytes, '\0', size))
        return fail(err, ATTSVM_E_FORMAT,
                    "not a file of texts (it holds a zero byte); expected lines label<TAB>text or "
                    "text, or CSV with a column text");
    if (has_text_column(at, &label, &text))
        TRY(read_records(out, at + strcspn(at, "\n") + (strchr(at, '\n') != NULL), label, text,
                         err));
    else
        TRY(read_lines(out, at, err));
    if (out->count == 0)
        return fail(err, ATTSVM_E_FORMAT, "holds no text; expected lines label<TAB>text");
    return ATTSVM_OK;
}

attsvm_status samples_lines_read(samples_lines *out, const char *path, attsvm_error *err)
{
    size_t size;
    *out = (samples_lines){ 0 };
    TRY(read_all(path, &out->bytes, &size, err));
    const attsvm_status status = cut(out, size, err);
    if (status == ATTSVM_OK)
        return ATTSVM_OK;
    samples_lines_free(out);
    return base_fail_in(err, status, base_path_tail(path));
}

attsvm_status samples_lines_parse(samples_lines *out, const char *bytes, size_t size,
                                  attsvm_error *err)
{
    *out = (samples_lines){ 0 };
    TRY(base_allocate(&out->bytes, size + 1, 1, "text", err));
    memcpy(out->bytes, bytes, size);
    const attsvm_status status = cut(out, size, err);
    if (status != ATTSVM_OK)
        samples_lines_free(out);
    return status;
}

void samples_lines_free(samples_lines *lines)
{
    free(lines->text);
    free(lines->label);
    free(lines->bytes);
    *lines = (samples_lines){ 0 };
}
