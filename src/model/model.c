/*
 * Making a model: what is trained, what is fixed and where it comes from, keys, scores, copies of
 * tokens, and all the memory that evaluation needs.
 */
#include "model/model.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 96,            /* terms whose matrix products are done together               */
    PART_WORK = 1 << 17,   /* multiplications for which a block of sequences is worthwhile */
    PART_VALUES = 5400000, /* values of a block where there are more than 64; no power of two, or
                              what is read side by side would meet in the cache            */
    PART_SUMS = 16,        /* ... which are so many for each entry of its sum              */
    MOST_PARTS = 1024,     /* blocks at most                                               */
    SLOT_MEMORY = 1 << 24, /* most doubles in the sums of blocks side by side, where d is large */
    LEAST_SLOTS = 4,       /* ... but so many all the same                                  */
};

static const struct {
    bool p, W, factored, v;
} trained[] = {
    [ATTSVM_MODEL_P] = { .p = true },
    [ATTSVM_MODEL_PW] = { .W = true },
    [ATTSVM_MODEL_W] = { .W = true },
    [ATTSVM_MODEL_KQ] = { .factored = true },
    [ATTSVM_MODEL_VP] = { .p = true, .v = true },
    [ATTSVM_MODEL_VPW] = { .p = true, .W = true, .v = true },
    [ATTSVM_MODEL_VW] = { .W = true, .v = true },
    [ATTSVM_MODEL_VKQ] = { .factored = true, .v = true },
};

static bool is_prompt(attsvm_model kind)
{
    return kind == ATTSVM_MODEL_P || kind == ATTSVM_MODEL_PW || kind == ATTSVM_MODEL_VP ||
           kind == ATTSVM_MODEL_VPW;
}

static attsvm_status token_number(const char *text, int64_t *out, attsvm_error *err)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if (end == text || *end || isspace((unsigned char)*text) || value < 0)
        return fail(err, ATTSVM_E_ARG, "query = %s: expected a token number, last, all, or causal",
                    text);
    *out = value;
    return ATTSVM_OK;
}

static attsvm_status set_query(model *m, const char *text, attsvm_error *err)
{
    bool unsaid = !text || !*text;
    int32_t mode = ATTSVM_QUERY_GIVEN;
    int64_t token = 0;
    m->prompt = is_prompt(m->kind);
    if (m->prompt && !unsaid)
        return fail(err, ATTSVM_E_ARG, "query = %s: the query of a prompt model is p", text);
    if (m->prompt)
        mode = 0;
    else if (unsaid ? m->loss.of_log && !attsvm_data_array(m->data, "Z")
                    : strcmp(text, "last") == 0)
        mode = ATTSVM_QUERY_LAST;
    else if (!unsaid && strcmp(text, "all") == 0)
        mode = ATTSVM_QUERY_ALL;
    else if (!unsaid && strcmp(text, "causal") == 0)
        mode = ATTSVM_QUERY_CAUSAL;
    else if (!unsaid)
        mode = ATTSVM_QUERY_TOKEN;
    if (mode == ATTSVM_QUERY_TOKEN)
        TRY(token_number(text, &token, err));
    TRY(data_terms_create(&m->query, m->data, mode, token, err));
    m->terms = m->query.count;
    return ATTSVM_OK;
}

static attsvm_status check_labels(const model *m, attsvm_error *err)
{
    const attsvm_data *data = m->data;
    if (m->loss.of_log && m->terms != m->n)
        return fail(err, ATTSVM_E_ARG,
                    "loss = ntp: a sequence has one label, so one query; here are %" PRId64
                    " sequences and %" PRId64 " queries",
                    m->n, m->terms);
    if (m->loss.of_log)
        return ATTSVM_OK;
    if (!data->Y)
        return fail(err, ATTSVM_E_DATA, "Y is needed and not there: training wants labels");
    if (data->labels != m->n && data->labels != m->terms)
        return fail(err, ATTSVM_E_DATA,
                    "Y has %" PRId64 " labels; this model has %" PRId64 " sequences and %" PRId64
                    " terms",
                    data->labels, m->n, m->terms);
    return ATTSVM_OK;
}

