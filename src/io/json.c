/*
 * JSON with jansson, hidden behind the opaque io_json.
 *
 * Every value has one owner, so its reference count is 1.  A list or object that lost a value
 * because memory ran out is marked by a count of 2, which needs no memory; printing checks for
 * marks, freeing removes them.
 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { DEPTH_MOST = 64, PRINT_FLAGS = JSON_REAL_PRECISION(17) | JSON_ENCODE_ANY };

static json_t *inside(const io_json *json)
{
    return (json_t *)(uintptr_t)json;
}

static io_json *outside(json_t *json)
{
    return (io_json *)json;
}

static bool is_container(const json_t *json)
{
    return json_is_object(json) || json_is_array(json);
}

static bool is_marked(const json_t *json)
{
    return is_container(json) && json->refcount == 2;
}

static void mark(json_t *json)
{
    if (is_container(json) && !is_marked(json))
        json_incref(json);
}

/* Whether anything in it is marked; `remove` clears the marks. */
static bool find_marks(json_t *json, bool remove)
{
    bool found = is_marked(json);
    const char *key;
    json_t *value;
    size_t index;
    if (found && remove)
        json_decref(json);
    json_object_foreach(json, key, value) found |= find_marks(value, remove);
    json_array_foreach(json, index, value) found |= find_marks(value, remove);
    return found;
}

void io_json_free(io_json *json)
{
    if (!json)
        return;
    find_marks(inside(json), true);
    json_decref(inside(json));
}

io_json *io_json_object(void)
{
    return outside(json_object());
}

io_json *io_json_list(void)
{
    return outside(json_array());
}

/* A copy in which bytes that are not UTF-8 are replaced by U+FFFD. */
static char *clean_text(const char *text)
{
    size_t left = strlen(text);
    char *clean = left <= SIZE_MAX / 3 - 1 ? malloc(3 * left + 1) : NULL;
    char *end = clean;
    while (clean && left > 0) {
        size_t length = base_utf8_length((const unsigned char *)text, left);
        memcpy(end, length ? text : "\xef\xbf\xbd", length ? length : 3);
        end += length ? length : 3;
        length = length ? length : 1;
        text += length;
        left -= length;
    }
    if (clean)
        *end = '\0';
    return clean;
}

void io_json_set(io_json *object, const char *key, io_json *value)
{
    bool whole = value && !find_marks(inside(value), true);
    char *clean = clean_text(key);
    if (clean)
        whole &= json_object_set_new_nocheck(inside(object), clean, inside(value)) == 0;
    else
        json_decref(inside(value));
    if (!clean || !whole)
        mark(inside(object));
    free(clean);
}

void io_json_append(io_json *list, io_json *value)
{
    bool whole = value && !find_marks(inside(value), true);
    if (json_array_append_new(inside(list), inside(value)) != 0 || !whole)
        mark(inside(list));
}

io_json *io_json_integer(int64_t value)
{
    return outside(json_integer(value));
}

io_json *io_json_number(double value)
{
    return outside(isfinite(value) ? json_real(value) : json_null());
}

io_json *io_json_text(const char *value)
{
    char *clean = clean_text(value);
    json_t *json = clean ? json_string_nocheck(clean) : NULL;
    free(clean);
    return outside(json);
}

io_json *io_json_bool(bool value)
{
    return outside(json_boolean(value));
}

io_json *io_json_integers(const int64_t *values, int64_t count)
{
    io_json *list = io_json_list();
    for (int64_t k = 0; list && k < count; k++)
        io_json_append(list, io_json_integer(values[k]));
    return list;
}

io_json *io_json_numbers(const double *values, int64_t count)
{
    io_json *list = io_json_list();
    for (int64_t k = 0; list && k < count; k++)
        io_json_append(list, io_json_number(values[k]));
    return list;
}

static attsvm_status check_whole(const io_json *json, attsvm_error *err)
{
    if (!json || find_marks(inside(json), false))
        return fail(err, ATTSVM_E_MEMORY, "no memory for the JSON text");
    return ATTSVM_OK;
}

static size_t print_flags(bool indent)
{
    return PRINT_FLAGS | (indent ? JSON_INDENT(2) : 0);
}

attsvm_status io_json_print(const io_json *json, FILE *stream, bool indent, attsvm_error *err)
{
    TRY(check_whole(json, err));
    char *text = json_dumps(inside(json), print_flags(indent));
    if (!text)
        return fail(err, ATTSVM_E_MEMORY, "cannot print JSON: no memory");
    errno = 0;
    base_print_text(stream, text, true);
    free(text);
    if (!ferror(stream) && fputc('\n', stream) != EOF && fflush(stream) == 0)
        return ATTSVM_OK;
    int code = errno ? errno : EIO;
    return fail(err, code == ENOMEM ? ATTSVM_E_MEMORY : ATTSVM_E_DISK, "cannot print JSON: %s",
                strerror(code));
}

typedef struct sink {
    io_file *file;
    attsvm_status status;
    attsvm_error *err;
} sink;

