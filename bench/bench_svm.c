/*
 * Max-margin problems against the clock: p-SVM and W-SVM at the sizes of the docs, one thread
 * unless told otherwise.  "reads" is the time in units of one streaming read of the tokens.
 *
 *   bench_svm [--json] [--threads N] [--repeat N] [--seed N] [--only NAME]
 */
#include "data/data.h"

#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct instance {
    const char *name;
    attsvm_problem_kind problem;
    attsvm_generate_kind kind;
    int64_t n, T, d;
    bool random; /* a random selection instead of the planted one */
} instance;

static const instance instances[] = {
    { "P0", ATTSVM_PROBLEM_P, ATTSVM_SPHERE, 10, 8, 80, true },
    { "P1", ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 100, 10, 20, false },
    { "P2", ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 1000, 20, 50, false },
    { "P3", ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 10000, 32, 128, false },
    { "P4", ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 100000, 16, 64, false },
    { "F1", ATTSVM_PROBLEM_W, ATTSVM_SPHERE, 6, 8, 10, true },
    { "F2", ATTSVM_PROBLEM_W, ATTSVM_SPHERE, 50, 10, 30, true },
    { "F2p", ATTSVM_PROBLEM_W, ATTSVM_PLANTED_W, 50, 10, 30, false },
    { "F3", ATTSVM_PROBLEM_W, ATTSVM_PLANTED_W, 500, 16, 64, false },
    { "D1024", ATTSVM_PROBLEM_P, ATTSVM_PLANTED_P, 2000, 8, 1024, false },
};

static bool json;
static int lines;

/* One number of the JSON form. */
static void report(const char *what, double value, const char *unit)
{
    printf("%s\n  {\"what\": \"%s\", \"value\": %.9g, \"unit\": \"%s\"}", lines++ ? "," : "[", what,
           value, unit);
}

static void stop_on(attsvm_status status, const attsvm_error *err)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "bench_svm: %s\n", err->message);
    exit(2);
}

/* Processor time, which other programs do not change. */
static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A line of /proc/self/status in KB: VmRSS (resident memory) or VmHWM (its peak). */
static long resident(const char *name)
{
    char line[256];
    long value = 0;
    size_t length = strlen(name);
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, name, length) == 0 && line[length] == ':')
            value = strtol(line + length + 1, NULL, 10);
    if (file)
        fclose(file);
    return value;
}

/*
 * Resets the peak of resident memory, so that it excludes making the data, and returns freed memory
 * of earlier instances to the system.
 */
