/*
 * Solutions in result files: theta, active, lambda, equal, mu, their low parts (theta_lo,
 * theta_lo2, lambda_lo, mu_lo, where there are any), the selection (ids, or O and s), the v-SVM of
 * a joint problem under head_..., and `settings` (origin.c).  A check needs only the result and its
 * data set.
 */
#include "result/result.h"

#include <stdlib.h>
#include <string.h>

static bool is_matrix(const attsvm_svm_settings *s)
{
    return result_has_sets(s) || s->problem == ATTSVM_PROBLEM_W;
}

/* Columns of `active`: sequence, query (if there may be several), token. */
static int64_t row_columns(const attsvm_data *data, const attsvm_svm_settings *s)
{
    if (!is_matrix(s))
        return 2;
    bool tokens = s->query == ATTSVM_QUERY_ALL || s->query == ATTSVM_QUERY_CAUSAL;
    return tokens || (s->query == ATTSVM_QUERY_GIVEN && data->queries > 1) ? 3 : 2;
}

/* ------------------------------------------------------------------------- writing */

/* Rows as a table of `columns` numbers; the caller frees *out. */
static attsvm_status rows_table(const attsvm_row *rows, int64_t count, int64_t columns,
                                int64_t **out, attsvm_error *err)
{
    TRY(base_allocate(out, (size_t)(count * columns + 1), sizeof **out, "rows", err));
    for (int64_t k = 0; k < count; k++) {
        int64_t *to = *out + k * columns;
        to[0] = rows[k].sequence;
        if (columns == 3)
            to[1] = rows[k].query;
        to[columns - 1] = rows[k].token;
    }
    return ATTSVM_OK;
}

typedef result_list list;

static void put(list *l, const char *name, const void *values, attsvm_dtype dtype, int64_t rows,
                int64_t columns)
{
    attsvm_array array = { values, { rows, columns }, columns > 0 ? 2 : 1, dtype };
    l->arrays[l->count++] = (attsvm_named_array){ name, array };
}

static attsvm_status put_rows(list *l, const char *name, const attsvm_row *rows, int64_t count,
                              int64_t columns, attsvm_error *err)
{
    int64_t *table;
    TRY(rows_table(rows, count, columns, &table, err));
    l->owned[l->count] = table;
    put(l, name, table, ATTSVM_I64, count, columns);
    return ATTSVM_OK;
}

/* Adds a low part if it has a nonzero entry. */
static void put_low(list *l, const char *name, const double *values, int64_t rows, int64_t columns)
{
    bool zero = true;
    for (int64_t k = 0; values && k < rows * (columns > 0 ? columns : 1); k++)
        zero = zero && values[k] == 0;
    if (!zero)
        put(l, name, values, ATTSVM_F64, rows, columns);
}

static attsvm_status put_head(list *l, const attsvm_claim *head, int64_t d, attsvm_error *err)
{
    put(l, "head_theta", head->theta, ATTSVM_F64, d, 0);
    put_low(l, "head_theta_lo", head->theta_lo, d, 0);
    put_low(l, "head_theta_lo2", head->theta_lo2, d, 0);
    TRY(put_rows(l, "head_active", head->active, head->active_count, 2, err));
    put(l, "head_lambda", head->lambda, ATTSVM_F64, head->active_count, 0);
    put_low(l, "head_lambda_lo", head->lambda_lo, head->active_count, 0);
    return ATTSVM_OK;
}

attsvm_status result_list_claim(list *l, const attsvm_data *data, const attsvm_claim *claim,
                                attsvm_error *err)
{
    const attsvm_svm_settings *s = &claim->settings;
    int64_t d = data->d, columns = row_columns(data, s), terms, cells;
    TRY(attsvm_svm_cells(data, s, &cells, err));
    put(l, "theta", claim->theta, ATTSVM_F64, d, is_matrix(s) ? d : 0);
    put_low(l, "theta_lo", claim->theta_lo, d, is_matrix(s) ? d : 0);
    put_low(l, "theta_lo2", claim->theta_lo2, d, is_matrix(s) ? d : 0);
    TRY(put_rows(l, "active", claim->active, claim->active_count, columns, err));
    put(l, "lambda", claim->lambda, ATTSVM_F64, claim->active_count, 0);
    put_low(l, "lambda_lo", claim->lambda_lo, claim->active_count, 0);
    if (result_has_sets(s)) {
        TRY(put_rows(l, "equal", claim->equal, claim->equal_count, columns, err));
        put(l, "mu", claim->mu, ATTSVM_F64, claim->equal_count, 0);
        put_low(l, "mu_lo", claim->mu_lo, claim->equal_count, 0);
        put(l, "O", claim->selection.sets, ATTSVM_U8, cells, 0);
    } else {
        TRY(attsvm_svm_terms(data, s, &terms, err));
        put(l, "ids", claim->selection.alpha, ATTSVM_I64, terms, 0);
    }
    if (s->problem == ATTSVM_PROBLEM_FINITE)
        put(l, "s", claim->selection.softmax, ATTSVM_F64, cells, 0);
    return claim->head ? put_head(l, claim->head, d, err) : ATTSVM_OK;
}

