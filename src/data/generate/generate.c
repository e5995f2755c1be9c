/*
 * Random data sets: settings, arrays, and pieces of them.  The values are in values.c, the planted
 * selections in plant.c.
 */
#include "data/generate/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "gauss",    "sphere",     "planted-p", "planted-W",
                                     "clusters", "vocabulary", "onehot",    "tied",
                                     "ntp",      "mil-single", "mil-multi", "mil-frequency",
                                     NULL };
static const char *const splits[] = { "train", "test", NULL };
static const char *const dtypes[] = { "float16", "float32", "float64", NULL };

#define SETTINGS attsvm_generate_settings
static const field generate_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(kind), FIELD_CHOICE, ATTSVM_GAUSS, ATTSVM_MIL_FREQUENCY, ATTSVM_GAUSS,
      "what tokens look like; planted kinds have a selection that can be separated, ntp has labels "
      "of next-token prediction, mil kinds are bags that test the multiple-instance assumption",
      kinds, 0 },
    { F(n), FIELD_INT, 1, 1e12, 100, "sequences", 0, 0 },
    { F(T), FIELD_INT, 1, 1e9, 10, "tokens of a sequence, or of the longest", 0, 0 },
    { F(T_min), FIELD_INT, 0, 1e9, 0,
      "tokens of the shortest sequence (lengths are uniform); 0 = all have T", 0, 0 },
    { F(d), FIELD_INT, 1, 1e7, 20, "dimension of a token", 0, 0 },
    { F(queries), FIELD_INT, 0, 1e6, 0, "queries Z for each sequence; planted-W has at least one",
      0, 0 },
    { F(vocabulary), FIELD_INT, 0, 2147483647, 0,
      "words, or centres of clusters; 0: by size (clusters: 8)", 0, 0 },
    { F(dtype), FIELD_CHOICE, ATTSVM_F16, ATTSVM_F64, ATTSVM_F64, "type of tokens and queries",
      dtypes, 0 },
    { F(push), FIELD_DOUBLE, 0, 1e6, 1, "margin by which the planted token leads", 0, 0 },
    { F(optimal), FIELD_BOOL, 0, 1, 1, "the planted token also has the best score", 0, 0 },
    { F(noise), FIELD_DOUBLE, 0, 1e6, 0.1, "typical distance from the centre", 0, 0 },
    { F(split), FIELD_CHOICE, ATTSVM_TRAIN_SPLIT, ATTSVM_TEST_SPLIT, ATTSVM_TRAIN_SPLIT,
      "bags to learn from or to test with", splits, 0 },
    { F(spread), FIELD_DOUBLE, 0, 30, 0, "token norms vary by 10^u, u uniform in +-spread", 0, 0 },
    { F(seed), FIELD_INT, 0, 9e15, 0, "each seed gives another data set", 0, 0 },
    { F(time_limit), FIELD_DOUBLE, 0, 1e9, 0, "time limit in seconds; 0 = no limit", 0, 0 },
    { F(threads), FIELD_INT, 0, 4096, 0,
      "number of threads; 0 = all cores; the values do not depend on it", 0, 0 },
};
#undef SETTINGS

const settings_table attsvm_generate_table = { "generate", generate_fields,
                                               sizeof generate_fields / sizeof *generate_fields,
                                               sizeof(attsvm_generate_settings), NULL };

void attsvm_generate_settings_init(attsvm_generate_settings *settings)
{
    attsvm_settings_init(&attsvm_generate_table, settings);
}

/* ------------------------------------------------------------------------- create */

static int64_t chosen_vocabulary(const attsvm_generate_settings *s)
{
    const double most = 32768, tokens_a_word = 4;
    if (s->vocabulary > 0)
        return s->vocabulary;
    if (s->kind == ATTSVM_CLUSTERS)
        return 8;
    if (s->kind == ATTSVM_ONEHOT)
        return s->d;
    if (s->kind == ATTSVM_NTP) /* words are then independent vectors: every order is feasible */
        return s->d < 4 ? s->d : s->d / 2;
    double words = (double)s->n * (double)s->T / tokens_a_word;
    return (int64_t)(words > most ? most : words < 2 ? 2 : words);
}

