/*
 * Part of every cmocka program: ATTSVM_TEST_KERNELS names the kernel set that its tests run with,
 * so that tools/test can run them with each.  Default: the set that the library chooses.
 */
#include "attsvm/attsvm.h"

#include <stdio.h>
#include <stdlib.h>

__attribute__((constructor)) static void choose(void)
{
    const char *name = getenv("ATTSVM_TEST_KERNELS");
    attsvm_error err;
    if (name && attsvm_kernels_select(name, &err) != ATTSVM_OK) {
        fprintf(stderr, "ATTSVM_TEST_KERNELS: %s\n", err.message);
        exit(1);
    }
}
