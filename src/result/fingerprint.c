/*
 * A hash of a data set that does not depend on file format or type: of sizes, some tokens spread
 * over the sequences, labels, queries, head and fixed parameters.  A data set with a trained head
 * (attsvm_data_with_head) has the hash of the one that it came from.
 */
#include "result/result.h"

#include <stdio.h>

enum { MOST_TOKENS = 256, MOST_ENTRIES = 1024, MOST_D = 4096 };

static uint64_t of_tokens(uint64_t number, const attsvm_data *data)
{
    for (int64_t k = 0; k < MOST_TOKENS; k++) {
        const int64_t i = (int64_t)((double)data->n * (double)k / MOST_TOKENS);
        la_rows rows = data_sequence(data, i);
        const int64_t length = rows.count, step = data->d / MOST_D + 1;
        number = base_digest(number, &length, sizeof length);
        if (length == 0)
            continue;
        const int64_t t = k % length;
        const int64_t row = rows.index ? rows.index[t] : t;
        const size_t bytes = (size_t)data->d * attsvm_dtype_size(data->dtype);
        const attsvm_array token = { rows.base ? (const char *)rows.base + (size_t)row * bytes
                                               : NULL,
                                     { data->d },
                                     1,
                                     data->dtype };
        for (int64_t j = k % step; j < data->d; j += step) {
            double x = rows.base ? attsvm_array_get(&token, j) : j == row; /* a one-hot word */
            number = base_digest(number, &x, sizeof x);
        }
        data_reader_release_around(data, i); /* a touch may map a huge page of a large file */
    }
    return number;
}

static uint64_t of_array(uint64_t number, const attsvm_array *array)
{
    const int64_t count = array ? attsvm_array_count(array) : 0;
    const int64_t sampled = count < MOST_ENTRIES ? count : MOST_ENTRIES;
    number = base_digest(number, &count, sizeof count);
    for (int64_t k = 0; k < sampled; k++) {
        double x = attsvm_array_get(array, (int64_t)((double)count * (double)k / (double)sampled));
        number = base_digest(number, &x, sizeof x);
    }
    return number;
}

static uint64_t of_labels(uint64_t number, const attsvm_data *data)
{
    const int64_t sampled = data->labels < MOST_ENTRIES ? data->labels : MOST_ENTRIES;
    number = base_digest(number, &data->labels, sizeof data->labels);
    for (int64_t k = 0; k < sampled; k++) {
        int64_t at = (int64_t)((double)data->labels * (double)k / (double)sampled);
        number = base_digest(number, &data->Y[at], 1);
    }
    return number;
}

void attsvm_data_fingerprint(const attsvm_data *data, char out[ATTSVM_FINGERPRINT])
{
    if (!data || !out)
        return;
    if (data->headless)
        data = data->headless;
    static const char *const names[] = { "labels", "Z", "v", "V", "W", "p" };
    const int64_t sizes[] = { data->n, data->d, data->tokens };
    uint64_t number = base_digest(BASE_DIGEST, sizes, sizeof sizes);
    number = of_tokens(number, data);
    number = of_labels(number, data);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        number = of_array(number, attsvm_data_array(data, names[k]));
    snprintf(out, ATTSVM_FINGERPRINT, "%016" PRIx64, number);
}
