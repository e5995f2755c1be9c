/*
 * Widening loads, clamping, sums over lanes.  Intrinsics are used where compilers generate poor
 * code from the plain form, which is the last branch; the tests select it with KERNELS_PLAIN.
 *
 *   widen_floats, widen_halves   LANES stored values as doubles
 *   clamp                        to low..high; NaN stays NaN
 *   least, most                  per lane; y if one of them is NaN
 */

/*
 * float16 bits to float.  The 15 bits below the sign, shifted to their position in a float, are the
 * value times 2^-112, subnormal or not, so one exact product gives it; only infinity and NaN need
 * the largest exponent.
 */
#define HALF_BITS_TO_FLOAT(bits, unsigneds, signeds, reals)                                        \
    ({                                                                                             \
        unsigneds magnitude_ = ((bits)&0x7fff) << 13;                                              \
        unsigneds special_ = (unsigneds)((signeds)magnitude_ >= 0x0f800000) & 0x7f800000;          \
        unsigneds value_ = (unsigneds)((reals)magnitude_ * 0x1p112f);                              \
        (reals)(value_ | special_ | ((bits)&0x8000) << 16);                                        \
    })

#if VECTOR_BYTES == 64 && defined(__AVX512F__) && !defined(KERNELS_PLAIN)
#include <immintrin.h>

INLINE doubles clamp(doubles x, double low, double high)
{
    return _mm512_max_pd(_mm512_set1_pd(low), _mm512_min_pd(_mm512_set1_pd(high), x));
}

INLINE doubles least(doubles x, doubles y)
{
    return _mm512_min_pd(x, y);
}

INLINE doubles most(doubles x, doubles y)
{
    return _mm512_max_pd(x, y);
}

INLINE doubles widen_floats(const char *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps((const float *)x));
}

INLINE doubles widen_halves(const char *x)
{
    return _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)x)));
}

#elif VECTOR_BYTES == 32 && defined(__AVX2__) && !defined(KERNELS_PLAIN)
#include <immintrin.h>

INLINE doubles clamp(doubles x, double low, double high)
{
    return _mm256_max_pd(_mm256_set1_pd(low), _mm256_min_pd(_mm256_set1_pd(high), x));
}

INLINE doubles least(doubles x, doubles y)
{
    return _mm256_min_pd(x, y);
}

INLINE doubles most(doubles x, doubles y)
{
    return _mm256_max_pd(x, y);
}

INLINE doubles widen_floats(const char *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps((const float *)x));
}

INLINE doubles widen_halves(const char *x)
{
    return _mm256_cvtps_pd(_mm_cvtph_ps(_mm_loadl_epi64((const __m128i_u *)x)));
}

#elif VECTOR_BYTES == 16 && defined(__SSE2__) && !defined(KERNELS_PLAIN)
#include <immintrin.h>

INLINE doubles clamp(doubles x, double low, double high)
{
    return _mm_max_pd(_mm_set1_pd(low), _mm_min_pd(_mm_set1_pd(high), x));
}

INLINE doubles least(doubles x, doubles y)
{
    return _mm_min_pd(x, y);
}

INLINE doubles most(doubles x, doubles y)
{
    return _mm_max_pd(x, y);
}

INLINE doubles widen_floats(const char *x)
{
    return _mm_cvtps_pd((__m128)_mm_loadl_epi64((const __m128i_u *)x));
}

INLINE doubles widen_halves(const char *x)
{
    int32_t two;
    memcpy(&two, x, sizeof two);
    words bits = (words)_mm_unpacklo_epi16(_mm_cvtsi32_si128(two), _mm_setzero_si128());
    return _mm_cvtps_pd(HALF_BITS_TO_FLOAT(bits, words, ints, floats));
}

#else
typedef float narrow_floats VECTOR(VECTOR_BYTES / 2);
typedef int32_t narrow_ints VECTOR(VECTOR_BYTES / 2);
typedef uint32_t narrow_words VECTOR(VECTOR_BYTES / 2);
typedef float loose_narrow_floats LOOSE_VECTOR(VECTOR_BYTES / 2);
typedef uint16_t loose_halves LOOSE_VECTOR(VECTOR_BYTES / 4);

INLINE doubles clamp(doubles x, double lowest, double highest)
{
    const doubles low = (doubles){ 0 } + lowest, high = (doubles){ 0 } + highest;
    longs below = x<low, above = x> high;
    return (doubles)((below & (longs)low) | (above & (longs)high) | (~(below | above) & (longs)x));
}

INLINE doubles least(doubles x, doubles y)
{
    longs below = x < y;
    return (doubles)((below & (longs)x) | (~below & (longs)y));
}

INLINE doubles most(doubles x, doubles y)
{
    longs above = x > y;
    return (doubles)((above & (longs)x) | (~above & (longs)y));
}

INLINE doubles widen_floats(const char *x)
{
    return __builtin_convertvector(*(const loose_narrow_floats *)x, doubles);
}

INLINE doubles widen_halves(const char *x)
{
    narrow_words bits = __builtin_convertvector(*(const loose_halves *)x, narrow_words);
    narrow_floats value = HALF_BITS_TO_FLOAT(bits, narrow_words, narrow_ints, narrow_floats);
    return __builtin_convertvector(value, doubles);
}

#endif

