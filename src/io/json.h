/*
 * io/json: JSON values (jansson), for code that needs nothing else of io.
 */
#ifndef ATTSVM_IO_JSON_H
#define ATTSVM_IO_JSON_H

#include "base/base.h"

#include <stdio.h>

/* A JSON value; objects and arrays own what is put into them. */
typedef struct io_json io_json;

io_json *io_json_object(void); /* constructors return NULL only if out of memory; all calls below */
io_json *io_json_list(void);   /* accept NULL and io_json_print then reports ATTSVM_E_MEMORY      */
void io_json_free(io_json *json);

void io_json_set(io_json *object, const char *key, io_json *value); /* takes `value` */
void io_json_append(io_json *list, io_json *value);                 /* takes `value` */
io_json *io_json_integer(int64_t value);
io_json *io_json_number(double value); /* null if not finite */
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
/* Borrowed; NULL if missing or of another kind. */
const io_json *io_json_get(const io_json *object, const char *key);
const io_json *io_json_at(const io_json *list, int64_t index);
int64_t io_json_count(const io_json *object_or_list); /* -1 for other kinds */
bool io_json_is_list(const io_json *json);
/* The key after `key` (a pointer that this function returned; NULL: the first), in constant time.
 */
const char *io_json_next_key(const io_json *object, const char *key);
bool io_json_as_integer(const io_json *json, int64_t *out);
bool io_json_as_number(const io_json *json, double *out);
bool io_json_as_bool(const io_json *json, bool *out);
const char *io_json_as_text(const io_json *json);

#endif
