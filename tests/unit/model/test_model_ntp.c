/*
 * model: the loss of next-token prediction, -log of the attention on the label.  Gradients against
 * central differences and, at any norm, against extended precision; cases by hand; bad input.
 */
#include "generated.h"
#include "unit_model.h"

typedef long double real;

enum { WORDS = 6, DIM = 5, SEQUENCES = 5, LONGEST = 7 };

/* Contexts with repeated words, labels that occur once, twice, and as the last word. */
static const int32_t context[SEQUENCES][LONGEST] = { { 0, 1, 2, 1, 3, 1, 4 },
                                                     { 5, 5, 2, 0, 5, 3, 3 },
                                                     { 1, 4, 0, 2, 4, 4, 5 },
                                                     { 2, 2, 1, 1, 0, 3, 4 },
                                                     { 3, 3, 3, 3, 3, 3, 3 } };
static const int32_t following[SEQUENCES] = { 1, 3, 2, 0, 3 };

typedef struct words {
    double E[WORDS * DIM];
    int64_t offsets[SEQUENCES + 1];
    int32_t tokens[SEQUENCES * LONGEST], labels[SEQUENCES];
    attsvm_data *data;
} words;

enum { EQUAL_WORDS = 1 }; /* rows 1 and 4 of E are equal */

