/*
 * The state of a run, in a file that is replaced atomically.  It contains a fingerprint of the
 * settings and data that determine the iterates, so that a run cannot continue with others by
 * mistake.
 */
#include "train/train.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FORMAT = 3, MOST = 32, SAMPLED_TOKENS = 256, SAMPLED = 1024 };

/* Weighted sum of some tokens spread over the data set: enough to distinguish data sets. */
static double data_sum(const attsvm_train *t)
{
    const attsvm_data *data = t->data;
    double sum = 0;
    for (int64_t k = 0; k < SAMPLED_TOKENS; k++) {
        int64_t i = (int64_t)((double)data->n * (double)k / SAMPLED_TOKENS);
        la_rows rows = data_sequence(data, i);
        double *x = t->m->worker[0].x;
        la_row(&rows, k % rows.count, x);
        for (int64_t j = 0; j < data->d; j++)
            sum += x[j] * (double)(1 + (j + k) % 7);
    }
    return sum;
}

/* The same for labels, queries, head and fixed parameters. */
static double rest_sum(const attsvm_train *t)
{
    static const char *const names[] = { "Y", "y", "labels", "Z", "v", "V", "W", "p" };
    double sum = 0;
    for (size_t a = 0; a < sizeof names / sizeof *names; a++) {
        const attsvm_array *array = attsvm_data_array(t->data, names[a]);
        const int64_t count = array ? attsvm_array_count(array) : 0;
        const int64_t sampled = count < SAMPLED ? count : SAMPLED;
        for (int64_t k = 0; k < sampled; k++) {
            int64_t j = (int64_t)((double)count * (double)k / (double)sampled);
            sum += attsvm_array_get(array, j) * sqrt((double)(1 + k + (int64_t)a * SAMPLED));
        }
    }
    return sum;
}

/* Everything that determines the iterates, as text that the caller frees. */
static attsvm_status fingerprint(const attsvm_train *t, char **out, attsvm_error *err)
{
    static const char *const arithmetic[] = { [ATTSVM_ARITHMETIC_EXACT] = "",
                                              [ATTSVM_ARITHMETIC_FLOAT64] = " arithmetic float64",
                                              [ATTSVM_ARITHMETIC_FLOAT32] = " arithmetic float32" };
    const attsvm_train_settings *s = &t->settings;
    int length = asprintf(
        out,
        "n %" PRId64 " tokens %" PRId64 " d %" PRId64 " sum %.17g and %.17g model %d step %s "
        "loss %s head %s kappa %.17g query %d %" PRId64 " init %s disturb %.17g by %" PRId64
        " eps %s lstar %s lr %.17g decay %.17g ridge %.17g "
        "max_step %.17g rank %" PRId64 " batch %" PRId64 " seed %" PRId64 " record %s kernels %s%s",
        t->m->n, t->data->tokens, t->m->d, data_sum(t), rest_sum(t), (int)s->model, s->step,
        t->m->loss.flag, t->m->head.kind->flag, t->m->head.data.kappa, (int)s->query,
        s->query_token, s->init, s->disturb, s->disturb_seed, s->eps, s->lstar, s->lr, s->decay,
        s->ridge, s->max_step, t->m->rank, s->batch, s->seed, s->record, attsvm_kernels(),
        arithmetic[s->arithmetic]);
    if (length >= 0)
        return ATTSVM_OK;
    *out = NULL;
    return fail(err, ATTSVM_E_MEMORY, "no memory for the description of the run");
}

/* One array of the file: name, address, size.  Writing and reading use the same list. */
typedef struct piece {
    const char *name;
    void *values;
    int64_t count;
    attsvm_dtype dtype;
} piece;

static int pieces_of(attsvm_train *t, int64_t *numbers, double *reals, piece *out)
{
    train_trace *r = &t->trace;
    const model *m = t->m;
    int64_t k = r->count;
    int n = 0;
    out[n++] = (piece){ "numbers", numbers, 5, ATTSVM_I64 };
    out[n++] = (piece){ "reals", reals, 2, ATTSVM_F64 };
    out[n++] = (piece){ "theta", t->theta, m->size, ATTSVM_F64 };
    out[n++] =
        (piece){ "state", t->state, m->size * t->rule->states + MODEL_MOST_PARAMETERS, ATTSVM_F64 };
    out[n++] = (piece){ "direction", t->direction, m->map_size, ATTSVM_F64 };
    if (t->textbook) {
        out[n++] = (piece){ "wrong_step", &t->textbook_wrong, 1, ATTSVM_I64 };
        out[n++] = (piece){ "wrong_norm", &t->textbook_wrong_norm, 1, ATTSVM_F64 };
    }
    if (r->every == 0)
        return n;
    static const char *const names[] = { "trace_theta_0", "trace_theta_1", "trace_theta_2" };
    for (int b = 0; b < m->parameters; b++)
        out[n++] = (piece){ names[b], r->theta[b], k * m->parameter[b].count, ATTSVM_F64 };
    out[n++] = (piece){ "trace_iter", r->iter, k, ATTSVM_I64 };
    for (int j = 0; j < TRAIN_NUMBERS; j++)
        if (train_has_number(m, j))
            out[n++] = (piece){ train_numbers[j].name, r->number[j], k, ATTSVM_F64 };
    if (!r->softmax) /* only rank 0 has them */
        return n;
    out[n++] = (piece){ "trace_softmax", r->softmax, k * m->terms, ATTSVM_F64 };
    out[n++] = (piece){ "trace_ids", r->ids, k * m->terms, ATTSVM_I64 };
    return n;
}

