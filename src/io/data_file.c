/*
 * A data set from a file: the archive stays behind it, so that mapped tokens are used in place.
 * Random ones are written by generate_file.c.
 */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

static void release_archive(void *owner)
{
    attsvm_archive_free(owner);
}

/* Whether the array of that name is used where the file is mapped. */
static bool is_mapped(const attsvm_archive *archive, const char *name)
{
    for (int64_t k = 0; k < archive->count; k++)
        if (strcmp(archive->items[k].name, name) == 0)
            return attsvm_archive_is_mapped(archive, k);
    return false;
}

static attsvm_status read_alone(attsvm_archive **archive, attsvm_named_array **arrays,
                                const char *path, const attsvm_read_settings *settings,
                                attsvm_error *err)
{
    *archive = NULL;
    *arrays = NULL;
    TRY(attsvm_archive_open(archive, path, settings, err));
    TRY(base_allocate(arrays, (size_t)(*archive)->count, sizeof **arrays, "list of arrays", err));
    for (int64_t k = 0; k < (*archive)->count; k++)
        (*arrays)[k] =
            (attsvm_named_array){ (*archive)->items[k].name, (*archive)->items[k].array };
    return ATTSVM_OK;
}

attsvm_status attsvm_data_read(attsvm_data **out, const char *path,
                               const attsvm_read_settings *settings, attsvm_error *err)
{
    *out = NULL;
    dist_comm *comm = settings ? settings->comm : NULL;
    attsvm_archive *archive;
    attsvm_named_array *arrays;
    attsvm_status status = read_alone(&archive, &arrays, path, settings, err);
    status = dist_agree(comm, status, err);
    if (status != ATTSVM_OK) {
        free(arrays);
        attsvm_archive_free(archive);
        return status;
    }
    data_source source = { comm, archive, release_archive, is_mapped(archive, "X") };
    status = data_create(out, arrays, archive->count, settings, &source, err);
    free(arrays);
    if (status != ATTSVM_OK) {
        attsvm_archive_free(archive);
        return base_fail_in(err, status, base_path_tail(path));
    }
    return ATTSVM_OK;
}
