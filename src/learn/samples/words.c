/*
 * Splits text into words: lower-cased runs of letters and digits with inner apostrophes and
 * hyphens; every other visible character is a separate word.
 */
#include "learn/samples/samples.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------------------- UTF-8 */

/* The character at `text`, which is valid UTF-8, and its bytes. */
static uint32_t decode(const char *text, size_t *size)
{
    const unsigned char *c = (const unsigned char *)text;
    *size = c[0] < 0x80 ? 1 : c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    uint32_t code = *size == 1 ? c[0] : c[0] & (0xffu >> (*size + 1));
    for (size_t k = 1; k < *size; k++)
        code = code << 6 | (c[k] & 0x3f);
    return code;
}

static size_t encode(uint32_t code, char out[4])
{
    const size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
    for (size_t k = size; k-- > 1; code >>= 6)
        out[k] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(size == 1 ? code : lead[size] | code);
    return size;
}

/* Lower case of Latin, Greek and Cyrillic letters; other alphabets are unchanged. */
static uint32_t lowered(uint32_t c)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 0xc0 && c <= 0xde && c != 0xd7) ||
        (c >= 0x391 && c <= 0x3a9) || (c >= 0x410 && c <= 0x42f))
        return c + 32;
    if (c >= 0x400 && c <= 0x40f)
        return c + 80;
    bool even = (c >= 0x100 && c <= 0x137 && c != 0x130) || (c >= 0x14a && c <= 0x177);
    bool odd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e);
    return c + ((even && c % 2 == 0) || (odd && c % 2 == 1) ? 1 : 0);
}

static bool is_space(uint32_t c)
{
    return c <= ' ' || c == 0x7f || (c >= 0x80 && c <= 0xa0) || (c >= 0x2000 && c <= 0x200f) ||
           (c >= 0x2028 && c <= 0x202f) || c == 0x3000 || c == 0xfeff;
}

/* Letters and digits: beyond ASCII everything except blocks of punctuation and symbols. */
static bool is_letter(uint32_t c)
{
    if (c < 0x80)
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return c >= 0xaa && c != 0xab && c != 0xac && c != 0xae && c != 0xaf &&
           !(c >= 0xb0 && c <= 0xb4) && !(c >= 0xb6 && c <= 0xb9) && c != 0xbb && c != 0xbf &&
           c != 0xd7 && c != 0xf7 && !(c >= 0x2000 && c <= 0x2bff) &&
           !(c >= 0x3000 && c <= 0x303f) && !(c >= 0xfe00 && c <= 0xfe6f) &&
           !(c >= 0x1f000 && c <= 0x1faff);
}

/* Apostrophe or hyphen, plain or typographic, as the plain one; 0: neither. */
static uint32_t joint(uint32_t c)
{
    return c == '\'' || c == 0x2019 ? '\'' : c == '-' || c == 0x2010 || c == 0x2011 ? '-' : 0;
}

bool samples_next_word(const char **text, char word[SAMPLES_LONGEST_WORD])
{
    const char *at = *text;
    size_t size, used = 0;
    while (*at && is_space(decode(at, &size)))
        at += size;
    if (!*at) {
        *text = at;
        return false;
    }
    uint32_t c = decode(at, &size);
    if (!is_letter(c)) {
        memcpy(word, at, size);
        word[size] = '\0';
        *text = at + size;
        return true;
    }
    while (*at) {
        size_t next_size;
        c = decode(at, &size);
        const uint32_t inner = joint(c);
        const bool joins = inner && at[size] && is_letter(decode(at + size, &next_size));
        if (!is_letter(c) && !joins)
            break;
        if (used + 5 < SAMPLES_LONGEST_WORD)
            used += encode(inner ? inner : lowered(c), word + used);
        at += size;
    }
    word[used] = '\0';
    *text = at;
    return true;
}

/* -------------------------------------------------------------------------- vocabulary */

attsvm_status samples_vocabulary_open(samples_vocabulary *v, attsvm_error *err)
{
    *v = (samples_vocabulary){ .slots = 1024 };
    return base_allocate(&v->slot, (size_t)v->slots, sizeof *v->slot, "vocabulary", err);
}

void samples_vocabulary_close(samples_vocabulary *v)
{
    for (int64_t k = 0; k < v->count; k++)
        free(v->word[k]);
    free(v->word);
    free(v->slot);
    *v = (samples_vocabulary){ 0 };
}

/* The slot of the word, or the empty slot for it. */
static int64_t slot_of(const samples_vocabulary *v, const char *word, size_t size)
{
    uint64_t at = base_digest(BASE_DIGEST, word, size);
    for (;; at++) {
        const int64_t place = v->slot[at & (uint64_t)(v->slots - 1)] - 1;
        if (place < 0 || (strncmp(v->word[place], word, size) == 0 && !v->word[place][size]))
            return (int64_t)(at & (uint64_t)(v->slots - 1));
    }
}

int64_t samples_vocabulary_find(const samples_vocabulary *v, const char *word, size_t size)
{
    return v->slot[slot_of(v, word, size)] - 1;
}

static attsvm_status grow(samples_vocabulary *v, attsvm_error *err)
{
    int64_t *old = v->slot;
    TRY(base_allocate(&v->slot, 2 * (size_t)v->slots, sizeof *v->slot, "vocabulary", err));
    free(old);
    v->slots *= 2;
    for (int64_t k = 0; k < v->count; k++)
        v->slot[slot_of(v, v->word[k], strlen(v->word[k]))] = k + 1;
    return ATTSVM_OK;
}

attsvm_status samples_vocabulary_add(samples_vocabulary *v, const char *word, int64_t *place,
                                     attsvm_error *err)
{
    *place = samples_vocabulary_find(v, word, strlen(word));
    if (*place >= 0)
        return ATTSVM_OK;
    if (v->count >= INT32_MAX)
        return fail(err, ATTSVM_E_DATA, "more than %d different words", INT32_MAX);
    if (2 * (v->count + 1) > v->slots)
        TRY(grow(v, err));
    char **list = io_grow(v->word, (size_t)v->count, 1, &v->capacity, sizeof *list, err);
    if (!list)
        return ATTSVM_E_MEMORY;
    v->word = list;
    v->word[v->count] = strdup(word);
    if (!v->word[v->count])
        return fail(err, ATTSVM_E_MEMORY, "no memory for the vocabulary");
    *place = v->count++;
    v->slot[slot_of(v, word, strlen(word))] = *place + 1;
    return ATTSVM_OK;
}
