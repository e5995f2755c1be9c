/*
 * A tour through the parts of the library that the command does not show: settings by name, a model
 * at any parameters, folds of a data set, batches, and results that are read back.
 *
 *     tour FOLDER
 */
#include <attsvm/attsvm.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8, T = 4, D = 5 };

static attsvm_error err;

static void check(attsvm_status status)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "tour: %s\n", err.message);
    exit(2);
}

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "tour: not so: %s\n", what);
    exit(1);
}

/* Every setting of the library: name, range, default. */
static void list_settings(void)
{
    int64_t fields = 0;
    const attsvm_settings_table *table;
    for (int64_t k = 0; (table = attsvm_settings_list(k)); k++)
        for (size_t f = 0; f < table->count; f++, fields++) {
            char range[256], standard[256];
            attsvm_setting_range(&table->fields[f], range, sizeof range);
            attsvm_settings_get(table, NULL, table->fields[f].name, standard, sizeof standard);
            expect(table->fields[f].meaning[0], "every setting has a meaning");
        }
    attsvm_check_settings s;
    attsvm_check_settings_init(&s);
    check(attsvm_settings_set(&attsvm_check_table, &s, "tol", "1e-9", &err));
    check(attsvm_settings_check(&attsvm_check_table, &s, &err));
    expect(s.tol == 1e-9, "a setting has the value that it was given");
    printf("%" PRId64 " settings\n", fields);
}

/* The gradient of the loss against a difference of two losses. */
static void evaluate(const attsvm_data *data)
{
    attsvm_model *model;
    attsvm_evaluation at, beside;
    check(attsvm_model_create(&model, data, NULL, NULL, NULL, &err));
    const attsvm_model_info info = attsvm_model_describe(model);
    const attsvm_parameter p = attsvm_model_parameter(model, 0);
    double theta[D] = { 0.3, -0.2, 0.1, 0, 0.4 }, gradient[D], map[D], step = 1e-6;
    double *softmax = calloc((size_t)info.cells, sizeof *softmax);
    double *logits = calloc((size_t)info.cells, sizeof *logits);
    int64_t alpha[N];
    expect(info.size == D && strcmp(p.name, "p") == 0 && p.count == D, "theta is p");
    check(attsvm_model_evaluate(model, theta, &at, gradient, &err));
    check(attsvm_model_softmax(model, theta, softmax, &err));
    check(attsvm_model_logits(model, theta, logits, &err));
    check(attsvm_model_select(model, theta, alpha, &err));
    check(attsvm_model_map(model, theta, map, &err));
    expect(memcmp(map, theta, sizeof map) == 0, "p makes the logits itself");
    for (int t = 0; t < T; t++)
        expect(logits[alpha[0]] >= logits[t] && softmax[alpha[0]] >= softmax[t],
               "the selected token has the most attention");
    theta[0] += step;
    check(attsvm_model_evaluate(model, theta, &beside, NULL, &err));
    const double slope = exp(at.log_scale[0]) * gradient[0];
    expect(fabs((beside.loss - at.loss) / step - slope) < 1e-5, "the gradient is the slope");
    printf("loss %.6g, slope %.6g\n", at.loss, slope);
    free(softmax);
    free(logits);
    attsvm_model_free(model);
}

static attsvm_problem *problem_of(const attsvm_data *data, int64_t n, int64_t *alpha)
{
    attsvm_svm_settings settings;
    attsvm_problem *problem;
    int64_t terms, cells;
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_P;
    check(attsvm_svm_terms(data, &settings, &terms, &err));
    check(attsvm_svm_cells(data, &settings, &cells, &err));
    expect(terms == n && cells == n * T, "one term a sequence, one cell a token");
    check(attsvm_select_optimal(data, &settings, alpha, NULL, &err));
    const attsvm_selection selection = { .alpha = alpha, .terms = terms };
    check(attsvm_problem_create(&problem, data, &selection, &settings, &err));
    return problem;
}

