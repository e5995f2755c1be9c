/* Plain arrays: test for finite values, widening, dot product, sum. */

/*
 * A value is not finite if its exponent bits are all ones.  With the sign cleared, adding one unit
 * of the exponent carries into the sign bit exactly in this case.  No carry goes further, so
 * several narrow values share a word: `sign` has the sign bit of each, `unit` the exponent units.
 */
typedef struct finite_test {
    uint64_t sign, unit;
} finite_test;

INLINE finite_test finite_test_of(attsvm_dtype dtype)
{
    if (dtype == ATTSVM_F64)
        return (finite_test){ 0x8000000000000000, 0x0010000000000000 };
    if (dtype == ATTSVM_F32)
        return (finite_test){ 0x8000000080000000, 0x0080000000800000 };
    return (finite_test){ 0x8000800080008000, 0x0400040004000400 };
}

INLINE long_words carries(finite_test test, const char *x)
{
    return (*(const loose_words *)x & ~test.sign) + test.unit;
}

INLINE bool any_sign(finite_test test, long_words v)
{
    uint64_t any = 0;
    for (int k = 0; k < LANES; k++)
        any |= v[k];
    return any & test.sign;
}

/* Skips finite blocks, read from four positions, then finite runs, then single values. */
static int64_t first_nonfinite(attsvm_dtype dtype, const void *array, int64_t count)
{
    enum { RUN = 8 * VECTOR_BYTES };
    const finite_test test = finite_test_of(dtype);
    const char *x = array;
    const int64_t size = size_of(dtype), bytes = count * size;
    int64_t at = 0;
    bool dirty = false;
    while (!dirty && at + 4 * STREAM_BYTES <= bytes) {
        const char *block = x + at;
        long_words a = { 0 }, b = { 0 }, c = { 0 }, e = { 0 };
        for (int j = 0; j < STREAM_BYTES; j += VECTOR_BYTES) {
            a |= carries(test, block + j);
            b |= carries(test, block + STREAM_BYTES + j);
            c |= carries(test, block + 2 * STREAM_BYTES + j);
            e |= carries(test, block + 3 * STREAM_BYTES + j);
        }
        dirty = any_sign(test, a | b | c | e);
        at += dirty ? 0 : 4 * STREAM_BYTES;
    }
    for (dirty = false; !dirty && at + RUN <= bytes; at += dirty ? 0 : RUN) {
        long_words some = { 0 };
        for (int j = 0; j < RUN; j += VECTOR_BYTES)
            some |= carries(test, x + at + j);
        dirty = any_sign(test, some);
    }
    for (int64_t i = at / size; i < count; i++)
        if (!isfinite(load_one(dtype, x + i * size)))
            return i;
    return -1;
}

INLINE void widen_of(attsvm_dtype dtype, const char *x, double *y, int64_t count)
{
    const int64_t size = size_of(dtype);
    int64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        store(y + i, load_stored(dtype, x + i * size));
    for (; i < count; i++)
        y[i] = load_one(dtype, x + i * size);
}

static void widen(attsvm_dtype dtype, const void *x, double *y, int64_t count)
{
    if (dtype == ATTSVM_F64)
        widen_of(ATTSVM_F64, x, y, count);
    else if (dtype == ATTSVM_F32)
        widen_of(ATTSVM_F32, x, y, count);
    else
        widen_of(ATTSVM_F16, x, y, count);
}

static double dot(const double *x, const double *y, int64_t count)
{
    if (count < LA_LANES)
        return dot_short(ATTSVM_F64, (const char *)x, y, count);
    return dot_one(ATTSVM_F64, (const char *)x, y, count);
}

static void axpy(double a, const double *x, double *y, int64_t count)
{
    sum_one(ATTSVM_F64, (const char *)x, a, y, count);
}
