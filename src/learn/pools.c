/*
 * Pools (theory 8): from the values of a bag's tokens to scores, and from slopes of the scores to
 * slopes of the values.  A column holds phi_t' q for one direction q; the tokens themselves are not
 * used.
 *
 * Differences are relative to the most attended token, as in theory 2.1: once its softmax value
 * rounds to 1, the plain form would give gamma_top - gbar = 0 and a wrong direction.
 */
#include "learn/learn.h"

#include <string.h>

learn_shape learn_shape_of(int32_t pool, int64_t d, int64_t heads, int64_t classes)
{
    learn_shape s = { .pool = pool, .d = d, .classes = classes };
    bool prompt = pool == ATTSVM_POOL_PROMPT;
    bool beta = pool == ATTSVM_POOL_SCORE || pool == ATTSVM_POOL_WITNESS;
    s.heads = prompt ? heads : 1;
    s.outputs = classes == 2 ? 1 : classes;
    s.prompts = prompt ? s.heads : 0;
    s.columns = s.prompts + s.heads * s.outputs;
    s.betas = beta ? s.columns * d : -1;
    s.biases = s.columns * d + (beta ? s.outputs : 0);
    s.size = s.biases + s.outputs;
    return s;
}

int64_t learn_pool_attentions(const learn_shape *shape)
{
    return shape->betas >= 0 ? shape->outputs : shape->heads;
}

/* Maximum number of members that are processed together. */
enum { GROUP = 16 };

/* One column, or one distribution, in a group of members: entry t * step + m. */
typedef struct strip {
    double *at;
    int64_t step;
} strip;

static strip column(const learn_shape *shape, const learn_bag *bag, int64_t c, int64_t m)
{
    return (strip){ bag->value + c * bag->members + m, shape->columns * bag->members };
}

static strip head(const learn_shape *shape, const learn_bag *bag, int64_t h, int64_t k, int64_t m)
{
    return column(shape, bag, shape->prompts + h * shape->outputs + k, m);
}

static strip attention(const learn_shape *shape, const learn_bag *bag, int64_t a, int64_t m)
{
    return (strip){ bag->attention + a * bag->members + m,
                    learn_pool_attentions(shape) * bag->members };
}

static bool has_beta(const learn_shape *shape)
{
    return shape->betas >= 0;
}

int64_t learn_pool_tails(const learn_shape *shape)
{
    return (has_beta(shape) ? 2 : 1) * shape->outputs;
}

void learn_pool_tail(const learn_shape *shape, const double *const *theta, int64_t members,
                     double *tail)
{
    const int64_t K = shape->outputs, betas = has_beta(shape) ? K : 0;
    for (int64_t m = 0; m < members; m++) {
        for (int64_t k = 0; k < betas; k++)
            tail[k * members + m] = base_exp(theta[m][shape->betas + k]);
        for (int64_t k = 0; k < K; k++)
            tail[(betas + k) * members + m] = theta[m][shape->biases + k];
    }
}

/* beta_k of a group of members. */
static const double *beta_of(const learn_bag *bag, int64_t k, int64_t m)
{
    return bag->tail + k * bag->members + m;
}

double learn_pool_bias(const learn_shape *shape, const learn_bag *bag, int64_t k, int64_t m)
{
    return bag->tail[((has_beta(shape) ? shape->outputs : 0) + k) * bag->members + m];
}

/* ------------------------------------------------------------------------- forward */

/* s = beta (a - a_top), and top; beta NULL: 1. */
static void lean(int64_t T, int64_t members, strip a, const double *beta, strip s, double *top)
{
    double best[GROUP];
    for (int64_t m = 0; m < members; m++) {
        best[m] = a.at[m];
        top[m] = 0;
    }
    for (int64_t t = 1; t < T; t++)
        for (int64_t m = 0; m < members; m++) {
            const double x = a.at[t * a.step + m];
            top[m] = x > best[m] ? (double)t : top[m];
            best[m] = x > best[m] ? x : best[m];
        }
    for (int64_t t = 0; t < T; t++)
        for (int64_t m = 0; m < members; m++)
            s.at[t * s.step + m] = (beta ? beta[m] : 1) * (a.at[t * a.step + m] - best[m]);
}

