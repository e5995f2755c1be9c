/* Converts structs described by a table to JSON objects and back. */
#include "result/result.h"

#include <math.h>
#include <string.h>

static bool is_skipped(const char *name, const char *const *skip)
{
    for (; skip && *skip; skip++)
        if (strcmp(name, *skip) == 0)
            return true;
    return false;
}

static io_json *number_json(double value)
{
    return isinf(value) ? io_json_text(value > 0 ? "inf" : "-inf") : io_json_number(value);
}

static io_json *field_json(const field *f, const void *values)
{
    const char *at = (const char *)values + f->offset;
    const char *text = NULL;
    int64_t integer;
    int32_t choice;
    double real;
    bool flag;
    switch (f->kind) {
    case FIELD_INT: memcpy(&integer, at, sizeof integer); return io_json_integer(integer);
    case FIELD_DOUBLE: memcpy(&real, at, sizeof real); return number_json(real);
    case FIELD_BOOL: memcpy(&flag, at, sizeof flag); return io_json_bool(flag);
    case FIELD_CHOICE:
        memcpy(&choice, at, sizeof choice);
        return io_json_text(f->choices[choice - (int32_t)f->lowest]);
    case FIELD_TEXT: memcpy(&text, at, sizeof text); break;
    }
    return io_json_text(text ? text : "");
}

attsvm_status result_check_more(const attsvm_named_array *more, int64_t count, attsvm_error *err)
{
    if (count > RESULT_MORE_ARRAYS)
        return fail(err, ATTSVM_E_ARG, "count = %" PRId64 " more arrays is not in 0..%d", count,
                    RESULT_MORE_ARRAYS);
    return data_check_arrays(more, count, "more", err);
}

io_json *result_object(const settings_table *table, const void *values, const char *const *skip)
{
    io_json *json = io_json_object();
    for (size_t k = 0; k < table->count; k++)
        if (!is_skipped(table->fields[k].name, skip))
            io_json_set(json, table->fields[k].name, field_json(&table->fields[k], values));
    return json;
}

static bool read_number(const io_json *value, double *out)
{
    const char *text = io_json_as_text(value);
    if (io_json_as_number(value, out))
        return true;
    *out = !text ? (double)NAN : strcmp(text, "inf") == 0 ? (double)INFINITY : -(double)INFINITY;
    return value && (!text || strcmp(text, "inf") == 0 || strcmp(text, "-inf") == 0);
}

static bool read_field(const field *f, const io_json *value, void *values)
{
    char *at = (char *)values + f->offset;
    const char *text = io_json_as_text(value);
    int64_t integer = 0;
    double real = 0;
    bool flag = false, read = false;
    switch (f->kind) {
    case FIELD_INT:
        read = io_json_as_integer(value, &integer);
        memcpy(at, &integer, sizeof integer);
        break;
    case FIELD_DOUBLE:
        read = read_number(value, &real);
        memcpy(at, &real, sizeof real);
        break;
    case FIELD_BOOL:
        read = io_json_as_bool(value, &flag);
        memcpy(at, &flag, sizeof flag);
        break;
    case FIELD_CHOICE: read = text && base_settings_set(f, values, text, NULL) == ATTSVM_OK; break;
    case FIELD_TEXT:
        read = text != NULL;
        memcpy(at, &text, sizeof text);
        break;
    }
    return read;
}

attsvm_status result_read_present(const settings_table *table, const io_json *object, void *values,
                                  attsvm_error *err)
{
    for (size_t k = 0; k < table->count; k++) {
        const field *f = &table->fields[k];
        const io_json *value = io_json_get(object, f->name);
        if (value && !read_field(f, value, values))
            return fail(err, ATTSVM_E_FORMAT, "settings: %s has no valid value", f->name);
    }
    return ATTSVM_OK;
}

attsvm_status result_read_object(const settings_table *table, const io_json *object, void *values,
                                 const char *const *skip, attsvm_error *err)
{
    for (size_t k = 0; k < table->count; k++) {
        const field *f = &table->fields[k];
        if (!is_skipped(f->name, skip) && !read_field(f, io_json_get(object, f->name), values))
            return fail(err, ATTSVM_E_FORMAT, "settings: %s is missing or has no valid value",
                        f->name);
    }
    return ATTSVM_OK;
}
