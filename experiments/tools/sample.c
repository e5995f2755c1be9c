/* Random data sets of unit vectors (theory, section 7), with training and solving on them. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

static void layout(experiments_sample *u, arena *a)
{
    size_t n = (size_t)u->n, T = (size_t)u->T, d = (size_t)u->d, h = (size_t)u->h;
    u->X = take(a, n * T * d);
    u->Z = take(a, n * d);
    u->Y = take(a, n);
    u->v = take(a, d);
    u->V = take(a, h * d);
}

/* The order of draws is fixed: X, Z, Y, then the head, then the seed of the start values. */
static void draw(experiments_sample *u, base_random *r)
{
    for (int64_t k = 0; k < u->n * u->T; k++)
        base_random_sphere(r, u->X + k * u->d, u->d);
    for (int64_t i = 0; i < u->n; i++)
        base_random_sphere(r, u->Z + i * u->d, u->d);
    for (int64_t i = 0; i < u->n; i++)
        u->Y[i] = base_random_uniform(r) < 0.5 ? -1 : 1;
    if (u->h > 0)
        base_random_sphere(r, u->V, u->h * u->d); /* Gaussian, scaled to |V|_F = 1 */
    else
        base_random_sphere(r, u->v, u->d);
    u->seed = (int64_t)(base_random_bits(r) >> 12);
}

attsvm_status experiments_sample_create(experiments_sample *u, const experiments_setup *setup,
                                        int64_t n, int64_t T, int64_t d, int64_t h, int64_t k,
                                        attsvm_error *err)
{
    *u = (experiments_sample){ .setup = setup, .n = n, .T = T, .d = d, .h = h };
    arena a = { 0 };
    layout(u, &a);
    TRY(base_arena_allocate(&a, "data set", err));
    u->memory = a.base;
    layout(u, &a);
    uint64_t shape = ((uint64_t)n * 128 + (uint64_t)T) * 128 + (uint64_t)d;
    base_random r =
        base_random_stream((uint64_t)setup->seed, (shape * 2 + (h > 0)) << 32 | (uint64_t)k);
    draw(u, &r);
    attsvm_named_array arrays[] = {
        experiments_name("X", u->X, SHAPE(n, T, d)),
        experiments_name("Z", u->Z, SHAPE(n, d)),
        experiments_name("Y", u->Y, SHAPE(n)),
        h > 0 ? experiments_name("V", u->V, SHAPE(h, d)) : experiments_name("v", u->v, SHAPE(d)),
    };
    attsvm_status status = attsvm_data_create(&u->data, arrays, 4, NULL, err);
    if (status != ATTSVM_OK)
        experiments_sample_free(u);
    return status;
}

void experiments_sample_free(experiments_sample *u)
{
    attsvm_data_free(u->data);
    free(u->known);
    free(u->memory);
    *u = (experiments_sample){ 0 };
}

attsvm_status experiments_sample_train(const experiments_sample *u, attsvm_model_kind kind,
                                       const char *step, bool published, const char *record,
                                       int64_t iters, attsvm_train **out, attsvm_error *err)
{
    char init[32];
    attsvm_train_settings s;
    experiments_train_settings(u->setup, &s);
    snprintf(init, sizeof init, "uniform:%.17g", 1 / sqrt((double)u->d));
    s.model = (int32_t)kind;
    s.step = step;
    s.head = u->h > 0 ? ATTSVM_HEAD_RELU : ATTSVM_HEAD_LINEAR;
    s.init = init;
    s.seed = u->seed;
    s.record = record;
    s.iters = iters;
    if (published) {
        s.eps = "2.220446049250313e-16";
        s.ridge = kind == ATTSVM_MODEL_KQ ? 2.220446049250313e-16 : 0;
    }
    return attsvm_train_create(out, u->data, &s, NULL, NULL, err);
}

