/*
 * What a training step costs.  Small problems beside PyTorch; large data beside reading them once
 * from memory, and for the matrix models beside the matrix products of the same size.
 *
 *     bench_train [--json] [--cpu] [--n N] [--T T] [--d D] [--ragged] [--only p|W|KQ] [--rounds R]
 *                 [--kernels NAME] [tiny] [large]
 */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool json, cpu;
static int lines, rounds = 9;
static int64_t large_n = 60000, large_T = 32, large_d = 64;
static bool ragged;
static const char *only = "";
static volatile double sink;

/* With --cpu: processor time, for one thread on a busy machine. */
static double now(void)
{
    struct timespec t;
    if (!cpu)
        return base_seconds();
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void report(const char *what, double value, const char *unit)
{
    char number[32];
    snprintf(number, sizeof number, "%.5g", value);
    if (json)
        printf("%s\n  {\"what\": \"%s\", \"value\": %s, \"unit\": \"%s\"}", lines++ ? "," : "[",
               what, isfinite(value) ? number : "null", unit);
    else
        printf("%-58s %10.4g %s\n", what, value, unit);
    fflush(stdout);
}

static void check(attsvm_status status, const attsvm_error *err)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "bench_train: %s\n", err->message);
    exit(3);
}

static attsvm_data *generate(int32_t kind, int64_t n, int64_t T, int64_t d, attsvm_dtype dtype)
{
    attsvm_generate_settings settings;
    attsvm_data *data;
    attsvm_error err;
    attsvm_generate_settings_init(&settings);
    settings.kind = kind;
    settings.n = n;
    settings.T = T;
    settings.d = d;
    settings.T_min = ragged ? T / 2 : T;
    settings.queries = 1;
    settings.dtype = (int32_t)dtype;
    check(attsvm_data_generate(&data, &settings, &err), &err);
    return data;
}

/* ------------------------------------------------------------------------ small */

/* Seconds per step of a run from its start. */
static double run_once(const attsvm_data *data, attsvm_model_kind kind, int64_t iters)
{
    attsvm_train_settings settings;
    attsvm_train *train;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.model = (int32_t)kind;
    settings.iters = iters;
    settings.threads = 1;
    settings.init = "uniform:0.316";
    check(attsvm_train_create(&train, data, &settings, NULL, NULL, &err), &err);
    check(attsvm_train_run(train, NULL, NULL, &err), &err);
    double seconds = attsvm_train_describe(train).seconds / (double)iters;
    attsvm_train_free(train);
    return seconds;
}

/* The same step in PyTorch; NAN if it is not installed. */
static double torch_step(int64_t n, int64_t T, int64_t d)
{
    char command[1024];
    double seconds = NAN;
    snprintf(command, sizeof command,
             "/usr/bin/python3 '" BENCH_FOLDER "/peers/torch_step.py' %" PRId64 " %" PRId64
             " %" PRId64 " 8 200 2>/dev/null",
             n, T, d);
    FILE *pipe = popen(command, "r");
    if (pipe && fscanf(pipe, "%lf", &seconds) != 1)
        seconds = NAN;
    if (pipe)
        pclose(pipe);
    return seconds;
}

static void bench_tiny(void)
{
    static const struct {
        const char *name;
        attsvm_model_kind kind;
    } models[] = { { "p", ATTSVM_MODEL_P }, { "W", ATTSVM_MODEL_W }, { "KQ", ATTSVM_MODEL_KQ } };
    attsvm_data *data = generate(ATTSVM_SPHERE, 6, 8, 10, ATTSVM_F64);
    double peer = torch_step(6, 8, 10);
    char what[96];
    for (int m = 0; m < 3; m++) {
        double best = INFINITY;
        /* short runs, so that some are not interrupted on a busy machine */
        for (int r = 0; r < 100 * rounds; r++)
            best = fmin(best, run_once(data, models[m].kind, 1000));
        snprintf(what, sizeof what, "n=6 T=8 d=10, model %s, ngd", models[m].name);
        report(what, best * 1e6, "us a step");
        if (models[m].kind == ATTSVM_MODEL_W) {
            peer = fmin(peer, torch_step(6, 8, 10));
            report("the same in PyTorch, float64, one thread", peer * 1e6, "us a step");
            report("PyTorch / attsvm", peer / best, "times");
        }
    }
    attsvm_data_free(data);
}

