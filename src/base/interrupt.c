/* The flag of attsvm_interrupt, one per process. */
#include "base/base.h"

static int interrupted;

void attsvm_interrupt(bool interrupt)
{
    __atomic_store_n(&interrupted, interrupt, __ATOMIC_RELAXED);
}

bool attsvm_interrupted(void)
{
    return __atomic_load_n(&interrupted, __ATOMIC_RELAXED);
}

attsvm_status base_interrupted(attsvm_error *err)
{
    return attsvm_interrupted() ? fail(err, ATTSVM_E_STOPPED, "interrupted") : ATTSVM_OK;
}
