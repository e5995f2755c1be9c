/* The arrays of an experiment: creation, writing and reading. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

typedef struct owned {
    char name[64];
    attsvm_array array;
} owned;

struct experiments_arrays {
    owned *items;
    int64_t count;
    size_t room;
};

/* Copies of the arrays as doubles, which callers read in place. */
struct experiments_result {
    const experiment *experiment;
    attsvm_archive *archive;
    double **values;
    experiments_setup setup; /* known only if the file has it */
};

/* ------------------------------------------------------------------------- making */

attsvm_status experiments_arrays_create(experiments_arrays **out, attsvm_error *err)
{
    return base_allocate(out, 1, sizeof **out, "arrays of an experiment", err);
}

void experiments_arrays_free(experiments_arrays *a)
{
    if (!a)
        return;
    for (int64_t k = 0; k < a->count; k++)
        free((void *)a->items[k].array.data);
    free(a->items);
    free(a);
}

attsvm_status experiments_add(experiments_arrays *a, double **out, const char *name,
                              const int64_t *shape, int ndim, attsvm_error *err)
{
    int64_t count;
    *out = NULL;
    if (ndim > ATTSVM_MAX_DIMS || !base_shape_count(shape, ndim, &count))
        return fail(err, ATTSVM_E_ARG, "%s: its shape is negative or too large", name);
    owned *items = io_grow(a->items, (size_t)a->count, 1, &a->room, sizeof *items, err);
    if (!items)
        return ATTSVM_E_MEMORY;
    a->items = items;
    TRY(base_allocate(out, (size_t)count, sizeof(double), name, err));
    items[a->count].array = experiments_name(name, *out, shape, ndim).array;
    snprintf(items[a->count].name, sizeof items->name, "%s", name);
    a->count++;
    return ATTSVM_OK;
}

static bool has_array(const experiments_arrays *a, const char *name)
{
    for (int64_t k = 0; k < a->count; k++)
        if (strcmp(a->items[k].name, name) == 0)
            return true;
    return false;
}

attsvm_status experiments_add_data(experiments_arrays *out, const attsvm_named_array *arrays,
                                   int64_t count, attsvm_error *err)
{
    for (int64_t k = 0; k < count; k++) {
        const attsvm_array *from = &arrays[k].array;
        double *values;
        if (has_array(out, arrays[k].name))
            continue;
        TRY(experiments_add(out, &values, arrays[k].name, from->shape, from->ndim, err));
        memcpy(values, from->data, (size_t)attsvm_array_count(from) * sizeof *values);
    }
    return ATTSVM_OK;
}

attsvm_named_array experiments_name(const char *name, const double *values, const int64_t *shape,
                                    int ndim)
{
    attsvm_named_array named = { name, { .data = values, .ndim = ndim, .dtype = ATTSVM_F64 } };
    memcpy(named.array.shape, shape, (size_t)ndim * sizeof *shape);
    return named;
}

/* ---------------------------------------------------------------------- a checksum */

