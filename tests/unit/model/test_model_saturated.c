/*
 * model: gradients at any norm against a reference in extended precision that keeps all quantities
 * as logarithms and never forms a difference of softmax values.
 */
#include "unit_model.h"

typedef long double real;

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
    if (m->head.kind->kind == ATTSVM_HEAD_RELU) {
        for (int64_t k = 0; k < m->head.size; k++) {
            real unit = 0;
            for (int64_t j = 0; j < d; j++)
                unit += (real)m->head.data.V[k * d + j] * u[j];
            by_v[k] = unit > 0 ? unit : 0;
            value += (real)v[k] * by_v[k];
            for (int64_t j = 0; unit > 0 && j < d; j++)
                slope[j] += (real)v[k] * (real)m->head.data.V[k * d + j];
        }
        return value;
    }
    for (int64_t j = 0; j < d; j++) {
        value += (real)v[j] * u[j];
        square += u[j] * u[j];
        slope[j] = (real)v[j] - 2 * (real)m->head.data.kappa * u[j];
        by_v[j] = u[j];
    }
    return value - (real)m->head.data.kappa * square;
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

/* A sequence under one query: T tokens, their keys and the logarithms of their softmax. */
typedef struct sequence {
    int64_t T, top;
    real key[MOST_T][MOST_D], token[MOST_T][MOST_D], s[MOST_T];
    double z[MOST_D];
} sequence;

/* Keys, tokens and logits b'k_t. */
static void read_tokens(const model *m, int64_t i, const real *b, sequence *q)
{
    double x[MOST_D];
    la_rows keys = model_keys(m, i);
    for (int64_t t = 0; t < q->T; t++) {
        q->s[t] = 0;
        la_row(&keys, t, x);
        for (int64_t j = 0; j < m->d; j++) {
            q->key[t][j] = x[j];
            q->s[t] += b[j] * (real)x[j];
        }
        attsvm_data_token(m->data, i, t, x);
        for (int64_t j = 0; j < m->d; j++)
            q->token[t][j] = x[j];
    }
}

static void read_sequence(const model *m, const real *map, int64_t i, int64_t query, sequence *q)
{
    const int64_t d = m->d;
    real b[MOST_D], sum = 0;
    *q = (sequence){ .T = data_terms_visible(&m->query, i, query) };
    if (!m->prompt)
        data_terms_query(&m->query, i, query, q->z);
    for (int64_t j = 0; j < d; j++) {
        b[j] = m->prompt ? map[j] : 0;
        for (int64_t k = 0; !m->prompt && k < d; k++)
            b[j] += map[j * d + k] * (real)q->z[k];
    }
    read_tokens(m, i, b, q);
    for (int64_t t = 0; t < q->T; t++)
        q->top = q->s[t] > q->s[q->top] ? t : q->top;
    real most = q->s[q->top];
    for (int64_t t = 0; t < q->T; t++)
        sum += expl(q->s[t] - most);
    for (int64_t t = 0; t < q->T; t++)
        q->s[t] += -most - logl(sum);
}

/* c_t - cbar = sum_tau s_tau (c_t - c_tau), term by term, where c_t = Y slope' x_t. */
static logged advantage(const sequence *q, int64_t d, real Y, const real *slope, int64_t t)
{
    logged sum = { 0, -INFINITY };
    for (int64_t tau = 0; tau < q->T; tau++) {
        real e = 0; /* by differences of tokens: exactly 0 for copies */
        for (int64_t j = 0; j < d; j++)
            e += Y * slope[j] * (q->token[t][j] - q->token[tau][j]);
        sum = plus(sum, times((logged){ 1, q->s[tau] }, logged_of(e)));
    }
    return sum;
}

