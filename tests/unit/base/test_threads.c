/* Helper threads: small loops, busy cores, fork, threads that cannot be created, unloading. */
#include "unit.h"

#include "base/base.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BLOCKS_HERE = 200 };

/* A loop whose blocks take some time and write their results. */
typedef struct loop {
    int64_t turns; /* of each block */
    double sum[MOST_BLOCKS_HERE];
    int worker[MOST_BLOCKS_HERE];
    int nested; /* threads of a loop within each block */
} loop;

static void count_one(void *context, int64_t block, int worker)
{
    (void)worker;
    __atomic_fetch_add((int64_t *)context, block + 1, __ATOMIC_RELAXED);
}

static void work(void *context, int64_t block, int worker)
{
    loop *l = context;
    double sum = 0;
    int64_t inner = 0;
    for (int64_t k = 0; k < l->turns; k++)
        sum += 1 / (double)(block + k + 1);
    if (l->nested > 0)
        base_parallel(l->nested, 4, count_one, &inner);
    l->sum[block] = sum + (double)inner;
    l->worker[block] = worker;
}

/* Whether every block was done, with the sums of one thread. */
static bool runs_well(int threads, int64_t blocks, int64_t turns, int nested)
{
    loop one = { .turns = turns, .nested = nested }, many = one;
    for (int64_t b = 0; b < blocks; b++)
        work(&one, b, 0);
    base_parallel(threads, blocks, work, &many);
    for (int64_t b = 0; b < blocks; b++)
        if (many.worker[b] < 0 || many.worker[b] >= threads)
            return false;
    return memcmp(one.sum, many.sum, (size_t)blocks * sizeof *one.sum) == 0;
}

static void loops_give_the_same_bytes_on_any_threads(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 6; threads++)
        for (int64_t blocks = 0; blocks < MOST_BLOCKS_HERE; blocks += 1 + blocks / 3)
            assert_true(runs_well(threads, blocks, 2000, 0));
    for (int64_t turns = 1; turns < 4000000; turns *= 8) /* small and large, one kind of loop */
        assert_true(runs_well(3, 7, turns, 0));
}

static void a_loop_within_a_loop_ends(void **state)
{
    (void)state;
    for (int k = 0; k < 50; k++)
        assert_true(runs_well(3, 20, 1000, 3));
}

static void *call_often(void *failed)
{
    for (int k = 0; k < 200; k++)
        if (!runs_well(2 + k % 3, 9, 3000, 0))
            __atomic_store_n((bool *)failed, true, __ATOMIC_RELAXED);
    return NULL;
}

static void several_threads_may_call_at_once(void **state)
{
    (void)state;
    pthread_t callers[4];
    bool failed = false;
    for (int k = 0; k < 4; k++)
        assert_int_equal(pthread_create(&callers[k], NULL, call_often, &failed), 0);
    for (int k = 0; k < 4; k++)
        pthread_join(callers[k], NULL);
    assert_false(failed);
}

static void small_loops_stay_on_the_calling_thread(void **state)
{
    (void)state;
    loop l = { .turns = 1 };
    int64_t elsewhere = 0;
    for (int k = 0; k < 1000; k++) {
        base_parallel(2, 11, work, &l);
        for (int b = 0; b < 11; b++)
            elsewhere += k >= 10 && l.worker[b] != 0; /* the first ones are tried */
    }
    assert_true(elsewhere < 100); /* a busy machine may make one look large */
}

static void helpers_sleep_when_there_is_nothing_to_do(void **state)
{
    (void)state;
    assert_true(runs_well(4, 100, 20000, 0));
    clock_t before = clock();
    nanosleep(&(struct timespec){ .tv_nsec = 200000000 }, NULL);
    assert_true((double)(clock() - before) < 0.02 * CLOCKS_PER_SEC);
}

/* ------------------------------------------------------------------------- fork */

/* 0 if the child's loops were right; the alarm ends a child that hangs. */
static int in_child(int (*test)(void))
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(600);
        _exit(test());
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int use_threads(void)
{
    for (int k = 0; k < 20; k++)
        if (!runs_well(3, 30 + k, 20000, 0))
            return 1;
    return 0;
}

static int use_threads_in_a_grandchild(void)
{
    return use_threads() + in_child(use_threads);
}

