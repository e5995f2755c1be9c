/*
 * model: every gradient against central differences, and at saturation against a reference in
 * extended precision that keeps all quantities as logarithms and never forms a difference of
 * softmax values.
 */
#include "unit.h"

#include "model/model.h"

typedef long double real;

/* ------------------------------------------------------------------- test data */

enum { MOST_N = 6, MOST_T = 9, MOST_D = 7, MOST_M = 3 };

typedef struct sample {
    double X[MOST_N * MOST_T * MOST_D], Z[MOST_N * MOST_M * MOST_D], v[MOST_D], V[MOST_D * MOST_D];
    double W[MOST_D * MOST_D], p[MOST_D];
    int64_t Y[MOST_N * MOST_T], offsets[MOST_N + 1];
    attsvm_named_array arrays[8];
    int64_t count;
    attsvm_data *data;
} sample;

static void put(sample *s, const char *name, const void *values, attsvm_dtype dtype, int ndim,
                int64_t a, int64_t b, int64_t c)
{
    attsvm_array array = { .data = values, .shape = { a, b, c }, .ndim = ndim, .dtype = dtype };
    s->arrays[s->count++] = (attsvm_named_array){ name, array };
}

/* What makes a sample special. */
enum {
    RAGGED = 1,      /* sequences of different length                          */
    COPIES = 2,      /* each sequence repeats its tokens 0 and 1               */
    EQUAL_SCORE = 4, /* v = e_1, and all tokens but one share coordinate 1     */
    KEY_MAP = 8,     /* W = diag(0,1,..): keys forget coordinate 1             */
    SAME_KEY = 16,   /* token 2 is token 0 but for coordinate 1                */
    QUERIES = 32,    /* three queries a sequence                               */
};

static void make(sample *s, uint64_t seed, int64_t n, int64_t T, int64_t d, int flags)
{
    base_random r = base_random_stream(seed, 0);
    memset(s, 0, sizeof *s);
    base_random_gauss_fill(&r, s->X, n * T * d);
    base_random_gauss_fill(&r, s->Z, n * MOST_M * d);
    base_random_gauss_fill(&r, s->v, d);
    base_random_gauss_fill(&r, s->V, d * d);
    base_random_gauss_fill(&r, s->p, d);
    for (int64_t i = 0; i < n * T; i++)
        s->Y[i] = base_random_uniform(&r) < 0.5 ? -1 : 1;
    for (int64_t i = 0; i < n; i++) {
        double *x = s->X + i * T * d;
        if (flags & EQUAL_SCORE)
            for (int64_t t = 1; t < T; t++)
                x[t * d] = t == T - 1 ? -0.75 : 0.5;
        if (flags & EQUAL_SCORE)
            x[0] = 0.5;
        if (flags & COPIES)
            memcpy(x + (T - 2) * d, x, 2 * (size_t)d * sizeof *x);
        if (flags & SAME_KEY)
            memcpy(x + 2 * d + 1, x + 1, (size_t)(d - 1) * sizeof *x);
    }
    if (flags & EQUAL_SCORE)
        for (int64_t j = 0; j < d; j++)
            s->v[j] = j == 0;
    int64_t M = flags & QUERIES ? MOST_M : 1, tokens = n * T;
    for (int64_t i = 0; i <= n; i++)
        s->offsets[i] = i == n ? tokens : flags & RAGGED ? i * T - i % 3 : i * T;
    if (flags & RAGGED) {
        put(s, "X", s->X, ATTSVM_F64, 2, tokens, d, 0);
        put(s, "offsets", s->offsets, ATTSVM_I64, 1, n + 1, 0, 0);
    } else {
        put(s, "X", s->X, ATTSVM_F64, 3, n, T, d);
    }
    put(s, "Y", s->Y, ATTSVM_I64, 1, M == 1 ? n : n * M, 0, 0);
    put(s, "Z", s->Z, ATTSVM_F64, M == 1 ? 2 : 3, n, M == 1 ? d : M, d);
    put(s, "v", s->v, ATTSVM_F64, 1, d, 0, 0);
    put(s, "V", s->V, ATTSVM_F64, 2, d, d, 0);
    put(s, "p", s->p, ATTSVM_F64, 1, d, 0, 0);
    if (flags & KEY_MAP) {
        for (int64_t j = 1; j < d; j++)
            s->W[j * d + j] = 1;
        put(s, "W", s->W, ATTSVM_F64, 2, d, d, 0);
    }
    attsvm_error err;
    if (attsvm_data_create(&s->data, s->arrays, s->count, NULL, &err) != ATTSVM_OK)
        fail_msg("%s", err.message);
}

