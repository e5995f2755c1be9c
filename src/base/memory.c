#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PIECE_ALIGNMENT = 64, /* a cache line, and the widest vector register */
    HUGE_PAGE = 1 << 21
};

bool base_multiply(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b)
        return false;
    *out = a * b;
    return true;
}

bool base_add(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b)
        return false;
    *out = a + b;
    return true;
}

bool base_shape_count(const int64_t *shape, int ndim, int64_t *out)
{
    int64_t count = 1;
    bool empty = false, fits = true;
    for (int k = 0; k < ndim; k++) {
        if (shape[k] < 0)
            return false;
        if (shape[k] == 0)
            empty = true;
        else if (count > INT64_MAX / shape[k])
            fits = false;
        else
            count *= shape[k];
    }
    if (!fits)
        return false;
    *out = empty ? 0 : count;
    return true;
}

void *base_take(arena *a, size_t count, size_t size)
{
    size_t bytes, end;
    if (!base_multiply(count, size, &bytes) || !base_add(bytes, PIECE_ALIGNMENT - 1, &bytes) ||
        !base_add(a->used, bytes & ~(size_t)(PIECE_ALIGNMENT - 1), &end)) {
        a->overflow = true;
        return NULL;
    }
    void *piece = a->base ? a->base + a->used : NULL;
    a->used = end;
    return piece;
}

void base_in_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    char *from = memory, *to = from + bytes;
    const size_t after = (size_t)((uintptr_t)to % HUGE_PAGE);
    const size_t before = (size_t)(-(uintptr_t)from % HUGE_PAGE);
    if (bytes >= before + after + HUGE_PAGE) /* advice only: nothing depends on it */
        (void)madvise(from + before, bytes - before - after, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

attsvm_status base_arena_reserve(arena *a, const char *what, attsvm_error *err)
{
    size_t bytes = a->used ? a->used : PIECE_ALIGNMENT;
    if (a->overflow || bytes > PTRDIFF_MAX)
        return fail(err, ATTSVM_E_MEMORY, "%s: its size in bytes does not fit this machine", what);
    a->base = aligned_alloc(PIECE_ALIGNMENT, bytes);
    if (!a->base)
        return fail(err, ATTSVM_E_MEMORY, "%s: no memory for %zu bytes", what, bytes);
    base_in_huge_pages(a->base, bytes);
    a->used = 0;
    return ATTSVM_OK;
}

attsvm_status base_arena_allocate(arena *a, const char *what, attsvm_error *err)
{
    size_t bytes = a->used;
    TRY(base_arena_reserve(a, what, err));
    memset(a->base, 0, bytes);
    return ATTSVM_OK;
}

void *base_from(void *memory, int64_t first, size_t size)
{
    uintptr_t at = (uintptr_t)memory;
    if (!memory)
        return NULL;
    at -= (uintptr_t)first * size;
    memcpy(&memory, &at, sizeof memory);
    return memory;
}

attsvm_status base_allocate(void *out_pointer, size_t count, size_t size, const char *what,
                            attsvm_error *err)
{
    void *memory = NULL;
    size_t bytes;
    bool fits = base_multiply(count, size, &bytes) && bytes <= PTRDIFF_MAX;
    if (fits)
        memory = calloc(bytes ? bytes : 1, 1);
    if (memory)
        base_in_huge_pages(memory, bytes);
    memcpy(out_pointer, &memory, sizeof memory);
    if (!fits)
        return fail(err, ATTSVM_E_MEMORY, "%s: its size in bytes does not fit this machine", what);
    if (!memory)
        return fail(err, ATTSVM_E_MEMORY, "%s: no memory for %zu bytes", what, bytes);
    return ATTSVM_OK;
}

uint64_t base_digest(uint64_t number, const void *bytes, size_t size)
{
    for (size_t k = 0; k < size; k++)
        number = (number ^ ((const unsigned char *)bytes)[k]) * UINT64_C(1099511628211);
    return number;
}
