/*
 * Reads CSV and TSV: one row per token, columns bag, label, features.  Rows of a bag are contiguous
 * and have one label.  Fields may be quoted as in RFC 4180; a first row of titles is recognised.
 */
#include "io/format/format.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A field, in place in the file; `quoted` ones without the outer quotes. */
typedef struct field_text {
    const char *text;
    size_t size;
    bool quoted;
} field_text;

enum { UNLABELLED = 2 }; /* the label column is empty in every row */

typedef struct bag {
    size_t name; /* in `names` */
    int64_t line, first;
    int8_t label;
} bag;

typedef struct table {
    const char *at, *end;
    char separator;
    int64_t skip; /* columns before the bag: 1 if rows begin with their number */
    int64_t line; /* of the row that is being read, from 1                     */
    int64_t lines_in_row;
    field_text *fields; /* of one row, `columns` of them */
    int64_t columns;
    size_t field_capacity;
    double *X; /* (rows, columns - 2) */
    int64_t rows;
    size_t X_capacity;
    bag *bags;
    int64_t count;
    size_t bag_capacity;
    char *names; /* of bags, each with its NUL */
    size_t names_size, names_capacity;
} table;

/* From the opening to the closing quote; two quotes inside stand for one. */
static attsvm_status take_quoted(table *t, field_text *out, attsvm_error *err)
{
    const char *start = ++t->at;
    for (;; t->at++) {
        if (t->at == t->end)
            return fail(err, ATTSVM_E_FORMAT, "line %" PRId64 ": a quoted field does not end",
                        t->line);
        if (*t->at == '\n')
            t->lines_in_row++;
        if (*t->at != '"')
            continue;
        if (t->at + 1 < t->end && t->at[1] == '"')
            t->at++;
        else
            break;
    }
    *out = (field_text){ start, (size_t)(t->at - start), true };
    t->at++;
    if (t->at < t->end && *t->at != t->separator && *t->at != '\n' && *t->at != '\r')
        return fail(err, ATTSVM_E_FORMAT, "line %" PRId64 ": text follows a quoted field", t->line);
    return ATTSVM_OK;
}

static attsvm_status take_plain(table *t, field_text *out, attsvm_error *err)
{
    const char *start = t->at;
    while (t->at < t->end && *t->at != t->separator && *t->at != '\n' && *t->at != '\r') {
        if (*t->at == '"' || *t->at == '\0')
            return fail(err, ATTSVM_E_FORMAT, "line %" PRId64 ": a stray %s", t->line,
                        *t->at ? "quote" : "zero byte");
        t->at++;
    }
    *out = (field_text){ start, (size_t)(t->at - start), false };
    return ATTSVM_OK;
}

/* Takes \n, \r\n or the end of the file; false if there is something else. */
static bool take_line_end(table *t)
{
    if (t->at == t->end)
        return true;
    if (*t->at == '\r' && t->at + 1 < t->end && t->at[1] == '\n')
        t->at++;
    if (*t->at != '\n')
        return false;
    t->at++;
    return true;
}

/* The fields of the next row that is not empty, without skipped columns; *count = 0 at the end of
   the file. */
static attsvm_status take_row(table *t, int64_t *count, attsvm_error *err)
{
    *count = 0;
    do {
        t->line += t->lines_in_row;
        t->lines_in_row = 1;
        if (t->at == t->end)
            return ATTSVM_OK;
    } while (take_line_end(t));
    for (;;) {
        field_text *fields =
            io_grow(t->fields, (size_t)*count, 1, &t->field_capacity, sizeof *fields, err);
        if (!fields)
            return ATTSVM_E_MEMORY;
        t->fields = fields;
        field_text *out = &fields[(*count)++];
        TRY(t->at < t->end && *t->at == '"' ? take_quoted(t, out, err) : take_plain(t, out, err));
        if (t->at < t->end && *t->at == t->separator)
            t->at++;
        else
            break;
    }
    if (!take_line_end(t))
        return fail(err, ATTSVM_E_FORMAT, "line %" PRId64 ": a carriage return without a newline",
                    t->line);
    *count -= *count > t->skip ? t->skip : 0;
    memmove(t->fields, t->fields + t->skip, (size_t)*count * sizeof *t->fields);
    return ATTSVM_OK;
}

