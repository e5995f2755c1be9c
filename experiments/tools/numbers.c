/* Key numbers, what they should be (expected/ID.json), and ID.json. */
#include "experiments/experiments.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const experiments_file *experiments_file_find(const char *name)
{
    for (const experiments_file *f = experiments_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

void experiments_number(experiments_numbers *out, const char *key, double value,
                        const char *meaning)
{
    experiments_check *items =
        io_grow(out->items, (size_t)out->count, 1, &out->room, sizeof *items, NULL);
    if (!items) {
        out->out_of_memory = true;
        return;
    }
    out->items = items;
    items[out->count] = (experiments_check){
        .key = strdup(key), .meaning = strdup(meaning), .value = value, .ok = true
    };
    if (!items[out->count].key || !items[out->count].meaning)
        out->out_of_memory = true;
    out->count++;
}

void experiments_finds(experiments_numbers *out, const char *format, ...)
{
    size_t used = out->finds ? strlen(out->finds) : 0;
    va_list arguments;
    va_start(arguments, format);
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0
                     ? NULL
                     : io_grow(out->finds, used, (size_t)length + 2, &out->finds_room, 1, NULL);
    if (text) {
        out->finds = text;
        if (used > 0)
            text[used++] = ' ';
        vsnprintf(text + used, (size_t)length + 1, format, again);
    } else {
        out->out_of_memory = true;
    }
    va_end(again);
}

void experiments_numbers_free(experiments_numbers *numbers)
{
    for (int64_t k = 0; k < numbers->count; k++) {
        free(numbers->items[k].key);
        free(numbers->items[k].meaning);
        free(numbers->items[k].source);
    }
    free(numbers->items);
    free(numbers->finds);
    *numbers = (experiments_numbers){ 0 };
}

/* ------------------------------------------------------------------------ expected */

/*
 * { "key": { "value": 0.997, "tolerance": 0.002, "deviation": 0.01, "source": "..." }, ... }
 *
 * `deviation` is that of a single run: a mean over `runs` may be off by four times
 * deviation/sqrt(runs) more than the tolerance, so the same file serves any number of runs.
 */
static attsvm_status compare_one(experiments_check *check, const io_json *expected, int64_t runs,
                                 attsvm_error *err)
{
    double deviation = 0;
    const char *source = io_json_as_text(io_json_get(expected, "source"));
    if (!io_json_as_number(io_json_get(expected, "value"), &check->wanted) ||
        !io_json_as_number(io_json_get(expected, "tolerance"), &check->tolerance) || !source)
        return fail(err, ATTSVM_E_FORMAT, "%s: needs value, tolerance and source", check->key);
    io_json_as_number(io_json_get(expected, "deviation"), &deviation);
    check->tolerance += 4 * deviation / sqrt((double)(runs > 0 ? runs : 1));
    check->expected = true;
    check->ok = fabs(check->value - check->wanted) <= check->tolerance;
    check->source = strdup(source);
    return check->source ? ATTSVM_OK : fail(err, ATTSVM_E_MEMORY, "no memory for a text");
}

static experiments_check *find_number(experiments_numbers *numbers, const char *key)
{
    for (int64_t k = 0; k < numbers->count; k++)
        if (strcmp(numbers->items[k].key, key) == 0)
            return &numbers->items[k];
    return NULL;
}

attsvm_status experiments_compare(const experiment *e, experiments_numbers *numbers, int64_t runs,
                                  int64_t *failed, attsvm_error *err)
{
    char name[96];
    io_json *json;
    attsvm_status status = ATTSVM_OK;
    *failed = 0;
    snprintf(name, sizeof name, "expected/%s.json", e->id);
    const experiments_file *file = experiments_file_find(name);
    if (!file)
        return ATTSVM_OK;
    TRY(io_json_parse(&json, file->text, file->size, name, err));
    const char *key = NULL;
    while (status == ATTSVM_OK && (key = io_json_next_key(json, key))) {
        experiments_check *check = find_number(numbers, key);
        if (check)
            status = compare_one(check, io_json_get(json, key), runs, err);
        else
            status = fail(err, ATTSVM_E_FORMAT, "%s is no number of this experiment", key);
        *failed += check && !check->ok;
    }
    io_json_free(json);
    return status == ATTSVM_OK ? ATTSVM_OK : base_fail_in(err, status, name);
}

/* ---------------------------------------------------------------------------- JSON */

static io_json *check_json(const experiments_check *c)
{
    io_json *json = io_json_object();
    io_json_set(json, "expected", io_json_number(c->wanted));
    io_json_set(json, "tolerance", io_json_number(c->tolerance));
    io_json_set(json, "ok", io_json_bool(c->ok));
    io_json_set(json, "source", io_json_text(c->source));
    return json;
}

attsvm_status experiments_json_write(const experiments_outcome *o, const char *path,
                                     attsvm_error *err)
{
    io_json *json = io_json_object(), *values = io_json_object(), *meanings = io_json_object(),
            *checks = io_json_object();
    for (int64_t k = 0; k < o->numbers.count; k++) {
        const experiments_check *c = &o->numbers.items[k];
        io_json_set(values, c->key, io_json_number(c->value));
        io_json_set(meanings, c->key, io_json_text(c->meaning));
        if (c->expected)
            io_json_set(checks, c->key, check_json(c));
    }
    io_json_set(json, "id", io_json_text(o->experiment->id));
    io_json_set(json, "title", io_json_text(o->experiment->title));
    io_json_set(json, "paper", io_json_text(o->experiment->paper));
    io_json_set(json, "version", io_json_text(attsvm_version()));
    io_json_set(json, "seed", io_json_integer(o->seed));
    io_json_set(json, "runs", io_json_integer(o->runs));
    io_json_set(json, "disturb", io_json_number(o->disturb));
    io_json_set(json, "disturb_seed", io_json_integer(o->disturb_seed));
    io_json_set(json, "seconds", io_json_number(o->seconds));
    io_json_set(json, "numbers", values);
    io_json_set(json, "meanings", meanings);
    io_json_set(json, "checks", checks);
    io_json_set(json, "failed", io_json_integer(o->failed));
    io_json_set(json, "finds", io_json_text(o->numbers.finds ? o->numbers.finds : ""));
    attsvm_status status = io_json_write(json, path, err);
    io_json_free(json);
    return status;
}

double experiments_json_seconds(const char *path)
{
    io_json *json;
    double seconds = NAN;
    if (io_json_read(&json, path, NULL) != ATTSVM_OK)
        return NAN;
    io_json_as_number(io_json_get(json, "seconds"), &seconds);
    io_json_free(json);
    return seconds;
}
