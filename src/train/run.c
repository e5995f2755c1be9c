/* Creates a run: copies and parses settings, creates the model, memory and start values. */
#include "train/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "E" or "E,E_v". */
static attsvm_status read_eps(attsvm_train *t, attsvm_error *err)
{
    const char *text = t->settings.eps;
    char *end;
    t->eps = t->eps_v = isnan(t->rule->eps) ? 0 : t->rule->eps;
    if (!*text)
        return ATTSVM_OK;
    if (isnan(t->rule->eps))
        return fail(err, ATTSVM_E_ARG, "eps = %s: the step rule %s has no eps", text,
                    t->rule->flag);
    t->eps = t->eps_v = strtod(text, &end);
    bool good = end != text;
    if (good && *end == ',') {
        const char *second = end + 1;
        t->eps_v = strtod(second, &end);
        good = end != second;
    }
    if (!good || *end || !(t->eps >= 0 && t->eps_v >= 0) || isinf(t->eps + t->eps_v))
        return fail(err, ATTSVM_E_ARG, "eps = %s: expected E or E,E_V, each 0 or more", text);
    return ATTSVM_OK;
}

/* L* of the Polyak step: known for a fixed linear head, 0 for joint training, else given. */
static attsvm_status read_lstar(attsvm_train *t, attsvm_error *err)
{
    const char *text = t->settings.lstar;
    char *end;
    t->lstar = NAN;
    if (*text && !t->rule->takes_lstar)
        return fail(err, ATTSVM_E_ARG, "lstar = %s: the step rule %s does not use it", text,
                    t->rule->flag);
    if (*text) {
        t->lstar = strtod(text, &end);
        if (end == text || *end || !isfinite(t->lstar))
            return fail(err, ATTSVM_E_ARG, "lstar = %s is not a number", text);
        return ATTSVM_OK;
    }
    bool joint = t->m->trains_v && t->m->loss.magnitude;
    bool known = t->m->scores && !t->m->loss.takes_log;
    if (t->rule->takes_lstar && !known && !joint)
        return fail(err, ATTSVM_E_ARG,
                    "lstar is needed: the lowest loss is only known for a fixed linear head, and "
                    "for joint training with the logistic or exp loss");
    return ATTSVM_OK;
}

static void layout(attsvm_train *t, arena *a)
{
    const model *m = t->m;
    size_t size = (size_t)m->size, states = (size_t)t->rule->states;
    int64_t scratch = 0;
    for (int b = 0; b < m->parameters; b++) {
        int64_t own =
            t->rule->scratch ? t->rule->scratch(m->parameter[b].rows, m->parameter[b].cols) : 0;
        scratch = own > scratch ? own : scratch;
    }
    t->theta = take(a, size);
    t->gradient = take(a, size);
    t->state =
        take(a, size * states + MODEL_MOST_PARAMETERS); /* vectors, and one log-scale per array */
    t->scratch = take(a, (size_t)scratch);
    t->direction = take(a, (size_t)m->map_size);
    t->order = take_int64(a, t->settings.batch > 0 ? (size_t)m->n : 0);
    t->softmax =
        take(a, (size_t)(model_softmax_first(m, m->own_hi) - model_softmax_first(m, m->own_lo)));
    t->textbook = t->settings.arithmetic == ATTSVM_ARITHMETIC_EXACT
                      ? NULL
                      : take(a, (size_t)train_textbook_room(m));
    t->matrix = model_has_matrix(m) ? take(a, (size_t)(m->d * m->d + m->d)) : NULL;
}

static model_options options_of(const attsvm_train_settings *s, const attsvm_loss_callback *loss,
                                const attsvm_head_callback *head)
{
    return (model_options){ .kind = (attsvm_model_kind)s->model,
                            .loss = s->loss ? s->loss : "logistic",
                            .head = s->head,
                            .kappa = s->kappa,
                            .query = s->query,
                            .query_token = s->query_token,
                            .rank = s->rank,
                            .threads = s->threads,
                            .user_loss = loss,
                            .user_head = head };
}