static void reference_term(const model *m, const real *map, const double *v, int64_t i,
                           int64_t query, reference *out)
{
    const int64_t d = m->d;
    real slope[MOST_D], by_v[MOST_D], u[MOST_D] = { 0 }, loss;
    real Y = data_terms_label(&m->query, i, query);
    sequence q;
    read_sequence(m, map, i, query, &q);
    for (int64_t t = 0; t < q.T; t++)
        for (int64_t j = 0; j < d; j++)
            u[j] += expl(q.s[t]) * q.token[t][j];
    real f = head_value(m, v, u, slope, by_v);
    real log_rate = log_slope(m, Y * f, &loss) - logl((real)m->terms);
    out->loss += loss / (real)m->terms;
    for (int64_t k = 0; m->trains_v && k < m->head.size; k++)
        out->v[k] = plus(out->v[k], times((logged){ -1, log_rate }, logged_of(Y * by_v[k])));
    for (int64_t t = 0; t < q.T; t++) {
        logged w = times((logged){ -1, log_rate + q.s[t] }, advantage(&q, d, Y, slope, t));
        for (int64_t j = 0; j < d; j++) {
            logged part = times(w, logged_of(q.key[t][j] - q.key[q.top][j]));
            if (m->prompt)
                out->G[j] = plus(out->G[j], part);
            for (int64_t k = 0; !m->prompt && k < d; k++)
                out->G[j * d + k] = plus(out->G[j * d + k], times(part, logged_of((real)q.z[k])));
        }
    }
}

