/*
 * Decimal numbers, independent of the locale.
 */
#include "io/io.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MOST = 512 }; /* characters of a number */

/* A decimal number: digits * 10^exponent, truncated to 19 digits. */
typedef struct decimal {
    uint64_t digits;
    int count; /* significant digits, all of them */
    int64_t exponent;
    bool negative;
} decimal;

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads a run of digits into d; digits of the fraction lower the exponent. */
static const char *take_digits(const char *at, const char *end, bool fraction, decimal *d)
{
    for (; at < end && is_digit(*at); at++) {
        bool kept = d->count < 19;
        if (kept)
            d->digits = 10 * d->digits + (uint64_t)(*at - '0');
        if (d->digits > 0)
            d->count++;
        d->exponent += (kept ? 0 : 1) - (fraction ? 1 : 0);
    }
    return at;
}

/* [+-] digits [. digits] [e [+-] digits], with a digit before or after the point. */
static bool take_decimal(const char *text, size_t size, decimal *d)
{
    const char *at = text, *end = text + size;
    if (at < end && (*at == '+' || *at == '-'))
        d->negative = *at++ == '-';
    const char *start = at;
    at = take_digits(at, end, false, d);
    int64_t seen = at - start;
    if (at < end && *at == '.') {
        start = ++at;
        at = take_digits(at, end, true, d);
        seen += at - start;
    }
    if (seen == 0)
        return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        bool down = ++at < end && *at == '-';
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        int64_t power = 0;
        if (at == end)
            return false;
        for (; at < end && is_digit(*at); at++)
            power = power < 1000000 ? 10 * power + (*at - '0') : power;
        d->exponent += down ? -power : power;
    }
    return at == end;
}

/*
 * Up to 15 digits and a power of ten up to 22 are exact in double, so one multiplication or
 * division rounds correctly; the rest goes to strtod under the C locale.
 */
bool io_parse_number(const char *text, size_t size, double *out)
{
    static const double powers[] = { 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22 };
    decimal d = { 0 };
    if (size == 0 || size >= NUMBER_MOST || !take_decimal(text, size, &d))
        return false;
    if (d.count <= 15 && d.exponent >= -22 && d.exponent <= 22) {
        double value = (double)d.digits;
        value = d.exponent < 0 ? value / powers[-d.exponent] : value * powers[d.exponent];
        *out = d.negative ? -value : value;
        return true;
    }
    char copy[NUMBER_MOST];
    memcpy(copy, text, size);
    copy[size] = '\0';
    locale_t locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!locale)
        return false;
    *out = strtod_l(copy, NULL, locale);
    freelocale(locale);
    return isfinite(*out);
}

size_t io_print_number(double value, char out[IO_NUMBER_SIZE])
{
    char text[2 * IO_NUMBER_SIZE];
    size_t size = 0;
    for (int digits = 15; digits <= 17; digits++) {
        double back;
        size = 0;
        snprintf(text, sizeof text, "%.*g", digits, value);
        /* the character that the locale puts between the digits is the point */
        for (const char *at = text; *at; at++) {
            if (is_digit(*at) || *at == '-' || *at == '+' || *at == 'e')
                out[size++] = *at;
            else if (size > 0 && out[size - 1] != '.')
                out[size++] = '.';
        }
        out[size] = '\0';
        if (io_parse_number(out, size, &back) && back == value)
            break;
    }
    return size;
}
