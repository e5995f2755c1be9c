/* Start values: zero, random by seed, from the data set, or from a result. */
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum how { ZERO, UNIFORM, GAUSS } how;

/* Each array has its own random stream, so that training v does not change the start of W. */
static uint64_t stream_of(const model_parameter *block)
{
    static const char names[] = "pWKQv";
    return 1 + (uint64_t)(strchr(names, block->name[0]) - names);
}

static void draw(const attsvm_train *t, const model_parameter *block, how kind, double size)
{
    base_random r = base_random_stream((uint64_t)t->settings.seed, stream_of(block) << 56);
    double *x = t->theta + block->offset;
    for (int64_t j = 0; j < block->count; j++) {
        if (kind == UNIFORM)
            x[j] = size * (2 * base_random_uniform(&r) - 1);
        else
            x[j] = kind == GAUSS ? size * base_random_gauss(&r) : 0;
    }
}

static attsvm_status number_after(const char *text, const char *prefix, double *out,
                                  attsvm_error *err)
{
    const char *number = text + strlen(prefix);
    char *end;
    *out = strtod(number, &end);
    if (end == number || *end || !(*out >= 0) || isinf(*out))
        return fail(err, ATTSVM_E_ARG, "init = %s: expected %sNUMBER, the number 0 or more", text,
                    prefix);
    return ATTSVM_OK;
}

/* Copies a named array of the required shape. */
static attsvm_status copy_block(const attsvm_train *t, const model_parameter *block,
                                const attsvm_array *array, const char *name, attsvm_error *err)
{
    int ndim = strchr("WKQ", block->name[0]) ? 2 : 1;
    attsvm_array wanted = { .shape = { block->rows, block->cols }, .ndim = ndim };
    char expected[80], found[160];
    attsvm_array_shape_text(&wanted, expected, sizeof expected);
    if (!array)
        return fail(err, ATTSVM_E_DATA, "Missing array %s %s: the start value.", name, expected);
    attsvm_array_shape_text(array, found, sizeof found);
    if (array->ndim != ndim || array->shape[0] != block->rows ||
        (ndim == 2 && array->shape[1] != block->cols))
        return fail(err, ATTSVM_E_DATA, "%s has shape %s; expected %s", name, found, expected);
    TRY(data_check_finite(array, name, "start values", 1, err));
    for (int64_t j = 0; j < block->count; j++)
        t->theta[block->offset + j] = attsvm_array_get(array, j);
    return ATTSVM_OK;
}

static attsvm_status from_data(const attsvm_train *t, attsvm_error *err)
{
    for (int b = 0; b < t->m->parameters; b++) {
        char name[16];
        snprintf(name, sizeof name, "init_%s", t->m->parameter[b].name);
        const attsvm_array *array = attsvm_data_array(t->data, name);
        TRY(copy_block(t, &t->m->parameter[b], array, name, err));
    }
    return ATTSVM_OK;
}

static attsvm_status from_result(const attsvm_train *t, const char *path, attsvm_error *err)
{
    attsvm_archive *archive;
    if (!strpbrk(path, "./"))
        return fail(
            err, ATTSVM_E_ARG,
            "init = %s: expected auto, zero, uniform:B, gauss:S, file, svm:S,R[,ANGLE], or a "
            "result file such as run.npz",
            path);
    attsvm_status status = attsvm_archive_open(&archive, path, NULL, err);
    if (status != ATTSVM_OK)
        return status;
    for (int b = 0; b < t->m->parameters && status == ATTSVM_OK; b++) {
        const model_parameter *block = &t->m->parameter[b];
        status = copy_block(t, block, attsvm_archive_find(archive, block->name), block->name, err);
    }
    attsvm_archive_free(archive);
    return status == ATTSVM_OK ? status : base_fail_in(err, status, path);
}

/* ------------------------------------------------------------- from an SVM solution */

/*
 * Cosine and sine of an angle in degrees, by their series on -45..45, because libm's last bits
 * depend on the processor.
 */
static void turn_by(double degrees, double *cosine, double *sine)
{
    const double quarter = round(degrees / 90),
                 x = (degrees - 90 * quarter) * (3.14159265358979323846 / 180);
    double term = 1, c = 0, s = 0;
    for (int k = 0; k < 24; k++) { /* x^k/k!, with signs + + - - */
        double *sum = k % 2 ? &s : &c;
        *sum += k % 4 < 2 ? term : -term;
        term *= x / (k + 1);
    }
    switch ((int)(quarter - 4 * floor(quarter / 4))) {
    case 0:
        *cosine = c;
        *sine = s;
        break;
    case 1:
        *cosine = -s;
        *sine = c;
        break;
    case 2:
        *cosine = -c;
        *sine = -s;
        break;
    default: *cosine = s; *sine = -c;
    }
}

/* theta (map_size) of an SVM result, scaled to norm R and rotated by `angle` degrees towards a
   random orthogonal direction. */
