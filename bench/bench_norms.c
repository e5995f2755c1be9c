/*
 * Processor seconds of the W problem in other norms, certificate included, on one thread.
 *
 *     bench_norms FILE NORM [REPEAT]     X, Z and ids of FILE; the best of REPEAT solves
 *
 * Prints norm, certified gap, rank and seconds.  bench/peers/norm_peers.py makes the instances and
 * runs the solvers of others on them.
 */
#include "attsvm/attsvm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double processor_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int stop(const attsvm_error *err)
{
    fprintf(stderr, "bench_norms: %s\n", err->message);
    return 2;
}

int main(int argc, char **argv)
{
    attsvm_error err;
    attsvm_data *data;
    attsvm_svm_settings settings;
    attsvm_problem *problem;
    if (argc < 3) {
        fprintf(stderr, "usage: bench_norms FILE NORM [REPEAT]\n");
        return 2;
    }
    int repeat = argc > 3 ? atoi(argv[3]) : 1;
    attsvm_svm_settings_init(&settings);
    settings.threads = 1;
    if (attsvm_settings_set(&attsvm_svm_table, &settings, "norm", argv[2], &err) != ATTSVM_OK ||
        attsvm_data_read(&data, argv[1], NULL, &err) != ATTSVM_OK)
        return stop(&err);
    const attsvm_array *ids = attsvm_data_array(data, "ids");
    int64_t n = attsvm_data_describe(data).n, *alpha = calloc((size_t)n, sizeof *alpha);
    if (!ids || !alpha) {
        fprintf(stderr, "bench_norms: %s has no ids\n", argv[1]);
        free(alpha);
        return 2;
    }
    for (int64_t i = 0; i < n; i++)
        alpha[i] = (int64_t)attsvm_array_get(ids, i);
    attsvm_selection selection = { .alpha = alpha, .terms = n };
    if (attsvm_problem_create(&problem, data, &selection, &settings, &err) != ATTSVM_OK)
        return stop(&err);
    double best = INFINITY;
    attsvm_svm_info info = { 0 };
    for (int k = 0; k < repeat; k++) {
        attsvm_solution *solution;
        double start = processor_seconds();
        if (attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err) != ATTSVM_OK)
            return stop(&err);
        best = fmin(best, processor_seconds() - start);
        info = attsvm_solution_describe(solution);
        attsvm_solution_free(solution);
    }
    printf("outcome %d norm %.15g gap %.2e rank %d tight %d seconds %.3e\n", (int)info.outcome,
           info.norm, info.gap, (int)info.rank, (int)info.tight, best);
    attsvm_problem_free(problem);
    attsvm_data_free(data);
    free(alpha);
    return info.outcome == ATTSVM_OPTIMAL ? 0 : 1;
}