/* ------------------------------------------------------------------------ large */

typedef uint64_t words __attribute__((vector_size(16)));

typedef struct reading {
    const char *base;
    int64_t bytes;
    int threads;
    bool four;
} reading;

enum { APART = 65536 / 16 }; /* four streams, 64 kB apart */

static void read_part(void *context, int64_t part, int worker)
{
    const reading *r = context;
    int64_t lo, hi;
    (void)worker;
    base_block(r->bytes / 16 / (4 * APART), r->threads, part, &lo, &hi);
    const words *x = (const words *)r->base;
    words a = { 0 }, b = { 0 }, c = { 0 }, e = { 0 };
    for (int64_t block = lo; block < hi; block++) {
        const words *y = x + block * 4 * APART;
        for (int64_t i = 0; r->four && i < APART; i++) {
            a += y[i];
            b += y[i + APART];
            c += y[i + 2 * APART];
            e += y[i + 3 * APART];
        }
        for (int64_t i = 0; !r->four && i < 4 * APART; i += 4) {
            a += y[i];
            b += y[i + 1];
            c += y[i + 2];
            e += y[i + 3];
        }
    }
    words sum = a + b + c + e;
    sink = (double)(sum[0] ^ sum[1]);
}

static double read_seconds(const attsvm_data *data, int threads, bool four)
{
    reading r = { data->X, data->tokens * data->d * (int64_t)attsvm_dtype_size(data->dtype),
                  threads, four };
    double start = now();
    base_parallel(threads, threads, read_part, &r);
    return now() - start;
}

/* The products of one step: Z W' and U' Z for all terms, in chunks that stay in the cache. */
typedef struct products {
    int64_t n, d;
    int threads;
    double *memory;
} products;

enum { CHUNK = 96 };

static void product_part(void *context, int64_t part, int worker)
{
    const products *g = context;
    const int64_t d = g->d;
    double *Z = g->memory + worker * (2 * CHUNK * d + 2 * d * d), *B = Z + CHUNK * d;
    double *W = B + CHUNK * d, *G = W + d * d;
    int64_t lo, hi;
    base_block(g->n / CHUNK, g->threads, part, &lo, &hi);
    for (int64_t c = lo; c < hi; c++) {
        la_gemm(false, true, CHUNK, d, d, 1, Z, d, W, d, 0, B, d);
        la_gemm(true, false, d, d, CHUNK, 1, B, d, Z, d, 1, G, d);
    }
}

static double product_seconds(products *g)
{
    double start = now();
    base_parallel(g->threads, g->threads, product_part, g);
    return now() - start;
}