/* Spaces around a number do not matter. */
static bool number_of(const field_text *f, double *out)
{
    const char *text = f->text;
    size_t size = f->size;
    for (; size > 0 && *text == ' '; text++)
        size--;
    while (size > 0 && text[size - 1] == ' ')
        size--;
    return io_parse_number(text, size, out);
}

/* How other programs write a value that is missing or not finite. */
static bool is_no_number(const field_text *f)
{
    static const char *const words[] = { "nan", "inf", "infinity", "na", "null", "none", "?" };
    const char *text = f->text;
    size_t size = f->size;
    if (size > 1 && (*text == '-' || *text == '+')) {
        text++;
        size--;
    }
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (size == strlen(words[k]) && strncasecmp(text, words[k], size) == 0)
            return true;
    return false;
}

static const char *show(const field_text *f, char out[BASE_NAME_SIZE])
{
    char text[BASE_NAME_SIZE];
    size_t size = f->size < sizeof text ? f->size : sizeof text - 1;
    memcpy(text, f->text, size);
    text[size] = '\0';
    return base_printable(text, out);
}

static attsvm_status bad_number(const table *t, int64_t column, attsvm_error *err)
{
    char text[BASE_NAME_SIZE];
    const field_text *f = &t->fields[column];
    if (f->size == 0)
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 ", column %" PRId64 ": the field is empty", t->line,
                    column + 1);
    return fail(err, ATTSVM_E_FORMAT,
                "line %" PRId64 ", column %" PRId64 ": '%s' is not a finite number", t->line,
                column + 1, show(f, text));
}

static bool is_label_title(const field_text *f)
{
    static const char *const labels[] = { "label", "labels", "y", "class", "target" };
    for (size_t k = 0; k < sizeof labels / sizeof *labels; k++)
        if (f->size == strlen(labels[k]) && strncasecmp(f->text, labels[k], f->size) == 0)
            return true;
    return false;
}

/*
 * A title row: the second field is "label" or similar, or no field after the first is a number.
 * One mistyped number, NaN or infinity does not make a title row, so it is reported, not dropped.
 */
static bool is_title_row(const table *t, int64_t count)
{
    double number;
    if (count > 1 && is_label_title(&t->fields[1]))
        return true;
    for (int64_t k = 1; k < count; k++)
        if (t->fields[k].size == 0 || number_of(&t->fields[k], &number) ||
            is_no_number(&t->fields[k]))
            return false;
    return true;
}

/* Appends the text of the first field, with doubled quotes undone, to `names`. */
static attsvm_status copy_name(table *t, attsvm_error *err)
{
    const field_text *f = &t->fields[0];
    char *names = io_grow(t->names, t->names_size, f->size + 1, &t->names_capacity, 1, err);
    if (!names)
        return ATTSVM_E_MEMORY;
    t->names = names;
    char *out = t->names + t->names_size;
    for (size_t k = 0; k < f->size; k++) {
        if (f->text[k] == '\0')
            return fail(err, ATTSVM_E_FORMAT, "line %" PRId64 ": a stray zero byte", t->line);
        *out++ = f->text[k];
        if (f->quoted && f->text[k] == '"')
            k++;
    }
    *out = '\0';
    return ATTSVM_OK;
}

/* Starts a new bag if the name of the row differs from that of the current one. */
static attsvm_status take_bag(table *t, int8_t label, attsvm_error *err)
{
    TRY(copy_name(t, err));
    const char *name = t->names + t->names_size;
    char text[BASE_NAME_SIZE];
    if (t->count > 0 && strcmp(t->names + t->bags[t->count - 1].name, name) == 0) {
        const bag *current = &t->bags[t->count - 1];
        if (label == current->label)
            return ATTSVM_OK;
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 ": bag '%s' has label %d, but %d in line %" PRId64, t->line,
                    base_printable(name, text), label, current->label, current->line);
    }
    bag *bags = io_grow(t->bags, (size_t)t->count, 1, &t->bag_capacity, sizeof *bags, err);
    if (!bags)
        return ATTSVM_E_MEMORY;
    t->bags = bags;
    t->bags[t->count++] = (bag){ t->names_size, t->line, t->rows, label };
    t->names_size += strlen(name) + 1;
    return ATTSVM_OK;
}

