/*
 * Creates a model: trained and fixed arrays, keys, scores, duplicate tokens, and all the memory
 * that evaluation needs.
 */
#include "model/small.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = 96,             /* terms per matrix product               */
    BLOCK_WORK = 1 << 17,   /* multiplications per block of sequences */
    BLOCK_VALUES = 5400000, /* values per block if there are more than 64 blocks; not a power of
                               two, so that concurrent reads do not collide in the cache */
    BLOCK_SUMS = 16,        /* ... and at least this many per entry of the block's sum       */
    MOST_BLOCKS = 1024,     /* maximum number of blocks                                      */
    SLOT_MEMORY = 1 << 24,  /* maximum doubles in the sums of concurrent blocks, for large d */
    LEAST_SLOTS = 4,        /* ... but at least this many sums                               */
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

static bool is_prompt(attsvm_model_kind kind)
{
    return kind == ATTSVM_MODEL_P || kind == ATTSVM_MODEL_PW || kind == ATTSVM_MODEL_VP ||
           kind == ATTSVM_MODEL_VPW;
}

/* With the ntp loss the query is the last token, unless the caller says otherwise. */
static attsvm_status set_query(model *m, const model_options *options, attsvm_error *err)
{
    int32_t mode = options->query;
    m->prompt = is_prompt(m->kind);
    if (m->prompt && mode != ATTSVM_QUERY_GIVEN)
        return fail(err, ATTSVM_E_ARG, "query = %s: the query of a prompt model is p",
                    data_query_names[mode - ATTSVM_QUERY_GIVEN]);
    if (m->prompt)
        mode = 0;
    else if (mode == ATTSVM_QUERY_GIVEN && m->loss.takes_log && !attsvm_data_array(m->data, "Z"))
        mode = ATTSVM_QUERY_LAST;
    TRY(data_terms_create(&m->query, m->data, mode, m->prompt ? 0 : options->query_token, err));
    m->terms = m->query.count;
    return ATTSVM_OK;
}

static attsvm_status check_labels(const model *m, attsvm_error *err)
{
    const attsvm_data *data = m->data;
    if (m->loss.takes_log && m->terms != m->n)
        return fail(err, ATTSVM_E_ARG,
                    "loss = ntp: a sequence has one label, so one query; here are %" PRId64
                    " sequence%s and %" PRId64 " quer%s",
                    m->n, base_plural(m->n), m->terms, m->terms == 1 ? "y" : "ies");
    if (m->loss.takes_log)
        return ATTSVM_OK;
    if (!data->Y)
        return fail(err, ATTSVM_E_DATA,
                    "Missing array Y: training needs one label (-1 or +1) for each sequence.%s",
                    attsvm_data_array(data, "labels") ? " Is it the array labels? Call it Y." : "");
    if (data->labels != m->n && data->labels != m->terms)
        return fail(err, ATTSVM_E_DATA,
                    "Y has %" PRId64 " label%s; this model has %" PRId64 " sequence%s and %" PRId64
                    " term%s",
                    data->labels, base_plural(data->labels), m->n, base_plural(m->n), m->terms,
                    base_plural(m->terms));
    return ATTSVM_OK;
}

static void add_parameter(model *m, const char *name, int64_t rows, int64_t cols, bool head)
{
    m->parameter[m->parameters++] =
        (model_parameter){ name, rows, cols, m->size, rows * cols, head };
    m->size += rows * cols;
}

static attsvm_status set_parameters(model *m, int64_t rank, attsvm_error *err)
{
    m->rank = rank > 0 ? rank : m->d;
    if (rank > 0 && !m->factored)
        return fail(err, ATTSVM_E_ARG, "rank = %" PRId64 ": only K and Q have a rank", rank);
    if (rank > m->d)
        return fail(err, ATTSVM_E_ARG,
                    "rank = %" PRId64 " is more than d = %" PRId64
                    ": K Q' has d rows and columns, so that more columns of K and Q add nothing",
                    rank, m->d);
    int64_t entries;
    if (!base_shape_count((int64_t[]){ m->d, m->d, 4 }, 3, &entries))
        return fail(err, ATTSVM_E_MEMORY, "a %" PRId64 " x %" PRId64 " matrix does not fit", m->d,
                    m->d);
    if (m->trains_p)
        add_parameter(m, "p", m->d, 1, false);
    if (m->trains_W)
        add_parameter(m, "W", m->d, m->d, false);
    if (m->factored) {
        add_parameter(m, "K", m->d, m->rank, false);
        add_parameter(m, "Q", m->d, m->rank, false);
    }
    if (m->trains_v)
        add_parameter(m, "v", m->head.size, 1, true);
    return ATTSVM_OK;
}