/* Normalises s = exp(beta (a - a_top)); rest: the sum without the top. */
static void share(int64_t T, int64_t members, strip s, const double *top, double *rest)
{
    double each[GROUP];
    memset(rest, 0, (size_t)members * sizeof *rest);
    for (int64_t t = 0; t < T; t++)
        for (int64_t m = 0; m < members; m++)
            rest[m] += top[m] == (double)t ? 0 : s.at[t * s.step + m];
    for (int64_t m = 0; m < members; m++)
        each[m] = 1 / (1 + rest[m]);
    for (int64_t t = 0; t < T; t++)
        for (int64_t m = 0; m < members; m++)
            s.at[t * s.step + m] *= each[m];
}

/* f += sum_t s_t value_t */
static void weigh(int64_t T, int64_t members, strip s, strip value, double *f)
{
    double sum[GROUP] = { 0 };
    for (int64_t t = 0; t < T; t++)
        for (int64_t m = 0; m < members; m++)
            sum[m] += s.at[t * s.step + m] * value.at[t * value.step + m];
    for (int64_t m = 0; m < members; m++)
        f[m] += sum[m];
}

/* Exponents of all distributions. */
static void lean_all(const learn_shape *shape, const learn_bag *bag, int64_t m, int64_t members)
{
    for (int64_t a = 0; a < learn_pool_attentions(shape); a++)
        lean(bag->T, members,
             has_beta(shape) ? head(shape, bag, 0, a, m) : column(shape, bag, a, m),
             has_beta(shape) ? beta_of(bag, a, m) : NULL, attention(shape, bag, a, m),
             bag->top + a * bag->members + m);
}

static void weigh_all(const learn_shape *shape, const learn_bag *bag, int64_t m, int64_t members)
{
    double rest[GROUP];
    for (int64_t a = 0; a < learn_pool_attentions(shape); a++) {
        const strip s = attention(shape, bag, a, m);
        if (shape->pool != ATTSVM_POOL_MEAN)
            share(bag->T, members, s, bag->top + a * bag->members + m, rest);
        double *f = bag->f + m;
        if (shape->pool == ATTSVM_POOL_WITNESS) { /* one output */
            const strip gamma = head(shape, bag, 0, 0, m);
            for (int64_t k = 0; k < members; k++)
                f[k] += gamma.at[(int64_t)bag->top[m + k] * gamma.step + k] +
                        base_log1p(rest[k]) / beta_of(bag, 0, m)[k];
        } else if (shape->pool == ATTSVM_POOL_SCORE) {
            weigh(bag->T, members, s, head(shape, bag, 0, a, m), f + a * bag->members);
        } else {
            for (int64_t k = 0; k < shape->outputs; k++)
                weigh(bag->T, members, s, head(shape, bag, a, k, m), f + k * bag->members);
        }
    }
}

static int64_t group_of(const learn_bag *bag, int64_t m)
{
    return bag->members - m < GROUP ? bag->members - m : GROUP;
}

void learn_pool_forward(const learn_shape *shape, const learn_bag *bag)
{
    const int64_t T = bag->T, M = bag->members, K = shape->outputs;
    const int64_t distributions = T * learn_pool_attentions(shape) * M;
    for (int64_t k = 0; k < K; k++)
        for (int64_t m = 0; m < M; m++)
            bag->f[k * M + m] = T == 0 && shape->pool == ATTSVM_POOL_WITNESS
                                    ? -INFINITY
                                    : learn_pool_bias(shape, bag, k, m);
    if (T == 0)
        return;
    if (shape->pool == ATTSVM_POOL_MEAN) {
        for (int64_t k = 0; k < distributions; k++)
            bag->attention[k] = 1 / (double)T;
    } else {
        for (int64_t m = 0; m < M; m += GROUP)
            lean_all(shape, bag, m, group_of(bag, m));
        la_exp(bag->attention, bag->attention, distributions);
    }
    for (int64_t m = 0; m < M; m += GROUP)
        weigh_all(shape, bag, m, group_of(bag, m));
}

/* ------------------------------------------------------------------------ backward */

/*
 * Prompt of one head, with gamma_t = sum_k r_k phi_t' v_k:
 *
 *   d/da_t = s_t (gamma_t - gbar),   -sum of the others at the top
 */
