/* Samples and models shared by the tests of model. */
#ifndef ATTSVM_UNIT_MODEL_H
#define ATTSVM_UNIT_MODEL_H

#include "unit.h"

#include "model/model.h"

/* ------------------------------------------------------------------- test data */

enum { MOST_N = 6, MOST_T = 9, MOST_D = 7, MOST_M = 3 };

typedef struct sample {
    double X[MOST_N * MOST_T * MOST_D], Z[MOST_N * MOST_M * MOST_D], v[MOST_D], V[MOST_D * MOST_D];
    double W[MOST_D * MOST_D], p[MOST_D];
    int64_t Y[MOST_N * MOST_T], offsets[MOST_N + 1];
    attsvm_named_array arrays[8];
    int64_t count;
    attsvm_data *data;
} sample;

static inline void put(sample *s, const char *name, const void *values, attsvm_dtype dtype,
                       int ndim, int64_t a, int64_t b, int64_t c)
{
    attsvm_array array = { .data = values, .shape = { a, b, c }, .ndim = ndim, .dtype = dtype };
    s->arrays[s->count++] = (attsvm_named_array){ name, array };
}

/* Options as flags of training. */
static inline model_options model_flags(attsvm_model_kind kind, const char *loss, const char *head,
                                        const char *query, int64_t rank)
{
    attsvm_train_settings s;
    attsvm_train_settings_init(&s);
    if (attsvm_settings_set(&attsvm_train_table, &s, "head", head, NULL) != ATTSVM_OK ||
        (*query && attsvm_settings_set(&attsvm_train_table, &s, "query", query, NULL) != ATTSVM_OK))
        fail_msg("head %s, query %s", head, query);
    return (model_options){ .kind = kind,
                            .loss = loss,
                            .head = s.head,
                            .kappa = s.kappa,
                            .query = s.query,
                            .query_token = s.query_token,
                            .rank = rank,
                            .threads = 1 };
}

/* Special properties of a sample. */
enum {
    RAGGED = 1,      /* sequences of different length                          */
    COPIES = 2,      /* each sequence repeats its tokens 0 and 1               */
    EQUAL_SCORE = 4, /* v = e_1, and all tokens but one share coordinate 1     */
    KEY_MAP = 8,     /* W = diag(0,1,..): keys forget coordinate 1             */
    SAME_KEY = 16,   /* token 2 is token 0 but for coordinate 1                */
    QUERIES = 32,    /* three queries a sequence                               */
};

static inline void make(sample *s, uint64_t seed, int64_t n, int64_t T, int64_t d, int flags)
{
    base_random r = base_random_stream(seed, 0);
    memset(s, 0, sizeof *s);
    base_random_gauss_fill(&r, s->X, n * T * d);
    base_random_gauss_fill(&r, s->Z, n * MOST_M * d);
    base_random_gauss_fill(&r, s->v, d);
    base_random_gauss_fill(&r, s->V, d * d);
    base_random_gauss_fill(&r, s->p, d);
    for (int64_t i = 0; i < n * T; i++)
        s->Y[i] = base_random_uniform(&r) < 0.5 ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
        double *x = s->X + i * T * d;
        if (flags & EQUAL_SCORE)
            for (int64_t t = 1; t < T; t++)
                x[t * d] = t == T - 1 ? -0.75 : 0.5;
        if (flags & EQUAL_SCORE)
            x[0] = 0.5;
        if (flags & COPIES)
            memcpy(x + (T - 2) * d, x, 2 * (size_t)d * sizeof *x);
        if (flags & SAME_KEY)
            memcpy(x + 2 * d + 1, x + 1, (size_t)(d - 1) * sizeof *x);
    }
    if (flags & EQUAL_SCORE)
        for (int64_t j = 0; j < d; j++)
            s->v[j] = j == 0;
    int64_t M = flags & QUERIES ? MOST_M : 1, tokens = n * T;
    for (int64_t i = 0; i <= n; i++)
        s->offsets[i] = i == n ? tokens : flags & RAGGED ? i * T - i % 3 : i * T;
    if (flags & RAGGED) {
        put(s, "X", s->X, ATTSVM_F64, 2, tokens, d, 0);
        put(s, "offsets", s->offsets, ATTSVM_I64, 1, n + 1, 0, 0);
    } else {
        put(s, "X", s->X, ATTSVM_F64, 3, n, T, d);
    }
    put(s, "Y", s->Y, ATTSVM_I64, 1, M == 1 ? n : n * M, 0, 0);
    put(s, "Z", s->Z, ATTSVM_F64, M == 1 ? 2 : 3, n, M == 1 ? d : M, d);
    put(s, "v", s->v, ATTSVM_F64, 1, d, 0, 0);
    put(s, "V", s->V, ATTSVM_F64, 2, d, d, 0);
    put(s, "p", s->p, ATTSVM_F64, 1, d, 0, 0);
    if (flags & KEY_MAP) {
        for (int64_t j = 1; j < d; j++)
            s->W[j * d + j] = 1;
        put(s, "W", s->W, ATTSVM_F64, 2, d, d, 0);
    }
    attsvm_error err;
    if (attsvm_data_create(&s->data, s->arrays, s->count, NULL, &err) != ATTSVM_OK)
        fail_msg("%s", err.message);
}

