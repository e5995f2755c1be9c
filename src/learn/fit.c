/*
 * Members of an ensemble: minimisations from different random start values (theory 8).
 *
 * Data with more values (tokens x d) than the setting `batch` are fitted in two steps: to
 * convergence on a random sample of bags with about `batch` values, then at most 50 iterations on
 * all bags.
 */
#include "learn/learn.h"
#include "optimise/optimise.h"

#include <stdlib.h>
#include <string.h>

enum { ON_ALL = 50, SAMPLE_STREAM = 1 << 20 }; /* iterations after a sample; its random stream */
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

/* -------------------------------------------------------------------------- one job */

typedef struct descent {
    learn_work *work;
    dist_stop *stop;
    int worker;
} descent;

static double evaluate(void *context, const double *theta, double *gradient)
{
    return learn_evaluate(((descent *)context)->work, theta, gradient);
}

static bool is_over(void *context)
{
    const descent *d = context;
    return dist_stop_inside(d->stop, d->worker);
}

static attsvm_status minimise(learn_job *job, const learn_problem *problem, int64_t iterations,
                              const learn_run *run, int worker, attsvm_error *err)
{
    descent d = { .stop = run->stop, .worker = worker };
    optimise_function f = { problem->shape.size, evaluate, is_over, &d, 0 };
    optimise_lbfgs_settings s = { .tol = tolerance,
                                  .relative = tolerance,
                                  .iterations = iterations };
    optimise_lbfgs_info info;
    TRY(learn_work_create(&d.work, problem, run->threads, err));
    attsvm_status status = optimise_lbfgs(&f, &s, job->theta, &info, err);
    learn_work_free(d.work);
    if (status != ATTSVM_OK)
        return status;
    job->loss = info.value;
    job->gradient = info.gradient;
    job->iterations += info.iterations;
    job->evaluations += info.evaluations;
    job->converged = info.outcome == OPTIMISE_CONVERGED;
    if (!isfinite(info.value))
        return fail(err, ATTSVM_E_NUMERIC, "the objective is %g: values of tokens are too large",
                    info.value);
    return ATTSVM_OK;
}

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
    learn_problem_init(out, *data, whole->features, &whole->shape, label, weight, whole->lambda);
    return ATTSVM_OK;
}

static attsvm_status fit_job(learn_job *job, const learn_run *run, int worker, attsvm_error *err)
{
    const learn_problem *p = job->problem;
    const attsvm_fit_settings *s = run->settings;
    learn_start(&p->shape, s->seed, job->start, job->theta);
    if ((double)p->data->tokens * values_of_token(p->data) <= (double)s->batch)
        return minimise(job, p, s->iterations, run, worker, err);
    learn_problem part;
    attsvm_data *data = NULL;
    int64_t *memory = NULL;
    attsvm_status status = sample(p, s->batch, s->seed, &part, &data, &memory, err);
    if (status == ATTSVM_OK)
        status = minimise(job, &part, s->iterations, run, worker, err);
    attsvm_data_free(data);
    free(memory);
    if (status != ATTSVM_OK)
        return status;
    return minimise(job, p, s->iterations < ON_ALL ? s->iterations : ON_ALL, run, worker, err);
}

/* ------------------------------------------------------------------------- all jobs */

typedef struct queue {
    learn_job *jobs;
    const learn_run *run;
    bool alone; /* one job after another, each on all threads */
} queue;

static void run_job(void *context, int64_t k, int worker)
{
    const queue *q = context;
    learn_job *job = &q->jobs[k];
    learn_run run = *q->run;
    if (!q->alone)
        run.threads = 1;
    if (dist_stop_inside(run.stop, worker))
        return;
    job->status = fit_job(job, &run, worker, &job->error);
    if (run.done)
        __atomic_add_fetch(run.done, 1, __ATOMIC_RELAXED);
}

attsvm_status learn_jobs_run(learn_job *jobs, int64_t count, const learn_run *run,
                             attsvm_error *err)
{
    const double many = 4e6; /* values above which one evaluation uses several threads */
    const attsvm_data *data = count > 0 ? jobs[0].problem->data : NULL;
    queue q = { jobs, run, count == 1 || (double)data->tokens * values_of_token(data) > many };
    if (q.alone)
        for (int64_t k = 0; k < count; k++)
            run_job(&q, k, 0);
    else
        base_parallel(run->threads, count, run_job, &q);
    if (run->stop && dist_stop_why(run->stop) != DIST_GO_ON)
        return fail(err, ATTSVM_E_STOPPED, "stopped by %s before the model was complete",
                    dist_stop_why(run->stop) == DIST_STOP_TIME ? "its time limit" : "its observer");
    for (int64_t k = 0; k < count; k++)
        if (jobs[k].status != ATTSVM_OK) {
            if (err)
                *err = jobs[k].error;
            return jobs[k].status;
        }
    return ATTSVM_OK;
}

