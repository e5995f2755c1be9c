/* Generated data sets for tests. */
#ifndef ATTSVM_GENERATED_H
#define ATTSVM_GENERATED_H

#include "unit.h"

#include <attsvm/attsvm.h>

typedef struct generated_shape {
    attsvm_generate_kind kind;
    int64_t n, T, d, T_min, queries, vocabulary, seed;
    int32_t dtype; /* 0: the default */
} generated_shape;

static inline attsvm_data *generated_data(generated_shape shape)
{
    attsvm_generate_settings settings;
    attsvm_data *data;
    attsvm_error err;
    attsvm_generate_settings_init(&settings);
    settings.kind = (int32_t)shape.kind;
    settings.n = shape.n;
    settings.T = shape.T;
    settings.T_min = shape.T_min;
    settings.d = shape.d;
    settings.queries = shape.queries;
    settings.vocabulary = shape.vocabulary;
    settings.seed = shape.seed;
    if (shape.dtype)
        settings.dtype = shape.dtype;
    assert_ok(attsvm_data_generate(&data, &settings, &err), err);
    return data;
}

/* generated(ATTSVM_SPHERE, n, T, d, .queries = 1, .seed = 3); settings that are not named are 0.
   The caller frees the data set. */
#define generated(kind_, n_, T_, d_, ...)                                                          \
    generated_data(                                                                                \
        (generated_shape){ .kind = (kind_), .n = (n_), .T = (T_), .d = (d_), __VA_ARGS__ })

#endif
