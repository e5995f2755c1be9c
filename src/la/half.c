#include "la/la.h"

#include <string.h>

/* As in the kernels: the bits below the sign are a float times 2^-112. */
float la_half_to_float(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    value *= 0x1p112f;
    memcpy(&bits, &value, sizeof bits);
    if ((half & 0x7c00) == 0x7c00)
        bits |= 0x7f800000u; /* infinity or NaN */
    bits |= (uint32_t)(half & 0x8000) << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/*
 * If the result is normal, rounding is an integer addition: half a unit of the last bit that
 * remains, less one when that bit is 0 (ties to even); a carry correctly increments the exponent,
 * up to infinity.  Below 2^-14, adding 1/2 makes the processor round to multiples of 2^-24, the
 * smallest half, whose number is then in the low bits.
 */
uint16_t la_float_to_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    bits &= 0x7fffffff;
    if (bits > 0x7f800000) /* NaN: keep the high bits of its payload and make it quiet */
        return (uint16_t)(sign | 0x7e00 | (bits >> 13 & 0x3ff));
    if (bits >= 0x477ff000) /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (bits < 0x38800000) { /* below 2^-14 */
        float magnitude;
        memcpy(&magnitude, &bits, sizeof magnitude);
        magnitude += 0.5f;
        memcpy(&bits, &magnitude, sizeof bits);
        return (uint16_t)(sign | (bits - 0x3f000000));
    }
    bits += 0x0fff + (bits >> 13 & 1);
    return (uint16_t)(sign | (bits - 0x38000000) >> 13);
}
