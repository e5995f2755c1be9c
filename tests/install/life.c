/*
 * A program as others write it, on the public header alone: its own loss and head, trained in one
 * run; again, but stopped on the way and continued; again, but saved where it was stopped, loaded
 * and continued; all files must have the same bytes.  The loaded run is judged, and its solution
 * proved.  Then 8 threads that solve and train on the same data, and a child process after
 * that.
 *
 *     life FOLDER
 */
#include <attsvm/attsvm.h>

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { N = 12, T = 4, D = 6, THREADS = 8, STOP_AT = 170, STEPS = 400 };

static attsvm_error err;

static void must(attsvm_status status, const char *what)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "life: %s: %s (%s)\n", what, err.message, attsvm_status_name(status));
    exit(1);
}

static void claim(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "life: not so: %s\n", what);
    exit(1);
}

/* log(1 + exp(-u)). */
static double own_loss(void *context, double u, double *slope)
{
    (void)context;
    *slope = -1 / (1 + exp(u));
    return u > 30 ? exp(-u) : log1p(exp(-u));
}

/* h(u) = c'u, the sum with signs that the context has. */
static double own_head(void *context, const double *u, int64_t d, double *gradient)
{
    const double *c = context;
    double sum = 0;
    for (int64_t j = 0; j < d; j++) {
        sum += c[j] * u[j];
        gradient[j] = c[j];
    }
    return sum;
}

static bool stop_on_the_way(void *context, const attsvm_train *train, const attsvm_train_info *info)
{
    int64_t count;
    const double *theta = attsvm_train_parameters(train, &count);
    *(double *)context = theta[0];
    return info->iters < STOP_AT;
}

static attsvm_train_settings settings_of(void)
{
    attsvm_train_settings s;
    attsvm_train_settings_init(&s);
    s.iters = STEPS;
    s.record = "log";
    s.observe = 10;
    s.threads = 1;
    return s;
}

static void same_bytes(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    claim(x && y, "both files are there");
    int p, q;
    do {
        p = fgetc(x);
        q = fgetc(y);
        claim(p == q, "the same bytes");
    } while (p != EOF);
    fclose(x);
    fclose(y);
}

static double c[D] = { 1, -1, 0.5, 2, -0.5, 1 };
static const attsvm_loss_callback loss = { own_loss, NULL };
static const attsvm_head_callback head = { own_head, c };

/* The verdict on a run, and the proof of the solution it is compared with. */
static void proved(const attsvm_train *run, const attsvm_data *data)
{
    attsvm_verdict verdict;
    attsvm_solution *solution;
    attsvm_report report;
    must(attsvm_verdict_compute(&verdict, run, NULL, NULL, NULL, &solution, &err), "verdict");
    claim(verdict.kind != ATTSVM_VERDICT_NONE, "there is a verdict");
    const attsvm_claim what = attsvm_solution_claim(solution);
    must(attsvm_check(&report, data, &what, NULL, NULL, NULL, &err), "check");
    claim(report.valid, "the solution is proved");
    attsvm_solution_free(solution);
}

static void life(const attsvm_data *data, const char *folder)
{
    char once[4096], stopped[4096], again[4096];
    snprintf(once, sizeof once, "%s/once.npz", folder);
    snprintf(stopped, sizeof stopped, "%s/stopped.npz", folder);
    snprintf(again, sizeof again, "%s/again.npz", folder);
    attsvm_train_settings s = settings_of();
    attsvm_train *run;
    double seen = 0;
    double p[D] = { 0.1, 0, -0.1, 0, 0.2, 0 };
    const attsvm_named_array start = { "p", { p, { D }, 1, ATTSVM_F64 } };

    must(attsvm_train_create(&run, data, &s, &loss, &head, &err), "create");
    must(attsvm_train_start(run, &start, 1, &err), "start");
    must(attsvm_train_run(run, NULL, NULL, &err), "run");
    must(attsvm_train_save(run, once, NULL, 0, &err), "save");
    attsvm_train_free(run);

    must(attsvm_train_create(&run, data, &s, &loss, &head, &err), "create");
    must(attsvm_train_start(run, &start, 1, &err), "start");
    must(attsvm_train_run(run, stop_on_the_way, &seen, &err), "run");
    claim(attsvm_train_describe(run).outcome == ATTSVM_TRAIN_OBSERVER, "the observer stopped it");
    claim(seen != 0, "the observer saw the parameters");
    must(attsvm_train_continue(run, 0, NULL, NULL, &err), "continue");
    must(attsvm_train_save(run, stopped, NULL, 0, &err), "save");
    attsvm_train_free(run);
    same_bytes(once, stopped);

    must(attsvm_train_create(&run, data, &s, &loss, &head, &err), "create");
    must(attsvm_train_start(run, &start, 1, &err), "start");
    must(attsvm_train_run(run, stop_on_the_way, &seen, &err), "run");
    must(attsvm_train_save(run, stopped, NULL, 0, &err), "save where it was stopped");
    attsvm_train_free(run);
    must(attsvm_train_load(&run, data, stopped, &loss, &head, &err), "load");
    claim(attsvm_train_describe(run).iters < STEPS, "the loaded run is not at its end");
    must(attsvm_train_continue(run, 0, NULL, NULL, &err), "continue what was loaded");
    must(attsvm_train_save(run, again, NULL, 0, &err), "save what was loaded");
    same_bytes(once, again);
    proved(run, data);
    attsvm_train_free(run);

    must(attsvm_train_load(&run, data, again, &loss, &head, &err), "load");
    must(attsvm_train_save(run, stopped, NULL, 0, &err), "save what was loaded");
    same_bytes(once, stopped);
    attsvm_train *other = NULL;
    claim(attsvm_train_load(&other, data, stopped, NULL, NULL, &err) == ATTSVM_E_ARG && !other,
          "a run of the caller's loss needs it again");
    attsvm_train_free(run);
}