/* A trained head does not need v: it starts at zero or at random. */
static attsvm_status set_head(model *m, const model_options *options, attsvm_error *err)
{
    if (options->user_head && !options->user_head->value)
        return fail(err, ATTSVM_E_ARG, "the head is given without a function: value is NULL");
    if (options->user_head)
        m->head = model_head_user(*options->user_head);
    m->head.d = m->head.size = m->d;
    m->head.fault = &m->fault;
    if (m->loss.takes_log &&
        (m->trains_v || options->user_head || options->head != ATTSVM_HEAD_LINEAR))
        return fail(err, ATTSVM_E_ARG,
                    "loss = ntp: attention itself is the prediction, there is no head; models are "
                    "p, pW, W, KQ");
    if (options->user_head && m->trains_v)
        return fail(err, ATTSVM_E_ARG, "a head given as a function has no v to train");
    if (options->user_head)
        return ATTSVM_OK;
    const int32_t kind = options->head;
    const double kappa = kind == ATTSVM_HEAD_CONCAVE ? options->kappa : 0;
    m->head.kind = model_head_find(kind);
    const bool needs_v =
        kind == ATTSVM_HEAD_RELU || !m->trains_v || attsvm_data_array(m->data, "v");
    m->head.data = (data_head){ .kind = kind, .kappa = kappa, .d = m->d };
    if (m->loss.takes_log || !needs_v)
        return ATTSVM_OK;
    TRY(data_head_create(&m->head.data, m->data, kind, kappa, err));
    m->head.size = kind == ATTSVM_HEAD_RELU ? m->head.data.width : m->d;
    m->v = m->head.data.v;
    return ATTSVM_OK;
}

/* keys = rows W, for the tokens of this rank or for the table, as doubles. */
static attsvm_status map_keys(model *m, const double *W, attsvm_error *err)
{
    const la_rows tokens = m->keys;
    const int64_t d = m->d, lo = m->data->index ? 0 : m->token_lo;
    const int64_t hi = m->data->index ? tokens.count : m->token_hi;
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
    m->keys = (la_rows){ data->X, NULL, data->rows, m->d, data->dtype };
    if (m->kind == ATTSVM_MODEL_PW) {
        TRY(data_doubles(data, "p", &m->d, 1, &p, err));
        m->fixed[0] = p;
        m->p = p;
    }
    bool fixed_map = m->kind == ATTSVM_MODEL_P || m->kind == ATTSVM_MODEL_VP;
    if (!fixed_map || !attsvm_data_array(data, "W"))
        return ATTSVM_OK;
    TRY(data_doubles(data, "W", (int64_t[]){ m->d, m->d }, 2, &W, err));
    m->fixed[1] = W;
    return map_keys(m, W, err);
}

