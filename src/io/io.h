/*
 * io: bytes to and from arrays.  npy, npz (libzip), safetensors, CSV/TSV, JSON (jansson); atomic
 * files.  Readers check every length against the file before they use it.
 */
#ifndef ATTSVM_IO_H
#define ATTSVM_IO_H

#include "data/data.h"
#include "io/json.h"

#include <stdio.h>

/* ----------------------------------------------------------------- atomic files */

/*
 * A file that is replaced atomically: written under a temporary name in the same directory (or
 * without a name, if the system supports it), synced, renamed.
 */
typedef struct io_file io_file;

attsvm_status io_file_create(io_file **out, const char *path, attsvm_error *err);
attsvm_status io_file_write(io_file *file, const void *bytes, size_t size, attsvm_error *err);
/* Syncs and renames; frees `file` either way. */
attsvm_status io_file_commit(io_file *file, attsvm_error *err);
/* Leaves nothing behind; frees. */
void io_file_abandon(io_file *file);

/* Sets the position of the next write. */
attsvm_status io_file_seek(io_file *file, uint64_t position, attsvm_error *err);
uint64_t io_file_tell(const io_file *file);

/* Whether memory is available: tells apart the causes of failures that libraries do not name. */
bool io_memory_is_left(void);

/* The status for an errno value; an error "path: cannot ACTION: reason" with it. */
attsvm_status io_errno_status(int code);
attsvm_status io_fail_errno(attsvm_error *err, const char *path, const char *deed, int code);

/* ---------------------------------------------------------------------- writing */

/*
 * An array to write, from memory (array.data) or, where array.data is NULL, produced piece by
 * piece: fill puts elements first..first+count-1, row-major in the array's dtype, into `buffer`.
 */
typedef attsvm_status io_fill(void *context, int64_t first, int64_t count, void *buffer,
                              attsvm_error *err);
typedef struct io_source {
    const char *name;
    attsvm_array array;
    io_fill *fill;
    void *context;
} io_source;

typedef struct io_write_options {
    bool deflate; /* npz only */
} io_write_options;

/* As attsvm_archive_write, in the order given. */
attsvm_status io_write(const char *path, const io_source *sources, int64_t count,
                       const io_write_options *options, attsvm_error *err);

/* ---------------------------------------------------------------------- formats */

/*
 * A file format.  To add one: one file in io/format, one line of the table in formats.c.  `read`
 * takes bytes in memory, which must outlive the archive because large arrays are used in place;
 * `name` names the array of a format without names.
 */
typedef struct io_format {
    const char *name, *ending;
    bool single; /* holds one array                       */
    bool table;  /* holds tokens and labels, nothing else */
    bool (*matches)(const unsigned char *bytes, size_t size); /* by content; NULL: by name alone */
    attsvm_status (*read)(attsvm_archive *archive, const char *name, const void *bytes, size_t size,
                          const attsvm_read_settings *settings, attsvm_error *err);
    attsvm_status (*write)(io_file *file, const io_source *sources, int64_t count,
                           const io_write_options *options, attsvm_error *err);
} io_format;

/* The format of these bytes by content, then by the ending of `path`; NULL: none. */
const io_format *io_format_of_bytes(const char *path, const void *bytes, size_t size);
/* The format that the ending of `path` names; NULL: none. */
const io_format *io_format_of_name(const char *path);
/* Reads one array in the npy format, under that name. */
attsvm_status io_format_read_npy(attsvm_archive *archive, const char *name, const void *bytes,
                                 size_t size, attsvm_error *err);

/* ---------------------------------------------------------------------- reading */

#ifndef IO_MAP_FROM           /* the fuzz build sets it lower                         */
#define IO_MAP_FROM (1 << 20) /* arrays of at least this many bytes are used in place */
#endif

/* Room for a number, and for a shape in a message. */
enum { IO_NUMBER_SIZE = 32, IO_SHAPE_SIZE = 192 };