/* Conditions between settings. */
static attsvm_status check_together(const attsvm_generate_settings *s, attsvm_error *err)
{
    if (s->T_min > s->T)
        return fail(err, ATTSVM_E_ARG, "T_min = %" PRId64 " is above T = %" PRId64, s->T_min, s->T);
    if (s->kind == ATTSVM_ONEHOT && s->vocabulary > s->d)
        return fail(err, ATTSVM_E_ARG,
                    "vocabulary = %" PRId64 " is above d = %" PRId64
                    ": there are only d unit vectors",
                    s->vocabulary, s->d);
    if (s->kind == ATTSVM_NTP && s->queries > 0)
        return fail(err, ATTSVM_E_ARG,
                    "queries = %" PRId64 ": the query of kind ntp is the last token", s->queries);
    bool planted = s->kind == ATTSVM_PLANTED_P || s->kind == ATTSVM_PLANTED_W;
    int64_t directions = s->kind == ATTSVM_PLANTED_W ? s->queries : 1;
    if (planted && directions + s->optimal > s->d)
        return fail(err, ATTSVM_E_ARG,
                    "d = %" PRId64 " is below %" PRId64 ": %s needs a dimension for each query%s",
                    s->d, directions + s->optimal, kinds[s->kind],
                    s->optimal ? ", and one for the scores unless optimal = no" : "");
    return ATTSVM_OK;
}

static void describe(attsvm_generator *g, const char *name, attsvm_dtype dtype, int ndim,
                     int64_t first, int64_t second, int64_t third)
{
    attsvm_array array = { .dtype = dtype, .ndim = ndim, .shape = { first, second, third } };
    g->arrays[g->count++] = (attsvm_named_array){ .name = name, .array = array };
}

static void describe_arrays(attsvm_generator *g)
{
    const attsvm_generate_settings *s = &g->settings;
    attsvm_dtype dtype = (attsvm_dtype)s->dtype;
    if (data_generate_is_table(g)) {
        describe(g, "E", dtype, 2, s->vocabulary, s->d, 0);
        describe(g, "tokens", ATTSVM_I32, 1, g->tokens, 0, 0);
    } else if (g->offsets) {
        describe(g, "X", dtype, 2, g->tokens, s->d, 0);
    } else {
        describe(g, "X", dtype, 3, s->n, s->T, s->d);
    }
    if (g->offsets)
        describe(g, "offsets", ATTSVM_I64, 1, s->n + 1, 0, 0);
    if (s->kind == ATTSVM_NTP) {
        describe(g, "labels", ATTSVM_I32, 1, s->n, 0, 0);
        return;
    }
    describe(g, "Y", ATTSVM_I8, 1, s->n, 0, 0);
    if (s->queries == 1)
        describe(g, "Z", dtype, 2, s->n, s->d, 0);
    if (s->queries > 1)
        describe(g, "Z", dtype, 3, s->n, s->queries, s->d);
    describe(g, "v", ATTSVM_F64, 1, s->d, 0, 0);
    if (data_generate_is_planted(g))
        describe(g, "ids", ATTSVM_I64, s->queries > 1 ? 2 : 1, s->n, s->queries, 0);
    if (s->kind == ATTSVM_PLANTED_P)
        describe(g, "planted_p", ATTSVM_F64, 1, s->d, 0, 0);
    if (s->kind == ATTSVM_PLANTED_W)
        describe(g, "planted_W", ATTSVM_F64, 2, s->d, s->d, 0);
}

