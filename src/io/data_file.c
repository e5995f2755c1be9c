/*
 * Data sets and files: read one with the archive behind it, so that mapped tokens are used in
 * place; write a random one piece by piece.
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
        return base_fail_in(err, status, path);
    }
    return ATTSVM_OK;
}

/* One array of a generator. */
typedef struct part {
    data_generator *generator;
    int64_t index;
} part;

static attsvm_status fill_part(void *context, int64_t first, int64_t count, void *buffer,
                               attsvm_error *err)
{
    const part *p = context;
    return data_generator_fill(p->generator, p->index, first, count, buffer, err);
}

attsvm_status attsvm_data_generate_file(const char *path, const attsvm_generate_settings *settings,
                                        attsvm_error *err)
{
    data_generator *generator;
    TRY(data_generator_create(&generator, settings, err));
    const attsvm_named_array *arrays;
    int64_t count = data_generator_arrays(generator, &arrays);
    io_source *sources = NULL;
    part *parts = NULL;
    attsvm_status status =
        base_allocate(&sources, (size_t)count, sizeof *sources, "list of arrays", err);
    if (status == ATTSVM_OK)
        status = base_allocate(&parts, (size_t)count, sizeof *parts, "list of arrays", err);
    for (int64_t k = 0; status == ATTSVM_OK && k < count; k++) {
        parts[k] = (part){ generator, k };
        sources[k] = (io_source){ arrays[k].name, arrays[k].array, fill_part, &parts[k] };
    }
    if (status == ATTSVM_OK)
        status = io_write(path, sources, count, NULL, err);
    free(parts);
    free(sources);
    data_generator_free(generator);
    return status;
}
