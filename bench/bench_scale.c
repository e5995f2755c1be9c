/*
 * How cost grows: a training step and a p-SVM over n, T and d, each alone, with the exponent fitted
 * to log time against log size; threads; memory beyond the data.
 *
 *     bench_scale [--json] [--rounds R] [--tokens N] [steps] [svm] [threads]
 *
 * Work is counted beside time: reads of the tokens a step (always 1) and a solve, rounds.
 */
#include "data/data.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { POINTS = 4 };

static bool json;
static int lines, rounds = 5;
static int64_t tokens = 1 << 19; /* of the smallest size */

static void report(const char *what, double value, const char *unit)
{
    if (json)
        printf("%s\n  {\"what\": \"%s\", \"value\": %.5g, \"unit\": \"%s\"}", lines++ ? "," : "[",
               what, value, unit);
    else
        printf("%-58s %10.4g %s\n", what, value, unit);
    fflush(stdout);
}

static void check(attsvm_status status, const attsvm_error *err)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "bench_scale: %s\n", err->message);
    exit(3);
}

static attsvm_data *generate(int64_t n, int64_t T, int64_t d)
{
    attsvm_generate_settings settings;
    attsvm_data *data;
    attsvm_error err;
    attsvm_generate_settings_init(&settings);
    settings.kind = ATTSVM_PLANTED_P;
    settings.n = n;
    settings.T = T;
    settings.d = d;
    settings.dtype = ATTSVM_F32;
    check(attsvm_data_generate(&data, &settings, &err), &err);
    return data;
}

/* Seconds of a step of the prompt model: the best of some runs of 8 steps. */
static double step_seconds(const attsvm_data *data, int64_t threads)
{
    double best = INFINITY;
    attsvm_train_settings settings;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.model = ATTSVM_MODEL_P;
    settings.threads = threads;
    settings.iters = 8;
    for (int r = 0; r < rounds; r++) {
        attsvm_train *train;
        check(attsvm_train_create(&train, data, &settings, NULL, NULL, &err), &err);
        model_gradient g = { .x = train->gradient };
        double start = base_seconds();
        for (int k = 0; k < 8; k++)
            model_evaluate(train->m, train->theta, NULL, 0, &g, NULL);
        best = fmin(best, (base_seconds() - start) / 8);
        attsvm_train_free(train);
    }
    return best;
}

static attsvm_svm_info solve(const attsvm_data *data, int64_t threads)
{
    attsvm_svm_settings settings;
    attsvm_svm_info best = { .seconds = INFINITY };
    attsvm_error err;
    const attsvm_array *ids = attsvm_data_array(data, "ids");
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_P;
    settings.threads = threads;
    for (int r = 0; r < rounds; r++) {
        attsvm_problem *problem;
        attsvm_solution *solution;
        attsvm_selection selection = { .alpha = ids->data };
        check(attsvm_problem_create(&problem, data, &selection, &settings, &err), &err);
        check(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), &err);
        attsvm_svm_info info = attsvm_solution_info(solution);
        if (info.outcome != ATTSVM_OPTIMAL) {
            fprintf(stderr, "bench_scale: a planted problem was not solved\n");
            exit(1);
        }
        best = info.seconds < best.seconds ? info : best;
        attsvm_solution_free(solution);
        attsvm_problem_free(problem);
    }
    return best;
}

/* Slope of log y over log x. */
static double exponent(const double *x, const double *y, int count)
{
    double mx = 0, my = 0, xx = 0, xy = 0;
    for (int k = 0; k < count; k++) {
        mx += log(x[k]) / count;
        my += log(y[k]) / count;
    }
    for (int k = 0; k < count; k++) {
        xx += (log(x[k]) - mx) * (log(x[k]) - mx);
        xy += (log(x[k]) - mx) * (log(y[k]) - my);
    }
    return xy / xx;
}

/* One of n, T, d doubles from point to point; the others stay. */
static void bench_growth(bool svm)
{
    static const char names[] = "nTd";
    const int64_t base[3] = { tokens / 32, 32, 64 };
    for (int axis = 0; axis < 3; axis++) {
        double x[POINTS], y[POINTS];
        char what[96];
        for (int k = 0; k < POINTS; k++) {
            int64_t size[3] = { base[0], base[1], base[2] };
            size[axis] <<= k;
            attsvm_data *data = generate(size[0], size[1], size[2]);
            x[k] = (double)size[axis];
            if (svm) {
                attsvm_svm_info info = solve(data, 1);
                y[k] = info.seconds;
                snprintf(what, sizeof what, "p-SVM n=%" PRId64 " T=%" PRId64 " d=%" PRId64, size[0],
                         size[1], size[2]);
                report(what, 1e3 * y[k], "ms");
                report(what, info.passes, "reads of the tokens");
            } else {
                y[k] = step_seconds(data, 1);
                snprintf(what, sizeof what, "step n=%" PRId64 " T=%" PRId64 " d=%" PRId64, size[0],
                         size[1], size[2]);
                report(what, 1e3 * y[k], "ms");
            }
            attsvm_data_free(data);
        }
        snprintf(what, sizeof what, "%s: exponent in %c", svm ? "p-SVM" : "step", names[axis]);
        report(what, exponent(x, y, POINTS), "of the size");
    }
}

static void bench_threads(void)
{
    attsvm_data *data = generate(4 * tokens / 32, 32, 64);
    struct rusage before, after;
    double one = step_seconds(data, 1), two = step_seconds(data, 2);
    report("step, one thread", 1e3 * one, "ms");
    report("step, two threads", 1e3 * two, "ms");
    report("step, one thread / two", one / two, "times");
    getrusage(RUSAGE_SELF, &before);
    double solve_one = solve(data, 1).seconds, solve_two = solve(data, 2).seconds;
    getrusage(RUSAGE_SELF, &after);
    report("p-SVM, one thread / two", solve_one / solve_two, "times");
    report("p-SVM, memory beyond the data, at most",
           (double)(after.ru_maxrss - before.ru_maxrss) / 1024, "MB");
    attsvm_data_free(data);
}

int main(int argc, char **argv)
{
    bool steps = false, svm = false, threads = false;
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--json") == 0)
            json = true;
        else if (strcmp(argv[k], "--rounds") == 0 && k + 1 < argc)
            rounds = atoi(argv[++k]);
        else if (strcmp(argv[k], "--tokens") == 0 && k + 1 < argc)
            tokens = atoll(argv[++k]);
        else if (strcmp(argv[k], "steps") == 0)
            steps = true;
        else if (strcmp(argv[k], "svm") == 0)
            svm = true;
        else if (strcmp(argv[k], "threads") == 0)
            threads = true;
        else {
            fprintf(stderr, "usage: bench_scale [--json] [--rounds R] [--tokens N] [steps] [svm] "
                            "[threads]\n");
            return 2;
        }
    }
    bool all = !steps && !svm && !threads;
    if (steps || all)
        bench_growth(false);
    if (svm || all)
        bench_growth(true);
    if (threads || all)
        bench_threads();
    if (json)
        printf("%s\n", lines ? "\n]" : "[]");
    return 0;
}