static void prompt_slopes(const learn_shape *shape, const learn_bag *bag, const double *r,
                          int64_t h, int64_t m, int64_t members)
{
    const strip s = attention(shape, bag, h, m), a = column(shape, bag, h, m);
    const double *top = bag->top + h * bag->members + m;
    double mean[GROUP] = { 0 }, others[GROUP] = { 0 };
    for (int64_t k = 0; k < shape->outputs; k++) {
        const strip gamma = head(shape, bag, h, k, m);
        double best[GROUP];
        for (int64_t j = 0; j < members; j++)
            best[j] = gamma.at[(int64_t)top[j] * gamma.step + j];
        for (int64_t t = 0; t < bag->T; t++)
            for (int64_t j = 0; j < members; j++)
                a.at[t * a.step + j] =
                    (k > 0 ? a.at[t * a.step + j] : 0) +
                    r[k * bag->members + m + j] * (gamma.at[t * gamma.step + j] - best[j]);
    }
    for (int64_t t = 0; t < bag->T; t++)
        for (int64_t j = 0; j < members; j++)
            mean[j] += s.at[t * s.step + j] * a.at[t * a.step + j];
    for (int64_t t = 0; t < bag->T; t++)
        for (int64_t j = 0; j < members; j++) {
            const double slope = s.at[t * s.step + j] * (a.at[t * a.step + j] - mean[j]);
            a.at[t * a.step + j] = top[j] == (double)t ? 0 : slope;
            others[j] += a.at[t * a.step + j];
        }
    for (int64_t j = 0; j < members; j++)
        a.at[(int64_t)top[j] * a.step + j] = -others[j];
}

/*
 * score:   df/dgamma_t = s_t (1 + beta (gamma_t - gbar)),  df/dlog beta = beta Var_s(gamma)
 * witness: df/dgamma_t = s_t,                              df/dlog beta = gbar - F
 *
 * Returns df/dlog beta of one member; gamma becomes r df/dgamma.
 */
static double score_slopes(const learn_shape *shape, int64_t T, double beta, strip s, strip gamma,
                           int64_t top, double r)
{
    const double highest = gamma.at[top * gamma.step];
    double mean = 0, variance = 0, rest = 0;
    for (int64_t t = 0; t < T; t++) {
        double *g = gamma.at + t * gamma.step, share_of_t = s.at[t * s.step];
        *g -= highest;
        mean += share_of_t * *g;
        rest += t == top ? 0 : share_of_t;
    }
    const bool witness = shape->pool == ATTSVM_POOL_WITNESS;
    for (int64_t t = 0; t < T; t++) {
        double *g = gamma.at + t * gamma.step, share_of_t = s.at[t * s.step], off = *g - mean;
        variance += share_of_t * (off * off);
        *g = r * share_of_t * (witness ? 1 : 1 + beta * off);
    }
    /* F - gamma_top = log(1 + sum of the others' exp) / beta = log1p(rest / s_top) / beta */
    return r * (witness ? mean - base_log1p(rest / s.at[top * s.step]) / beta : beta * variance);
}

/* Slopes of the heads of a prompt or of the mean: r_k s_t. */
static void head_slopes(const learn_shape *shape, const learn_bag *bag, const double *r, int64_t m,
                        int64_t members)
{
    for (int64_t h = 0; h < shape->heads; h++) {
        const strip s = attention(shape, bag, h, m);
        if (shape->prompts)
            prompt_slopes(shape, bag, r, h, m, members);
        for (int64_t k = 0; k < shape->outputs; k++) {
            const strip w = head(shape, bag, h, k, m);
            for (int64_t t = 0; t < bag->T; t++)
                for (int64_t j = 0; j < members; j++)
                    w.at[t * w.step + j] = r[k * bag->members + m + j] * s.at[t * s.step + j];
        }
    }
}

