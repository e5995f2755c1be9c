/* Enumeration finds exactly the locally optimal selections, and descent ends in one of them. */
#include "generated.h"
#include "lengths.h"

#include "theory/enumerate/enumerate.h"

/* One query per sequence; some sequences lack the last token. */
static attsvm_data *ragged(attsvm_generate_kind kind, int64_t n, int64_t T, int64_t d, int64_t seed)
{
    return generated(kind, n, T, d, .T_min = T - 1, .queries = 1, .seed = seed);
}

/* ------------------------------------------------------------------- brute force */

typedef struct plain {
    int64_t T;
    double X[8][8], z[8], gamma[8];
} plain;

/* The data set as plain arrays; scores summed as the formula says. */
static void unpack(const attsvm_data *data, plain *out, bool prompt)
{
    int64_t n = data->n, d = data->d;
    const attsvm_array *Z = attsvm_data_array(data, "Z"), *v = attsvm_data_array(data, "v");
    for (int64_t i = 0; i < n; i++) {
        out[i].T = attsvm_data_length(data, i);
        for (int64_t j = 0; j < d; j++)
            out[i].z[j] = prompt ? 0 : attsvm_array_get(Z, i * d + j);
        for (int64_t t = 0; t < out[i].T; t++) {
            attsvm_data_token(data, i, t, out[i].X[t]);
            out[i].gamma[t] = 0;
            for (int64_t j = 0; j < d; j++)
                out[i].gamma[t] += attsvm_array_get(v, j) * out[i].X[t][j];
            out[i].gamma[t] *= attsvm_data_label(data, i);
        }
    }
}

static bool equal_tokens(const plain *s, int64_t a, int64_t t, int64_t d)
{
    for (int64_t j = 0; j < d; j++)
        if (s->X[a][j] != s->X[t][j])
            return false;
    return true;
}

static double logit(const plain *s, int64_t t, const double *theta, int64_t d, bool prompt)
{
    double sum = 0;
    for (int64_t j = 0; j < d; j++) {
        double u = prompt ? theta[j] : 0;
        for (int64_t k = 0; k < d && !prompt; k++)
            u += theta[j * d + k] * s->z[k];
        sum += s->X[t][j] * u;
    }
    return sum;
}

/* By definition: feasible, and every rival at margin 1 has a lower score. */
static bool is_local(const attsvm_data *data, const plain *s, const int64_t *alpha,
                     const attsvm_svm_settings *settings)
{
    attsvm_problem *problem;
    attsvm_solution *solution;
    attsvm_error err;
    attsvm_selection selection = { .alpha = alpha };
    bool prompt = settings->problem == ATTSVM_PROBLEM_P;
    int64_t d = data->d;
    assert_ok(problem_create(&problem, data, &selection, settings, &err), err);
    assert_ok(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err), err);
    attsvm_claim claim = attsvm_solution_claim(solution);
    bool local = claim.outcome == ATTSVM_OPTIMAL;
    for (int64_t i = 0; i < data->n && local; i++)
        for (int64_t t = 0; t < s[i].T; t++) {
            if (t == alpha[i] || equal_tokens(&s[i], alpha[i], t, d))
                continue;
            double margin = logit(&s[i], alpha[i], claim.theta, d, prompt) -
                            logit(&s[i], t, claim.theta, d, prompt);
            local &= margin > 1 + 1e-7 || s[i].gamma[alpha[i]] > s[i].gamma[t] + 1e-14;
        }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return local;
}

/* Next selection in lexicographic order; false after the last. */
static bool next_selection(int64_t *alpha, const plain *s, int64_t n)
{
    for (int64_t i = n - 1; i >= 0; i--) {
        if (++alpha[i] < s[i].T)
            return true;
        alpha[i] = 0;
    }
    return false;
}

static bool has_earlier_copy(const plain *s, const int64_t *alpha, int64_t n, int64_t d)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t t = 0; t < alpha[i]; t++)
            if (equal_tokens(&s[i], alpha[i], t, d))
                return true;
    return false;
}

/* Enumeration against brute force on one instance; returns the number found. */
static int64_t compare(const attsvm_data *data, const attsvm_svm_settings *svm, int64_t *pruned)
{
    plain s[8];
    int64_t alpha[8] = { 0 }, n = data->n, found = 0;
    attsvm_scores *scores;
    attsvm_enumeration *list;
    attsvm_error err;
    unpack(data, s, svm->problem == ATTSVM_PROBLEM_P);
    assert_ok(attsvm_scores_create(&scores, data, svm, &err), err);
    assert_ok(attsvm_enumerate(&list, scores, svm, NULL, NULL, NULL, &err), err);
    attsvm_enumeration_info info = attsvm_enumeration_describe(list);
    assert_true(info.exhaustive);
    *pruned += info.pruned;
    do {
        if (has_earlier_copy(s, alpha, n, data->d))
            continue;
        bool local = is_local(data, s, alpha, svm);
        assert_int_equal(enumerate_find(list, alpha) >= 0, local);
        if (local)
            assert_memory_equal(attsvm_enumeration_get(list, found).alpha, alpha,
                                (size_t)n * sizeof *alpha);
        found += local;
    } while (next_selection(alpha, s, n));
    assert_int_equal(found, info.count);
    attsvm_enumeration_free(list);
    attsvm_scores_free(scores);
    return found;
}