static attsvm_status write_state(const attsvm_train *t, attsvm_error *err)
{
    attsvm_train *state = (attsvm_train *)t;
    int64_t numbers[5] = { FORMAT, t->iter, t->trace.count, t->has_direction, t->rule->states };
    double reals[2] = { t->direction_change, t->earlier_seconds + base_seconds() - t->start };
    char *text;
    piece pieces[MOST];
    attsvm_named_array arrays[MOST + 1];
    int count = pieces_of(state, numbers, reals, pieces);
    for (int k = 0; k < count; k++)
        arrays[k] = (attsvm_named_array){ pieces[k].name,
                                          { .data = pieces[k].values,
                                            .shape = { pieces[k].count },
                                            .ndim = 1,
                                            .dtype = pieces[k].dtype } };
    TRY(fingerprint(t, &text, err));
    arrays[count] = (attsvm_named_array){
        "run", { .data = text, .shape = { (int64_t)strlen(text) }, .ndim = 1, .dtype = ATTSVM_U8 }
    };
    attsvm_status status = attsvm_archive_write(t->settings.checkpoint, arrays, count + 1, err);
    free(text);
    return status;
}

/* Rank 0 writes for all ranks. */
attsvm_status train_checkpoint_write(const attsvm_train *t, attsvm_error *err)
{
    dist_comm *comm = t->data->comm;
    attsvm_status status = dist_rank(comm) == 0 ? write_state(t, err) : ATTSVM_OK;
    return dist_agree(comm, status, err);
}

static attsvm_status same_run(const attsvm_train *t, const attsvm_archive *archive,
                              attsvm_error *err)
{
    const attsvm_array *run = attsvm_archive_find(archive, "run");
    char *text;
    attsvm_status status = ATTSVM_OK;
    if (!run || run->dtype != ATTSVM_U8 || run->ndim != 1)
        return fail(err, ATTSVM_E_FORMAT, "this is not a checkpoint of a training run");
    TRY(fingerprint(t, &text, err));
    if (run->shape[0] != (int64_t)strlen(text) || memcmp(run->data, text, strlen(text)) != 0)
        status =
            fail(err, ATTSVM_E_ARG, "the checkpoint is of another run (%.*s); this one is %s",
                 (int)(run->shape[0] < 200 ? run->shape[0] : 200), (const char *)run->data, text);
    free(text);
    return status;
}

static attsvm_status read_piece(const attsvm_archive *archive, const piece *p, attsvm_error *err)
{
    const attsvm_array *array = attsvm_archive_find(archive, p->name);
    if (!array || array->dtype != p->dtype || attsvm_array_count(array) != p->count)
        return fail(err, ATTSVM_E_FORMAT, "%s: expected %" PRId64 " values of a checkpoint",
                    p->name, p->count);
    if (p->count > 0)
        memcpy(p->values, array->data, (size_t)p->count * attsvm_dtype_size(p->dtype));
    return ATTSVM_OK;
}

static attsvm_status read_all(attsvm_train *t, const attsvm_archive *archive, attsvm_error *err)
{
    int64_t numbers[5];
    double reals[2];
    piece pieces[MOST], first = { "numbers", numbers, 5, ATTSVM_I64 };
    TRY(same_run(t, archive, err));
    TRY(read_piece(archive, &first, err));
    if (numbers[0] != FORMAT || numbers[1] < 0 || numbers[2] < 0 || numbers[2] > t->trace.capacity)
        return fail(err, ATTSVM_E_FORMAT,
                    "format %" PRId64 ", iteration %" PRId64 ", %" PRId64
                    " records do not belong to this run",
                    numbers[0], numbers[1], numbers[2]);
    if (numbers[1] > t->settings.iters)
        return fail(err, ATTSVM_E_ARG, "the checkpoint has %" PRId64 " step%s; iters = %" PRId64,
                    numbers[1], base_plural(numbers[1]), t->settings.iters);
    t->trace.count = numbers[2];
    int count = pieces_of(t, numbers, reals, pieces);
    for (int k = 1; k < count; k++)
        TRY(read_piece(archive, &pieces[k], err));
    t->iter = numbers[1];
    t->has_direction = numbers[3] != 0;
    t->direction_change = reals[0];
    t->earlier_seconds = reals[1];
    return ATTSVM_OK;
}

static attsvm_status read_state(attsvm_train *t, attsvm_error *err)
{
    const char *path = t->settings.checkpoint;
    attsvm_archive *archive;
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return ATTSVM_OK; /* the run was stopped before its first checkpoint */
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    attsvm_status status = read_all(t, archive, err);
    attsvm_archive_free(archive);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, path);
}

attsvm_status train_checkpoint_read(attsvm_train *t, attsvm_error *err)
{
    attsvm_status status = read_state(t, err);
    return dist_agree(t->data->comm, status, err);
}
