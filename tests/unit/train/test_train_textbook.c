/* train: the textbook gradient in float64 and float32 (theory 2, 2.1). */
#include "unit_train.h"

static attsvm_train_info run_with(const attsvm_data *data, const char *kind, const char *head,
                                  const char *arithmetic, const char *iters)
{
    attsvm_train *done = run(data, (setting[]){ { "model", kind },
                                                { "head", head },
                                                { "arithmetic", arithmetic },
                                                { "iters", iters },
                                                { "init", "gauss:0.1" },
                                                { 0 } });
    attsvm_train_info info = attsvm_train_describe(done);
    attsvm_train_free(done);
    return info;
}

/* Near 0 nothing cancels: both types agree with the exact gradient to their rounding. */
static void textbook_is_right_at_small_norms(void **state)
{
    (void)state;
    static const char *const kinds[] = { "p", "W", "KQ", "vp", "vpW", "vW", "vKQ" };
    attsvm_data *data = generated(ATTSVM_SPHERE, 5, 6, 7, .queries = 1, .seed = 4);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int concave = 0; concave < 2; concave++) {
            const char *head = concave ? "concave:0.5" : "linear";
            attsvm_train_info wide = run_with(data, kinds[k], head, "float64", "3");
            attsvm_train_info narrow = run_with(data, kinds[k], head, "float32", "3");
            if (!(wide.textbook_angle < 1e-11) || !(narrow.textbook_angle < 1e-3))
                fail_msg("%s, %s: %.2g and %.2g degrees", kinds[k], head, wide.textbook_angle,
                         narrow.textbook_angle);
            assert_true(narrow.textbook_angle > 1e-9); /* it is in float */
            assert_int_equal(wide.wrong_step, -1);
        }
    attsvm_data_free(data);
}

/* Past saturation it is wrong, in float32 first, and the report says where. */
static void textbook_goes_wrong_past_saturation(void **state)
{
    (void)state;
    attsvm_data *data = generated(ATTSVM_SPHERE, 5, 6, 7, .queries = 1, .seed = 4);
    attsvm_train_info wide = run_with(data, "W", "linear", "float64", "6000");
    attsvm_train_info narrow = run_with(data, "W", "linear", "float32", "6000");
    attsvm_train_info exact = run_with(data, "W", "linear", "exact", "6000");
    assert_true(narrow.wrong_step > 0 && narrow.wrong_step < wide.wrong_step);
    assert_true(narrow.wrong_norm > 5 && narrow.wrong_norm < wide.wrong_norm);
    assert_true(isnan(exact.textbook_angle) && exact.wrong_step == -1);
    attsvm_data_free(data);
}

/* The example of theory 2.1: the textbook's direction is 45 degrees off, with no NaN to warn. */
static void theory_2_1_the_textbook_direction_is_wrong(void **state)
{
    (void)state;
    const double X[] = { 1, 0, 1, 0, 1, -0.3, -1, 0.5, 0.4 }, W[] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
    const double v[] = { 0, 0, 1 }, Y[] = { 1 }, p[] = { 60, -20, 0 };
    const attsvm_named_array arrays[] = {
        { "X", { X, { 1, 3, 3 }, 3, ATTSVM_F64 } }, { "W", { W, { 3, 3 }, 2, ATTSVM_F64 } },
        { "v", { v, { 3 }, 1, ATTSVM_F64 } },       { "Y", { Y, { 1 }, 1, ATTSVM_F64 } },
        { "init_p", { p, { 3 }, 1, ATTSVM_F64 } },
    };
    attsvm_train_settings s;
    attsvm_data *data;
    attsvm_train *done;
    attsvm_error err;
    assert_ok(attsvm_data_create(&data, arrays, 5, NULL, &err), err);
    attsvm_train_settings_init(&s);
    s.loss = "linear";
    s.init = "file";
    s.iters = 0;
    s.arithmetic = ATTSVM_ARITHMETIC_FLOAT64;
    assert_ok(attsvm_train_create(&done, data, &s, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(done, NULL, NULL, &err), err);
    assert_double_equal(attsvm_train_describe(done).textbook_angle, 45, 1e-6);
    attsvm_train_free(done);
    s.loss = "ntp";
    s.model = ATTSVM_MODEL_W;
    assert_true(attsvm_train_create(&done, data, &s, NULL, NULL, &err) != ATTSVM_OK);
    attsvm_data_free(data);
}

/* A checkpoint keeps where the gradient went wrong, and belongs to one arithmetic. */
static void resumed_runs_keep_the_wrong_step(void **state)
{
    (void)state;
    static const char *const file = "textbook.ckpt.npz";
    attsvm_data *data = generated(ATTSVM_GAUSS, 12, 6, 10, .seed = 1);
    attsvm_train_settings s;
    attsvm_train_info info[2];
    attsvm_train *done;
    attsvm_error err;
    remove(file);
    attsvm_train_settings_init(&s);
    s.model = ATTSVM_MODEL_W;
    s.lr = 1;
    s.arithmetic = ATTSVM_ARITHMETIC_FLOAT32;
    s.checkpoint = file;
    for (int k = 0; k < 2; k++) {
        s.iters = 300 + 100 * k;
        s.resume = k > 0;
        assert_ok(attsvm_train_create(&done, data, &s, NULL, NULL, &err), err);
        assert_ok(attsvm_train_run(done, NULL, NULL, &err), err);
        info[k] = attsvm_train_describe(done);
        attsvm_train_free(done);
    }
    assert_true(info[0].wrong_step > 0 && info[0].wrong_step < 300);
    assert_int_equal(info[1].wrong_step, info[0].wrong_step);
    assert_true(info[1].wrong_norm == info[0].wrong_norm);
    s.arithmetic = ATTSVM_ARITHMETIC_EXACT;
    assert_ok(attsvm_train_create(&done, data, &s, NULL, NULL, &err), err);
    assert_int_equal(attsvm_train_run(done, NULL, NULL, &err), ATTSVM_E_ARG);
    attsvm_train_free(done);
    attsvm_data_free(data);
    remove(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(textbook_is_right_at_small_norms),
        cmocka_unit_test(textbook_goes_wrong_past_saturation),
        cmocka_unit_test(theory_2_1_the_textbook_direction_is_wrong),
        cmocka_unit_test(resumed_runs_keep_the_wrong_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