static void add_block(model *m, const char *name, int64_t rows, int64_t cols, bool head)
{
    m->block[m->blocks++] = (model_block){ name, rows, cols, m->size, rows * cols, head };
    m->size += rows * cols;
}

static attsvm_status set_blocks(model *m, int64_t rank, attsvm_error *err)
{
    m->rank = rank > 0 ? rank : m->d;
    if (rank > 0 && !m->factored)
        return fail(err, ATTSVM_E_ARG, "rank = %" PRId64 ": only K and Q have a rank", rank);
    int64_t most = m->rank > m->d ? m->rank : m->d, entries;
    if (!base_shape_count((int64_t[]){ most, most, 4 }, 3, &entries))
        return fail(err, ATTSVM_E_MEMORY, "a %" PRId64 " x %" PRId64 " matrix does not fit", most,
                    most);
    if (m->trains_p)
        add_block(m, "p", m->d, 1, false);
    if (m->trains_W)
        add_block(m, "W", m->d, m->d, false);
    if (m->factored) {
        add_block(m, "K", m->d, m->rank, false);
        add_block(m, "Q", m->d, m->rank, false);
    }
    if (m->trains_v)
        add_block(m, "v", m->head.size, 1, true);
    return ATTSVM_OK;
}

/* Head arrays: V (h,d) of the ReLU head; v (d), or (h) with ones when absent. */
static attsvm_status set_head(model *m, const model_options *options, attsvm_error *err)
{
    double *V = NULL, *v = NULL;
    m->head.d = m->head.size = m->d;
    if (m->loss.of_log &&
        (m->trains_v || options->user_head || strcmp(options->head, "linear") != 0))
        return fail(err, ATTSVM_E_ARG,
                    "loss = ntp: attention itself is the prediction, there is no head; models are "
                    "p, pW, W, KQ");
    if (m->loss.of_log) {
        m->head.kind = &model_head_linear;
        return ATTSVM_OK;
    }
    if (options->user_head) {
        m->head.kind = &model_head_user;
        m->head.callback = *options->user_head;
        if (m->trains_v)
            return fail(err, ATTSVM_E_ARG, "a head given as a function has no v to train");
        return ATTSVM_OK;
    }
    TRY(model_head_find(options->head, &m->head.kind, &m->head.kappa, err));
    if (m->head.kind == &model_head_relu) {
        const attsvm_array *array = attsvm_data_array(m->data, "V");
        int64_t h = array && array->ndim == 2 ? array->shape[0] : m->d;
        TRY(data_doubles(m->data, "V", (int64_t[]){ h, m->d }, 2, &V, err));
        m->fixed[0] = V;
        m->head.V = V;
        m->head.size = h;
        if (!attsvm_data_array(m->data, "v")) {
            TRY(base_allocate(&v, (size_t)h, sizeof *v, "v", err));
            for (int64_t j = 0; j < h; j++)
                v[j] = 1;
        }
    }
    if (!v && (!m->trains_v || attsvm_data_array(m->data, "v")))
        TRY(data_doubles(m->data, "v", &m->head.size, 1, &v, err));
    m->fixed[1] = v;
    m->v = v;
    return ATTSVM_OK;
}

/* keys = rows W, for the tokens of this rank or for the table, as doubles. */
static attsvm_status map_keys(model *m, const double *W, attsvm_error *err)
{
    const la_rows tokens = m->keys;
    const int64_t d = m->d, lo = m->data->vocabulary ? 0 : m->token_lo;
    const int64_t hi = m->data->vocabulary ? tokens.count : m->token_hi;
    double *K, *x;
    size_t count;
    if (!base_multiply((size_t)(hi - lo), (size_t)d, &count))
        return fail(err, ATTSVM_E_MEMORY, "keys: their size in bytes does not fit this machine");
    TRY(base_allocate(&K, count, sizeof *K, "keys", err));
    m->keys_memory = K;
    TRY(base_allocate(&x, (size_t)d, sizeof *x, "keys", err));
    for (int64_t t = lo; t < hi; t++) {
        la_row(&tokens, t, x);
        for (int64_t j = 0; j < d; j++)
            K[(t - lo) * d + j] = la_dot(W + j * d, x, d);
    }
    free(x);
    m->keys.base = base_from(K, lo * d, sizeof *K);
    m->keys.dtype = ATTSVM_F64;
    return ATTSVM_OK;
}