/* -------------------------------------------------- reference in long double */

/* Signed number as (sign, natural logarithm). */
typedef struct logged {
    int sign;
    real log;
} logged;

static logged logged_of(real x)
{
    return (logged){ (x > 0) - (x < 0), x == 0 ? -INFINITY : logl(fabsl(x)) };
}

static logged times(logged a, logged b)
{
    return (logged){ a.sign * b.sign, a.sign && b.sign ? a.log + b.log : -INFINITY };
}

static logged plus(logged a, logged b)
{
    if (!a.sign || !b.sign)
        return a.sign ? a : b;
    if (a.log < b.log) {
        logged kept = a;
        a = b;
        b = kept;
    }
    real ratio = expl(b.log - a.log);
    if (a.sign == b.sign)
        return (logged){ a.sign, a.log + log1pl(ratio) };
    return ratio == 1 ? (logged){ 0, -INFINITY } : (logged){ a.sign, a.log + log1pl(-ratio) };
}

typedef struct reference {
    logged G[MOST_D * MOST_D], v[MOST_D]; /* gradients in W (or W'p) and v */
    real loss;
} reference;

static real head_value(const model *m, const double *v, const real *u, real *slope, real *by_v)
{
    const int64_t d = m->d;
    real value = 0, square = 0;
    for (int64_t j = 0; j < d; j++)
        slope[j] = 0;
    if (m->head.kind == &model_head_relu) {
        for (int64_t k = 0; k < m->head.size; k++) {
            real unit = 0;
            for (int64_t j = 0; j < d; j++)
                unit += (real)m->head.V[k * d + j] * u[j];
            by_v[k] = unit > 0 ? unit : 0;
            value += (real)v[k] * by_v[k];
            for (int64_t j = 0; unit > 0 && j < d; j++)
                slope[j] += (real)v[k] * (real)m->head.V[k * d + j];
        }
        return value;
    }
    for (int64_t j = 0; j < d; j++) {
        value += (real)v[j] * u[j];
        square += u[j] * u[j];
        slope[j] = (real)v[j] - 2 * (real)m->head.kappa * u[j];
        by_v[j] = u[j];
    }
    return value - (real)m->head.kappa * square;
}

/* |l'(u)| as a logarithm, and l(u). */
static real log_slope(const model *m, real u, real *value)
{
    if (strcmp(m->loss.flag, "logistic") == 0) {
        *value = u > 0 ? log1pl(expl(-u)) : -u + log1pl(expl(u));
        return u > 0 ? -u - log1pl(expl(-u)) : -log1pl(expl(u));
    }
    *value = strcmp(m->loss.flag, "exp") == 0 ? expl(-u) : -u;
    return strcmp(m->loss.flag, "exp") == 0 ? -u : 0;
}

