/* Key numbers, findings in words, and ID.json. */
#include "experiments/tools/tools.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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
    items[out->count] =
        (experiments_check){ .key = strdup(key), .meaning = strdup(meaning), .value = value };
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

/* ---------------------------------------------------------------------------- JSON */

static io_json *target_json(const experiments_target *t)
{
    io_json *json = io_json_object();
    io_json_set(json, "expected", io_json_number(t->value));
    io_json_set(json, "tolerance", io_json_number(t->tolerance));
    if (t->unjudged)
        io_json_set(json, "unjudged", io_json_text("too few runs to judge"));
    else
        io_json_set(json, "ok", io_json_bool(!t->missed));
    return json;
}

attsvm_status experiments_json_write(const experiments_outcome *o, const char *path,
                                     attsvm_error *err)
{
    io_json *json = io_json_object(), *values = io_json_object(), *meanings = io_json_object(),
            *checks = io_json_object(), *own = io_json_object();
    for (int64_t k = 0; k < o->numbers.count; k++) {
        const experiments_check *c = &o->numbers.items[k];
        io_json_set(values, c->key, io_json_number(c->value));
        io_json_set(meanings, c->key, io_json_text(c->meaning));
        if (c->expected.known) {
            io_json *check = target_json(&c->expected);
            io_json_set(check, "source", io_json_text(c->source));
            io_json_set(checks, c->key, check);
        }
        if (c->own.known)
            io_json_set(own, c->key, target_json(&c->own));
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
    io_json_set(json, "own", own);
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