static void a_child_of_fork_does_not_hang(void **state)
{
    (void)state;
    assert_int_equal(use_threads(), 0);
    assert_int_equal(in_child(use_threads), 0);
    assert_int_equal(in_child(use_threads_in_a_grandchild), 0);
    assert_int_equal(use_threads(), 0);
}

static void a_child_forked_while_others_work_does_not_hang(void **state)
{
    (void)state;
    pthread_t caller;
    bool failed = false;
    assert_int_equal(pthread_create(&caller, NULL, call_often, &failed), 0);
    for (int k = 0; k < 20; k++)
        assert_int_equal(in_child(use_threads), 0);
    pthread_join(caller, NULL);
    assert_false(failed);
}

/* ---------------------------------------------------------------- without threads */

static int without_stacks(void)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstacksize(&attributes, (size_t)1 << 60) != 0 ||
        pthread_setattr_default_np(&attributes) != 0)
        return 2;
    return use_threads();
}

static void threads_that_cannot_be_created_mean_fewer(void **state)
{
    (void)state;
    assert_int_equal(in_child(without_stacks), 0);
}

/* ------------------------------------------------------------------- busy cores */

static double seconds_of_loops(int threads)
{
    double start = base_seconds();
    for (int k = 0; k < 1000; k++) {
        loop l = { .turns = 4000 };
        base_parallel(threads, 16, work, &l);
    }
    return base_seconds() - start;
}

/* Threads that spin, or wait for one that stands still, take ten times as long here. */
static void busy_cores_do_not_make_two_threads_lose(void **state)
{
    (void)state;
    enum { LOOPS = 4 };
    pid_t busy[LOOPS];
    double ratio = INFINITY;
    for (int k = 0; k < LOOPS; k++) {
        busy[k] = fork();
        assert_true(busy[k] >= 0);
        if (busy[k] == 0) {
            alarm(600);
            for (volatile unsigned count = 0;; count++) {
            }
        }
    }
    for (int attempt = 0; attempt < 10 && ratio > 4; attempt++) {
        double one = seconds_of_loops(1), two = seconds_of_loops(2);
        ratio = fmin(ratio, two / one);
    }
    for (int k = 0; k < LOOPS; k++) {
        kill(busy[k], SIGKILL);
        waitpid(busy[k], NULL, 0);
    }
    if (ratio > 4)
        fail_msg("two threads took %.3g times as long as one", ratio);
}

/* -------------------------------------------------------------------- unloading */

/* Helpers sleep in the library's code, so it must stay loaded when a program unloads it. */
static void the_shared_library_may_be_closed(void **state)
{
    (void)state;
    void *library = dlopen(ATTSVM_SHARED, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fail_msg("%s", dlerror());
    void (*init)(attsvm_generate_settings *);
    attsvm_status (*generate)(attsvm_data **, const attsvm_generate_settings *, attsvm_error *);
    void (*release)(attsvm_data *);
    *(void **)&init = dlsym(library, "attsvm_generate_settings_init");
    *(void **)&generate = dlsym(library, "attsvm_data_generate");
    *(void **)&release = dlsym(library, "attsvm_data_free");
    assert_true(init && generate && release);
    attsvm_generate_settings settings;
    attsvm_data *data;
    attsvm_error err;
    init(&settings);
    settings.n = 2000;
    settings.threads = 3;
    assert_ok(generate(&data, &settings, &err), err);
    release(data);
    assert_int_equal(dlclose(library), 0);
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
    assert_non_null(dlopen(ATTSVM_SHARED, RTLD_NOW | RTLD_NOLOAD)); /* it is still loaded */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_that_cannot_be_created_mean_fewer), /* before any exist */
        cmocka_unit_test(loops_give_the_same_bytes_on_any_threads),
        cmocka_unit_test(a_loop_within_a_loop_ends),
        cmocka_unit_test(several_threads_may_call_at_once),
        cmocka_unit_test(small_loops_stay_on_the_calling_thread),
        cmocka_unit_test(helpers_sleep_when_there_is_nothing_to_do),
        cmocka_unit_test(a_child_of_fork_does_not_hang),
        cmocka_unit_test(a_child_forked_while_others_work_does_not_hang),
        cmocka_unit_test(busy_cores_do_not_make_two_threads_lose),
        cmocka_unit_test(the_shared_library_may_be_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
