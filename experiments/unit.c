/* Random data of unit vectors, as most experiments of TS have them. */
#include "experiments/experiments.h"

#include <stdlib.h>

static void layout(experiments_unit *u, arena *a)
{
    u->X = take(a, (size_t)(u->n * u->T * u->d));
    u->Z = take(a, (size_t)(u->n * u->d));
    u->v = take(a, (size_t)u->d);
    u->Y = take(a, (size_t)u->n);
    u->W = take(a, (size_t)(u->d * u->d));
}

attsvm_status experiments_unit_create(experiments_unit *u, int64_t n, int64_t T, int64_t d,
                                      int64_t seed, int64_t run, attsvm_error *err)
{
    arena a = { 0 };
    *u = (experiments_unit){ .n = n, .T = T, .d = d };
    layout(u, &a);
    TRY(base_arena_allocate(&a, "random data", err));
    layout(u, &a);
    u->memory = a.base;
    u->random = base_random_stream((uint64_t)seed, (uint64_t)run);
    for (int64_t k = 0; k < n * T; k++)
        base_random_sphere(&u->random, u->X + k * d, d);
    for (int64_t i = 0; i < n; i++)
        base_random_sphere(&u->random, u->Z + i * d, d);
    base_random_sphere(&u->random, u->v, d);
    for (int64_t i = 0; i < n; i++)
        u->Y[i] = base_random_below(&u->random, 2) ? 1 : -1;
    return ATTSVM_OK;
}

void experiments_unit_free(experiments_unit *u)
{
    free(u->memory);
    u->memory = NULL;
}

attsvm_status experiments_unit_data(attsvm_data **out, const experiments_unit *u, attsvm_error *err)
{
    attsvm_named_array arrays[] = {
        experiments_name("X", u->X, SHAPE(u->n, u->T, u->d)),
        experiments_name("Z", u->Z, SHAPE(u->n, u->d)),
        experiments_name("v", u->v, SHAPE(u->d)),
        experiments_name("Y", u->Y, SHAPE(u->n)),
        experiments_name("init_W", u->W, SHAPE(u->d, u->d)),
    };
    return attsvm_data_create(out, arrays, sizeof arrays / sizeof *arrays, NULL, err);
}
