/*
 * The kernels: one source file, compiled once for each instruction set with its flags and these
 * definitions:
 *
 *   KERNELS, NAME   the table, and its name
 *   VECTOR_BYTES    16, 32 or 64
 *
 * Every table gives the same bytes.  A sum over the entries of a row or the tokens of a problem has
 * eight partial sums, for any vector width: entry j is added to partial sum j mod 8, and sum_eight
 * adds the eight in a fixed order.  Everything else is computed entry by entry, in an order that
 * does not depend on the width.  Products and sums are rounded separately (-ffp-contract=off), so
 * that processors without fused operations give the same bytes.
 *
 * Everything here is static: of a shared function the linker would keep one version, possibly one
 * that the processor cannot run.  Vectors are the vector extension of GCC and clang, so the source
 * compiles on any architecture.  Stored values are read through types that may be unaligned and may
 * alias anything.
 */
#include "la/la.h"

#include <math.h>
#include <string.h>

enum {
    LANES = VECTOR_BYTES / 8, /* doubles in a vector                                      */
    PARTS = LA_LANES / LANES, /* vectors of eight doubles                                 */
    CACHE_LINE = 64,          /* bytes                                                    */
    PAGE_BYTES = 4096,        /* of memory                                                */
    STREAM_BYTES = 16384,     /* minimum distance of addresses that are read concurrently */
};

#define VECTOR(bytes)       __attribute__((vector_size(bytes)))
#define LOOSE_VECTOR(bytes) __attribute__((vector_size(bytes), aligned(1), may_alias))
#define INLINE              static inline __attribute__((always_inline))

typedef double doubles VECTOR(VECTOR_BYTES);
typedef int64_t longs VECTOR(VECTOR_BYTES);
typedef uint64_t long_words VECTOR(VECTOR_BYTES);
typedef float floats VECTOR(VECTOR_BYTES); /* twice as many */
typedef int32_t ints VECTOR(VECTOR_BYTES);
typedef uint32_t words VECTOR(VECTOR_BYTES);
typedef double loose_doubles LOOSE_VECTOR(VECTOR_BYTES);
typedef uint64_t loose_words LOOSE_VECTOR(VECTOR_BYTES);

/* Eight doubles in PARTS vectors: lane j is lane j mod LANES of part j / LANES. */
typedef struct eight {
    doubles part[PARTS];
} eight;

INLINE doubles load(const double *x)
{
    return *(const loose_doubles *)x;
}

INLINE void store(double *y, doubles value)
{
    *(loose_doubles *)y = value;
}

INLINE doubles all(double x)
{
    return (doubles){ 0 } + x;
}

/* 0, 1, 2, ... of a part of eight lanes. */
INLINE longs lane_numbers(int part)
{
    static const int64_t order[LA_LANES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    longs lane;
    memcpy(&lane, order + part * LANES, sizeof lane);
    return lane;
}

INLINE doubles lane_doubles(int part)
{
    static const double order[LA_LANES] = { 0, 1, 2, 3, 4, 5, 6, 7 };
    return load(order + part * LANES);
}

INLINE int64_t size_of(attsvm_dtype dtype)
{
    return dtype == ATTSVM_F64 ? 8 : dtype == ATTSVM_F32 ? 4 : 2;
}

/* Each header uses those before it. */
#include "la/kernels/load.h"

#include "la/kernels/exp.h"

#include "la/kernels/rows.h"

#include "la/kernels/panel.h"

#include "la/kernels/vectors.h"

#include "la/kernels/dense.h"

#include "la/kernels/small.h"

#include "la/kernels/softmax.h"

#include "la/kernels/exact.h"

const la_kernels KERNELS = {
    .name = NAME,
    .exp = exp_all,
    .rows_dot = rows_dot,
    .rows_square = rows_square,
    .rows_sum = rows_sum,
    .rows_dots = rows_dots,
    .rows_sums = rows_sums,
    .first_nonfinite = first_nonfinite,
    .widen = widen,
    .dot = dot,
    .axpy = axpy,
    .gemv = gemv,
    .gemm = gemm,
    .syrk = syrk,
    .trsv = trsv,
    .trsm = trsm,
    .cholesky = cholesky,
    .small_place = small_place,
    .small_forward = small_forward,
    .small_backward = small_backward,
    .small_axpy = small_axpy,
    .weigh = weigh,
    .exact = { exact_dot, exact_axpy },
};
