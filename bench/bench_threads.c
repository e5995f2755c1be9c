/*
 * Does the default number of threads pay?  Training steps with all cores beside those with one
 * thread, n sequences of T=8 tokens, d=16, models p and W; alone, and with a busy loop beside it on
 * every core.  Runs of the two kinds take turns.  Alone, the fastest run of each kind counts: what
 * other programs do to the rest is not ours.  With busy loops the sum of all runs counts.
 *
 *     bench_threads [--rounds R] [--seconds S] [--busy]
 *
 * Prints model, n, microseconds a step with one thread and by default, and the second over the
 * first; bench/threads.sh draws them.
 */
#include "base/base.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CORES = 256 };

static int rounds = 15;
static double seconds = 0.04; /* of a run */
static bool busy;
static pid_t loops[MOST_CORES];

static void check(attsvm_status status, const attsvm_error *err)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "bench_threads: %s\n", err->message);
    exit(3);
}

/* Wall-clock seconds of a run from its start. */
static double run_once(const attsvm_data *data, attsvm_model_kind model, int64_t threads,
                       int64_t iters)
{
    attsvm_train_settings settings;
    attsvm_train *train;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.model = (int32_t)model;
    settings.iters = iters;
    settings.threads = threads;
    check(attsvm_train_create(&train, data, &settings, NULL, NULL, &err), &err);
    check(attsvm_train_run(train, NULL, NULL, &err), &err);
    double taken = attsvm_train_describe(train).seconds;
    attsvm_train_free(train);
    return taken;
}

static void measure(attsvm_model_kind model, const char *name, int64_t n)
{
    attsvm_generate_settings settings;
    attsvm_data *data;
    attsvm_error err;
    attsvm_generate_settings_init(&settings);
    settings.kind = ATTSVM_GAUSS;
    settings.n = n;
    settings.T = 8;
    settings.d = 16;
    settings.queries = 1;
    check(attsvm_data_generate(&data, &settings, &err), &err);
    int64_t iters = 4;
    while (iters < 1000000 && run_once(data, model, 1, iters) < seconds)
        iters *= 2;
    double best[2] = { INFINITY, INFINITY }, sum[2] = { 0, 0 };
    for (int k = 0; k < 2 * rounds; k++) {
        double taken = run_once(data, model, k % 2 == 0, iters);
        best[k % 2] = taken < best[k % 2] ? taken : best[k % 2];
        sum[k % 2] += taken / rounds;
    }
    const double *taken = busy ? sum : best; /* [0]: one thread */
    printf("%s %8" PRId64 " %12.3f %12.3f %8.3f\n", name, n, 1e6 * taken[0] / (double)iters,
           1e6 * taken[1] / (double)iters, taken[1] / taken[0]);
    fflush(stdout);
    attsvm_data_free(data);
}

static void end_loops(void)
{
    for (int k = 0; k < MOST_CORES && loops[k] > 0; k++) {
        kill(loops[k], SIGKILL);
        waitpid(loops[k], NULL, 0);
    }
}

/* One busy loop on each core of this process. */
static void start_loops(void)
{
    atexit(end_loops);
    for (int k = 0; k < base_cores() && k < MOST_CORES; k++) {
        pid_t child = fork();
        if (child == 0)
            for (volatile unsigned count = 0;; count++) {
            }
        loops[k] = child;
    }
}

int main(int argc, char **argv)
{
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--busy") == 0) {
            busy = true;
        } else if (strcmp(argv[k], "--rounds") == 0 && k + 1 < argc) {
            rounds = (int)strtol(argv[++k], NULL, 10);
        } else if (strcmp(argv[k], "--seconds") == 0 && k + 1 < argc) {
            seconds = strtod(argv[++k], NULL);
        } else {
            fprintf(stderr, "usage: bench_threads [--rounds R] [--seconds S] [--busy]\n");
            return 2;
        }
    }
    if (busy)
        start_loops();
    printf("# model n us_one_thread us_default default/one; %d cores%s\n", base_cores(),
           busy ? ", a busy loop on each" : "");
    for (int64_t n = 10; n <= 100000; n *= 10) {
        for (int64_t m = 1; m <= (n < 100000 ? 3 : 1); m += 2) { /* 10, 30, 100, ... */
            measure(ATTSVM_MODEL_P, "p", m * n);
            measure(ATTSVM_MODEL_W, "W", m * n);
        }
    }
    return 0;
}
