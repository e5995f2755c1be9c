/*
 * Settings tables.  A table is the single source of a struct's defaults, range checks, flags and
 * help text; all functions here iterate over it.
 */
#include "base/base.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *slot(void *settings, const field *f)
{
    return (char *)settings + f->offset;
}

static double read_number(const field *f, const void *settings)
{
    const char *at = (const char *)settings + f->offset;
    int64_t integer;
    int32_t choice;
    double real;
    bool flag;
    switch (f->kind) {
    case FIELD_INT: memcpy(&integer, at, sizeof integer); return (double)integer;
    case FIELD_DOUBLE: memcpy(&real, at, sizeof real); return real;
    case FIELD_BOOL: memcpy(&flag, at, sizeof flag); return flag;
    case FIELD_CHOICE: memcpy(&choice, at, sizeof choice); return choice;
    case FIELD_TEXT: break;
    }
    return NAN;
}

static void write_number(const field *f, void *settings, double value)
{
    char *at = slot(settings, f);
    int64_t integer = f->kind == FIELD_INT ? (int64_t)value : 0;
    int32_t choice = f->kind == FIELD_CHOICE ? (int32_t)value : 0;
    bool flag = value != 0;
    switch (f->kind) {
    case FIELD_INT: memcpy(at, &integer, sizeof integer); break;
    case FIELD_DOUBLE: memcpy(at, &value, sizeof value); break;
    case FIELD_BOOL: memcpy(at, &flag, sizeof flag); break;
    case FIELD_CHOICE: memcpy(at, &choice, sizeof choice); break;
    case FIELD_TEXT: break;
    }
}

void attsvm_settings_init(const settings_table *table, void *settings)
{
    if (!table || !settings)
        return;
    memset(settings, 0, table->size);
    for (size_t k = 0; k < table->count; k++) {
        const field *f = &table->fields[k];
        if (f->kind == FIELD_TEXT)
            memcpy(slot(settings, f), &f->text, sizeof f->text);
        else
            write_number(f, settings, f->standard);
    }
}

/* "4096", but "1e12" for long numbers. */
static void bound_text(double value, char *out, size_t size)
{
    double lead = value;
    int zeros = 0;
    for (; lead >= 10 && fmod(lead, 10) == 0; zeros++)
        lead /= 10;
    if (zeros > 4)
        snprintf(out, size, "%.15ge%d", lead, zeros);
    else
        snprintf(out, size, "%.15g", value);
    char *plus = strchr(out, '+'); /* 1e+300 */
    if (plus)
        memmove(plus, plus + 1, strlen(plus));
}

/* "1..4096" or "gauss|sphere". */
void attsvm_setting_range(const field *f, char *out, size_t size)
{
    if (!out || size == 0)
        return;
    out[0] = '\0';
    if (!f)
        return;
    if (f->kind == FIELD_CHOICE) {
        size_t used = 0;
        for (const char *const *c = f->choices; *c && used < size; c++)
            used +=
                (size_t)snprintf(out + used, size - used, "%s%s", c == f->choices ? "" : "|", *c);
    } else if (f->kind == FIELD_INT || f->kind == FIELD_DOUBLE) {
        char lowest[48], highest[48];
        bound_text(f->lowest, lowest, sizeof lowest);
        bound_text(f->highest, highest, sizeof highest);
        if (isinf(f->highest))
            snprintf(out, size, "%s or more", lowest);
        else
            snprintf(out, size, "%s..%s", lowest, highest);
    }
}

static attsvm_status out_of_range(const field *f, const char *value, attsvm_error *err)
{
    char range[256];
    attsvm_setting_range(f, range, sizeof range);
    return fail(err, ATTSVM_E_ARG, "%s = %s is not in %s", f->name, value, range);
}

attsvm_status attsvm_settings_check(const attsvm_settings_table *table, const void *settings,
                                    attsvm_error *err)
{
    NEED(table);
    NEED(settings);
    for (size_t k = 0; k < table->count; k++) {
        const field *f = &table->fields[k];
        if (f->kind == FIELD_TEXT || f->kind == FIELD_BOOL)
            continue;
        double value = read_number(f, settings);
        if (!(value >= f->lowest && value <= f->highest)) {
            char text[64];
            snprintf(text, sizeof text, "%.17g", value);
            return out_of_range(f, text, err);
        }
    }
    return ATTSVM_OK;
}

static bool same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++)
        if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
            return false;
    return *a == *b;
}

const field *attsvm_settings_find(const settings_table *table, const char *name)
{
    if (!table)
        return NULL;
    for (size_t k = 0; name && k < table->count; k++)
        if (same_name(table->fields[k].name, name))
            return &table->fields[k];
    return NULL;
}

static attsvm_status set_choice(const field *f, void *settings, const char *value,
                                attsvm_error *err)
{
    for (int k = 0; f->choices[k]; k++)
        if (same_name(f->choices[k], value)) {
            write_number(f, settings, f->lowest + k);
            return ATTSVM_OK;
        }
    return out_of_range(f, value, err);
}

static attsvm_status set_integer(const field *f, void *settings, const char *value,
                                 attsvm_error *err)
{
    char *end;
    errno = 0;
    long long integer = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || isspace((unsigned char)value[0])) {
        /* integers may be written as "1e6" */
        double real = strtod(value, &end);
        if (end == value || *end != '\0' || isspace((unsigned char)value[0]) ||
            real != floor(real) || fabs(real) > 9e15)
            return fail(err, ATTSVM_E_ARG, "%s = %s is not an integer", f->name, value);
        integer = (long long)real;
    } else if (errno == ERANGE) {
        return out_of_range(f, value, err);
    }
    if ((double)integer < f->lowest || (double)integer > f->highest)
        return out_of_range(f, value, err);
    int64_t stored = integer;
    memcpy(slot(settings, f), &stored, sizeof stored);
    return ATTSVM_OK;
}

