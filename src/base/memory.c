/* Memory: checked allocation, blocks laid out in pieces, huge pages. */
#include "base/base.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    PIECE_ALIGNMENT = 64, /* a cache line, and the widest vector register                */
    PAGE = 1 << 12,       /* alignment of large pieces: processors prefetch within pages */
    HUGE_PAGE = 1 << 21
};

static size_t round_up(size_t bytes, size_t alignment)
{
    return (bytes + alignment - 1) & ~(alignment - 1);
}

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
    size_t bytes, begin, end;
    if (!base_multiply(count, size, &bytes) || !base_add(bytes, PIECE_ALIGNMENT, &end) ||
        !base_add(a->used, PAGE, &begin) || !base_add(begin, end, &end)) {
        a->overflow = true;
        return NULL;
    }
    begin = bytes < HUGE_PAGE ? a->used : round_up(a->used, PAGE);
    a->used = begin + round_up(bytes, PIECE_ALIGNMENT);
    return a->base ? a->base + begin : NULL;
}

void base_in_huge_pages(void *memory, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    char *from = memory, *to = from + bytes;
    const size_t after = (size_t)((uintptr_t)to % HUGE_PAGE);
    const size_t before = (size_t)(-(uintptr_t)from % HUGE_PAGE);
    if (bytes >= before + after + HUGE_PAGE) /* a hint: failure does not matter */
        (void)madvise(from + before, bytes - before - after, MADV_HUGEPAGE);
#else
    (void)memory;
    (void)bytes;
#endif
}

/* Returns the allocated memory, or an error with the number of bytes. */
static attsvm_status hand_out(void *out_pointer, void *memory, bool fits, size_t bytes,
                              const char *what, attsvm_error *err)
{
    memcpy(out_pointer, &memory, sizeof memory);
    if (!fits)
        return fail(err, ATTSVM_E_MEMORY, "%s: its size in bytes does not fit this machine", what);
    if (!memory)
        return fail(err, ATTSVM_E_MEMORY, "%s: no memory for %zu bytes", what, bytes);
    base_in_huge_pages(memory, bytes);
    return ATTSVM_OK;
}

attsvm_status base_reserve(void *out_pointer, size_t bytes, const char *what, attsvm_error *err)
{
    const size_t alignment = bytes < HUGE_PAGE ? PIECE_ALIGNMENT : HUGE_PAGE;
    const bool fits = bytes <= PTRDIFF_MAX - HUGE_PAGE;
    void *memory = NULL;
    if (fits)
        memory = aligned_alloc(alignment, round_up(bytes ? bytes : 1, alignment));
    return hand_out(out_pointer, memory, fits, bytes, what, err);
}

attsvm_status base_allocate(void *out_pointer, size_t count, size_t size, const char *what,
                            attsvm_error *err)
{
    void *memory = NULL;
    size_t bytes;
    const bool fits = base_multiply(count, size, &bytes) && bytes <= PTRDIFF_MAX;
    if (fits)
        memory = calloc(bytes ? bytes : 1, 1);
    return hand_out(out_pointer, memory, fits, bytes, what, err);
}

attsvm_status base_arena_reserve(arena *a, const char *what, attsvm_error *err)
{
    TRY(base_reserve(&a->base, a->overflow ? SIZE_MAX : a->used, what, err));
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

uint64_t base_digest(uint64_t number, const void *bytes, size_t size)
{
    for (size_t k = 0; k < size; k++)
        number = (number ^ ((const unsigned char *)bytes)[k]) * UINT64_C(1099511628211);
    return number;
}
