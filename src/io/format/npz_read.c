/*
 * Reads npz, a zip file of npy members, with libzip over the mapped file.
 *
 * libzip finds the members, inflates and checks their CRCs; local headers must agree with the
 * directory (ZIP_CHECKCONS).  libzip does not report the offset of a stored member, but our source
 * sees at which offset it reads the first bytes.  A large stored array is then used in place, in
 * the mapping.
 *
 * The declared size of a member is not trusted: it must agree with its npy header, be reachable by
 * deflate from its compressed size, and be within the caller's limit.
 */
#include "io/format/format.h"

#include <stdlib.h>
#include <string.h>
#include <zip.h>

enum {
    /* deflate makes at most 258 bytes of two bits: a ratio of 1032, plus room for tiny members */
    DEFLATE_RATIO = 1032,
    DEFLATE_SLACK = 1 << 12,
    VERIFY_BUFFER = 1 << 18,
    READ_MOST = 1 << 26 /* libzip 1.7 miscounts when inflating 4 GiB at once */
};

/* The mapped file as a source for libzip. */
typedef struct view {
    const unsigned char *bytes;
    size_t size, position;
    bool watching;     /* the next read is a member's first */
    size_t first_read; /* where that read began             */
    zip_error_t error;
} view;

static zip_int64_t view_read(view *v, void *out, zip_uint64_t length)
{
    size_t left = v->size - v->position;
    size_t count = length < left ? (size_t)length : left;
    if (v->watching && count > 0) {
        v->watching = false;
        v->first_read = v->position;
    }
    memcpy(out, v->bytes + v->position, count);
    v->position += count;
    return (zip_int64_t)count;
}

static zip_int64_t view_stat(const view *v, void *data, zip_uint64_t length)
{
    if (length < sizeof(zip_stat_t))
        return -1;
    zip_stat_t *stat = data;
    zip_stat_init(stat);
    stat->size = v->size;
    stat->valid = ZIP_STAT_SIZE;
    return sizeof *stat;
}

static zip_int64_t view_seek(view *v, void *data, zip_uint64_t length)
{
    zip_int64_t position =
        zip_source_seek_compute_offset(v->position, v->size, data, length, &v->error);
    if (position < 0)
        return -1;
    v->position = (size_t)position;
    return 0;
}

