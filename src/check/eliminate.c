/*
 * Rational elimination: decides linear dependence of rows exactly.
 *
 * Which rows of a list are independent, and in which columns, is found modulo a prime.  That is a
 * guess; what follows from it is then computed over the integers and verified.
 */
#include "check/check.h"

#include <stdlib.h>
#include <string.h>

/* Maximum number of entries of a list of rows. */
enum { MOST_NUMBERS = 4000000 };

attsvm_status check_table_open(check_table *table, const check_problem *p, int64_t rows,
                               attsvm_error *err)
{
    arena a = { 0 };
    size_t count = (size_t)rows, d = (size_t)p->d;
    *table = (check_table){ .rows = rows, .columns = p->d * (p->matrix ? p->d : 1) };
    if (rows > MOST_NUMBERS / table->columns)
        return ATTSVM_OK;
    for (int pass = 0; pass < 2; pass++) {
        table->right = take(&a, count);
        table->pivot = take_int64(&a, count);
        table->chosen = base_take(&a, count, 1);
        table->base = take(&a, d);
        table->x = take(&a, d);
        table->one = (check_single){ .z = take(&a, d), .delta = base_take(&a, d, sizeof(dd)) };
        if (pass == 0)
            TRY(base_arena_allocate(&a, "rows", err));
    }
    table->memory = a.base;
    attsvm_status status = ATTSVM_OK;
    table->entries = check_exact_array(count * (size_t)table->columns, &status, err);
    table->fits = table->entries != NULL;
    return status;
}

void check_table_read(check_table *table, const check_problem *p, int64_t at, attsvm_row row)
{
    if (check_stops(p, CHECK_EXACT * (double)table->columns))
        return;
    check_read_row(p, row, table->base, table->x, &table->one);
    table->right[at] = table->one.right;
    check_row_entries(p, table->one.delta, table->one.z, table->entries + at * table->columns);
}

int64_t check_table_rank(check_table *table, const check_problem *p, attsvm_status *status,
                         attsvm_error *err)
{
    return check_exact_independent(table->entries, table->rows, table->columns, table->chosen,
                                   table->pivot, p->stop, status, err);
}

void check_table_close(check_table *table)
{
    check_exact_array_free(table->entries, (size_t)(table->rows * table->columns));
    free(table->memory);
}

/* out (count) = the numbers times a power of two that makes integers of all. */
static void to_integers(check_exact *const *numbers, int64_t count, mpz_t *out)
{
    int64_t least = INT64_MAX;
    for (int64_t k = 0; k < count; k++)
        if (check_exact_sign(numbers[k]) != 0 && numbers[k]->e < least)
            least = numbers[k]->e;
    for (int64_t k = 0; k < count; k++) {
        if (check_exact_sign(numbers[k]) == 0)
            mpz_set_ui(out[k], 0);
        else
            mpz_mul_2exp(out[k], numbers[k]->m, (mp_bitcnt_t)(numbers[k]->e - least));
    }
}

attsvm_status check_system_open(check_system *s, const check_problem *p, int64_t n, int64_t sides,
                                attsvm_error *err)
{
    *s = (check_system){ .stop = p->stop, .n = n, .sides = sides };
    mpz_init(s->det);
    TRY(base_allocate(&s->M, (size_t)(n * (n + sides)) + 1, sizeof *s->M, "system", err));
    s->r = s->M + n * n;
    s->y = base_rational_integers(n * sides, err);
    return s->y ? ATTSVM_OK : ATTSVM_E_MEMORY;
}

void check_system_close(check_system *s)
{
    mpz_clear(s->det);
    base_rational_free(s->y, s->n * s->sides);
    free(s->M);
}

/* M y = det r, equation by equation. */
static bool substitute(const check_system *s, const mpz_t *M, const mpz_t *r)
{
    bool good = mpz_sgn(s->det) > 0;
    mpz_t rest;
    mpz_init(rest);
    for (int64_t k = 0; k < s->n * s->sides && good; k++) {
        mpz_mul(rest, s->det, r[k]);
        for (int64_t j = 0; j < s->n; j++)
            mpz_submul(rest, M[k / s->sides * s->n + j], s->y[j * s->sides + k % s->sides]);
        good = mpz_sgn(rest) == 0 &&
               !dist_stop_poll(s->stop, (double)s->n * (CHECK_EXACT + (double)mpz_size(s->det)));
    }
    mpz_clear(rest);
    return good;
}

static bool stops(void *stop, double work)
{
    return dist_stop_poll(stop, work);
}

