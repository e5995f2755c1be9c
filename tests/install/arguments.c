/* Completed by arguments.py: valid objects, and one process for each call with a bad argument. */
#include <attsvm/attsvm.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* SLOTS */

enum { N = 8, T = 4, D = 5, OTHER_N = 6 };

static attsvm_error err;
static attsvm_data *data, *words, *other;
static attsvm_archive *archive;
static attsvm_generator *generator;
static attsvm_problem *problem;
static attsvm_solution *solution, *solutions[1], *other_solution;
static attsvm_model *model;
static attsvm_train *run, *fresh, *joint_run;
static attsvm_scores *scores, *other_scores;
static attsvm_enumeration *enumeration;
static attsvm_path *path;
static attsvm_graph *graph;
static attsvm_classifier *classifier, *worded;
static attsvm_prediction *prediction;
static attsvm_cv *cv;
static attsvm_samples *samples;
static attsvm_chosen *chosen;
static attsvm_origin *origin;
static attsvm_svm_settings a_svm;
static attsvm_train_settings a_train;
static attsvm_fit_settings a_fit;
static attsvm_cv_settings a_cv;
static attsvm_claim claim;
static attsvm_support support[8];
static attsvm_verdict verdict;
static char text[256];
static double W[256], X[16] = { 1, 2, 3, 4 };
static int64_t numbers[256], alpha[N];
static uint8_t octets[256];
static bool flag;
static const int8_t Y[] = { 1, -1 };
static const double v[] = { 1, 0 };
static const int64_t label[N] = { 0, 1, 0, 1, 0, 1, 0, 1 };
static const char *const texts[] = { "good film", "bad film" }, *const kinds[] = { "yes", "no" };
static const attsvm_selection selection = { .alpha = alpha, .terms = N };
static const attsvm_targets targets = { .label = label, .classes = 2 };
static const attsvm_array inst = { numbers, { N * T }, 1, ATTSVM_I64 };
static const attsvm_named_array arrays[] = { { "X", { X, { 2, 2, 2 }, 3, ATTSVM_F64 } },
                                             { "Y", { Y, { 2 }, 1, ATTSVM_I8 } },
                                             { "v", { v, { 2 }, 1, ATTSVM_F64 } } };
static const attsvm_named_array start = { "p", { W, { D }, 1, ATTSVM_F64 } };

static double step_size(void *context, int64_t step)
{
    (void)context;
    return step < 10 ? 0.1 : 0.01;
}
static const attsvm_schedule_callback schedule = { step_size, NULL };

static attsvm_status status;
static int failures;
static pid_t child;

static void must(attsvm_status status, const char *what)
{
    if (status != ATTSVM_OK)
        exit((fprintf(stderr, "%s: %s\n", what, err.message), 2));
}
#define MUST(call) must(call, #call)

/* What a call returned whose argument is wrong; `empty`: it left no object. */
static void returned(attsvm_status result, bool allowed, bool no_message, bool empty)
{
    if (getenv("VERBOSE"))
        printf("  -> %d %s\n", (int)result, err.message), fflush(stdout);
    if (result != ATTSVM_OK && !empty)
        _exit(6);
    if (!attsvm_status_name(result))
        _exit(3);
    if (result != ATTSVM_OK && !no_message && (!err.message[0] || err.status != result))
        _exit(4);
    if (result == ATTSVM_OK && !allowed)
        _exit(5);
    _exit(0);
}

/* True in the child, which makes the call; the parent waits and reports. */
static bool attack(const char *name, const char *what)
{
    static const char *const faults[] = { "",
                                          "",
                                          "",
                                          "returns no status",
                                          "fails without a message",
                                          "takes NULL where the header does not say so",
                                          "fails and leaves an object" };
    int status = 0;
    err = (attsvm_error){ 0 };
    if (getenv("VERBOSE"))
        printf("%s, %s\n", name, what);
    fflush(stdout);
    child = fork();
    if (child == 0) {
        alarm(20);
        return true;
    }
    waitpid(child, &status, 0);
    if (status != 0)
        failures++;
    if (WIFSIGNALED(status))
        printf("FAILED: %s, %s: ended by signal %d\n", name, what, WTERMSIG(status));
    else if (status != 0)
        printf("FAILED: %s, %s: %s\n", name, what,
               WEXITSTATUS(status) < 7 ? faults[WEXITSTATUS(status)] : "fails");
    return false;
}

static void write_files(void)
{
    attsvm_generator *bags;
    attsvm_generate_settings g;
    attsvm_generate_settings_init(&g);
    g.kind = ATTSVM_PLANTED_P;
    g.n = N;
    g.T = T;
    g.d = D;
    g.optimal = true;
    MUST(attsvm_data_generate(&data, &g, &err));
    MUST(attsvm_generator_create(&generator, &g, &err));
    MUST(attsvm_generator_write(generator, "data.npz", false, NULL, NULL, &err));
    MUST(attsvm_generator_create(&bags, &g, &err));
    MUST(attsvm_generator_write(bags, "bags.npz", false, NULL, NULL, &err));
    const attsvm_named_array images[] = { { "images", { W, { 4, 8, 8 }, 3, ATTSVM_F64 } },
                                          { "labels", { label, { 4 }, 1, ATTSVM_I64 } } };
    MUST(attsvm_archive_write("images.npz", images, 2, &err));
    g.n = OTHER_N;
    g.d = D + 1;
    MUST(attsvm_data_generate(&other, &g, &err));
    g.kind = ATTSVM_NTP;
    MUST(attsvm_data_generate(&words, &g, &err));
}