static void make_words(words *w, uint64_t seed, int flags)
{
    base_random r = base_random_stream(seed, 0);
    int64_t tokens = 0;
    base_random_gauss_fill(&r, w->E, WORDS * DIM);
    if (flags & EQUAL_WORDS)
        memcpy(w->E + 4 * DIM, w->E + DIM, DIM * sizeof *w->E);
    for (int i = 0; i < SEQUENCES; i++) {
        w->offsets[i] = tokens;
        w->labels[i] = following[i];
        for (int t = i == 2 ? 2 : 0; t < LONGEST; t++)
            w->tokens[tokens++] = context[i][t];
    }
    w->offsets[SEQUENCES] = tokens;
    attsvm_named_array arrays[] = {
        { "E", { .data = w->E, .shape = { WORDS, DIM }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "tokens", { .data = w->tokens, .shape = { tokens }, .ndim = 1, .dtype = ATTSVM_I32 } },
        { "offsets",
          { .data = w->offsets, .shape = { SEQUENCES + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
        { "labels", { .data = w->labels, .shape = { SEQUENCES }, .ndim = 1, .dtype = ATTSVM_I32 } },
    };
    attsvm_error err;
    if (attsvm_data_create(&w->data, arrays, 4, NULL, &err) != ATTSVM_OK)
        fail_msg("%s", err.message);
}

static attsvm_status make_model(model **m, const words *w, attsvm_model_kind kind,
                                const char *query, attsvm_error *err)
{
    model_options options = model_flags(kind, "ntp", "linear", query, 0);
    return model_create(m, w->data, &options, err);
}

typedef void visit_ntp(model *m, uint64_t seed);

static void visit_models(visit_ntp *f)
{
    static const attsvm_model_kind kinds[] = { ATTSVM_MODEL_P, ATTSVM_MODEL_W, ATTSVM_MODEL_KQ };
    static const char *const queries[] = { "", "last", "1" };
    words w;
    for (int flags = 0; flags <= EQUAL_WORDS; flags++) {
        make_words(&w, 3 + (uint64_t)flags, flags);
        for (int k = 0; k < 3; k++)
            for (int q = 0; q < (k == 0 ? 1 : 3); q++)
                for (uint64_t seed = 0; seed < 4; seed++) {
                    attsvm_error err;
                    model *m;
                    if (make_model(&m, &w, kinds[k], queries[q], &err) != ATTSVM_OK)
                        fail_msg("%s", err.message);
                    f(m, seed);
                    model_free(m);
                }
        attsvm_data_free(w.data);
    }
}

/* -------------------------------------------------------------- central differences */

static void check_differences(model *m, uint64_t seed)
{
    static double theta[MOST_SIZE], x[MOST_SIZE];
    model_gradient g = { .x = x };
    const double h = 1e-5;
    point(m, seed, 2, theta);
    model_evaluate(m, theta, NULL, 0, &g, NULL);
    for (int b = 0; b < m->parameters; b++)
        for (int64_t k = 0; k < m->parameter[b].count; k++) {
            int64_t j = m->parameter[b].offset + k;
            model_value above, below;
            double kept = theta[j];
            theta[j] = kept + h;
            model_evaluate(m, theta, NULL, 0, NULL, &above);
            theta[j] = kept - h;
            model_evaluate(m, theta, NULL, 0, NULL, &below);
            theta[j] = kept;
            double wanted = (above.loss - below.loss) / (2 * h);
            assert_true(fabs(x[j] * exp(g.log[b]) - wanted) < 1e-9 * (1 + fabs(wanted)) + 1e-9);
        }
}

static void ntp_gradient_matches_central_differences(void **state)
{
    (void)state;
    visit_models(check_differences);
}

/* ------------------------------------------------- reference in extended precision */

/* Logits of sequence i at theta, in long double. */
static void reference_logits(const model *m, const double *theta, int64_t i, real *a)
{
    const int64_t d = m->d, T = data_length(m->data, i);
    double x[DIM], z[DIM] = { 0 };
    real b[DIM];
    if (!m->prompt)
        data_terms_query(&m->query, i, 0, z);
    for (int64_t j = 0; j < d; j++) {
        b[j] = m->prompt ? (real)theta[j] : 0;
        for (int64_t k = 0; !m->prompt && k < d; k++) {
            real W = m->factored ? 0 : (real)theta[j * d + k];
            for (int64_t r = 0; m->factored && r < d; r++)
                W += (real)theta[j * d + r] * (real)theta[d * d + k * d + r];
            b[j] += W * (real)z[k];
        }
    }
    for (int64_t t = 0; t < T; t++) {
        attsvm_data_token(m->data, i, t, x);
        a[t] = 0;
        for (int64_t j = 0; j < d; j++)
            a[t] += b[j] * (real)x[j];
    }
}

/*
 * -dL/da of one term: label words (1 - S) s_t/S, others -s_t, as their logarithms; S and 1 - S are
 * sums over the two kinds of words, so nothing cancels.  Returns -log S.
 */
static real reference_weights(const model *m, int64_t i, int64_t T, const real *a, real *log_g,
                              int *sign)
{
    const int32_t *word = m->data->index + data_first(m->data, i);
    real most = a[0], most_label = -INFINITY, most_other = -INFINITY, label = 0, other = 0, Z = 0;
    for (int64_t t = 0; t < T; t++) {
        bool is_label = word[t] == following[i];
        most = fmaxl(most, a[t]);
        most_label = is_label ? fmaxl(most_label, a[t]) : most_label;
        most_other = is_label ? most_other : fmaxl(most_other, a[t]);
    }
    for (int64_t t = 0; t < T; t++) {
        Z += expl(a[t] - most);
        if (word[t] == following[i])
            label += expl(a[t] - most_label);
        else
            other += expl(a[t] - most_other);
    }
    real log_Z = most + logl(Z), log_S = most_label + logl(label) - log_Z;
    real log_rest = other > 0 ? most_other + logl(other) - log_Z : -INFINITY;
    for (int64_t t = 0; t < T; t++) {
        bool is_label = word[t] == following[i];
        sign[t] = is_label ? 1 : -1;
        log_g[t] = a[t] - log_Z + (is_label ? log_rest - log_S : 0);
    }
    return log_S > -0.5L ? -log1pl(-expl(log_rest)) : -log_S;
}

/* dL/dW (or dL/dp) in units of exp(*largest); returns L. */
static real reference_gradient(const model *m, const double *theta, real *G, real *largest)
{
    const int64_t d = m->d;
    real a[SEQUENCES][LONGEST], log_g[SEQUENCES][LONGEST], loss = 0;
    int sign[SEQUENCES][LONGEST];
    *largest = -INFINITY;
    for (int64_t i = 0; i < SEQUENCES; i++) {
        int64_t T = data_length(m->data, i), top = 0;
        reference_logits(m, theta, i, a[i]);
        loss += reference_weights(m, i, T, a[i], log_g[i], sign[i]) / SEQUENCES;
        for (int64_t t = 0; t < T; t++)
            top = a[i][t] > a[i][top] ? t : top;
        for (int64_t t = 0; t < T; t++)
            if (a[i][t] != a[i][top])
                *largest = fmaxl(*largest, log_g[i][t]);
    }
    memset(G, 0, (size_t)(d * d) * sizeof *G);
    for (int64_t i = 0; i < SEQUENCES && *largest != -INFINITY; i++) {
        int64_t T = data_length(m->data, i), top = 0;
        double x[DIM], x_top[DIM], z[DIM] = { 1 };
        for (int64_t t = 0; t < T; t++)
            top = a[i][t] > a[i][top] ? t : top;
        attsvm_data_token(m->data, i, top, x_top);
        if (!m->prompt)
            data_terms_query(&m->query, i, 0, z);
        for (int64_t t = 0; t < T; t++) {
            if (a[i][t] == a[i][top])
                continue;
            attsvm_data_token(m->data, i, t, x);
            real w = -(real)sign[i][t] * expl(log_g[i][t] - *largest) / SEQUENCES;
            for (int64_t j = 0; j < d; j++)
                for (int64_t k = 0; k < (m->prompt ? 1 : d); k++)
                    G[m->prompt ? j : j * d + k] += w * ((real)x[j] - (real)x_top[j]) * (real)z[k];
        }
    }
    return loss;
}

static void check_saturated(model *m, uint64_t seed)
{
    static const double radius[] = { 0.1, 3, 30, 300, 3000, 1e5 };
    static double theta[MOST_SIZE], x[MOST_SIZE];
    for (int r = 0; r < 6 && !m->factored; r++) {
        real G[DIM * DIM], largest, error = 0, size = 0;
        model_gradient g = { .x = x };
        model_value value;
        point(m, seed, radius[r], theta);
        model_evaluate(m, theta, NULL, 0, &g, &value);
        real loss = reference_gradient(m, theta, G, &largest);
        double tolerance = 1e-12 + 1e-13 * radius[r];
        if (!(fabsl((real)value.loss - loss) <= (real)tolerance * (1 + loss)))
            fail_msg("loss %.17g, expected %.17Lg", value.loss, loss);
        for (int64_t j = 0; j < m->size; j++) {
            real found = (real)x[j] * expl((real)g.log[0] - largest);
            error += (found - G[j]) * (found - G[j]);
            size += G[j] * G[j];
        }
        if (!(sqrtl(error / size) <= (real)tolerance))
            fail_msg("model %d, |theta| = %g: relative error %.3Lg at log-scale %.1Lf",
                     (int)m->kind, radius[r], sqrtl(error / size), largest);
    }
}

static void ntp_gradient_is_exact_at_saturation(void **state)
{
    (void)state;
    visit_models(check_saturated);
}

/* --------------------------------------------------------------------------- by hand */

/* One context a b a, label a, last token a: L = log(1 + exp(-m)/2), m the distance of b. */
static void two_words_by_hand(void **state)
{
    (void)state;
    double E[] = { 1, 0, 0, 1 }, theta[4] = { 0 }, x[4];
    int64_t offsets[] = { 0, 3 };
    int32_t tokens[] = { 0, 1, 0 }, label[] = { 0 };
    attsvm_named_array arrays[] = {
        { "E", { .data = E, .shape = { 2, 2 }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "tokens", { .data = tokens, .shape = { 3 }, .ndim = 1, .dtype = ATTSVM_I32 } },
        { "offsets", { .data = offsets, .shape = { 2 }, .ndim = 1, .dtype = ATTSVM_I64 } },
        { "labels", { .data = label, .shape = { 1 }, .ndim = 1, .dtype = ATTSVM_I32 } },
    };
    words w;
    model *m;
    assert_int_equal(attsvm_data_create(&w.data, arrays, 4, NULL, NULL), ATTSVM_OK);
    assert_int_equal(make_model(&m, &w, ATTSVM_MODEL_W, "", NULL), ATTSVM_OK);
    for (int k = 0; k < 5; k++) {
        const double distance[] = { 0, 1, 40, 2000, 1e5 };
        model_value value;
        model_gradient g = { .x = x };
        theta[0] = distance[k];
        model_evaluate(m, theta, NULL, 0, &g, &value);
        /* dL/dW_11 = -s_b = -1/(1 + 2 e^m), dL/dW_21 the opposite */
        double log_b = -distance[k] - log(2 + exp(-distance[k]));
        assert_true(fabs(log(-x[0]) + g.log[0] - log_b) < 1e-13 * (1 + distance[k]));
        assert_true(fabs(x[0] + x[2]) < 1e-15 * fabs(x[0]) && x[1] == 0 && x[3] == 0);
        double log_excess = k < 2 ? log(log1p(exp(-distance[k]) / 2)) : -distance[k] - log(2);
        assert_true(fabs(model_scaled_log(value.excess) - log_excess) < 1e-12 * (1 + distance[k]));
        assert_true(value.limit == 0 && value.accuracy == 1 && m->selected[0] == 0);
    }
    theta[0] = -2; /* b is selected: the label is not, and there is no limit */
    model_value value;
    model_evaluate(m, theta, NULL, 0, NULL, &value);
    assert_true(isnan(value.excess.value) && value.accuracy == 0 && m->selected[0] == 1);
    assert_true(fabs(value.loss - log1p(exp(2) / 2)) < 1e-14);
    model_free(m);
    attsvm_data_free(w.data);
}

/* ------------------------------------------------------------------------- bad input */

static void assert_refused(const words *w, attsvm_model_kind kind, const char *query,
                           const char *part)
{
    model *m;
    attsvm_error err;
    assert_true(make_model(&m, w, kind, query, &err) != ATTSVM_OK);
    if (!strstr(err.message, part))
        fail_msg("message '%s' lacks '%s'", err.message, part);
    assert_null(m);
}

static void bad_labels_are_named(void **state)
{
    (void)state;
    words w;
    make_words(&w, 1, 0);
    assert_refused(&w, ATTSVM_MODEL_VW, "", "there is no head");
    assert_refused(&w, ATTSVM_MODEL_W, "all", "one label, so one query");
    w.labels[1] = WORDS;
    assert_refused(&w, ATTSVM_MODEL_W, "", "labels[1] = 6 is not in 0..5");
    w.labels[1] = 4;
    assert_refused(&w, ATTSVM_MODEL_W, "", "labels[1] = 4 is not among the 7 tokens of sequence 1");
    attsvm_data_free(w.data);
    sample *s = malloc(sizeof *s);
    make(s, 1, 4, 6, 5, 0);
    w.data = s->data;
    assert_refused(&w, ATTSVM_MODEL_W, "", "needs a vocabulary");
    attsvm_data_free(s->data);
    free(s);
    w.data = generated(ATTSVM_VOCABULARY, 4, 6, 5, .vocabulary = 9);
    assert_refused(&w, ATTSVM_MODEL_W, "", "Missing array labels (n)");
    attsvm_data_free(w.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ntp_gradient_matches_central_differences),
        cmocka_unit_test(ntp_gradient_is_exact_at_saturation),
        cmocka_unit_test(two_words_by_hand),
        cmocka_unit_test(bad_labels_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
