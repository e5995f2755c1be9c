/* The twice-as-precise kernels that go with the kernel table in use. */
#include "la/la.h"

const la_exact *la_exact_active(void)
{
#ifdef ATTSVM_X86
    if (la_active() == &la_avx2)
        return &la_exact_avx2;
    if (la_active() == &la_avx512)
        return &la_exact_avx512;
#endif
    return &la_exact_baseline;
}