void result_list_free(result_list *l)
{
    for (int64_t k = 0; k < RESULT_ARRAYS; k++)
        free(l->owned[k]);
}

void result_add_status(io_json *json, const attsvm_claim *claim)
{
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(claim->outcome)));
    if (claim->head)
        io_json_set(json, "head_status", io_json_text(attsvm_outcome_name(claim->head->outcome)));
}

static attsvm_status put_settings(list *l, const attsvm_data *data, const attsvm_claim *claim,
                                  attsvm_error *err)
{
    io_json *json = result_origin("svm", data);
    char *memory;
    result_add_status(json, claim);
    result_add_svm(json, &claim->settings);
    attsvm_status status = result_settings_array(json, &l->arrays[l->count], &memory, err);
    l->owned[l->count++] = memory;
    return status;
}

/* A solution is saved with the data set of its problem. */
static attsvm_status check_belongs(const attsvm_claim *claim, const attsvm_data *data,
                                   attsvm_error *err)
{
    const int32_t problem = claim->settings.problem;
    const bool vector = problem == ATTSVM_PROBLEM_P || problem == ATTSVM_PROBLEM_V ||
                        problem == ATTSVM_PROBLEM_JOINT;
    const int64_t size = vector ? data->d : data->d * data->d;
    int64_t terms;
    TRY(attsvm_svm_terms(data, &claim->settings, &terms, err));
    if (claim->theta_count != size || (claim->selection.alpha && claim->selection.terms != terms))
        return fail(err, ATTSVM_E_ARG,
                    "the solution belongs to another data set: theta has %" PRId64
                    " entries and the selection %" PRId64 ", expected %" PRId64 " and %" PRId64,
                    claim->theta_count, claim->selection.terms, size, terms);
    return ATTSVM_OK;
}

attsvm_status attsvm_solution_save(const attsvm_solution *solution, const attsvm_data *data,
                                   const char *path, const attsvm_named_array *more, int64_t count,
                                   attsvm_error *err)
{
    NEED(solution);
    NEED(data);
    const attsvm_claim claim = attsvm_solution_claim(solution);
    list l = { .count = 0 };
    TRY(result_check_more(more, count, err));
    TRY(check_belongs(&claim, data, err));
    attsvm_status status = result_list_claim(&l, data, &claim, err);
    if (status == ATTSVM_OK)
        status = put_settings(&l, data, &claim, err);
    if (data->headless) /* a trained head is part of the proof: copies of a token share its score */
        l.arrays[l.count++] = (attsvm_named_array){ "v", *attsvm_data_array(data, "v") };
    for (int64_t k = 0; k < count; k++)
        l.arrays[l.count++] = more[k];
    if (status == ATTSVM_OK)
        status = attsvm_archive_write(path, l.arrays, l.count, err);
    result_list_free(&l);
    return status;
}

/* ------------------------------------------------------------------------- reading */

enum { MOST_PIECES = 24 };

/* A claim while it is read, and the memory of its arrays. */
typedef struct reader {
    const attsvm_archive *archive;
    const attsvm_data *data;
    attsvm_claim claim, head;
    void *memory[MOST_PIECES];
    int pieces;
    attsvm_error *err;
} reader;

/* Memory for `count` elements, freed with the reader. */
static attsvm_status keep(reader *r, size_t count, size_t size, const char *what, void *pointer)
{
    void **memory = &r->memory[r->pieces++];
    TRY(base_allocate(memory, count + 1, size, what, r->err));
    memcpy(pointer, memory, sizeof *memory);
    return ATTSVM_OK;
}

