/*
 * train: every stored iterate of the reference runs, the step rules, growth and geometry (theory,
 * section 6), mini-batches, checkpoints.
 */
#include "unit.h"

#include "train/train.h"

#include <unistd.h>

/* --------------------------------------------------------------- reference files */

/* ../shared/reference beside the source tree. */
static const char *reference_path(const char *name)
{
    static char path[1024];
    const char *shared = getenv("ATTSVM_SHARED");
    if (shared) {
        snprintf(path, sizeof path, "%s/reference/%s", shared, name);
    } else {
        const char *end = strstr(__FILE__, "tests/unit/");
        snprintf(path, sizeof path, "%.*s../shared/reference/%s", end ? (int)(end - __FILE__) : 0,
                 __FILE__, name);
    }
    return path;
}

static attsvm_archive *open_reference(const char *name)
{
    attsvm_archive *archive;
    attsvm_error err;
    const char *path = reference_path(name);
    if (access(path, R_OK) != 0) {
        print_message("%s is not there: skipped\n", path);
        skip();
    }
    assert_ok(attsvm_archive_open(&archive, path, NULL, &err), err);
    return archive;
}

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

typedef struct problem {
    attsvm_named_array arrays[12];
    int64_t count;
    attsvm_data *data;
} problem;

static void add(problem *p, const char *name, attsvm_array array)
{
    p->arrays[p->count++] = (attsvm_named_array){ name, array };
}

static void make(problem *p)
{
    attsvm_error err;
    assert_ok(attsvm_data_create(&p->data, p->arrays, p->count, NULL, &err), err);
}

typedef struct setting {
    const char *name, *value;
} setting;

