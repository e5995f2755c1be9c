/*
 * theory: graphs of next-token prediction (6.14).  Components by hand and against reachability, the
 * graph SVM with its proof, the finite part, and training, which goes where the two say.
 */
#include "generated.h"
#include "lengths.h"

#include "theory/graph/graph.h"

/* A data set of contexts over unit vectors. */
typedef struct contexts {
    double E[36];
    int64_t offsets[8];
    attsvm_data *data;
} contexts;

static void open_contexts(contexts *c, int64_t words, const int32_t *tokens, const int64_t *lengths,
                          const int32_t *labels, int64_t n)
{
    attsvm_error err;
    memset(c, 0, sizeof *c);
    for (int64_t k = 0; k < words; k++)
        c->E[k * words + k] = 1;
    for (int64_t i = 0; i < n; i++)
        c->offsets[i + 1] = c->offsets[i] + lengths[i];
    attsvm_named_array arrays[] = {
        { "E", { .data = c->E, .shape = { words, words }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "tokens",
          { .data = tokens, .shape = { c->offsets[n] }, .ndim = 1, .dtype = ATTSVM_I32 } },
        { "offsets", { .data = c->offsets, .shape = { n + 1 }, .ndim = 1, .dtype = ATTSVM_I64 } },
        { "labels", { .data = labels, .shape = { n }, .ndim = 1, .dtype = ATTSVM_I32 } },
    };
    assert_ok(attsvm_data_create(&c->data, arrays, 4, NULL, &err), err);
}

static attsvm_graph *open_graph(const attsvm_data *data)
{
    attsvm_graph *graph;
    attsvm_error err;
    assert_ok(attsvm_graph_create(&graph, data, &err), err);
    return graph;
}

/* The graph SVM, solved and checked. */
static attsvm_solution *solve(const attsvm_data *data, const attsvm_graph *graph)
{
    attsvm_svm_settings settings;
    attsvm_selection selection = { .sets = attsvm_graph_sets(graph) };
    attsvm_problem *problem;
    attsvm_solution *solution;
    attsvm_report report;
    attsvm_error err;
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_MULTI;
    settings.query = ATTSVM_QUERY_LAST;
    assert_ok(problem_create(&problem, data, &selection, &settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
    attsvm_problem_free(problem);
    attsvm_claim claim = attsvm_solution_claim(solution);
    assert_ok(attsvm_check(&report, data, &claim, NULL, NULL, NULL, &err), err);
    if (!report.valid)
        fail_msg("%s", report.reason);
    return solution;
}

/* ------------------------------------------------------------------------------ by hand */

/*
 * Last word 2.  Labels 0 (twice) and 1 (once) of contexts 0 1 2: a cycle of 0 and 1, which both
 * beat
 * 2.  Last word 0: 1 beats 0, no cycle.
 */
static const int32_t small_tokens[] = { 0, 1, 2, 1, 0, 2, 0, 1, 2, 1, 0 };
static const int64_t small_lengths[] = { 3, 3, 3, 2 };
static const int32_t small_labels[] = { 0, 0, 1, 1 };

static void components_by_hand(void **state)
{
    (void)state;
    contexts c;
    open_contexts(&c, 3, small_tokens, small_lengths, small_labels, 4);
    attsvm_graph *graph = open_graph(c.data);
    attsvm_graph_info info = attsvm_graph_describe(graph);
    assert_int_equal(info.lasts, 2);
    assert_int_equal(info.words, 5);
    assert_int_equal(info.edges, 5);
    assert_int_equal(info.components, 4);
    assert_int_equal(info.cyclic, 1);
    assert_int_equal(attsvm_graph_part_of(graph, 2).last, -1);
    assert_int_equal(attsvm_graph_part_of(graph, -1).words, 0);
    attsvm_graph_part plain = attsvm_graph_part_of(graph, 0),
                      cycle = attsvm_graph_part_of(graph, 1);
    assert_true(plain.last == 0 && plain.words == 2 && plain.components == 2 && plain.edges == 1);
    assert_true(plain.component[1] == 0 && plain.component[0] == 1);
    assert_true(cycle.last == 2 && cycle.words == 3 && cycle.components == 2 && cycle.edges == 4);
    assert_true(cycle.component[0] == 0 && cycle.component[1] == 0 && cycle.component[2] == 1);
    assert_true(cycle.edge[0].from == 0 && cycle.edge[0].to == 1 && cycle.edge[0].count == 2);
    const uint8_t sets[] = { 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0 };
    assert_memory_equal(attsvm_graph_sets(graph), sets, sizeof sets);
    attsvm_graph_free(graph);
    attsvm_data_free(c.data);
}

/*
 * Column 2 of W: w_0 = w_1 = w_2 + 1, least norm (1/3,1/3,-2/3).  Column 0: w_1 = w_0 + 1, so
 * (-1/2,1/2).  Finite part: odds 2 to 1 of words 0 and 1, w_0 - w_1 = log 2 in column 2.
 */
static void direction_and_finite_part_by_hand(void **state)
{
    (void)state;
    contexts c;
    attsvm_error err;
    double finite[9];
    attsvm_graph_finite_info info;
    open_contexts(&c, 3, small_tokens, small_lengths, small_labels, 4);
    attsvm_graph *graph = open_graph(c.data);
    attsvm_solution *solution = solve(c.data, graph);
    const double wanted[9] = { -0.5, 0, 1.0 / 3, 0.5, 0, 1.0 / 3, 0, 0, -2.0 / 3 };
    attsvm_claim claim = attsvm_solution_claim(solution);
    assert_int_equal(claim.outcome, ATTSVM_OPTIMAL);
    for (int j = 0; j < 9; j++)
        assert_true(fabs(claim.theta[j] - wanted[j]) < 1e-12);
    assert_ok(attsvm_graph_finite(graph, finite, &info, NULL, NULL, &err), err);
    assert_true(info.converged);
    for (int j = 0; j < 9; j++) {
        double value = j == 2 ? log(2) / 2 : j == 5 ? -log(2) / 2 : 0;
        assert_true(fabs(finite[j] - value) < 1e-12);
    }
    /* entropy of 2/3, 1/3 in three of four contexts */
    assert_true(fabs(info.loss - 0.75 * (log(3) - 2.0 / 3 * log(2))) < 1e-14);
    /* finite + 50 direction is itself a match */
    double W[9];
    attsvm_graph_match match;
    for (int j = 0; j < 9; j++)
        W[j] = finite[j] + 50 * claim.theta[j];
    assert_ok(attsvm_graph_compare(graph, W, finite, claim.theta, &match, &err), err);
    assert_true(match.finite_error < 1e-11 && fabs(match.R - 50) < 1e-10);
    assert_true(fabs(match.correlation - 1) < 1e-12 && fabs(match.together - 1) < 1e-12);
    attsvm_solution_free(solution);
    attsvm_graph_free(graph);
    attsvm_data_free(c.data);
}

/* --------------------------------------------------------------------------- at random */

/* Two words share a component exactly if each reaches the other; edges follow the numbering. */
static void compare_with_reachability(const attsvm_graph_part *part)
{
    enum { MOST = 32 };
    bool reach[MOST][MOST] = { { false } };
    assert_true(part->words <= MOST);
    for (int64_t a = 0; a < part->words; a++)
        reach[a][a] = true;
    for (int64_t e = 0; e < part->edges; e++) {
        reach[part->edge[e].from][part->edge[e].to] = true;
        assert_true(part->component[part->edge[e].from] <= part->component[part->edge[e].to]);
    }
    for (int64_t k = 0; k < part->words; k++)
        for (int64_t a = 0; a < part->words; a++)
            for (int64_t b = 0; b < part->words; b++)
                reach[a][b] |= reach[a][k] && reach[k][b];
    for (int64_t a = 0; a < part->words; a++)
        for (int64_t b = 0; b < part->words; b++)
            assert_int_equal(part->component[a] == part->component[b], reach[a][b] && reach[b][a]);
}

static attsvm_data *random_contexts(int64_t seed, int64_t n, int64_t T, int64_t d, int64_t words)
{
    return generated(ATTSVM_NTP, n, T, d, .T_min = 2, .vocabulary = words, .seed = seed);
}

static void components_match_reachability(void **state)
{
    (void)state;
    for (int64_t seed = 0; seed < 50; seed++) {
        attsvm_data *data = random_contexts(seed, 5 + 5 * seed, 7, 4, 24);
        attsvm_graph *graph = open_graph(data);
        attsvm_graph_info info = attsvm_graph_describe(graph);
        int64_t components = 0;
        for (int64_t k = 0; k < info.lasts; k++) {
            attsvm_graph_part part = attsvm_graph_part_of(graph, k);
            compare_with_reachability(&part);
            components += part.components;
        }
        assert_int_equal(components, info.components);
        attsvm_graph_free(graph);
        attsvm_data_free(data);
    }
}

/*
 * Theory 6.14: gradient descent on W goes to finite + R direction.  Its part in the cyclic subspace
 * settles; along the rest it grows like the logarithm of the steps, so the direction is near, not
 * reached.
 */
static void theory_6_14_trained_matrix_is_finite_plus_direction(void **state)
{
    (void)state;
    for (int64_t seed = 0; seed < long_or_short(3, 1); seed++) {
        attsvm_data *data = random_contexts(seed, 120, 6, 16, 8);
        attsvm_graph *graph = open_graph(data);
        attsvm_solution *solution = solve(data, graph);
        attsvm_claim claim = attsvm_solution_claim(solution);
        attsvm_train_settings s;
        attsvm_train *train;
        attsvm_error err;
        attsvm_graph_finite_info info;
        attsvm_graph_match match;
        double finite[256];
        assert_int_equal(claim.outcome, ATTSVM_OPTIMAL);
        assert_true(attsvm_graph_describe(graph).cyclic > 0);
        assert_ok(attsvm_graph_finite(graph, finite, &info, NULL, NULL, &err), err);
        assert_true(info.converged);
        attsvm_train_settings_init(&s);
        s.model = ATTSVM_MODEL_W;
        s.loss = "ntp";
        s.step = "gd";
        s.lr = 2;
        s.iters = 20000;
        assert_ok(attsvm_train_create(&train, data, &s, NULL, NULL, &err), err);
        assert_ok(attsvm_train_run(train, NULL, NULL, &err), err);
        const double *W = attsvm_train_find(train, "W")->data;
        assert_ok(attsvm_graph_compare(graph, W, finite, claim.theta, &match, &err), err);
        print_message("seed %d: finite part off by %.2g, correlation %.4f, together %.4f, R %.1f, "
                      "loss %.3g above the least, gradient of the finite part %.1g\n",
                      (int)seed, match.finite_error, match.correlation, match.together, match.R,
                      attsvm_train_describe(train).loss - info.loss, info.gradient);
        assert_true(match.finite_error < 0.05);
        assert_true(match.correlation > 0.95 && match.together > 0.95);
        assert_true(attsvm_train_describe(train).loss >= info.loss);
        attsvm_train_free(train);
        attsvm_solution_free(solution);
        attsvm_graph_free(graph);
        attsvm_data_free(data);
    }
}

/* Too few dimensions: no W gives these orders, with a proof. */
static void few_dimensions_are_infeasible(void **state)
{
    (void)state;
    attsvm_data *data = random_contexts(0, 200, 6, 2, 12);
    attsvm_graph *graph = open_graph(data);
    attsvm_solution *solution = solve(data, graph);
    assert_int_equal(attsvm_solution_describe(solution).outcome, ATTSVM_INFEASIBLE);
    attsvm_solution_free(solution);
    attsvm_graph_free(graph);
    attsvm_data_free(data);
}

static void data_without_labels_are_refused(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_GAUSS, 4, 6, 5, .seed = 1);
    attsvm_graph *graph;
    attsvm_error err;
    assert_int_equal(attsvm_graph_create(&graph, data, &err), ATTSVM_E_DATA);
    assert_null(graph);
    assert_non_null(strstr(err.message, "needs a vocabulary"));
    attsvm_data_free(data);
}

/* Describing a component was quadratic in its words: two seconds for a chain of 40 000, and
   again for a comparison. */
static void a_long_chain_is_described_at_once(void **state)
{
    (void)state;
    enum { WORDS = 200000 };
    int32_t *tokens = calloc(3 * WORDS, sizeof *tokens), *labels = calloc(WORDS, sizeof *labels);
    for (int32_t k = 0; k < WORDS - 1;
         k++) { /* context k, k+1 with label k and last word WORDS-1 */
        memcpy(tokens + 3 * k, (int32_t[]){ k, k + 1, WORDS - 1 }, 3 * sizeof *tokens);
        labels[k] = k;
    }
    const attsvm_named_array arrays[] = {
        { "E", { calloc(WORDS, sizeof(float)), { WORDS, 1 }, 2, ATTSVM_F32 } },
        { "tokens", { tokens, { 3 * (WORDS - 1) }, 1, ATTSVM_I32 } },
        { "offsets", { calloc(WORDS, sizeof(int64_t)), { WORDS }, 1, ATTSVM_I64 } },
        { "labels", { labels, { WORDS - 1 }, 1, ATTSVM_I32 } },
    };
    for (int64_t k = 0; k < WORDS; k++)
        ((int64_t *)arrays[2].array.data)[k] = 3 * k;
    attsvm_data *data;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, 4, NULL, &err), err);
    attsvm_graph *graph = open_graph(data);
    attsvm_graph_info info = attsvm_graph_describe(graph);
    assert_int_equal(info.words, WORDS);
    assert_int_equal(info.components, WORDS);
    assert_int_equal(info.cyclic, 0);
    attsvm_graph_free(graph);
    attsvm_data_free(data);
    for (int k = 0; k < 4; k++)
        free((void *)arrays[k].array.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(components_by_hand),
        cmocka_unit_test(direction_and_finite_part_by_hand),
        cmocka_unit_test(components_match_reachability),
        cmocka_unit_test(theory_6_14_trained_matrix_is_finite_plus_direction),
        cmocka_unit_test(few_dimensions_are_infeasible),
        cmocka_unit_test(data_without_labels_are_refused),
        cmocka_unit_test(a_long_chain_is_described_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
