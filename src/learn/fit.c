/*
 * Members of an ensemble: minimisations from different random start values (theory 8).
 *
 * Data with more values (tokens x d) than the setting `batch` are fitted in two steps: to
 * convergence on a random sample of bags with about `batch` values, then at most 50 iterations on
 * all bags.
 */
#include "data/reader.h"
#include "learn/learn.h"
#include "optimise/optimise.h"

#include <stdlib.h>
#include <string.h>

enum {
    ON_ALL = 50,             /* iterations after a sample                   */
    SAMPLE_STREAM = 1 << 20, /* its random numbers                          */
    MOST_TOGETHER = 16,      /* members that share a pass over the data     */
    MOST_GROUPS = 64         /* groups of them that run at the same time    */
};
static const double tolerance = 1e-6;

void learn_start(const learn_shape *shape, int64_t seed, int64_t start, double *theta)
{
    base_random r = base_random_stream((uint64_t)seed, (uint64_t)start);
    const int64_t prompts = shape->prompts * shape->d, directions = shape->columns * shape->d;
    const double head = shape->betas >= 0 ? 0.3 : 0.01;
    base_random_gauss_fill(&r, theta, directions);
    for (int64_t j = 0; j < directions; j++)
        theta[j] *= j < prompts ? 0.3 : head;
    memset(theta + directions, 0, (size_t)(shape->size - directions) * sizeof *theta);
}

int64_t learn_members(const learn_shape *shape, int64_t starts)
{
    return shape->pool == ATTSVM_POOL_MEAN ? 1 : starts;
}

void learn_weights(const learn_training *t, int32_t weighting, double *weight)
{
    double sum = 0;
    const bool balanced = !t->class_given && weighting == ATTSVM_WEIGHTS_BALANCED;
    for (int64_t c = 0; c < t->classes; c++) {
        double mass = 0;
        for (int64_t i = 0; i < t->n; i++)
            mass += t->label[i] == c ? t->sample[i] : 0;
        const double factor =
            balanced ? (mass > 0 ? 1 / mass : 0) : (t->class_given ? t->class_given[c] : 1);
        for (int64_t i = 0; i < t->n; i++)
            if (t->label[i] == c)
                weight[i] = factor * t->sample[i];
    }
    for (int64_t i = 0; i < t->n; i++)
        sum += weight[i];
    for (int64_t i = 0; i < t->n; i++)
        weight[i] /= sum;
}

/* Values per token; a one-hot word counts as one. */
static double values_of_token(const attsvm_data *data)
{
    return data->storage == ATTSVM_STORAGE_ONE_HOT ? 1 : (double)data->d;
}

/* ------------------------------------------------------------------------- lockstep */

/* Members that are minimised together; they share every pass over the data. */
typedef struct slot {
    optimise_lbfgs_state *state; /* NULL: empty */
    learn_job *job;
} slot;

typedef struct lockstep {
    const learn_problem *problem;
    const learn_run *run;
    int64_t iterations;
    int threads, worker;
    learn_job *jobs;
    int64_t count, next;
    slot slots[MOST_TOGETHER];
    int64_t active;
} lockstep;

/* Members per lockstep: limited by the memory of L-BFGS. */
static int64_t together(const learn_shape *shape, int64_t count)
{
    const int64_t values = 1 << 20, fitting = values / shape->size;
    const int64_t most = fitting < 1 ? 1 : fitting < MOST_TOGETHER ? fitting : MOST_TOGETHER;
    return count < most ? count : most;
}

static attsvm_status fill(lockstep *l, int64_t most, attsvm_error *err)
{
    const optimise_lbfgs_settings s = { .tol = tolerance,
                                        .relative = tolerance,
                                        .iterations = l->iterations };
    while (l->active < most && l->next < l->count) {
        slot *own = &l->slots[l->active];
        own->job = &l->jobs[l->next++];
        TRY(optimise_lbfgs_create(&own->state, l->problem->shape.size, &s, own->job->theta, err));
        l->active++;
    }
    return ATTSVM_OK;
}

