/* The table of file formats, and recognition of the format of a file. */
#include "io/format/format.h"

#include <string.h>

static const io_format formats[] = {
    /* name, ending, single, table, matches, read, write */
    { "npz", ".npz", false, false, io_format_is_npz, io_npz_read, io_npz_write },
    { "npy", ".npy", true, false, io_format_is_npy, io_npy_read, io_npy_write },
    { "safetensors", ".safetensors", false, false, io_format_is_safetensors, io_safetensors_read,
      io_safetensors_write },
    { "csv", ".csv", false, true, NULL, io_csv_read, io_csv_write },
    { "tsv", ".tsv", false, true, NULL, io_csv_read_tabs, io_csv_write_tabs },
};
enum { FORMATS = sizeof formats / sizeof *formats };

const io_format *io_format_of_name(const char *path)
{
    const size_t length = strlen(path);
    for (int k = 0; k < FORMATS; k++) {
        const size_t tail = strlen(formats[k].ending);
        if (length > tail && strcmp(path + length - tail, formats[k].ending) == 0)
            return &formats[k];
    }
    return NULL;
}

const io_format *io_format_of_bytes(const char *path, const void *bytes, size_t size)
{
    for (int k = 0; k < FORMATS; k++)
        if (formats[k].matches && formats[k].matches(bytes, size))
            return &formats[k];
    return io_format_of_name(path);
}

attsvm_status io_format_read_npy(attsvm_archive *archive, const char *name, const void *bytes,
                                 size_t size, attsvm_error *err)
{
    return io_npy_read(archive, name, bytes, size, NULL, err);
}

bool attsvm_format_holds(const char *path, const char *name)
{
    if (!path)
        return false;
    /* E and tokens are not in this list: a table cannot hold them, which is an error */
    static const char *const besides[] = { "Z", "v", "ids", "words", "planted_p", "planted_W" };
    const io_format *format = io_format_of_name(path);
    if (!format || !format->table)
        return true;
    for (size_t k = 0; k < sizeof besides / sizeof *besides; k++)
        if (strcmp(name, besides[k]) == 0)
            return false;
    return true;
}
