/*
 * The solutions and feasibility verdicts of tests/reference, to 1e-9 relative (1e-7 where the
 * norm exceeds 1000), each proved to the checker; all but those of `finite`, and the same
 * problems in l1 and linf, in rational numbers as well.  Skipped where the folder is absent.
 *
 *     test_reference [FOLDER]     writes those in l2 of p, v and W with their data into FOLDER,
 *                                 for other checkers
 */
#include "reference.h"
#include "solved.h"

/* theta agrees with the reference relative to its norm. */
static double assert_agrees(const attsvm_solution *solution, const attsvm_array *reference,
                            const char *what, int64_t k)
{
    attsvm_claim claim = attsvm_solution_claim(solution);
    double norm = attsvm_solution_describe(solution).norm, error = 0;
    assert_int_equal(claim.theta_count, attsvm_array_count(reference));
    for (int64_t j = 0; j < claim.theta_count; j++) {
        double difference = claim.theta[j] - attsvm_array_get(reference, j);
        error += difference * difference;
    }
    error = norm > 0 ? sqrt(error) / norm : sqrt(error);
    if (!(error <= (norm > 1000 ? 1e-7 : 1e-9)))
        fail_msg("%s of instance %d: relative error %.2e at norm %g", what, (int)k, error, norm);
    return error;
}

/* ---------------------------------------------------------------- in rational numbers */

static const char *folder;            /* NULL: nothing is written */
static int64_t answers, exact, saved; /* counts: seen, proved in rational numbers, written */

static void assert_exact(const attsvm_data *data, const attsvm_solution *solution)
{
    attsvm_error err;
    attsvm_report report;
    attsvm_check_settings settings;
    attsvm_claim claim = attsvm_solution_claim(solution);
    attsvm_check_settings_init(&settings);
    settings.exact = 1;
    assert_ok(attsvm_check(&report, data, &claim, &settings, NULL, NULL, &err), err);
    if (!report.valid || !report.exact)
        fail_msg("answer %d: %s", (int)answers, report.reason);
    exact++;
}

static void save(const attsvm_data *data, const attsvm_solution *solution)
{
    static const char *const names[] = { "X", "offsets", "Y", "Z", "W", "v" };
    attsvm_named_array arrays[sizeof names / sizeof *names];
    attsvm_error err;
    char path[512];
    int64_t count = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const attsvm_array *array = attsvm_data_array(data, names[k]);
        if (array)
            arrays[count++] = (attsvm_named_array){ names[k], *array };
    }
    snprintf(path, sizeof path, "%s/%03d_data.npz", folder, (int)saved);
    assert_ok(attsvm_archive_write(path, arrays, count, &err), err);
    snprintf(path, sizeof path, "%s/%03d_result.npz", folder, (int)saved++);
    assert_ok(attsvm_solution_save(solution, data, path, NULL, 0, &err), err);
}

/* As `solved`, and proves the result in rational numbers. */
static attsvm_solution *proved(const attsvm_data *data, const attsvm_svm_settings *settings,
                               const attsvm_selection *selection, attsvm_outcome expected)
{
    static const int32_t linear[] = { ATTSVM_NORM_L1, ATTSVM_NORM_LINF };
    attsvm_solution *solution = solved(data, settings, selection, expected);
    int32_t problem = settings->problem;
    answers++;
    if (problem == ATTSVM_PROBLEM_FINITE)
        return solution;
    assert_exact(data, solution);
    if (folder &&
        (problem == ATTSVM_PROBLEM_P || problem == ATTSVM_PROBLEM_V || problem == ATTSVM_PROBLEM_W))
        save(data, solution);
    for (size_t k = 0; k < sizeof linear / sizeof *linear; k++) {
        attsvm_svm_settings other = *settings;
        other.norm = linear[k];
        attsvm_solution *second = solved(data, &other, selection, expected);
        assert_exact(data, second);
        attsvm_solution_free(second);
    }
    return solution;
}

static const char *const none[] = { NULL };
static const char *const tokens_queries[] = { "X", "Z", NULL };

/* ---------------------------------------------------------------- p, v and joint */

