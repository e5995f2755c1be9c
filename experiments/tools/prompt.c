/* Small prompt problems through the library: exact descent and certified SVM directions. */
#include "experiments/tools/tools.h"

#include <string.h>

enum { MOST_ARRAYS = 5 };

/* The arrays of a prompt problem as those of a data set, borrowed; returns how many. */
static int64_t list_arrays(const experiments_prompt *q, attsvm_named_array arrays[MOST_ARRAYS])
{
    int64_t count = 0;
    arrays[count++] = experiments_name("X", q->X, SHAPE(q->n, q->T, q->d));
    arrays[count++] = experiments_name("Y", q->Y, SHAPE(q->n));
    arrays[count++] = experiments_name(q->trains_v ? "init_v" : "v", q->v, SHAPE(q->d));
    arrays[count++] = experiments_name("init_p", q->p, SHAPE(q->d));
    if (q->W)
        arrays[count++] = experiments_name("W", q->W, SHAPE(q->d, q->d));
    return count;
}

static attsvm_status create_data(attsvm_data **out, const experiments_prompt *q, attsvm_error *err)
{
    attsvm_named_array arrays[MOST_ARRAYS];
    const int64_t count = list_arrays(q, arrays);
    return attsvm_data_create(out, arrays, count, NULL, err);
}

attsvm_status experiments_add_prompt(experiments_arrays *out, const experiments_prompt *q,
                                     attsvm_error *err)
{
    attsvm_named_array arrays[MOST_ARRAYS];
    const int64_t count = list_arrays(q, arrays);
    return experiments_add_data(out, arrays, count, err);
}

static attsvm_status read_traces(const attsvm_train *train, const experiments_prompt *q,
                                 double *trace_p, double *trace_v, double *softmax,
                                 attsvm_error *err)
{
    int64_t records = q->steps + 1;
    TRY(experiments_trained(train, "trace_p", trace_p, records * q->d, err));
    if (trace_v)
        TRY(experiments_trained(train, "trace_v", trace_v, records * q->d, err));
    if (softmax)
        TRY(experiments_trained(train, "trace_softmax", softmax, records * q->n, err));
    return ATTSVM_OK;
}

attsvm_status experiments_exact(const experiments_prompt *q, double *trace_p, double *trace_v,
                                double *softmax, attsvm_error *err)
{
    attsvm_data *data = NULL;
    attsvm_train *train = NULL;
    attsvm_train_settings s;
    char eps[64];
    experiments_train_settings(q->setup, &s);
    s.model = q->trains_v ? ATTSVM_MODEL_VP : ATTSVM_MODEL_P;
    s.step = q->step ? q->step : "ngd";
    s.loss = q->loss ? q->loss : "logistic";
    s.init = "file";
    s.record = "1";
    s.lr = q->lr;
    s.iters = q->steps;
    snprintf(eps, sizeof eps, "%.17g,%.17g", q->eps, q->eps_v);
    if (q->eps > 0)
        s.eps = q->trains_v ? eps : (eps[strcspn(eps, ",")] = '\0', eps);
    attsvm_status status = create_data(&data, q, err);
    if (status == ATTSVM_OK)
        status = attsvm_train_create(&train, data, &s, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = experiments_train(q->setup, train, err);
    if (status == ATTSVM_OK)
        status = read_traces(train, q, trace_p, trace_v, softmax, err);
    attsvm_train_free(train);
    attsvm_data_free(data);
    return status;
}

attsvm_status experiments_prompt_svm(const experiments_prompt *q, attsvm_problem_kind kind,
                                     const int64_t *alpha, double *theta, attsvm_error *err)
{
    attsvm_data *data;
    attsvm_svm_settings s;
    attsvm_svm_settings_init(&s);
    s.problem = (int32_t)kind;
    s.norm = ATTSVM_NORM_L2;
    s.threads = 1;
    TRY(create_data(&data, q, err));
    attsvm_status status = experiments_solve(data, &s, alpha, theta, q->d, NULL, err);
    attsvm_data_free(data);
    return status;
}

int64_t experiments_argmax(const experiments_prompt *q, int64_t i, const double *p)
{
    int64_t best = 0;
    double most = -INFINITY;
    for (int64_t t = 0; t < q->T; t++) {
        const double *x = q->X + (i * q->T + t) * q->d;
        double logit = 0;
        for (int64_t a = 0; a < q->d; a++) {
            double key = q->W ? 0 : x[a];
            for (int64_t b = 0; b < q->d && q->W; b++)
                key += q->W[a * q->d + b] * x[b];
            logit += key * p[a];
        }
        if (logit > most) {
            most = logit;
            best = t;
        }
    }
    return best;
}
