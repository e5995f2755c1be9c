/* Arrays and data sets of tests/reference. */
#ifndef ATTSVM_REFERENCE_H
#define ATTSVM_REFERENCE_H

#include "solved.h"

static inline attsvm_archive *open_reference(const char *name)
{
    char path[1024];
    attsvm_error err;
    attsvm_archive *archive;
    snprintf(path, sizeof path, "%s/%s.npz", ATTSVM_REFERENCE, name);
    assert_ok(attsvm_archive_open(&archive, path, NULL, &err), err);
    return archive;
}

/* A whole array, or instance k of an array whose first axis counts instances (k >= 0). */
static inline attsvm_array array_of(const attsvm_archive *archive, const char *prefix,
                                    const char *name, int64_t k)
{
    char full[160];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const attsvm_array *found = attsvm_archive_find(archive, full);
    if (!found)
        fail_msg("no array %s", full);
    attsvm_array view = *found;
    if (k < 0)
        return view;
    int64_t each = attsvm_array_count(found) / found->shape[0];
    view.ndim--;
    memmove(view.shape, view.shape + 1, (size_t)view.ndim * sizeof *view.shape);
    view.data = (const char *)found->data + (size_t)(k * each) * attsvm_dtype_size(found->dtype);
    return view;
}

static inline void integers_of(const attsvm_array *array, int64_t *out)
{
    for (int64_t k = 0; k < attsvm_array_count(array); k++)
        out[k] = (int64_t)attsvm_array_get(array, k);
}

/* Data set of an instance: X and Z with that index (or whole), others shared by all. */
static inline attsvm_data *data_of(const attsvm_archive *archive, const char *prefix, int64_t k,
                                   const char *const *own, const char *const *shared)
{
    attsvm_named_array arrays[8];
    int64_t count = 0;
    attsvm_error err;
    attsvm_data *data;
    for (; *own; own++)
        arrays[count++] = (attsvm_named_array){ *own, array_of(archive, prefix, *own, k) };
    for (; *shared; shared++)
        arrays[count++] = (attsvm_named_array){ *shared, array_of(archive, prefix, *shared, -1) };
    assert_ok(attsvm_data_create(&data, arrays, count, NULL, &err), err);
    return data;
}

/* "n5_T5_d4_" of row k of configs. */
static inline void config_prefix(const attsvm_archive *archive, int64_t k, char *out, size_t size)
{
    attsvm_array row = array_of(archive, "", "configs", k);
    snprintf(out, size, "n%d_T%d_d%d_", (int)attsvm_array_get(&row, 0),
             (int)attsvm_array_get(&row, 1), (int)attsvm_array_get(&row, 2));
}

#endif