static void check_p(const attsvm_archive *archive, int64_t k, attsvm_problem_kind kind,
                    const char *const *arrays, const char *solution_name, int64_t solution_index)
{
    attsvm_data *data = data_of(archive, "", k, arrays, none);
    int64_t alpha[64];
    attsvm_array ids = array_of(archive, "", "svm_ids", -1);
    attsvm_array wanted = array_of(archive, "", solution_name, solution_index);
    integers_of(&ids, alpha);
    attsvm_svm_settings settings = settings_for(kind);
    attsvm_selection selection = { .alpha = solution_index >= 0 ? alpha + solution_index : alpha };
    attsvm_solution *solution = proved(data, &settings, &selection, ATTSVM_OPTIMAL);
    assert_agrees(solution, &wanted, solution_name, k);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static const char *const with_map[] = { "X", "Y", "v", "W", NULL };
static const char *const without_map[] = { "X", "Y", "v", NULL };
static const char *const joint_arrays[] = { "X", "Y", "W", NULL };

static void prompt_problems(void **state)
{
    (void)state;
    const char *const single[] = { "single_input_global", "single_input_local" };
    for (int f = 0; f < 2; f++) {
        attsvm_archive *archive = open_reference(single[f]);
        for (int64_t token = 0; token < 2; token++)
            check_p(archive, -1, ATTSVM_PROBLEM_P, with_map, "p_svm", token);
        attsvm_archive_free(archive);
    }
    attsvm_archive *archive = open_reference("multi_input");
    check_p(archive, -1, ATTSVM_PROBLEM_P, with_map, "p_svm", -1);
    check_p(archive, -1, ATTSVM_PROBLEM_P, without_map, "p_svm_nomask", -1);
    attsvm_archive_free(archive);
    archive = open_reference("diff_loss");
    attsvm_array X = array_of(archive, "", "X", -1);
    for (int64_t k = 0; k < X.shape[0]; k++) {
        attsvm_named_array arrays[] = { { "X", array_of(archive, "", "X", k) },
                                        { "Y", array_of(archive, "", "Y", -1) },
                                        { "v", array_of(archive, "", "v", -1) },
                                        { "W", array_of(archive, "", "W", -1) } };
        attsvm_error err;
        attsvm_data *data;
        int64_t alpha[2];
        attsvm_array ids = array_of(archive, "", "svm_ids", -1);
        attsvm_array wanted = array_of(archive, "", "p_svm", -1);
        integers_of(&ids, alpha);
        assert_ok(attsvm_data_create(&data, arrays, 4, NULL, &err), err);
        attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_P);
        attsvm_solution *solution =
            proved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
        assert_agrees(solution, &wanted, "p_svm", k);
        attsvm_solution_free(solution);
        attsvm_data_free(data);
    }
    attsvm_archive_free(archive);
}

static void joint_problems(void **state)
{
    (void)state;
    attsvm_archive *archive = open_reference("joint_relaxed");
    check_p(archive, -1, ATTSVM_PROBLEM_P, joint_arrays, "p_svm", -1);
    check_p(archive, -1, ATTSVM_PROBLEM_V, joint_arrays, "v_svm", -1);
    check_p(archive, -1, ATTSVM_PROBLEM_JOINT, joint_arrays, "p_svm_relaxed", -1);
    attsvm_archive_free(archive);
    /* the third sequence is tight here, so the joint problem is the p problem */
    archive = open_reference("joint_tight");
    check_p(archive, -1, ATTSVM_PROBLEM_P, joint_arrays, "p_svm", -1);
    check_p(archive, -1, ATTSVM_PROBLEM_V, joint_arrays, "v_svm", -1);
    check_p(archive, -1, ATTSVM_PROBLEM_JOINT, joint_arrays, "p_svm", -1);
    attsvm_archive_free(archive);
}

/* --------------------------------------------------------------------- W problems */

static void check_W(const attsvm_archive *archive, const char *prefix, int64_t k, const char *ids,
                    const char *solution_name)
{
    attsvm_data *data = data_of(archive, prefix, k, tokens_queries, none);
    int64_t alpha[64];
    attsvm_array selected = array_of(archive, prefix, ids, k);
    attsvm_array wanted = array_of(archive, prefix, solution_name, k);
    integers_of(&selected, alpha);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    attsvm_solution *solution =
        proved(data, &settings, &(attsvm_selection){ .alpha = alpha }, ATTSVM_OPTIMAL);
    assert_agrees(solution, &wanted, solution_name, k);
    attsvm_solution_free(solution);
    attsvm_data_free(data);
}

static void cross_attention(void **state)
{
    (void)state;
    attsvm_archive *archive = open_reference("local_converge");
    for (int64_t k = 0; k < 10; k++) {
        check_W(archive, "", k, "selected_W", "svmW_fro");
        check_W(archive, "", k, "selected_KQ", "svmKQ_fro");
        check_W(archive, "", k, "best_ids", "svmbest_fro");
        check_W(archive, "", k, "selected_W_ngd", "svmWngd_fro");
    }
    attsvm_archive_free(archive);
    archive = open_reference("visualization");
    check_W(archive, "", -1, "best_ids", "svmbest_fro");
    attsvm_archive_free(archive);
}

/* opt computed from the scores, which must agree with the reference. */
static void check_selection(const attsvm_archive *archive, const char *prefix, int64_t k)
{
    static const char *const scored[] = { "X", "Z", "Y", "v", NULL };
    attsvm_error err;
    attsvm_data *data = data_of(archive, prefix, k, scored, none);
    int64_t alpha[64], wanted[64];
    attsvm_array ids = array_of(archive, prefix, "best_ids", k);
    attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
    integers_of(&ids, wanted);
    assert_ok(attsvm_select_optimal(data, &settings, alpha, NULL, &err), err);
    for (int64_t i = 0; i < attsvm_array_count(&ids); i++)
        assert_int_equal(alpha[i], wanted[i]);
    attsvm_data_free(data);
}

