/* Text from outside: UTF-8, and escapes of characters that must not be printed. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SHOWN = 200 }; /* characters of a path in a message */

/*
 * UTF-8 as in RFC 3629: the first byte gives the length; the range of the second excludes overlong
 * forms, surrogates and numbers beyond U+10FFFF.
 */
size_t base_utf8_length(const unsigned char *text, size_t size)
{
    if (size == 0 || text[0] == 0)
        return 0;
    unsigned char first = text[0];
    if (first < 0x80)
        return 1;
    size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (first < 0xc2 || first > 0xf4 || size < length)
        return 0;
    unsigned char lowest = 0x80, highest = 0xbf;
    switch (first) {
    case 0xe0: lowest = 0xa0; break;
    case 0xed: highest = 0x9f; break;
    case 0xf0: lowest = 0x90; break;
    case 0xf4: highest = 0x8f; break;
    default: break;
    }
    if (text[1] < lowest || text[1] > highest)
        return 0;
    for (size_t k = 2; k < length; k++)
        if (text[k] < 0x80 || text[k] > 0xbf)
            return 0;
    return length;
}

bool base_is_utf8(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        size_t length = base_utf8_length((const unsigned char *)text, left);
        if (length == 0)
            return false;
        text += length;
        left -= length;
    }
    return true;
}

/*
 * Whether a character of `length` bytes (0: invalid) must be escaped before it reaches a terminal
 * or a page: controls (C0, DEL, C1: U+0080..9F), direction marks (U+200E, U+200F, U+202A..E,
 * U+2066..9) and line separators (U+2028, U+2029).
 */
static bool is_control(const unsigned char *at, size_t length)
{
    if (length == 0 || *at < ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0))
        return true;
    if (length != 3 || at[0] != 0xe2)
        return false;
    if (at[1] == 0x80)
        return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae);
    return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9;
}

/* The code point of a character for which is_control is true. */
static unsigned code_of(const unsigned char *at, size_t length)
{
    if (length == 3)
        return (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    return length == 2 ? (at[0] & 0x1fu) << 6 | (at[1] & 0x3fu) : at[0];
}

void base_print_text(FILE *out, const char *text, bool json)
{
    const unsigned char *at = (const unsigned char *)text;
    for (size_t left = strlen(text); left > 0;) {
        size_t length = base_utf8_length(at, left);
        const bool control = is_control(at, length) && !(json && *at == '\n');
        length = length > 0 ? length : 1;
        for (size_t k = 0; k < length && control && !json; k++)
            fprintf(out, "\\x%02x", at[k]);
        if (control && json)
            fprintf(out, "\\u%04x", code_of(at, length));
        if (!control)
            fwrite(at, 1, length, out);
        at += length;
        left -= length;
    }
}

const char *base_printable(const char *name, char out[BASE_NAME_SIZE])
{
    const unsigned char *at = (const unsigned char *)name;
    size_t used = 0, left = strlen(name);
    while (left > 0) {
        size_t length = base_utf8_length(at, left);
        if (used + 16 > BASE_NAME_SIZE) { /* room for the dots and for the longest character */
            memcpy(out + used, "...", 3);
            used += 3;
            break;
        }
        const bool control = is_control(at, length);
        length = length > 0 ? length : 1;
        for (size_t k = 0; k < length && control; k++)
            used += (size_t)snprintf(out + used, BASE_NAME_SIZE - used, "\\x%02x", at[k]);
        if (!control) {
            memcpy(out + used, at, length);
            used += length;
        }
        at += length;
        left -= length;
    }
    out[used] = '\0';
    return out;
}

const char *base_path_tail(const char *path)
{
    size_t length = strlen(path);
    return length > PATH_SHOWN ? path + length - PATH_SHOWN : path;
}

const char *base_plural(int64_t count)
{
    return count == 1 ? "" : "s";
}