static void reference_term(const model *m, const real *map, const double *v, int64_t i,
                           int64_t query, reference *out)
{
    const int64_t d = m->d, T = data_terms_visible(&m->query, i, query);
    const bool prompt = m->prompt;
    real key[MOST_T][MOST_D], token[MOST_T][MOST_D], s[MOST_T], c[MOST_T], u[MOST_D] = { 0 };
    real slope[MOST_D], by_v[MOST_D], b[MOST_D], Y = data_terms_label(&m->query, i, query), loss;
    double z[MOST_D] = { 0 }, x[MOST_D];
    la_rows keys = model_rows_of(m->data, &m->keys, i);
    if (!prompt)
        data_terms_query(&m->query, i, query, z);
    for (int64_t j = 0; j < d; j++) {
        b[j] = prompt ? map[j] : 0;
        for (int64_t k = 0; !prompt && k < d; k++)
            b[j] += map[j * d + k] * (real)z[k];
    }
    real most = -INFINITY, sum = 0;
    for (int64_t t = 0; t < T; t++) {
        s[t] = 0;
        la_row(&keys, t, x);
        for (int64_t j = 0; j < d; j++) {
            key[t][j] = x[j];
            s[t] += b[j] * (real)x[j];
        }
        attsvm_data_token(m->data, i, t, x);
        for (int64_t j = 0; j < d; j++)
            token[t][j] = x[j];
        most = s[t] > most ? s[t] : most;
    }
    for (int64_t t = 0; t < T; t++)
        sum += expl(s[t] - most);
    for (int64_t t = 0; t < T; t++) {
        s[t] += -most - logl(sum); /* log of the softmax from here on */
        for (int64_t j = 0; j < d; j++)
            u[j] += expl(s[t]) * token[t][j];
    }
    real f = head_value(m, v, u, slope, by_v);
    real log_rate = log_slope(m, Y * f, &loss) - logl((real)m->terms);
    out->loss += loss / (real)m->terms;
    for (int64_t k = 0; m->trains_v && k < m->head.size; k++)
        out->v[k] = plus(out->v[k], times((logged){ -1, log_rate }, logged_of(Y * by_v[k])));
    int64_t top = 0;
    for (int64_t t = 0; t < T; t++) {
        c[t] = 0;
        for (int64_t j = 0; j < d; j++)
            c[t] += Y * slope[j] * token[t][j];
        top = s[t] > s[top] ? t : top;
    }
    for (int64_t t = 0; t < T; t++) {
        /* c_t - cbar = sum_tau s_tau (c_t - c_tau), term by term */
        logged sum_t = { 0, -INFINITY };
        for (int64_t tau = 0; tau < T; tau++) {
            real e = 0; /* by differences of tokens: exactly 0 for copies */
            for (int64_t j = 0; j < d; j++)
                e += Y * slope[j] * (token[t][j] - token[tau][j]);
            sum_t = plus(sum_t, times((logged){ 1, s[tau] }, logged_of(e)));
        }
        logged w = times((logged){ -1, log_rate + s[t] }, sum_t);
        for (int64_t j = 0; j < d; j++) {
            logged part = times(w, logged_of(key[t][j] - key[top][j]));
            if (prompt)
                out->G[j] = plus(out->G[j], part);
            for (int64_t k = 0; !prompt && k < d; k++)
                out->G[j * d + k] = plus(out->G[j * d + k], times(part, logged_of((real)z[k])));
        }
    }
}

static const double *part_of(const model *m, const double *theta, const char *name)
{
    for (int b = 0; b < m->blocks; b++)
        if (strcmp(m->block[b].name, name) == 0)
            return theta + m->block[b].offset;
    return NULL;
}

