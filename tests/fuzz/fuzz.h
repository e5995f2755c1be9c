/*
 * Shared by the fuzz targets. A target takes any bytes; it fails by a crash, by a leak, or by one
 * of the checks here, which abort.
 */
#ifndef ATTSVM_FUZZ_H
#define ATTSVM_FUZZ_H

#define BASE_LONG_NAMES
#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* A failed call has a status that bad bytes can cause, and a message. */
static inline void fuzz_check_error(attsvm_status status, const attsvm_error *err)
{
    FUZZ_CHECK(status == ATTSVM_E_FORMAT || status == ATTSVM_E_DATA || status == ATTSVM_E_MEMORY ||
               status == ATTSVM_E_ARG);
    FUZZ_CHECK(err->status == status && err->message[0] != '\0');
    FUZZ_CHECK(memchr(err->message, '\0', sizeof err->message) != NULL);
}

/* Reads every byte of every array, so that the sanitizer sees views beyond the input. */
static inline uint64_t fuzz_touch(const attsvm_archive *archive)
{
    uint64_t sum = 0;
    for (int64_t k = 0; k < attsvm_archive_count(archive); k++) {
        const attsvm_array *array = attsvm_archive_array(archive, k);
        int64_t count = attsvm_array_count(array);
        FUZZ_CHECK(count >= 0 && array->ndim >= 0 && array->ndim <= ATTSVM_MAX_DIMS);
        const unsigned char *at = array->data;
        size_t size = (size_t)count * attsvm_dtype_size(array->dtype);
        for (size_t i = 0; i < size; i++)
            sum += at[i];
        for (int64_t i = 0; i < count && i < 64; i++)
            attsvm_array_get(array, i);
    }
    return sum;
}

/* Tries to make a data set of the arrays. */
static inline void fuzz_data(const attsvm_archive *archive, const attsvm_read_settings *settings)
{
    attsvm_error err = { 0 };
    attsvm_data *data;
    int64_t count = attsvm_archive_count(archive);
    attsvm_named_array *arrays = calloc((size_t)count + 1, sizeof *arrays);
    for (int64_t k = 0; k < count; k++)
        arrays[k] = (attsvm_named_array){ attsvm_archive_name(archive, k),
                                          *attsvm_archive_array(archive, k) };
    attsvm_status status = attsvm_data_create(&data, arrays, count, settings, &err);
    if (status == ATTSVM_OK) {
        attsvm_data_info info = attsvm_data_describe(data);
        double *x = calloc((size_t)info.d, sizeof *x);
        attsvm_data_token(data, info.n - 1, attsvm_data_length(data, info.n - 1) - 1, x);
        free(x);
        attsvm_data_free(data);
    } else {
        FUZZ_CHECK(data == NULL);
        fuzz_check_error(status, &err);
    }
    free(arrays);
}

/* Reads bytes as the content of a file of that name, and uses the result. */
static inline void fuzz_read(const char *name, const uint8_t *bytes, size_t size)
{
    attsvm_error err = { 0 };
    attsvm_archive *archive;
    attsvm_read_settings settings;
    attsvm_read_settings_init(&settings);
    settings.threads = 1;
    settings.inflate_limit = 1 << 24;
    settings.verify = size % 2;
    FUZZ_CHECK(io_archive_create(&archive, &err) == ATTSVM_OK);
    attsvm_status status = io_bytes_read(archive, name, bytes, size, &settings, &err);
    if (status == ATTSVM_OK)
        status = io_archive_check_names(archive, &err);
    if (status == ATTSVM_OK) {
        fuzz_touch(archive);
        fuzz_data(archive, &settings);
    } else {
        fuzz_check_error(status, &err);
    }
    attsvm_archive_free(archive);
}

#endif
