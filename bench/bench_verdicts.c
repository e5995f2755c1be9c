/*
 * Tiny verdicts a second: data set, 2000 normalised steps of model W, Frobenius SVM of the selected
 * tokens, classification; n=6, T=8, d=10 on the sphere (the setting of ts-local).
 *
 *     bench_verdicts [--json] [--runs N] [--threads N] [--cpu]
 *
 * Everything is counted, making and freeing of data sets and runs too.  With --cpu the time that
 * the process was at work, for a busy machine; then runs a second are those of one core.
 */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CHUNK = 64 }; /* runs in memory at a time */

static bool cpu;

static double now(void)
{
    struct timespec t;
    if (!cpu)
        return base_seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void check(attsvm_status status, const attsvm_error *err)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "bench_verdicts: %s\n", err->message);
    exit(3);
}

typedef struct totals {
    int64_t kinds[ATTSVM_VERDICT_NOT_LOCAL + 1];
    double correlation;
} totals;

static void judge_chunk(int64_t first, int64_t count, int64_t threads, totals *sum)
{
    attsvm_data *data[CHUNK];
    attsvm_train *runs[CHUNK];
    attsvm_verdict verdicts[CHUNK];
    attsvm_generate_settings generate;
    attsvm_train_settings train;
    attsvm_error err;
    attsvm_generate_settings_init(&generate);
    attsvm_train_settings_init(&train);
    generate.kind = ATTSVM_SPHERE;
    generate.n = 6;
    generate.T = 8;
    generate.d = 10;
    generate.queries = 1;
    generate.dtype = ATTSVM_F64;
    generate.threads = train.threads = 1;
    train.model = ATTSVM_MODEL_W;
    train.iters = 2000;
    train.init = "uniform:0.31622776601683794";
    for (int64_t k = 0; k < count; k++) {
        generate.seed = train.seed = first + k;
        check(attsvm_data_generate(&data[k], &generate, &err), &err);
        check(attsvm_train_create(&runs[k], data[k], &train, NULL, NULL, &err), &err);
    }
    check(attsvm_train_run_batch(runs, count, threads, NULL, NULL, &err), &err);
    for (int64_t k = 0; k < count; k++) {
        check(attsvm_verdict_compute(&verdicts[k], runs[k], NULL, NULL, NULL, NULL, &err), &err);
        sum->kinds[verdicts[k].kind]++;
        sum->correlation += verdicts[k].correlation;
        attsvm_train_free(runs[k]);
        attsvm_data_free(data[k]);
    }
}

int main(int argc, char **argv)
{
    int64_t count = 1000, threads = 0;
    bool json = false;
    totals sum = { { 0 }, 0 };
    for (int k = 1; k < argc; k++) {
        bool more = k + 1 < argc;
        json |= strcmp(argv[k], "--json") == 0;
        cpu |= strcmp(argv[k], "--cpu") == 0;
        if (strcmp(argv[k], "--runs") == 0 && more)
            count = atoll(argv[++k]);
        else if (strcmp(argv[k], "--threads") == 0 && more)
            threads = atoll(argv[++k]);
    }
    if (count < 1 || threads < 0) {
        fprintf(stderr, "usage: bench_verdicts [--json] [--runs N] [--threads N] [--cpu]\n");
        return 2;
    }
    double start = now();
    for (int64_t first = 0; first < count; first += CHUNK)
        judge_chunk(first, count - first < CHUNK ? count - first : CHUNK, threads, &sum);
    double seconds = now() - start, rate = (double)count / seconds;
    double mean = sum.correlation / (double)count;
    if (json)
        printf("[\n  {\"what\": \"verdicts\", \"value\": %.5g, \"unit\": \"a second\", "
               "\"threads\": %d, \"runs\": %" PRId64 ", \"correlation\": %.6f",
               rate, base_threads(threads), count, mean);
    else
        printf("%-58s %10.4g a second\n%-58s %10.6f\n",
               "verdicts (n=6 T=8 d=10, 2000 steps, SVM, class)", rate,
               "mean correlation to the Frobenius SVM", mean);
    for (int k = ATTSVM_VERDICT_UNSATURATED; k <= ATTSVM_VERDICT_NOT_LOCAL; k++) {
        const char *name = attsvm_verdict_name((attsvm_verdict_kind)k);
        double share = (double)sum.kinds[k] / (double)count;
        if (json)
            printf(", \"%s\": %.4f", name, share);
        else
            printf("  %-56s %10.4f of the runs\n", name, share);
    }
    if (json)
        printf("}\n]\n");
    return 0;
}