static const double *part_of(const model *m, const double *theta, const char *name)
{
    for (int b = 0; b < m->parameters; b++)
        if (strcmp(m->parameter[b].name, name) == 0)
            return theta + m->parameter[b].offset;
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
    for (int b = 0; b < m->parameters; b++) {
        const model_parameter *block = &m->parameter[b];
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
    for (int b = 0; b < m->parameters; b++) {
        const model_parameter *block = &m->parameter[b];
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

/* The head sees what is left beside a selected token of zeros: u of order exp(-m) at any norm. */
static void selected_tokens_of_zeros(void **state)
{
    (void)state;
    static const double X[] = { 0, 0, 3, 4 }, Y[] = { 1 }, V[] = { 1, 0, 0, 1 };
    attsvm_named_array arrays[] = { { "X", { X, { 1, 2, 2 }, 3, ATTSVM_F64 } },
                                    { "Y", { Y, { 1 }, 1, ATTSVM_F64 } },
                                    { "V", { V, { 2, 2 }, 2, ATTSVM_F64 } } };
    static const char *const heads[] = { "linear", "concave:0.5", "relu" };
    static const double norms[] = { 20, 100, 240, 300, 1e5 };
    attsvm_data *data;
    assert_int_equal(attsvm_data_create(&data, arrays, 3, NULL, NULL), ATTSVM_OK);
    for (int k = 0; k < 15; k++) {
        model_options options = model_flags(ATTSVM_MODEL_VP, "logistic", heads[k % 3], "", 0);
        const double theta[] = { -norms[k / 3], 0, 0, 0 };
        double x[4];
        model_gradient gradient = { .x = x };
        model *m;
        assert_int_equal(model_create(&m, data, &options, NULL), ATTSVM_OK);
        model_evaluate(m, theta, NULL, 0, &gradient, NULL);
        /* -l'(0) s u = -(1/2) exp(-m)/(1 + exp(-m)) (3,4), m = 3 norm */
        double log_size = log(2.5) + theta[0] * 3 - log1p(exp(theta[0] * 3));
        assert_true(fabs(x[2] / x[3] - 0.75) < 1e-15 && x[3] < 0);
        assert_true(fabs(gradient.log[1] + log(hypot(x[2], x[3])) - log_size) <
                    1e-14 * fabs(log_size) + 1e-14);
        model_free(m);
    }
    attsvm_data_free(data);
}

/* Direction and size of the gradient of p = norm (a, b) under a nonlinear head, one sequence. */
static void check_prompt(const attsvm_data *data, const char *head, bool lanes, const double p[2],
                         const double direction[2], double log_size)
{
    model_options options = model_flags(ATTSVM_MODEL_P, "logistic", head, "", 0);
    double x[2];
    model_gradient gradient = { .x = x };
    model *m;
    assert_int_equal(model_create(&m, data, &options, NULL), ATTSVM_OK);
    struct model_small *small = m->small;
    m->small = lanes ? small : NULL;
    model_evaluate(m, p, NULL, 0, &gradient, NULL);
    m->small = small;
    const double size = hypot(x[0], x[1]);
    assert_true(hypot(x[0] / size - direction[0], x[1] / size - direction[1]) < 1e-14);
    assert_true(fabs(gradient.log[0] + log(size) - log_size) < 1e-13 * fabs(log_size));
    model_free(m);
}

/*
 * A unit whose row of V is at right angles to the selected token: V x = 0, 1, -2 with logits 0,
 * -norm, -2 norm.  r = e^-norm (1 - 2 e^-norm)/Z > 0 and the unit is at work, at any norm; the
 * gradient is -l'(r) e^-norm (x_1 - x_0) but for e^-2norm, l'(0) = 1/2.
 */
static void units_at_right_angles(void **state)
{
    (void)state;
    static const double X[] = { 1, 1, 2, 1, 0, 2 }, Y[] = { 1 }, V[] = { 1, -1 }, v[] = { 1 };
    attsvm_named_array arrays[] = { { "X", { X, { 1, 3, 2 }, 3, ATTSVM_F64 } },
                                    { "Y", { Y, { 1 }, 1, ATTSVM_F64 } },
                                    { "V", { V, { 1, 2 }, 2, ATTSVM_F64 } },
                                    { "v", { v, { 1 }, 1, ATTSVM_F64 } } };
    static const double norms[] = { 40, 300, 800, 1e5 };
    attsvm_data *data;
    assert_int_equal(attsvm_data_create(&data, arrays, 4, NULL, NULL), ATTSVM_OK);
    for (int k = 0; k < 8; k++) {
        const double norm = norms[k / 2], p[] = { -norm, -3 * norm }, direction[] = { -1, 0 };
        check_prompt(data, "relu", k % 2, p, direction, log(0.5) - norm);
    }
    attsvm_data_free(data);
}

/*
 * h(u) = v'u - |u|^2/2 at x_0 = (1, .5) has the gradient (2, 0), at right angles to x_1 - x_0 =
 * (0, 1): its rival has e = -e^-m, m its distance, from u - x_0 = e^-m (0, 1), and the gradient is
 * l'(h(x_0)) e^-2m (0, 1) but for e^-m.
 */
static void gradients_at_right_angles(void **state)
{
    (void)state;
    static const double X[] = { 1, 0.5, 1, 1.5, 0, 0 }, Y[] = { 1 }, v[] = { 3, 0.5 };
    attsvm_named_array arrays[] = { { "X", { X, { 1, 3, 2 }, 3, ATTSVM_F64 } },
                                    { "Y", { Y, { 1 }, 1, ATTSVM_F64 } },
                                    { "v", { v, { 2 }, 1, ATTSVM_F64 } } };
    static const double norms[] = { 40, 300, 800, 1e5 };
    attsvm_data *data;
    assert_int_equal(attsvm_data_create(&data, arrays, 3, NULL, NULL), ATTSVM_OK);
    for (int k = 0; k < 4; k++) {
        const double norm = norms[k], p[] = { 5 * norm, -norm }, direction[] = { 0, 1 };
        check_prompt(data, "concave:0.5", false, p, direction, -log1p(exp(2.625)) - 2 * norm);
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_exact_at_saturation),
        cmocka_unit_test(copies_of_the_selected_token),
        cmocka_unit_test(rivals_of_equal_score),
        cmocka_unit_test(loss_excess_keeps_its_digits),
        cmocka_unit_test(selected_tokens_of_zeros),
        cmocka_unit_test(units_at_right_angles),
        cmocka_unit_test(gradients_at_right_angles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
