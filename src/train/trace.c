/* The recorded trace, and the arrays of a finished run. */
#include "train/train.h"

#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_SPACED = -1, PER_DECADE = 10 };

#define NUMBER(name, field, matrix)                                                                \
    {                                                                                              \
        name, offsetof(attsvm_train_info, field), matrix                                           \
    }
const train_number train_numbers[TRAIN_NUMBERS] = {
    NUMBER("trace_loss", loss, false),
    NUMBER("trace_excess", loss_excess, false),
    NUMBER("trace_log_excess", log_excess, false),
    NUMBER("trace_norm", norm, false),
    NUMBER("trace_grad_log_scale", grad_log_scale, false),
    NUMBER("trace_softmax_min", softmax_min, false),
    NUMBER("trace_softmax_mean", softmax_mean, false),
    NUMBER("trace_entropy", entropy, false),
    NUMBER("trace_effective_tokens", effective_tokens, false),
    NUMBER("trace_accuracy", accuracy, false),
    NUMBER("trace_margin", margin, false),
    NUMBER("trace_nuclear", nuclear, true),
    NUMBER("trace_rank", effective_rank, true),
};
#undef NUMBER

bool train_has_number(const model *m, int k)
{
    return !train_numbers[k].matrix || model_has_matrix(m);
}

static attsvm_status read_spacing(const char *text, int64_t *every, attsvm_error *err)
{
    char *end;
    *every = 0;
    if (!*text)
        return ATTSVM_OK;
    if (strcmp(text, "log") == 0) {
        *every = LOG_SPACED;
        return ATTSVM_OK;
    }
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || value < 1)
        return fail(err, ATTSVM_E_ARG, "record = %s: expected a number of steps, or log", text);
    *every = value;
    return ATTSVM_OK;
}

/* Log-spaced: 0 and the integers nearest to 10^(k/10). */
static bool is_log_spaced(int64_t iter)
{
    if (iter < 2)
        return true;
    int64_t k = llround(PER_DECADE * base_log10((double)iter));
    return llround(base_pow(10, (double)k / PER_DECADE)) == iter;
}

bool train_trace_wanted(const train_trace *trace, int64_t iter)
{
    if (trace->every == LOG_SPACED)
        return is_log_spaced(iter);
    return trace->every > 0 && iter % trace->every == 0;
}

static int64_t count_records(int64_t every, int64_t iters)
{
    if (every == 0)
        return 0;
    if (every > 0)
        return iters / every + 2;
    return iters < 1 ? 2 : (int64_t)(PER_DECADE * base_log10((double)iters)) + 4;
}

static void layout(train_trace *trace, const model *m, arena *a)
{
    size_t count = (size_t)trace->capacity, per_term = 0;
    const bool first = dist_rank(m->comm) == 0;
    if (!base_multiply(count, (size_t)m->terms, &per_term))
        a->overflow = true;
    trace->iter = take_int64(a, count);
    for (int k = 0; k < TRAIN_NUMBERS; k++)
        trace->number[k] = train_has_number(m, k) ? take(a, count) : NULL;
    trace->softmax = first ? take(a, per_term) : NULL;
    trace->ids = first ? take_int64(a, per_term) : NULL;
    for (int b = 0; b < m->parameters; b++) {
        size_t size = 0;
        if (!base_multiply(count, (size_t)m->parameter[b].count, &size))
            a->overflow = true;
        trace->theta[b] = take(a, size);
    }
}

attsvm_status train_trace_create(attsvm_train *t, attsvm_error *err)
{
    train_trace *trace = &t->trace;
    arena a = { 0 };
    TRY(read_spacing(t->settings.record, &trace->every, err));
    trace->capacity = count_records(trace->every, t->settings.iters);
    if (trace->capacity == 0)
        return ATTSVM_OK;
    layout(trace, t->m, &a);
    TRY(base_arena_allocate(&a, "trace (fewer records need less)", err));
    trace->memory = a.base;
    layout(trace, t->m, &a);
    return ATTSVM_OK;
}