/* The size of every array must fit into a file offset. */
static attsvm_status check_sizes(const attsvm_generate_settings *s, attsvm_error *err)
{
    int64_t all[3] = { s->n, s->T, s->d }, queries[3] = { s->n, s->queries, s->d }, count;
    int64_t most = INT64_MAX / 16;
    if (!base_shape_count(all, 3, &count) || count > most)
        return fail(err, ATTSVM_E_ARG,
                    "n = %" PRId64 ", T = %" PRId64 ", d = %" PRId64 ": n T d is more than %" PRId64
                    " values",
                    s->n, s->T, s->d, most);
    if (!base_shape_count(queries, 3, &count) || count > most)
        return fail(err, ATTSVM_E_ARG,
                    "n = %" PRId64 ", queries = %" PRId64 ", d = %" PRId64
                    ": n queries d is more than %" PRId64 " values",
                    s->n, s->queries, s->d, most);
    return ATTSVM_OK;
}

static void layout(attsvm_generator *g, arena *a)
{
    const attsvm_generate_settings *s = &g->settings;
    size_t n = (size_t)s->n, d = (size_t)s->d;
    size_t threads = (size_t)base_threads(s->threads);
    g->v = take(a, d);
    g->scratch = take(a, threads * (size_t)g->scratch_size);
    if (s->T_min > 0 || data_generate_is_table(g) || data_generate_is_mil(g))
        g->offsets = take_int64(a, n + 1);
    if (data_generate_is_table(g))
        g->zipf = take(a, (size_t)s->vocabulary);
    if (data_generate_is_planted(g)) {
        g->direction = take(a, s->kind == ATTSVM_PLANTED_W ? d * d : d);
        g->plants = base_take(a, n, sizeof *g->plants);
    }
}

static attsvm_status build(attsvm_generator *g, attsvm_error *err)
{
    const attsvm_generate_settings *s = &g->settings;
    arena a = { 0 };
    g->scratch_size = data_generate_is_planted(g) ? data_plant_scratch(g) : s->d;
    layout(g, &a);
    TRY(base_arena_allocate(&a, "generator", err));
    g->memory = a.base;
    layout(g, &a);

    g->tokens = s->n * s->T;
    for (int64_t i = 0; g->offsets && i < s->n; i++)
        g->tokens = g->offsets[i + 1] = g->offsets[i] + data_generate_length(g, i);
    double sum = 0;
    for (int64_t k = 0; g->zipf && k < s->vocabulary; k++)
        g->zipf[k] = sum += 1 / (double)(k + 1);
    data_generate_head(g, g->v);
    describe_arrays(g);
    return data_generate_is_planted(g) ? data_plant_create(g, err) : ATTSVM_OK;
}

attsvm_status attsvm_generator_create(attsvm_generator **out,
                                      const attsvm_generate_settings *settings, attsvm_error *err)
{
    NEED_OUT(out);
    attsvm_generate_settings s;
    attsvm_generate_settings_init(&s);
    if (settings)
        s = *settings;
    TRY(attsvm_settings_check(&attsvm_generate_table, &s, err));
    s.vocabulary = chosen_vocabulary(&s);
    if (s.kind == ATTSVM_PLANTED_W && s.queries == 0)
        s.queries = 1;
    TRY(check_together(&s, err));
    TRY(check_sizes(&s, err));
    attsvm_generator *g;
    TRY(base_allocate(&g, 1, sizeof *g, "generator", err));
    g->settings = s;
    dist_stop_open(&g->stop, NULL, s.time_limit, NULL, NULL);
    attsvm_status status = build(g, err);
    if (status != ATTSVM_OK) {
        attsvm_generator_free(g);
        return status;
    }
    *out = g;
    return ATTSVM_OK;
}

attsvm_status data_generate_stopped(const attsvm_generator *g, attsvm_error *err)
{
    if (dist_stop_why(&g->stop) == DIST_GO_ON)
        return ATTSVM_OK;
    return fail(err, ATTSVM_E_STOPPED, "the time limit of %g seconds was reached",
                g->settings.time_limit);
}

void attsvm_generator_free(attsvm_generator *g)
{
    if (g)
        free(g->memory);
    free(g);
}

attsvm_generator_info attsvm_generator_describe(const attsvm_generator *g)
{
    if (!g)
        return (attsvm_generator_info){ 0 };
    return (attsvm_generator_info){
        .settings = g->settings, .tokens = g->tokens, .count = g->count, .arrays = g->arrays
    };
}
