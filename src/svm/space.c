/* Memory that the solves of a batch use one after the other. */
#include "svm/svm.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64, LARGEST = 1 << 24 }; /* bytes that are kept between solves, at most */

void svm_space_open(svm_space *space)
{
    if (!space)
        return;
    if (space->wanted > space->size && space->wanted <= LARGEST) {
        size_t size = (space->wanted + space->wanted / 4 + LINE) / LINE * LINE;
        free(space->base);
        space->base = aligned_alloc(LINE, size);
        space->size = space->base ? size : 0;
    }
    space->used = space->wanted = 0;
}

void svm_space_free(svm_space *space)
{
    free(space->base);
    *space = (svm_space){ 0 };
}

/* A piece of the block, or NULL. */
static void *cut(svm_space *space, size_t bytes)
{
    if (!space || bytes > LARGEST)
        return NULL;
    bytes = (bytes + LINE) / LINE * LINE;
    space->wanted += bytes;
    if (bytes > space->size - space->used)
        return NULL;
    char *piece = space->base + space->used;
    space->used += bytes;
    return piece;
}

attsvm_status svm_space_arena(svm_space *space, arena *a, const char *what, attsvm_error *err)
{
    a->base = a->overflow ? NULL : cut(space, a->used);
    if (!a->base)
        return base_arena_reserve(a, what, err);
    a->used = 0;
    return ATTSVM_OK;
}

attsvm_status svm_space_allocate(svm_space *space, void *out_pointer, size_t count, size_t size,
                                 const char *what, attsvm_error *err)
{
    size_t bytes;
    void *piece = base_multiply(count, size, &bytes) ? cut(space, bytes) : NULL;
    if (!piece)
        return base_allocate(out_pointer, count, size, what, err);
    memset(piece, 0, bytes);
    memcpy(out_pointer, &piece, sizeof piece);
    return ATTSVM_OK;
}

void svm_space_release(svm_space *space, void *pointer)
{
    const char *at = pointer;
    if (!space || !at || at < space->base || at >= space->base + space->size)
        free(pointer);
}
