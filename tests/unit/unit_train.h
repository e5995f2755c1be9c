/* Problems and runs shared by the tests of train. */
#ifndef ATTSVM_UNIT_TRAIN_H
#define ATTSVM_UNIT_TRAIN_H

#include "generated.h"

#include "train/train.h"

#include <unistd.h>

typedef struct problem {
    attsvm_named_array arrays[12];
    int64_t count;
    attsvm_data *data;
} problem;

static inline void add(problem *p, const char *name, attsvm_array array)
{
    p->arrays[p->count++] = (attsvm_named_array){ name, array };
}

static inline void make(problem *p)
{
    attsvm_error err;
    assert_ok(attsvm_data_create(&p->data, p->arrays, p->count, NULL, &err), err);
}

typedef struct setting {
    const char *name, *value;
} setting;

static inline attsvm_train *run(const attsvm_data *data, const setting *list)
{
    attsvm_train_settings settings;
    attsvm_train *train;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.threads = 1;
    for (; list->name; list++)
        assert_ok(
            attsvm_settings_set(&attsvm_train_table, &settings, list->name, list->value, &err),
            err);
    assert_ok(attsvm_train_create(&train, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(train, NULL, NULL, &err), err);
    return train;
}

static inline const char *text(double x)
{
    static char buffers[8][32];
    static int next;
    char *out = buffers[next++ % 8];
    snprintf(out, 32, "%.17g", x);
    return out;
}

#endif
