/*
 * Opens an archive: recognises the kind of file and calls its reader.
 */
#include "io/io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcmp(path + length - tail, ending) == 0;
}

attsvm_status io_bytes_read(attsvm_archive *archive, const char *path, const void *bytes,
                            size_t size, const attsvm_read_settings *settings, attsvm_error *err)
{
    if (!bytes || size == 0)
        return fail(err, ATTSVM_E_FORMAT, "the file is empty");
    const io_format *format = io_format_of_bytes(path, bytes, size);
    if (!format)
        return fail(err, ATTSVM_E_FORMAT,
                    "neither the content nor the name says npz, npy, safetensors, csv or tsv");
    return format->read(archive, "X", bytes, size, settings, err);
}

static attsvm_status no_access(const char *deed, int code, attsvm_error *err)
{
    return fail(err, io_errno_status(code), "cannot %s: %s", deed, strerror(code));
}

attsvm_status io_map_file(int directory, const char *path, bool *is_directory, void **base,
                          size_t *size, attsvm_error *err)
{
    *base = NULL;
    *size = 0;
    *is_directory = false;
    int descriptor;
    do /* a signal may interrupt it */
        descriptor = openat(directory, path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (descriptor < 0 && errno == EINTR);
    if (descriptor < 0)
        return no_access("open the file", errno, err);
    attsvm_status status = ATTSVM_OK;
    struct stat info;
    if (fstat(descriptor, &info) != 0) {
        status = no_access("examine the file", errno, err);
    } else if (S_ISDIR(info.st_mode)) {
        *is_directory = true;
    } else if (!S_ISREG(info.st_mode)) {
        status = fail(err, ATTSVM_E_OPEN, "it is not a regular file");
    } else if (info.st_size > 0) {
        void *mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (mapping == MAP_FAILED) {
            status = no_access("map the file into memory", errno, err);
        } else {
            *base = mapping;
            *size = (size_t)info.st_size;
        }
    }
    close(descriptor);
    return status;
}

/* Adds the mapping to the archive and reads it; unmaps it if nothing points into it. */
static attsvm_status read_mapped(attsvm_archive *archive, const char *path, const char *npy_name,
                                 void *base, size_t size, const attsvm_read_settings *settings,
                                 attsvm_error *err)
{
    int64_t first = archive->count;
    if (base)
        TRY(io_archive_add_map(archive, base, size, err));
    TRY(npy_name ? io_format_read_npy(archive, npy_name, base, size, err)
                 : io_bytes_read(archive, path, base, size, settings, err));
    if (base)
        io_archive_drop_unused_map(archive, first);
    return ATTSVM_OK;
}

static int npy_only(const struct dirent *entry)
{
    return ends_in(entry->d_name, ".npy");
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static attsvm_status read_member(attsvm_archive *archive, int directory, char *file_name,
                                 const attsvm_read_settings *settings, attsvm_error *err)
{
    char name[BASE_NAME_SIZE];
    bool is_directory;
    void *base;
    size_t size;
    attsvm_status status = io_map_file(directory, file_name, &is_directory, &base, &size, err);
    if (status == ATTSVM_OK && is_directory)
        status = fail(err, ATTSVM_E_OPEN, "it is a directory, not a file");
    else if (status == ATTSVM_OK && !base)
        status = fail(err, ATTSVM_E_FORMAT, "the file is empty");
    if (status != ATTSVM_OK)
        return base_fail_in(err, status, base_printable(file_name, name));
    char *stem = strndup(file_name, strlen(file_name) - 4);
    if (!stem) {
        munmap(base, size);
        return fail(err, ATTSVM_E_MEMORY, "no memory for an array's name");
    }
    status = read_mapped(archive, file_name, stem, base, size, settings, err);
    free(stem);
    return status == ATTSVM_OK ? status
                               : base_fail_in(err, status, base_printable(file_name, name));
}

/* Every .npy in a directory, in the order of their names. */
static attsvm_status read_directory(attsvm_archive *archive, const char *path,
                                    const attsvm_read_settings *settings, attsvm_error *err)
{
    struct dirent **entries;
    int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return no_access("open the directory", errno, err);
    int count = scandirat(directory, ".", &entries, npy_only, by_bytes);
    attsvm_status status = ATTSVM_OK;
    if (count < 0)
        status = no_access("list the directory", errno, err);
    else if (count == 0)
        status = fail(err, ATTSVM_E_FORMAT, "the directory contains no .npy file");
    for (int k = 0; k < count && status == ATTSVM_OK; k++)
        status = read_member(archive, directory, entries[k]->d_name, settings, err);
    for (int k = 0; k < count; k++)
        free(entries[k]);
    if (count >= 0)
        free(entries);
    close(directory);
    return status;
}

static attsvm_status read_path(attsvm_archive *archive, const char *path,
                               const attsvm_read_settings *settings, attsvm_error *err)
{
    bool is_directory;
    void *base;
    size_t size;
    TRY(io_map_file(AT_FDCWD, path, &is_directory, &base, &size, err));
    if (is_directory)
        return read_directory(archive, path, settings, err);
    return read_mapped(archive, path, NULL, base, size, settings, err);
}

attsvm_status attsvm_archive_open(attsvm_archive **out, const char *path,
                                  const attsvm_read_settings *settings, attsvm_error *err)
{
    NEED_OUT(out);
    if (!path || !*path)
        return fail(err, ATTSVM_E_ARG, "the name of the file to read is empty");
    attsvm_read_settings defaults;
    attsvm_read_settings_init(&defaults);
    if (!settings)
        settings = &defaults;
    TRY(attsvm_settings_check(&attsvm_read_table, settings, err));
    attsvm_archive *archive;
    TRY(io_archive_create(&archive, err));
    attsvm_status status = read_path(archive, path, settings, err);
    if (status == ATTSVM_OK)
        status = io_archive_check_names(archive, err);
    if (status != ATTSVM_OK) {
        attsvm_archive_free(archive);
        return base_fail_in(err, status, base_path_tail(path));
    }
    *out = archive;
    return ATTSVM_OK;
}
