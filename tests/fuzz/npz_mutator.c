/*
 * A mutator for npz.  Flipping bits of a zip file mostly trips its checksums, so half of the time
 * the members are unpacked, one of them (or its name) is mutated, and a valid zip is packed anew.
 */
#include "fuzz.h"

#include <zip.h>

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed);

enum { MEMBERS = 8, MEMBER_MOST = 1 << 16, NAME_MOST = 32 };

typedef struct member {
    char name[NAME_MOST];
    uint8_t *content;
    size_t size;
} member;

static const char *const names[] = { "X.npy", "Y.npy", "offsets.npy", "E.npy", "tokens.npy",
                                     "Z.npy", "y.npy", "v.npy",       "a.txt" };

/* Unpacks all members that can be unpacked; returns their number. */
static int unpack(const uint8_t *bytes, size_t size, member *members)
{
    int count = 0;
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &error);
    zip_t *zip = source ? zip_open_from_source(source, ZIP_RDONLY, &error) : NULL;
    if (!zip)
        zip_source_free(source);
    for (zip_int64_t k = 0; zip && k < zip_get_num_entries(zip, 0) && count < MEMBERS; k++) {
        member *m = &members[count];
        const char *name = zip_get_name(zip, (zip_uint64_t)k, ZIP_FL_ENC_RAW);
        zip_file_t *file = zip_fopen_index(zip, (zip_uint64_t)k, 0);
        if (!file)
            continue;
        m->content = calloc(MEMBER_MOST, 1);
        zip_int64_t got = zip_fread(file, m->content, MEMBER_MOST / 2);
        m->size = got > 0 ? (size_t)got : 0;
        snprintf(m->name, sizeof m->name, "%s", name ? name : "X.npy");
        zip_fclose(file);
        count++;
    }
    if (zip)
        zip_discard(zip);
    zip_error_fini(&error);
    return count;
}

/* Packs the members, each stored or deflated by a bit of `seed`; returns the size, 0 on failure. */
static size_t pack(const member *members, int count, uint8_t *out, size_t most, unsigned seed)
{
    size_t size = 0;
    zip_error_t error;
    zip_error_init(&error);
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &error);
    zip_source_keep(target);
    zip_t *zip = zip_open_from_source(target, ZIP_CREATE | ZIP_TRUNCATE, &error);
    for (int k = 0; zip && k < count; k++) {
        zip_source_t *content = zip_source_buffer(zip, members[k].content, members[k].size, 0);
        zip_int64_t index = zip_file_add(zip, members[k].name, content, ZIP_FL_ENC_UTF_8);
        if (index < 0) {
            zip_source_free(content);
            continue;
        }
        zip_set_file_compression(zip, (zip_uint64_t)index,
                                 seed >> k & 1 ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0);
        zip_file_set_dostime(zip, (zip_uint64_t)index, 0, 33, 0);
    }
    if (zip && zip_close(zip) != 0) {
        zip_discard(zip);
    } else if (zip && zip_source_open(target) == 0) {
        zip_int64_t got = zip_source_read(target, out, most);
        size = got > 0 && (size_t)got < most ? (size_t)got : 0;
        zip_source_close(target);
    }
    zip_source_free(target);
    zip_error_fini(&error);
    return size;
}

static void exchange(member *a, member *b)
{
    member c = *a;
    *a = *b;
    *b = c;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed)
{
    member members[MEMBERS] = { 0 };
    int count = seed % 2 ? unpack(bytes, size, members) : 0;
    size_t packed = 0;
    if (count > 0) {
        member *m = &members[seed / 2 % (unsigned)count];
        if (seed / 64 % 8 == 0)
            snprintf(m->name, sizeof m->name, "%s", names[seed / 512 % 9]);
        else if (seed / 64 % 8 == 1 && count > 1)
            exchange(m, &members[--count]); /* which drops it */
        else
            m->size = LLVMFuzzerMutate(m->content, m->size, MEMBER_MOST);
        packed = pack(members, count, bytes, most, seed / 8192);
    }
    for (int k = 0; k < MEMBERS; k++)
        free(members[k].content);
    return packed ? packed : LLVMFuzzerMutate(bytes, size, most);
}
