/*
 * Did training find the max-margin direction?
 *
 *     direction TABLES DATA SVM RUN...
 *
 * DATA has tokens X; SVM is the result of `attsvm svm --problem p`; each RUN one of
 * `attsvm train --model p --record log`.  For a direction u = p/|p| and the selection alpha of SVM,
 * the smallest margin
 *
 *     min over i and t != alpha_i of (x_i,alpha - x_it)' u
 *
 * is computed from the data, and the angle between u and the SVM's direction.  Status 0 when the
 * first RUN ended within one degree of it, 1 when not.  TABLES/tokens.dat and TABLES/path.dat are
 * what direction.gp draws.
 */
#include <attsvm/attsvm.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct problem {
    attsvm_data *data;
    attsvm_data_info info;
    attsvm_archive *svm;
    const attsvm_array *ids; /* alpha (n)               */
    double *best;            /* d, the SVM's direction  */
    double *u, *x, *chosen;  /* d, scratch              */
} problem;

static double dot(const double *x, const double *y, int64_t d)
{
    double sum = 0;
    for (int64_t j = 0; j < d; j++)
        sum += x[j] * y[j];
    return sum;
}

/* u = row `row` of an array (k,d), scaled to norm 1; false where it is zero. */
static bool unit_row(const attsvm_array *array, int64_t row, int64_t d, double *u)
{
    for (int64_t j = 0; j < d; j++)
        u[j] = attsvm_array_get(array, row * d + j);
    double norm = sqrt(dot(u, u, d));
    for (int64_t j = 0; j < d; j++)
        u[j] /= norm;
    return norm > 0;
}

/* In degrees; by the chord, which is exact for small angles where the arc cosine is not. */
static double angle(const double *u, const double *v, int64_t d)
{
    double chord = 0;
    for (int64_t j = 0; j < d; j++)
        chord += (u[j] - v[j]) * (u[j] - v[j]);
    return 2 * asin(fmin(1, sqrt(chord) / 2)) * 180 / acos(-1);
}

static int64_t selected(const problem *q, int64_t i)
{
    return (int64_t)attsvm_array_get(q->ids, i);
}

/* (x_i,alpha - x_it)' u; leaves x_it in q->x. */
static double margin_of(const problem *q, int64_t i, int64_t t, const double *u)
{
    attsvm_data_token(q->data, i, selected(q, i), q->chosen);
    attsvm_data_token(q->data, i, t, q->x);
    return dot(q->chosen, u, q->info.d) - dot(q->x, u, q->info.d);
}

static double smallest_margin(const problem *q, const double *u)
{
    double smallest = INFINITY;
    for (int64_t i = 0; i < q->info.n; i++) {
        for (int64_t t = 0; t < attsvm_data_length(q->data, i); t++) {
            if (t != selected(q, i))
                smallest = fmin(smallest, margin_of(q, i, t, u));
        }
    }
    return smallest;
}

static bool problem_read(problem *q, const char *data, const char *svm)
{
    attsvm_error err;
    if (attsvm_data_read(&q->data, data, NULL, &err) != ATTSVM_OK ||
        attsvm_archive_open(&q->svm, svm, NULL, &err) != ATTSVM_OK) {
        fprintf(stderr, "direction: %s\n", err.message);
        return false;
    }
    q->info = attsvm_data_describe(q->data);
    int64_t d = q->info.d;
    const attsvm_array *theta = attsvm_archive_find(q->svm, "theta");
    q->ids = attsvm_archive_find(q->svm, "ids");
    if (!theta || !q->ids || attsvm_array_count(theta) != d ||
        attsvm_array_count(q->ids) != q->info.n) {
        fprintf(stderr, "direction: %s: theta (d) and ids (n) of this data set are wanted\n", svm);
        return false;
    }
    q->best = calloc((size_t)(4 * d), sizeof *q->best);
    if (!q->best)
        return false;
    q->u = q->best + d;
    q->x = q->u + d;
    q->chosen = q->x + d;
    return unit_row(theta, 0, d, q->best);
}