/* FNV-1a, 64 bits: detects damage, not forgery. */
static uint64_t hash(uint64_t h, const void *bytes, size_t size)
{
    const unsigned char *b = bytes;
    for (size_t k = 0; k < size; k++)
        h = (h ^ b[k]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_start(const experiment *e)
{
    uint64_t h = hash(UINT64_C(0xcbf29ce484222325), e->id, strlen(e->id) + 1);
    return hash(h, attsvm_version(), strlen(attsvm_version()));
}

static uint64_t hash_array(uint64_t h, const char *name, const attsvm_array *array)
{
    h = hash(h, name, strlen(name) + 1);
    h = hash(h, array->shape, (size_t)array->ndim * sizeof *array->shape);
    size_t size = (size_t)attsvm_array_count(array) * attsvm_dtype_size(array->dtype);
    return hash(h, array->data, size);
}

/* ------------------------------------------------------------------------- writing */

/* int64: seed, runs, bits of disturb, its seed, checksum of the other arrays */
static const char RUN[] = "reproduce";
enum { SEED, RUNS, DISTURB, DISTURB_SEED, CHECKSUM, ABOUT };

attsvm_status experiments_arrays_write(const experiments_arrays *a, const experiment *e,
                                       const experiments_setup *setup, const char *path,
                                       attsvm_error *err)
{
    io_source *sources;
    uint64_t h = hash_start(e);
    TRY(base_allocate(&sources, (size_t)a->count + 1, sizeof *sources, "list of arrays", err));
    for (int64_t k = 0; k < a->count; k++) {
        sources[k] = (io_source){ .name = a->items[k].name, .array = a->items[k].array };
        h = hash_array(h, a->items[k].name, &a->items[k].array);
    }
    int64_t about[ABOUT] = {
        [SEED] = setup->seed, [RUNS] = setup->runs, [DISTURB_SEED] = setup->disturb_seed
    };
    memcpy(&about[DISTURB], &setup->disturb, sizeof setup->disturb);
    memcpy(&about[CHECKSUM], &h, sizeof h);
    sources[a->count] = (io_source){
        .name = RUN,
        .array = { .data = about, .shape = { ABOUT }, .ndim = 1, .dtype = ATTSVM_I64 },
    };
    attsvm_status status =
        io_write(path, sources, a->count + 1, &(io_write_options){ .deflate = true }, err);
    free(sources);
    return status;
}

/* ------------------------------------------------------------------------- reading */

static attsvm_status read_about(experiments_result *r, const char *path, attsvm_error *err)
{
    const attsvm_array *about = attsvm_archive_find(r->archive, RUN);
    int64_t values[ABOUT];
    uint64_t h = hash_start(r->experiment), stored;
    if (!about || about->dtype != ATTSVM_I64 || attsvm_array_count(about) != ABOUT)
        return fail(err, ATTSVM_E_DATA, "%s: was not written by attsvm reproduce", path);
    memcpy(values, about->data, sizeof values);
    memcpy(&stored, &values[CHECKSUM], sizeof stored);
    for (int64_t k = 0; k < attsvm_archive_count(r->archive); k++)
        if (attsvm_archive_array(r->archive, k) != about)
            h = hash_array(h, attsvm_archive_name(r->archive, k),
                           attsvm_archive_array(r->archive, k));
    if (h != stored)
        return fail(err, ATTSVM_E_DATA,
                    "%s: is not what attsvm %s reproduce %s wrote; run it again without --redraw",
                    path, attsvm_version(), r->experiment->id);
    r->setup = (experiments_setup){ .seed = values[SEED],
                                    .runs = values[RUNS],
                                    .disturb_seed = values[DISTURB_SEED] };
    memcpy(&r->setup.disturb, &values[DISTURB], sizeof r->setup.disturb);
    return ATTSVM_OK;
}

attsvm_status experiments_result_read(experiments_result **out, const experiment *e,
                                      const char *path, attsvm_error *err)
{
    experiments_result *r;
    *out = NULL;
    TRY(base_allocate(&r, 1, sizeof *r, "result", err));
    r->experiment = e;
    attsvm_status status = attsvm_archive_open(&r->archive, path, NULL, err);
    if (status == ATTSVM_OK)
        status = read_about(r, path, err);
    int64_t count = status == ATTSVM_OK ? attsvm_archive_count(r->archive) : 0;
    if (status == ATTSVM_OK)
        status = base_allocate(&r->values, (size_t)count, sizeof *r->values, "result", err);
    for (int64_t k = 0; k < count && status == ATTSVM_OK; k++) {
        const attsvm_array *array = attsvm_archive_array(r->archive, k);
        int64_t size = attsvm_array_count(array);
        status = base_allocate(&r->values[k], (size_t)size, sizeof(double), "result", err);
        for (int64_t j = 0; j < size && status == ATTSVM_OK; j++)
            r->values[k][j] = attsvm_array_get(array, j);
    }
    if (status == ATTSVM_OK)
        *out = r;
    else
        experiments_result_free(r);
    return status;
}

void experiments_result_free(experiments_result *r)
{
    if (!r)
        return;
    for (int64_t k = 0; r->values && k < attsvm_archive_count(r->archive); k++)
        free(r->values[k]);
    free(r->values);
    attsvm_archive_free(r->archive);
    free(r);
}

experiments_setup experiments_result_setup(const experiments_result *r)
{
    return r->setup;
}

attsvm_status experiments_get(const experiments_result *r, const char *name, experiments_view *out,
                              attsvm_error *err)
{
    for (int64_t k = 0; k < attsvm_archive_count(r->archive); k++) {
        const attsvm_array *array = attsvm_archive_array(r->archive, k);
        if (strcmp(attsvm_archive_name(r->archive, k), name) != 0)
            continue;
        *out = (experiments_view){ r->values[k], { 0 }, array->ndim, attsvm_array_count(array) };
        memcpy(out->shape, array->shape, sizeof out->shape);
        return ATTSVM_OK;
    }
    return fail(err, ATTSVM_E_DATA, "%s.npz: has no array %s; run it again without --redraw",
                r->experiment->id, name);
}