static attsvm_status need(const reader *r, const char *name, const attsvm_array **out)
{
    *out = attsvm_archive_find(r->archive, name);
    if (*out)
        return ATTSVM_OK;
    return fail(r->err, ATTSVM_E_FORMAT, "Missing array %s: not a result file of attsvm svm.",
                name);
}

static attsvm_status wrong_count(const reader *r, const attsvm_array *array, const char *name,
                                 int64_t expected)
{
    char shape[160];
    attsvm_array_shape_text(array, shape, sizeof shape);
    return fail(r->err, ATTSVM_E_FORMAT, "%s has shape %s; expected %" PRId64 " values", name,
                shape, expected);
}

/* `count` (-1: any number of) values as doubles. */
static attsvm_status read_doubles(reader *r, const char *name, int64_t count, const double **out,
                                  int64_t *found)
{
    const attsvm_array *array;
    double *values;
    TRY(need(r, name, &array));
    int64_t have = attsvm_array_count(array);
    if (count >= 0 && have != count)
        return wrong_count(r, array, name, count);
    TRY(keep(r, (size_t)have, sizeof *values, name, &values));
    for (int64_t k = 0; k < have; k++)
        values[k] = attsvm_array_get(array, k);
    *out = values;
    if (found)
        *found = have;
    return ATTSVM_OK;
}

/* A low part; NULL if the file has none. */
static attsvm_status read_low(reader *r, const char *name, int64_t count, const double **out)
{
    if (!attsvm_archive_find(r->archive, name))
        return ATTSVM_OK;
    return read_doubles(r, name, count, out, NULL);
}

static attsvm_status read_rows(reader *r, const char *name, int64_t columns, const attsvm_row **out,
                               int64_t *count)
{
    const attsvm_array *array;
    attsvm_row *rows;
    TRY(need(r, name, &array));
    if (array->ndim != 2 || array->shape[1] != columns) {
        char shape[160];
        attsvm_array_shape_text(array, shape, sizeof shape);
        return fail(r->err, ATTSVM_E_FORMAT, "%s has shape %s; expected (m,%" PRId64 ")", name,
                    shape, columns);
    }
    *count = array->shape[0];
    TRY(keep(r, (size_t)*count, sizeof *rows, name, &rows));
    for (int64_t k = 0; k < *count; k++) {
        TRY(data_integer(array, name, k * columns, &rows[k].sequence, r->err));
        if (columns == 3)
            TRY(data_integer(array, name, k * columns + 1, &rows[k].query, r->err));
        TRY(data_integer(array, name, k * columns + columns - 1, &rows[k].token, r->err));
    }
    *out = rows;
    return ATTSVM_OK;
}

static attsvm_status read_ids(reader *r, const attsvm_svm_settings *s, attsvm_selection *out)
{
    const attsvm_array *array;
    int64_t terms, *ids;
    TRY(need(r, "ids", &array));
    TRY(attsvm_svm_terms(r->data, s, &terms, r->err));
    if (attsvm_array_count(array) != terms)
        return wrong_count(r, array, "ids", terms);
    TRY(keep(r, (size_t)terms, sizeof *ids, "ids", &ids));
    for (int64_t k = 0; k < terms; k++)
        TRY(data_integer(array, "ids", k, &ids[k], r->err));
    out->alpha = ids;
    out->terms = terms;
    return ATTSVM_OK;
}

static attsvm_status read_sets(reader *r, attsvm_claim *claim)
{
    const double *members;
    uint8_t *sets;
    int64_t cells;
    TRY(attsvm_svm_cells(r->data, &claim->settings, &cells, r->err));
    TRY(read_doubles(r, "O", cells, &members, NULL));
    TRY(keep(r, (size_t)cells, 1, "sets", &sets));
    for (int64_t k = 0; k < cells; k++) {
        if (members[k] != 0 && members[k] != 1)
            return fail(r->err, ATTSVM_E_FORMAT, "O[%" PRId64 "] = %g is neither 0 nor 1", k,
                        members[k]);
        sets[k] = members[k] == 1;
    }
    claim->selection.sets = sets;
    claim->selection.cells = cells;
    if (claim->settings.problem == ATTSVM_PROBLEM_FINITE)
        TRY(read_doubles(r, "s", cells, &claim->selection.softmax, NULL));
    return ATTSVM_OK;
}