static void problem_free(problem *q)
{
    free(q->best);
    attsvm_archive_free(q->svm);
    attsvm_data_free(q->data);
}

static FILE *open_table(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *table = fopen(path, "w");
    if (!table)
        perror(path);
    return table;
}

/* The SVM's direction, its margin, and a line a token: sequence, token, selected, coordinates. */
static void write_tokens(const problem *q, FILE *table)
{
    fprintf(table, "# p");
    for (int64_t j = 0; j < q->info.d; j++)
        fprintf(table, " %.6f", q->best[j]);
    fprintf(table, "\n# margin %.6f\n", smallest_margin(q, q->best));
    for (int64_t i = 0; i < q->info.n; i++) {
        for (int64_t t = 0; t < attsvm_data_length(q->data, i); t++) {
            attsvm_data_token(q->data, i, t, q->x);
            fprintf(table, "%" PRId64 " %" PRId64 " %d", i, t, t == selected(q, i));
            for (int64_t j = 0; j < q->info.d; j++)
                fprintf(table, " %.6f", q->x[j]);
            fputc('\n', table);
        }
    }
}

/*
 * Follows one run: a line a recorded step (step, angle, direction) into `table`, a summary to
 * standard output.  Returns the last angle, or NAN where the run cannot be read.
 */
static double follow(const problem *q, const char *path, FILE *table)
{
    attsvm_error err;
    attsvm_archive *run = NULL;
    int64_t d = q->info.d;
    double last = NAN;
    if (attsvm_archive_open(&run, path, NULL, &err) != ATTSVM_OK) {
        fprintf(stderr, "direction: %s\n", err.message);
        return NAN;
    }
    const attsvm_array *p = attsvm_archive_find(run, "trace_p");
    const attsvm_array *iter = attsvm_archive_find(run, "trace_iter");
    if (!p || !iter || attsvm_array_count(p) != d * attsvm_array_count(iter)) {
        fprintf(stderr, "direction: %s: trace_p (k,d) and trace_iter (k) are wanted\n", path);
        goto done;
    }
    fprintf(table, "\n\n# %s\n", path);
    for (int64_t k = 0; k < attsvm_array_count(iter); k++) {
        if (!unit_row(p, k, d, q->u))
            continue; /* the start at zero has no direction */
        last = angle(q->u, q->best, d);
        fprintf(table, "%.0f %.6f", attsvm_array_get(iter, k), last);
        for (int64_t j = 0; j < d; j++)
            fprintf(table, " %.6f", q->u[j]);
        fputc('\n', table);
    }
    printf("%-28s %8.0f steps  margin %.6f  %8.4f degrees away\n", path,
           attsvm_array_get(iter, attsvm_array_count(iter) - 1), smallest_margin(q, q->u), last);
done:
    attsvm_archive_free(run);
    return last;
}

int main(int argc, char **argv)
{
    problem q = { 0 };
    FILE *tokens = NULL, *path = NULL;
    int status = 2;
    if (argc < 5) {
        fputs("usage: direction TABLES DATA SVM RUN...\n", stderr);
        return 2;
    }
    if (!problem_read(&q, argv[2], argv[3]) || !(tokens = open_table(argv[1], "tokens.dat")) ||
        !(path = open_table(argv[1], "path.dat")))
        goto done;
    write_tokens(&q, tokens);
    printf("%-28s %14s  margin %.6f\n", argv[3], "", smallest_margin(&q, q.best));
    double away = follow(&q, argv[4], path);
    for (int k = 5; k < argc; k++)
        follow(&q, argv[k], path);
    status = away < 1 ? 0 : 1;
    printf("\nverdict: training %s the max-margin direction\n",
           status == 0 ? "converged to" : "did not converge to");
done:
    if (path)
        fclose(path);
    if (tokens)
        fclose(tokens);
    problem_free(&q);
    return status;
}
