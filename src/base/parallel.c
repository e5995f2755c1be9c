/*
 * Parallel loops whose results do not depend on the number of threads.  The size of the work alone
 * determines its blocks; one thread computes a block; partial sums are added in the order of
 * blocks.
 */
#include "base/base.h"

#include <limits.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sched.h>
#endif

enum { MOST_BLOCKS = 64 };

double base_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

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

enum { MOST_THREADS = 4096 };

attsvm_status base_check_threads(int64_t threads, attsvm_error *err)
{
    if (threads < 0 || threads > MOST_THREADS)
        return fail(err, ATTSVM_E_ARG, "threads = %" PRId64 " is not in 0..%d", threads,
                    MOST_THREADS);
    return ATTSVM_OK;
}

int base_threads(int64_t setting)
{
    if (setting <= 0)
        return base_cores();
    return setting < MOST_THREADS ? (int)setting : MOST_THREADS;
}

/*
 * How many threads?  Waking a thread takes some microseconds, and if other programs occupy the
 * cores, a thread may be suspended for milliseconds within a block while all others wait for it.
 * Therefore each calling thread records, for every kind of loop, its processor time and whether its
 * threads ran in parallel:
 *
 *   below 2 grain_seconds of work     the caller works alone;
 *   below long_seconds of work        a thread for each grain_seconds, but half as many as last
 *                                     time if the loop took longer than half of them would have
 *                                     needed (processor time < threads/2 * time), for a pause that
 *                                     doubles each time a new trial ends in the same way;
 *   otherwise, and the first time     all threads: running threads take the blocks of suspended
 *                                     ones.
 *
 * If a loop takes the caller longer than expected, the helpers join after all.
 */
static const double grain_seconds = 25e-6, long_seconds = 20e-3; /* of work                       */
static const double alone_seconds = 100e-6;                      /* before a small loop is shared */
static const double window_seconds = 1e-3; /* over which parallelism is measured */
static const double least_pause = 10e-3, most_pause = 0.5;

enum { HISTORY = 64, MEASURE_EVERY = 8 };

typedef struct history {
    base_block_body *body; /* NULL: empty                                             */
    int64_t blocks;
    double work;           /* processor seconds of one loop; 0: unknown                   */
    int limit;             /* number of threads that ran in parallel                      */
    double pause;          /* seconds before more are tried                               */
    double retry;          /* end of the pause; 0: none                                   */
    double wall, work_sum; /* of the loops with `threads` threads since the last decision */
    int threads;
    int64_t loops;
} history;

static _Thread_local history histories[HISTORY];

static history *history_of(base_block_body *body, int64_t blocks)
{
    uint64_t key = (uint64_t)(uintptr_t)body ^ (uint64_t)blocks * UINT64_C(0x9e3779b97f4a7c15);
    history *h = &histories[(key ^ key >> 32 ^ key >> 16 ^ key >> 6) % HISTORY];
    if (h->body != body || h->blocks != blocks)
        *h = (history){ .body = body, .blocks = blocks, .limit = INT_MAX, .pause = least_pause };
    return h;
}

/* Threads for the next loop of this kind, at most `threads`. */
static int choose_threads(history *h, int threads, double now)
{
    if (h->work == 0 || h->work >= long_seconds)
        return threads;
    double by_work = h->work / grain_seconds;
    if (by_work < threads)
        threads = by_work < 1 ? 1 : (int)by_work;
    if (h->limit < threads && now >= h->retry)
        return 2 * h->limit < threads ? 2 * h->limit : threads;
    return h->limit < threads ? h->limit : threads;
}

/* Updates the limit after a loop that took `wall` seconds on several threads. */
static void judge(history *h, int threads, double wall, double now)
{
    if (threads != h->threads) {
        h->threads = threads;
        h->wall = h->work_sum = 0;
    }
    h->wall += wall;
    h->work_sum += h->work;
    if (h->wall < window_seconds)
        return;
    if (h->work_sum < 0.5 * threads * h->wall) {
        h->limit = threads / 2;
        h->retry = now + h->pause;
        h->pause = fmin(2 * h->pause, most_pause);
    } else {
        h->limit = threads > h->limit ? threads : h->limit;
        h->pause = fmax(h->pause / 2, least_pause);
    }
    h->wall = h->work_sum = 0;
}

void base_parallel(int threads, int64_t blocks, base_block_body *body, void *context)
{
    if (threads > blocks)
        threads = (int)blocks;
    if (threads <= 1 || base_inside_block()) {
        for (int64_t b = 0; b < blocks; b++)
            body(context, b, 0);
        return;
    }
    history *h = history_of(body, blocks);
    double start = base_seconds(), now = start;
    int chosen = choose_threads(h, threads, start);
    int64_t done = 0;
    if (chosen == 1) {
        const double alone = h->work < 2 * grain_seconds ? alone_seconds : long_seconds;
        for (; done < blocks && now - start < alone; now = base_seconds())
            body(context, done++, 0);
        h->work = now - start;
        if (done == blocks)
            return;
        chosen = threads;
    }
    base_job job = { .body = body,
                     .context = context,
                     .next = done,
                     .blocks = blocks,
                     .threads = chosen,
                     .measured = h->work == 0 || h->loops++ % MEASURE_EVERY == 0 };
    base_job_run(&job);
    now = base_seconds();
    if (done > 0)
        h->work *= (double)blocks / (double)done;
    else if (job.measured)
        h->work = job.seconds;
    if (done == 0)
        judge(h, chosen, now - start, now);
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
