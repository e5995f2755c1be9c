/* Reasons in the data why attention cannot change the loss, whatever its parameters are. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* A walk over all tokens, with room for three of them. */
typedef struct walk {
    const attsvm_data *data;
    int64_t n, d;
    double *first, *x, *z; /* (d) each; first owns all */
} walk;

static bool walk_open(walk *w, const attsvm_data *data)
{
    const attsvm_data_info info = attsvm_data_describe(data);
    *w = (walk){ .data = data,
                 .n = info.n,
                 .d = info.d,
                 .first = calloc((size_t)info.d, 3 * sizeof *w->first) };
    if (!w->first)
        return false;
    w->x = w->first + info.d;
    w->z = w->x + info.d;
    return true;
}

/* The head of the data set if it gives every token a score of its own; otherwise NULL. */
static const attsvm_array *linear_head(const attsvm_data *data, const cli_layer *layer)
{
    const attsvm_array *v = attsvm_data_array(data, "v");
    const bool scored = layer->head == ATTSVM_HEAD_LINEAR && layer->model < ATTSVM_MODEL_VP &&
                        strcmp(layer->loss, "ntp") != 0;
    return scored && v && attsvm_array_count(v) == attsvm_data_describe(data).d ? v : NULL;
}

/* In every sequence all tokens are equal, or have the same score v'x (v: d numbers; NULL: none). */
static bool has_equal_tokens(const attsvm_data *data, const attsvm_array *v)
{
    walk w;
    bool equal = walk_open(&w, data);
    for (int64_t i = 0; i < w.n && equal; i++) {
        attsvm_data_token(data, i, 0, w.first);
        for (int64_t t = 1; t < attsvm_data_length(data, i) && equal; t++) {
            double a = 0, b = 0;
            bool same = true;
            attsvm_data_token(data, i, t, w.x);
            for (int64_t j = 0; j < w.d; j++) {
                same = same && w.x[j] == w.first[j];
                a += v ? attsvm_array_get(v, j) * w.first[j] : 0;
                b += v ? attsvm_array_get(v, j) * w.x[j] : 0;
            }
            equal = same || (v && a == b);
        }
    }
    free(w.first);
    return equal;
}

/* Query q of sequence i, as in theory 1; `Z` is NULL unless the data set has queries to use. */
static bool is_zero_query(walk *w, const attsvm_array *Z, int32_t query, int64_t token, int64_t i,
                          int64_t q)
{
    const int64_t queries = attsvm_data_describe(w->data).queries;
    if (!Z)
        attsvm_data_token(w->data, i,
                          query == ATTSVM_QUERY_ALL || query == ATTSVM_QUERY_CAUSAL ? q
                          : query == ATTSVM_QUERY_LAST ? attsvm_data_length(w->data, i) - 1
                                                       : token,
                          w->z);
    for (int64_t j = 0; j < w->d; j++)
        if ((Z ? attsvm_array_get(Z, (i * queries + q) * w->d + j) : w->z[j]) != 0)
            return false;
    return true;
}

/* W models: every query that sees different tokens is 0. */
static bool has_zero_queries(const attsvm_data *data, const cli_layer *layer)
{
    walk w;
    int32_t query = layer->query;
    const attsvm_array *Z = query == ATTSVM_QUERY_GIVEN ? attsvm_data_array(data, "Z") : NULL;
    bool zero = walk_open(&w, data), some = false;
    if (query == ATTSVM_QUERY_GIVEN && !Z && strcmp(layer->loss, "ntp") == 0)
        query = ATTSVM_QUERY_LAST;
    const bool all = query == ATTSVM_QUERY_ALL || query == ATTSVM_QUERY_CAUSAL;
    for (int64_t i = 0; i < w.n && zero; i++) {
        const int64_t T = attsvm_data_length(data, i);
        const int64_t queries = Z ? attsvm_data_describe(data).queries : all ? T : 1;
        int64_t differs = 1; /* the first token that is not token 0 */
        attsvm_data_token(data, i, 0, w.first);
        for (bool same = true; differs < T && same; differs += same) {
            attsvm_data_token(data, i, differs, w.x);
            for (int64_t j = 0; j < w.d; j++)
                same = same && w.x[j] == w.first[j];
        }
        for (int64_t q = query == ATTSVM_QUERY_CAUSAL ? differs : 0; q < queries && zero; q++) {
            zero = differs == T || is_zero_query(&w, Z, query, layer->query_token, i, q);
            some = some || differs < T;
        }
    }
    free(w.first);
    return zero && some;
}

/* Prompt models with a fixed W: W (x - y) = 0 for all tokens x and y of a sequence.  A sufficient
   test without rounding: where tokens differ, W has a column of zeros. */
static bool has_equal_keys(const attsvm_data *data)
{
    walk w;
    const attsvm_array *W = attsvm_data_array(data, "W");
    bool equal = walk_open(&w, data) && W && attsvm_array_count(W) == w.d * w.d;
    for (int64_t k = 0; equal && k < w.d * w.d; k++) /* z: the columns that count */
        w.z[k % w.d] += attsvm_array_get(W, k) != 0;
    for (int64_t i = 0; i < w.n && equal; i++) {
        attsvm_data_token(data, i, 0, w.first);
        for (int64_t t = 1; t < attsvm_data_length(data, i) && equal; t++) {
            attsvm_data_token(data, i, t, w.x);
            for (int64_t j = 0; j < w.d; j++)
                equal = equal && (w.z[j] == 0 || w.x[j] == w.first[j]);
        }
    }
    free(w.first);
    return equal;
}

const char *cli_constant_logits(const attsvm_data *data, const cli_layer *layer)
{
    switch (layer->model) {
    case ATTSVM_MODEL_P:
    case ATTSVM_MODEL_VP:
        return has_equal_keys(data) ? "In every sequence all keys W x are equal: so are the "
                                      "logits, whatever p is."
                                    : NULL;
    case ATTSVM_MODEL_PW:
    case ATTSVM_MODEL_VPW: return NULL;
    default:
        return has_zero_queries(data, layer)
                   ? "Every query that sees different tokens is 0: so are its logits, whatever the "
                     "parameters are."
                   : NULL;
    }
}

const char *cli_no_effect(const attsvm_data *data, const cli_layer *layer)
{
    if (has_equal_tokens(data, NULL))
        return "Every sequence has only one token, or copies of one: attention has nothing to "
               "choose.";
    const char *constant = cli_constant_logits(data, layer);
    if (constant)
        return constant;
    const attsvm_array *v = linear_head(data, layer);
    return v && has_equal_tokens(data, v) ? "In every sequence all tokens have the same score: "
                                            "attention does not change the loss."
                                          : NULL;
}