bool check_system_solve(check_system *s, attsvm_status *status, attsvm_error *err)
{
    const base_ask ask = { stops, s->stop };
    int64_t n = s->n, sides = s->sides, width = n + sides;
    check_exact **numbers = NULL;
    mpz_t *M = base_rational_integers(n * n, err), *r = NULL, *line = NULL;
    bool solved = false;
    *status = M ? base_allocate(&numbers, (size_t)width, sizeof *numbers, "system", err)
                : ATTSVM_E_MEMORY;
    if (*status == ATTSVM_OK && !((r = base_rational_integers(n * sides, err)) &&
                                  (line = base_rational_integers(width, err))))
        *status = ATTSVM_E_MEMORY;
    for (int64_t i = 0; i < n && *status == ATTSVM_OK; i++) {
        for (int64_t j = 0; j < width; j++)
            numbers[j] = j < n ? s->M[i * n + j] : s->r[i * sides + j - n];
        to_integers(numbers, width, line);
        for (int64_t j = 0; j < width; j++)
            mpz_set(j < n ? M[i * n + j] : r[i * sides + j - n], line[j]);
    }
    if (*status == ATTSVM_OK)
        *status = base_rational_solve(M, r, n, sides, s->y, s->det, &ask, &solved, err);
    solved = solved && substitute(s, M, r);
    base_rational_free(M, n * n);
    base_rational_free(r, n * sides);
    base_rational_free(line, width);
    free(numbers);
    return solved;
}

/* ---------------------------------------------------------------------- contradiction */

typedef struct named {
    attsvm_row row;
    dd value;
    bool equal;
    double weight; /* for the order: equalities first, then large multipliers */
} named;

static int by_weight(const void *a, const void *b)
{
    const named *x = a, *y = b;
    return x->weight > y->weight ? -1 : x->weight < y->weight;
}

/* The multipliers that are not 0, in order; their number. */
static int64_t collect(const check_problem *p, named *list)
{
    const attsvm_claim *c = p->claim;
    int64_t count = 0;
    for (int64_t k = 0; k < c->active_count + c->equal_count; k++) {
        bool equal = k >= c->active_count;
        int64_t at = equal ? k - c->active_count : k;
        double hi = equal ? c->mu[at] : c->lambda[at];
        const double *low = equal ? c->mu_lo : c->lambda_lo;
        if (hi == 0)
            continue;
        list[count++] = (named){ equal ? c->equal[at] : c->active[at],
                                 { hi, low ? low[at] : 0 },
                                 equal,
                                 equal ? INFINITY : hi };
    }
    qsort(list, (size_t)count, sizeof *list, by_weight);
    return count;
}

/* lambda (count) times det: of the chosen rows from y, of the others as stored. */
static void multiply_out(const named *list, const check_table *table, const check_system *system,
                         check_exact *lambda)
{
    check_exact low;
    check_exact_open(&low);
    for (int64_t k = 0, at = 0; k < table->rows; k++) {
        if (table->chosen[k]) {
            mpz_set(lambda[k].m, system->y[at++]);
            lambda[k].e = 0;
            continue;
        }
        check_exact_set(&lambda[k], list[k].value.hi);
        check_exact_set(&low, list[k].value.lo);
        check_exact_add(&lambda[k], &low);
        mpz_mul(lambda[k].m, lambda[k].m, system->det);
    }
    check_exact_close(&low);
}

/* Verifies exactly: signs, sum 0 in every column, positive value. */
static bool verify(const check_problem *p, const named *list, const check_table *table,
                   const check_exact *lambda)
{
    bool good = true, finite = p->claim->settings.problem == ATTSVM_PROBLEM_FINITE;
    check_exact sum, right, size;
    check_exact_open(&sum);
    check_exact_open(&right);
    check_exact_open(&size);
    for (int64_t j = 0; j < table->columns && good; j++) {
        check_exact_set(&sum, 0);
        for (int64_t k = 0; k < table->rows; k++)
            check_exact_add_product(&sum, &lambda[k], &table->entries[k * table->columns + j]);
        double words = (double)mpz_size(lambda[0].m);
        good = check_exact_sign(&sum) == 0 &&
               !check_stops(p, (double)table->rows * (CHECK_EXACT + words));
    }
    check_exact_set(&sum, 0);
    for (int64_t k = 0; k < table->rows; k++) {
        good = good && (list[k].equal || check_exact_sign(&lambda[k]) >= 0);
        check_exact_set(&right, table->right[k]);
        check_exact_add_product(&sum, &lambda[k], &right);
        if (finite) { /* the right-hand side may be smaller, or larger, by that much */
            check_exact_set(&right, -CHECK_LOG * fmax(1, fabs(table->right[k])));
            check_exact_copy(&size, &lambda[k]);
            mpz_abs(size.m, size.m);
            check_exact_add_product(&sum, &size, &right);
        }
    }
    good = good && check_exact_sign(&sum) > 0;
    check_exact_close(&sum);
    check_exact_close(&right);
    check_exact_close(&size);
    return good;
}

