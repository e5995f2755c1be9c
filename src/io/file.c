/*
 * Atomic files.  With O_TMPFILE and /proc the file has no name until it is complete, so that even a
 * killed process leaves nothing behind; otherwise it has a temporary name in the same directory.
 * Write, sync the file, rename, sync the directory.
 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    BUFFER_SIZE = 1 << 20, /* libzip writes in pieces of 8 KiB */
    NAME_ATTEMPTS = 1000
};

struct io_file {
    char *path;        /* as given by the caller          */
    const char *shown; /* the end of it, for messages     */
    char *target;      /* the path with links resolved    */
    char *directory;   /* of the target                   */
    char *temporary;   /* NULL while the file has no name */
    int descriptor;
    size_t buffered; /* bytes of `buffer` not yet in the file */
    uint64_t start;  /* position of the buffer in the file    */
    unsigned char *buffer;
};

attsvm_status io_errno_status(int code)
{
    switch (code) {
    case ENOMEM: return ATTSVM_E_MEMORY;
    case ENOENT:
    case EACCES:
    case EPERM:
    case ENOTDIR:
    case EISDIR:
    case EROFS:
    case ELOOP:
    case ENAMETOOLONG:
    case ENXIO:
    case ENODEV:
    case EINVAL: return ATTSVM_E_OPEN;
    default: return ATTSVM_E_DISK;
    }
}

attsvm_status io_fail_errno(attsvm_error *err, const char *path, const char *deed, int code)
{
    return fail(err, io_errno_status(code), "%s: cannot %s: %s", base_path_tail(path), deed,
                strerror(code));
}

bool io_memory_is_left(void)
{
    enum { SOME = 1 << 16 };
    void *volatile memory = malloc(SOME); /* volatile: not optimised away */
    free(memory);
    return memory != NULL;
}

static void release(io_file *file)
{
    if (file->descriptor >= 0)
        close(file->descriptor);
    if (file->temporary)
        unlink(file->temporary);
    free(file->temporary);
    free(file->directory);
    free(file->target);
    free(file->path);
    free(file->buffer);
    free(file);
}

void io_file_abandon(io_file *file)
{
    if (file)
        release(file);
}

/* A signal may interrupt open and fsync. */
static int open_again(const char *path, int flags)
{
    int descriptor;
    do
        descriptor = open(path, flags, 0666);
    while (descriptor < 0 && errno == EINTR);
    return descriptor;
}