/* Two folds share their tokens with the whole; their margins are not smaller than its own. */
static void solve_folds(const attsvm_data *data)
{
    const int64_t even[] = { 0, 2, 4, 6 }, odd[] = { 1, 3, 5, 7 };
    attsvm_data *fold[2];
    attsvm_problem *problems[3];
    attsvm_solution *solutions[3];
    attsvm_comparison self;
    int64_t alpha[N];
    char whole[ATTSVM_FINGERPRINT], half[ATTSVM_FINGERPRINT];
    check(attsvm_data_subset(&fold[0], data, even, N / 2, &err));
    check(attsvm_data_subset(&fold[1], data, odd, N / 2, &err));
    attsvm_data_fingerprint(data, whole);
    attsvm_data_fingerprint(fold[0], half);
    expect(strcmp(whole, half) != 0, "a fold is another data set");
    expect(attsvm_data_label(fold[1], 0) == attsvm_data_label(data, 1), "labels go along");
    problems[0] = problem_of(data, N, alpha);
    problems[1] = problem_of(fold[0], N / 2, alpha);
    problems[2] = problem_of(fold[1], N / 2, alpha);
    check(attsvm_problem_solve_batch(problems, 3, 0, NULL, NULL, solutions, &err));
    double margin[3];
    for (int k = 0; k < 3; k++) {
        const attsvm_svm_info info = attsvm_solution_describe(solutions[k]);
        expect(info.outcome == ATTSVM_OPTIMAL, "planted tokens can be separated");
        margin[k] = info.margin;
    }
    expect(margin[1] >= margin[0] && margin[2] >= margin[0], "fewer rows, larger margins");
    const attsvm_claim claim = attsvm_solution_claim(solutions[0]);
    check(attsvm_solution_compare(&self, solutions[0], data, claim.theta, D, &err));
    expect(fabs(self.efficiency - 1) < 1e-9, "the solution has its own margin");
    printf("margins %.6g of all, %.6g and %.6g of the folds\n", margin[0], margin[1], margin[2]);
    for (int k = 0; k < 3; k++) {
        attsvm_solution_free(solutions[k]);
        attsvm_problem_free(problems[k]);
    }
    attsvm_data_free(fold[0]);
    attsvm_data_free(fold[1]);
}

/* A path and an enumeration, saved and read back. */
static void save_and_load(const attsvm_data *data, const char *folder)
{
    char file[4096];
    attsvm_path *path, *path_again;
    attsvm_enumeration *list, *list_again;
    attsvm_scores *scores;
    attsvm_svm_settings svm;
    attsvm_enumerate_settings how;
    snprintf(file, sizeof file, "%s/path.npz", folder);
    check(attsvm_path_follow(&path, data, NULL, NULL, NULL, NULL, &err));
    check(attsvm_path_save(path, file, &err));
    check(attsvm_path_load(&path_again, file, &err));
    expect(attsvm_path_count(path) == attsvm_path_count(path_again), "all arrays of the path");
    for (int64_t k = 0; k < attsvm_path_count(path); k++) {
        const attsvm_array *a = &attsvm_path_array(path, k)->array;
        const attsvm_array *b = &attsvm_path_array(path_again, k)->array;
        expect(attsvm_array_count(a) == attsvm_array_count(b) &&
                   memcmp(a->data, b->data,
                          (size_t)attsvm_array_count(a) * attsvm_dtype_size(a->dtype)) == 0,
               "an array is the same");
    }
    attsvm_svm_settings_init(&svm);
    attsvm_enumerate_settings_init(&how);
    svm.problem = ATTSVM_PROBLEM_P;
    snprintf(file, sizeof file, "%s/list.npz", folder);
    check(attsvm_scores_create(&scores, data, &svm, &err));
    check(attsvm_enumerate(&list, scores, &svm, &how, NULL, NULL, &err));
    check(attsvm_enumeration_save(list, file, NULL, 0, &err));
    check(attsvm_enumeration_load(&list_again, file, &err));
    const attsvm_enumeration_info info = attsvm_enumeration_describe(list);
    expect(info.count > 0 && info.count == attsvm_enumeration_describe(list_again).count,
           "all selections of the list");
    for (int64_t k = 0; k < info.count; k++)
        expect(attsvm_enumeration_get(list, k).norm == attsvm_enumeration_get(list_again, k).norm,
               "a selection is the same");
    printf("%" PRId64 " locally optimal selections\n", info.count);
    attsvm_enumeration_free(list);
    attsvm_enumeration_free(list_again);
    attsvm_scores_free(scores);
    attsvm_path_free(path);
    attsvm_path_free(path_again);
}

