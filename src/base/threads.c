/*
 * Helper threads of this process, started on first use.  An idle helper polls for work for a few
 * microseconds and then sleeps, so that it does not occupy a core that other programs need.  A
 * child process after fork has no helpers and starts its own.
 */
#include "base/base.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>

static const double spin_seconds = 20e-6; /* polling before sleeping                 */
static const double retry_seconds = 1;    /* after a thread could not be created     */
enum { CHECKS = 16 };                     /* polls between two readings of the clock */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, done;
    base_job *jobs;  /* that helpers may join                     */
    int helpers;     /* threads                                   */
    int asleep;      /* of these, waiting for `work`              */
    unsigned posted; /* jobs so far, modulo 2^32; helpers poll it */
    double retry;    /* when a thread may be created again        */
} pool = { .lock = PTHREAD_MUTEX_INITIALIZER,
           .work = PTHREAD_COND_INITIALIZER,
           .done = PTHREAD_COND_INITIALIZER };

static _Thread_local bool inside; /* this thread is computing a block */

bool base_inside_block(void)
{
    return inside;
}

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void pause_a_little(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Polls for spin_seconds until *value equals `number`, or (`change`) differs from it. */
static void look_out(const unsigned *value, unsigned number, bool change)
{
    const double end = base_seconds() + spin_seconds;
    do {
        for (int k = 0; k < CHECKS; k++) {
            if ((__atomic_load_n(value, __ATOMIC_ACQUIRE) == number) != change)
                return;
            pause_a_little();
        }
    } while (base_seconds() < end);
}

/* Computes blocks of the job until none is left; returns the processor time if measured. */
static double take_blocks(base_job *job, int worker)
{
    const double start = job->measured ? cpu_seconds() : 0;
    for (;;) {
        int64_t block = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED);
        if (block >= job->blocks)
            break;
        job->body(job->context, block, worker);
    }
    return job->measured ? cpu_seconds() - start : 0;
}

/* A job that still takes helpers and has blocks for them. */
static base_job *open_job(void)
{
    base_job *job = pool.jobs;
    while (job && (job->workers == job->threads ||
                   __atomic_load_n(&job->next, __ATOMIC_RELAXED) >= job->blocks))
        job = job->other;
    return job;
}

static void *help(void *unused)
{
    (void)unused;
    inside = true;
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        base_job *job = open_job();
        if (job) {
            int worker = job->workers++;
            pthread_mutex_unlock(&pool.lock);
            double seconds = take_blocks(job, worker);
            pthread_mutex_lock(&pool.lock);
            job->seconds += seconds;
            /* the caller owns the job and may free it once the lock is released */
            if (__atomic_add_fetch(&job->finished, 1, __ATOMIC_RELEASE) + 1 ==
                (unsigned)job->workers)
                pthread_cond_broadcast(&pool.done);
            continue;
        }
        unsigned posted = pool.posted;
        pthread_mutex_unlock(&pool.lock);
        look_out(&pool.posted, posted, true);
        pthread_mutex_lock(&pool.lock);
        if (pool.posted == posted) {
            pool.asleep++;
            pthread_cond_wait(&pool.work, &pool.lock);
            pool.asleep--;
        }
    }
    return NULL;
}

static void before_fork(void)
{
    pthread_mutex_lock(&pool.lock);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&pool.lock);
}

/* After fork the child has only the forking thread. */
static void after_fork_in_child(void)
{
    pool.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    pool.work = pool.done = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    pool.jobs = NULL;
    pool.helpers = pool.asleep = 0;
    pool.retry = 0;
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Starts helpers up to `wanted`, or as many as the system allows; they block all signals. */
static void make_helpers(int wanted)
{
    if (pool.helpers >= wanted || (pool.retry > 0 && base_seconds() < pool.retry))
        return;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool.retry = 0;
    while (pool.helpers < wanted && pool.retry == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, help, NULL) == 0) {
            pthread_detach(thread);
            pool.helpers++;
        } else {
            pool.retry = base_seconds() + retry_seconds;
        }
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void post(base_job *job)
{
    pthread_mutex_lock(&pool.lock);
    make_helpers(job->threads - 1);
    job->other = pool.jobs;
    pool.jobs = job;
    __atomic_store_n(&pool.posted, pool.posted + 1, __ATOMIC_RELEASE);
    int wake = pool.asleep < job->threads - 1 ? pool.asleep : job->threads - 1;
    pthread_mutex_unlock(&pool.lock);
    for (int k = 0; k < wake; k++)
        pthread_cond_signal(&pool.work);
}

/* Removes the job from the list and waits for the helpers that have joined it. */
static void withdraw(base_job *job)
{
    pthread_mutex_lock(&pool.lock);
    base_job **link = &pool.jobs;
    while (*link != job)
        link = &(*link)->other;
    *link = job->other;
    const unsigned joined = (unsigned)job->workers - 1;
    if (job->finished != joined) {
        pthread_mutex_unlock(&pool.lock);
        look_out(&job->finished, joined, false);
        pthread_mutex_lock(&pool.lock);
    }
    while (job->finished != joined)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

void base_job_run(base_job *job)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    job->workers = 1;
    job->finished = 0;
    post(job);
    inside = true;
    double seconds = take_blocks(job, 0);
    inside = false;
    withdraw(job);
    job->seconds += seconds;
}
