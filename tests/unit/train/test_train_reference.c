/* train: every stored iterate of the reference runs. */
#include "reference.h"
#include "unit_train.h"

/* The array, without its first `axes` axes: entry `index` of them. */
static attsvm_array slice(const attsvm_archive *archive, const char *name, int axes, int64_t index)
{
    const attsvm_array *whole = attsvm_archive_find(archive, name);
    if (!whole)
        fail_msg("the reference has no %s", name);
    attsvm_array part = *whole;
    part.ndim = whole->ndim - axes;
    for (int k = 0; k < part.ndim; k++)
        part.shape[k] = whole->shape[k + axes];
    part.data = (const char *)whole->data +
                (size_t)(index * attsvm_array_count(&part)) * attsvm_dtype_size(part.dtype);
    return part;
}

static double number(const attsvm_archive *archive, const char *name)
{
    return attsvm_array_get(attsvm_archive_find(archive, name), 0);
}

/*
 * A trace of every step against the stored iterations k, entry by entry of the block, relative to
 * the norm of the stored parameter.  Returns the largest difference.
 */
static double compare(const attsvm_train *train, const char *trace, const attsvm_array *k,
                      const attsvm_array *stored, int64_t last)
{
    const attsvm_array *mine = attsvm_train_find(train, trace);
    int64_t records = k->shape[0], size = attsvm_array_count(stored) / records;
    double worst = 0;
    for (int64_t r = 0; r < records; r++) {
        int64_t iter = (int64_t)attsvm_array_get(k, r);
        if (iter > last)
            continue;
        double error = 0, norm = 0;
        for (int64_t j = 0; j < size; j++) {
            double wanted = attsvm_array_get(stored, r * size + j);
            double found = attsvm_array_get(mine, iter * size + j);
            error += (found - wanted) * (found - wanted);
            norm += wanted * wanted;
        }
        double relative = norm > 0 ? sqrt(error / norm) : sqrt(error);
        if (!(relative <= 1e-10))
            fail_msg("%s at iteration %d: relative difference %.3g", trace, (int)iter, relative);
        worst = fmax(worst, relative);
    }
    return worst;
}

/* ln |grad| at the stored iterations. */
static void compare_scale(const attsvm_train *train, const attsvm_array *k,
                          const attsvm_array *stored)
{
    const attsvm_array *mine = attsvm_train_find(train, "trace_grad_log_scale");
    for (int64_t r = 0; r < k->shape[0]; r++) {
        int64_t iter = (int64_t)attsvm_array_get(k, r);
        double wanted = attsvm_array_get(stored, r), found = attsvm_array_get(mine, iter);
        if (!(fabs(found - wanted) <= 1e-9 * (1 + fabs(wanted))))
            fail_msg("ln |grad| at iteration %d: %.15g, expected %.15g", (int)iter, found, wanted);
    }
}

static void single_input(const char *file)
{
    attsvm_archive *a = open_reference(file);
    attsvm_array k = slice(a, "k", 0, 0);
    double worst = 0;
    for (int64_t start = 0; start < 6; start++) {
        problem p = { .count = 0 };
        static const char *const names[] = { "X", "Y", "v", "W" };
        for (int j = 0; j < 4; j++)
            add(&p, names[j], slice(a, names[j], 0, 0));
        add(&p, "init_p", slice(a, "init_p", 1, start));
        make(&p);
        for (int with_eps = 0; with_eps < 2; with_eps++) {
            attsvm_train *t =
                run(p.data, (setting[]){ { "model", "p" },
                                         { "step", "ngd" },
                                         { "init", "file" },
                                         { "record", "1" },
                                         { "lr", text(number(a, "lr")) },
                                         { "iters", text(number(a, "iters")) },
                                         { "eps", with_eps ? text(number(a, "eps")) : "" },
                                         { NULL, NULL } });
            attsvm_array stored = slice(a, with_eps ? "p_eps" : "p_ngd", 1, start);
            attsvm_array scale = slice(a, with_eps ? "p_eps_loggrad" : "p_ngd_loggrad", 1, start);
            worst = fmax(worst, compare(t, "trace_p", &k, &stored, INT64_MAX));
            compare_scale(t, &k, &scale);
            attsvm_train_free(t);
        }
        attsvm_data_free(p.data);
    }
    print_message("%s: largest relative difference %.2g\n", file, worst);
    attsvm_archive_free(a);
}

static void reference_single_input(void **state)
{
    (void)state;
    single_input("single_input_global");
    single_input("single_input_local");
}