enum { MOST_SIZE = 2 * MOST_D * MOST_D + MOST_D };

static inline model *new_model(const sample *s, attsvm_model_kind kind, const char *loss,
                               const char *head, const char *query, int64_t rank)
{
    model_options options = model_flags(kind, loss, head, query, rank);
    attsvm_error err;
    model *m;
    if (model_create(&m, s->data, &options, &err) != ATTSVM_OK)
        fail_msg("%s", err.message);
    return m;
}

/* A point whose attention parameters have norm `radius` (v: 1). */
static inline void point(const model *m, uint64_t seed, double radius, double *theta)
{
    base_random r = base_random_stream(seed, 1);
    base_random_gauss_fill(&r, theta, m->size);
    for (int b = 0; b < m->parameters; b++) {
        double *x = theta + m->parameter[b].offset, norm = la_norm(x, m->parameter[b].count);
        double target = m->parameter[b].head                          ? 1
                        : m->factored || (m->trains_p && m->trains_W) ? sqrt(radius) * 1.5
                                                                      : radius;
        for (int64_t j = 0; j < m->parameter[b].count; j++)
            x[j] *= target / norm;
    }
}

static inline bool is_prompt(attsvm_model_kind kind)
{
    return kind == ATTSVM_MODEL_P || kind == ATTSVM_MODEL_PW || kind == ATTSVM_MODEL_VP ||
           kind == ATTSVM_MODEL_VPW;
}

typedef void visit(model *m, uint64_t seed);

/* Every model with every head, loss and kind of query that it has. */
static inline void visit_all(int flags, visit *f)
{
    static const char *const losses[] = { "logistic", "exp", "linear" };
    static const char *const heads[] = { "linear", "relu", "concave:0.3" };
    static const char *const queries[] = { "", "1", "all", "causal" };
    sample *s = malloc(sizeof *s);
    uint64_t seed = 1;
    make(s, 7 + (uint64_t)flags, 4, 6, 5, flags);
    for (int kind = ATTSVM_MODEL_P; kind <= ATTSVM_MODEL_VKQ; kind++)
        for (int l = 0; l < 3; l++)
            for (int h = 0; h < 3; h++)
                for (int q = 0; q < (is_prompt((attsvm_model_kind)kind) ? 1 : 4); q++) {
                    bool factored = kind == ATTSVM_MODEL_KQ || kind == ATTSVM_MODEL_VKQ;
                    if ((flags & QUERIES) && (is_prompt((attsvm_model_kind)kind) || q > 0))
                        continue;
                    model *m = new_model(s, (attsvm_model_kind)kind, losses[l], heads[h],
                                         queries[q], factored && l == 1 ? 2 : 0);
                    f(m, seed++);
                    model_free(m);
                }
    attsvm_data_free(s->data);
    free(s);
}

#endif