static void train(void)
{
    attsvm_train_settings_init(&a_train);
    a_train.iters = 300;
    a_train.record = "log";
    MUST(attsvm_model_create(&model, data, &a_train, NULL, NULL, &err));
    MUST(attsvm_train_create(&run, data, &a_train, NULL, NULL, &err));
    MUST(attsvm_train_run(run, NULL, NULL, &err));
    MUST(attsvm_train_save(run, "run.npz", NULL, 0, &err));
    MUST(attsvm_train_create(&fresh, data, &a_train, NULL, NULL, &err));
    a_train.model = ATTSVM_MODEL_VP;
    MUST(attsvm_train_create(&joint_run, data, &a_train, NULL, NULL, &err));
    MUST(attsvm_train_run(joint_run, NULL, NULL, &err));
    a_train.model = ATTSVM_MODEL_P;
}

static void solve(void)
{
    attsvm_svm_settings_init(&a_svm);
    a_svm.problem = ATTSVM_PROBLEM_P;
    MUST(attsvm_select_optimal(data, &a_svm, alpha, NULL, &err));
    MUST(attsvm_problem_create(&problem, data, &selection, &a_svm, &err));
    MUST(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err));
    claim = attsvm_solution_claim(solution);
    MUST(attsvm_solution_save(solution, data, "solution.npz", NULL, 0, &err));
    MUST(attsvm_verdict_compute(&out_attsvm_verdict, run, NULL, NULL, NULL, &slot_attsvm_solution,
                                &err));
    MUST(attsvm_verdict_save(&out_attsvm_verdict, run, slot_attsvm_solution, "verdict.npz", NULL, 0,
                             &err));
    MUST(attsvm_scores_create(&scores, data, &a_svm, &err));
    MUST(attsvm_enumerate(&enumeration, scores, &a_svm, NULL, NULL, NULL, &err));
    MUST(attsvm_enumeration_save(enumeration, "list.npz", NULL, 0, &err));
    MUST(attsvm_path_follow(&path, data, NULL, NULL, NULL, NULL, &err));
    MUST(attsvm_path_save(path, "path.npz", &err));
    MUST(attsvm_graph_create(&graph, words, &err));
    MUST(attsvm_chosen_create(&chosen, data, &a_svm, "opt", &err));
    MUST(attsvm_origin_read(&origin, "run.npz", &err));
    MUST(attsvm_archive_open(&archive, "data.npz", NULL, &err));
}

/* The same problem for another data set. */
static void solve_other(void)
{
    int64_t best[OTHER_N];
    const attsvm_selection all = { .alpha = best, .terms = OTHER_N };
    attsvm_problem *rows;
    MUST(attsvm_select_optimal(other, &a_svm, best, NULL, &err));
    MUST(attsvm_problem_create(&rows, other, &all, &a_svm, &err));
    MUST(attsvm_problem_solve(rows, NULL, NULL, NULL, &other_solution, &err));
    MUST(attsvm_scores_create(&other_scores, other, &a_svm, &err));
}

static void learn(void)
{
    const int64_t two[] = { 0, 1 };
    const attsvm_targets kinds_of_text = { .label = two, .classes = 2 };
    attsvm_fit_settings_init(&a_fit);
    attsvm_cv_settings_init(&a_cv);
    a_fit.starts = 1;
    a_fit.pool = ATTSVM_POOL_PROMPT;
    a_cv.folds = 2;
    a_cv.repeats = 1;
    MUST(attsvm_classifier_fit(&classifier, data, &targets, &a_fit, NULL, NULL, &err));
    MUST(attsvm_classifier_save(classifier, "classifier.npz", NULL, &err));
    MUST(attsvm_classifier_predict(&prediction, classifier, data, NULL, &err));
    MUST(attsvm_cv_run(&cv, data, &targets, &a_fit, &a_cv, NULL, NULL, 0, NULL, NULL, &err));
    MUST(attsvm_samples_texts(&samples, texts, kinds, 2, NULL, NULL, &err));
    MUST(attsvm_classifier_fit(&worded, attsvm_samples_data(samples), &kinds_of_text, &a_fit, NULL,
                               NULL, &err));
}

static void attack_all(void)
{
    /* DEFAULTS */
    /* CALLS */
}

int main(void)
{
    write_files();
    train();
    solve();
    solve_other();
    learn();
    numbers[1] = 1;
    attack_all();
    printf("%d failed\n", failures);
    return failures > 0;
}
