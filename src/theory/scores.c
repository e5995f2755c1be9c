/* Scores gamma = Y h(x) and the optimal tokens of every term (theory 1 and 5). */
#include "theory/theory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static attsvm_status set_labels(attsvm_scores *s, attsvm_error *err)
{
    const attsvm_data *data = s->data;
    if (!data->Y)
        return fail(err, ATTSVM_E_DATA,
                    "Missing array Y: scores need one label for each sequence (next-token data: "
                    "use attsvm graph).");
    if (data->labels != data->n && data->labels != s->terms.count)
        return fail(err, ATTSVM_E_DATA,
                    "Y has %" PRId64 " label%s for %" PRId64 " sequence%s with %" PRId64 " quer%s",
                    data->labels, base_plural(data->labels), data->n, base_plural(data->n),
                    s->terms.count, s->terms.count == 1 ? "y" : "ies");
    TRY(base_allocate(&s->label, (size_t)s->terms.count, sizeof *s->label, "labels", err));
    int64_t term = 0;
    for (int64_t i = 0; i < data->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&s->terms, i); q++)
            s->label[term++] = (int8_t)data_terms_label(&s->terms, i, q);
    return ATTSVM_OK;
}

static attsvm_status allocate(attsvm_scores **out, const attsvm_data *data, const data_terms *terms,
                              int64_t lo, int64_t hi, attsvm_error *err)
{
    attsvm_scores *s;
    TRY(base_allocate(&s, 1, sizeof *s, "scores", err));
    s->data = data;
    s->terms = *terms;
    s->lo = lo;
    s->hi = hi;
    s->term_lo = data_terms_first(terms, lo);
    s->term_hi = data_terms_first(terms, hi);
    attsvm_status status = set_labels(s, err);
    int64_t first = data_first(data, lo), last = data_first(data, hi);
    if (status == ATTSVM_OK)
        status = base_allocate(&s->value, (size_t)(last - first), sizeof *s->value, "scores", err);
    s->value = base_from(s->value, first, sizeof *s->value);
    if (status != ATTSVM_OK) {
        attsvm_scores_free(s);
        return status;
    }
    *out = s;
    return ATTSVM_OK;
}

/* h of every token, equal tokens with equal bits; h(context, x) is the head. */
static attsvm_status fill(attsvm_scores *s, double (*h)(const void *context, const double *x),
                          const void *context, attsvm_error *err)
{
    const attsvm_data *data = s->data;
    double *x;
    data_reader reader = data_reader_open(data, s->lo, s->hi);
    TRY(base_allocate(&x, (size_t)data->d, sizeof *x, "token", err));
    for (int64_t i; data_reader_each(&reader, &i);) {
        la_rows rows = data_sequence(data, i);
        for (int64_t t = 0; t < rows.count; t++) {
            la_row(&rows, t, x);
            s->value[data_first(data, i) + t] = h(context, x);
        }
    }
    free(x);
    return ATTSVM_OK;
}

static double value_of_data_head(const void *context, const double *x)
{
    return data_head_value(context, x);
}

attsvm_status attsvm_scores_create(attsvm_scores **out, const attsvm_data *data,
                                   const attsvm_svm_settings *settings, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_svm_settings standard;
    data_terms terms;
    data_head head;
    attsvm_scores *s;
    attsvm_svm_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(svm_rows_terms(&terms, data, settings, err));
    TRY(allocate(&s, data, &terms, 0, data->n, err));
    attsvm_status status = data_head_create(&head, data, settings->head, settings->kappa, err);
    if (status == ATTSVM_OK) {
        status = fill(s, value_of_data_head, &head, err);
        data_head_free(&head);
    }
    if (status == ATTSVM_OK && terms.mode == 0 && attsvm_data_array(data, "W"))
        status = data_doubles(data, "W", (int64_t[]){ data->d, data->d }, 2, &s->keymap, err);
    if (status != ATTSVM_OK) {
        attsvm_scores_free(s);
        return status;
    }
    *out = s;
    return ATTSVM_OK;
}

void attsvm_scores_free(attsvm_scores *scores)
{
    if (!scores)
        return;
    free(scores->keymap);
    free(base_from(scores->value, -data_first(scores->data, scores->lo), sizeof *scores->value));
    free(scores->label);
    free(scores);
}

