/*
 * Does a direction separate the selected tokens from the others?
 *
 *     planted DATA.npz [TABLE]
 *
 * DATA.npz has tokens X, a selection ids and a direction planted_p, as
 * `attsvm generate --kind planted-p` writes them.  For every sequence i and token t != alpha_i
 * this computes from the file how far the token falls behind the selected one,
 *
 *     (x_i,alpha - x_it)' p,
 *
 * and prints the smallest of these margins; status 0 when it is positive, 1 when it is not.  TABLE
 * gets p, the margin, and one line a token: sequence, token, selected, how far behind, coordinates.
 */
#include <attsvm/attsvm.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct problem {
    attsvm_archive *archive;
    attsvm_data *data;
    attsvm_data_info info;
    const attsvm_array *ids, *p;
    double *x, *best; /* a token, the selected token (d) */
} problem;

/* Reads tokens and the two arrays that go with them; false with a message where one is missing. */
static bool problem_read(problem *q, const char *path)
{
    attsvm_error err;
    if (attsvm_data_read(&q->data, path, NULL, &err) != ATTSVM_OK ||
        attsvm_archive_open(&q->archive, path, NULL, &err) != ATTSVM_OK) {
        fprintf(stderr, "planted: %s\n", err.message);
        return false;
    }
    q->info = attsvm_data_describe(q->data);
    q->ids = attsvm_archive_find(q->archive, "ids");
    q->p = attsvm_archive_find(q->archive, "planted_p");
    if (!q->ids || !q->p || attsvm_array_count(q->ids) != q->info.n ||
        attsvm_array_count(q->p) != q->info.d) {
        fprintf(stderr, "planted: %s: ids (n) and planted_p (d) are wanted\n", path);
        return false;
    }
    q->x = calloc((size_t)q->info.d, sizeof *q->x);
    q->best = calloc((size_t)q->info.d, sizeof *q->best);
    return q->x && q->best;
}

static void problem_free(problem *q)
{
    free(q->x);
    free(q->best);
    attsvm_archive_free(q->archive);
    attsvm_data_free(q->data);
}

/* alpha_i */
static int64_t selected(const problem *q, int64_t i)
{
    return (int64_t)attsvm_array_get(q->ids, i);
}

/* (x_i,alpha - x_it)' p; leaves x_it in q->x */
static double behind(const problem *q, int64_t i, int64_t t)
{
    double sum = 0;
    attsvm_data_token(q->data, i, selected(q, i), q->best);
    attsvm_data_token(q->data, i, t, q->x);
    for (int64_t j = 0; j < q->info.d; j++)
        sum += (q->best[j] - q->x[j]) * attsvm_array_get(q->p, j);
    return sum;
}

static double smallest_margin(const problem *q)
{
    double smallest = INFINITY;
    for (int64_t i = 0; i < q->info.n; i++) {
        for (int64_t t = 0; t < attsvm_data_length(q->data, i); t++) {
            if (t != selected(q, i))
                smallest = fmin(smallest, behind(q, i, t));
        }
    }
    return smallest;
}

static bool write_table(const problem *q, double margin, const char *path)
{
    FILE *table = fopen(path, "w");
    if (!table)
        return false;
    fprintf(table, "# p");
    for (int64_t j = 0; j < q->info.d; j++)
        fprintf(table, " %.6f", attsvm_array_get(q->p, j));
    fprintf(table, "\n# margin %.6f\n", margin);
    for (int64_t i = 0; i < q->info.n; i++) {
        for (int64_t t = 0; t < attsvm_data_length(q->data, i); t++) {
            double margin_t = behind(q, i, t);
            fprintf(table, "%" PRId64 " %" PRId64 " %d %.6f", i, t, t == selected(q, i), margin_t);
            for (int64_t j = 0; j < q->info.d; j++)
                fprintf(table, " %.6f", q->x[j]);
            fputc('\n', table);
        }
    }
    return fclose(table) == 0;
}

int main(int argc, char **argv)
{
    problem q = { 0 };
    int status = 2;
    if (argc < 2 || argc > 3) {
        fputs("usage: planted DATA.npz [TABLE]\n", stderr);
        return 2;
    }
    if (!problem_read(&q, argv[1]))
        goto done;
    double margin = smallest_margin(&q);
    if (argc == 3 && !write_table(&q, margin, argv[2])) {
        perror(argv[2]);
        status = 3;
        goto done;
    }
    printf("%" PRId64 " sequences, %" PRId64 " other tokens, smallest margin along p: %.6g\n",
           q.info.n, q.info.tokens - q.info.n, margin);
    puts(margin > 0 ? "verdict: p separates the selected tokens from all others"
                    : "verdict: p does not separate the selected tokens from the others");
    status = margin > 0 ? 0 : 1;
done:
    problem_free(&q);
    return status;
}