static bool sync_again(int descriptor)
{
    int result;
    do
        result = fsync(descriptor);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

/* Whether a link leads to an open descriptor (/dev/stdout) instead of a file in a directory. */
static bool is_descriptor_link(const char *path)
{
    char link[64];
    ssize_t length = readlink(path, link, sizeof link - 1);
    link[length < 0 ? 0 : length] = '\0';
    return strncmp(link, "/proc/", 6) == 0 || strncmp(path, "/proc/", 6) == 0 ||
           strncmp(path, "/dev/fd/", 8) == 0;
}

/*
 * Sets file->target: the target of a symbolic link, otherwise the path itself.  Only a regular file
 * can be replaced atomically.
 */
static attsvm_status find_target(io_file *file, attsvm_error *err)
{
    const char *path = file->path;
    struct stat info;
    bool exists = stat(path, &info) == 0;
    if (!exists && errno != ENOENT)
        return io_fail_errno(err, path, "write", errno);
    if (exists && S_ISDIR(info.st_mode))
        return fail(err, ATTSVM_E_OPEN, "%s: is a directory, not a file to write", file->shown);
    struct stat link;
    bool is_link = lstat(path, &link) == 0 && S_ISLNK(link.st_mode);
    if ((exists && !S_ISREG(info.st_mode)) || (is_link && is_descriptor_link(path)))
        return fail(err, ATTSVM_E_OPEN,
                    "%s: is not a regular file; only those can be written whole or not at all",
                    file->shown);
    if (is_link && !exists)
        return fail(err, ATTSVM_E_OPEN, "%s: is a symbolic link to a file that does not exist",
                    file->shown);
    file->target = is_link ? realpath(path, NULL) : strdup(path);
    if (!file->target)
        return io_fail_errno(err, path, "write", errno);
    return ATTSVM_OK;
}

static attsvm_status find_directory(io_file *file, attsvm_error *err)
{
    const char *slash = strrchr(file->target, '/');
    if (slash && slash[1] == '\0')
        return fail(err, ATTSVM_E_OPEN, "%s: ends in a slash, so it is not a file to write",
                    file->shown);
    size_t length = slash ? (size_t)(slash - file->target) : 0;
    file->directory = slash ? strndup(file->target, length ? length : 1) : strdup(".");
    if (!file->directory)
        return fail(err, ATTSVM_E_MEMORY, "%s: no memory for its name", file->shown);
    struct stat info;
    if (stat(file->directory, &info) != 0)
        return errno == ENOENT ? fail(err, ATTSVM_E_OPEN, "%s: the directory '%s' does not exist",
                                      file->shown, file->directory)
                               : io_fail_errno(err, file->shown, "write", errno);
    if (!S_ISDIR(info.st_mode))
        return fail(err, ATTSVM_E_OPEN, "%s: '%s' is not a directory", file->shown,
                    file->directory);
    return ATTSVM_OK;
}

/*
 * Finds an unused name in the folder of the target.  `make` creates it; it returns false with errno
 * EEXIST if another process was faster.
 */
static bool take_name(io_file *file, bool (*make)(io_file *, const char *name))
{
    size_t size = strlen(file->directory) + 80;
    char *name = malloc(size);
    if (!name) {
        errno = ENOMEM;
        return false;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (unsigned attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
        snprintf(name, size, "%s/.attsvm-%lx-%lx-%x.tmp", file->directory, (unsigned long)getpid(),
                 (unsigned long)now.tv_nsec, attempt);
        if (make(file, name)) {
            file->temporary = name;
            return true;
        }
        if (errno != EEXIST)
            break;
    }
    int code = errno;
    free(name);
    errno = code;
    return false;
}

static bool make_file(io_file *file, const char *name)
{
    file->descriptor = open_again(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC);
    return file->descriptor >= 0;
}

static bool link_nameless(io_file *file, const char *name)
{
    char source[64];
    snprintf(source, sizeof source, "/proc/self/fd/%d", file->descriptor);
    return linkat(AT_FDCWD, source, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

static bool make_nameless(io_file *file)
{
#ifdef O_TMPFILE
    char source[64];
    file->descriptor = open_again(file->directory, O_TMPFILE | O_RDWR | O_CLOEXEC);
    if (file->descriptor < 0)
        return false;
    snprintf(source, sizeof source, "/proc/self/fd/%d", file->descriptor);
    struct stat info;
    if (lstat(source, &info) == 0)
        return true;
    close(file->descriptor);
    file->descriptor = -1;
#endif
    return false;
}

attsvm_status io_file_create(io_file **out, const char *path, attsvm_error *err)
{
    *out = NULL;
    if (!path || !*path)
        return fail(err, ATTSVM_E_ARG, "the name of the file to write is empty");
    io_file *file;
    TRY(base_allocate(&file, 1, sizeof *file, base_path_tail(path), err));
    file->descriptor = -1;
    file->path = strdup(path);
    file->shown = file->path ? base_path_tail(file->path) : "";
    attsvm_status status = ATTSVM_OK;
    if (!file->path)
        status = fail(err, ATTSVM_E_MEMORY, "%s: no memory for its name", base_path_tail(path));
    if (status == ATTSVM_OK)
        status = base_allocate(&file->buffer, BUFFER_SIZE, 1, file->shown, err);
    if (status == ATTSVM_OK)
        status = find_target(file, err);
    if (status == ATTSVM_OK)
        status = find_directory(file, err);
    if (status == ATTSVM_OK && !make_nameless(file) && !take_name(file, make_file))
        status = io_fail_errno(err, path, "write", errno);
    if (status != ATTSVM_OK) {
        release(file);
        return status;
    }
    *out = file;
    return ATTSVM_OK;
}

static attsvm_status write_at(io_file *file, const unsigned char *bytes, size_t size, uint64_t at,
                              attsvm_error *err)
{
    while (size > 0) {
        ssize_t done = pwrite(file->descriptor, bytes, size, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return fail(err, ATTSVM_E_DISK, "%s: writing failed after %" PRIu64 " bytes: %s",
                        file->shown, at, strerror(done == 0 ? EIO : errno));
        bytes += done;
        size -= (size_t)done;
        at += (uint64_t)done;
    }
    return ATTSVM_OK;
}

static attsvm_status flush(io_file *file, attsvm_error *err)
{
    TRY(write_at(file, file->buffer, file->buffered, file->start, err));
    file->start += file->buffered;
    file->buffered = 0;
    return ATTSVM_OK;
}

attsvm_status io_file_write(io_file *file, const void *bytes, size_t size, attsvm_error *err)
{
    if (size > BUFFER_SIZE - file->buffered)
        TRY(flush(file, err));
    if (size >= BUFFER_SIZE) {
        TRY(write_at(file, bytes, size, file->start, err));
        file->start += size;
    } else if (size > 0) {
        memcpy(file->buffer + file->buffered, bytes, size);
        file->buffered += size;
    }
    return ATTSVM_OK;
}

attsvm_status io_file_seek(io_file *file, uint64_t position, attsvm_error *err)
{
    TRY(flush(file, err));
    file->start = position;
    return ATTSVM_OK;
}

uint64_t io_file_tell(const io_file *file)
{
    return file->start + file->buffered;
}

/* Some file systems cannot sync directories and return EINVAL. */
static attsvm_status sync_directory(const io_file *file, attsvm_error *err)
{
    int directory = open_again(file->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return errno == EACCES ? ATTSVM_OK /* writable but not readable: cannot be synced */
                               : io_fail_errno(err, file->shown, "sync its directory", errno);
    int code = sync_again(directory) || errno == EINVAL ? 0 : errno;
    close(directory);
    if (code)
        return fail(err, ATTSVM_E_DISK, "%s: cannot sync its directory: %s", file->shown,
                    strerror(code));
    return ATTSVM_OK;
}

/* Gives the finished file its name. */
static attsvm_status publish(io_file *file, attsvm_error *err)
{
    if (!file->temporary) {
        if (link_nameless(file, file->target))
            return ATTSVM_OK;
        /* the name exists: a link does not replace it, renaming does */
        if (errno != EEXIST || !take_name(file, link_nameless))
            return fail(err, ATTSVM_E_DISK, "%s: cannot give the file its name: %s", file->shown,
                        strerror(errno));
    }
    if (rename(file->temporary, file->target) != 0)
        return fail(err, ATTSVM_E_DISK, "%s: cannot give the file its name: %s", file->shown,
                    strerror(errno));
    free(file->temporary);
    file->temporary = NULL;
    return ATTSVM_OK;
}

attsvm_status io_file_commit(io_file *file, attsvm_error *err)
{
    attsvm_status status = flush(file, err);
    if (status == ATTSVM_OK && !sync_again(file->descriptor))
        status = fail(err, ATTSVM_E_DISK, "%s: cannot sync the file to disk: %s", file->shown,
                      strerror(errno));
    if (status == ATTSVM_OK)
        status = publish(file, err);
    if (status == ATTSVM_OK)
        status = sync_directory(file, err);
    release(file);
    return status;
}

attsvm_status attsvm_file_write(const char *path, const void *bytes, size_t size, attsvm_error *err)
{
    if (size > 0)
        NEED(bytes);
    io_file *file;
    TRY(io_file_create(&file, path, err));
    attsvm_status status = io_file_write(file, bytes, size, err);
    if (status == ATTSVM_OK)
        return io_file_commit(file, err);
    io_file_abandon(file);
    return status;
}