enum { IO_NAME_MOST = 4096 }; /* longest name of an array to write */

typedef struct io_item {
    char *name;
    attsvm_array array;
    void *memory; /* memory of array.data; NULL if it is in the mapped file */
} io_item;

/* A file that is mapped until the archive is freed. */
typedef struct io_map {
    void *base;
    size_t size;
} io_map;

struct attsvm_archive {
    io_item *items;
    int64_t count;
    io_map *maps;
    int64_t map_count;
    char **foreign; /* names of skipped arrays */
    int64_t foreign_count;
    size_t capacity, map_capacity, foreign_capacity;
};

/*
 * Reallocates the list to hold `more` elements of `size` bytes after the `used` ones; NULL, with
 * the old list unchanged, if out of memory.
 */
void *io_grow(void *list, size_t used, size_t more, size_t *capacity, size_t size,
              attsvm_error *err);

/*
 * Opens a file without blocking (a pipe would wait for a writer) and maps it read-only; the caller
 * unmaps it.  *base is NULL for a directory and for an empty file.  Messages do not name the path.
 */
attsvm_status io_map_file(int directory, const char *path, bool *is_directory, void **base,
                          size_t *size, attsvm_error *err);

attsvm_status io_archive_create(attsvm_archive **out, attsvm_error *err);
/* Takes `memory` (NULL: borrowed bytes), also when it fails; copies `name`. */
attsvm_status io_archive_add(attsvm_archive *archive, const char *name, const attsvm_array *array,
                             void *memory, attsvm_error *err);
/*
 * Skips an array whose element type is not supported (`why`, with its message in `err`) and records
 * its name; returns `why` if the name is one of a data set's arrays.
 */
attsvm_status io_archive_leave_out(attsvm_archive *archive, const char *name, attsvm_status why,
                                   attsvm_error *err);
/* Takes a mapping, also when it fails. */
attsvm_status io_archive_add_map(attsvm_archive *archive, void *base, size_t size,
                                 attsvm_error *err);
/* Unmaps the latest mapping if no item from `first_item` on points into it. */
void io_archive_drop_unused_map(attsvm_archive *archive, int64_t first_item);
/* Refuses two arrays with the same name. */
attsvm_status io_archive_check_names(const attsvm_archive *archive, attsvm_error *err);

/* Bytes of a file of that name; they must outlive the archive. */
attsvm_status io_bytes_read(attsvm_archive *archive, const char *path, const void *bytes,
                            size_t size, const attsvm_read_settings *settings, attsvm_error *err);

void io_swap_bytes(void *data, size_t count, size_t size);
static inline bool io_little_endian(void)
{
    const uint16_t one = 1;
    return *(const unsigned char *)&one == 1;
}

/* Parses all of `text` as a decimal number, correctly rounded, independent of the locale; false if
   it is not one, not finite or beyond the range of double. */
bool io_parse_number(const char *text, size_t size, double *out);
/* The shortest of 15 to 17 digits that reads back as `value` (finite); returns its length. */
size_t io_print_number(double value, char out[IO_NUMBER_SIZE]);

/* --------------------------------------------------------------- pieces of a source */

/* The bytes of a source, from memory or from its fill function, in pieces of about 1 MiB. */
typedef struct io_pieces {
    const io_source *source;
    int64_t next, total; /* elements */
    size_t element;
    unsigned char *buffer; /* NULL if the array is in memory */
} io_pieces;

attsvm_status io_pieces_open(io_pieces *pieces, const io_source *source, attsvm_error *err);
/* *size = 0 at the end. */
attsvm_status io_pieces_next(io_pieces *pieces, const void **bytes, size_t *size,
                             attsvm_error *err);
void io_pieces_close(io_pieces *pieces);

/* All elements, in the machine's byte order or in little-endian order. */
attsvm_status io_elements_write(io_file *file, const io_source *source, bool little_endian,
                                attsvm_error *err);

#endif
