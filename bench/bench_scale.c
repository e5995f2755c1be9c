/*
 * How cost grows: a training step and a p-SVM over n, T and d, each alone, with the exponent fitted
 * to log time against log size; threads.
 *
 *     bench_scale [--json] [--rounds R] [--tokens N] [steps] [svm] [threads]
 *
 * Work is counted beside time: reads of the tokens a step (always 1) and a solve, rounds.  Steps do
 * not mind what the tokens are, so that one block of numbers serves every shape; solves get planted
 * problems, a quarter as large.
 */
#include "data/data.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 4 };

static bool json;
static int lines, rounds = 4;
static int64_t tokens = 1 << 19; /* for the smallest step */

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

/* ------------------------------------------------------------------------- steps */

/* One block of numbers for every shape, and its arrays. */
typedef struct block {
    float *X;
    int8_t *Y;
    double *v;
} block;

enum { FILL = 1 << 16 };

static void fill_piece(void *context, int64_t piece, int worker)
{
    (void)worker;
    const block *all = context;
    base_random r = base_random_stream(1, (uint64_t)piece);
    for (int64_t k = piece * FILL; k < (piece + 1) * FILL; k++)
        all->X[k] = (float)(base_random_uniform(&r) - 0.5);
}

static block make_block(int64_t values, int64_t sequences, int64_t d)
{
    block all;
    attsvm_error err;
    int64_t pieces = (values + FILL - 1) / FILL;
    check(base_allocate(&all.X, (size_t)(pieces * FILL), sizeof *all.X, "tokens", &err), &err);
    check(base_allocate(&all.Y, (size_t)sequences, 1, "labels", &err), &err);
    check(base_allocate(&all.v, (size_t)d, sizeof *all.v, "head", &err), &err);
    base_parallel(base_threads(0), pieces, fill_piece, &all);
    for (int64_t i = 0; i < sequences; i++)
        all.Y[i] = i % 2 ? 1 : -1;
    for (int64_t j = 0; j < d; j++)
        all.v[j] = (double)(j % 3) - 0.9;
    return all;
}

static attsvm_data *shape_block(const block *all, int64_t n, int64_t T, int64_t d)
{
    attsvm_named_array arrays[] = { { "X", { all->X, { n, T, d }, 3, ATTSVM_F32 } },
                                    { "Y", { all->Y, { n }, 1, ATTSVM_I8 } },
                                    { "v", { all->v, { d }, 1, ATTSVM_F64 } } };
    attsvm_data *data;
    attsvm_error err;
    check(attsvm_data_create(&data, arrays, 3, NULL, &err), &err);
    return data;
}

/* A run of the prompt model whose steps are timed. */
static attsvm_train *open_steps(const attsvm_data *data, int64_t threads)
{
    attsvm_train *train;
    attsvm_train_settings settings;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.model = ATTSVM_MODEL_P;
    settings.threads = threads;
    check(attsvm_train_create(&train, data, &settings, NULL, NULL, &err), &err);
    return train;
}

static double step_seconds(const attsvm_train *train)
{
    enum { STEPS = 4 };
    model_gradient g = { .x = train->gradient };
    double start = base_seconds();
    for (int k = 0; k < STEPS; k++)
        model_evaluate(train->m, train->theta, NULL, 0, &g, NULL);
    return (base_seconds() - start) / STEPS;
}

/* ------------------------------------------------------------------------- solves */

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
        attsvm_selection selection = { .alpha = ids->data, .terms = attsvm_array_count(ids) };
        check(attsvm_problem_create(&problem, data, &selection, &settings, &err), &err);
        check(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), &err);
        attsvm_svm_info info = attsvm_solution_describe(solution);
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

typedef struct point {
    int64_t size[3]; /* n, T, d */
    double seconds;
} point;

static void name_point(const char *of, const point *p, char what[96])
{
    snprintf(what, 96, "%s n=%" PRId64 " T=%" PRId64 " d=%" PRId64, of, p->size[0], p->size[1],
             p->size[2]);
}

/* Times the points in turn, round after round, so that a disturbance affects all of them. */
static void time_steps(const block *all, point *points)
{
    attsvm_data *data[POINTS];
    attsvm_train *train[POINTS];
    for (int k = 0; k < POINTS; k++) {
        const int64_t *size = points[k].size;
        data[k] = shape_block(all, size[0], size[1], size[2]);
        train[k] = open_steps(data[k], 1);
        points[k].seconds = INFINITY;
    }
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < POINTS; k++)
            points[k].seconds = fmin(points[k].seconds, step_seconds(train[k]));
    for (int k = 0; k < POINTS; k++) {
        char what[96];
        name_point("step", &points[k], what);
        report(what, 1e3 * points[k].seconds, "ms");
        attsvm_train_free(train[k]);
        attsvm_data_free(data[k]);
    }
}

static void time_solves(point *points)
{
    for (int k = 0; k < POINTS; k++) {
        char what[96];
        const int64_t *size = points[k].size;
        attsvm_data *data = generate(size[0], size[1], size[2]);
        attsvm_svm_info info = solve(data, 1);
        points[k].seconds = info.seconds;
        name_point("p-SVM", &points[k], what);
        report(what, 1e3 * info.seconds, "ms");
        report(what, info.passes, "reads of the tokens");
        attsvm_data_free(data);
    }
}

/* One of n, T and d doubles from point to point, the others are fixed. With a block: training
   steps. */
static void bench_growth(const int64_t base[3], const block *all)
{
    static const char names[] = "nTd";
    for (int axis = 0; axis < 3; axis++) {
        point points[POINTS];
        double x[POINTS], y[POINTS];
        char what[96];
        for (int k = 0; k < POINTS; k++) {
            memcpy(points[k].size, base, sizeof points[k].size);
            points[k].size[axis] <<= k;
        }
        if (all)
            time_steps(all, points);
        else
            time_solves(points);
        for (int k = 0; k < POINTS; k++) {
            x[k] = (double)points[k].size[axis];
            y[k] = points[k].seconds;
        }
        snprintf(what, sizeof what, "%s: exponent in %c", all ? "step" : "p-SVM", names[axis]);
        report(what, exponent(x, y, POINTS), "of the size");
    }
}

static void bench_steps(void)
{
    const int64_t base[3] = { tokens / 32, 32, 64 };
    const int64_t most = 1 << (POINTS - 1);
    block all = make_block(most * tokens * base[2], most * base[0], most * base[2]);
    bench_growth(base, &all);
    free(all.X);
    free(all.Y);
    free(all.v);
}

static void bench_threads(void)
{
    attsvm_data *data = generate(tokens / 32, 32, 64);
    attsvm_train *one = open_steps(data, 1), *two = open_steps(data, 2);
    double best[2] = { INFINITY, INFINITY };
    for (int r = 0; r < 2 * rounds; r++) {
        best[0] = fmin(best[0], step_seconds(one));
        best[1] = fmin(best[1], step_seconds(two));
    }
    attsvm_train_free(one);
    attsvm_train_free(two);
    report("step, one thread", 1e3 * best[0], "ms");
    report("step, two threads", 1e3 * best[1], "ms");
    report("step, one thread / two", best[0] / best[1], "times");
    double solve_one = solve(data, 1).seconds, solve_two = solve(data, 2).seconds;
    report("p-SVM, one thread / two", solve_one / solve_two, "times");
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
        bench_steps();
    if (svm || all)
        bench_growth((int64_t[]){ tokens / 128, 32, 64 }, NULL);
    if (threads || all)
        bench_threads();
    if (json)
        printf("%s\n", lines ? "\n]" : "[]");
    return 0;
}