/* Copies the records of `from` to `to`, which is larger. */
static void copy_records(train_trace *to, const train_trace *from, const model *m)
{
    const size_t count = (size_t)from->count, terms = count * (size_t)m->terms;
    memcpy(to->iter, from->iter, count * sizeof *to->iter);
    for (int k = 0; k < TRAIN_NUMBERS; k++)
        if (from->number[k])
            memcpy(to->number[k], from->number[k], count * sizeof(double));
    if (from->softmax) {
        memcpy(to->softmax, from->softmax, terms * sizeof *to->softmax);
        memcpy(to->ids, from->ids, terms * sizeof *to->ids);
    }
    for (int b = 0; b < m->parameters; b++)
        memcpy(to->theta[b], from->theta[b],
               count * (size_t)m->parameter[b].count * sizeof(double));
    to->count = from->count;
}

attsvm_status train_trace_extend(attsvm_train *t, int64_t iters, attsvm_error *err)
{
    train_trace *trace = &t->trace, larger = { .every = trace->every };
    arena a = { 0 };
    larger.compared = trace->compared;
    larger.capacity = count_records(trace->every, iters);
    if (larger.capacity <= trace->capacity)
        return ATTSVM_OK;
    layout(&larger, t->m, &a);
    TRY(base_arena_allocate(&a, "trace (fewer records need less)", err));
    larger.memory = a.base;
    layout(&larger, t->m, &a);
    copy_records(&larger, trace, t->m);
    free(trace->memory);
    *trace = larger;
    return ATTSVM_OK;
}

/* Gathers one 8-byte value per term from all ranks in `all` of rank 0. */
static void collect_terms(const model *m, const void *own, void *all)
{
    const char *from = (const char *)own + m->term_lo * 8;
    dist_collect(m->comm, from, all, 8, m->rank_term);
}

void train_trace_add(attsvm_train *t, const attsvm_train_info *info)
{
    train_trace *trace = &t->trace;
    const model *m = t->m;
    int64_t k = trace->count++;
    trace->iter[k] = t->iter;
    for (int j = 0; j < TRAIN_NUMBERS; j++)
        if (train_has_number(m, j))
            memcpy(&trace->number[j][k], (const char *)info + train_numbers[j].offset,
                   sizeof(double));
    collect_terms(m, m->attention, trace->softmax ? trace->softmax + k * m->terms : NULL);
    collect_terms(m, m->selected, trace->ids ? trace->ids + k * m->terms : NULL);
    for (int b = 0; b < m->parameters; b++)
        memcpy(trace->theta[b] + k * m->parameter[b].count, t->theta + m->parameter[b].offset,
               (size_t)m->parameter[b].count * sizeof(double));
}

static void put(attsvm_train *t, const char *name, const void *values, attsvm_dtype dtype, int ndim,
                const int64_t *shape)
{
    attsvm_named_array *out = &t->arrays[t->arrays_count++];
    out->name = name;
    out->array = (attsvm_array){ .data = values, .ndim = ndim, .dtype = dtype };
    memcpy(out->array.shape, shape, (size_t)ndim * sizeof *shape);
}

/* shape (count,) + own, without `count` if it is negative. */
static void put_block(attsvm_train *t, const char *name, const double *values, int64_t count,
                      const model_parameter *block)
{
    int64_t shape[3];
    int ndim = 0;
    if (count >= 0)
        shape[ndim++] = count;
    shape[ndim++] = block->rows;
    if (strchr("WKQ", block->name[0]))
        shape[ndim++] = block->cols;
    put(t, name, values, ATTSVM_F64, ndim, shape);
}

/* One value per term: (n), (n,M) for given queries, (terms) if every token is a query. */
static int term_shape(const model *m, int64_t *shape)
{
    if (m->query.mode == ATTSVM_QUERY_GIVEN && m->data->queries > 1) {
        shape[0] = m->n;
        shape[1] = m->data->queries;
        return 2;
    }
    shape[0] = m->terms;
    return 1;
}