static void bench_model(const attsvm_data *data, attsvm_model_kind kind, const char *name,
                        int threads)
{
    model_options options = { .kind = kind,
                              .loss = "logistic",
                              .head = ATTSVM_HEAD_LINEAR,
                              .query = ATTSVM_QUERY_GIVEN,
                              .threads = threads };
    attsvm_error err;
    model *m;
    check(model_create(&m, data, &options, &err), &err);
    products g = { m->terms, m->d, threads, NULL };
    check(base_allocate(&g.memory, (size_t)(threads * (2 * CHUNK * m->d + 2 * m->d * m->d)),
                        sizeof(double), "products", &err),
          &err);
    double *theta, *x, best[4] = { INFINITY, INFINITY, INFINITY, INFINITY };
    check(base_allocate(&theta, (size_t)(2 * m->size), sizeof *theta, "parameters", &err), &err);
    x = theta + m->size;
    base_random r = base_random_stream(1, 1);
    for (int64_t j = 0; j < m->size; j++)
        theta[j] = 0.05 * base_random_gauss(&r);
    for (int k = 0; k < rounds; k++) {
        model_gradient gradient = { .x = x };
        best[0] = fmin(best[0], read_seconds(data, threads, false));
        best[1] = fmin(best[1], read_seconds(data, threads, true));
        if (!m->prompt)
            best[2] = fmin(best[2], product_seconds(&g));
        double start = now();
        model_evaluate(m, theta, NULL, 0, &gradient, NULL);
        la_axpy(-0.1 / train_norm(x, m->size), x, theta, m->size);
        best[3] = fmin(best[3], now() - start);
    }
    double read = fmin(best[0], best[1]), yardstick = m->prompt ? read : fmax(read, best[2]);
    char what[128];
    const char *dtype = attsvm_dtype_name(data->dtype);
    snprintf(what, sizeof what, "model %s, %s, %d thread%s: step", name, dtype, threads,
             threads > 1 ? "s" : "");
    report(what, 1e3 * best[3], "ms");
    report("  reading the tokens once, one stream", 1e3 * best[0], "ms");
    report("  four streams", 1e3 * best[1], "ms");
    if (!m->prompt)
        report("  matrix products of the same size", 1e3 * best[2], "ms");
    report("  step / yardstick", best[3] / yardstick, "times");
    free(theta);
    free(g.memory);
    model_free(m);
}

static void bench_large(void)
{
    static const struct {
        const char *name;
        attsvm_model_kind kind;
    } models[] = { { "p", ATTSVM_MODEL_P }, { "W", ATTSVM_MODEL_W }, { "KQ", ATTSVM_MODEL_KQ } };
    static const attsvm_dtype dtypes[] = { ATTSVM_F64, ATTSVM_F32 };
    for (int k = 0; k < 2; k++) {
        attsvm_data *data = generate(ATTSVM_GAUSS, large_n, large_T, large_d, dtypes[k]);
        for (int m = 0; m < 3; m++)
            for (int threads = 1; threads <= (cpu ? 1 : 2); threads++)
                if (!*only || strcmp(only, models[m].name) == 0)
                    bench_model(data, models[m].kind, models[m].name, threads);
        attsvm_data_free(data);
    }
}

int main(int argc, char **argv)
{
    bool tiny = false, large = false;
    attsvm_error err;
    for (int k = 1; k < argc; k++) {
        if (strcmp(argv[k], "--json") == 0)
            json = true;
        else if (strcmp(argv[k], "--cpu") == 0)
            cpu = true;
        else if (strcmp(argv[k], "--n") == 0 && k + 1 < argc)
            large_n = atoll(argv[++k]);
        else if (strcmp(argv[k], "--rounds") == 0 && k + 1 < argc)
            rounds = atoi(argv[++k]);
        else if (strcmp(argv[k], "--T") == 0 && k + 1 < argc)
            large_T = atoll(argv[++k]);
        else if (strcmp(argv[k], "--d") == 0 && k + 1 < argc)
            large_d = atoll(argv[++k]);
        else if (strcmp(argv[k], "--only") == 0 && k + 1 < argc)
            only = argv[++k];
        else if (strcmp(argv[k], "--kernels") == 0 && k + 1 < argc)
            check(attsvm_kernels_select(argv[++k], &err), &err);
        else if (strcmp(argv[k], "--ragged") == 0)
            ragged = true;
        else if (strcmp(argv[k], "tiny") == 0)
            tiny = true;
        else if (strcmp(argv[k], "large") == 0)
            large = true;
        else {
            fprintf(stderr,
                    "usage: bench_train [--json] [--cpu] [--n N] [--T T] [--d D] [--ragged]\n"
                    "                   [--only p|W|KQ] [--rounds R] [--kernels NAME] [tiny] "
                    "[large]\n");
            return 2;
        }
    }
    if (tiny || !large)
        bench_tiny();
    if (large || !tiny)
        bench_large();
    if (json)
        printf("\n]\n");
    return 0;
}
