/* Expected key numbers: expected/ID.json (papers, theorems, reference data) and
   expected/own.json (our own runs). */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

const experiments_file *experiments_file_find(const char *name)
{
    for (const experiments_file *f = experiments_files; f->name; f++)
        if (strcmp(f->name, name) == 0)
            return f;
    return NULL;
}

static experiments_check *find_number(experiments_numbers *numbers, const char *key)
{
    for (int64_t k = 0; k < numbers->count; k++)
        if (strcmp(numbers->items[k].key, key) == 0)
            return &numbers->items[k];
    return NULL;
}

static attsvm_status read_target(experiments_target *t, const char *key, const io_json *json,
                                 attsvm_error *err)
{
    if (!io_json_as_number(io_json_get(json, "value"), &t->value) ||
        !io_json_as_number(io_json_get(json, "tolerance"), &t->tolerance))
        return fail(err, ATTSVM_E_FORMAT, "%s: needs value and tolerance", key);
    t->known = true;
    return ATTSVM_OK;
}

static bool is_missed(const experiments_target *t, double value)
{
    return !(fabs(value - t->value) <= t->tolerance);
}

/*
 * { "key": { "value": 0.997, "tolerance": 0.002, "deviation": 0.01, "source": "..." }, ... }
 *
 * `deviation` is that of a single run: a mean over `runs` may be off by four times
 * deviation/sqrt(runs) more than the tolerance, so the same file serves any number of runs.  Below
 * `enough` of them that would accept almost anything, and nothing is judged.
 */
static attsvm_status compare_one(experiments_check *check, const io_json *expected, int64_t runs,
                                 int64_t enough, attsvm_error *err)
{
    double deviation = 0;
    const char *source = io_json_as_text(io_json_get(expected, "source"));
    TRY(read_target(&check->expected, check->key, expected, err));
    if (!source)
        return fail(err, ATTSVM_E_FORMAT, "%s: needs a source", check->key);
    io_json_as_number(io_json_get(expected, "deviation"), &deviation);
    check->expected.tolerance += 4 * deviation / sqrt((double)(runs > 0 ? runs : 1));
    check->expected.unjudged = deviation > 0 && runs < enough;
    check->expected.missed = !check->expected.unjudged && is_missed(&check->expected, check->value);
    check->source = strdup(source);
    return check->source ? ATTSVM_OK : fail(err, ATTSVM_E_MEMORY, "no memory for a text");
}

/* { "key": { "value": 0.99812, "tolerance": 1e-9 }, ... }, of a run as published with seed 0. */
static attsvm_status compare_own(experiments_check *check, const io_json *own, attsvm_error *err)
{
    TRY(read_target(&check->own, check->key, own, err));
    check->own.missed = is_missed(&check->own, check->value);
    return ATTSVM_OK;
}

/* Compares every entry of `json` with the key number of the same name. */
static attsvm_status compare_all(experiments_numbers *numbers, const io_json *json, bool own,
                                 int64_t runs, int64_t enough, attsvm_error *err)
{
    for (const char *key = io_json_next_key(json, NULL); key; key = io_json_next_key(json, key)) {
        experiments_check *check = find_number(numbers, key);
        if (!check)
            return fail(err, ATTSVM_E_FORMAT, "%s is no number of this experiment", key);
        if (own)
            TRY(compare_own(check, io_json_get(json, key), err));
        else
            TRY(compare_one(check, io_json_get(json, key), runs, enough, err));
    }
    return ATTSVM_OK;
}

/* The file may be missing; `part` selects one experiment of own.json. */
static attsvm_status compare_file(experiments_numbers *numbers, const char *name, const char *part,
                                  int64_t runs, int64_t enough, attsvm_error *err)
{
    const experiments_file *file = experiments_file_find(name);
    io_json *json;
    if (!file)
        return ATTSVM_OK;
    TRY(io_json_parse(&json, file->text, file->size, name, err));
    attsvm_status status = compare_all(numbers, part ? io_json_get(json, part) : json, part != NULL,
                                       runs, enough, err);
    io_json_free(json);
    return status == ATTSVM_OK ? ATTSVM_OK : base_fail_in(err, status, name);
}

attsvm_status experiments_compare(const experiment *e, experiments_numbers *numbers,
                                  const experiments_setup *setup, int64_t *failed,
                                  attsvm_error *err)
{
    enum { ENOUGH = 30 }; /* or the published number, if that is smaller */
    const int64_t enough = e->runs < ENOUGH ? e->runs : ENOUGH;
    char name[96];
    *failed = 0;
    for (int64_t k = 0; k < numbers->count; k++) {
        experiments_check *check = &numbers->items[k];
        free(check->source);
        check->source = NULL;
        check->expected = check->own = (experiments_target){ 0 };
    }
    snprintf(name, sizeof name, "expected/%s.json", e->id);
    TRY(compare_file(numbers, name, NULL, setup->runs, enough, err));
    if (setup->seed == 0 && setup->runs == e->runs)
        TRY(compare_file(numbers, "expected/own.json", e->id, setup->runs, enough, err));
    for (int64_t k = 0; k < numbers->count; k++)
        *failed += numbers->items[k].expected.missed || numbers->items[k].own.missed;
    return ATTSVM_OK;
}
