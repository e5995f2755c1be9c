/* Runs a test once for every kernel set that this processor and this build have. */
#ifndef ATTSVM_KERNEL_SETS_H
#define ATTSVM_KERNEL_SETS_H

#include "unit.h"

#include "la/la.h"

static inline void for_every_set(void (*body)(const la_kernels *kernels))
{
    static const char *const names[] = { "baseline", "avx2", "avx512" };
    const char *first = attsvm_kernels();
    int tried = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (attsvm_kernels_select(names[i], NULL) == ATTSVM_OK) {
            assert_string_equal(attsvm_kernels(), names[i]);
            body(la_active());
            tried++;
        }
    assert_true(tried >= 1);
    assert_int_equal(attsvm_kernels_select(first, NULL), ATTSVM_OK);
}

#endif
