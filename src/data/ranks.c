/*
 * Data sets of several processes.  Every rank maps the whole file and reads its share of the
 * sequences; shares have about equally many tokens.
 */
#include "data/data.h"

#include <string.h>

attsvm_status data_share(attsvm_data *data, dist_comm *comm, attsvm_error *err)
{
    if (dist_size(comm) == 1)
        return ATTSVM_OK;
    TRY(base_allocate(&data->share, (size_t)dist_size(comm) + 1, sizeof *data->share, "shares",
                      err));
    data_blocks(data, dist_size(comm), data->share);
    data->comm = comm;
    return ATTSVM_OK;
}

/* The bits that fit into a double. */
static double as_double(uint64_t number)
{
    return (double)(number >> 12);
}

/*
 * Hash of names, types, shapes and at most 17 pieces of 64 bytes of each array: enough to detect a
 * different file without reading all of it.
 */
static double digest_of(const attsvm_data *data)
{
    const size_t piece = 64, pieces = 16;
    uint64_t number = BASE_DIGEST;
    for (int64_t k = 0; k < data->count; k++) {
        const attsvm_array *array = &data->arrays[k].array;
        const char *name = data->arrays[k].name, *bytes = array->data;
        size_t size = (size_t)attsvm_array_count(array) * attsvm_dtype_size(array->dtype);
        size_t step = size / pieces > piece ? size / pieces : piece;
        number = base_digest(number, name, strlen(name));
        number = base_digest(number, &array->dtype, sizeof array->dtype);
        number = base_digest(number, array->shape, (size_t)array->ndim * sizeof *array->shape);
        for (size_t at = 0; at < size; at += step)
            number = base_digest(number, bytes + at, size - at < piece ? size - at : piece);
        if (size > piece)
            number = base_digest(number, bytes + size - piece, piece);
    }
    return as_double(number);
}

attsvm_status data_check_ranks(const attsvm_data *data, dist_comm *comm, attsvm_error *err)
{
    const char *name = attsvm_kernels();
    if (dist_size(comm) == 1)
        return ATTSVM_OK;
    double kernels = as_double(base_digest(BASE_DIGEST, name, strlen(name))),
           file = digest_of(data);
    double largest[4] = { kernels, -kernels, file, -file };
    dist_max(comm, largest, 4);
    if (largest[0] != -largest[1])
        return fail(err, ATTSVM_E_ARG,
                    "ranks have different vector kernels (this one %s); --kernels chooses one for "
                    "all",
                    name);
    if (largest[2] != -largest[3])
        return fail(err, ATTSVM_E_DATA,
                    "ranks see different data: expected the same file, or a copy of it, for all");
    return ATTSVM_OK;
}

void data_own(const attsvm_data *data, int64_t *lo, int64_t *hi)
{
    const int rank = dist_rank(data->comm);
    *lo = data->share ? data->share[rank] : 0;
    *hi = data->share ? data->share[rank + 1] : data->n;
}
