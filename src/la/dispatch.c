/* Chooses the widest kernel table of the processor when the library is loaded. */
#include "la/la.h"

#include <string.h>
#ifdef ATTSVM_X86
#include <cpuid.h>
#endif

const la_kernels *la_chosen = &la_baseline;

#ifdef ATTSVM_X86
/* Uses CPUID: the __builtin_cpu_supports of some compilers does not know F16C. */
static bool has_f16c(void)
{
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static bool has_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
}

static bool has_avx512(void)
{
    return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

__attribute__((constructor)) static void choose(void)
{
    __builtin_cpu_init();
    la_chosen = has_avx512() ? &la_avx512 : has_avx2() ? &la_avx2 : &la_baseline;
}
#endif

const char *attsvm_kernels(void)
{
    return la_chosen->name;
}

attsvm_status attsvm_kernels_select(const char *name, attsvm_error *err)
{
    const la_kernels *found = NULL;
    if (!name)
        return fail(err, ATTSVM_E_ARG, "no name of kernels given");
    if (strcmp(name, la_baseline.name) == 0)
        found = &la_baseline;
#ifdef ATTSVM_X86
    if (strcmp(name, la_avx2.name) == 0 && has_avx2())
        found = &la_avx2;
    if (strcmp(name, la_avx512.name) == 0 && has_avx512())
        found = &la_avx512;
#endif
    if (!found)
        return fail(err, ATTSVM_E_ARG,
                    "kernels \"%s\" are not available in this build or on this processor", name);
    la_chosen = found;
    return ATTSVM_OK;
}