/* The chosen rows' multipliers follow from those of the others. */
static bool solve_for_chosen(const check_problem *p, const named *list, const check_table *table,
                             int64_t rank, attsvm_status *status, attsvm_error *err)
{
    int64_t n = table->rows;
    check_system system;
    check_exact low;
    *status = check_system_open(&system, p, rank, 1, err);
    check_exact *lambda = check_exact_array((size_t)n, status, err);
    check_exact *rest = check_exact_array((size_t)rank, status, err);
    check_exact_open(&low);
    for (int64_t c = 0, i = 0; c < n && *status == ATTSVM_OK; c++) { /* column pivot[c] */
        if (!table->chosen[c])
            continue;
        for (int64_t k = 0, j = 0; k < n; k++) {
            check_exact *entry = &table->entries[k * table->columns + table->pivot[c]];
            if (table->chosen[k]) {
                system.M[i * rank + j++] = entry;
                continue;
            }
            check_exact_set(&low, -list[k].value.hi);
            check_exact_add_product(&rest[i], entry, &low);
            check_exact_set(&low, -list[k].value.lo);
            check_exact_add_product(&rest[i], entry, &low);
        }
        system.r[i] = &rest[i];
        i++;
    }
    bool good = *status == ATTSVM_OK && check_system_solve(&system, status, err);
    if (good) {
        multiply_out(list, table, &system, lambda);
        good = verify(p, list, table, lambda);
    }
    check_exact_close(&low);
    check_system_close(&system);
    check_exact_array_free(lambda, (size_t)n);
    check_exact_array_free(rest, (size_t)rank);
    return good;
}

bool check_contradiction(const check_problem *p, attsvm_status *status, attsvm_error *err)
{
    named *list;
    check_table table;
    const attsvm_claim *c = p->claim;
    size_t most = (size_t)(c->active_count + c->equal_count);
    *status = base_allocate(&list, most + 1, sizeof *list, "named rows", err);
    if (*status != ATTSVM_OK)
        return false;
    int64_t count = collect(p, list);
    bool good = count > 0 && count <= CHECK_MOST_ROWS;
    if (good) {
        *status = check_table_open(&table, p, count, err);
        good = *status == ATTSVM_OK && table.fits;
        for (int64_t k = 0; k < count && good; k++)
            check_table_read(&table, p, k, list[k].row);
        int64_t rank = good ? check_table_rank(&table, p, status, err) : 0;
        good = good && *status == ATTSVM_OK && rank < count && !check_stops(p, 0);
        good = good && solve_for_chosen(p, list, &table, rank, status, err);
        check_table_close(&table);
    }
    free(list);
    return good;
}

/* ------------------------------------------------------------------------- dependence */

/* det A_dep = sum y A_chosen in every column, and what the right-hand sides say: see below. */
static bool depends(const check_problem *p, const check_table *table, int64_t dep, const mpz_t *y,
                    int64_t stride, const mpz_t det, const check_exact *rest,
                    const check_exact *raw, const double *slack)
{
    bool good = true;
    check_exact sum, factor, scale;
    check_exact_open(&sum);
    check_exact_open(&factor);
    check_exact_open(&scale);
    mpz_set(scale.m, det);
    for (int64_t j = -1; j < table->columns && good; j++) { /* -1: the right-hand sides */
        const check_exact *own = j < 0 ? &raw[dep] : &table->entries[dep * table->columns + j];
        if (check_stops(p, (double)table->rows * (CHECK_EXACT + 2 * (double)mpz_size(det)))) {
            good = false;
            break;
        }
        check_exact_set(&sum, 0);
        check_exact_add_product(&sum, own, &scale);
        mpz_neg(sum.m, sum.m);
        for (int64_t k = 0, at = 0; k < table->rows; k++) {
            if (!table->chosen[k])
                continue;
            mpz_set(factor.m, y[stride * at++]);
            factor.e = 0;
            check_exact_add_product(&sum, &factor,
                                    j < 0 ? &rest[k] : &table->entries[k * table->columns + j]);
        }
        if (j >= 0 || slack[dep] == 0) {
            good = check_exact_sign(&sum) == 0;
            continue;
        }
        /* |sum c rest - raw_dep| <= slack: theta' leaves the row where it may be */
        check_exact_set(&factor, slack[dep]);
        check_exact_multiply(&factor, &scale);
        mpz_abs(factor.m, factor.m);
        mpz_abs(sum.m, sum.m);
        good = check_exact_compare(&sum, &factor) <= 0;
    }
    check_exact_close(&sum);
    check_exact_close(&factor);
    check_exact_close(&scale);
    return good;
}

bool check_dependent(const check_problem *p, const check_table *table, int64_t rank,
                     const check_exact *rest, const check_exact *raw, const double *slack,
                     attsvm_status *status, attsvm_error *err)
{
    int64_t n = table->rows, sides = n - rank;
    check_system system;
    *status = check_system_open(&system, p, rank, sides, err);
    for (int64_t c = 0, i = 0; c < n && *status == ATTSVM_OK; c++) {
        if (!table->chosen[c])
            continue;
        for (int64_t k = 0, j = 0, side = 0; k < n; k++) {
            check_exact *entry = &table->entries[k * table->columns + table->pivot[c]];
            if (table->chosen[k])
                system.M[i * rank + j++] = entry;
            else
                system.r[i * sides + side++] = entry;
        }
        i++;
    }
    bool good = *status == ATTSVM_OK && check_system_solve(&system, status, err);
    for (int64_t k = 0, side = 0; k < n && good; k++)
        if (!table->chosen[k])
            good = depends(p, table, k, system.y + side++, sides, system.det, rest, raw, slack);
    check_system_close(&system);
    return good;
}