static attsvm_status set_double(const field *f, void *settings, const char *value,
                                attsvm_error *err)
{
    char *end;
    double real = strtod(value, &end);
    if (end == value || *end != '\0' || isspace((unsigned char)value[0]))
        return fail(err, ATTSVM_E_ARG, "%s = %s is not a number", f->name, value);
    if (!(real >= f->lowest && real <= f->highest))
        return out_of_range(f, value, err);
    write_number(f, settings, real);
    return ATTSVM_OK;
}

static attsvm_status set_flag(const field *f, void *settings, const char *value, attsvm_error *err)
{
    static const char *const yes[] = { "1", "true", "yes", "on" };
    static const char *const no[] = { "0", "false", "no", "off" };
    for (size_t k = 0; k < sizeof yes / sizeof *yes; k++) {
        if (strcmp(value, yes[k]) == 0 || strcmp(value, no[k]) == 0) {
            write_number(f, settings, strcmp(value, yes[k]) == 0);
            return ATTSVM_OK;
        }
    }
    return fail(err, ATTSVM_E_ARG, "%s = %s is neither yes nor no", f->name, value);
}

attsvm_status base_settings_set(const field *f, void *settings, const char *value,
                                attsvm_error *err)
{
    if (!value && f->kind != FIELD_TEXT) /* a text may be NULL */
        return fail(err, ATTSVM_E_ARG, "%s is given no value", f->name);
    switch (f->kind) {
    case FIELD_INT: return set_integer(f, settings, value, err);
    case FIELD_DOUBLE: return set_double(f, settings, value, err);
    case FIELD_BOOL: return set_flag(f, settings, value, err);
    case FIELD_CHOICE: return set_choice(f, settings, value, err);
    case FIELD_TEXT: memcpy(slot(settings, f), &value, sizeof value); return ATTSVM_OK;
    }
    return fail(err, ATTSVM_E_ARG, "%s is of no known kind", f->name);
}

static void print_integer(const field *f, const void *settings, char *out, size_t size)
{
    int64_t value = (int64_t)f->standard;
    if (settings) /* a double would round beyond 53 bits */
        memcpy(&value, (const char *)settings + f->offset, sizeof value);
    snprintf(out, size, "%" PRId64, value);
}

/* The shortest text that reads back as the same number. */
static void print_double(double value, char *out, size_t size)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value)
            return;
    }
}

void base_settings_print(const field *f, const void *settings, char *out, size_t size)
{
    if (f->kind == FIELD_TEXT) {
        const char *text = f->text;
        if (settings)
            memcpy(&text, (const char *)settings + f->offset, sizeof text);
        snprintf(out, size, "%s", text ? text : "");
        return;
    }
    double value = settings ? read_number(f, settings) : f->standard;
    if (f->kind == FIELD_CHOICE)
        snprintf(out, size, "%s", f->choices[(int)(value - f->lowest)]);
    else if (f->kind == FIELD_BOOL)
        snprintf(out, size, "%s", value != 0 ? "yes" : "no");
    else if (f->kind == FIELD_INT)
        print_integer(f, settings, out, size);
    else
        print_double(value, out, size);
}

attsvm_status attsvm_settings_set(const attsvm_settings_table *table, void *settings,
                                  const char *name, const char *value, attsvm_error *err)
{
    NEED(table);
    NEED(settings);
    if (!settings || !name)
        return fail(err, ATTSVM_E_ARG, "%s settings: no %s", table->name,
                    settings ? "name" : "struct");
    const field *f = attsvm_settings_find(table, name);
    if (!f)
        return fail(err, ATTSVM_E_ARG, "%s settings: unknown name '%s'", table->name, name);
    return table->set && value ? table->set(f, settings, value, err)
                               : base_settings_set(f, settings, value, err);
}

void attsvm_settings_get(const attsvm_settings_table *table, const void *settings, const char *name,
                         char *out, size_t size)
{
    if (!out || size == 0)
        return;
    const field *f = attsvm_settings_find(table, name);
    out[0] = '\0';
    if (f)
        base_settings_print(f, settings, out, size);
}

attsvm_status base_settings_own_texts(const settings_table *table, void *settings, char **block,
                                      attsvm_error *err)
{
    size_t size = 1;
    for (size_t k = 0; k < table->count; k++) {
        const char *text = NULL;
        if (table->fields[k].kind == FIELD_TEXT)
            memcpy(&text, slot(settings, &table->fields[k]), sizeof text);
        size += text ? strlen(text) + 1 : 0;
    }
    TRY(base_allocate(block, size, 1, "settings", err));
    char *at = *block;
    for (size_t k = 0; k < table->count; k++) {
        if (table->fields[k].kind != FIELD_TEXT)
            continue;
        const char *text, *own = table->fields[k].text;
        memcpy(&text, slot(settings, &table->fields[k]), sizeof text);
        if (text) {
            const size_t length = strlen(text) + 1;
            own = memcpy(at, text, length);
            at += length;
        }
        memcpy(slot(settings, &table->fields[k]), &own, sizeof own);
    }
    return ATTSVM_OK;
}
