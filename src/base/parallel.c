/*
 * Parallel loops whose results do not depend on the number of threads.  The work is cut into
 * blocks by its size alone; a block is computed by one thread; partial sums are added up in the
 * order of blocks.
 */
#include "base/base.h"

#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

enum { MOST_BLOCKS = 64 };

int base_cores(void)
{
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}

int base_threads(int64_t setting)
{
    return setting > 0 ? (int)setting : base_cores();
}

void base_parallel(int threads, int64_t blocks, base_block_body *body, void *context)
{
    if (threads > blocks)
        threads = (int)blocks;
    if (threads <= 1) {
        for (int64_t b = 0; b < blocks; b++)
            body(context, b, 0);
        return;
    }
    /* one loop "iteration" a worker: the runtime's thread number is not needed, only the
       shared counter, so that the same code runs without OpenMP */
    int64_t next = 0;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int worker = 0; worker < threads; worker++) {
        for (;;) {
            int64_t b = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
            if (b >= blocks)
                break;
            body(context, b, worker);
        }
    }
}

void base_block(int64_t items, int64_t blocks, int64_t block, int64_t *lo, int64_t *hi)
{
    int64_t each = items / blocks, extra = items % blocks;
    *lo = block * each + (block < extra ? block : extra);
    *hi = *lo + each + (block < extra);
}

int64_t base_blocks(int64_t items, int64_t grain)
{
    int64_t blocks = items / (grain > 0 ? grain : 1);
    if (blocks > MOST_BLOCKS)
        return MOST_BLOCKS;
    return blocks < 1 ? 1 : blocks;
}

void base_reduce(double *x, const double *partial, int64_t blocks, int64_t size)
{
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t j = 0; j < size; j++)
            x[j] += partial[b * size + j];
}