static void finish(learn_job *job, optimise_lbfgs_state *state, const learn_run *run)
{
    optimise_lbfgs_info info;
    optimise_lbfgs_end(state, job->theta, &info);
    job->loss = info.value;
    job->gradient = info.gradient;
    job->iterations += info.iterations;
    job->evaluations += info.evaluations;
    job->converged = info.outcome == OPTIMISE_CONVERGED;
    if (run->done)
        __atomic_add_fetch(run->done, 1, __ATOMIC_RELAXED);
}

/* Evaluates every active member once, and removes those that have ended. */
static void step(lockstep *l, learn_work *work)
{
    learn_point points[MOST_TOGETHER];
    for (int64_t k = 0; k < l->active; k++) {
        points[k].lambda = l->slots[k].job->lambda;
        points[k].theta = optimise_lbfgs_ask(l->slots[k].state, &points[k].gradient);
    }
    learn_evaluate(work, points, l->active);
    for (int64_t k = l->active - 1; k >= 0; k--) {
        double *gradient;
        slot *own = &l->slots[k];
        optimise_lbfgs_tell(own->state, points[k].value);
        if (optimise_lbfgs_ask(own->state, &gradient))
            continue;
        finish(own->job, own->state, l->run);
        *own = l->slots[--l->active];
    }
}

static attsvm_status run_lockstep(lockstep *l, attsvm_error *err)
{
    const int64_t most = together(&l->problem->shape, l->count);
    learn_work *work;
    TRY(learn_work_create(&work, l->problem, most, l->threads, err));
    attsvm_status status = fill(l, most, err);
    while (status == ATTSVM_OK && l->active > 0 && !attsvm_interrupted() &&
           !dist_stop_inside(l->run->stop, l->worker)) {
        step(l, work);
        status = fill(l, most, err);
    }
    for (int64_t k = 0; k < l->active; k++)
        finish(l->slots[k].job, l->slots[k].state, l->run);
    learn_work_free(work);
    for (int64_t k = 0; k < l->count && status == ATTSVM_OK; k++)
        if (!isfinite(l->jobs[k].loss))
            status = fail(err, ATTSVM_E_NUMERIC,
                          "the objective is %g: values of tokens are too large", l->jobs[k].loss);
    return status;
}

/* ------------------------------------------------------------------------- all jobs */

/* Jobs in groups, one per thread. */
typedef struct groups {
    const learn_problem *problem;
    const learn_run *run;
    learn_job *jobs;
    int64_t count, groups, iterations;
    attsvm_status status[MOST_GROUPS];
    attsvm_error error[MOST_GROUPS];
} groups;

static void run_group(void *context, int64_t k, int worker)
{
    groups *g = context;
    int64_t lo, hi;
    base_block(g->count, g->groups, k, &lo, &hi);
    lockstep l = { .problem = g->problem,
                   .run = g->run,
                   .iterations = g->iterations,
                   .threads = g->groups == 1 ? g->run->threads : 1,
                   .worker = worker,
                   .jobs = g->jobs + lo,
                   .count = hi - lo };
    g->status[k] = run_lockstep(&l, &g->error[k]);
}

