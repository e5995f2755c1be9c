/*
 * io: bytes to and from arrays.  npy, npz (libzip), safetensors, CSV/TSV, JSON (jansson); atomic
 * files.  Readers trust nothing: every length is checked against the file before it is used.
 */
#ifndef ATTSVM_IO_H
#define ATTSVM_IO_H

#include "data/data.h"

#include <stdio.h>

/* ----------------------------------------------------------------- atomic files */

/*
 * A file that appears under its name whole or not at all: written under a temporary name in the
 * same directory (no name at all where the system can), synced, renamed.
 */
typedef struct io_file io_file;

attsvm_status io_file_create(io_file **out, const char *path, attsvm_error *err);
attsvm_status io_file_write(io_file *file, const void *bytes, size_t size, attsvm_error *err);
/* Syncs and renames; frees `file` either way. */
attsvm_status io_file_commit(io_file *file, attsvm_error *err);
/* Leaves nothing behind; frees. */
void io_file_abandon(io_file *file);

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

/* ------------------------------------------------------------------------- JSON */

/* A JSON value; objects and arrays own what is put into them. */
typedef struct io_json io_json;

io_json *io_json_object(void); /* the makers return NULL only when memory is out; all calls below */
io_json *io_json_list(void);   /* accept NULL and io_json_print then reports ATTSVM_E_MEMORY      */
void io_json_free(io_json *json);

void io_json_set(io_json *object, const char *key, io_json *value); /* takes `value` */
void io_json_append(io_json *list, io_json *value);                 /* takes `value` */
io_json *io_json_integer(int64_t value);
io_json *io_json_number(double value); /* null where it is not finite */
io_json *io_json_text(const char *value);
io_json *io_json_bool(bool value);
io_json *io_json_integers(const int64_t *values, int64_t count);
io_json *io_json_numbers(const double *values, int64_t count);

/* One line (or indented) and a newline; keys in the order in which they were set. */
attsvm_status io_json_print(const io_json *json, FILE *stream, bool indent, attsvm_error *err);
attsvm_status io_json_write(const io_json *json, const char *path, attsvm_error *err); /* atomic */

/* Strict: one value, no duplicate keys, at most 64 levels.  `name` is for messages. */
attsvm_status io_json_parse(io_json **out, const char *text, size_t size, const char *name,
                            attsvm_error *err);
attsvm_status io_json_read(io_json **out, const char *path, attsvm_error *err);
/* Borrowed; NULL where it is not there or not of that kind. */
const io_json *io_json_get(const io_json *object, const char *key);
const io_json *io_json_at(const io_json *list, int64_t index);
int64_t io_json_count(const io_json *object_or_list); /* -1 for other kinds */
const char *io_json_key(const io_json *object, int64_t index);
bool io_json_as_integer(const io_json *json, int64_t *out);
bool io_json_as_number(const io_json *json, double *out);
bool io_json_as_bool(const io_json *json, bool *out);
const char *io_json_as_text(const io_json *json);

#endif
