/*
 * Preloaded (LD_PRELOAD) into a command: allocation number FAIL_AT returns NULL, and with FAIL_ON=1
 * all that follow.  FAIL_COUNT names a file for the number of allocations.  Allocations of the
 * loader and of the start of the process do not count.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static long calls, fail_at = -1, fail_on;

__attribute__((constructor)) static void start(void)
{
    const char *at = getenv("FAIL_AT"), *on = getenv("FAIL_ON");
    calls = 0;
    fail_at = at ? atol(at) : -1;
    fail_on = on ? atol(on) : 0;
}

__attribute__((destructor)) static void end(void)
{
    const char *path = getenv("FAIL_COUNT");
    const long total = calls;
    fail_at = -1;
    FILE *file = path ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%ld\n", total);
        fclose(file);
    }
}

static int fails(void)
{
    const long number = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (fail_at < 0 || number < fail_at || (number > fail_at && !fail_on))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (fails())
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out ? 0 : ENOMEM;
}