/* The gradient of every block as logarithms. */
static void reference_gradient(const model *m, const double *theta, logged *gradient, real *loss)
{
    const int64_t d = m->d, rank = m->rank;
    static reference out;
    real map[MOST_D * MOST_D] = { 0 };
    const double *p = part_of(m, theta, "p"), *W = part_of(m, theta, "W");
    const double *K = part_of(m, theta, "K"), *Q = part_of(m, theta, "Q");
    const double *v = m->trains_v ? part_of(m, theta, "v") : m->v;
    memset(&out, 0, sizeof out);
    for (int64_t j = 0; j < d; j++) {
        if (m->prompt) {
            map[j] = W ? 0 : p[j];
            for (int64_t k = 0; W && k < d; k++)
                map[j] += (real)W[k * d + j] * (real)(p ? p : m->p)[k];
            continue;
        }
        for (int64_t k = 0; k < d; k++) {
            map[j * d + k] = W ? W[j * d + k] : 0;
            for (int64_t r = 0; K && r < rank; r++)
                map[j * d + k] += (real)K[j * rank + r] * (real)Q[k * rank + r];
        }
    }
    for (int64_t i = 0; i < m->n; i++)
        for (int64_t q = 0; q < data_terms_queries(&m->query, i); q++)
            reference_term(m, map, v, i, q, &out);
    *loss = out.loss;
    for (int b = 0; b < m->blocks; b++) {
        const model_block *block = &m->block[b];
        for (int64_t j = 0; j < block->rows; j++)
            for (int64_t k = 0; k < block->cols; k++) {
                logged sum = { 0, -INFINITY };
                if (block->head)
                    sum = out.v[j];
                else if (block->name[0] == 'p' && !W)
                    sum = out.G[j];
                else if (block->name[0] == 'p')
                    for (int64_t l = 0; l < d; l++)
                        sum = plus(sum, times(out.G[l], logged_of((real)W[j * d + l])));
                else if (block->name[0] == 'W')
                    sum = m->prompt ? times(out.G[k], logged_of((real)(p ? p : m->p)[j]))
                                    : out.G[j * d + k];
                else
                    for (int64_t l = 0; l < d; l++)
                        sum = plus(sum,
                                   block->name[0] == 'K'
                                       ? times(out.G[j * d + l], logged_of((real)Q[l * rank + k]))
                                       : times(out.G[l * d + j], logged_of((real)K[l * rank + k])));
                gradient[block->offset + j * block->cols + k] = sum;
            }
    }
}

/* ------------------------------------------------------------------ comparisons */

enum { MOST_SIZE = 2 * MOST_D * MOST_D + MOST_D };

static void compare_with_reference(model *m, const double *theta, double tolerance)
{
    static double x[MOST_SIZE];
    static logged expected[MOST_SIZE];
    model_gradient g = { .x = x };
    model_value value;
    real loss;
    model_evaluate(m, theta, NULL, 0, &g, &value);
    reference_gradient(m, theta, expected, &loss);
    if (fabsl(value.loss - loss) > 1e-11L * (1 + fabsl(loss)))
        fail_msg("loss %.17g, expected %.17Lg", value.loss, loss);
    for (int b = 0; b < m->blocks; b++) {
        const model_block *block = &m->block[b];
        real largest = -INFINITY, error = 0, size = 0;
        for (int64_t j = 0; j < block->count; j++)
            largest = fmaxl(largest, expected[block->offset + j].log);
        if (largest == -INFINITY) {
            for (int64_t j = 0; j < block->count; j++)
                assert_true(x[block->offset + j] == 0 || g.log[b] == -INFINITY);
            continue;
        }
        for (int64_t j = 0; j < block->count; j++) {
            logged e = expected[block->offset + j];
            real wanted = (real)e.sign * expl(e.log - largest);
            real found = (real)x[block->offset + j] * expl((real)g.log[b] - largest);
            error += (found - wanted) * (found - wanted);
            size += wanted * wanted;
        }
        if (!(sqrtl(error / size) <= (real)tolerance))
            fail_msg("model %d, head %s, loss %s, query %d, block %s: relative error %.3Lg at "
                     "log-scale %.1Lf",
                     (int)m->kind, m->head.kind->flag, m->loss.flag, (int)m->query.mode,
                     block->name, sqrtl(error / size), largest);
    }
}

static void compare_with_differences(model *m, double *theta)
{
    static double x[MOST_SIZE];
    model_gradient g = { .x = x };
    const double h = 1e-5;
    double error = 0, size = 0;
    model_evaluate(m, theta, NULL, 0, &g, NULL);
    for (int b = 0; b < m->blocks; b++)
        for (int64_t k = 0; k < m->block[b].count; k++) {
            int64_t j = m->block[b].offset + k;
            model_value above, below;
            double kept = theta[j];
            theta[j] = kept + h;
            model_evaluate(m, theta, NULL, 0, NULL, &above);
            theta[j] = kept - h;
            model_evaluate(m, theta, NULL, 0, NULL, &below);
            theta[j] = kept;
            double found = g.log[b] == -INFINITY ? 0 : x[j] * exp(g.log[b]);
            double wanted = (above.loss - below.loss) / (2 * h);
            error += (found - wanted) * (found - wanted);
            size += wanted * wanted;
        }
    if (!(sqrt(error) <= 1e-8 * (sqrt(size) + 1)))
        fail_msg("model %d, head %s, loss %s, query %d: differences off by %.3g of %.3g",
                 (int)m->kind, m->head.kind->flag, m->loss.flag, (int)m->query.mode, sqrt(error),
                 sqrt(size));
}