la_rows model_keys(const model *m, int64_t i)
{
    const attsvm_data *data = m->data;
    int64_t first = data_first(data, i);
    la_rows rows = m->keys;
    rows.count = data_first(data, i + 1) - first;
    if (data->index)
        rows.index = data->index + first;
    else
        rows.base = (const char *)m->keys.base +
                    (size_t)first * (size_t)rows.d * attsvm_dtype_size(rows.dtype);
    return rows;
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

/* Scores of a linear head are computed with the search for duplicates, in the same pass. */
static attsvm_status set_scores(model *m, attsvm_error *err)
{
    if (!m->head.kind->linear || m->trains_v)
        return ATTSVM_OK;
    TRY(allocate_own(&m->scores, m->token_lo, m->token_hi, sizeof *m->scores, "scores", err));
    return m->loss.takes_log ? set_label_scores(m, err) : ATTSVM_OK;
}

static void forget_duplicates(model *m)
{
    free(base_from(m->duplicate_of, -m->token_lo, sizeof *m->duplicate_of));
    free(base_from(m->same_key_as, -m->token_lo, sizeof *m->same_key_as));
    free(base_from(m->has_duplicates, -m->own_lo, 1));
    m->duplicate_of = m->same_key_as = NULL;
    m->has_duplicates = NULL;
}

static attsvm_status set_duplicates(model *m, attsvm_error *err)
{
    const attsvm_data *data = m->data;
    bool any;
    const int64_t lo = m->token_lo, hi = m->token_hi;
    if (data->T_max > INT32_MAX)
        return fail(err, ATTSVM_E_DATA, "a sequence has %" PRId64 " tokens; at most %d are allowed",
                    data->T_max, INT32_MAX);
    TRY(allocate_own(&m->same_key_as, lo, hi, sizeof *m->same_key_as, "copies of tokens", err));
    TRY(allocate_own(&m->has_duplicates, m->own_lo, m->own_hi, 1, "copies of tokens", err));
    TRY(model_read_tokens(m, &any, err));
    if (!any) {
        forget_duplicates(m);
        return ATTSVM_OK;
    }
    TRY(allocate_own(&m->duplicate_of, lo, hi, sizeof *m->duplicate_of, "copies of tokens", err));
    if (!m->keys_memory && !m->loss.takes_log) { /* equal keys mean equal tokens and scores */
        memcpy(m->duplicate_of + lo, m->same_key_as + lo,
               (size_t)(hi - lo) * sizeof *m->duplicate_of);
        return ATTSVM_OK;
    }
    double *scratch;
    TRY(base_allocate(&scratch, 2 * (size_t)m->d, sizeof *scratch, "two tokens", err));
    model_split_by_score(data, m->own_lo, m->own_hi, m->same_key_as, m->scores, scratch,
                         m->duplicate_of);
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
    w->slope_change = take(a, d);
    w->head = take(a, 2 * d + (size_t)m->head.size);
}

/* One entry for each term of this rank. */
static void *take_terms(const model *m, arena *a, size_t size)
{
    return base_from(base_take(a, (size_t)(m->term_hi - m->term_lo), size), m->term_lo, size);
}

static void layout(model *m, arena *a)
{
    size_t part = (size_t)m->map_size;
    const size_t ranks = (size_t)dist_size(m->comm);
    m->rank_term = take_int64(a, ranks + 1);
    m->rank_cell = take_int64(a, ranks + 1);
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
    m->block_first = take_int64(a, (size_t)m->blocks + 1);
    m->map_memory = take(a, part);
    m->attention_gradient = take(a, part);
    model_worker *worker = base_take(a, (size_t)m->threads, sizeof *worker);
    int levels = model_tree_levels(m->block_hi - m->block_lo, m->slots);
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
    m->level = partial ? partial + m->slots : NULL;
}

/* The blocks depend on the data and the model alone, never on the threads. */
static void set_blocks_of_sequences(model *m)
{
    const attsvm_data *data = m->data;
    double work = (double)data->tokens * (double)m->d * ((double)m->terms / (double)m->n);
    double grain = ceil(BLOCK_WORK * (double)m->n / work);
    m->blocks = base_blocks(m->n, grain < 9e15 ? (int64_t)grain : INT64_MAX);
    m->map_size = m->prompt ? m->d : m->d * m->d;
    int64_t slots = SLOT_MEMORY / m->map_size;
    slots = slots > LEAST_SLOTS ? slots : LEAST_SLOTS;
    m->blocks = m->blocks < slots ? m->blocks : slots;
    /* more for large data, so that many ranks have work */
    double each = fmax(BLOCK_VALUES, BLOCK_SUMS * (double)m->map_size);
    double more = fmin((double)data->tokens * (double)m->d / each, MOST_BLOCKS);
    m->blocks = more > (double)m->blocks ? (int64_t)more : m->blocks;
    m->blocks = m->blocks < m->n ? m->blocks : m->n;
    m->block_hi = m->blocks;
    m->comm = m->blocks > 1 ? data->comm : NULL;
    dist_share(m->comm, m->blocks, dist_rank(m->comm), &m->block_lo, &m->block_hi);
    int64_t own = m->block_hi > m->block_lo ? m->block_hi - m->block_lo : 1;
    m->slots = own < slots ? own : slots;
    m->own_lo = data_block_first(data, m->blocks, m->block_lo);
    m->own_hi = data_block_first(data, m->blocks, m->block_hi);
    m->token_lo = data_first(data, m->own_lo);
    m->token_hi = data_first(data, m->own_hi);
    m->term_lo = data_terms_first(&m->query, m->own_lo);
    m->term_hi = data_terms_first(&m->query, m->own_hi);
}

/* The first term and softmax entry of each rank. */
static attsvm_status set_ranks(model *m, attsvm_error *err)
{
    dist_comm *comm = m->comm;
    int ranks = dist_size(comm);
    for (int rank = 0; rank < ranks; rank++) {
        int64_t lo, hi;
        dist_share(comm, m->blocks, rank, &lo, &hi);
        lo = data_block_first(m->data, m->blocks, lo);
        m->rank_term[rank] = data_terms_first(&m->query, lo);
        m->rank_cell[rank] = model_softmax_first(m, lo);
        m->rank_number[rank + 1] = rank + 1;
    }
    m->rank_term[ranks] = m->terms;
    m->rank_cell[ranks] = model_softmax_first(m, m->n);
    return dist_reserve(comm, m->map_size + (m->trains_v ? m->head.size : 0), err);
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
    data_blocks(data, m->blocks, m->block_first);
    return set_ranks(m, err);
}

static attsvm_status build(model *m, const model_options *options, attsvm_error *err)
{
    if (options->user_loss) {
        if (!options->user_loss->value)
            return fail(err, ATTSVM_E_ARG, "the loss is given without a function: value is NULL");
        m->loss = model_loss_user(*options->user_loss);
        m->loss.fault = &m->fault;
        TRY(model_loss_probe(&m->loss, err));
    } else {
        const model_loss *loss;
        TRY(model_loss_find(options->loss, &loss, err));
        m->loss = *loss;
    }
    TRY(set_query(m, options, err));
    TRY(check_labels(m, err));
    TRY(set_head(m, options, err));
    TRY(set_parameters(m, options->rank, err));
    set_blocks_of_sequences(m);
    TRY(set_keys(m, err));
    TRY(set_scores(m, err));
    TRY(set_duplicates(m, err));
    TRY(set_memory(m, err));
    return model_small_create(m, err);
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
    free(m->fixed[0]);
    free(m->fixed[1]);
    data_head_free(&m->head.data);
    free(m->keys_memory);
    free(base_from(m->scores, -m->token_lo, sizeof *m->scores));
    forget_duplicates(m);
    free(m->memory);
    model_small_free(m->small);
    free(m);
}