static attsvm_status svm_map(const attsvm_train *t, const attsvm_archive *archive, double R,
                             double angle, double *out, attsvm_error *err)
{
    const model *m = t->m;
    const int64_t size = m->map_size;
    const attsvm_array *theta = attsvm_archive_find(archive, "theta");
    if (!theta)
        return fail(err, ATTSVM_E_DATA, "theta is missing: this is not a result of attsvm svm");
    if (attsvm_array_count(theta) != size)
        return fail(err, ATTSVM_E_DATA,
                    "theta has %" PRId64 " entries; the map of this model has %" PRId64,
                    attsvm_array_count(theta), size);
    TRY(data_check_finite(theta, "theta", "start values", 1, err));
    for (int64_t j = 0; j < size; j++)
        out[j] = attsvm_array_get(theta, j);
    double norm = la_norm(out, size), *w = out + size, cosine, sine;
    turn_by(angle, &cosine, &sine);
    if (!(norm > 0))
        return fail(err, ATTSVM_E_DATA, "theta is 0: it has no direction");
    base_random r = base_random_stream((uint64_t)t->settings.seed, (uint64_t)15 << 56);
    base_random_sphere(&r, w, size);
    for (int64_t j = 0; j < size; j++)
        out[j] /= norm;
    la_axpy(-la_dot(out, w, size), out, w, size);
    double rest = la_norm(w, size);
    for (int64_t j = 0; j < size; j++)
        out[j] = R * (cosine * out[j] + (rest > 0 ? sine * (w[j] / rest) : 0));
    return ATTSVM_OK;
}

/* Balanced factors K = U S^1/2, Q = V S^1/2 of W = U S V'. */
static attsvm_status factor(const attsvm_train *t, double *W, attsvm_error *err)
{
    const model *m = t->m;
    const int64_t d = m->d, rank = m->rank;
    double *K = t->theta + m->parameter[0].offset, *Q = t->theta + m->parameter[1].offset, *U;
    TRY(base_allocate(&U, (size_t)d * (2 * (size_t)d + 1), sizeof *U, "singular vectors", err));
    double *Vt = U + d * d, *sigma = Vt + d * d;
    attsvm_status status = la_svd(d, d, W, d, sigma, U, d, Vt, d, err);
    for (int64_t j = 0; j < d && status == ATTSVM_OK; j++)
        for (int64_t k = 0; k < rank; k++) {
            K[j * rank + k] = sqrt(sigma[k]) * U[j * d + k];
            Q[j * rank + k] = sqrt(sigma[k]) * Vt[k * d + j];
        }
    free(U);
    return status;
}

/* "FILE,R" or "FILE,R,ANGLE": file name (allocated), R > 0, angle in degrees. */
static attsvm_status read_svm_text(const char *text, char **file, double *R, double *angle,
                                   attsvm_error *err)
{
    double number[2] = { 0, 0 };
    size_t length = strlen(text);
    int count = 0;
    *file = malloc(length + 1);
    if (!*file)
        return fail(err, ATTSVM_E_MEMORY, "no memory for a name");
    memcpy(*file, text, length + 1);
    for (char *comma; count < 2 && (comma = strrchr(*file, ',')); count++) {
        char *end;
        double value = strtod(comma + 1, &end);
        if (end == comma + 1 || *end || !isfinite(value))
            break;
        number[1] = number[0];
        number[0] = value;
        *comma = '\0';
    }
    *R = number[0];
    *angle = number[1];
    if (count == 0 || !**file || !(*R > 0))
        return fail(err, ATTSVM_E_ARG,
                    "init = svm:%s: expected svm:RESULT,R or svm:RESULT,R,ANGLE, R above 0, ANGLE "
                    "in degrees",
                    text);
    return ATTSVM_OK;
}

/* The attention parameters from an SVM result; a trained head has its default start. */
static attsvm_status from_svm(const attsvm_train *t, const char *text, attsvm_error *err)
{
    const model *m = t->m;
    attsvm_archive *archive = NULL;
    double R, angle, *map = NULL;
    char *file = NULL;
    attsvm_status status = read_svm_text(text, &file, &R, &angle, err);
    if (status == ATTSVM_OK && m->prompt && m->trains_W)
        status = fail(err, ATTSVM_E_ARG, "init = svm:%s: start values of p, W, K and Q only", text);
    if (status == ATTSVM_OK)
        status = base_allocate(&map, 2 * (size_t)m->map_size, sizeof *map, "a direction", err);
    if (status == ATTSVM_OK)
        status = attsvm_archive_open(&archive, file, NULL, err);
    if (status == ATTSVM_OK) {
        status = svm_map(t, archive, R, angle, map, err);
        if (status != ATTSVM_OK)
            base_fail_in(err, status, file);
    }
    if (status == ATTSVM_OK && m->factored)
        status = factor(t, map, err);
    else if (status == ATTSVM_OK)
        memcpy(t->theta + m->parameter[0].offset, map, (size_t)m->map_size * sizeof *map);
    const model_parameter *last = &m->parameter[m->parameters - 1];
    for (int64_t j = 0; j < last->count && last->head && status == ATTSVM_OK; j++)
        t->theta[last->offset + j] = m->v ? m->v[j] : 0;
    attsvm_archive_free(archive);
    free(map);
    free(file);
    return status;
}

