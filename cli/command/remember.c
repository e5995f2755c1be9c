/*
 * Takes problem, query, head and a trained v from a result unless a flag sets them, and reports
 * them on standard error, or with --json as the key "taken".
 */
#include "cli/cli.h"

#include <stdarg.h>
#include <string.h>

bool cli_is_given(const cli_call *call, const settings_table *table, const char *name)
{
    if (!attsvm_settings_find(table, name))
        return false;
    for (int k = 0; k < call->given_count; k++)
        if (strcmp(call->given[k]->name, name) == 0) /* two tables may have the flag */
            return true;
    return false;
}

static void say(char *out, size_t size, const char *name, const char *value)
{
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s %s", used ? ", " : "", name, value);
}

/* Field `name` from `from`, with the field that belongs to it (query_token, kappa). */
static void take_field(const cli_call *call, const char *name, const char *second,
                       const attsvm_svm_settings *from, attsvm_svm_settings *to, char *taken,
                       size_t size)
{
    char value[64], other[64];
    if (cli_is_given(call, &attsvm_svm_table, name) ||
        (second && cli_is_given(call, &attsvm_svm_table, second)))
        return;
    attsvm_settings_get(&attsvm_svm_table, from, name, value, sizeof value);
    attsvm_settings_set(&attsvm_svm_table, to, name, value, NULL);
    if (second) {
        attsvm_settings_get(&attsvm_svm_table, from, second, other, sizeof other);
        attsvm_settings_set(&attsvm_svm_table, to, second, other, NULL);
    }
    bool number = strcmp(value, "token") == 0 || strcmp(value, "concave") == 0;
    if (second && number)
        snprintf(value + strlen(value), sizeof value - strlen(value), " %.40s", other);
    say(taken, size, name, value);
}

static bool is_matrix(const attsvm_svm_settings *s)
{
    return s->problem == ATTSVM_PROBLEM_W || s->problem == ATTSVM_PROBLEM_MULTI ||
           s->problem == ATTSVM_PROBLEM_FINITE;
}

/* Scores use a fixed head, for which a joint problem is problem P. */
static void choose_problem(const cli_call *call, attsvm_svm_settings *from)
{
    if (from->problem == ATTSVM_PROBLEM_JOINT && call->verb->run == cli_tokens)
        from->problem = ATTSVM_PROBLEM_P;
}

static attsvm_status take_all(const cli_call *call, const attsvm_origin *origin,
                              const attsvm_data *data, attsvm_svm_settings *svm, attsvm_data **with,
                              char *taken, size_t size, attsvm_error *err)
{
    const attsvm_origin_info info = attsvm_origin_describe(origin);
    attsvm_svm_settings from = *svm;
    TRY(attsvm_origin_svm(origin, &from, err));
    choose_problem(call, &from);
    take_field(call, "problem", NULL, &from, svm, taken, size);
    if (is_matrix(svm) && is_matrix(&from))
        take_field(call, "query", "query_token", &from, svm, taken, size);
    take_field(call, "head", "kappa", &from, svm, taken, size);
    TRY(attsvm_origin_check(origin, data, svm, err));
    if (!info.v)
        return ATTSVM_OK;
    say(taken, size, "trained head", "v");
    return attsvm_data_with_head(with, data, info.v, info.v_count, err);
}

attsvm_status cli_remember(cli_call *call, const char *source, const attsvm_data *data,
                           attsvm_svm_settings *svm, attsvm_data **with, attsvm_error *err)
{
    attsvm_origin *origin = NULL;
    *with = NULL;
    if (!source || !*source || strcmp(source, "opt") == 0 || strcmp(source, "ids") == 0 ||
        strcmp(source, "sets") == 0)
        return ATTSVM_OK;
    attsvm_status status = attsvm_origin_read(&origin, source, err);
    if (!origin) /* the file has no such record; cli_choose reports what a selection may be */
        return status == ATTSVM_E_OPEN ? ATTSVM_OK : status;
    status = take_all(call, origin, data, svm, with, call->taken, sizeof call->taken, err);
    if (status != ATTSVM_OK)
        base_fail_in(err, status, source);
    else if (*call->taken && !call->common->quiet && !call->common->json)
        fprintf(stderr, "attsvm %s: taken from %s: %s\n", call->verb->name, source, call->taken);
    attsvm_origin_free(origin);
    return status;
}

void cli_taken_json(const cli_call *call, io_json *json)
{
    if (*call->taken)
        io_json_set(json, "taken", io_json_text(call->taken));
}