/* ------------------------------------------------------------------- of a model */

/* The head of a model as a function of one token. */
typedef struct model_value_of {
    const model_head *head;
    const double *v;
    double *scratch;
} model_value_of;

static double value_of_model_head(const void *context, const double *x)
{
    const model_value_of *m = context;
    return model_head_value(m->head, m->v, x, m->scratch);
}

attsvm_status theory_scores_of_model(attsvm_scores **out, const attsvm_train *run,
                                     attsvm_error *err)
{
    const model *m = run->m;
    const attsvm_data *data = m->data;
    attsvm_scores *s;
    *out = NULL;
    TRY(allocate(&s, data, &m->query, m->own_lo, m->own_hi, err));
    s->comm = m->comm;
    attsvm_status status = ATTSVM_OK;
    bool fixed_map = m->prompt && !m->trains_W;
    if (m->scores) {
        memcpy(s->value + m->token_lo, m->scores + m->token_lo,
               (size_t)(m->token_hi - m->token_lo) * sizeof *s->value);
    } else {
        double *memory;
        status = base_allocate(&memory, (size_t)m->d, sizeof *memory, "head", err);
        if (status == ATTSVM_OK) {
            const double *v =
                m->trains_v ? run->theta + m->parameter[m->parameters - 1].offset : m->v;
            model_value_of head = { &m->head, v, memory };
            status = fill(s, value_of_model_head, &head, err);
            free(memory);
        }
    }
    if (status == ATTSVM_OK && fixed_map && attsvm_data_array(data, "W"))
        status = data_doubles(data, "W", (int64_t[]){ data->d, data->d }, 2, &s->keymap, err);
    if (status != ATTSVM_OK) {
        attsvm_scores_free(s);
        return status;
    }
    *out = s;
    return ATTSVM_OK;
}

/* ---------------------------------------------------------------------- reading */

int64_t attsvm_scores_terms(const attsvm_scores *scores)
{
    if (!scores)
        return 0;
    return scores->terms.count;
}

/* Sequence and query of a term. */
static void locate(const attsvm_scores *s, int64_t term, int64_t *i, int64_t *q)
{
    *i = term;
    *q = 0;
    if (s->terms.count != s->data->n || data_terms_queries(&s->terms, 0) != 1)
        data_terms_find(&s->terms, term, i, q);
}

double attsvm_scores_gamma(const attsvm_scores *scores, int64_t term, int64_t token)
{
    int64_t i, q;
    if (!scores || term < 0 || term >= scores->terms.count)
        return NAN;
    locate(scores, term, &i, &q);
    if (token < 0 || token >= data_length(scores->data, i))
        return NAN;
    return scores->label[term] * scores->value[data_first(scores->data, i) + token];
}

bool theory_is_copy(const attsvm_scores *scores, int64_t i, int64_t a, int64_t t)
{
    const double *value = scores->value + data_first(scores->data, i);
    return value[a] == value[t] && data_same_key(scores->data, scores->keymap, i, a, t);
}

attsvm_term attsvm_scores_term(const attsvm_scores *scores, int64_t term)
{
    if (!scores || term < 0 || term >= scores->terms.count)
        return (attsvm_term){ 0 };
    attsvm_term out = { .best = -INFINITY, .next = -INFINITY, .worst = INFINITY };
    locate(scores, term, &out.sequence, &out.query);
    const double *value = scores->value + data_first(scores->data, out.sequence);
    double label = scores->label[term];
    out.tokens = data_terms_visible(&scores->terms, out.sequence, out.query);
    for (int64_t t = 0; t < out.tokens; t++) {
        double gamma = label * value[t];
        if (gamma > out.best) {
            out.next = out.best;
            out.best = gamma;
            out.optimal = t;
        } else if (gamma < out.best && gamma > out.next) {
            out.next = gamma;
        }
        out.worst = gamma < out.worst ? gamma : out.worst;
    }
    for (int64_t t = out.optimal + 1; t < out.tokens; t++)
        out.tied +=
            label * value[t] == out.best && !theory_is_copy(scores, out.sequence, out.optimal, t);
    return out;
}