static attsvm_status set_keys(model *m, attsvm_error *err)
{
    const attsvm_data *data = m->data;
    double *p, *W;
    m->keys = (la_rows){ data->X, NULL, data->vocabulary ? data->vocabulary : data->tokens, m->d,
                         data->dtype };
    if (m->kind == ATTSVM_MODEL_PW) {
        TRY(data_doubles(data, "p", &m->d, 1, &p, err));
        m->fixed[2] = p;
        m->p = p;
    }
    bool fixed_map = m->kind == ATTSVM_MODEL_P || m->kind == ATTSVM_MODEL_VP;
    if (!fixed_map || !attsvm_data_array(data, "W"))
        return ATTSVM_OK;
    TRY(data_doubles(data, "W", (int64_t[]){ m->d, m->d }, 2, &W, err));
    m->fixed[3] = W;
    return map_keys(m, W, err);
}

/* Next-token prediction: 1 for the label, 0 for the other words. */
static attsvm_status set_label_scores(model *m, attsvm_error *err)
{
    int32_t *next;
    TRY(data_next_words(m->data, &next, err));
    for (int64_t i = m->own_lo; i < m->own_hi; i++)
        for (int64_t t = data_first(m->data, i); t < data_first(m->data, i + 1); t++)
            m->scores[t] = m->data->index[t] == next[i];
    free(next);
    return ATTSVM_OK;
}

/* Entries lo..hi-1 of an array by token or by sequence. */
static attsvm_status allocate_own(void *out_pointer, int64_t lo, int64_t hi, size_t size,
                                  const char *what, attsvm_error *err)
{
    void *memory;
    TRY(base_allocate(&memory, (size_t)(hi - lo), size, what, err));
    memory = base_from(memory, lo, size);
    memcpy(out_pointer, &memory, sizeof memory);
    return ATTSVM_OK;
}

/* Those of a linear head are left to the walk over the tokens that finds copies. */
static attsvm_status set_scores(model *m, attsvm_error *err)
{
    if (!m->head.kind->linear || m->trains_v)
        return ATTSVM_OK;
    TRY(allocate_own(&m->scores, m->token_lo, m->token_hi, sizeof *m->scores, "scores", err));
    return m->loss.of_log ? set_label_scores(m, err) : ATTSVM_OK;
}

static void forget_repeats(model *m)
{
    free(base_from(m->same, -m->token_lo, sizeof *m->same));
    free(base_from(m->same_key, -m->token_lo, sizeof *m->same_key));
    free(base_from(m->repeats, -m->own_lo, 1));
    m->same = m->same_key = NULL;
    m->repeats = NULL;
}

static attsvm_status set_repeats(model *m, attsvm_error *err)
{
    const attsvm_data *data = m->data;
    bool any;
    const int64_t lo = m->token_lo, hi = m->token_hi;
    if (data->T_max > INT32_MAX)
        return fail(err, ATTSVM_E_DATA, "a sequence has %" PRId64 " tokens; at most %d are allowed",
                    data->T_max, INT32_MAX);
    TRY(allocate_own(&m->same_key, lo, hi, sizeof *m->same_key, "copies of tokens", err));
    TRY(allocate_own(&m->repeats, m->own_lo, m->own_hi, 1, "copies of tokens", err));
    TRY(model_read_tokens(m, &any, err));
    if (!any) {
        forget_repeats(m);
        return ATTSVM_OK;
    }
    TRY(allocate_own(&m->same, lo, hi, sizeof *m->same, "copies of tokens", err));
    if (!m->keys_memory && !m->loss.of_log) { /* the same key is the same token and score */
        memcpy(m->same + lo, m->same_key + lo, (size_t)(hi - lo) * sizeof *m->same);
        return ATTSVM_OK;
    }
    double *scratch;
    TRY(base_allocate(&scratch, 2 * (size_t)m->d, sizeof *scratch, "two tokens", err));
    model_split_by_score(data, m->own_lo, m->own_hi, m->same_key, m->scores, scratch, m->same);
    free(scratch);
    return ATTSVM_OK;
}

