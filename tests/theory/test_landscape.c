/* The landscape at random points (theory 6.13, 10.1). */
#include "generated.h"

#include "theory/theory.h"

static attsvm_train *create(const attsvm_data *data, int32_t kind)
{
    attsvm_train_settings s;
    attsvm_train *run;
    attsvm_error err;
    attsvm_train_settings_init(&s);
    s.model = kind;
    s.threads = 1;
    assert_ok(attsvm_train_create(&run, data, &s, NULL, NULL, &err), err);
    return run;
}

/* Share of draws where all rivals are tight at the SVM of the best tokens; the first of them into
 *found (NULL: none), the caller frees it. */
static double all_support_share(int64_t d, int draws, attsvm_data **found)
{
    int all = 0;
    *found = NULL;
    for (int k = 0; k < draws; k++) {
        attsvm_data *data = generated(ATTSVM_SPHERE, 4, 4, d, .queries = 1, .seed = 100 + k);
        attsvm_conditions c;
        attsvm_error err;
        attsvm_train *run = create(data, ATTSVM_MODEL_W);
        assert_ok(attsvm_conditions_compute(&c, run, NULL, NULL, &err), err);
        assert_int_equal(c.rows, 12);
        assert_true(c.all_support == (c.support == 12));
        all += c.all_support;
        attsvm_train_free(run);
        if (c.all_support && !*found)
            *found = data;
        else
            attsvm_data_free(data);
    }
    return (double)all / draws;
}

/* The share rises with d (theory 10.1: .04, .38, .85), and on such data no point is stationary. */
static void theory_10_1_all_support_makes_the_landscape_benign(void **state)
{
    (void)state;
    const int64_t d[] = { 10, 20, 40 };
    const double expected[] = { 0.04, 0.38, 0.85 };
    const int draws = (int)long_or_short(400, 60);
    for (int k = 0; k < 3; k++) {
        attsvm_data *data;
        attsvm_error err;
        attsvm_landscape l;
        double share = all_support_share(d[k], draws, &data);
        print_message("d = %d: all rivals support in %.3f of %d draws\n", (int)d[k], share, draws);
        /* four deviations of a share of that many draws */
        assert_true(fabs(share - expected[k]) <
                    0.01 + 4 * sqrt(expected[k] * (1 - expected[k]) / draws));
        if (!data)
            continue;
        attsvm_train *run = create(data, ATTSVM_MODEL_W);
        assert_ok(attsvm_landscape_compute(&l, run, 2000, 1, &err), err);
        assert_int_equal(l.negative, 2000);
        assert_true(l.largest < 0);
        attsvm_train_free(run);
        attsvm_data_free(data);
    }
}

/* Where scores differ and some rival is not tight, some points rise along the direction. */
static void theory_6_13_the_landscape_need_not_be_benign(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 4, 8, 10, .queries = 1, .seed = 5);
    attsvm_conditions c;
    attsvm_landscape l;
    attsvm_error err;
    attsvm_train *run = create(data, ATTSVM_MODEL_W);
    assert_ok(attsvm_conditions_compute(&c, run, NULL, NULL, &err), err);
    assert_ok(attsvm_landscape_compute(&l, run, 10000, 1, &err), err);
    print_message("%d of %d rivals support; the loss falls at %.4f of the points\n", (int)c.support,
                  (int)c.rows, l.share);
    assert_true(c.feasible && !c.all_support);
    assert_true(l.share > 0.5 && l.share < 1 && l.largest > 0);
    attsvm_train_free(run);
    run = create(data, ATTSVM_MODEL_KQ);
    assert_fails(attsvm_landscape_compute(&l, run, 10, 1, &err), err, ATTSVM_E_ARG, "p and W");
    attsvm_train_free(run);
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(theory_10_1_all_support_makes_the_landscape_benign),
        cmocka_unit_test(theory_6_13_the_landscape_need_not_be_benign),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