static void forget_peak(void)
{
    malloc_trim(0);
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

/* Seconds of one read of all tokens, the best of several. */
static double read_seconds(const attsvm_data *data)
{
    double best = INFINITY, *p = calloc((size_t)data->d, sizeof *p);
    double *y = malloc((size_t)data->T_max * sizeof *y), sum = 0;
    for (int k = 0; k < 5; k++) {
        double start = cpu_seconds();
        for (int64_t i = 0; i < data->n; i++) {
            la_rows rows = data_sequence(data, i);
            la_rows_dot(&rows, p, y);
            sum += y[0];
        }
        best = fmin(best, cpu_seconds() - start);
    }
    free(p);
    free(y);
    return sum == 0 ? best : NAN;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static attsvm_data *make_data(const instance *at, int64_t seed, int64_t *alpha)
{
    attsvm_error err;
    attsvm_data *data;
    attsvm_generate_settings settings;
    attsvm_generate_settings_init(&settings);
    settings.kind = (int32_t)at->kind;
    settings.n = at->n;
    settings.T = settings.T_min = at->T;
    settings.d = at->d;
    settings.seed = seed;
    settings.dtype = ATTSVM_F64;
    settings.push = 0.5;
    settings.queries = at->problem == ATTSVM_PROBLEM_W;
    stop_on(attsvm_data_generate(&data, &settings, &err), &err);
    base_random r = base_random_stream((uint64_t)seed, 77);
    const attsvm_array *ids = attsvm_data_array(data, "ids");
    for (int64_t i = 0; i < at->n; i++)
        alpha[i] =
            at->random || !ids ? base_random_below(&r, at->T) : (int64_t)attsvm_array_get(ids, i);
    return data;
}

/* seconds: of all solves, sorted; read: one read of the tokens; memory in KB. */
static void tell(const instance *at, const attsvm_svm_info *info, const double *seconds, int repeat,
                 double read, long memory)
{
    char what[96];
    if (!json) {
        printf("%-6s n=%-6lld T=%-3lld d=%-5lld outcome %d norm %.12g gap %8.1e active %5lld "
               "iterations %5lld rounds %3lld passes %6.2f  %.3e s (median %.3e) = %.2f reads, "
               "+%ld KB\n",
               at->name, (long long)at->n, (long long)at->T, (long long)at->d, (int)info->outcome,
               info->norm, info->gap, (long long)info->active, (long long)info->iterations,
               (long long)info->rounds, info->passes, seconds[0], seconds[repeat / 2],
               seconds[0] / read, memory);
        return;
    }
    snprintf(what, sizeof what, "%s n=%" PRId64 " T=%" PRId64 " d=%" PRId64, at->name, at->n, at->T,
             at->d);
    report(what, 1e3 * seconds[0], "ms");
    report(what, seconds[0] / read, "times one read");
    report(what, info->gap, "gap");
    report(what, (double)info->active, "active rows");
    report(what, (double)info->iterations, "iterations");
    report(what, (double)info->rounds, "rounds");
    report(what, info->passes, "reads of the tokens");
    report(what, (double)memory / 1024, "MB beyond the data");
}

static void run(const instance *at, int64_t threads, int repeat, int64_t seed)
{
    attsvm_error err;
    int64_t *alpha = calloc((size_t)at->n, sizeof *alpha);
    double *seconds = calloc((size_t)repeat, sizeof *seconds);
    attsvm_data *data = make_data(at, seed, alpha);
    attsvm_svm_settings settings;
    attsvm_svm_settings_init(&settings);
    settings.problem = (int32_t)at->problem;
    settings.threads = threads;
    attsvm_svm_info info = { 0 };
    forget_peak();
    long before = resident("VmRSS");
    for (int k = 0; k < repeat; k++) {
        attsvm_problem *problem;
        attsvm_solution *solution;
        attsvm_selection selection = { .alpha = alpha };
        attsvm_svm_terms(data, &settings, &selection.terms, NULL);
        stop_on(attsvm_problem_create(&problem, data, &selection, &settings, &err), &err);
        double start = cpu_seconds();
        stop_on(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), &err);
        seconds[k] = cpu_seconds() - start;
        info = attsvm_solution_describe(solution);
        attsvm_solution_free(solution);
        attsvm_problem_free(problem);
    }
    long memory = resident("VmHWM") - before;
    qsort(seconds, (size_t)repeat, sizeof *seconds, compare);
    double read = read_seconds(data);
    tell(at, &info, seconds, repeat, read, memory);
    fflush(stdout);
    attsvm_data_free(data);
    free(alpha);
    free(seconds);
}

enum { TINY = 1000 };

/* Seconds of each of the tiny problems, solved in one batch. */
static void solve_batch(attsvm_problem **problems, int64_t threads, double *seconds, int *optimal,
                        double *gap, double *iterations)
{
    static attsvm_solution *solutions[TINY];
    attsvm_error err;
    stop_on(attsvm_problem_solve_batch(problems, TINY, threads, NULL, NULL, solutions, &err), &err);
    *optimal = 0;
    *gap = *iterations = 0;
    for (int k = 0; k < TINY; k++) {
        attsvm_svm_info info = attsvm_solution_describe(solutions[k]);
        *optimal += info.outcome == ATTSVM_OPTIMAL;
        *gap = fmax(*gap, info.gap);
        *iterations += (double)info.iterations / TINY;
        seconds[k] = info.seconds;
        attsvm_solution_free(solutions[k]);
    }
    qsort(seconds, TINY, sizeof *seconds, compare);
}

/* Median over the instances of F1 in a batch, for the best batch and for the median one. */
static void run_batch(int64_t threads, int repeat)
{
    static attsvm_data *data[TINY];
    static attsvm_problem *problems[TINY];
    static double seconds[TINY];
    const instance tiny = { "F1", ATTSVM_PROBLEM_W, ATTSVM_SPHERE, 6, 8, 10, true };
    double gap, iterations, *medians = calloc((size_t)repeat, sizeof *medians), late = INFINITY;
    double *wholes = calloc((size_t)repeat, sizeof *wholes);
    int optimal;
    attsvm_error err;
    attsvm_svm_settings settings;
    attsvm_svm_settings_init(&settings);
    for (int k = 0; k < TINY; k++) {
        int64_t alpha[6];
        data[k] = make_data(&tiny, k, alpha);
        attsvm_selection selection = { .alpha = alpha };
        attsvm_svm_terms(data[k], &settings, &selection.terms, NULL);
        stop_on(attsvm_problem_create(&problems[k], data[k], &selection, &settings, &err), &err);
    }
    for (int r = 0; r < repeat; r++) {
        double start = cpu_seconds();
        solve_batch(problems, threads, seconds, &optimal, &gap, &iterations);
        wholes[r] = cpu_seconds() - start;
        medians[r] = seconds[TINY / 2];
        late = fmin(late, seconds[TINY * 9 / 10]);
    }
    qsort(medians, (size_t)repeat, sizeof *medians, compare);
    qsort(wholes, (size_t)repeat, sizeof *wholes, compare);
    if (json) {
        const char *what = "batch of 1000 n=6 T=8 d=10, median";
        report(what, 1e6 * medians[0], "us");
        report(what, gap, "worst gap");
        report(what, optimal, "optimal");
        report(what, iterations, "iterations");
    } else
        printf("batch of %d n=6 T=8 d=10 W-SVMs: %d optimal, worst gap %.1e, mean iterations %.1f, "
               "median %.1f us (of the median batch %.1f us), 90%% %.1f us, whole batch %.1f us "
               "each\n",
               TINY, optimal, gap, iterations, 1e6 * medians[0], 1e6 * medians[repeat / 2],
               1e6 * late, 1e6 * wholes[0] / TINY);
    for (int k = 0; k < TINY; k++) {
        attsvm_problem_free(problems[k]);
        attsvm_data_free(data[k]);
    }
    free(medians);
    free(wholes);
}

int main(int argc, char **argv)
{
    int64_t threads = 1, seed = 1;
    int repeat = 5;
    const char *only = NULL;
    for (int k = 1; k < argc; k++) {
        bool more = k + 1 < argc;
        if (strcmp(argv[k], "--json") == 0)
            json = true;
        else if (strcmp(argv[k], "--threads") == 0 && more)
            threads = atoi(argv[++k]);
        else if (strcmp(argv[k], "--repeat") == 0 && more)
            repeat = atoi(argv[++k]);
        else if (strcmp(argv[k], "--seed") == 0 && more)
            seed = atoi(argv[++k]);
        else if (strcmp(argv[k], "--only") == 0 && more)
            only = argv[++k];
        else {
            fprintf(stderr, "usage: bench_svm [--json] [--threads N] [--repeat N] [--seed N] "
                            "[--only NAME]\n");
            return 2;
        }
    }
    repeat = repeat < 1 ? 1 : repeat;
    for (size_t k = 0; k < sizeof instances / sizeof *instances; k++)
        if (!only || strcmp(only, instances[k].name) == 0)
            run(&instances[k], threads, repeat, seed);
    if (!only || strcmp(only, "batch") == 0)
        run_batch(threads, repeat);
    if (json)
        printf("%s\n", lines ? "\n]" : "[]");
    return 0;
}
