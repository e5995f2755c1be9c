/*
 * Reads an archive and writes its arrays to another file: `copy_archive [-d] [-v] FROM TO`.  With
 * one argument it only reads, and lists the arrays.  -d deflates, -v verifies checksums.
 */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

static int complain(const attsvm_error *err)
{
    fprintf(stderr, "%s\n", err->message);
    return -err->status;
}

static void list(const attsvm_archive *archive)
{
    for (int64_t k = 0; k < attsvm_archive_count(archive); k++) {
        const attsvm_array *array = attsvm_archive_array(archive, k);
        printf("%s %s", attsvm_archive_name(archive, k), attsvm_dtype_name(array->dtype));
        for (int m = 0; m < array->ndim; m++)
            printf(" %" PRId64, array->shape[m]);
        printf("%s\n", attsvm_archive_is_mapped(archive, k) ? " mapped" : "");
    }
}

static attsvm_status copy(const attsvm_archive *archive, const char *to, bool deflate,
                          attsvm_error *err)
{
    int64_t count = attsvm_archive_count(archive);
    io_source *sources;
    TRY(base_allocate(&sources, (size_t)count, sizeof *sources, "list", err));
    for (int64_t k = 0; k < count; k++)
        sources[k] = (io_source){ .name = attsvm_archive_name(archive, k),
                                  .array = *attsvm_archive_array(archive, k) };
    attsvm_status status =
        io_write(to, sources, count, &(io_write_options){ .deflate = deflate }, err);
    free(sources);
    return status;
}

int main(int argc, char **argv)
{
    attsvm_read_settings settings;
    attsvm_read_settings_init(&settings);
    bool deflate = false;
    int first = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        deflate |= strcmp(argv[first], "-d") == 0;
        settings.verify |= strcmp(argv[first], "-v") == 0;
    }
    if (argc - first < 1 || argc - first > 2) {
        fprintf(stderr, "usage: copy_archive [-d] [-v] FROM [TO]\n");
        return 1;
    }
    attsvm_error err = { 0 };
    attsvm_archive *archive;
    if (attsvm_archive_open(&archive, argv[first], &settings, &err) != ATTSVM_OK)
        return complain(&err);
    if (argc - first == 1)
        list(archive);
    attsvm_status status = ATTSVM_OK;
    if (argc - first == 2)
        status = copy(archive, argv[first + 1], deflate, &err);
    attsvm_archive_free(archive);
    return status == ATTSVM_OK ? 0 : complain(&err);
}
