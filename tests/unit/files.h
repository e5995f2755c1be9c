/* Small files for tests, in a directory that is removed at the end. */
#ifndef ATTSVM_TEST_FILES_H
#define ATTSVM_TEST_FILES_H

#include "unit.h"

#include "io/io.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct files {
    char directory[64];
    char path[512];
} files;

/* The full name of a file in the directory, valid until the next call. */
static inline const char *files_path(files *f, const char *name)
{
    snprintf(f->path, sizeof f->path, "%s/%s", f->directory, name);
    return f->path;
}

static inline int files_open(void **state)
{
    files *f = calloc(1, sizeof *f);
    snprintf(f->directory, sizeof f->directory, "/tmp/attsvm-test-XXXXXX");
    *state = f;
    return f && mkdtemp(f->directory) ? 0 : -1;
}

/* Number of entries, hidden ones too. */
static inline int files_count(const files *f)
{
    DIR *directory = opendir(f->directory);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(directory));)
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(directory);
    return count;
}

static inline int files_close(void **state)
{
    files *f = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", f->directory);
    int status = system(command); /* NOLINT(cert-env33-c): the name is ours */
    free(f);
    return status;
}

static inline void files_put(files *f, const char *name, const void *bytes, size_t size)
{
    FILE *stream = fopen(files_path(f, name), "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

/* The bytes of a file, NUL-terminated; the caller frees them. */
static inline unsigned char *files_get(const char *path, size_t *size)
{
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    *size = (size_t)ftell(stream);
    rewind(stream);
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, stream), *size);
    bytes[*size] = 0;
    fclose(stream);
    return bytes;
}

/* A view of C values. */
static inline attsvm_array array_1d(attsvm_dtype dtype, const void *data, int64_t count)
{
    return (attsvm_array){ .data = data, .shape = { count }, .ndim = 1, .dtype = dtype };
}

static inline attsvm_array array_2d(attsvm_dtype dtype, const void *data, int64_t m, int64_t n)
{
    return (attsvm_array){ .data = data, .shape = { m, n }, .ndim = 2, .dtype = dtype };
}

static inline size_t array_bytes(const attsvm_array *array)
{
    return (size_t)attsvm_array_count(array) * attsvm_dtype_size(array->dtype);
}

static inline bool same_array(const attsvm_array *a, const attsvm_array *b)
{
    if (a->dtype != b->dtype || a->ndim != b->ndim ||
        memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) != 0)
        return false;
    return array_bytes(a) == 0 || memcmp(a->data, b->data, array_bytes(a)) == 0;
}

static inline bool same_archive(const attsvm_archive *a, const attsvm_archive *b)
{
    if (attsvm_archive_count(a) != attsvm_archive_count(b))
        return false;
    for (int64_t k = 0; k < attsvm_archive_count(a); k++)
        if (strcmp(attsvm_archive_name(a, k), attsvm_archive_name(b, k)) != 0 ||
            !same_array(attsvm_archive_array(a, k), attsvm_archive_array(b, k)))
            return false;
    return true;
}

/* Reads bytes in memory as a file of that name would be read; *out is NULL on failure. */
static inline attsvm_status read_bytes_as(const char *name, const void *bytes, size_t size,
                                          attsvm_archive **out, attsvm_error *err)
{
    attsvm_read_settings settings;
    attsvm_read_settings_init(&settings);
    attsvm_status status = io_archive_create(out, err);
    if (status == ATTSVM_OK)
        status = io_bytes_read(*out, name, bytes, size, &settings, err);
    if (status == ATTSVM_OK)
        status = io_archive_check_names(*out, err);
    if (status != ATTSVM_OK) {
        attsvm_archive_free(*out);
        *out = NULL;
    }
    return status;
}

/* Checks that the bytes are refused with a message that contains `text`. */
static inline void refused(const char *name, const void *bytes, size_t size, const char *text)
{
    attsvm_archive *archive;
    attsvm_error err = { 0 };
    /* from a block of exactly that size, so that the sanitizer sees reads beyond it */
    void *copy = malloc(size ? size : 1);
    memcpy(copy, bytes, size);
    assert_fails(read_bytes_as(name, copy, size, &archive, &err), err, ATTSVM_E_FORMAT, text);
    free(copy);
}

#endif
