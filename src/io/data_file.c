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
    attsvm_archive_free(file->archive);
    free(file);
}

static attsvm_status file_create(source_file **out, attsvm_archive *archive, const char *path,
                                 attsvm_error *err)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash && slash[1] ? slash + 1 : path;
    size_t size = strlen(name) + 1;
    TRY(base_allocate(out, 1, sizeof **out + size, "file name", err));
    (*out)->archive = archive;
    memcpy((*out)->name, name, size);
    return ATTSVM_OK;
}

/* Whether the array of that name is used in place, in the mapped file. */
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
    NEED_OUT(out);
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
    source_file *file;
    status = file_create(&file, archive, path, err);
    if (status != ATTSVM_OK) {
        free(arrays);
        attsvm_archive_free(archive);
        return status;
    }
    data_source source = { comm, file, release_file, is_mapped(archive, "X") };
    status = data_create(out, arrays, archive->count, settings, &source, err);
    free(arrays);
    if (status != ATTSVM_OK) {
        release_file(file);
        return base_fail_in(err, status, base_path_tail(path));
    }
    (*out)->file = file->name;
    return ATTSVM_OK;
}