/* Zero is a stationary point if logits are a product of two trained arrays. */
static bool zero_is_stationary(const model *m)
{
    return m->factored || (m->trains_p && m->trains_W);
}

/* A factor of the logits or of the output that multiplies another trained block. */
static bool multiplies_another(const model *m, const model_parameter *block)
{
    return block->head || zero_is_stationary(m);
}

/*
 * x_j (1 + size u_j), or size u_j if x_j = 0; u uniform in -1..1.  An array that is exactly zero
 * and multiplies another one stays zero: there the gradient of the other is zero, and a normalised
 * rule would take a full step along noise of any size.
 */
static void disturb(const attsvm_train *t)
{
    const double size = t->settings.disturb;
    const uint64_t seed = (uint64_t)t->settings.disturb_seed, own = (uint64_t)t->settings.seed;
    for (int b = 0; b < t->m->parameters && size > 0; b++) {
        const model_parameter *block = &t->m->parameter[b];
        double *x = t->theta + block->offset;
        base_random r = base_random_stream(seed, (8 + stream_of(block)) << 56 | own);
        bool zero = true;
        for (int64_t j = 0; j < block->count; j++)
            zero = zero && x[j] == 0;
        if (zero && multiplies_another(t->m, block))
            continue;
        for (int64_t j = 0; j < block->count; j++) {
            double noise = size * (2 * base_random_uniform(&r) - 1);
            x[j] = x[j] == 0 ? noise : x[j] * (1 + noise);
        }
    }
}

static attsvm_status start_values(attsvm_train *t, attsvm_error *err)
{
    const model *m = t->m;
    const char *text = t->settings.init;
    how kind = ZERO;
    double size = 0;
    if (strcmp(text, "file") == 0)
        return from_data(t, err);
    if (strncmp(text, "svm:", 4) == 0)
        return from_svm(t, text + 4, err);
    if (strncmp(text, "uniform:", 8) == 0) {
        kind = UNIFORM;
        TRY(number_after(text, "uniform:", &size, err));
    } else if (strncmp(text, "gauss:", 6) == 0) {
        kind = GAUSS;
        TRY(number_after(text, "gauss:", &size, err));
    } else if (strcmp(text, "auto") == 0 && zero_is_stationary(m)) {
        kind = UNIFORM;
        size = 1 / sqrt((double)m->d);
    } else if (strcmp(text, "zero") != 0 && strcmp(text, "auto") != 0) {
        return from_result(t, text, err);
    }
    for (int b = 0; b < m->parameters; b++) {
        const model_parameter *block = &m->parameter[b];
        if (block->head && m->v) /* a trained head starts at the head of the file */
            memcpy(t->theta + block->offset, m->v, (size_t)block->count * sizeof(double));
        else
            draw(t, block, kind, size);
    }
    return ATTSVM_OK;
}

attsvm_status attsvm_train_start(attsvm_train *train, const attsvm_named_array *arrays,
                                 int64_t count, attsvm_error *err)
{
    NEED(train);
    TRY(data_check_arrays(arrays, count, "arrays", err));
    if (train->info.outcome != ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run has already started");
    for (int64_t k = 0; k < count; k++) {
        const model_parameter *block = NULL;
        for (int b = 0; b < train->m->parameters; b++)
            if (strcmp(train->m->parameter[b].name, arrays[k].name) == 0)
                block = &train->m->parameter[b];
        if (!block)
            return fail(err, ATTSVM_E_ARG, "%s is not an array that this model trains",
                        base_printable(arrays[k].name, (char[BASE_NAME_SIZE]){ 0 }));
        TRY(copy_block(train, block, &arrays[k].array, block->name, err));
    }
    return ATTSVM_OK;
}

attsvm_status attsvm_train_schedule(attsvm_train *train, const attsvm_schedule_callback *schedule,
                                    attsvm_error *err)
{
    NEED(train);
    NEED(schedule);
    NEED(schedule->value);
    if (train->info.outcome != ATTSVM_TRAIN_NOT_RUN)
        return fail(err, ATTSVM_E_ARG, "this run has already started");
    if (*train->settings.checkpoint)
        return fail(err, ATTSVM_E_ARG,
                    "checkpoint = %s: a run with a schedule of the caller has no checkpoints",
                    train->settings.checkpoint);
    train->schedule = *schedule;
    return ATTSVM_OK;
}

attsvm_status train_start_values(attsvm_train *t, attsvm_error *err)
{
    TRY(start_values(t, err));
    disturb(t);
    return ATTSVM_OK;
}
