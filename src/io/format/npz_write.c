/*
 * Writes npz with libzip into our atomic file: in little memory for arrays of any size, with zip64
 * if needed.  All times are 1980-01-01, so that the same arrays give the same bytes.
 */
#include "io/format/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

enum {
    DOS_TIME = 0, /* 00:00 on 1 January 1980, the earliest that zip knows */
    DOS_DATE = 1 << 5 | 1,
    LOCAL_HEADER = 30, /* bytes in front of a member: this, its name and its extra fields */
    ZIP64_FIELD = 20,
    PADDING_FIELD = 4,   /* bytes of a field without content                                      */
    PADDING_ID = 0x4246, /* "FB", as PyTorch pads its files; readers skip fields they do not know */
    ALIGNMENT = 64,      /* of the elements in the file                                           */
    LARGE = 1 << 20,     /* arrays of at least this size begin ...                                */
    PAGE = 1 << 12,      /* ... at a page                                                         */
};

/*
 * libzip reports errors as numbers, so our messages are passed separately.  The first one is
 * reported; later ones are its consequences.
 */
typedef struct writer {
    io_file *file;
    uint64_t end; /* of what was written so far */
    attsvm_error failure;
    zip_error_t error;
} writer;

static zip_int64_t note(writer *w, attsvm_status status, const attsvm_error *failure)
{
    if (status == ATTSVM_OK)
        return 0;
    if (w->failure.status == ATTSVM_OK)
        w->failure = *failure;
    zip_error_set(&w->error, ZIP_ER_WRITE, 0);
    return -1;
}

static zip_int64_t output_write(writer *w, const void *data, zip_uint64_t length)
{
    attsvm_error failure;
    attsvm_status status = io_file_write(w->file, data, (size_t)length, &failure);
    if (io_file_tell(w->file) > w->end)
        w->end = io_file_tell(w->file);
    return note(w, status, &failure) == 0 ? (zip_int64_t)length : -1;
}

static zip_int64_t output_seek(writer *w, void *data, zip_uint64_t length)
{
    attsvm_error failure;
    zip_int64_t position =
        zip_source_seek_compute_offset(io_file_tell(w->file), w->end, data, length, &w->error);
    if (position < 0)
        return -1;
    if ((uint64_t)position == io_file_tell(w->file))
        return 0;
    return note(w, io_file_seek(w->file, (uint64_t)position, &failure), &failure);
}

