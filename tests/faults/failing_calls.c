/*
 * Preloaded (LD_PRELOAD) into a command: system call number FAIL_AT of those named in FAIL_CALL
 * (open, read, write, fsync, close, rename, mmap, stat; all of them without it) fails with the
 * number FAIL_ERROR, once. FAIL_SHORT=1: a read or write moves one byte instead.  FAIL_COUNT names
 * a file for the number of calls. Only calls on files below FAIL_UNDER count: those of the loader
 * and of libraries do not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static long calls, fail_at = -1;
static int error, is_short;
static char under[4096], kind[16];

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("FAIL_AT"), *number = getenv("FAIL_ERROR"),
               *folder = getenv("FAIL_UNDER");
    const char *name = getenv("FAIL_CALL"), *one = getenv("FAIL_SHORT");
    fail_at = at ? atol(at) : -1;
    error = number ? atoi(number) : EIO;
    is_short = one != NULL;
    snprintf(under, sizeof under, "%s", folder ? folder : "/nowhere");
    snprintf(kind, sizeof kind, "%s", name ? name : "");
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_COUNT");
    fail_at = -1;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", calls);
        fclose(file);
    }
}

static int fails(const char *name, const char *path)
{
    char full[4096];
    if (*kind && strcmp(kind, name) != 0)
        return 0;
    if (path[0] != '/') { /* the command works in `under` */
        snprintf(full, sizeof full, "%.2000s/%.2000s", under, path);
        path = full;
    }
    if (strncmp(path, under, strlen(under)) != 0 || strstr(path, "/count"))
        return 0;
    if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) != fail_at)
        return 0;
    errno = error;
    return 1;
}

static int fails_at(const char *name, int fd)
{
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = syscall(SYS_readlink, link, path, sizeof path - 1);
    if (fd < 3 || length < 0)
        return 0;
    path[length] = 0;
    return fails(name, path);
}

static int open_file(int folder, const char *path, int flags, mode_t mode)
{
    return fails("open", path) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, flags);                                                                     \
        const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;              \
        va_end(list);                                                                              \
        return open_file(AT_FDCWD, path, flags, mode);                                             \
    }
OPEN(open)
OPEN(open64)

#define NEXT(result, name, ...) ((result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

FILE *fopen(const char *path, const char *mode)
{
    return fails("open", path) ? NULL
                               : NEXT(FILE *, "fopen", const char *, const char *)(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    return fails("open", path) ? NULL
                               : NEXT(FILE *, "fopen64", const char *, const char *)(path, mode);
}

size_t fread(void *to, size_t size, size_t count, FILE *file)
{
    return fails_at("read", fileno(file))
               ? 0
               : NEXT(size_t, "fread", void *, size_t, size_t, FILE *)(to, size, count, file);
}

ssize_t read(int fd, void *to, size_t size)
{
    const int fail = fails_at("read", fd);
    return fail && !is_short ? -1 : syscall(SYS_read, fd, to, fail && size > 1 ? 1 : size);
}

ssize_t pread(int fd, void *to, size_t size, off_t at)
{
    const int fail = fails_at("read", fd);
    return fail && !is_short ? -1 : syscall(SYS_pread64, fd, to, fail && size > 1 ? 1 : size, at);
}

ssize_t write(int fd, const void *from, size_t size)
{
    const int fail = fails_at("write", fd);
    return fail && !is_short ? -1 : syscall(SYS_write, fd, from, fail && size > 1 ? 1 : size);
}

ssize_t pwrite(int fd, const void *from, size_t size, off_t at)
{
    const int fail = fails_at("write", fd);
    return fail && !is_short ? -1
                             : syscall(SYS_pwrite64, fd, from, fail && size > 1 ? 1 : size, at);
}

int fsync(int fd)
{
    return fails_at("fsync", fd) ? -1 : (int)syscall(SYS_fsync, fd);
}

int close(int fd)
{
    const int fail = fails_at("close", fd), status = (int)syscall(SYS_close, fd);
    errno = fail ? error : errno;
    return fail ? -1 : status;
}

int rename(const char *from, const char *to)
{
    return fails("rename", to) ? -1 : (int)syscall(SYS_rename, from, to);
}

int linkat(int from, const char *old, int to, const char *path, int flags)
{
    return fails("rename", path) ? -1 : (int)syscall(SYS_linkat, from, old, to, path, flags);
}

int fstat(int fd, struct stat *out)
{
    return fails_at("stat", fd) ? -1 : (int)syscall(SYS_fstat, fd, out);
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list list;
    va_start(list, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, mode_t) : 0;
    va_end(list);
    return open_file(folder, path, flags, mode);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (fd >= 0 && fails_at("mmap", fd))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

/* The names that programs with 64-bit file offsets use. */
int openat64(int folder, const char *path, int flags, ...) __attribute__((alias("openat")));
int fstat64(int fd, struct stat64 *out) __attribute__((alias("fstat")));
ssize_t pread64(int fd, void *to, size_t size, off64_t at) __attribute__((alias("pread")));
ssize_t pwrite64(int fd, const void *from, size_t size, off64_t at)
    __attribute__((alias("pwrite")));
void *mmap64(void *at, size_t size, int protection, int flags, int fd, off64_t offset)
    __attribute__((alias("mmap")));