static model *new_model(const sample *s, attsvm_model kind, const char *loss, const char *head,
                        const char *query, int64_t rank)
{
    model_options options = { kind, loss, head, query, rank, 1, NULL, NULL };
    attsvm_error err;
    model *m;
    if (model_create(&m, s->data, &options, &err) != ATTSVM_OK)
        fail_msg("%s", err.message);
    return m;
}

/* A point whose attention parameters have norm `radius` (v: 1). */
static void point(const model *m, uint64_t seed, double radius, double *theta)
{
    base_random r = base_random_stream(seed, 1);
    base_random_gauss_fill(&r, theta, m->size);
    for (int b = 0; b < m->blocks; b++) {
        double *x = theta + m->block[b].offset, norm = la_norm(x, m->block[b].count);
        double target = m->block[b].head                              ? 1
                        : m->factored || (m->trains_p && m->trains_W) ? sqrt(radius) * 1.5
                                                                      : radius;
        for (int64_t j = 0; j < m->block[b].count; j++)
            x[j] *= target / norm;
    }
}

static bool is_prompt(attsvm_model kind)
{
    return kind == ATTSVM_MODEL_P || kind == ATTSVM_MODEL_PW || kind == ATTSVM_MODEL_VP ||
           kind == ATTSVM_MODEL_VPW;
}

typedef void visit(model *m, uint64_t seed);

/* Every model with every head, loss and kind of query that it has. */
static void visit_all(int flags, visit *f)
{
    static const char *const losses[] = { "logistic", "exp", "linear" };
    static const char *const heads[] = { "linear", "relu", "concave:0.3" };
    static const char *const queries[] = { "", "1", "all", "causal" };
    sample *s = malloc(sizeof *s);
    uint64_t seed = 1;
    make(s, 7 + (uint64_t)flags, 4, 6, 5, flags);
    for (int kind = ATTSVM_MODEL_P; kind <= ATTSVM_MODEL_VKQ; kind++)
        for (int l = 0; l < 3; l++)
            for (int h = 0; h < 3; h++)
                for (int q = 0; q < (is_prompt((attsvm_model)kind) ? 1 : 4); q++) {
                    bool factored = kind == ATTSVM_MODEL_KQ || kind == ATTSVM_MODEL_VKQ;
                    if ((flags & QUERIES) && (is_prompt((attsvm_model)kind) || q > 0))
                        continue;
                    model *m = new_model(s, (attsvm_model)kind, losses[l], heads[h], queries[q],
                                         factored && l == 1 ? 2 : 0);
                    f(m, seed++);
                    model_free(m);
                }
    attsvm_data_free(s->data);
    free(s);
}

static void check_differences(model *m, uint64_t seed)
{
    double theta[MOST_SIZE];
    point(m, seed, 1.5, theta);
    compare_with_differences(m, theta);
}

static void gradients_match_central_differences(void **state)
{
    (void)state;
    visit_all(0, check_differences);
    visit_all(RAGGED, check_differences);
    visit_all(QUERIES, check_differences);
    visit_all(COPIES, check_differences);
}

/* Logits of size R are rounded to R 2^-53, and so is the relative error of their exponentials. */
static void check_reference(model *m, uint64_t seed)
{
    static const double radius[] = { 0.1, 3, 30, 300, 3000, 1e5 };
    double theta[MOST_SIZE];
    for (int r = 0; r < 6; r++) {
        point(m, seed, radius[r], theta);
        compare_with_reference(m, theta, 1e-12 + 1e-13 * radius[r]);
    }
}

static void gradients_are_exact_at_saturation(void **state)
{
    (void)state;
    visit_all(0, check_reference);
    visit_all(RAGGED, check_reference);
    visit_all(QUERIES, check_reference);
}