static void layout_worker(model *m, model_worker *w, arena *a)
{
    size_t d = (size_t)m->d, chunk = (size_t)m->chunk, T = (size_t)m->data->T_max;
    size_t rows = m->prompt ? 0 : chunk;
    w->Z = take(a, rows * d);
    w->B = take(a, rows * d);
    w->U = take(a, rows * d);
    w->rate = take(a, chunk);
    w->exponent = take(a, chunk);
    w->a = take(a, T);
    w->m = take(a, T);
    w->e = take(a, T);
    w->w = take(a, T);
    w->score = take(a, T);
    w->small = take(a, T);
    w->scratch = take(a, 2 * T);
    w->u = take(a, d);
    w->slope = take(a, d);
    w->delta = take(a, d);
    w->x = take(a, d);
    w->turn = take(a, d);
    w->head = take(a, 2 * d + (size_t)m->head.size);
}

/* One entry for each term of this rank. */
static void *take_terms(const model *m, arena *a, size_t size)
{
    return base_from(base_take(a, (size_t)(m->term_hi - m->term_lo), size), m->term_lo, size);
}

static void layout(model *m, arena *a)
{
    size_t part = (size_t)m->part_size;
    const size_t ranks = (size_t)dist_size(m->comm);
    m->rank_term = take_int64(a, ranks + 1);
    m->rank_token = take_int64(a, ranks + 1);
    m->rank_number = take_int64(a, ranks + 1);
    m->rank_sums = base_take(a, ranks, sizeof *m->rank_sums);
    m->selected = take_int64(a, (size_t)m->terms);
    m->attention = take_terms(m, a, sizeof(double));
    m->entropy = take_terms(m, a, sizeof(double));
    m->output = take_terms(m, a, sizeof(double));
    m->gap = take_terms(m, a, sizeof(double));
    m->loss_limit = take_terms(m, a, sizeof(double));
    m->loss_best = take_terms(m, a, sizeof(double));
    m->loss_excess = take_terms(m, a, sizeof *m->loss_excess);
    m->part_first = take_int64(a, (size_t)m->parts + 1);
    m->map_memory = take(a, part);
    m->attention_gradient = take(a, part);
    model_worker *worker = base_take(a, (size_t)m->threads, sizeof *worker);
    int levels = model_tree_levels(m->part_hi - m->part_lo, m->slots);
    model_partial *partial = base_take(a, (size_t)(m->slots + levels), sizeof *partial);
    for (int k = 0; k < m->threads; k++) {
        model_worker measured;
        layout_worker(m, worker ? &worker[k] : &measured, a);
    }
    for (int64_t b = 0; b < m->slots + levels; b++) {
        double *attention = take(a, part), *v = take(a, m->trains_v ? (size_t)m->head.size : 0);
        if (partial)
            partial[b] = (model_partial){ .attention = attention, .v = v };
    }
    m->worker = worker;
    m->slot = partial;
    m->kept = partial ? partial + m->slots : NULL;
}

/* How the work is cut depends on the data and the model alone, never on the threads. */
static void set_parts(model *m)
{
    const attsvm_data *data = m->data;
    double work = (double)data->tokens * (double)m->d * ((double)m->terms / (double)m->n);
    double grain = ceil(PART_WORK * (double)m->n / work);
    m->parts = base_blocks(m->n, grain < 9e15 ? (int64_t)grain : INT64_MAX);
    m->part_size = m->prompt ? m->d : m->d * m->d;
    int64_t slots = SLOT_MEMORY / m->part_size;
    slots = slots > LEAST_SLOTS ? slots : LEAST_SLOTS;
    m->parts = m->parts < slots ? m->parts : slots;
    /* more for large data, so that many ranks have work */
    double each = fmax(PART_VALUES, PART_SUMS * (double)m->part_size);
    double more = fmin((double)data->tokens * (double)m->d / each, MOST_PARTS);
    m->parts = more > (double)m->parts ? (int64_t)more : m->parts;
    m->parts = m->parts < m->n ? m->parts : m->n;
    m->part_hi = m->parts;
    m->comm = m->parts > 1 ? data->comm : NULL;
    dist_share(m->comm, m->parts, dist_rank(m->comm), &m->part_lo, &m->part_hi);
    int64_t own = m->part_hi > m->part_lo ? m->part_hi - m->part_lo : 1;
    m->slots = own < slots ? own : slots;
    m->own_lo = data_block_first(data, m->parts, m->part_lo);
    m->own_hi = data_block_first(data, m->parts, m->part_hi);
    m->token_lo = data_first(data, m->own_lo);
    m->token_hi = data_first(data, m->own_hi);
    m->term_lo = data_terms_first(&m->query, m->own_lo);
    m->term_hi = data_terms_first(&m->query, m->own_hi);
}