attsvm_status learn_fit_members(const learn_training *t, const learn_features *features,
                                const learn_shape *shape, double lambda, const learn_run *run,
                                double *theta, learn_fitted *out, attsvm_error *err)
{
    const int64_t members = learn_members(shape, run->settings->starts);
    learn_job *jobs;
    double *weight = NULL;
    learn_problem problem;
    *out = (learn_fitted){ 0 };
    TRY(base_allocate(&jobs, (size_t)members, sizeof *jobs, "members", err));
    attsvm_status status = base_allocate(&weight, (size_t)t->n, sizeof *weight, "weights", err);
    if (status == ATTSVM_OK) {
        learn_weights(t, run->settings->weights, weight);
        learn_problem_init(&problem, t->data, features, shape, t->label, weight, lambda);
        for (int64_t k = 0; k < members; k++)
            jobs[k] =
                (learn_job){ .problem = &problem, .theta = theta + k * shape->size, .start = k };
        status = learn_jobs_run(jobs, members, run, err);
    }
    for (int64_t k = 0; k < members && status == ATTSVM_OK; k++) {
        out->loss += jobs[k].loss / (double)members;
        out->gradient = fmax(out->gradient, jobs[k].gradient);
        out->iterations += jobs[k].iterations;
        out->evaluations += jobs[k].evaluations;
        out->converged += jobs[k].converged;
    }
    free(weight);
    free(jobs);
    return status;
}

/* -------------------------------------------------------------------------- scores */

typedef struct scoring {
    const attsvm_data *data;
    const learn_shape *shape;
    const double *theta;
    int64_t members, blocks;
    double *direction, *offset;    /* (members x columns x d), (members x columns)         */
    double *value, *attention, *f; /* (threads x ...)                                    */
    double *score;
} scoring;

static void score_block(void *context, int64_t block, int worker)
{
    const scoring *g = context;
    const learn_shape *s = g->shape;
    const int64_t T = g->data->T_max, K = s->outputs, columns = s->columns;
    learn_bag bag = { .stride = T, .value = g->value + worker * columns * T };
    double *attention = g->attention + worker * learn_pool_attentions(s) * T;
    double *f = g->f + worker * K;
    const int64_t hi = data_block_first(g->data, g->blocks, block + 1);
    for (int64_t i = data_block_first(g->data, g->blocks, block); i < hi; i++) {
        const la_rows rows = data_sequence(g->data, i);
        double *score = g->score + i * K;
        memset(score, 0, (size_t)K * sizeof *score);
        for (int64_t m = 0; m < g->members; m++) {
            learn_values(s, &rows, g->direction + m * columns * s->d, g->offset + m * columns,
                         &bag);
            learn_pool_forward(s, g->theta + m * s->size + columns * s->d, &bag, attention, f);
            for (int64_t k = 0; k < K; k++)
                score[k] += f[k];
        }
        for (int64_t k = 0; k < K; k++)
            score[k] /= (double)g->members;
    }
}

static void layout(scoring *g, arena *a, size_t threads)
{
    const learn_shape *s = g->shape;
    const size_t columns = (size_t)(g->members * s->columns), T = (size_t)g->data->T_max;
    g->direction = take(a, columns * (size_t)s->d);
    g->offset = take(a, columns);
    g->value = take(a, threads * (size_t)s->columns * T);
    g->attention = take(a, threads * (size_t)learn_pool_attentions(s) * T);
    g->f = take(a, threads * (size_t)s->outputs);
}

attsvm_status learn_scores(const attsvm_data *data, const learn_features *features,
                           const learn_shape *shape, const double *theta, int64_t members,
                           int threads, double *score, attsvm_error *err)
{
    scoring g = { .data = data,
                  .shape = shape,
                  .theta = theta,
                  .members = members,
                  .blocks = base_blocks(data->tokens * data->d, 1 << 16),
                  .score = score };
    arena a = { 0 };
    layout(&g, &a, (size_t)threads);
    TRY(base_arena_allocate(&a, "scores", err));
    layout(&g, &a, (size_t)threads);
    for (int64_t m = 0; m < members; m++)
        learn_directions(shape, features, theta + m * shape->size,
                         g.direction + m * shape->columns * shape->d,
                         g.offset + m * shape->columns);
    base_parallel(threads, g.blocks, score_block, &g);
    free(a.base);
    return ATTSVM_OK;
}