static void copies_of_the_selected_token(void **state)
{
    (void)state;
    visit_all(COPIES, check_reference);
    visit_all(COPIES | KEY_MAP, check_reference);
}

static void rivals_of_equal_score(void **state)
{
    (void)state;
    visit_all(EQUAL_SCORE, check_reference);
    visit_all(EQUAL_SCORE | COPIES, check_reference);
    visit_all(KEY_MAP | SAME_KEY, check_reference);
    visit_all(KEY_MAP | SAME_KEY | EQUAL_SCORE, check_reference);
}

/* The case of theory 2.1: the textbook form is 45 degrees off. */
static void textbook_case(void **state)
{
    (void)state;
    double X[] = { 1, 0, 1, 0, 1, -.3, -1, .5, .4 }, v[] = { 0, 0, 1 }, x[3];
    double W[] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 }, theta[] = { 60, -20, 0 };
    int64_t Y[] = { 1 };
    sample s = { .count = 0 };
    put(&s, "X", X, ATTSVM_F64, 3, 1, 3, 3);
    put(&s, "W", W, ATTSVM_F64, 2, 3, 3, 0);
    put(&s, "v", v, ATTSVM_F64, 1, 3, 0, 0);
    put(&s, "Y", Y, ATTSVM_I64, 1, 1, 0, 0);
    assert_int_equal(attsvm_data_create(&s.data, s.arrays, s.count, NULL, NULL), ATTSVM_OK);
    model *m = new_model(&s, ATTSVM_MODEL_P, "linear", "linear", "", 0);
    model_gradient g = { .x = x };
    model_evaluate(m, theta, NULL, 0, &g, NULL);
    double size = 1.3 * exp(-80);
    assert_true(fabs(-x[0] * exp(g.log[0]) / size - 1) < 1e-13);
    assert_true(fabs(x[1] * exp(g.log[0]) / size - 1) < 1e-13);
    assert_true(x[2] == 0);
    model_free(m);
    attsvm_data_free(s.data);
}

/* Excess over the limit: against long double while that can be formed, then by its slope. */
static void loss_excess_keeps_its_digits(void **state)
{
    (void)state;
    sample *s = malloc(sizeof *s);
    make(s, 3, 4, 6, 5, 0);
    static const char *const losses[] = { "logistic", "exp", "linear" };
    for (int l = 0; l < 3; l++) {
        model *m = new_model(s, ATTSVM_MODEL_P, losses[l], "linear", "", 0);
        double theta[5];
        real last = NAN;
        for (int r = 0; r < 5; r++) {
            model_value value;
            static logged gradient[MOST_SIZE];
            real loss, limit = 0, ell;
            point(m, 11, 1 + 3 * r, theta);
            model_evaluate(m, theta, NULL, 0, NULL, &value);
            reference_gradient(m, theta, gradient, &loss);
            for (int64_t i = 0; i < 4; i++) {
                double x[5];
                real score = 0;
                attsvm_data_token(s->data, i, m->selected[i], x);
                for (int64_t j = 0; j < 5; j++)
                    score += (real)s->v[j] * (real)x[j];
                log_slope(m, (real)s->Y[i] * score, &ell);
                limit += ell / 4;
            }
            last = loss - limit;
            double found = model_scaled_value(value.excess);
            assert_true(fabsl(found - last) < 1e-11L * fabsl(last) + 1e-18L);
        }
        point(m, 11, 1e5, theta);
        model_value value;
        model_evaluate(m, theta, NULL, 0, NULL, &value);
        assert_true(isfinite(model_scaled_log(value.excess)));
        assert_true(model_scaled_log(value.excess) < -100);
        model_free(m);
    }
    attsvm_data_free(s->data);
    free(s);
}