static zip_int64_t view_callback(void *context, void *data, zip_uint64_t length,
                                 zip_source_cmd_t command)
{
    view *v = context;
    switch (command) {
    case ZIP_SOURCE_OPEN: v->position = 0; return 0;
    case ZIP_SOURCE_READ: return view_read(v, data, length);
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    case ZIP_SOURCE_STAT: return view_stat(v, data, length);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&v->error, data, length);
    case ZIP_SOURCE_SEEK: return view_seek(v, data, length);
    case ZIP_SOURCE_TELL: return (zip_int64_t)v->position;
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_SEEKABLE;
    default: zip_error_set(&v->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

/* One member while it is read. */
typedef struct member {
    zip_stat_t stat;
    zip_file_t *file;
    char *name;            /* without .npy      */
    uint64_t taken;        /* bytes read so far */
    unsigned char *header; /* of the npy file   */
    bool stored;
} member;

static attsvm_status zip_failed(zip_error_t *error, const char *deed, attsvm_error *err)
{
    attsvm_status status = ATTSVM_E_FORMAT;
    if (zip_error_code_zip(error) == ZIP_ER_MEMORY)
        return fail(err, ATTSVM_E_MEMORY, "%s: no memory", deed);
    if (zip_error_code_zip(error) == ZIP_ER_EXISTS)
        return fail(err, status, "%s: two of its members have the same name", deed);
    return fail(err, status, "%s: %s", deed, zip_error_strerror(error));
}

static attsvm_status read_bytes(member *m, void *out, size_t size, attsvm_error *err)
{
    unsigned char *at = out;
    while (size > 0) {
        zip_int64_t count = zip_fread(m->file, at, size < READ_MOST ? size : READ_MOST);
        if (count < 0)
            return zip_failed(zip_file_get_error(m->file), "cannot unpack it", err);
        if (count == 0)
            return fail(err, ATTSVM_E_FORMAT,
                        "it ends after %" PRIu64 " bytes, but %" PRIu64 " are promised", m->taken,
                        (uint64_t)m->stat.size);
        at += count;
        size -= (size_t)count;
        m->taken += (uint64_t)count;
    }
    return ATTSVM_OK;
}

/* The member must end here; libzip then compares the CRC. */
static attsvm_status read_end(member *m, attsvm_error *err)
{
    unsigned char extra;
    zip_int64_t count = zip_fread(m->file, &extra, 1);
    if (count < 0)
        return zip_failed(zip_file_get_error(m->file), "it is damaged", err);
    if (count > 0)
        return fail(err, ATTSVM_E_FORMAT, "it is longer than the promised %" PRIu64 " bytes",
                    (uint64_t)m->stat.size);
    return ATTSVM_OK;
}

/* The header stays in m->header. */
static attsvm_status read_header(member *m, io_npy *npy, attsvm_error *err)
{
    size_t header_size = 0;
    if (m->stat.size < 12)
        return fail(err, ATTSVM_E_FORMAT, "it has %" PRIu64 " bytes, fewer than any npy header",
                    (uint64_t)m->stat.size);
    TRY(base_allocate(&m->header, IO_NPY_HEADER_MOST + 12, 1, "npy header", err));
    TRY(read_bytes(m, m->header, 12, err));
    TRY(io_npy_measure(m->header, &header_size, err));
    if (header_size < 12 || header_size > m->stat.size)
        return fail(err, ATTSVM_E_FORMAT,
                    "it has %" PRIu64 " bytes, but its npy header alone has %zu",
                    (uint64_t)m->stat.size, header_size);
    TRY(read_bytes(m, m->header + 12, header_size - 12, err));
    TRY(io_npy_parse(npy, m->header, header_size, err));
    return io_npy_check_size(npy, m->stat.size, err);
}

/* Copies the array into new memory. */
static attsvm_status read_copy(attsvm_archive *archive, member *m, const io_npy *npy,
                               attsvm_error *err)
{
    void *memory;
    TRY(base_reserve(&memory, npy->data_size, "its elements", err));
    attsvm_status status = read_bytes(m, memory, npy->data_size, err);
    if (status == ATTSVM_OK)
        status = read_end(m, err);
    if (status == ATTSVM_OK)
        status = io_npy_arrange(npy, &memory, err);
    if (status != ATTSVM_OK) {
        free(memory);
        return status;
    }
    attsvm_array array = npy->array;
    array.data = memory;
    return io_archive_add(archive, m->name, &array, memory, err);
}

static attsvm_status not_there(attsvm_error *err)
{
    return fail(err, ATTSVM_E_FORMAT, "its bytes are not where the zip directory says");
}

/*
 * Reads the rest through libzip, which compares the CRC, and compares it with the mapped bytes
 * (NULL: none).
 */
static attsvm_status verify_rest(member *m, const unsigned char *mapped, attsvm_error *err)
{
    void *buffer;
    TRY(base_allocate(&buffer, VERIFY_BUFFER, 1, "a buffer", err));
    attsvm_status status = ATTSVM_OK;
    while (status == ATTSVM_OK && m->taken < m->stat.size) {
        uint64_t left = m->stat.size - m->taken, at = m->taken;
        size_t count = left < VERIFY_BUFFER ? (size_t)left : VERIFY_BUFFER;
        status = read_bytes(m, buffer, count, err);
        if (status == ATTSVM_OK && mapped && memcmp(buffer, mapped + at, count) != 0)
            status = not_there(err);
    }
    if (status == ATTSVM_OK)
        status = read_end(m, err);
    free(buffer);
    return status;
}

/* Uses the array in place, in the mapped file. */
static attsvm_status use_in_place(attsvm_archive *archive, member *m, const io_npy *npy,
                                  const view *v, bool verify, attsvm_error *err)
{
    size_t start = v->first_read;
    if (v->watching || start > v->size || m->stat.size > v->size - start ||
        memcmp(v->bytes + start, m->header, npy->header_size) != 0)
        return not_there(err);
    if (verify)
        TRY(verify_rest(m, v->bytes + start, err));
    attsvm_array array = npy->array;
    array.data = v->bytes + start + npy->header_size;
    return io_archive_add(archive, m->name, &array, NULL, err);
}

static attsvm_status check_member(const member *m, int64_t inflate_limit, attsvm_error *err)
{
    const zip_uint64_t needed =
        ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    uint64_t size = m->stat.size, packed = m->stat.comp_size;
    if ((m->stat.valid & needed) != needed)
        return fail(err, ATTSVM_E_FORMAT, "the zip directory does not tell its size");
    if (m->stat.encryption_method != ZIP_EM_NONE)
        return fail(err, ATTSVM_E_FORMAT, "it is encrypted");
    if (m->stored) {
        if (size != packed)
            return fail(err, ATTSVM_E_FORMAT,
                        "it is stored as such, yet the zip directory gives it %" PRIu64
                        " bytes and %" PRIu64 " packed",
                        size, packed);
        return ATTSVM_OK;
    }
    if (m->stat.comp_method != ZIP_CM_DEFLATE)
        return fail(err, ATTSVM_E_FORMAT,
                    "it is packed by zip method %d; only stored and deflated can be read",
                    m->stat.comp_method);
    if (size > (uint64_t)inflate_limit)
        return fail(err, ATTSVM_E_FORMAT,
                    "it unpacks to %" PRIu64 " bytes, more than inflate_limit = %" PRId64, size,
                    inflate_limit);
    if (size > DEFLATE_SLACK && (size - DEFLATE_SLACK) / DEFLATE_RATIO > packed)
        return fail(err, ATTSVM_E_FORMAT,
                    "%" PRIu64 " deflated bytes cannot unpack to the promised %" PRIu64, packed,
                    size);
    return ATTSVM_OK;
}

static attsvm_status read_member(attsvm_archive *archive, zip_t *zip, view *v, member *m,
                                 const attsvm_read_settings *settings, attsvm_error *err)
{
    m->stored = m->stat.comp_method == ZIP_CM_STORE;
    TRY(check_member(m, settings->inflate_limit, err));
    m->file = zip_fopen_index(zip, m->stat.index, 0);
    if (!m->file)
        return zip_failed(zip_get_error(zip), "cannot open it", err);
    v->watching = true;
    v->first_read = 0;
    io_npy npy = { 0 };
    attsvm_status status = read_header(m, &npy, err);
    if (status == ATTSVM_OK) {
        if (m->stored && !npy.swapped && !npy.fortran && npy.data_size >= IO_MAP_FROM)
            status = use_in_place(archive, m, &npy, v, settings->verify, err);
        else
            status = read_copy(archive, m, &npy, err);
    } else if (npy.foreign) {
        status = io_archive_leave_out(archive, m->name, status, err);
        if (status == ATTSVM_OK)
            status = verify_rest(m, NULL, err);
    }
    zip_fclose(m->file);
    free(m->header);
    return status;
}

/* Reads member `index` if its name ends in .npy. */
static attsvm_status read_index(attsvm_archive *archive, zip_t *zip, view *v, zip_uint64_t index,
                                uint64_t *packed, const attsvm_read_settings *settings,
                                attsvm_error *err)
{
    member m = { 0 };
    const char *full = zip_get_name(zip, index, ZIP_FL_ENC_RAW);
    if (!full || zip_stat_index(zip, index, ZIP_FL_ENC_RAW, &m.stat) != 0)
        return zip_failed(zip_get_error(zip), "cannot read the zip directory", err);
    size_t length = strlen(full);
    if (length < 4 || strcmp(full + length - 4, ".npy") != 0)
        return ATTSVM_OK;
    if (length == 4)
        return fail(err, ATTSVM_E_FORMAT, "the zip file has an array without a name");
    char name[BASE_NAME_SIZE];
    /* members that share bytes would let a small file unpack to any size */
    attsvm_status status = ATTSVM_OK;
    if (m.stat.comp_size > v->size - *packed)
        status = fail(err, ATTSVM_E_FORMAT,
                      "it and the arrays before it have more bytes than the "
                      "file");
    *packed += m.stat.comp_size;
    m.name = strndup(full, length - 4);
    if (!m.name)
        return fail(err, ATTSVM_E_MEMORY, "no memory for an array's name");
    if (status == ATTSVM_OK)
        status = read_member(archive, zip, v, &m, settings, err);
    if (status != ATTSVM_OK)
        base_fail_in(err, status, base_printable(m.name, name));
    free(m.name);
    return status;
}

static uint64_t little_endian(const unsigned char *bytes, int count)
{
    uint64_t value = 0;
    while (count-- > 0)
        value = value << 8 | bytes[count];
    return value;
}

/*
 * The directory must end where the record at the end of the file begins.  Of two zip files in a row
 * libzip reads the first and numpy the second: such a file is refused, and so is one that has an
 * end record within its comment.
 */
static bool ends_well(const view *v, zip_t *zip)
{
    enum { END = 22, LOCATOR = 20, END64 = 56 };
    int comment = 0;
    const char *text = zip_get_archive_comment(zip, &comment, ZIP_FL_ENC_RAW);
    if (comment < 0 || (size_t)comment > v->size || v->size - (size_t)comment < END ||
        (text && memmem(text, (size_t)comment, "PK\5\6", 4)))
        return false;
    size_t at = v->size - (size_t)comment - END;
    const unsigned char *end = v->bytes + at;
    if (memcmp(end, "PK\5\6", 4) != 0 || little_endian(end + 20, 2) != (uint64_t)comment)
        return false;
    if (at < LOCATOR + END64 || memcmp(end - LOCATOR, "PK\6\7", 4) != 0)
        return little_endian(end + 12, 4) + little_endian(end + 16, 4) == at;
    const unsigned char *end64 = end - LOCATOR - END64;
    at -= LOCATOR + END64;
    uint64_t size = little_endian(end64 + 40, 8), start = little_endian(end64 + 48, 8);
    return memcmp(end64, "PK\6\6", 4) == 0 && little_endian(end - LOCATOR + 8, 8) == at &&
           size <= at && start == at - size;
}

bool io_format_is_npz(const unsigned char *bytes, size_t size)
{
    return size >= 4 && (memcmp(bytes, "PK\3\4", 4) == 0 || memcmp(bytes, "PK\5\6", 4) == 0);
}

attsvm_status io_npz_read(attsvm_archive *archive, const char *name, const void *bytes, size_t size,
                          const attsvm_read_settings *settings, attsvm_error *err)
{
    (void)name; /* its members have names */
    view v = { .bytes = bytes, .size = size };
    zip_error_t error;
    zip_error_init(&error);
    zip_error_init(&v.error);
    attsvm_status status;
    zip_t *zip = NULL;
    /* libzip may report "not an archive" when it is out of memory: try twice */
    for (int attempt = 0; attempt < 2 && !zip; attempt++) {
        zip_source_t *source = zip_source_function_create(view_callback, &v, &error);
        if (source)
            zip = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
        if (!zip)
            zip_source_free(source);
        if (!zip && (zip_error_code_zip(&error) == ZIP_ER_MEMORY || !io_memory_is_left()))
            break;
    }
    if (!zip && !io_memory_is_left()) {
        status = fail(err, ATTSVM_E_MEMORY, "cannot read the zip file: no memory");
    } else if (!zip) {
        status = zip_failed(&error, "cannot read the zip file", err);
    } else {
        status = ends_well(&v, zip)
                     ? ATTSVM_OK
                     : fail(err, ATTSVM_E_FORMAT,
                            "cannot read the zip file: its directory is not at its end");
        uint64_t packed = 0;
        zip_int64_t count = zip_get_num_entries(zip, 0);
        for (zip_int64_t k = 0; k < count && status == ATTSVM_OK; k++)
            status = read_index(archive, zip, &v, (zip_uint64_t)k, &packed, settings, err);
        zip_discard(zip);
    }
    zip_error_fini(&error);
    zip_error_fini(&v.error);
    return status;
}