static int write_text(const char *text, size_t size, void *context)
{
    sink *out = context;
    out->status = io_file_write(out->file, text, size, out->err);
    return out->status == ATTSVM_OK ? 0 : -1;
}

attsvm_status io_json_write(const io_json *json, const char *path, attsvm_error *err)
{
    TRY(check_whole(json, err));
    sink out = { .status = ATTSVM_OK, .err = err };
    TRY(io_file_create(&out.file, path, err));
    if (json_dump_callback(inside(json), write_text, &out, print_flags(true)) != 0 &&
        out.status == ATTSVM_OK)
        out.status =
            fail(err, ATTSVM_E_MEMORY, "%s: no memory for the JSON text", base_path_tail(path));
    if (out.status == ATTSVM_OK)
        write_text("\n", 1, &out);
    if (out.status != ATTSVM_OK) {
        io_file_abandon(out.file);
        return out.status;
    }
    return io_file_commit(out.file, err);
}

/* Checks the nesting of brackets outside strings before parsing. */
static attsvm_status check_depth(const char *text, size_t size, attsvm_error *err)
{
    int depth = 0, line = 1;
    bool string = false;
    for (size_t k = 0; k < size; k++) {
        if (text[k] == '\n')
            line++;
        if (string && text[k] == '\\')
            k++;
        else if (text[k] == '"')
            string = !string;
        else if (!string && (text[k] == '[' || text[k] == '{'))
            depth++;
        else if (!string && (text[k] == ']' || text[k] == '}'))
            depth--;
        if (depth > DEPTH_MOST)
            return fail(err, ATTSVM_E_FORMAT, "JSON, line %d: more than %d levels", line,
                        DEPTH_MOST);
    }
    return ATTSVM_OK;
}

static attsvm_status parse(io_json **out, const char *text, size_t size, attsvm_error *err)
{
    TRY(check_depth(text, size, err));
    json_error_t error;
    json_t *json =
        json_loadb(size ? text : "", size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json && io_memory_is_left()) /* jansson may report a lack of memory as a syntax error */
        json = json_loadb(size ? text : "", size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
    if (!json && !io_memory_is_left())
        return fail(err, ATTSVM_E_MEMORY, "JSON: no memory");
    for (char *c = error.text; !json && *c; c++)
        *c = (unsigned char)*c < ' ' ? '?' : *c; /* the message quotes the file */
    if (!json)
        return fail(err,
                    json_error_code(&error) == json_error_out_of_memory ? ATTSVM_E_MEMORY
                                                                        : ATTSVM_E_FORMAT,
                    "JSON, line %d, column %d: %s", error.line, error.column, error.text);
    *out = outside(json);
    return ATTSVM_OK;
}

attsvm_status io_json_parse(io_json **out, const char *text, size_t size, const char *name,
                            attsvm_error *err)
{
    *out = NULL;
    attsvm_status status = parse(out, text, size, err);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, name);
}

attsvm_status io_json_read(io_json **out, const char *path, attsvm_error *err)
{
    *out = NULL;
    bool is_directory;
    void *base;
    size_t size;
    attsvm_status status = io_map_file(AT_FDCWD, path, &is_directory, &base, &size, err);
    if (status == ATTSVM_OK && is_directory)
        status = fail(err, ATTSVM_E_OPEN, "it is a directory, not a file");
    if (status == ATTSVM_OK)
        status = parse(out, base, size, err);
    if (base)
        munmap(base, size);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, base_path_tail(path));
}

const io_json *io_json_get(const io_json *object, const char *key)
{
    return outside(json_object_get(inside(object), key));
}

const io_json *io_json_at(const io_json *list, int64_t index)
{
    return index < 0 ? NULL : outside(json_array_get(inside(list), (size_t)index));
}

int64_t io_json_count(const io_json *object_or_list)
{
    const json_t *json = inside(object_or_list);
    if (json_is_object(json))
        return (int64_t)json_object_size(json);
    return json_is_array(json) ? (int64_t)json_array_size(json) : -1;
}

bool io_json_is_list(const io_json *json)
{
    return json_is_array(inside(json));
}

const char *io_json_next_key(const io_json *object, const char *key)
{
    json_t *json = inside(object);
    return json_object_iter_key(key ? json_object_iter_next(json, json_object_key_to_iter(key))
                                    : json_object_iter(json));
}

bool io_json_as_integer(const io_json *json, int64_t *out)
{
    if (!json_is_integer(inside(json)))
        return false;
    *out = json_integer_value(inside(json));
    return true;
}

bool io_json_as_number(const io_json *json, double *out)
{
    if (!json_is_number(inside(json)))
        return false;
    *out = json_number_value(inside(json));
    return true;
}

bool io_json_as_bool(const io_json *json, bool *out)
{
    if (!json_is_boolean(inside(json)))
        return false;
    *out = json_is_true(inside(json));
    return true;
}

const char *io_json_as_text(const io_json *json)
{
    return json_string_value(inside(json));
}
