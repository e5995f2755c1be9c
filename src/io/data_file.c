/*
 * A data set from a file: the archive stays behind it, so that mapped tokens are used in place.
 * Random ones are written by generate_file.c.
 */
#include "io/io.h"

#include <stdlib.h>

static void release_archive(void *owner)
{
    attsvm_archive_free(owner);
}

attsvm_status attsvm_data_read(attsvm_data **out, const char *path,
                               const attsvm_read_settings *settings, attsvm_error *err)
{
    *out = NULL;
    attsvm_archive *archive;
    attsvm_named_array *arrays;
    TRY(attsvm_archive_open(&archive, path, settings, err));
    attsvm_status status =
        base_allocate(&arrays, (size_t)archive->count, sizeof *arrays, "list of arrays", err);
    for (int64_t k = 0; status == ATTSVM_OK && k < archive->count; k++)
        arrays[k] = (attsvm_named_array){ archive->items[k].name, archive->items[k].array };
    if (status == ATTSVM_OK)
        status = data_create(out, arrays, archive->count, settings, archive, release_archive, err);
    free(arrays);
    if (status != ATTSVM_OK) {
        attsvm_archive_free(archive);
        return base_fail_in(err, status, io_path_tail(path));
    }
    return ATTSVM_OK;
}