void learn_pool_backward(const learn_shape *shape, const learn_bag *bag, const double *r,
                         double *tail_gradient)
{
    const int64_t M = bag->members, K = shape->outputs;
    double *bias = tail_gradient + (has_beta(shape) ? K * M : 0);
    for (int64_t k = 0; k < K * M; k++)
        bias[k] += r[k];
    if (bag->T == 0)
        return;
    for (int64_t m = 0; m < M && !has_beta(shape); m += GROUP)
        head_slopes(shape, bag, r, m, group_of(bag, m));
    for (int64_t k = 0; k < K && has_beta(shape); k++)
        for (int64_t m = 0; m < M; m++)
            tail_gradient[k * M + m] +=
                score_slopes(shape, bag->T, *beta_of(bag, k, m), attention(shape, bag, k, m),
                             head(shape, bag, 0, k, m), (int64_t)bag->top[k * M + m], r[k * M + m]);
}

/* ------------------------------------------------------------------- single tokens */

double learn_pool_contribution(const learn_shape *shape, const learn_bag *bag, int64_t t, int64_t k,
                               int64_t m)
{
    double sum = 0;
    if (has_beta(shape)) {
        const strip s = attention(shape, bag, k, m), gamma = head(shape, bag, 0, k, m);
        const double score = shape->pool == ATTSVM_POOL_WITNESS
                                 ? bag->f[k * bag->members + m] - learn_pool_bias(shape, bag, k, m)
                                 : gamma.at[t * gamma.step];
        return s.at[t * s.step] * score;
    }
    for (int64_t h = 0; h < shape->heads; h++) {
        const strip s = attention(shape, bag, h, m), value = head(shape, bag, h, k, m);
        sum += s.at[t * s.step] * value.at[t * value.step];
    }
    return sum;
}

double learn_pool_alone(const learn_shape *shape, const learn_bag *bag, int64_t t, int64_t k,
                        int64_t m)
{
    double sum = learn_pool_bias(shape, bag, k, m);
    for (int64_t h = 0; h < shape->heads; h++) {
        const strip value = head(shape, bag, h, k, m);
        sum += value.at[t * value.step];
    }
    return sum;
}

/* ---------------------------------------------------------------------------- loss */

/* log(1 + e^-u) without overflow, and its slope. */
static double logistic(double u, double *slope)
{
    const double e = base_exp(-fabs(u));
    *slope = u >= 0 ? -e / (1 + e) : -1 / (1 + e);
    return (u >= 0 ? 0 : -u) + base_log1p(e);
}

/* Cross-entropy of one member. */
static double cross_entropy(const learn_shape *shape, int64_t members, const double *f,
                            int64_t label, double *r)
{
    double sum = 0, highest = f[0];
    for (int64_t k = 1; k < shape->outputs; k++)
        highest = fmax(highest, f[k * members]);
    for (int64_t k = 0; k < shape->outputs; k++)
        sum += r[k * members] = base_exp(f[k * members] - highest);
    for (int64_t k = 0; k < shape->outputs; k++)
        r[k * members] /= sum;
    r[label * members] -= 1;
    return highest - f[label * members] + base_log(sum);
}

void learn_loss(const learn_shape *shape, int64_t members, const double *f, int64_t label,
                double weight, double *r, double *loss)
{
    const double Y = label == 1 ? 1 : -1;
    for (int64_t m = 0; m < members; m++) {
        if (shape->outputs == 1) {
            loss[m] += weight * logistic(Y * f[m], r + m);
            r[m] *= Y;
        } else {
            loss[m] += weight * cross_entropy(shape, members, f + m, label, r + m);
        }
    }
    for (int64_t k = 0; k < shape->outputs * members; k++)
        r[k] *= weight;
}

void learn_probabilities(const learn_shape *shape, const double *f, double *probability)
{
    if (shape->outputs == 1) {
        const double e = base_exp(-fabs(f[0])), high = 1 / (1 + e), low = e / (1 + e);
        probability[0] = f[0] > 0 ? low : high;
        probability[1] = f[0] > 0 ? high : low;
        return;
    }
    memcpy(probability, f, (size_t)shape->outputs * sizeof *f);
    la_softmax(probability, shape->outputs);
}

int64_t learn_predicted(const learn_shape *shape, const double *f)
{
    int64_t top = 0;
    if (shape->outputs == 1)
        return f[0] > 0;
    for (int64_t k = 1; k < shape->outputs; k++)
        if (f[k] > f[top])
            top = k;
    return top;
}
