/*
 * A data set from a file, which keeps the archive open, so that mapped tokens are used in place.
 */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

/* The owner of a data set from a file. */
typedef struct source_file {
    attsvm_archive *archive;
    char name[];
} source_file;

static void release_file(void *owner)
{
    source_file *file = owner;
    if (file)
        attsvm_archive_free(file->archive);
    free(file);
}

/* Whether the array of that name is used in place, in the mapped file. */
static bool is_mapped(const attsvm_archive *archive, const char *name)
{
    for (int64_t k = 0; k < archive->count; k++)
        if (strcmp(archive->items[k].name, name) == 0)
            return attsvm_archive_is_mapped(archive, k);
    return false;
}

/* Opens the archive, and lists its arrays.  *out may be set after a failure, too. */
static attsvm_status open_file(source_file **out, attsvm_named_array **arrays, const char *path,
                               const attsvm_read_settings *settings, attsvm_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    const size_t size = strlen(name) + 1;
    TRY(base_allocate(out, 1, sizeof **out + size, "file name", err));
    memcpy((*out)->name, name, size);
    TRY(attsvm_archive_open(&(*out)->archive, path, settings, err));
    const attsvm_archive *archive = (*out)->archive;
    TRY(base_allocate(arrays, (size_t)archive->count, sizeof **arrays, "list of arrays", err));
    for (int64_t k = 0; k < archive->count; k++)
        (*arrays)[k] = (attsvm_named_array){ archive->items[k].name, archive->items[k].array };
    return ATTSVM_OK;
}

attsvm_status attsvm_data_read(attsvm_data **out, const char *path,
                               const attsvm_read_settings *settings, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(path);
    dist_comm *comm = settings ? settings->comm : NULL;
    source_file *file = NULL;
    attsvm_named_array *arrays = NULL;
    attsvm_status status = open_file(&file, &arrays, path, settings, err);
    status = dist_agree(comm, status, err);
    if (status == ATTSVM_OK) {
        const attsvm_archive *archive = file->archive;
        data_source source = { comm, file, release_file, is_mapped(archive, "X") };
        status = data_create(out, arrays, archive->count, settings, &source, err);
        if (status != ATTSVM_OK)
            base_fail_in(err, status, base_path_tail(path));
    }
    free(arrays);
    if (status == ATTSVM_OK)
        (*out)->file = file->name;
    else
        release_file(file);
    return status;
}