static void ranks(void **state)
{
    (void)state;
    attsvm_archive *archive = open_reference("svm_rank");
    attsvm_array configs = array_of(archive, "", "configs", -1);
    for (int64_t c = 0; c < configs.shape[0]; c++) {
        char prefix[64];
        config_prefix(archive, c, prefix, sizeof prefix);
        attsvm_array X = array_of(archive, prefix, "X", -1);
        for (int64_t k = 0; k < X.shape[0]; k++) {
            check_W(archive, prefix, k, "best_ids", "fro");
            check_selection(archive, prefix, k);
        }
    }
    attsvm_archive_free(archive);
}

static void feasibility(void **state)
{
    (void)state;
    attsvm_archive *archive = open_reference("svm_feasibility");
    attsvm_array configs = array_of(archive, "", "configs", -1);
    int feasible = 0, infeasible = 0;
    for (int64_t c = 0; c < configs.shape[0]; c++) {
        char prefix[64];
        config_prefix(archive, c, prefix, sizeof prefix);
        attsvm_array verdicts = array_of(archive, prefix, "feasible", -1);
        for (int64_t k = 0; k < verdicts.shape[0]; k++) {
            attsvm_data *data = data_of(archive, prefix, k, tokens_queries, none);
            int64_t alpha[64];
            attsvm_array ids = array_of(archive, prefix, "best_ids", k);
            attsvm_array wanted = array_of(archive, prefix, "fro", k);
            bool expected = attsvm_array_get(&verdicts, k) != 0;
            integers_of(&ids, alpha);
            attsvm_svm_settings settings = settings_for(ATTSVM_PROBLEM_W);
            settings.duplicates = ATTSVM_DUPLICATES_STRICT;
            attsvm_solution *solution =
                proved(data, &settings, &(attsvm_selection){ .alpha = alpha },
                       expected ? ATTSVM_OPTIMAL : ATTSVM_INFEASIBLE);
            if (expected)
                assert_agrees(solution, &wanted, prefix, k);
            feasible += expected;
            infeasible += !expected;
            attsvm_solution_free(solution);
            attsvm_data_free(data);
        }
    }
    print_message("%d feasible and %d infeasible verdicts proved\n", feasible, infeasible);
    attsvm_archive_free(archive);
}

/* ----------------------------------------------------------------- several tokens */

static void check_sets(const attsvm_archive *archive, const char *prefix, int64_t k)
{
    attsvm_data *data = data_of(archive, prefix, k, tokens_queries, none);
    uint8_t O[64];
    double s[64];
    int64_t top[16];
    attsvm_array relevant = array_of(archive, prefix, "relevant", k);
    attsvm_array softmax = array_of(archive, prefix, "s", k); /* after 2000 steps, as `relevant` */
    int64_t n = relevant.shape[0], T = relevant.shape[1];
    for (int64_t j = 0; j < n * T; j++) {
        O[j] = attsvm_array_get(&relevant, j) != 0;
        s[j] = attsvm_array_get(&softmax, j);
    }
    for (int64_t i = 0; i < n; i++) {
        top[i] = 0;
        for (int64_t t = 1; t < T; t++)
            top[i] = s[i * T + t] > s[i * T + top[i]] ? t : top[i];
    }
    attsvm_selection selection = { .alpha = top, .sets = O, .softmax = s };
    const attsvm_problem_kind kinds[] = { ATTSVM_PROBLEM_MULTI, ATTSVM_PROBLEM_FINITE,
                                          ATTSVM_PROBLEM_W };
    const char *const names[] = { "svm_dir", "svm_fin", "svm_single" };
    for (int p = 0; p < 3; p++) {
        attsvm_array wanted = array_of(archive, prefix, names[p], k);
        attsvm_svm_settings settings = settings_for(kinds[p]);
        attsvm_solution *solution = proved(data, &settings, &selection, ATTSVM_OPTIMAL);
        assert_agrees(solution, &wanted, names[p], k);
        attsvm_solution_free(solution);
    }
    attsvm_data_free(data);
}

static void several_tokens(void **state)
{
    (void)state;
    attsvm_archive *archive = open_reference("multi_token");
    const char *const prefixes[] = { "d4_", "d6_", "d8_", "d10_" };
    for (int p = 0; p < 4; p++) {
        attsvm_array X = array_of(archive, prefixes[p], "X", -1);
        for (int64_t k = 0; k < X.shape[0]; k++)
            check_sets(archive, prefixes[p], k);
    }
    attsvm_archive_free(archive);
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prompt_problems), cmocka_unit_test(joint_problems),
        cmocka_unit_test(cross_attention), cmocka_unit_test(ranks),
        cmocka_unit_test(feasibility),     cmocka_unit_test(several_tokens),
    };
    int failed = cmocka_run_group_tests_name("reference", tests, NULL, NULL);
    printf("%d answers, %d proofs in rational numbers, %d written\n", (int)answers, (int)exact,
           (int)saved);
    return failed;
}