attsvm_status attsvm_model_create(attsvm_model **out, const attsvm_data *data,
                                  const attsvm_train_settings *settings,
                                  const attsvm_loss_callback *loss,
                                  const attsvm_head_callback *head, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_train_settings standard;
    attsvm_train_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(attsvm_settings_check(&attsvm_train_table, settings, err));
    model_options options = options_of(settings, loss, head);
    return model_create(out, data, &options, err);
}

static attsvm_status build(attsvm_train *t, const attsvm_loss_callback *loss,
                           const attsvm_head_callback *head, attsvm_error *err)
{
    const attsvm_train_settings *s = &t->settings;
    model_options options = options_of(s, loss, head);
    TRY(train_rule_find(s->step, &t->rule, &t->parameter, err));
    TRY(model_create(&t->m, t->data, &options, err));
    TRY(read_eps(t, err));
    TRY(read_lstar(t, err));
    if (s->batch > t->m->n)
        return fail(err, ATTSVM_E_ARG,
                    "batch = %" PRId64 " is more than the %" PRId64 " sequence%s", s->batch,
                    t->m->n, base_plural(t->m->n));
    if (s->arithmetic != ATTSVM_ARITHMETIC_EXACT)
        TRY(train_textbook_check(t, err));
    if (s->resume && !*s->checkpoint)
        return fail(err, ATTSVM_E_ARG, "resume needs checkpoint, the file to continue from");
    arena a = { 0 };
    layout(t, &a);
    TRY(base_arena_allocate(&a, "training", err));
    t->memory = a.base;
    layout(t, &a);
    TRY(train_trace_create(t, err));
    return train_start_values(t, err);
}

attsvm_status attsvm_train_create(attsvm_train **out, const attsvm_data *data,
                                  const attsvm_train_settings *settings,
                                  const attsvm_loss_callback *loss,
                                  const attsvm_head_callback *head, attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_train_settings standard;
    attsvm_train_settings_init(&standard);
    if (!settings)
        settings = &standard;
    TRY(attsvm_settings_check(&attsvm_train_table, settings, err));
    attsvm_train *t;
    TRY(base_allocate(&t, 1, sizeof *t, "training", err));
    t->data = data;
    t->settings = *settings;
    t->epoch = -1;
    t->direction_change = NAN;
    t->textbook_wrong = -1;
    attsvm_status status =
        base_settings_own_texts(&attsvm_train_table, &t->settings, &t->texts, err);
    if (status == ATTSVM_OK)
        status = build(t, loss, head, err);
    if (status != ATTSVM_OK) {
        attsvm_train_free(t);
        return status;
    }
    *out = t;
    return ATTSVM_OK;
}

void attsvm_train_free(attsvm_train *train)
{
    if (!train)
        return;
    free(train->trace.compared);
    free(train->trace.memory);
    free(train->memory);
    free(train->texts);
    model_free(train->m);
    free(train);
}

attsvm_train_info attsvm_train_describe(const attsvm_train *train)
{
    if (!train)
        return (attsvm_train_info){ 0 };
    return train->info;
}

const attsvm_model *attsvm_train_model(const attsvm_train *train)
{
    return train ? train->m : NULL;
}

const double *attsvm_train_parameters(const attsvm_train *train, int64_t *count)
{
    if (!train)
        return NULL;
    if (count)
        *count = train->m->size;
    return train->theta;
}

const char *attsvm_train_outcome_name(attsvm_train_outcome outcome)
{
    static const char *const names[] = {
        "not run", "done", "direction", "norm", "time", "observer"
    };
    return outcome >= ATTSVM_TRAIN_NOT_RUN && outcome <= ATTSVM_TRAIN_OBSERVER ? names[outcome]
                                                                               : NULL;
}
