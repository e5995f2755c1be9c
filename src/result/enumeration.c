/* Enumerations in files: selections (count,terms) with the numbers of each. */
#include "result/result.h"
#include "theory/enumerate/enumerate.h"

#include <stdlib.h>
#include <string.h>

#define SETTINGS attsvm_enumeration_info
static const field info_fields[] = {
    { F(count), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(terms), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(judged), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(pruned), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(stalled), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(product), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(exhaustive), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
    { F(searched), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
    { F(stopped), FIELD_BOOL, 0, 1, 0, "", 0, 0 },
};
#undef SETTINGS
static const settings_table info_table = { "enumeration info", info_fields,
                                           sizeof info_fields / sizeof *info_fields,
                                           sizeof(attsvm_enumeration_info), NULL };
static const char *const enumerate_skip[] = { "threads", "time_limit", NULL };

/* The numbers of the selections, as columns. */
typedef struct columns {
    double *norm, *advantage;
    uint8_t *global;
    void *memory;
} columns;

static attsvm_status columns_create(columns *c, int64_t count, attsvm_error *err)
{
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        c->norm = take(&a, (size_t)count + 1);
        c->advantage = take(&a, (size_t)count + 1);
        c->global = base_take(&a, (size_t)count + 1, 1);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "selections", err));
    }
    c->memory = a.base;
    return ATTSVM_OK;
}

attsvm_status attsvm_enumeration_save(const attsvm_enumeration *enumeration, const char *path,
                                      const attsvm_named_array *more, int64_t count,
                                      attsvm_error *err)
{
    NEED(enumeration);
    NEED(path);
    const attsvm_enumeration *e = enumeration;
    if (!e->scores)
        return fail(err, ATTSVM_E_ARG, "this enumeration was read from a file, which has it");
    TRY(result_check_more(more, count, err));
    const int64_t found = e->info.count, terms = e->info.terms;
    columns c;
    char *memory = NULL;
    TRY(columns_create(&c, found, err));
    for (int64_t k = 0; k < found; k++) {
        c.norm[k] = e->judged[k].norm;
        c.advantage[k] = e->judged[k].advantage;
        c.global[k] = e->judged[k].global;
    }
    attsvm_named_array arrays[5 + RESULT_MORE_ARRAYS] = {
        { "selections", { e->alpha, { found, terms }, 2, ATTSVM_I64 } },
        { "selections_norm", { c.norm, { found }, 1, ATTSVM_F64 } },
        { "selections_advantage", { c.advantage, { found }, 1, ATTSVM_F64 } },
        { "selections_global", { c.global, { found }, 1, ATTSVM_U8 } },
    };
    io_json *json = result_origin("tokens", e->scores->data);
    result_add_svm(json, &e->svm);
    io_json_set(json, "enumerate",
                result_object(&attsvm_enumerate_table, &e->settings, enumerate_skip));
    io_json_set(json, "info", result_object(&info_table, &e->info, NULL));
    attsvm_status status = result_settings_array(json, &arrays[4], &memory, err);
    for (int64_t k = 0; k < count; k++)
        arrays[5 + k] = more[k];
    if (status == ATTSVM_OK)
        status = attsvm_archive_write(path, arrays, 5 + count, err);
    free(memory);
    free(c.memory);
    return status;
}

static attsvm_status read_column(const attsvm_archive *archive, const char *name, int64_t count,
                                 const attsvm_array **out, attsvm_error *err)
{
    *out = attsvm_archive_find(archive, name);
    if (*out && attsvm_array_count(*out) == count)
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_FORMAT, "%s: expected %" PRId64 " values of an enumeration", name,
                count);
}

static attsvm_status read_selections(attsvm_enumeration *e, const attsvm_archive *archive,
                                     attsvm_error *err)
{
    const int64_t found = e->info.count, terms = e->info.terms;
    const attsvm_array *alpha, *norm, *advantage, *global;
    size_t entries;
    if (found < 0 || terms < 0 || !base_multiply((size_t)found, (size_t)terms, &entries))
        return fail(err, ATTSVM_E_FORMAT, "settings: count or terms are out of range");
    TRY(read_column(archive, "selections", (int64_t)entries, &alpha, err));
    TRY(read_column(archive, "selections_norm", found, &norm, err));
    TRY(read_column(archive, "selections_advantage", found, &advantage, err));
    TRY(read_column(archive, "selections_global", found, &global, err));
    TRY(base_allocate(&e->alpha, entries + 1, sizeof *e->alpha, "selections", err));
    TRY(base_allocate(&e->judged, (size_t)found + 1, sizeof *e->judged, "selections", err));
    for (int64_t k = 0; k < (int64_t)entries; k++)
        TRY(data_integer(alpha, "selections", k, &e->alpha[k], err));
    for (int64_t k = 0; k < found; k++)
        e->judged[k] = (enumerate_judged){ .outcome = ATTSVM_OPTIMAL,
                                           .local = true,
                                           .global = attsvm_array_get(global, k) != 0,
                                           .norm = attsvm_array_get(norm, k),
                                           .advantage = attsvm_array_get(advantage, k) };
    return ATTSVM_OK;
}

static attsvm_status read_enumeration(attsvm_enumeration *e, const attsvm_archive *archive,
                                      attsvm_error *err)
{
    io_json *json;
    TRY(result_settings_read(archive, &json, err));
    const io_json *info = io_json_get(json, "info");
    attsvm_status status =
        info && io_json_get(json, "enumerate")
            ? result_read_object(&info_table, info, &e->info, NULL, err)
            : fail(err, ATTSVM_E_FORMAT, "not a result file of attsvm tokens --enumerate");
    if (status == ATTSVM_OK)
        status = result_read_svm(json, &e->svm, err);
    io_json_free(json);
    return status == ATTSVM_OK ? read_selections(e, archive, err) : status;
}

attsvm_status attsvm_enumeration_load(attsvm_enumeration **out, const char *path, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(path);
    attsvm_archive *archive;
    attsvm_enumeration *e = NULL;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    attsvm_status status = base_allocate(&e, 1, sizeof *e, "enumeration", err);
    if (status == ATTSVM_OK)
        status = read_enumeration(e, archive, err);
    attsvm_archive_free(archive);
    if (status == ATTSVM_OK) {
        *out = e;
        return ATTSVM_OK;
    }
    attsvm_enumeration_free(e);
    return base_fail_in(err, status, path);
}