static attsvm_status take_label(const table *t, int8_t *label, attsvm_error *err)
{
    double value;
    if (t->fields[1].size == 0 && (t->count == 0 || t->bags[0].label == UNLABELLED)) {
        *label = UNLABELLED;
        return ATTSVM_OK;
    }
    if (t->count > 0 && t->bags[0].label == UNLABELLED)
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 " has a label, the lines before it have none", t->line);
    if (!number_of(&t->fields[1], &value))
        return bad_number(t, 1, err);
    if (value != floor(value))
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 ": label %g: the second column holds the labels of the bags; "
                    "leave it empty where they are not known",
                    t->line, value);
    if (value != -1 && value != 0 && value != 1)
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 ": label %g: labels of a table are -1 and 1, or 0 and 1; "
                    "fit takes other classes from an array y of an .npz file",
                    t->line, value);
    *label = (int8_t)value;
    return ATTSVM_OK;
}

static attsvm_status add_row(table *t, int64_t count, attsvm_error *err)
{
    if (count != t->columns)
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 " has %" PRId64 " column%s, the lines before it %" PRId64,
                    t->line, count, base_plural(count), t->columns);
    int8_t label = 0;
    TRY(take_label(t, &label, err));
    TRY(take_bag(t, label, err));
    size_t d = (size_t)(t->columns - 2);
    double *X = io_grow(t->X, (size_t)t->rows * d, d, &t->X_capacity, sizeof *X, err);
    if (!X)
        return ATTSVM_E_MEMORY;
    t->X = X;
    double *x = t->X + (size_t)t->rows * d;
    for (int64_t k = 2; k < count; k++)
        if (!number_of(&t->fields[k], &x[k - 2]))
            return bad_number(t, k, err);
    t->rows++;
    return ATTSVM_OK;
}

static attsvm_status take_table(table *t, attsvm_error *err)
{
    int64_t count;
    TRY(take_row(t, &count, err));
    if (count == 0)
        return fail(err, ATTSVM_E_FORMAT, "there is no row");
    if (count < 3)
        return fail(err, ATTSVM_E_FORMAT,
                    "line %" PRId64 " has %" PRId64 " column%s; expected bag, label and features",
                    t->line, count, base_plural(count));
    /* a column of row numbers, as data frames write it, has no title */
    t->skip = count > 3 && t->fields[0].size == 0 && is_label_title(&t->fields[2]);
    t->columns = count - t->skip;
    for (int64_t k = 2; k < count && !t->skip && !is_label_title(&t->fields[1]); k++)
        if (is_label_title(&t->fields[k]) && t->fields[k].size > 1) /* y may be a feature */
            return fail(err, ATTSVM_E_FORMAT,
                        "column %" PRId64 " has the title of a label; expected bag, label and "
                        "features in this order",
                        k + 1);
    if (t->skip || is_title_row(t, count))
        TRY(take_row(t, &count, err));
    while (count > 0) {
        TRY(add_row(t, count, err));
        TRY(take_row(t, &count, err));
    }
    return t->rows > 0 ? ATTSVM_OK : fail(err, ATTSVM_E_FORMAT, "there are titles but no rows");
}

typedef struct named_bag {
    const char *name;
    const bag *bag;
} named_bag;

static int by_name(const void *a, const void *b)
{
    const named_bag *s = a, *t = b;
    int order = strcmp(s->name, t->name);
    return order ? order : (s->bag->line > t->bag->line) - (s->bag->line < t->bag->line);
}

/* Refuses a name that appears again after another bag. */
static attsvm_status check_together(const table *t, attsvm_error *err)
{
    named_bag *sorted;
    const named_bag *again = NULL;
    TRY(base_allocate(&sorted, (size_t)t->count, sizeof *sorted, "list of bags", err));
    for (int64_t k = 0; k < t->count; k++)
        sorted[k] = (named_bag){ t->names + t->bags[k].name, &t->bags[k] };
    qsort(sorted, (size_t)t->count, sizeof *sorted, by_name);
    for (int64_t k = 1; k < t->count; k++)
        if (strcmp(sorted[k].name, sorted[k - 1].name) == 0 &&
            (!again || sorted[k].bag->line < again->bag->line))
            again = &sorted[k];
    attsvm_status status = ATTSVM_OK;
    char text[BASE_NAME_SIZE];
    if (again)
        status = fail(err, ATTSVM_E_FORMAT,
                      "line %" PRId64 ": bag '%s' appears again after other bags; sort the rows "
                      "by bag",
                      again->bag->line, base_printable(again->name, text));
    free(sorted);
    return status;
}