/* LANES stored values, or one, from any address. */
INLINE doubles load_stored(attsvm_dtype dtype, const char *x)
{
    if (dtype == ATTSVM_F64)
        return *(const loose_doubles *)x;
    return dtype == ATTSVM_F32 ? widen_floats(x) : widen_halves(x);
}

INLINE double load_one(attsvm_dtype dtype, const char *x)
{
    double value;
    float narrow;
    uint16_t half;
    if (dtype == ATTSVM_F64) {
        memcpy(&value, x, sizeof value);
        return value;
    }
    if (dtype == ATTSVM_F32) {
        memcpy(&narrow, x, sizeof narrow);
        return (double)narrow;
    }
    memcpy(&half, x, sizeof half);
#if defined(__F16C__) && !defined(KERNELS_PLAIN)
    return (double)_cvtsh_ss(half);
#else
    return (double)la_half_to_float(half);
#endif
}

INLINE doubles choose(longs mask, doubles yes, doubles no)
{
    return (doubles)((mask & (longs)yes) | (~mask & (longs)no));
}

INLINE eight eight_of(double x)
{
    eight v;
    for (int p = 0; p < PARTS; p++)
        v.part[p] = all(x);
    return v;
}

typedef double two_doubles VECTOR(16);

/*
 * Eight lanes to two, by halves: lane k and k + 4, then k and k + 2.  The order of the additions is
 * ((0+4) + (2+6)) + ((1+5) + (3+7)).
 */
#if VECTOR_BYTES == 16
INLINE two_doubles sum_to_two(eight v)
{
    return (v.part[0] + v.part[2]) + (v.part[1] + v.part[3]);
}

INLINE void sum_four_eights(const eight v[4], double y[4])
{
    two_doubles a = sum_to_two(v[0]), b = sum_to_two(v[1]), c = sum_to_two(v[2]),
                d = sum_to_two(v[3]);
    store(y, __builtin_shufflevector(a, b, 0, 2) + __builtin_shufflevector(a, b, 1, 3));
    store(y + 2, __builtin_shufflevector(c, d, 0, 2) + __builtin_shufflevector(c, d, 1, 3));
}
#else
typedef double four_doubles VECTOR(32);
typedef double loose_four LOOSE_VECTOR(32);

INLINE four_doubles sum_to_four(eight v)
{
#if VECTOR_BYTES == 64
    return __builtin_shufflevector(v.part[0], v.part[0], 0, 1, 2, 3) +
           __builtin_shufflevector(v.part[0], v.part[0], 4, 5, 6, 7);
#else
    return v.part[0] + v.part[1];
#endif
}

INLINE two_doubles sum_to_two(eight v)
{
    four_doubles sum = sum_to_four(v);
    return __builtin_shufflevector(sum, sum, 0, 1) + __builtin_shufflevector(sum, sum, 2, 3);
}

/* Of four sums at once, in the same order of additions. */
INLINE void sum_four_eights(const eight v[4], double y[4])
{
    four_doubles a = sum_to_four(v[0]), b = sum_to_four(v[1]), c = sum_to_four(v[2]),
                 d = sum_to_four(v[3]);
    four_doubles ac =
        __builtin_shufflevector(a, c, 0, 1, 4, 5) + __builtin_shufflevector(a, c, 2, 3, 6, 7);
    four_doubles bd =
        __builtin_shufflevector(b, d, 0, 1, 4, 5) + __builtin_shufflevector(b, d, 2, 3, 6, 7);
    *(loose_four *)y =
        __builtin_shufflevector(ac, bd, 0, 4, 2, 6) + __builtin_shufflevector(ac, bd, 1, 5, 3, 7);
}
#endif

INLINE double sum_eight(eight v)
{
    two_doubles sum = sum_to_two(v);
    return sum[0] + sum[1];
}

/* Transposes LANES vectors: swaps lane l of vector k with lane k of vector l. */
#if VECTOR_BYTES == 64
INLINE void turn(doubles x[LANES])
{
    doubles y[LANES];
    for (int k = 0; k < 8; k += 2) {
        y[k] = __builtin_shufflevector(x[k], x[k + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        y[k + 1] = __builtin_shufflevector(x[k], x[k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int half = 0; half < 8; half += 4)
        for (int k = half; k < half + 2; k++) {
            x[k] = __builtin_shufflevector(y[k], y[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            x[k + 2] = __builtin_shufflevector(y[k], y[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int k = 0; k < 4; k++) {
        y[k] = __builtin_shufflevector(x[k], x[k + 4], 0, 1, 2, 3, 8, 9, 10, 11);
        y[k + 4] = __builtin_shufflevector(x[k], x[k + 4], 4, 5, 6, 7, 12, 13, 14, 15);
    }
    memcpy(x, y, sizeof y);
}
#elif VECTOR_BYTES == 32
INLINE void turn(doubles x[LANES])
{
    doubles a = __builtin_shufflevector(x[0], x[1], 0, 4, 2, 6);
    doubles b = __builtin_shufflevector(x[0], x[1], 1, 5, 3, 7);
    doubles c = __builtin_shufflevector(x[2], x[3], 0, 4, 2, 6);
    doubles d = __builtin_shufflevector(x[2], x[3], 1, 5, 3, 7);
    x[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
    x[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
    x[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    x[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
}
#else
INLINE void turn(doubles x[LANES])
{
    doubles a = __builtin_shufflevector(x[0], x[1], 0, 2);
    x[1] = __builtin_shufflevector(x[0], x[1], 1, 3);
    x[0] = a;
}
#endif
