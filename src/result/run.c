/*
 * Writes a run to a file, and reads it.  With several ranks no rank holds the whole softmax: rank 0
 * requests chunks from the others while it writes.
 */
#include "result/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request for entries first..first+count-1 of the softmax; count < 0 ends the requests. */
typedef struct question {
    int64_t first, count;
} question;

/* On rank 0: from the ranks that have them. */
static attsvm_status fill(void *context, int64_t first, int64_t count, void *buffer,
                          attsvm_error *err)
{
    const attsvm_train *t = context;
    const int64_t *share = t->m->rank_cell, last = first + count;
    dist_comm *comm = t->m->comm;
    double *out = buffer;
    (void)err;
    for (int rank = 0; rank < dist_size(comm); rank++) {
        int64_t lo = first > share[rank] ? first : share[rank];
        int64_t hi = last < share[rank + 1] ? last : share[rank + 1];
        if (lo >= hi)
            continue;
        question q = { lo, hi - lo };
        size_t bytes = (size_t)(hi - lo) * sizeof *out;
        if (rank == 0) {
            memcpy(out + (lo - first), t->softmax + lo, bytes);
        } else {
            dist_send(comm, &q, sizeof q, rank);
            dist_receive(comm, out + (lo - first), (int64_t)bytes, rank);
        }
    }
    return ATTSVM_OK;
}

/* On the other ranks. */
static void answer(const attsvm_train *t)
{
    dist_comm *comm = t->m->comm;
    const int64_t from = t->m->rank_cell[dist_rank(comm)];
    for (;;) {
        question q;
        dist_receive(comm, &q, sizeof q, 0);
        if (q.count < 0)
            return;
        dist_send(comm, t->softmax + (q.first - from), q.count * (int64_t)sizeof *t->softmax, 0);
    }
}

static attsvm_status write_all(const attsvm_train *t, const char *path,
                               const attsvm_named_array *more, int64_t count, attsvm_error *err)
{
    io_source *sources;
    int64_t own = t->arrays_count;
    TRY(base_allocate(&sources, (size_t)(own + count), sizeof *sources, "arrays", err));
    for (int64_t k = 0; k < own + count; k++) {
        const attsvm_named_array *from = k < own ? &t->arrays[k] : &more[k - own];
        sources[k] =
            (io_source){ from->name, from->array, from->array.data ? NULL : fill, (void *)t };
    }
    attsvm_status status = io_write(path, sources, own + count, NULL, err);
    free(sources);
    return status;
}

attsvm_status result_write_run(const attsvm_train *t, const char *path,
                               const attsvm_named_array *more, int64_t count, attsvm_error *err)
{
    dist_comm *comm = t->m->comm;
    bool named = path != NULL;
    dist_broadcast(comm, &named, sizeof named, 0);
    /* a small run is whole on every rank, and rank 0 writes it */
    if (!named && dist_rank(t->data->comm) > 0)
        return ATTSVM_OK;
    if (!named)
        return fail(err, ATTSVM_E_ARG, "path is NULL");
    if (dist_rank(comm) > 0) {
        answer(t);
        return ATTSVM_OK;
    }
    attsvm_status status = write_all(t, path, more, count, err);
    for (int rank = 1; rank < dist_size(comm); rank++)
        dist_send(comm, &(question){ 0, -1 }, sizeof(question), rank);
    return status;
}