static void reference_multi_input(void **state)
{
    (void)state;
    static const char *const variants[] = { "p_ngd", "p_eps", "p_gd" };
    static const char *const scales[] = { "p_ngd_loggrad", "p_eps_loggrad", "p_gd_loggrad" };
    attsvm_archive *a = open_reference("multi_input");
    attsvm_array k = slice(a, "k", 0, 0);
    double worst = 0;
    for (int64_t start = 0; start < 6; start++) {
        problem p = { .count = 0 };
        static const char *const names[] = { "X", "Y", "v", "W" };
        for (int j = 0; j < 4; j++)
            add(&p, names[j], slice(a, names[j], 0, 0));
        add(&p, "init_p", slice(a, "init_p", 1, start));
        make(&p);
        for (int variant = 0; variant < 3; variant++) {
            attsvm_train *t = run(
                p.data, (setting[]){ { "model", "p" },
                                     { "step", variant == 2 ? "gd" : "ngd" },
                                     { "init", "file" },
                                     { "record", "1" },
                                     { "lr", text(number(a, variant == 2 ? "lr_gd" : "lr_ngd")) },
                                     { "iters", text(number(a, "iters")) },
                                     { "eps", variant == 1 ? text(number(a, "eps")) : "" },
                                     { NULL, NULL } });
            attsvm_array stored = slice(a, variants[variant], 1, start);
            attsvm_array scale = slice(a, scales[variant], 1, start);
            worst = fmax(worst, compare(t, "trace_p", &k, &stored, INT64_MAX));
            compare_scale(t, &k, &scale);
            attsvm_train_free(t);
        }
        attsvm_data_free(p.data);
    }
    print_message("multi_input: largest relative difference %.2g\n", worst);
    attsvm_archive_free(a);
}

static void reference_joint(void **state)
{
    (void)state;
    static const char *const files[] = { "joint_tight", "joint_relaxed" };
    for (int f = 0; f < 2; f++) {
        attsvm_archive *a = open_reference(files[f]);
        attsvm_array k = slice(a, "k", 0, 0);
        problem p = { .count = 0 };
        static const char *const names[] = { "X", "Y", "W", "init_p", "init_v" };
        for (int j = 0; j < 5; j++)
            add(&p, names[j], slice(a, names[j], 0, 0));
        make(&p);
        double worst = 0;
        for (int with_eps = 0; with_eps < 2; with_eps++) {
            char eps[80];
            snprintf(eps, sizeof eps, "%.17g,%.17g", number(a, "eps_p"), number(a, "eps_v"));
            attsvm_train *t = run(p.data, (setting[]){ { "model", "vp" },
                                                       { "step", "ngd" },
                                                       { "init", "file" },
                                                       { "record", "1" },
                                                       { "lr", text(number(a, "lr")) },
                                                       { "iters", text(number(a, "iters")) },
                                                       { "eps", with_eps ? eps : "" },
                                                       { NULL, NULL } });
            attsvm_array stored = slice(a, with_eps ? "p_eps" : "p_ngd", 0, 0);
            attsvm_array head = slice(a, with_eps ? "v_eps" : "v_ngd", 0, 0);
            worst = fmax(worst, compare(t, "trace_p", &k, &stored, INT64_MAX));
            worst = fmax(worst, compare(t, "trace_v", &k, &head, INT64_MAX));
            attsvm_train_free(t);
        }
        print_message("%s: largest relative difference %.2g\n", files[f], worst);
        attsvm_data_free(p.data);
        attsvm_archive_free(a);
    }
}

static void reference_losses(void **state)
{
    (void)state;
    attsvm_archive *a = open_reference("diff_loss");
    attsvm_array k = slice(a, "k", 0, 0);
    double worst = 0;
    for (int64_t c = 0; c < 11; c++) {
        problem p = { .count = 0 };
        static const char *const names[] = { "Y", "v", "W", "init_p" };
        add(&p, "X", slice(a, "X", 1, c));
        for (int j = 0; j < 4; j++)
            add(&p, names[j], slice(a, names[j], 0, 0));
        make(&p);
        for (int64_t loss = 0; loss < 2; loss++)
            for (int with_eps = 0; with_eps < 2; with_eps++) {
                attsvm_train *t =
                    run(p.data, (setting[]){ { "model", "p" },
                                             { "step", "ngd" },
                                             { "loss", loss == 0 ? "linear" : "logistic" },
                                             { "init", "file" },
                                             { "record", "1" },
                                             { "lr", text(number(a, "lr")) },
                                             { "iters", text(number(a, "iters")) },
                                             { "eps", with_eps ? text(number(a, "eps")) : "" },
                                             { NULL, NULL } });
                attsvm_array stored = slice(a, with_eps ? "p_eps" : "p_ngd", 2, loss * 11 + c);
                worst = fmax(worst, compare(t, "trace_p", &k, &stored, INT64_MAX));
                attsvm_train_free(t);
            }
        attsvm_data_free(p.data);
    }
    print_message("diff_loss: largest relative difference %.2g\n", worst);
    attsvm_archive_free(a);
}