static void put_softmax(attsvm_train *t)
{
    const model *m = t->m;
    int64_t shape[3], count = model_softmax_first(m, m->n);
    int ndim = term_shape(m, shape);
    const double *softmax = m->comm ? NULL : t->softmax;
    if (m->data->T_min != m->data->T_max) { /* ragged: rows one after another */
        put(t, "softmax", softmax, ATTSVM_F64, 1, &count);
        return;
    }
    if (m->query.mode == ATTSVM_QUERY_ALL || m->query.mode == ATTSVM_QUERY_CAUSAL) {
        shape[0] = m->n;
        shape[1] = m->data->T_max;
        ndim = 2;
    }
    shape[ndim++] = m->data->T_max;
    put(t, "softmax", softmax, ATTSVM_F64, ndim, shape);
}

static void put_trace(attsvm_train *t)
{
    static const char *const names[] = { "trace_p", "trace_W", "trace_K", "trace_Q", "trace_v" };
    const train_trace *trace = &t->trace;
    const model *m = t->m;
    int64_t shape[3] = { trace->count }, k = trace->count;
    int ndim = 1 + term_shape(m, shape + 1);
    put(t, "trace_iter", trace->iter, ATTSVM_I64, 1, &k);
    for (int b = 0; b < m->parameters; b++) {
        static const char letters[] = "pWKQv";
        const char *which = strchr(letters, m->parameter[b].name[0]);
        put_block(t, names[which - letters], trace->theta[b], k, &m->parameter[b]);
    }
    for (int j = 0; j < TRAIN_NUMBERS; j++)
        if (train_has_number(m, j))
            put(t, train_numbers[j].name, trace->number[j], ATTSVM_F64, 1, &k);
    put(t, "trace_softmax", trace->softmax, ATTSVM_F64, ndim, shape);
    put(t, "trace_ids", trace->ids, ATTSVM_I64, ndim, shape);
}

void train_results(attsvm_train *t)
{
    const model *m = t->m;
    int64_t shape[3];
    t->arrays_count = 0;
    free(t->trace.compared);
    t->trace.compared = NULL;
    for (int b = 0; b < m->parameters; b++)
        put_block(t, m->parameter[b].name, t->theta + m->parameter[b].offset, -1, &m->parameter[b]);
    int ndim = term_shape(m, shape);
    model_gather_selected(t->m);
    put(t, "ids", m->selected, ATTSVM_I64, ndim, shape);
    model_softmax(t->m, t->theta, t->softmax);
    put_softmax(t);
    if (t->trace.every != 0)
        put_trace(t);
}

void train_put_comparison(attsvm_train *t, double *values)
{
    const int64_t count = t->trace.count;
    const bool again = t->trace.compared != NULL;
    free(t->trace.compared);
    t->trace.compared = values;
    if (again) /* they are the last ones */
        t->arrays_count -= 3;
    put(t, "trace_correlation", values, ATTSVM_F64, 1, &count);
    put(t, "trace_angle", values + count, ATTSVM_F64, 1, &count);
    put(t, "trace_efficiency", values + 2 * count, ATTSVM_F64, 1, &count);
}

int64_t attsvm_train_count(const attsvm_train *train)
{
    if (!train)
        return 0;
    return train->arrays_count;
}

const attsvm_named_array *attsvm_train_array(const attsvm_train *train, int64_t k)
{
    if (!train)
        return NULL;
    return k >= 0 && k < train->arrays_count ? &train->arrays[k] : NULL;
}

const attsvm_array *attsvm_train_find(const attsvm_train *train, const char *name)
{
    if (!train || !name)
        return NULL;
    for (int64_t k = 0; k < train->arrays_count; k++)
        if (strcmp(train->arrays[k].name, name) == 0)
            return &train->arrays[k].array;
    return NULL;
}