attsvm_status experiments_sample_solve(const experiments_sample *u, const char *norm,
                                       const int64_t *alpha, double *theta, attsvm_svm_info *info,
                                       attsvm_error *err)
{
    attsvm_svm_settings s;
    attsvm_svm_settings_init(&s);
    s.problem = ATTSVM_PROBLEM_W;
    s.threads = 1;
    TRY(attsvm_settings_set(&attsvm_svm_table, &s, "norm", norm, err));
    return experiments_solve(u->data, &s, alpha, theta, u->d * u->d, info, err);
}

/* ---------------------------------------------------------------------- efficiency */

enum { MOST_N = 16 };

struct experiments_known {
    const char *norm; /* owned by the caller, compared as text */
    int64_t alpha[MOST_N];
    double size;
};

/* |W_svm| of alpha in a norm; solved once. */
static attsvm_status svm_size(experiments_sample *s, const char *norm, const int64_t *alpha,
                              double *size, attsvm_error *err)
{
    const size_t bytes = (size_t)s->n * sizeof *alpha;
    for (int64_t k = 0; k < s->known_count; k++)
        if (strcmp(s->known[k].norm, norm) == 0 && memcmp(s->known[k].alpha, alpha, bytes) == 0) {
            *size = s->known[k].size;
            return ATTSVM_OK;
        }
    double *theta;
    attsvm_svm_info info;
    if (s->n > MOST_N)
        return fail(err, ATTSVM_E_ARG, "%" PRId64 " sequences, at most %d", s->n, MOST_N);
    TRY(base_allocate(&theta, (size_t)(s->d * s->d), sizeof *theta, "SVM solution", err));
    attsvm_status status = experiments_sample_solve(s, norm, alpha, theta, &info, err);
    free(theta);
    TRY(status);
    struct experiments_known *known =
        io_grow(s->known, (size_t)s->known_count, 1, &s->known_room, sizeof *known, err);
    if (!known)
        return ATTSVM_E_MEMORY;
    s->known = known;
    known[s->known_count] = (struct experiments_known){ .norm = norm, .size = info.norm };
    memcpy(known[s->known_count++].alpha, alpha, bytes);
    *size = info.norm;
    return ATTSVM_OK;
}

/* (least margin / |W|) |W_svm| */
attsvm_status experiments_efficiency(experiments_sample *s, const attsvm_train *run,
                                     const char *norm, double *out, attsvm_error *err)
{
    double own, svm;
    attsvm_svm_settings settings;
    attsvm_svm_settings_init(&settings);
    TRY(attsvm_settings_set(&attsvm_svm_table, &settings, "norm", norm, err));
    TRY(svm_size(s, norm, run->m->selected, &svm, err));
    TRY(svm_norm_of(&settings, model_matrix(run->m, run->theta), s->d, s->d, &own, err));
    *out = run->info.margin / own * svm;
    return ATTSVM_OK;
}

attsvm_status experiments_settle(experiments_sample *s, attsvm_train *run, const char *norm,
                                 int64_t first, int64_t cap, double *efficiency, attsvm_error *err)
{
    const double settled = 1e-3;
    double before = NAN;
    if (run->iter == 0)
        train_start(run);
    for (int64_t steps = first;; steps *= 2) {
        run->settings.iters = steps < cap ? steps : cap;
        TRY(train_continue(run, experiments_observe_train, (void *)s->setup, err));
        if (run->info.outcome == ATTSVM_TRAIN_OBSERVER)
            return EXPERIMENTS_STOPPED;
        TRY(experiments_efficiency(s, run, norm, efficiency, err));
        if (fabs(*efficiency - before) < settled || steps >= cap)
            return ATTSVM_OK;
        before = *efficiency;
    }
}

attsvm_status experiments_each_rule(const void *job, const experiments_setup *setup, int64_t n,
                                    int64_t T, int64_t d, int64_t k, int rules,
                                    experiments_rule_run *run_rule, attsvm_error *err)
{
    experiments_sample s;
    attsvm_status status = ATTSVM_OK;
    TRY(experiments_sample_create(&s, setup, n, T, d, 0, k, err));
    for (int rule = 0; rule < rules && status == ATTSVM_OK; rule++)
        status = run_rule(job, &s, k, rule, err);
    experiments_sample_free(&s);
    return status;
}