/* One reference run of the W or KQ model. */
static double cross_run(const attsvm_archive *a, const attsvm_data *data, const char *kind,
                        const char *lr, double iters, bool with_eps, const char *const *blocks,
                        const char *const *stored, int axes, int64_t index, const char *k_name,
                        int64_t last)
{
    attsvm_array k = slice(a, k_name, 0, 0);
    bool factored = strcmp(kind, "KQ") == 0;
    attsvm_train *t =
        run(data, (setting[]){ { "model", kind },
                               { "step", "ngd" },
                               { "init", "file" },
                               { "record", "1" },
                               { "lr", text(number(a, lr)) },
                               { "iters", text(iters) },
                               { "eps", with_eps ? text(number(a, "eps")) : "" },
                               { "ridge", with_eps && factored ? text(number(a, "reg")) : "0" },
                               { NULL, NULL } });
    double worst = 0;
    for (int b = 0; blocks[b]; b++) {
        attsvm_array array = slice(a, stored[b], axes, index);
        worst = fmax(worst, compare(t, blocks[b], &k, &array, last));
    }
    attsvm_train_free(t);
    return worst;
}

static const char *const trace_W[] = { "trace_W", NULL };
static const char *const trace_KQ[] = { "trace_K", "trace_Q", NULL };

static void cross_runs(const char *file, int axes, int64_t instances, bool small_step)
{
    attsvm_archive *a = open_reference(file);
    double iters = number(a, "iters"), worst_W = 0, worst_KQ = 0;
    for (int64_t s = 0; s < instances; s++) {
        problem p = { .count = 0 };
        static const char *const names[] = { "X", "Y", "Z", "v", "init_W", "init_K", "init_Q" };
        for (int j = 0; j < 7; j++)
            add(&p, names[j], slice(a, names[j], axes, s));
        make(&p);
        worst_W = fmax(worst_W, cross_run(a, p.data, "W", "lr", iters, false, trace_W,
                                          (const char *[]){ "W_ngd" }, axes, s, "k", INT64_MAX));
        worst_W = fmax(worst_W, cross_run(a, p.data, "W", "lr", iters, true, trace_W,
                                          (const char *[]){ "W_eps" }, axes, s, "k", INT64_MAX));
        /* at step 0.1 K and Q are sensitive to rounding after some 100 iterations */
        const char *k = small_step ? "k_KQ" : "k";
        worst_KQ = fmax(worst_KQ, cross_run(a, p.data, "KQ", "lr", 100, true, trace_KQ,
                                            (const char *[]){ "K_eps", "Q_eps" }, axes, s, k, 100));
        if (small_step) {
            worst_KQ = fmax(worst_KQ,
                            cross_run(a, p.data, "KQ", "lr", 100, false, trace_KQ,
                                      (const char *[]){ "K_ngd", "Q_ngd" }, axes, s, "k_KQ", 100));
            worst_KQ = fmax(worst_KQ, cross_run(a, p.data, "KQ", "lr_ngd01", iters, false, trace_KQ,
                                                (const char *[]){ "K_ngd01", "Q_ngd01" }, axes, s,
                                                "k", INT64_MAX));
        }
        attsvm_data_free(p.data);
    }
    print_message("%s: largest relative difference W %.2g, KQ %.2g\n", file, worst_W, worst_KQ);
    attsvm_archive_free(a);
}

static void reference_cross_attention(void **state)
{
    (void)state;
    cross_runs("visualization", 0, 1, false);
    cross_runs("local_converge", 1, 10, true);
}

static void reference_multi_token(void **state)
{
    (void)state;
    attsvm_archive *a = open_reference("multi_token");
    attsvm_array k = slice(a, "k", 0, 0);
    static const int sizes[] = { 4, 6, 8, 10 };
    double worst = 0;
    for (int d = 0; d < 4; d++)
        for (int64_t s = 0; s < 3; s++) {
            static const char *const names[] = { "X", "Y", "Z", "V", "init_W" };
            problem p = { .count = 0 };
            char name[32];
            for (int j = 0; j < 5; j++) {
                snprintf(name, sizeof name, "d%d_%s", sizes[d], names[j]);
                add(&p, names[j], slice(a, name, 1, s));
            }
            make(&p);
            attsvm_train *t = run(p.data, (setting[]){ { "model", "W" },
                                                       { "step", "ngd" },
                                                       { "head", "relu" },
                                                       { "init", "file" },
                                                       { "record", "1" },
                                                       { "lr", text(number(a, "lr")) },
                                                       { "iters", text(number(a, "iters")) },
                                                       { "eps", text(number(a, "eps")) },
                                                       { NULL, NULL } });
            snprintf(name, sizeof name, "d%d_W_eps", sizes[d]);
            attsvm_array stored = slice(a, name, 1, s);
            worst = fmax(worst, compare(t, "trace_W", &k, &stored, INT64_MAX));
            attsvm_train_free(t);
            attsvm_data_free(p.data);
        }
    print_message("multi_token: largest relative difference %.2g\n", worst);
    attsvm_archive_free(a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_single_input),    cmocka_unit_test(reference_multi_input),
        cmocka_unit_test(reference_joint),           cmocka_unit_test(reference_losses),
        cmocka_unit_test(reference_cross_attention), cmocka_unit_test(reference_multi_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