attsvm_status learn_jobs_run(const learn_problem *problem, learn_job *jobs, int64_t count,
                             int64_t iterations, const learn_run *run, attsvm_error *err)
{
    const double many = 4e6; /* values above which one evaluation uses several threads */
    const attsvm_data *data = problem->data;
    const bool alone = base_inside_block() || (double)data->tokens * values_of_token(data) > many;
    groups g = { .problem = problem,
                 .run = run,
                 .jobs = jobs,
                 .count = count,
                 .groups = alone ? 1 : run->threads,
                 .iterations = iterations };
    g.groups = g.groups > count ? count : g.groups;
    g.groups = g.groups > MOST_GROUPS ? MOST_GROUPS : g.groups;
    if (g.groups == 1)
        run_group(&g, 0, 0);
    else
        base_parallel(run->threads, g.groups, run_group, &g);
    if (run->stop && dist_stop_why(run->stop) != DIST_GO_ON)
        return fail(err, ATTSVM_E_STOPPED, "stopped by %s before the model was complete",
                    dist_stop_why(run->stop) == DIST_STOP_TIME ? "its time limit" : "its observer");
    for (int64_t k = 0; k < g.groups; k++)
        if (g.status[k] != ATTSVM_OK) {
            if (err)
                *err = g.error[k];
            return g.status[k];
        }
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------ large data */

/* Bags in random order until they hold `values` values; in ascending order, so that data are read
   from first to last. */
static attsvm_status sample(const learn_problem *whole, int64_t values, int64_t seed,
                            learn_problem *out, attsvm_data **data, int64_t **memory,
                            attsvm_error *err)
{
    const int64_t n = whole->data->n;
    TRY(base_allocate(memory, 4 * (size_t)n, sizeof **memory, "sample", err));
    int64_t *order = *memory, *chosen = order + n, *label = chosen + n, count = 0, tokens = 0;
    double *weight = (double *)(label + n), sum = 0;
    base_random r = base_random_stream((uint64_t)seed, SAMPLE_STREAM);
    base_random_permutation(&r, order, n);
    for (int64_t k = 0; k < n && (double)tokens * values_of_token(whole->data) < (double)values;
         k++) {
        tokens += data_length(whole->data, order[k]);
        chosen[order[k]] = 1;
    }
    for (int64_t i = 0; i < n; i++)
        if (chosen[i])
            order[count++] = i;
    for (int64_t k = 0; k < count; k++) {
        label[k] = whole->label[order[k]];
        sum += weight[k] = whole->weight[order[k]];
    }
    for (int64_t k = 0; k < count; k++)
        weight[k] /= sum;
    TRY(attsvm_data_subset(data, whole->data, order, count, err));
    if (whole->data->streams)
        TRY(data_subset_load(*data, err));
    learn_problem_init(out, *data, whole->features, &whole->shape, label, weight);
    return ATTSVM_OK;
}

/* Minimises, for large data on a sample first. */
static attsvm_status fit_jobs(const learn_problem *p, learn_job *jobs, int64_t count,
                              const learn_run *run, attsvm_error *err)
{
    const attsvm_fit_settings *s = run->settings;
    if ((double)p->data->tokens * values_of_token(p->data) <= (double)s->batch)
        return learn_jobs_run(p, jobs, count, s->iterations, run, err);
    learn_problem part;
    attsvm_data *data = NULL;
    int64_t *memory = NULL;
    attsvm_status status = sample(p, s->batch, s->seed, &part, &data, &memory, err);
    if (status == ATTSVM_OK)
        status = learn_jobs_run(&part, jobs, count, s->iterations, run, err);
    attsvm_data_free(data);
    free(memory);
    if (status != ATTSVM_OK)
        return status;
    return learn_jobs_run(p, jobs, count, s->iterations < ON_ALL ? s->iterations : ON_ALL, run,
                          err);
}

static void sum_up(const learn_job *jobs, int64_t members, learn_fitted *out)
{
    *out = (learn_fitted){ 0 };
    for (int64_t k = 0; k < members; k++) {
        out->loss += jobs[k].loss / (double)members;
        out->gradient = fmax(out->gradient, jobs[k].gradient);
        out->iterations += jobs[k].iterations;
        out->evaluations += jobs[k].evaluations;
        out->converged += jobs[k].converged;
    }
}

attsvm_status learn_fit_members(const learn_training *t, const learn_features *features,
                                const learn_shape *shape, const double *lambda, int64_t ridges,
                                const learn_run *run, double *theta, learn_fitted *out,
                                attsvm_error *err)
{
    const int64_t members = learn_members(shape, run->settings->starts), count = ridges * members;
    learn_job *jobs;
    double *weight = NULL;
    learn_problem problem;
    TRY(base_allocate(&jobs, (size_t)count, sizeof *jobs, "members", err));
    attsvm_status status = base_allocate(&weight, (size_t)t->n, sizeof *weight, "weights", err);
    if (status == ATTSVM_OK) {
        learn_weights(t, run->settings->weights, weight);
        learn_problem_init(&problem, t->data, features, shape, t->label, weight);
        for (int64_t k = 0; k < count; k++) {
            jobs[k] =
                (learn_job){ .lambda = lambda[k / members], .theta = theta + k * shape->size };
            learn_start(shape, run->settings->seed, k % members, jobs[k].theta);
        }
        status = fit_jobs(&problem, jobs, count, run, err);
    }
    for (int64_t k = 0; k < ridges && status == ATTSVM_OK; k++)
        sum_up(jobs + k * members, members, &out[k]);
    free(weight);
    free(jobs);
    return status;
}

/* -------------------------------------------------------------------------- scores */

typedef struct scoring {
    const attsvm_data *data;
    const learn_shape *shape;
    int64_t members, blocks;
    const double **theta;
    double *direction, *offset, *tail;   /* of all members */
    double *value, *attention, *top, *f; /* (threads x ...) */
    double *score;
} scoring;

static void score_block(void *context, int64_t block, int worker)
{
    const scoring *g = context;
    const learn_shape *s = g->shape;
    const int64_t T = g->data->T_max, K = s->outputs, M = g->members, columns = s->columns * M;
    const int64_t attentions = learn_pool_attentions(s) * M;
    learn_bag bag = { .members = M,
                      .value = g->value + worker * columns * T,
                      .attention = g->attention + worker * attentions * T,
                      .top = g->top + worker * attentions,
                      .f = g->f + worker * K * M,
                      .tail = g->tail };
    data_reader reader = data_reader_open(g->data, data_block_first(g->data, g->blocks, block),
                                          data_block_first(g->data, g->blocks, block + 1));
    for (int64_t i; data_reader_each(&reader, &i);) {
        const la_rows rows = data_sequence(g->data, i);
        bag.T = rows.count;
        learn_values(&rows, g->direction, g->offset, columns, bag.value);
        learn_pool_forward(s, &bag);
        for (int64_t k = 0; k < K; k++) {
            double sum = 0;
            for (int64_t m = 0; m < M; m++)
                sum += bag.f[k * M + m];
            g->score[i * K + k] = sum / (double)M;
        }
    }
}

static void layout(scoring *g, arena *a, size_t threads)
{
    const learn_shape *s = g->shape;
    const size_t M = (size_t)g->members, columns = (size_t)s->columns * M;
    const size_t T = (size_t)g->data->T_max, attentions = (size_t)learn_pool_attentions(s) * M;
    g->theta = base_take(a, M, sizeof *g->theta);
    g->direction = take(a, columns * (size_t)s->d);
    g->offset = take(a, columns);
    g->tail = take(a, (size_t)learn_pool_tails(s) * M);
    g->value = take(a, threads * columns * T);
    g->attention = take(a, threads * attentions * T);
    g->top = take(a, threads * attentions);
    g->f = take(a, threads * (size_t)s->outputs * M);
}

attsvm_status learn_scores(const attsvm_data *data, const learn_features *features,
                           const learn_shape *shape, const double *theta, int64_t members,
                           int threads, double *score, attsvm_error *err)
{
    scoring g = { .data = data,
                  .shape = shape,
                  .members = members,
                  .blocks = base_blocks(data->tokens * data->d, 1 << 16),
                  .score = score };
    arena a = { 0 };
    layout(&g, &a, (size_t)threads);
    TRY(base_arena_allocate(&a, "scores", err));
    layout(&g, &a, (size_t)threads);
    for (int64_t m = 0; m < members; m++)
        g.theta[m] = theta + m * shape->size;
    learn_directions(shape, features, g.theta, members, g.direction, g.offset);
    learn_pool_tail(shape, g.theta, members, g.tail);
    base_parallel(threads, g.blocks, score_block, &g);
    free(a.base);
    return ATTSVM_OK;
}
