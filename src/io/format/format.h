/*
 * io/format: the file formats, each with a reader and a writer of the form that io.h's io_format
 * has.  npz holds npy members; safetensors and CSV stand alone.
 */
#ifndef ATTSVM_IO_FORMAT_H
#define ATTSVM_IO_FORMAT_H

#include "io/io.h"

/* Longest headers that are read; numpy itself stops at 10000 bytes, safetensors at this. */
enum { IO_NPY_HEADER_MOST = 1 << 16, IO_SAFETENSORS_HEADER_MOST = 100000000 };

/* Room for an npy header of ours. */
enum { IO_NPY_HEADER_SIZE = 512 };

bool io_format_is_npz(const unsigned char *bytes, size_t size);
bool io_format_is_npy(const unsigned char *bytes, size_t size);
bool io_format_is_safetensors(const unsigned char *bytes, size_t size);

attsvm_status io_npz_read(attsvm_archive *archive, const char *name, const void *bytes, size_t size,
                          const attsvm_read_settings *settings, attsvm_error *err);
attsvm_status io_npy_read(attsvm_archive *archive, const char *name, const void *bytes, size_t size,
                          const attsvm_read_settings *settings, attsvm_error *err);
attsvm_status io_safetensors_read(attsvm_archive *archive, const char *name, const void *bytes,
                                  size_t size, const attsvm_read_settings *settings,
                                  attsvm_error *err);
/* Separated by commas, and by tabs. */
attsvm_status io_csv_read(attsvm_archive *archive, const char *name, const void *bytes, size_t size,
                          const attsvm_read_settings *settings, attsvm_error *err);
attsvm_status io_csv_read_tabs(attsvm_archive *archive, const char *name, const void *bytes,
                               size_t size, const attsvm_read_settings *settings,
                               attsvm_error *err);

attsvm_status io_npz_write(io_file *file, const io_source *sources, int64_t count,
                           const io_write_options *options, attsvm_error *err);
attsvm_status io_npy_write(io_file *file, const io_source *sources, int64_t count,
                           const io_write_options *options, attsvm_error *err);
attsvm_status io_safetensors_write(io_file *file, const io_source *sources, int64_t count,
                                   const io_write_options *options, attsvm_error *err);
attsvm_status io_csv_write(io_file *file, const io_source *sources, int64_t count,
                           const io_write_options *options, attsvm_error *err);
attsvm_status io_csv_write_tabs(io_file *file, const io_source *sources, int64_t count,
                                const io_write_options *options, attsvm_error *err);

/* ------------------------------------------------------------------------- npy */

/* An npy header; array.data is NULL. */
typedef struct io_npy {
    attsvm_array array;
    bool fortran, swapped; /* stored in the other memory order, byte order */
    bool foreign;       /* refused, but an array all the same: of text, objects, nine dimensions */
    size_t header_size; /* from the first byte to the first element     */
    size_t data_size;
} io_npy;

/* Size of the whole header, told by its first 12 bytes. */
attsvm_status io_npy_measure(const unsigned char first[12], size_t *header_size, attsvm_error *err);
/* `bytes` has the whole header. */
attsvm_status io_npy_parse(io_npy *npy, const unsigned char *bytes, size_t header_size,
                           attsvm_error *err);
/* Whether a file or member of `size` bytes is what the header makes of it. */
attsvm_status io_npy_check_size(const io_npy *npy, uint64_t size, attsvm_error *err);
/* Brings `data` (npy->data_size bytes, allocated) into row-major order and the machine's byte
   order, in new memory where it must; *data is the caller's to free either way. */
attsvm_status io_npy_arrange(const io_npy *npy, void **data, attsvm_error *err);
/* Header of version 1.0 for an array; returns its size. */
size_t io_npy_header(const attsvm_array *array, unsigned char header[IO_NPY_HEADER_SIZE]);

#endif