/* Head and prompt together: the margin of the labels, and how far pooling keeps below it. */
static void train_jointly(const attsvm_data *data)
{
    attsvm_train_settings settings;
    attsvm_joint_settings search;
    attsvm_train *run;
    attsvm_joint joint;
    attsvm_train_settings_init(&settings);
    attsvm_joint_settings_init(&search);
    settings.model = ATTSVM_MODEL_VP;
    search.samples = 20;
    search.descent = 20;
    check(attsvm_train_create(&run, data, &settings, NULL, NULL, &err));
    check(attsvm_train_run(run, NULL, NULL, &err));
    check(attsvm_joint_compute(&joint, run, &search, NULL, NULL, NULL, &err));
    expect(joint.outcome == ATTSVM_OPTIMAL && joint.margin > 0, "a head separates the labels");
    expect(joint.label_margin <= joint.margin * (1 + 1e-9), "pooling does not widen the margin");
    printf("label margin %.6g of %.6g\n", joint.label_margin, joint.margin);
    attsvm_train_free(run);
}

/* Two images of 4 x 4 pixels as bags of four windows. */
static void cut_images(const char *folder)
{
    char from[4096], to[4096];
    double pixels[2 * 4 * 4];
    const int64_t label[] = { 0, 1 };
    attsvm_patches_settings settings;
    attsvm_patches_info info;
    for (int k = 0; k < 32; k++)
        pixels[k] = k;
    const attsvm_named_array images[] = { { "images", { pixels, { 2, 4, 4 }, 3, ATTSVM_F64 } },
                                          { "labels", { label, { 2 }, 1, ATTSVM_I64 } } };
    attsvm_patches_settings_init(&settings);
    settings.images = "images";
    settings.labels = "labels";
    settings.size = settings.stride = 2;
    settings.positions = false;
    snprintf(from, sizeof from, "%s/images.npz", folder);
    snprintf(to, sizeof to, "%s/bags.npz", folder);
    check(attsvm_archive_write(from, images, 2, &err));
    check(attsvm_patches_cut(from, to, &settings, &info, &err));
    expect(info.n == 2 && info.rows * info.columns == 4 && info.d == 4, "four windows an image");
}

/* The arrays of a run, by number. */
static void arrays_of_a_run(const attsvm_data *data)
{
    attsvm_train *run;
    check(attsvm_train_create(&run, data, NULL, NULL, NULL, &err));
    check(attsvm_train_run_batch(&run, 1, 0, NULL, NULL, &err));
    const attsvm_model *model = attsvm_train_model(run);
    expect(strcmp(attsvm_train_array(run, 0)->name, attsvm_model_parameter(model, 0).name) == 0,
           "the first array is what was trained");
    printf("%" PRId64 " arrays\n", attsvm_train_count(run));
    attsvm_train_free(run);
}

int main(int argc, char **argv)
{
    attsvm_generate_settings settings;
    attsvm_data *data;
    if (argc != 2) {
        fputs("usage: tour FOLDER\n", stderr);
        return 2;
    }
    attsvm_generate_settings_init(&settings);
    settings.kind = ATTSVM_PLANTED_P;
    settings.n = N;
    settings.T = T;
    settings.d = D;
    settings.optimal = true;
    check(attsvm_data_generate(&data, &settings, &err));
    list_settings();
    evaluate(data);
    solve_folds(data);
    save_and_load(data, argv[1]);
    train_jointly(data);
    cut_images(argv[1]);
    arrays_of_a_run(data);
    attsvm_data_free(data);
    return 0;
}