/*
 * Adds the names of the bags as bytes with a newline after each, unless they only count 0, 1, 2...
 * Line ends inside a name become spaces.
 */
static attsvm_status add_names(attsvm_archive *archive, table *t, attsvm_error *err)
{
    bool numbers = true;
    for (int64_t i = 0; i < t->count; i++) {
        char number[32], *name = t->names + t->bags[i].name;
        snprintf(number, sizeof number, "%" PRId64, i);
        numbers &= strcmp(name, number) == 0;
        for (char *c = name; *c; c++)
            *c = *c == '\n' || *c == '\r' ? ' ' : *c;
        name[strlen(name)] = '\n';
    }
    if (numbers)
        return ATTSVM_OK;
    attsvm_array array = {
        .data = t->names, .shape = { (int64_t)t->names_size }, .ndim = 1, .dtype = ATTSVM_U8
    };
    void *memory = t->names;
    t->names = NULL;
    return io_archive_add(archive, "bag_names", &array, memory, err);
}

static attsvm_status add_arrays(attsvm_archive *archive, table *t, attsvm_error *err)
{
    int64_t *offsets;
    int8_t *Y;
    attsvm_array array = {
        .data = t->X, .shape = { t->rows, t->columns - 2 }, .ndim = 2, .dtype = ATTSVM_F64
    };
    void *memory = t->X;
    t->X = NULL;
    TRY(io_archive_add(archive, "X", &array, memory, err));
    TRY(base_allocate(&offsets, (size_t)t->count + 1, sizeof *offsets, "offsets", err));
    for (int64_t i = 0; i < t->count; i++)
        offsets[i] = t->bags[i].first;
    offsets[t->count] = t->rows;
    array = (attsvm_array){ .data = offsets, .shape = { t->count + 1 }, .ndim = 1 };
    array.dtype = ATTSVM_I64;
    TRY(io_archive_add(archive, "offsets", &array, offsets, err));
    if (t->bags[0].label == UNLABELLED)
        return add_names(archive, t, err);
    TRY(base_allocate(&Y, (size_t)t->count, sizeof *Y, "labels", err));
    for (int64_t i = 0; i < t->count; i++)
        Y[i] = t->bags[i].label;
    array = (attsvm_array){ .data = Y, .shape = { t->count }, .ndim = 1, .dtype = ATTSVM_I8 };
    TRY(io_archive_add(archive, "Y", &array, Y, err));
    return add_names(archive, t, err);
}

/* Semicolons are the separator if the first line has some and no comma. */
static char separator_of(const char *text, size_t size)
{
    const char *end = memchr(text, '\n', size);
    size_t line = end ? (size_t)(end - text) : size;
    return memchr(text, ';', line) && !memchr(text, ',', line) ? ';' : ',';
}

static attsvm_status read_table(attsvm_archive *archive, const void *bytes, size_t size,
                                char separator, attsvm_error *err)
{
    table t = { .at = bytes, .separator = separator, .line = 1 };
    t.end = t.at + size;
    if (size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0)
        t.at += 3; /* a byte order mark */
    attsvm_status status = take_table(&t, err);
    if (status == ATTSVM_OK)
        status = check_together(&t, err);
    if (status == ATTSVM_OK)
        status = add_arrays(archive, &t, err);
    free(t.fields);
    free(t.X);
    free(t.bags);
    free(t.names);
    return status;
}

attsvm_status io_csv_read(attsvm_archive *archive, const char *name, const void *bytes, size_t size,
                          const attsvm_read_settings *settings, attsvm_error *err)
{
    (void)name, (void)settings;
    return read_table(archive, bytes, size, separator_of(bytes, size), err);
}

attsvm_status io_csv_read_tabs(attsvm_archive *archive, const char *name, const void *bytes,
                               size_t size, const attsvm_read_settings *settings, attsvm_error *err)
{
    (void)name, (void)settings;
    return read_table(archive, bytes, size, '\t', err);
}