/* 200 instances: W and p problems, d from 1 (hardly ever feasible) to 6, copies and ties. */
static void theory_5_enumeration_agrees_with_brute_force(void **state)
{
    (void)state;
    int64_t found = 0, pruned = 0, several = 0;
    for (int64_t k = 0; k < 200; k++) {
        attsvm_svm_settings svm;
        attsvm_svm_settings_init(&svm);
        svm.threads = 1;
        svm.problem = k % 4 == 3 ? ATTSVM_PROBLEM_P : ATTSVM_PROBLEM_W;
        attsvm_generate_kind kind = k % 5 == 4 ? ATTSVM_TIED : ATTSVM_SPHERE;
        attsvm_data *data = ragged(kind, 2 + k % 3, 3 + k % 2, 1 + k % 6, 1000 + k);
        int64_t now = compare(data, &svm, &pruned);
        found += now;
        several += now > 1;
        attsvm_data_free(data);
    }
    print_message("%d locally optimal selections, %d instances with several, %d pruned\n",
                  (int)found, (int)several, (int)pruned);
    assert_true(found > 200 && several > 20 && pruned > 50);
}

static void other_norms_are_enumerated_too(void **state)
{
    (void)state;
    int64_t pruned = 0;
    for (int64_t k = 0; k < 4; k++) {
        attsvm_svm_settings svm;
        attsvm_svm_settings_init(&svm);
        svm.threads = 1;
        svm.norm = k % 2 ? ATTSVM_NORM_LQ : ATTSVM_NORM_NUC;
        svm.q = 3;
        attsvm_data *data = ragged(ATTSVM_SPHERE, 2, 3, 3, 70 + k);
        compare(data, &svm, &pruned);
        attsvm_data_free(data);
    }
}

/* Too many to list: the search says so, finds the optimum, and does not depend on the threads. */
static void a_search_says_that_it_is_one(void **state)
{
    (void)state;
    attsvm_data *data = ragged(ATTSVM_SPHERE, 5, 5, 8, 5);
    attsvm_enumerate_settings settings;
    attsvm_svm_settings svm;
    attsvm_scores *scores;
    attsvm_enumeration *all, *some, *again;
    attsvm_error err;
    attsvm_svm_settings_init(&svm);
    attsvm_enumerate_settings_init(&settings);
    assert_ok(attsvm_scores_create(&scores, data, &svm, &err), err);
    assert_ok(attsvm_enumerate(&all, scores, &svm, &settings, NULL, NULL, &err), err);
    settings.max_selections = 500;
    settings.descent_runs = 20;
    settings.steps = 200;
    settings.threads = 1;
    assert_ok(attsvm_enumerate(&some, scores, &svm, &settings, NULL, NULL, &err), err);
    settings.threads = 3;
    assert_ok(attsvm_enumerate(&again, scores, &svm, &settings, NULL, NULL, &err), err);
    attsvm_enumeration_info complete = attsvm_enumeration_describe(all);
    attsvm_enumeration_info part = attsvm_enumeration_describe(some);
    assert_true(complete.exhaustive && !part.exhaustive);
    assert_int_equal(part.count, attsvm_enumeration_describe(again).count);
    bool optimum = false;
    for (int64_t k = 0; k < part.count; k++) {
        attsvm_local_optimum local = attsvm_enumeration_get(some, k);
        assert_true(enumerate_find(all, local.alpha) >= 0);
        assert_memory_equal(local.alpha, attsvm_enumeration_get(again, k).alpha,
                            (size_t)part.terms * sizeof *local.alpha);
        optimum |= local.global;
    }
    assert_true(optimum);
    assert_true(2 * part.count >= complete.count);
    attsvm_enumeration_free(again);
    attsvm_enumeration_free(some);
    attsvm_enumeration_free(all);
    attsvm_scores_free(scores);
    attsvm_data_free(data);
}

/* -------------------------------------------------------------- where descent ends */

enum { SETS = 10, STARTS = 10 };

