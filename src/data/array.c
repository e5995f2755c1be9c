/* Array views: what an element is, how many there are, one element as a double. */
#include "data/data.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[] = {
    [ATTSVM_F16] = { "float16", 2 }, [ATTSVM_F32] = { "float32", 4 },
    [ATTSVM_F64] = { "float64", 8 }, [ATTSVM_BOOL] = { "bool", 1 },
    [ATTSVM_I8] = { "int8", 1 },     [ATTSVM_I16] = { "int16", 2 },
    [ATTSVM_I32] = { "int32", 4 },   [ATTSVM_I64] = { "int64", 8 },
    [ATTSVM_U8] = { "uint8", 1 },    [ATTSVM_U16] = { "uint16", 2 },
    [ATTSVM_U32] = { "uint32", 4 },  [ATTSVM_U64] = { "uint64", 8 },
};

static bool known(attsvm_dtype dtype)
{
    return dtype >= ATTSVM_F16 && dtype <= ATTSVM_U64;
}

const char *attsvm_dtype_name(attsvm_dtype dtype)
{
    return known(dtype) ? dtypes[dtype].name : NULL;
}

size_t attsvm_dtype_size(attsvm_dtype dtype)
{
    return known(dtype) ? dtypes[dtype].size : 0;
}

int64_t attsvm_array_count(const attsvm_array *array)
{
    if (!array)
        return 0;
    int64_t count;
    if (array->ndim < 0 || array->ndim > ATTSVM_MAX_DIMS ||
        !base_shape_count(array->shape, array->ndim, &count))
        return -1;
    return count;
}

/* Arrays from files start at any byte, so elements are copied out, never dereferenced. */
#define ELEMENT(type)                                                                              \
    do {                                                                                           \
        type value;                                                                                \
        memcpy(&value, at, sizeof value);                                                          \
        return (double)value;                                                                      \
    } while (0)

double attsvm_array_get(const attsvm_array *array, int64_t index)
{
    if (!array || !array->data || index < 0 || index >= attsvm_array_count(array))
        return NAN;
    const char *at = (const char *)array->data + (size_t)index * attsvm_dtype_size(array->dtype);
    switch (array->dtype) {
    case ATTSVM_F16: {
        uint16_t half;
        memcpy(&half, at, sizeof half);
        return la_half_to_float(half);
    }
    case ATTSVM_F32: ELEMENT(float);
    case ATTSVM_F64: ELEMENT(double);
    case ATTSVM_BOOL:
    case ATTSVM_U8: ELEMENT(uint8_t);
    case ATTSVM_I8: ELEMENT(int8_t);
    case ATTSVM_I16: ELEMENT(int16_t);
    case ATTSVM_I32: ELEMENT(int32_t);
    case ATTSVM_I64: ELEMENT(int64_t);
    case ATTSVM_U16: ELEMENT(uint16_t);
    case ATTSVM_U32: ELEMENT(uint32_t);
    case ATTSVM_U64: ELEMENT(uint64_t);
    }
    return 0;
}

bool data_is_float(attsvm_dtype dtype)
{
    return dtype >= ATTSVM_F16 && dtype <= ATTSVM_F64;
}

static attsvm_status check_array(const attsvm_named_array *named, const char *list, int64_t k,
                                 attsvm_error *err)
{
    const attsvm_array *array = &named->array;
    char name[BASE_NAME_SIZE];
    if (!named->name)
        return fail(err, ATTSVM_E_ARG, "%s[%" PRId64 "].name is NULL", list, k);
    base_printable(named->name, name);
    const size_t size = attsvm_dtype_size(array->dtype);
    size_t bytes;
    if (size == 0)
        return fail(err, ATTSVM_E_ARG, "%s[%" PRId64 "] (%s): dtype = %d is not a type", list, k,
                    name, (int)array->dtype);
    if (array->ndim < 0 || array->ndim > ATTSVM_MAX_DIMS)
        return fail(err, ATTSVM_E_ARG, "%s[%" PRId64 "] (%s): ndim = %d is not in 0..%d", list, k,
                    name, (int)array->ndim, ATTSVM_MAX_DIMS);
    const int64_t count = attsvm_array_count(array);
    if (count < 0 || !base_multiply((size_t)count, size, &bytes) || bytes > PTRDIFF_MAX)
        return fail(err, ATTSVM_E_ARG, "%s[%" PRId64 "] (%s): the shape is negative or too large",
                    list, k, name);
    if (count > 0 && !array->data)
        return fail(err, ATTSVM_E_ARG, "%s[%" PRId64 "] (%s): data is NULL", list, k, name);
    return ATTSVM_OK;
}

attsvm_status data_check_arrays(const attsvm_named_array *arrays, int64_t count, const char *list,
                                attsvm_error *err)
{
    if (count < 0)
        return fail(err, ATTSVM_E_ARG, "count = %" PRId64 " arrays is negative", count);
    if (count > 0 && !arrays)
        return fail(err, ATTSVM_E_ARG, "%s is NULL", list);
    for (int64_t k = 0; k < count; k++)
        TRY(check_array(&arrays[k], list, k, err));
    return ATTSVM_OK;
}

attsvm_status data_integer(const attsvm_array *array, const char *name, int64_t index, int64_t *out,
                           attsvm_error *err)
{
    const char *at = (const char *)array->data + (size_t)index * attsvm_dtype_size(array->dtype);
    if (array->dtype == ATTSVM_I64) {
        memcpy(out, at, sizeof *out);
        return ATTSVM_OK;
    }
    if (array->dtype == ATTSVM_U64) {
        uint64_t value;
        memcpy(&value, at, sizeof value);
        if (value > INT64_MAX)
            return fail(err, ATTSVM_E_DATA, "%s[%" PRId64 "] = %" PRIu64 " is too large", name,
                        index, value);
        *out = (int64_t)value;
        return ATTSVM_OK;
    }
    double value = attsvm_array_get(array, index);
    if (!(value >= -0x1p53 && value <= 0x1p53) || value != (double)(int64_t)value)
        return fail(err, ATTSVM_E_DATA, "%s[%" PRId64 "] = %g is not an integer", name, index,
                    value);
    *out = (int64_t)value;
    return ATTSVM_OK;
}

void attsvm_array_shape_text(const attsvm_array *array, char *out, size_t size)
{
    if (!out || size == 0)
        return;
    *out = '\0';
    if (!array)
        return;
    size_t used = (size_t)snprintf(out, size, "(");
    for (int k = 0; k < array->ndim && k < ATTSVM_MAX_DIMS && used < size; k++)
        used +=
            (size_t)snprintf(out + used, size - used, "%s%" PRId64, k ? "," : "", array->shape[k]);
    if (used < size)
        snprintf(out + used, size - used, array->ndim == 1 ? ",)" : ")");
}
