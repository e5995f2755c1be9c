/*
 * io/format: the file formats, each with a reader and a writer for the table of io_format (io.h).
 * npz consists of npy members.
 */
#ifndef ATTSVM_IO_FORMAT_H
#define ATTSVM_IO_FORMAT_H

#include "io/io.h"

/* Longest headers that are read; numpy's limit is 10000 bytes, that of safetensors is the same. */
enum { IO_NPY_HEADER_MOST = 1 << 16, IO_SAFETENSORS_HEADER_MOST = 100000000 };

/* Size of the largest npy header that is written. */
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
/* Separated by commas or semicolons, and by tabs. */
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
    bool foreign;       /* a valid npy array without a type here: text, objects, nine dimensions */
    size_t header_size; /* from the first byte to the first element                              */
    size_t data_size;
} io_npy;

/* Size of the whole header, from its first 12 bytes. */
attsvm_status io_npy_measure(const unsigned char first[12], size_t *header_size, attsvm_error *err);
/* `bytes` has the whole header. */
attsvm_status io_npy_parse(io_npy *npy, const unsigned char *bytes, size_t header_size,
                           attsvm_error *err);
/* Whether `size` bytes of a file or member agree with the header. */
attsvm_status io_npy_check_size(const io_npy *npy, uint64_t size, attsvm_error *err);
/* Converts `data` (npy->data_size bytes, allocated) to row-major order and the machine's byte
   order, in new memory if needed; the caller frees *data in any case. */
attsvm_status io_npy_arrange(const io_npy *npy, void **data, attsvm_error *err);
/* Header of version 1.0 for an array; returns its size. */
size_t io_npy_header(const attsvm_array *array, unsigned char header[IO_NPY_HEADER_SIZE]);

#endif
