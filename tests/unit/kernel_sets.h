/*
 * Runs a test once for every kernel set that this processor and this build have, and for the plain
 * C of other architectures, in the narrowest and the widest vectors (tests/la).
 */
#ifndef ATTSVM_KERNEL_SETS_H
#define ATTSVM_KERNEL_SETS_H

#include "unit.h"

#include "la/la.h"

extern const la_kernels plain_narrow, plain_wide;

/* Zeros in a block of exactly that size, so that AddressSanitizer sees reads beyond the end. */
static inline void *room(int64_t count, size_t size)
{
    void *memory = calloc(count > 0 ? (size_t)count : 1, size);
    if (!memory)
        abort();
    return memory;
}

static inline double *room_for(int64_t count)
{
    return room(count, sizeof(double));
}

static inline void for_every_set(void (*body)(const la_kernels *kernels))
{
    static const char *const names[] = { "baseline", "avx2", "avx512" };
    const la_kernels *first = la_chosen;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (attsvm_kernels_select(names[i], NULL) == ATTSVM_OK) {
            assert_string_equal(attsvm_kernels(), names[i]);
            body(la_active());
        }
    la_chosen = &plain_narrow;
    body(la_chosen);
    la_chosen = &plain_wide;
    body(la_chosen);
    la_chosen = first;
}

#endif
