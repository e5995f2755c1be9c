/* Paths in files: their arrays, with the description in `settings`. */
#include "theory/path/path.h"
#include "result/result.h"

#include <stdlib.h>
#include <string.h>

static const char *const outcomes[] = { "not run", "optimal",    "infeasible",
                                        "stalled", "stationary", NULL };
static const char *const cases[] = { "none", "relaxed", "unrelaxed", "all tight", "between", NULL };
static const char *const path_skip[] = { "threads", "time_limit", NULL };

#define SETTINGS attsvm_path_info
static const field info_fields[] = {
    { F(points), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(terms), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(svm), FIELD_CHOICE, ATTSVM_NOT_RUN, ATTSVM_STATIONARY, 0, "", outcomes, 0 },
    { F(joint), FIELD_CHOICE, ATTSVM_JOINT_NONE, ATTSVM_JOINT_BETWEEN, 0, "", cases, 0 },
    { F(svm_norm), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(svm_gap), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(least_ratio), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(correlation), FIELD_DOUBLE, 0, 0, 0, "", 0, 0 },
    { F(solves), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(evaluations), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(kept), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(zero_weight_tokens), FIELD_INT, 0, 0, 0, "", 0, 0 },
    { F(kinks), FIELD_INT, 0, 0, 0, "", 0, 0 },
};
#undef SETTINGS
static const settings_table info_table = { "path info", info_fields,
                                           sizeof info_fields / sizeof *info_fields,
                                           sizeof(attsvm_path_info), NULL };

attsvm_status attsvm_path_save(const attsvm_path *path, const char *file, attsvm_error *err)
{
    attsvm_named_array arrays[PATH_ARRAYS + 1];
    char *memory;
    if (!path || !file)
        return fail(err, ATTSVM_E_ARG, "%s is NULL", path ? "file" : "path");
    if (path->archive)
        return fail(err, ATTSVM_E_ARG, "this path was read from a file, which has it already");
    memcpy(arrays, path->arrays, (size_t)path->arrays_count * sizeof *arrays);
    io_json *json = result_origin("path", path->data);
    io_json_set(json, "path", result_object(&attsvm_path_table, &path->settings, path_skip));
    io_json_set(json, "info", result_object(&info_table, &path->info, NULL));
    attsvm_status status = result_settings_array(json, &arrays[path->arrays_count], &memory, err);
    if (status == ATTSVM_OK)
        status = attsvm_archive_write(file, arrays, path->arrays_count + 1, err);
    free(memory);
    return status;
}

static attsvm_status read_path(attsvm_path *path, attsvm_error *err)
{
    io_json *json;
    TRY(result_settings_read(path->archive, &json, err));
    const io_json *info = io_json_get(json, "info");
    attsvm_status status = info && io_json_get(json, "path")
                               ? result_read_object(&info_table, info, &path->info, NULL, err)
                               : fail(err, ATTSVM_E_FORMAT, "not a result file of attsvm path");
    io_json_free(json);
    for (int64_t k = 0; k < attsvm_archive_count(path->archive) && status == ATTSVM_OK; k++) {
        const char *name = attsvm_archive_name(path->archive, k);
        if (strcmp(name, "settings") == 0)
            continue;
        if (path->arrays_count == PATH_ARRAYS)
            return fail(err, ATTSVM_E_FORMAT, "more arrays than a path has");
        path->arrays[path->arrays_count++] =
            (attsvm_named_array){ name, *attsvm_archive_array(path->archive, k) };
    }
    return status;
}

attsvm_status attsvm_path_load(attsvm_path **out, const char *file, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(file);
    attsvm_path *path;
    TRY(base_allocate(&path, 1, sizeof *path, "path", err));
    attsvm_status status = attsvm_archive_open(&path->archive, file, NULL, err);
    if (status == ATTSVM_OK) {
        status = read_path(path, err);
        if (status != ATTSVM_OK)
            base_fail_in(err, status, file);
    }
    if (status == ATTSVM_OK)
        *out = path;
    else
        attsvm_path_free(path);
    return status;
}