attsvm_status attsvm_train_save(const attsvm_train *train, const char *path,
                                const attsvm_named_array *more, int64_t count, attsvm_error *err)
{
    NEED(train);
    TRY(data_check_arrays(more, count, "more", err));
    const attsvm_train *t = train;
    if (t->info.outcome == ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run has not been trained yet");
    attsvm_named_array *all;
    char *memory = NULL;
    TRY(base_allocate(&all, (size_t)count + 1, sizeof *all, "arrays", err));
    for (int64_t k = 0; k < count; k++)
        all[k + 1] = more[k];
    io_json *json = result_origin("train", t->data);
    result_add_train(json, t);
    attsvm_status status = result_settings_array(json, &all[0], &memory, err);
    if (status == ATTSVM_OK)
        status = result_write_run(t, path, all, count + 1, err);
    free(memory);
    free(all);
    return status;
}

/* ---------------------------------------------------------------------------- reading */

static attsvm_status copy_values(const attsvm_archive *archive, const char *name,
                                 attsvm_dtype dtype, int64_t count, void *out, attsvm_error *err)
{
    const attsvm_array *array = attsvm_archive_find(archive, name);
    if (!array || array->dtype != dtype || attsvm_array_count(array) != count)
        return fail(err, ATTSVM_E_FORMAT, "%s: expected %" PRId64 " values of a run", name, count);
    if (count > 0)
        memcpy(out, array->data, (size_t)count * attsvm_dtype_size(dtype));
    return ATTSVM_OK;
}

static attsvm_status read_trace(attsvm_train *t, const attsvm_archive *archive, attsvm_error *err)
{
    train_trace *trace = &t->trace;
    const model *m = t->m;
    const attsvm_array *iter = attsvm_archive_find(archive, "trace_iter");
    const int64_t count = iter ? attsvm_array_count(iter) : 0;
    if (trace->every == 0)
        return ATTSVM_OK;
    if (count > trace->capacity)
        return fail(err, ATTSVM_E_FORMAT, "trace_iter has %" PRId64 " records, more than the run",
                    count);
    TRY(copy_values(archive, "trace_iter", ATTSVM_I64, count, trace->iter, err));
    for (int k = 0; k < TRAIN_NUMBERS; k++)
        if (train_has_number(m, k))
            TRY(copy_values(archive, train_numbers[k].name, ATTSVM_F64, count, trace->number[k],
                            err));
    for (int b = 0; b < m->parameters; b++) {
        char name[16];
        snprintf(name, sizeof name, "trace_%s", m->parameter[b].name);
        TRY(copy_values(archive, name, ATTSVM_F64, count * m->parameter[b].count, trace->theta[b],
                        err));
    }
    if (trace->softmax) {
        const int64_t entries = count * m->terms;
        TRY(copy_values(archive, "trace_softmax", ATTSVM_F64, entries, trace->softmax, err));
        TRY(copy_values(archive, "trace_ids", ATTSVM_I64, entries, trace->ids, err));
    }
    trace->count = count;
    return ATTSVM_OK;
}

static attsvm_status read_parameters(attsvm_train *t, const attsvm_archive *archive,
                                     attsvm_error *err)
{
    for (int b = 0; b < t->m->parameters; b++) {
        const model_parameter *block = &t->m->parameter[b];
        TRY(copy_values(archive, block->name, ATTSVM_F64, block->count, t->theta + block->offset,
                        err));
    }
    return read_trace(t, archive, err);
}

/* The comparison of the records with an SVM, if the file has one. */
static attsvm_status read_comparison(attsvm_train *t, const attsvm_archive *archive,
                                     attsvm_error *err)
{
    static const char *const names[] = { "trace_correlation", "trace_angle", "trace_efficiency" };
    const int64_t count = t->trace.count;
    double *values;
    if (count == 0 || !attsvm_archive_find(archive, names[0]))
        return ATTSVM_OK;
    TRY(base_allocate(&values, 3 * (size_t)count, sizeof *values, "trace", err));
    attsvm_status status = ATTSVM_OK;
    for (int k = 0; k < 3 && status == ATTSVM_OK; k++)
        status = copy_values(archive, names[k], ATTSVM_F64, count, values + k * count, err);
    if (status == ATTSVM_OK)
        train_put_comparison(t, values);
    else
        free(values);
    return status;
}

/* Where the run ended; callbacks of the original run must be given again. */
static attsvm_status read_end(const io_json *json, bool loss, bool head, int64_t *iters,
                              attsvm_train_outcome *outcome, attsvm_error *err)
{
    const char *text = io_json_as_text(io_json_get(json, "outcome"));
    const char *names[] = { io_json_as_text(io_json_get(json, "loss")),
                            io_json_as_text(io_json_get(json, "head")) };
    *outcome = ATTSVM_TRAIN_NOT_RUN;
    for (int k = ATTSVM_TRAIN_DONE; text && k <= ATTSVM_TRAIN_OBSERVER; k++)
        if (strcmp(text, attsvm_train_outcome_name((attsvm_train_outcome)k)) == 0)
            *outcome = (attsvm_train_outcome)k;
    if (*outcome == ATTSVM_TRAIN_NOT_RUN || !names[0] || !names[1] ||
        !io_json_as_integer(io_json_get(json, "iters"), iters) || *iters < 0)
        return fail(err, ATTSVM_E_FORMAT, "settings do not say how the run ended");
    if ((strcmp(names[0], "user") == 0) != loss)
        return fail(err, ATTSVM_E_ARG, "the run was made with the loss %s, but %s is given",
                    names[0], loss ? "a function" : "none");
    if ((strcmp(names[1], "user") == 0) != head)
        return fail(err, ATTSVM_E_ARG, "the run was made with the head %s, but %s is given",
                    names[1], head ? "a function" : "none");
    return ATTSVM_OK;
}

/* Creates the run without its start values, whose source may no longer exist. */
static attsvm_status create_without_start(attsvm_train **out, const attsvm_data *data,
                                          const attsvm_train_settings *settings,
                                          const attsvm_loss_callback *loss,
                                          const attsvm_head_callback *head, attsvm_error *err)
{
    attsvm_train_settings without = *settings;
    without.init = "zero";
    TRY(attsvm_train_create(out, data, &without, loss, head, err));
    free((*out)->texts);
    (*out)->texts = NULL;
    (*out)->settings = *settings;
    return base_settings_own_texts(&attsvm_train_table, &(*out)->settings, &(*out)->texts, err);
}

static attsvm_status load(attsvm_train **out, const attsvm_data *data,
                          const attsvm_archive *archive, const attsvm_origin *origin,
                          const attsvm_loss_callback *loss, const attsvm_head_callback *head,
                          attsvm_error *err)
{
    const attsvm_train_settings *settings = origin ? attsvm_origin_describe(origin).train : NULL;
    io_json *json;
    int64_t iters;
    attsvm_train_outcome outcome;
    if (!settings)
        return fail(err, ATTSVM_E_FORMAT, "not a result file of attsvm train");
    TRY(attsvm_origin_check(origin, data, NULL, err));
    TRY(result_settings_read(archive, &json, err));
    attsvm_status status = read_end(json, loss != NULL, head != NULL, &iters, &outcome, err);
    io_json_free(json);
    if (status == ATTSVM_OK)
        status = create_without_start(out, data, settings, loss, head, err);
    if (status == ATTSVM_OK)
        status = read_parameters(*out, archive, err);
    if (status == ATTSVM_OK)
        status = train_restore(*out, iters, outcome, err);
    return status == ATTSVM_OK ? read_comparison(*out, archive, err) : status;
}

attsvm_status attsvm_train_load(attsvm_train **out, const attsvm_data *data, const char *path,
                                const attsvm_loss_callback *loss, const attsvm_head_callback *head,
                                attsvm_error *err)
{
    NEED_OUT(out);
    NEED(data);
    NEED(path);
    attsvm_archive *archive;
    attsvm_origin *origin = NULL;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    attsvm_status status = attsvm_origin_read(&origin, path, err);
    if (status == ATTSVM_OK) {
        status = load(out, data, archive, origin, loss, head, err);
        if (status != ATTSVM_OK)
            base_fail_in(err, status, path);
    }
    if (status != ATTSVM_OK) {
        attsvm_train_free(*out);
        *out = NULL;
    }
    attsvm_origin_free(origin);
    attsvm_archive_free(archive);
    return status;
}
