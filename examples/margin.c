/*
 * The largest margin by which attention can prefer the best token of every sequence.
 *
 *     margin DATA
 *
 *     cc margin.c $(pkg-config --cflags --libs attsvm)
 */
#include <attsvm/attsvm.h>

#include <stdio.h>
#include <stdlib.h>

static attsvm_error err;

static void check(attsvm_status status)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "margin: %s\n", err.message);
    exit(2);
}

int main(int argc, char **argv)
{
    attsvm_svm_settings settings;
    attsvm_data *data;
    attsvm_problem *problem;
    attsvm_solution *solution;
    if (argc != 2) {
        fputs("usage: margin DATA\n", stderr);
        return 2;
    }
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_P;
    /* README begins */
    check(attsvm_data_read(&data, argv[1], NULL, &err));
    int64_t *alpha = calloc((size_t)attsvm_data_describe(data).n, sizeof *alpha);
    attsvm_selection best = {
        .alpha = alpha, .terms = attsvm_data_describe(data).n
    }; /* the best-scoring token of each sequence */
    check(attsvm_select_optimal(data, &settings, alpha, NULL, &err));
    check(attsvm_problem_create(&problem, data, &best, &settings, &err));
    check(attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, &err));
    attsvm_svm_info info = attsvm_solution_describe(solution);
    if (info.outcome == ATTSVM_OPTIMAL)
        printf("largest margin: %.9g\n", info.margin);
    else
        printf("no margin: the problem is %s\n", attsvm_outcome_name(info.outcome));
    /* README ends */
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    attsvm_data_free(data);
    free(alpha);
    return 0;
}
