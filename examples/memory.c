/* From arrays in memory: train a prompt, solve its max-margin problem, check the proof, compare. */
#include <attsvm/attsvm.h>

#include <stdio.h>
#include <stdlib.h>

static attsvm_error err;

static void check(attsvm_status status)
{
    if (status == ATTSVM_OK)
        return;
    fprintf(stderr, "memory: %s\n", err.message);
    exit(2);
}

int main(void)
{
    /* two sequences of three tokens in the plane; the head v likes the first coordinate */
    const double X[] = { 2, 1, 0, 1, -1, 0, 1, 2, 0, 0, -1, 1 }, v[] = { 1, 0 };
    const int8_t Y[] = { 1, 1 };
    const attsvm_named_array arrays[] = { { "X", { X, { 2, 3, 2 }, 3, ATTSVM_F64 } },
                                          { "Y", { Y, { 2 }, 1, ATTSVM_I8 } },
                                          { "v", { v, { 2 }, 1, ATTSVM_F64 } } };
    attsvm_data *data;
    attsvm_train *run;
    attsvm_verdict verdict;
    attsvm_solution *svm;
    attsvm_report report;
    check(attsvm_data_create(&data, arrays, 3, NULL, &err));
    check(attsvm_train_create(&run, data, NULL, NULL, NULL, &err)); /* model p, 1000 steps of ngd */
    check(attsvm_train_run(run, NULL, NULL, &err));
    check(attsvm_verdict_compute(&verdict, run, NULL, NULL, NULL, &svm, &err));
    const attsvm_claim claim = attsvm_solution_claim(svm);
    check(attsvm_check(&report, data, &claim, NULL, NULL, NULL, &err));
    printf("verdict %s, margin %.6g (%s), correlation %.6f\n", attsvm_verdict_name(verdict.kind),
           verdict.margin, report.valid ? "proved" : report.reason, verdict.correlation);
    const bool good = report.valid && verdict.outcome == ATTSVM_OPTIMAL;
    attsvm_solution_free(svm);
    attsvm_train_free(run);
    attsvm_data_free(data);
    return good ? 0 : 1;
}