/* A token that occurs twice wins over a single one that alone has more attention. */
static void copies_are_counted_together(void **state)
{
    (void)state;
    double X[] = { 1, 0, 0, 1, 0, 1 }, v[] = { 1, -1 }, theta[] = { 0.5, 0.1 };
    int64_t Y[] = { 1 };
    sample s = { .count = 0 };
    put(&s, "X", X, ATTSVM_F64, 3, 1, 3, 2);
    put(&s, "v", v, ATTSVM_F64, 1, 2, 0, 0);
    put(&s, "Y", Y, ATTSVM_I64, 1, 1, 0, 0);
    assert_int_equal(attsvm_data_create(&s.data, s.arrays, s.count, NULL, NULL), ATTSVM_OK);
    model *m = new_model(&s, ATTSVM_MODEL_P, "logistic", "linear", "", 0);
    model_value value;
    model_evaluate(m, theta, NULL, 0, NULL, &value);
    double a = exp(0.5), b = exp(0.1);
    assert_int_equal(m->selected[0], 1);
    assert_true(fabs(m->attention[0] - 2 * b / (a + 2 * b)) < 1e-15);
    model_free(m);
    attsvm_data_free(s.data);
}

static double user_head(void *context, const double *u, int64_t d, double *gradient)
{
    const double *v = context;
    double value = 0;
    for (int64_t j = 0; j < d; j++) {
        value += v[j] * sin(u[j]);
        gradient[j] = v[j] * cos(u[j]);
    }
    return value;
}

static double user_loss(void *context, double u, double *slope)
{
    (void)context;
    *slope = -exp(-2 * u);
    return exp(-2 * u) / 2;
}

static void callbacks_replace_loss_and_head(void **state)
{
    (void)state;
    sample *s = malloc(sizeof *s);
    make(s, 5, 4, 6, 5, 0);
    attsvm_head_callback head = { user_head, s->v };
    attsvm_loss_callback loss = { user_loss, NULL };
    model_options options = { ATTSVM_MODEL_W, "", "", "", 0, 1, &loss, &head };
    model *m;
    double theta[MOST_SIZE];
    assert_int_equal(model_create(&m, s->data, &options, NULL), ATTSVM_OK);
    point(m, 2, 2, theta);
    compare_with_differences(m, theta);
    model_free(m);
    attsvm_data_free(s->data);
    free(s);
}

/* Small problems side by side give what term by term gives. */
static void lanes_match_terms(void **state)
{
    (void)state;
    static const attsvm_model kinds[] = { ATTSVM_MODEL_P, ATTSVM_MODEL_PW, ATTSVM_MODEL_W,
                                          ATTSVM_MODEL_KQ };
    static const char *const losses[] = { "logistic", "exp", "linear" };
    static const double radius[] = { 0.5, 20, 2000, 1e5 };
    for (int64_t n = 1; n <= 6; n += 5)
        for (int64_t T = 2; T <= 9; T += 7)
            for (int64_t d = 2; d <= 7; d++)
                for (int k = 0; k < 4; k++) {
                    double theta[MOST_SIZE], x[2][MOST_SIZE];
                    sample *s = malloc(sizeof *s);
                    make(s, (uint64_t)(n * 100 + T * 10 + d), n, T, d, 0);
                    model *m = new_model(s, kinds[k], losses[k % 3], "linear", "", 0);
                    for (int r = 0; r < 4; r++) {
                        model_gradient g[2] = { { .x = x[0] }, { .x = x[1] } };
                        point(m, 5, radius[r], theta);
                        la_lanes *lanes = m->lanes;
                        assert_non_null(lanes);
                        model_evaluate(m, theta, NULL, 0, &g[0], NULL);
                        m->lanes = NULL;
                        model_evaluate(m, theta, NULL, 0, &g[1], NULL);
                        m->lanes = lanes;
                        double error = 0, size = 0;
                        for (int64_t j = 0; j < m->size; j++) {
                            double scaled = x[0][j] * exp(g[0].log[0] - g[1].log[0]);
                            error += pow(scaled - x[1][j], 2);
                            size += pow(x[1][j], 2);
                        }
                        assert_true(size > 0 && sqrt(error / size) < 1e-13 * (1 + radius[r]));
                    }
                    model_free(m);
                    attsvm_data_free(s->data);
                    free(s);
                }
}