static zip_int64_t output_callback(void *context, void *data, zip_uint64_t length,
                                   zip_source_cmd_t command)
{
    writer *w = context;
    switch (command) {
    case ZIP_SOURCE_BEGIN_WRITE:
    case ZIP_SOURCE_COMMIT_WRITE:
    case ZIP_SOURCE_ROLLBACK_WRITE:
    case ZIP_SOURCE_REMOVE:
    case ZIP_SOURCE_FREE: return 0;
    case ZIP_SOURCE_WRITE: return output_write(w, data, length);
    case ZIP_SOURCE_SEEK_WRITE: return output_seek(w, data, length);
    case ZIP_SOURCE_TELL_WRITE: return (zip_int64_t)io_file_tell(w->file);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&w->error, data, length);
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_WRITABLE;
    case ZIP_SOURCE_STAT: /* a new archive: still empty */
        zip_error_set(&w->error, ZIP_ER_READ, ENOENT);
        return -1;
    default: zip_error_set(&w->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

/* One array as libzip reads it: the npy header, then the pieces of its source. */
typedef struct member {
    writer *writer;
    const io_source *source;
    unsigned char header[IO_NPY_HEADER_SIZE];
    size_t header_size;
    uint64_t size; /* header and elements */
    io_pieces pieces;
    const unsigned char *left; /* of the header or the current piece */
    size_t left_size;
} member;

static zip_int64_t member_open(member *m)
{
    attsvm_error failure;
    m->left = m->header;
    m->left_size = m->header_size;
    return note(m->writer, io_pieces_open(&m->pieces, m->source, &failure), &failure);
}

static zip_int64_t member_read(member *m, unsigned char *out, zip_uint64_t length)
{
    zip_uint64_t done = 0;
    while (done < length) {
        if (m->left_size == 0) {
            attsvm_error failure;
            const void *bytes;
            if (note(m->writer, io_pieces_next(&m->pieces, &bytes, &m->left_size, &failure),
                     &failure) != 0)
                return -1;
            m->left = bytes;
            if (m->left_size == 0)
                break;
        }
        size_t count = m->left_size < length - done ? m->left_size : (size_t)(length - done);
        memcpy(out + done, m->left, count);
        m->left += count;
        m->left_size -= count;
        done += count;
    }
    return (zip_int64_t)done;
}

static zip_int64_t member_stat(const member *m, void *data, zip_uint64_t length)
{
    if (length < sizeof(zip_stat_t))
        return -1;
    zip_stat_t *stat = data;
    zip_stat_init(stat);
    stat->size = m->size;
    stat->valid = ZIP_STAT_SIZE;
    return sizeof *stat;
}

static zip_int64_t member_callback(void *context, void *data, zip_uint64_t length,
                                   zip_source_cmd_t command)
{
    member *m = context;
    switch (command) {
    case ZIP_SOURCE_OPEN: return member_open(m);
    case ZIP_SOURCE_READ: return member_read(m, data, length);
    case ZIP_SOURCE_CLOSE: io_pieces_close(&m->pieces); return 0;
    case ZIP_SOURCE_STAT: return member_stat(m, data, length);
    case ZIP_SOURCE_ERROR: return zip_error_to_data(&m->writer->error, data, length);
    case ZIP_SOURCE_FREE:
        io_pieces_close(&m->pieces);
        free(m);
        return 0;
    case ZIP_SOURCE_SUPPORTS: return ZIP_SOURCE_SUPPORTS_READABLE;
    default: zip_error_set(&m->writer->error, ZIP_ER_OPNOTSUPP, 0); return -1;
    }
}

static attsvm_status zip_failed(zip_t *zip, attsvm_error *err)
{
    zip_error_t *error = zip_get_error(zip);
    const int code = zip_error_code_zip(error);
    if (code == ZIP_ER_MEMORY || code == ZIP_ER_OK) /* libzip does not report some failures */
        return fail(err, ATTSVM_E_MEMORY, "cannot write the zip file: no memory");
    return fail(err, ATTSVM_E_DISK, "cannot write the zip file: %s", zip_error_strerror(error));
}

/*
 * Pads stored member `index` with a field of zeros, so that its elements begin at a multiple of 64
 * bytes in the file and, when that is mapped, in memory; large arrays begin at a page, where they
 * are read faster.  *offset is advanced from the begin of the member to its end.
 */
static bool align_member(zip_t *zip, zip_uint64_t index, size_t name_length, const member *m,
                         uint64_t *offset)
{
    static const zip_uint8_t zeros[PAGE];
    uint64_t start = *offset + LOCAL_HEADER + name_length + PADDING_FIELD;
    if (m->size >= UINT32_MAX)
        start += ZIP64_FIELD;
    zip_uint16_t padding =
        (zip_uint16_t)(-(start + m->header_size) % (m->size < LARGE ? ALIGNMENT : PAGE));
    *offset = start + padding + m->size;
    return zip_file_extra_field_set(zip, index, PADDING_ID, ZIP_EXTRA_FIELD_NEW, zeros, padding,
                                    ZIP_FL_LOCAL) == 0;
}

static attsvm_status add_member(zip_t *zip, writer *w, const io_source *source, bool deflate,
                                uint64_t *offset, attsvm_error *err)
{
    member *m;
    TRY(base_allocate(&m, 1, sizeof *m, source->name, err));
    m->writer = w;
    m->source = source;
    m->header_size = io_npy_header(&source->array, m->header);
    m->size = m->header_size +
              (uint64_t)attsvm_array_count(&source->array) * attsvm_dtype_size(source->array.dtype);
    size_t length = strlen(source->name);
    char *name = malloc(length + 5);
    zip_source_t *zip_source = name ? zip_source_function(zip, member_callback, m) : NULL;
    if (!zip_source) {
        free(name);
        free(m);
        return fail(err, ATTSVM_E_MEMORY, "%s: no memory to write it", source->name);
    }
    memcpy(name, source->name, length);
    memcpy(name + length, ".npy", 5);
    zip_int64_t index = zip_file_add(zip, name, zip_source, ZIP_FL_ENC_UTF_8);
    free(name);
    if (index < 0) {
        zip_source_free(zip_source);
        return zip_failed(zip, err);
    }
    if (zip_set_file_compression(zip, (zip_uint64_t)index, deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                                 0) != 0 ||
        zip_file_set_dostime(zip, (zip_uint64_t)index, DOS_TIME, DOS_DATE, 0) != 0 ||
        (!deflate && !align_member(zip, (zip_uint64_t)index, length + 4, m, offset)))
        return zip_failed(zip, err);
    return ATTSVM_OK;
}

attsvm_status io_npz_write(io_file *file, const io_source *sources, int64_t count,
                           const io_write_options *options, attsvm_error *err)
{
    const bool deflate = options && options->deflate;
    writer w = { .file = file };
    zip_error_t error;
    zip_error_init(&error);
    zip_error_init(&w.error);
    attsvm_status status = ATTSVM_OK;
    uint64_t offset = 0;
    zip_t *zip = NULL;
    zip_source_t *source = zip_source_function_create(output_callback, &w, &error);
    if (source)
        zip = zip_open_from_source(source, ZIP_CREATE | ZIP_TRUNCATE, &error);
    if (!zip) {
        zip_source_free(source);
        status =
            fail(err, ATTSVM_E_MEMORY, "cannot begin the zip file: %s", zip_error_strerror(&error));
    } else {
        for (int64_t k = 0; k < count && status == ATTSVM_OK; k++)
            status = add_member(zip, &w, &sources[k], deflate, &offset, err);
        if (status == ATTSVM_OK && zip_close(zip) != 0) {
            status = zip_failed(zip, err);
            if (w.failure.status != ATTSVM_OK)
                status = fail(err, w.failure.status, "%s", w.failure.message);
        } else if (status == ATTSVM_OK) {
            zip = NULL;
        }
        if (zip)
            zip_discard(zip);
    }
    zip_error_fini(&error);
    zip_error_fini(&w.error);
    return status;
}