static attsvm_status read_outcome(const io_json *json, const char *key, attsvm_outcome *out,
                                  attsvm_error *err)
{
    const char *text = io_json_as_text(io_json_get(json, key));
    for (int k = ATTSVM_NOT_RUN; text && k <= ATTSVM_STATIONARY; k++)
        if (strcmp(text, attsvm_outcome_name((attsvm_outcome)k)) == 0) {
            *out = (attsvm_outcome)k;
            return ATTSVM_OK;
        }
    return fail(err, ATTSVM_E_FORMAT, "settings: %s = %s is not an outcome", key,
                text ? text : "(missing)");
}

/* The settings array into claim->settings and the outcomes. */
static attsvm_status read_settings(reader *r, attsvm_claim *claim, attsvm_outcome *head)
{
    const attsvm_array *array;
    io_json *json;
    TRY(need(r, "settings", &array));
    TRY(result_settings_read(r->archive, &json, r->err));
    const char *verb = io_json_as_text(io_json_get(json, "verb"));
    attsvm_status status =
        io_json_get(json, "status") || !verb
            ? read_outcome(json, "status", &claim->outcome, r->err)
            : fail(r->err, ATTSVM_E_FORMAT,
                   "this is the output of attsvm %s; expected that of attsvm svm or verify", verb);
    if (status == ATTSVM_OK)
        status = result_read_svm(json, &claim->settings, r->err);
    if (status == ATTSVM_OK && claim->settings.problem == ATTSVM_PROBLEM_JOINT)
        status = read_outcome(json, "head_status", head, r->err);
    io_json_free(json);
    return status;
}

static attsvm_status read_multipliers(reader *r, attsvm_claim *claim, const char *rows,
                                      const char *lambda)
{
    int64_t columns = row_columns(r->data, &claim->settings);
    TRY(read_rows(r, rows, columns, &claim->active, &claim->active_count));
    return read_doubles(r, lambda, claim->active_count, &claim->lambda, NULL);
}

static attsvm_status read_head(reader *r, attsvm_claim *head)
{
    TRY(read_doubles(r, "head_theta", -1, &head->theta, &head->theta_count));
    TRY(read_low(r, "head_theta_lo", head->theta_count, &head->theta_lo));
    TRY(read_low(r, "head_theta_lo2", head->theta_count, &head->theta_lo2));
    TRY(read_multipliers(r, head, "head_active", "head_lambda"));
    return read_low(r, "head_lambda_lo", head->active_count, &head->lambda_lo);
}

static attsvm_status read_claim(reader *r)
{
    attsvm_claim *claim = &r->claim, *head = &r->head;
    attsvm_outcome head_outcome = ATTSVM_NOT_RUN;
    TRY(read_settings(r, claim, &head_outcome));
    TRY(read_doubles(r, "theta", -1, &claim->theta, &claim->theta_count));
    TRY(read_low(r, "theta_lo", claim->theta_count, &claim->theta_lo));
    TRY(read_low(r, "theta_lo2", claim->theta_count, &claim->theta_lo2));
    TRY(read_multipliers(r, claim, "active", "lambda"));
    TRY(read_low(r, "lambda_lo", claim->active_count, &claim->lambda_lo));
    if (result_has_sets(&claim->settings)) {
        int64_t columns = row_columns(r->data, &claim->settings);
        TRY(read_rows(r, "equal", columns, &claim->equal, &claim->equal_count));
        TRY(read_doubles(r, "mu", claim->equal_count, &claim->mu, NULL));
        TRY(read_low(r, "mu_lo", claim->equal_count, &claim->mu_lo));
        return read_sets(r, claim);
    }
    TRY(read_ids(r, &claim->settings, &claim->selection));
    if (claim->settings.problem != ATTSVM_PROBLEM_JOINT)
        return ATTSVM_OK;
    *head = (attsvm_claim){ .settings = claim->settings,
                            .selection = claim->selection,
                            .outcome = head_outcome };
    head->settings.problem = ATTSVM_PROBLEM_V;
    head->settings.soft = 0;
    claim->head = head;
    return read_head(r, head);
}

attsvm_status attsvm_solution_load(attsvm_solution **out, const attsvm_data *data, const char *path,
                                   attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    attsvm_archive *archive;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    reader r = { .archive = archive, .data = data, .err = err };
    attsvm_status status = read_claim(&r);
    if (status == ATTSVM_OK)
        status = svm_solution_of_claim(out, data, &r.claim, err);
    attsvm_archive_free(archive);
    for (int k = 0; k < r.pieces; k++)
        free(r.memory[k]);
    return status == ATTSVM_OK ? ATTSVM_OK : base_fail_in(err, status, path);
}