/* Where the terms and softmax entries of each rank begin. */
static attsvm_status set_ranks(model *m, attsvm_error *err)
{
    dist_comm *comm = m->comm;
    int ranks = dist_size(comm);
    for (int rank = 0; rank < ranks; rank++) {
        int64_t lo, hi;
        dist_share(comm, m->parts, rank, &lo, &hi);
        lo = data_block_first(m->data, m->parts, lo);
        m->rank_term[rank] = data_terms_first(&m->query, lo);
        m->rank_token[rank] = model_softmax_first(m, lo);
        m->rank_number[rank + 1] = rank + 1;
    }
    m->rank_term[ranks] = m->terms;
    m->rank_token[ranks] = model_softmax_first(m, m->n);
    return dist_reserve(comm, m->part_size + (m->trains_v ? m->head.size : 0), err);
}

static attsvm_status set_memory(model *m, attsvm_error *err)
{
    const attsvm_data *data = m->data;
    m->chunk = m->terms < CHUNK ? m->terms : CHUNK;
    arena a = { 0 };
    layout(m, &a);
    TRY(base_arena_allocate(&a, "model", err));
    m->memory = a.base;
    layout(m, &a);
    data_blocks(data, m->parts, m->part_first);
    return set_ranks(m, err);
}

static attsvm_status build(model *m, const model_options *options, attsvm_error *err)
{
    if (options->user_loss) {
        m->loss = model_loss_user(*options->user_loss);
    } else {
        const model_loss *loss;
        TRY(model_loss_find(options->loss, &loss, err));
        m->loss = *loss;
    }
    TRY(set_query(m, options->query, err));
    TRY(check_labels(m, err));
    TRY(set_head(m, options, err));
    TRY(set_blocks(m, options->rank, err));
    set_parts(m);
    TRY(set_keys(m, err));
    TRY(set_scores(m, err));
    TRY(set_repeats(m, err));
    TRY(set_memory(m, err));
    return model_lanes_create(m, err);
}

attsvm_status model_create(model **out, const attsvm_data *data, const model_options *options,
                           attsvm_error *err)
{
    *out = NULL;
    if (options->kind < ATTSVM_MODEL_P || options->kind > ATTSVM_MODEL_VKQ)
        return fail(err, ATTSVM_E_ARG, "model = %d is not known", (int)options->kind);
    model *m;
    TRY(base_allocate(&m, 1, sizeof *m, "model", err));
    m->data = data;
    m->kind = options->kind;
    m->trains_p = trained[m->kind].p;
    m->trains_W = trained[m->kind].W;
    m->factored = trained[m->kind].factored;
    m->trains_v = trained[m->kind].v;
    m->n = data->n;
    m->d = data->d;
    m->threads = base_threads(options->threads);
    attsvm_status status = build(m, options, err);
    if (status != ATTSVM_OK) {
        model_free(m);
        return status;
    }
    *out = m;
    return ATTSVM_OK;
}

void model_free(model *m)
{
    if (!m)
        return;
    for (int k = 0; k < 4; k++)
        free(m->fixed[k]);
    free(m->keys_memory);
    free(base_from(m->scores, -m->token_lo, sizeof *m->scores));
    forget_repeats(m);
    free(m->memory);
    free(m->lanes_memory);
    free(m);
}