static attsvm_train *run(const attsvm_data *data, const setting *list)
{
    attsvm_train_settings settings;
    attsvm_train *train;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.threads = 1;
    for (; list->name; list++)
        assert_ok(attsvm_train_settings_set(&settings, list->name, list->value, &err), err);
    assert_ok(attsvm_train_create(&train, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(train, NULL, NULL, &err), err);
    return train;
}

static const char *text(double x)
{
    static char buffers[8][32];
    static int next;
    char *out = buffers[next++ % 8];
    snprintf(out, 32, "%.17g", x);
    return out;
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
    single_input("single_input_global.npz");
    single_input("single_input_local.npz");
}

static void reference_multi_input(void **state)
{
    (void)state;
    static const char *const variants[] = { "p_ngd", "p_eps", "p_gd" };
    static const char *const scales[] = { "p_ngd_loggrad", "p_eps_loggrad", "p_gd_loggrad" };
    attsvm_archive *a = open_reference("multi_input.npz");
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
    print_message("multi_input.npz: largest relative difference %.2g\n", worst);
    attsvm_archive_free(a);
}

static void reference_joint(void **state)
{
    (void)state;
    static const char *const files[] = { "joint_tight.npz", "joint_relaxed.npz" };
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
    attsvm_archive *a = open_reference("diff_loss.npz");
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
    print_message("diff_loss.npz: largest relative difference %.2g\n", worst);
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
        worst_KQ =
            fmax(worst_KQ, cross_run(a, p.data, "KQ", "lr", 100, true, trace_KQ,
                                     (const char *[]){ "K_eps", "Q_eps" }, axes, s, "k", 100));
        if (small_step) {
            worst_KQ = fmax(worst_KQ, cross_run(a, p.data, "KQ", "lr", 100, false, trace_KQ,
                                                (const char *[]){ "K_ngd", "Q_ngd" }, axes, s,
                                                "k_KQ_ngd", 100));
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
    cross_runs("visualization.npz", 0, 1, false);
    cross_runs("local_converge.npz", 1, 10, true);
}

static void reference_multi_token(void **state)
{
    (void)state;
    attsvm_archive *a = open_reference("multi_token.npz");
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
    print_message("multi_token.npz: largest relative difference %.2g\n", worst);
    attsvm_archive_free(a);
}

/* ------------------------------------------------------------------ random data */

static attsvm_data *generate(int32_t kind, int64_t n, int64_t T, int64_t d, int64_t queries,
                             int64_t seed)
{
    attsvm_generate_settings settings;
    attsvm_data *data;
    attsvm_error err;
    attsvm_generate_settings_init(&settings);
    settings.kind = kind;
    settings.n = n;
    settings.T = T;
    settings.d = d;
    settings.queries = queries;
    settings.seed = seed;
    settings.dtype = ATTSVM_F64;
    assert_ok(attsvm_data_generate(&data, &settings, &err), err);
    return data;
}

static const double *values(const attsvm_train *t, const char *name)
{
    const attsvm_array *array = attsvm_train_find(t, name);
    assert_non_null(array);
    return array->data;
}

/* n=6, T=8, d=40, step 0.1: the norm grows by the step to the end, far beyond what a double holds.
 */
static void two_hundred_thousand_steps(void **state)
{
    (void)state;
    attsvm_data *data = generate(ATTSVM_SPHERE, 6, 8, 40, 0, 1);
    attsvm_train *t = run(
        data, (setting[]){
                  { "model", "p" }, { "iters", "200000" }, { "record", "20000" }, { NULL, NULL } });
    attsvm_train_info info = attsvm_train_describe(t);
    const double *norm = values(t, "trace_norm"), *scale = values(t, "trace_grad_log_scale");
    print_message("norm %.1f, gradient exp(%.1f), excess exp(%.1f)\n", info.norm,
                  info.grad_log_scale, info.log_excess);
    assert_true(info.norm > 19900 && info.norm <= 20000);
    assert_true(info.grad_log_scale < -2000 && isfinite(info.grad_log_scale));
    assert_true(isfinite(info.log_excess) && info.log_excess < -2000);
    for (int k = 1; k <= 10; k++) {
        assert_true(norm[k] > norm[k - 1] + 1900); /* no stall: 20000 steps of 0.1 */
        assert_true(scale[k] < scale[k - 1]);
    }
    attsvm_train_free(t);
    attsvm_data_free(data);
}

/* Theory 6.4: attention sparsifies; NGD grows linearly in steps, GD logarithmically. */
static void growth_of_the_norm(void **state)
{
    (void)state;
    attsvm_data *data = generate(ATTSVM_SPHERE, 4, 5, 20, 0, 2);
    attsvm_train *ngd =
        run(data, (setting[]){ { "iters", "4000" }, { "record", "1000" }, { NULL, NULL } });
    attsvm_train *gd = run(data, (setting[]){ { "step", "gd" },
                                              { "lr", "5" },
                                              { "iters", "100000" },
                                              { "record", "10" },
                                              { NULL, NULL } });
    const double *fast = values(ngd, "trace_norm"), *slow = values(gd, "trace_norm");
    for (int k = 2; k <= 4; k++)
        assert_true(fabs((fast[k] - fast[k - 1]) / 100 - 1) < 0.02);
    /* the same gain for every factor of ten */
    double first = slow[1000] - slow[100], second = slow[10000] - slow[1000];
    print_message("gd: |p| gains %.3f from 1e3 to 1e4 steps, %.3f from 1e4 to 1e5\n", first,
                  second);
    assert_true(fabs(second / first - 1) < 0.15);
    attsvm_train_info info = attsvm_train_describe(ngd);
    assert_true(info.softmax_min > 1 - 1e-12 && info.entropy < 1e-9);
    attsvm_train_free(gd);
    attsvm_train_free(ngd);
    attsvm_data_free(data);
}

/* Theory 6.5: GD on W with fixed p is GD on the vector W'p with step lr |p|^2. */
static void matrix_and_prompt_descend_alike(void **state)
{
    (void)state;
    enum { N = 5, T = 6, D = 4 };
    double X[N * T * D], v[D], p[D], square = 0;
    int64_t Y[N];
    base_random r = base_random_stream(17, 0);
    base_random_gauss_fill(&r, X, N * T * D);
    base_random_gauss_fill(&r, v, D);
    base_random_gauss_fill(&r, p, D);
    for (int i = 0; i < N; i++)
        Y[i] = i % 2 ? 1 : -1;
    for (int j = 0; j < D; j++)
        square += p[j] * p[j];
    problem both = { .count = 0 };
    add(&both, "X", (attsvm_array){ X, { N, T, D }, 3, ATTSVM_F64 });
    add(&both, "Y", (attsvm_array){ Y, { N }, 1, ATTSVM_I64 });
    add(&both, "v", (attsvm_array){ v, { D }, 1, ATTSVM_F64 });
    add(&both, "p", (attsvm_array){ p, { D }, 1, ATTSVM_F64 });
    make(&both);
    attsvm_train *matrix = run(both.data, (setting[]){ { "model", "pW" },
                                                       { "step", "gd" },
                                                       { "lr", "0.3" },
                                                       { "iters", "500" },
                                                       { "record", "1" },
                                                       { NULL, NULL } });
    attsvm_train *vector = run(both.data, (setting[]){ { "model", "p" },
                                                       { "step", "gd" },
                                                       { "lr", text(0.3 * square) },
                                                       { "iters", "500" },
                                                       { "record", "1" },
                                                       { NULL, NULL } });
    const double *W = values(matrix, "trace_W"), *q = values(vector, "trace_p");
    for (int k = 0; k <= 500; k++) {
        double error = 0, norm = 0;
        for (int j = 0; j < D; j++) {
            double product = 0; /* (W'p)_j */
            for (int i = 0; i < D; i++)
                product += W[(k * D + i) * D + j] * p[i];
            error += pow(product - q[k * D + j], 2);
            norm += pow(q[k * D + j], 2);
        }
        assert_true(sqrt(error) <= 1e-12 * (sqrt(norm) + 1e-3));
    }
    attsvm_train_free(vector);
    attsvm_train_free(matrix);
    attsvm_data_free(both.data);
}

static double cosine(const double *x, const double *y, int64_t count)
{
    return la_dot(x, y, count) / (la_norm(x, count) * la_norm(y, count));
}

/* Theory 6.11: the loss shapes the early path, not the limit. */
static void losses_share_their_limit(void **state)
{
    (void)state;
    static const char *const losses[] = { "logistic", "exp", "linear" };
    attsvm_data *data = generate(ATTSVM_SPHERE, 3, 4, 12, 0, 8);
    attsvm_train *runs[3];
    for (int l = 0; l < 3; l++)
        runs[l] = run(data, (setting[]){ { "loss", losses[l] },
                                         { "iters", "20000" },
                                         { "record", "10" },
                                         { NULL, NULL } });
    for (int l = 1; l < 3; l++) {
        const double *a = values(runs[0], "trace_p"), *b = values(runs[l], "trace_p");
        double early = cosine(a + 12, b + 12, 12),
               late = cosine(values(runs[0], "p"), values(runs[l], "p"), 12);
        print_message("%s: 1 - cosine to logistic %.2g after 10 steps, %.2g after 20000\n",
                      losses[l], 1 - early, 1 - late);
        assert_true(1 - late < 1e-5);
        assert_true(1 - late < 0.1 * (1 - early));
        assert_memory_equal(values(runs[0], "ids"), values(runs[l], "ids"), 3 * sizeof(int64_t));
    }
    for (int l = 0; l < 3; l++)
        attsvm_train_free(runs[l]);
    attsvm_data_free(data);
}

/* -------------------------------------------------------------------- step rules */

/* One step of every rule on a block of known gradient. */
static void step_rules_by_hand(void **state)
{
    (void)state;
    const double g[] = { 3, -4, 0, 0 };
    attsvm_error err;
    double theta[4], states[8], scratch[64];
    const train_rule *rule;
    train_step s = { .theta = theta,
                     .g = g,
                     .log = -5000,
                     .rows = 2,
                     .cols = 2,
                     .count = 4,
                     .state = states,
                     .scratch = scratch,
                     .lr = 0.5,
                     .max_step = 1,
                     .over = { 8, -5000 } };
#define STEP(name)                                                                                 \
    do {                                                                                           \
        memset(states, 0, sizeof states);                                                          \
        memcpy(theta, (double[]){ 1, 1, 1, 1 }, sizeof theta);                                     \
        assert_ok(train_rule_find(name, &rule, &s.parameter, &err), err);                          \
        if (rule->start)                                                                           \
            rule->start(&s);                                                                       \
        assert_ok(rule->step(&s, &err), err);                                                      \
    } while (0)
#define EXPECT(a, b, c, d)                                                                         \
    do {                                                                                           \
        const double wanted[] = { a, b, c, d };                                                    \
        for (int j = 0; j < 4; j++)                                                                \
            assert_true(fabs(theta[j] - wanted[j]) < 1e-14);                                       \
    } while (0)
    STEP("ngd");
    EXPECT(0.7, 1.4, 1, 1);
    s.eps = exp(-710); /* beside a gradient of exp(-5000) this freezes */
    STEP("ngd");
    EXPECT(1, 1, 1, 1);
    s.eps = 0;
    STEP("gd");
    EXPECT(1, 1, 1, 1); /* the true gradient underflows */
    STEP("polyak");     /* length 0.5 * 8 / 5 */
    EXPECT(1 - 0.8 * 0.6, 1 + 0.8 * 0.8, 1, 1);
    s.max_step = 0.5;
    STEP("polyak");
    EXPECT(0.7, 1.4, 1, 1);
    s.over.value = -1;
    STEP("polyak");
    EXPECT(1, 1, 1, 1);
    STEP("nmd:3"); /* |g|_1.5 = (3^1.5 + 4^1.5)^(2/3) */
    double norm = pow(pow(3, 1.5) + pow(4, 1.5), 2.0 / 3);
    EXPECT(sqrt(1 - 1.5 / norm), sqrt(1 + 2 / norm), 1, 1);
    STEP("sign");
    EXPECT(0.5, 1.5, 1, 1);
    STEP("coordinate");
    EXPECT(1, 1.5, 1, 1);
    STEP("spectral"); /* the gradient is e_1 (3, -4): one singular value */
    EXPECT(0.7, 1.4, 1, 1);
    s.log = log(0.1);
    STEP("gd");
    EXPECT(1 - 0.15, 1 + 0.2, 1, 1);
    STEP("md:2");
    EXPECT(1 - 0.15, 1 + 0.2, 1, 1);
    STEP("momentum");
    EXPECT(1 - 0.15, 1 + 0.2, 1, 1);
    STEP("adam");
    EXPECT(1 - 0.5 * 0.3 / (0.3 + 1e-8), 1 + 0.5 * 0.4 / (0.4 + 1e-8), 1, 1);
    s.log = -INFINITY; /* an exact zero does not move */
    STEP("ngd");
    EXPECT(1, 1, 1, 1);
    STEP("nmd:3");
    EXPECT(1, 1, 1, 1);
    s.log = 0;
    s.iter = 100;
    s.gap = 1;
    STEP("rescale:2"); /* settled (start sets the direction), so 2 theta first */
    EXPECT(1.7, 2.4, 2, 2);
    assert_fails(train_rule_find("nmd", &rule, &s.parameter, &err), err, ATTSVM_E_ARG,
                 "nmd:NUMBER");
    assert_fails(train_rule_find("md:1", &rule, &s.parameter, &err), err, ATTSVM_E_ARG, "1");
    assert_fails(train_rule_find("sgd", &rule, &s.parameter, &err), err, ATTSVM_E_ARG,
                 "coordinate");
    assert_fails(train_rule_find("ngd:2", &rule, &s.parameter, &err), err, ATTSVM_E_ARG,
                 "takes no number");
#undef STEP
#undef EXPECT
}

/*
 * Every rule on every model: finite, and with a lower loss than at the start (Polyak's step claims
 * that for a fixed head only).
 */
static void every_rule_descends(void **state)
{
    (void)state;
    static const char *const rules[] = { "gd",       "ngd",  "polyak",     "md:3",
                                         "nmd:1.75", "sign", "coordinate", "spectral",
                                         "momentum", "adam", "rescale:2" };
    static const char *const models[] = { "p", "W", "KQ", "vp", "vpW", "vW", "vKQ" };
    attsvm_data *data = generate(ATTSVM_SPHERE, 6, 5, 6, 1, 21);
    for (int k = 0; k < 11; k++)
        for (int m = 0; m < 7; m++) {
            attsvm_train *t = run(data, (setting[]){ { "model", models[m] },
                                                     { "step", rules[k] },
                                                     { "lr", "0.05" },
                                                     { "init", "gauss:0.3" },
                                                     { "iters", "300" },
                                                     { "record", "log" },
                                                     { NULL, NULL } });
            const attsvm_array *loss = attsvm_train_find(t, "trace_loss");
            double first = attsvm_array_get(loss, 0);
            double last = attsvm_array_get(loss, loss->shape[0] - 1);
            bool claims = strcmp(rules[k], "polyak") != 0 || models[m][0] != 'v';
            if (!(claims ? last < first : isfinite(last)))
                fail_msg("model %s, step %s: loss %g to %g", models[m], rules[k], first, last);
            assert_int_equal(
                attsvm_array_get(attsvm_train_find(t, "trace_iter"), loss->shape[0] - 1), 300);
            attsvm_train_free(t);
        }
    attsvm_data_free(data);
}

/* ---------------------------------------------------------- stopping, state, batches */

static void early_stops(void **state)
{
    (void)state;
    attsvm_data *data = generate(ATTSVM_SPHERE, 4, 5, 20, 0, 3);
    attsvm_train *t =
        run(data, (setting[]){ { "iters", "100000" }, { "stop_norm", "50" }, { NULL, NULL } });
    attsvm_train_info info = attsvm_train_describe(t);
    assert_int_equal(info.outcome, ATTSVM_TRAIN_NORM);
    assert_true(info.norm > 50 && info.norm <= 50.1);
    attsvm_train_free(t);
    t = run(data, (setting[]){ { "iters", "1000000" },
                               { "stop_direction", "1e-3" },
                               { "record", "log" },
                               { NULL, NULL } });
    info = attsvm_train_describe(t);
    assert_int_equal(info.outcome, ATTSVM_TRAIN_DIRECTION);
    assert_true(info.direction_change < 1e-3 && info.iters % 100 == 0 && info.iters < 1000000);
    const attsvm_array *iter = attsvm_train_find(t, "trace_iter");
    assert_int_equal(attsvm_array_get(iter, iter->shape[0] - 1), info.iters);
    attsvm_train_free(t);
    t = run(data,
            (setting[]){ { "iters", "1000000000" }, { "time_limit", "0.05" }, { NULL, NULL } });
    assert_int_equal(attsvm_train_describe(t).outcome, ATTSVM_TRAIN_TIME);
    attsvm_train_free(t);
    attsvm_data_free(data);
}

static bool stop_at_70(void *context, const attsvm_train_info *info)
{
    ++*(int *)context;
    return info->iters < 70;
}

static void observer_can_stop(void **state)
{
    (void)state;
    attsvm_data *data = generate(ATTSVM_SPHERE, 4, 5, 20, 0, 3);
    attsvm_train_settings settings;
    attsvm_train *t;
    attsvm_error err;
    int calls = 0;
    attsvm_train_settings_init(&settings);
    settings.observe = 10;
    settings.record = "7";
    assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
    assert_ok(attsvm_train_run(t, stop_at_70, &calls, &err), err);
    assert_int_equal(calls, 8); /* 0, 10, ..., 70 */
    assert_int_equal(attsvm_train_describe(t).outcome, ATTSVM_TRAIN_OBSERVER);
    assert_int_equal(attsvm_train_describe(t).iters, 70);
    assert_int_equal(attsvm_train_find(t, "trace_iter")->shape[0], 11);
    assert_fails(attsvm_train_run(t, NULL, NULL, &err), err, ATTSVM_E_ARG, "over");
    attsvm_train_free(t);
    attsvm_data_free(data);
}

/* A run in two parts, by a checkpoint, ends with the bytes of the whole. */
static void resumed_runs_are_identical(void **state)
{
    (void)state;
    static const char *const rules[] = { "ngd", "adam", "nmd:3", "rescale:2", "momentum" };
    char file[64];
    snprintf(file, sizeof file, "/tmp/attsvm-test-%d.npz", (int)getpid());
    attsvm_data *data = generate(ATTSVM_SPHERE, 6, 5, 6, 1, 21);
    for (int k = 0; k < 5; k++) {
        const char *batch = k % 2 ? "4" : "0";
        setting common[] = { { "model", "vKQ" },    { "step", rules[k] }, { "batch", batch },
                             { "init", "gauss:1" }, { "record", "30" },   { "iters", "700" },
                             { NULL, NULL },        { NULL, NULL },       { NULL, NULL },
                             { NULL, NULL } };
        attsvm_train *whole = run(data, common);
        common[5].value = "333";
        common[6] = (setting){ "checkpoint", file };
        common[7] = (setting){ "every", "50" };
        attsvm_train_free(run(data, common));
        common[5].value = "700";
        common[8] = (setting){ "resume", "yes" };
        attsvm_train *second = run(data, common);
        assert_int_equal(attsvm_train_count(whole), attsvm_train_count(second));
        for (int64_t a = 0; a < attsvm_train_count(whole); a++) {
            const attsvm_array *x = &attsvm_train_array(whole, a)->array;
            const attsvm_array *y = &attsvm_train_array(second, a)->array;
            assert_int_equal(attsvm_array_count(x), attsvm_array_count(y));
            assert_memory_equal(x->data, y->data,
                                (size_t)attsvm_array_count(x) * attsvm_dtype_size(x->dtype));
        }
        attsvm_train_free(second);
        attsvm_train_free(whole);
    }
    /* another run does not go on from it */
    attsvm_train_settings settings;
    attsvm_train *t;
    attsvm_error err;
    attsvm_train_settings_init(&settings);
    settings.checkpoint = file;
    settings.resume = true;
    assert_ok(attsvm_train_create(&t, data, &settings, NULL, NULL, &err), err);
    assert_fails(attsvm_train_run(t, NULL, NULL, &err), err, ATTSVM_E_ARG, "another run");
    attsvm_train_free(t);
    unlink(file);
    attsvm_data_free(data);
}

/* A batch of runs over 1, 2 and 3 threads: the bytes of single runs. */
static void batches_of_runs(void **state)
{
    (void)state;
    enum { RUNS = 20 };
    attsvm_data *data[RUNS];
    double first[RUNS][100];
    attsvm_error err;
    for (int k = 0; k < RUNS; k++)
        data[k] = generate(ATTSVM_SPHERE, 6, 8, 10, 1, k);
    for (int threads = 1; threads <= 3; threads++) {
        attsvm_train *runs[RUNS];
        attsvm_train_settings settings;
        attsvm_train_settings_init(&settings);
        settings.model = ATTSVM_MODEL_W;
        settings.init = "uniform:0.316";
        settings.iters = 500;
        for (int k = 0; k < RUNS; k++) {
            settings.seed = k;
            assert_ok(attsvm_train_create(&runs[k], data[k], &settings, NULL, NULL, &err), err);
        }
        assert_ok(attsvm_train_run_batch(runs, RUNS, threads, &err), err);
        for (int k = 0; k < RUNS; k++) {
            if (threads == 1)
                memcpy(first[k], values(runs[k], "W"), sizeof first[k]);
            assert_memory_equal(first[k], values(runs[k], "W"), sizeof first[k]);
            attsvm_train_free(runs[k]);
        }
    }
    for (int k = 0; k < RUNS; k++)
        attsvm_data_free(data[k]);
}

static void bad_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value, *says;
    } cases[] = {
        { "step", "newton", "newton" },  { "loss", "hinge", "hinge" },
        { "head", "concave", "NUMBER" }, { "head", "relu", "V" },
        { "eps", "1e-9,", "E,E_V" },     { "record", "0", "record" },
        { "record", "often", "often" },  { "init", "uniform:x", "uniform:" },
        { "init", "file", "init_p" },    { "query", "1", "prompt" },
        { "rank", "3", "rank" },         { "batch", "100", "100" },
        { "lstar", "0.1", "lstar" },     { "resume", "yes", "checkpoint" },
    };
    attsvm_data *data = generate(ATTSVM_SPHERE, 6, 5, 6, 1, 21);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        attsvm_train_settings settings;
        attsvm_train *t;
        attsvm_error err;
        attsvm_train_settings_init(&settings);
        assert_ok(attsvm_train_settings_set(&settings, cases[k].name, cases[k].value, &err), err);
        attsvm_status status = attsvm_train_create(&t, data, &settings, NULL, NULL, &err);
        if (status == ATTSVM_OK || !strstr(err.message, cases[k].says))
            fail_msg("%s = %s: status %d, %s", cases[k].name, cases[k].value, (int)status,
                     status ? err.message : "");
        assert_null(t);
    }
    attsvm_data_free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_rules_by_hand),
        cmocka_unit_test(every_rule_descends),
        cmocka_unit_test(growth_of_the_norm),
        cmocka_unit_test(matrix_and_prompt_descend_alike),
        cmocka_unit_test(losses_share_their_limit),
        cmocka_unit_test(two_hundred_thousand_steps),
        cmocka_unit_test(early_stops),
        cmocka_unit_test(observer_can_stop),
        cmocka_unit_test(resumed_runs_are_identical),
        cmocka_unit_test(batches_of_runs),
        cmocka_unit_test(bad_settings_are_named),
        cmocka_unit_test(reference_single_input),
        cmocka_unit_test(reference_multi_input),
        cmocka_unit_test(reference_joint),
        cmocka_unit_test(reference_losses),
        cmocka_unit_test(reference_cross_attention),
        cmocka_unit_test(reference_multi_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