/* Large data in groups of sequences give what sequence by sequence gives. */
static void groups_match_terms(void **state)
{
    (void)state;
    static const int32_t kinds[] = { ATTSVM_GAUSS, ATTSVM_TIED };
    static const int32_t dtypes[] = { ATTSVM_F64, ATTSVM_F32, ATTSVM_F16 };
    static const double radius[] = { 0.5, 20, 2000, 1e5 };
    for (int kind = 0; kind < 2; kind++)
        for (int type = 0; type < 3; type++)
            for (int64_t d = 3; d <= 33; d += 15) {
                attsvm_generate_settings settings;
                attsvm_generate_settings_init(&settings);
                settings.kind = kinds[kind];
                settings.n = 900;
                settings.T = 19;
                settings.T_min = 1;
                settings.d = d;
                settings.dtype = dtypes[type];
                sample s = { .count = 0 };
                assert_int_equal(attsvm_data_generate(&s.data, &settings, NULL), ATTSVM_OK);
                model *m = new_model(&s, ATTSVM_MODEL_P, "logistic", "linear", "", 0);
                assert_true(m->grouped);
                for (int r = 0; r < 4; r++) {
                    double theta[33], x[2][33], error = 0, size = 0;
                    model_gradient g[2] = { { .x = x[0] }, { .x = x[1] } };
                    point(m, 5, radius[r], theta);
                    model_evaluate(m, theta, NULL, 0, &g[0], NULL);
                    m->grouped = false;
                    model_evaluate(m, theta, NULL, 0, &g[1], NULL);
                    m->grouped = true;
                    for (int64_t j = 0; j < d; j++) {
                        error += pow(x[0][j] * exp(g[0].log[0] - g[1].log[0]) - x[1][j], 2);
                        size += pow(x[1][j], 2);
                    }
                    assert_true(size > 0 && sqrt(error / size) < 1e-12 * (1 + radius[r]));
                }
                model_free(m);
                attsvm_data_free(s.data);
            }
}

/* Same bytes for any number of threads, and mini-batches that add up to the whole. */
static void threads_do_not_matter(void **state)
{
    (void)state;
    attsvm_generate_settings settings;
    attsvm_generate_settings_init(&settings);
    settings.n = 5000;
    settings.T = 20;
    settings.T_min = 5;
    settings.d = 16;
    settings.queries = 1;
    attsvm_data *data;
    assert_int_equal(attsvm_data_generate(&data, &settings, NULL), ATTSVM_OK);
    static const attsvm_model kinds[] = { ATTSVM_MODEL_P, ATTSVM_MODEL_W, ATTSVM_MODEL_VKQ };
    for (int k = 0; k < 3; k++) {
        double x[3][600], theta[600];
        model_gradient g[3];
        for (int threads = 1; threads <= 3; threads++) {
            model_options options = { kinds[k], "logistic", "linear", "", 0, threads, NULL, NULL };
            model *m;
            assert_int_equal(model_create(&m, data, &options, NULL), ATTSVM_OK);
            assert_true(m->parts > 3);
            point(m, 4, 20, theta);
            g[threads - 1].x = x[threads - 1];
            model_evaluate(m, theta, NULL, 0, &g[threads - 1], NULL);
            assert_memory_equal(x[0], x[threads - 1], (size_t)m->size * sizeof(double));
            assert_memory_equal(g[0].log, g[threads - 1].log, (size_t)m->blocks * sizeof(double));
            model_free(m);
        }
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(textbook_case),
        cmocka_unit_test(gradients_match_central_differences),
        cmocka_unit_test(gradients_are_exact_at_saturation),
        cmocka_unit_test(copies_of_the_selected_token),
        cmocka_unit_test(rivals_of_equal_score),
        cmocka_unit_test(loss_excess_keeps_its_digits),
        cmocka_unit_test(copies_are_counted_together),
        cmocka_unit_test(callbacks_replace_loss_and_head),
        cmocka_unit_test(lanes_match_terms),
        cmocka_unit_test(groups_match_terms),
        cmocka_unit_test(threads_do_not_matter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
