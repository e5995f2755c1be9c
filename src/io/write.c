/*
 * Writes arrays: the checks common to all formats, and chunks of a source.
 */
#include "io/io.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_SIZE = 1 << 20 };

attsvm_status io_pieces_open(io_pieces *pieces, const io_source *source, attsvm_error *err)
{
    *pieces = (io_pieces){ .source = source,
                           .total = attsvm_array_count(&source->array),
                           .element = attsvm_dtype_size(source->array.dtype) };
    if (!source->array.data && pieces->total > 0)
        TRY(base_allocate(&pieces->buffer, PIECE_SIZE, 1, source->name, err));
    return ATTSVM_OK;
}

attsvm_status io_pieces_next(io_pieces *pieces, const void **bytes, size_t *size, attsvm_error *err)
{
    const io_source *source = pieces->source;
    int64_t first = pieces->next, left = pieces->total - first;
    int64_t most = (int64_t)(PIECE_SIZE / pieces->element);
    int64_t count = left < most ? left : most;
    *bytes = NULL;
    *size = 0;
    if (count == 0)
        return ATTSVM_OK;
    if (source->array.data) {
        *bytes = (const unsigned char *)source->array.data + (size_t)first * pieces->element;
    } else {
        attsvm_status status = source->fill(source->context, first, count, pieces->buffer, err);
        if (status != ATTSVM_OK)
            return base_fail_in(err, status, source->name);
        *bytes = pieces->buffer;
    }
    *size = (size_t)count * pieces->element;
    pieces->next += count;
    return ATTSVM_OK;
}

void io_pieces_close(io_pieces *pieces)
{
    free(pieces->buffer);
    pieces->buffer = NULL;
}

void io_swap_bytes(void *data, size_t count, size_t size)
{
    unsigned char *at = data;
    for (size_t k = 0; k < count; k++, at += size) {
        for (size_t low = 0, high = size - 1; low < high; low++, high--) {
            unsigned char byte = at[low];
            at[low] = at[high];
            at[high] = byte;
        }
    }
}

static attsvm_status write_swapped(io_file *file, const void *bytes, size_t size, size_t element,
                                   attsvm_error *err)
{
    void *copy;
    TRY(base_allocate(&copy, size, 1, "a copy in little-endian order", err));
    memcpy(copy, bytes, size);
    io_swap_bytes(copy, size / element, element);
    attsvm_status status = io_file_write(file, copy, size, err);
    free(copy);
    return status;
}

attsvm_status io_elements_write(io_file *file, const io_source *source, bool little_endian,
                                attsvm_error *err)
{
    io_pieces pieces;
    const void *bytes;
    size_t size;
    bool swap = little_endian && !io_little_endian();
    TRY(io_pieces_open(&pieces, source, err));
    attsvm_status status;
    do {
        status = io_pieces_next(&pieces, &bytes, &size, err);
        if (status == ATTSVM_OK && swap && size > 0)
            status = write_swapped(file, bytes, size, pieces.element, err);
        else if (status == ATTSVM_OK)
            status = io_file_write(file, bytes, size, err);
    } while (status == ATTSVM_OK && size > 0);
    io_pieces_close(&pieces);
    return status;
}

static attsvm_status check_name(const io_source *source, attsvm_error *err)
{
    char name[BASE_NAME_SIZE];
    if (!source->name || !*source->name)
        return fail(err, ATTSVM_E_ARG, "an array to write has no name");
    base_printable(source->name, name);
    if (strlen(source->name) > IO_NAME_MOST || !base_is_utf8(source->name))
        return fail(err, ATTSVM_E_ARG, "%s: a name must be valid UTF-8 of at most %d bytes", name,
                    IO_NAME_MOST);
    return ATTSVM_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static attsvm_status check_sources(const io_source *sources, int64_t count, attsvm_error *err)
{
    if (count < 1)
        return fail(err, ATTSVM_E_ARG, "there is no array to write");
    for (int64_t k = 0; k < count; k++)
        TRY(check_name(&sources[k], err));
    const char **names;
    TRY(base_allocate(&names, (size_t)count, sizeof *names, "names", err));
    for (int64_t k = 0; k < count; k++)
        names[k] = sources[k].name;
    qsort(names, (size_t)count, sizeof *names, compare_names);
    attsvm_status status = ATTSVM_OK;
    char name[BASE_NAME_SIZE];
    for (int64_t k = 1; k < count && status == ATTSVM_OK; k++)
        if (strcmp(names[k - 1], names[k]) == 0)
            status = fail(err, ATTSVM_E_ARG, "two arrays to write have the name '%s'",
                          base_printable(names[k], name));
    free(names);
    return status;
}

attsvm_status io_write(const char *path, const io_source *sources, int64_t count,
                       const io_write_options *options, attsvm_error *err)
{
    if (!path || !*path)
        return fail(err, ATTSVM_E_ARG, "the name of the file to write is empty");
    const io_format *format = io_format_of_name(path);
    attsvm_status status = check_sources(sources, count, err);
    if (status == ATTSVM_OK && !format)
        status =
            fail(err, ATTSVM_E_ARG, "the name ends in none of .npz .npy .safetensors .csv .tsv");
    if (status == ATTSVM_OK && format->single && count != 1)
        status = fail(err, ATTSVM_E_ARG, "a %s file holds one array, not %" PRId64, format->ending,
                      count);
    if (status != ATTSVM_OK)
        return base_fail_in(err, status, base_path_tail(path));
    io_file *file;
    TRY(io_file_create(&file, path, err));
    status = format->write(file, sources, count, options, err);
    if (status != ATTSVM_OK) {
        io_file_abandon(file);
        /* messages about the disk name the file already */
        return status == ATTSVM_E_DISK ? status : base_fail_in(err, status, base_path_tail(path));
    }
    return io_file_commit(file, err);
}

attsvm_status attsvm_file_check(const char *path, attsvm_file_content content, attsvm_error *err)
{
    io_file *file;
    if (!path || !*path)
        return fail(err, ATTSVM_E_ARG, "the name of the file to write is empty");
    if (content < ATTSVM_FILE_TEXT || content > ATTSVM_FILE_RESULT)
        return fail(err, ATTSVM_E_ARG, "content %d of a file is not known", (int)content);
    const io_format *format = io_format_of_name(path);
    if (content != ATTSVM_FILE_TEXT && !format)
        return fail(err, ATTSVM_E_ARG,
                    "%s: the name ends in none of .npz .npy .safetensors .csv .tsv",
                    base_path_tail(path));
    if (content == ATTSVM_FILE_RESULT && (format->single || format->table))
        return fail(err, ATTSVM_E_ARG, "%s: a %s file cannot hold a result; use .npz",
                    base_path_tail(path), format->ending);
    TRY(io_file_create(&file, path, err));
    io_file_abandon(file);
    return ATTSVM_OK;
}

attsvm_status attsvm_archive_write(const char *path, const attsvm_named_array *arrays,
                                   int64_t count, attsvm_error *err)
{
    TRY(data_check_arrays(arrays, count, "arrays", err));
    io_source *sources;
    if (count < 1)
        return fail(err, ATTSVM_E_ARG, "there is no array to write");
    TRY(base_allocate(&sources, (size_t)count, sizeof *sources, "list of arrays", err));
    for (int64_t k = 0; k < count; k++)
        sources[k] = (io_source){ .name = arrays[k].name, .array = arrays[k].array };
    attsvm_status status = io_write(path, sources, count, NULL, err);
    free(sources);
    return status;
}