/* 100 runs of 20 000 normalised steps, ten starts each on ten data sets of n=5, T=6, d=8. */
static void descent_ends_in_an_enumerated_selection(void **state)
{
    (void)state;
    int inside = 0;
    int64_t sets = long_or_short(SETS, 2);
    for (int64_t k = 0; k < sets; k++) {
        attsvm_data *data = ragged(ATTSVM_SPHERE, 5, 6, 8, 300 + k);
        attsvm_train_settings settings;
        attsvm_svm_settings svm;
        attsvm_scores *scores;
        attsvm_enumeration *list;
        attsvm_train *runs[STARTS];
        attsvm_verdict verdicts[STARTS];
        attsvm_error err;
        attsvm_svm_settings_init(&svm);
        attsvm_train_settings_init(&settings);
        settings.model = ATTSVM_MODEL_W;
        settings.init = "uniform:0.3535";
        settings.iters = 20000;
        assert_ok(attsvm_scores_create(&scores, data, &svm, &err), err);
        assert_ok(attsvm_enumerate(&list, scores, &svm, NULL, NULL, NULL, &err), err);
        assert_true(attsvm_enumeration_describe(list).exhaustive);
        for (int64_t r = 0; r < STARTS; r++) {
            settings.seed = 50 * k + r;
            assert_ok(attsvm_train_create(&runs[r], data, &settings, NULL, NULL, &err), err);
        }
        assert_ok(attsvm_train_run_batch(runs, STARTS, 0, NULL, NULL, &err), err);
        for (int64_t r = 0; r < STARTS; r++) {
            assert_ok(attsvm_verdict_compute(&verdicts[r], runs[r], NULL, NULL, NULL, NULL, &err),
                      err);
            bool found = enumerate_find(list, runs[r]->m->selected) >= 0;
            bool local = verdicts[r].kind == ATTSVM_VERDICT_GLOBAL ||
                         verdicts[r].kind == ATTSVM_VERDICT_LOCAL;
            inside += found;
            assert_true(found == verdicts[r].optimality.local);
            if (!found || !local)
                print_message("set %d start %d: %s, attention %.6f, correlation %.6f, margin %.4g, "
                              "%d support tokens against, the worst by %.3g\n",
                              (int)k, (int)r, attsvm_verdict_name(verdicts[r].kind),
                              verdicts[r].attention, verdicts[r].correlation, verdicts[r].margin,
                              (int)verdicts[r].optimality.against,
                              verdicts[r].optimality.advantage);
            attsvm_train_free(runs[r]);
        }
        attsvm_enumeration_free(list);
        attsvm_scores_free(scores);
        attsvm_data_free(data);
    }
    print_message("%d of %d runs end in an enumerated selection\n", inside, (int)sets * STARTS);
    assert_true(inside * 100 >= 98 * sets * STARTS);
}

/*
 * The search trained query `last` as `causal`, one term a token: wrong tokens, and tokens that are
 * not there where lengths differ.  It ignored the query token of data without Z.  Both lists must
 * hold what the exhaustive one does not exclude: selections in range, each locally optimal.
 */
static void a_search_trains_the_query_that_it_was_asked_for(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 5, 6, 8, .T_min = 4, .seed = 3);
    for (int k = 0; k < 2; k++) {
        attsvm_svm_settings svm;
        attsvm_enumerate_settings all, few;
        attsvm_scores *scores;
        attsvm_enumeration *whole, *searched;
        attsvm_error err;
        attsvm_svm_settings_init(&svm);
        svm.query = k == 0 ? ATTSVM_QUERY_LAST : ATTSVM_QUERY_GIVEN;
        svm.query_token = k == 0 ? 0 : 2;
        attsvm_enumerate_settings_init(&all);
        few = all;
        few.max_selections =
            60; /* too few for all selections, but enough for the neighbours of one */
        assert_ok(attsvm_scores_create(&scores, data, &svm, &err), err);
        assert_ok(attsvm_enumerate(&whole, scores, &svm, &all, NULL, NULL, &err), err);
        assert_ok(attsvm_enumerate(&searched, scores, &svm, &few, NULL, NULL, &err), err);
        attsvm_enumeration_info info = attsvm_enumeration_describe(searched);
        assert_true(attsvm_enumeration_describe(whole).exhaustive && info.searched);
        assert_true(info.count > 0 && info.terms == 5);
        for (int64_t j = 0; j < info.count; j++)
            assert_true(enumerate_find(whole, attsvm_enumeration_get(searched, j).alpha) >= 0);
        assert_null(attsvm_enumeration_get(searched, info.count).alpha);
        assert_null(attsvm_enumeration_get(searched, -1).alpha);
        attsvm_enumeration_free(searched);
        attsvm_enumeration_free(whole);
        attsvm_scores_free(scores);
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_5_enumeration_agrees_with_brute_force),
        cmocka_unit_test(other_norms_are_enumerated_too),
        cmocka_unit_test(a_search_says_that_it_is_one),
        cmocka_unit_test(a_search_trains_the_query_that_it_was_asked_for),
        cmocka_unit_test(descent_ends_in_an_enumerated_selection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