/* A step rule with its own state: the file does not hold the state, and the message says what to
   do. */
static void cannot_go_on(const attsvm_data *data, const char *folder)
{
    char path[4096];
    attsvm_train_settings s = settings_of();
    attsvm_train *run;
    snprintf(path, sizeof path, "%s/adam.npz", folder);
    s.step = "adam";
    must(attsvm_train_create(&run, data, &s, NULL, NULL, &err), "create");
    must(attsvm_train_run(run, NULL, NULL, &err), "run");
    must(attsvm_train_save(run, path, NULL, 0, &err), "save");
    attsvm_train_free(run);
    must(attsvm_train_load(&run, data, path, NULL, NULL, &err), "load");
    claim(attsvm_train_continue(run, 2 * STEPS, NULL, NULL, &err) == ATTSVM_E_ARG &&
              strstr(err.message, "checkpoint"),
          "a run of adam goes on from a checkpoint only");
    attsvm_train_free(run);
}

static void judged(const attsvm_data *data, const char *folder)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/verdict.npz", folder);
    attsvm_train_settings s = settings_of();
    attsvm_train *run;
    attsvm_verdict verdict, loaded;
    attsvm_solution *solution;
    attsvm_report report;
    must(attsvm_train_create(&run, data, &s, NULL, NULL, &err), "create");
    must(attsvm_train_run(run, NULL, NULL, &err), "run");
    must(attsvm_verdict_compute(&verdict, run, NULL, NULL, NULL, &solution, &err), "verdict");
    must(attsvm_verdict_save(&verdict, run, solution, path, NULL, 0, &err), "save a verdict");
    attsvm_solution_free(solution);
    attsvm_train_free(run);
    must(attsvm_verdict_load(&loaded, path, &err), "load a verdict");
    claim(loaded.kind == verdict.kind && loaded.correlation == verdict.correlation &&
              loaded.optimality.support == verdict.optimality.support &&
              loaded.svm.problem == verdict.svm.problem,
          "the verdict is the same");
    must(attsvm_solution_load(&solution, data, path, &err), "load its solution");
    attsvm_claim what = attsvm_solution_claim(solution);
    must(attsvm_check(&report, data, &what, NULL, NULL, NULL, &err), "check");
    claim(report.valid, "check proves what the verdict saved");
    attsvm_solution_free(solution);
}

/* The work of one thread on the shared data set; returns its margin. */
static void *work(void *shared)
{
    const attsvm_data *data = shared;
    attsvm_error own;
    attsvm_train_settings s = settings_of();
    attsvm_svm_settings svm;
    attsvm_train *run = NULL;
    attsvm_problem *problem = NULL;
    attsvm_solution *solution = NULL;
    int64_t alpha[N];
    attsvm_selection selection = { .alpha = alpha, .terms = N };
    double *margin = calloc(1, sizeof *margin);
    attsvm_svm_settings_init(&svm);
    svm.problem = ATTSVM_PROBLEM_P;
    if (!margin || attsvm_train_create(&run, data, &s, NULL, NULL, &own) != ATTSVM_OK ||
        attsvm_train_run(run, NULL, NULL, &own) != ATTSVM_OK ||
        attsvm_select_optimal(data, &svm, alpha, NULL, &own) != ATTSVM_OK ||
        attsvm_problem_create(&problem, data, &selection, &svm, &own) != ATTSVM_OK ||
        attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &own) != ATTSVM_OK)
        exit(1);
    *margin = attsvm_solution_describe(solution).margin;
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    attsvm_train_free(run);
    return margin;
}

static void threads(attsvm_data *data)
{
    pthread_t thread[THREADS];
    double first = 0;
    for (int k = 0; k < THREADS; k++)
        claim(pthread_create(&thread[k], NULL, work, data) == 0, "a thread can be had");
    for (int k = 0; k < THREADS; k++) {
        void *margin;
        pthread_join(thread[k], &margin);
        first = k == 0 ? *(double *)margin : first;
        claim(*(double *)margin == first && first > 0, "all threads find the same margin");
        free(margin);
    }
    pid_t child = fork();
    if (child == 0) {
        free(work(data));
        _exit(0);
    }
    int status = 1;
    claim(child > 0 && waitpid(child, &status, 0) == child && status == 0, "a child works too");
}

int main(int argc, char **argv)
{
    attsvm_generate_settings g;
    attsvm_data *data;
    if (argc != 2)
        return 2;
    attsvm_generate_settings_init(&g);
    g.kind = ATTSVM_PLANTED_P;
    g.n = N;
    g.T = T;
    g.d = D;
    g.optimal = true;
    must(attsvm_data_generate(&data, &g, &err), "generate");
    life(data, argv[1]);
    cannot_go_on(data, argv[1]);
    judged(data, argv[1]);
    threads(data);
    attsvm_data_free(data);
    puts("life: all held");
    return 0;
}
