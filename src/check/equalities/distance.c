/*
 * How far from theta is a point that satisfies a list of rows as equalities, exactly (theory 4.1)?
 *
 * With E the independent rows of the list and r = e - E theta, theta' = theta + E'(E E')^-1 r does,
 * and |theta' - theta|^2 = r'S^-1 r, S = E E'.  With any R close enough to S^-1 that
 * eps = |I - R S| < 1 in the maximum norm, and any y, |S^-1 t|_inf <= |R t|_inf / (1 - eps) gives
 *
 *   r'S^-1 r <= |r'y| + |r|_1 |R (r - S y)|_inf / (1 - eps)
 *
 * y = R r is refined in double-double, so that the last term is small even where eps is not.
 * Many rows are tried without R (nearby.c).  If no such R is found in double, the system is solved
 * exactly.  Dependent rows must be exactly dependent, including their right-hand sides.
 */
#include "check/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_ROUNDED = 1500, /* rows for which R is computed                     */
    MANY = 200,          /* above this a factor is tried first (nearby.c): R takes too long */
    MOST_FACTORED = 4000
};

typedef struct distance {
    const check_problem *p;
    int64_t count; /* rows, without those that are zero               */
    attsvm_row *rows;
    double *slack;     /* allowed error of the right-hand side (FINITE)    */
    check_exact *raw;  /* e - <A, theta>                                   */
    check_exact *rest; /* the same for the nearest e that the slack allows */
    double *scale;     /* a power of two: scale |A_r| is about 1           */
    double *r;         /* scale * rest, rounded                            */
    bool tiny;         /* a residual is below the range of doubles        */
    dd *delta;         /* count x d                                        */
    double *z;         /* count x d                                        */
    char *why;
    void *memory;
} distance;

static bool unknown(distance *s, const char *text)
{
    snprintf(s->why, 128, "%s", text);
    return false;
}

static void layout(distance *s, arena *a, size_t count, size_t d)
{
    s->rows = base_take(a, count, sizeof *s->rows);
    s->slack = take(a, count);
    s->scale = take(a, count);
    s->r = take(a, count);
    s->delta = base_take(a, count * d, sizeof(dd));
    s->z = take(a, count * d);
}

/* Reduces `rest` by moving the right-hand side towards <A,theta> within the slack. */
static void use_slack(check_exact *rest, double slack)
{
    check_exact room;
    check_exact_open(&room);
    check_exact_set(&room, slack);
    if (check_exact_sign(rest) < 0)
        mpz_neg(room.m, room.m);
    int before = check_exact_sign(rest);
    check_exact_subtract(rest, &room);
    if (check_exact_sign(rest) != before)
        check_exact_set(rest, 0);
    check_exact_close(&room);
}

/* Reads row k of the list into place s->count, unless it is zero; false where 0 = e is asked. */
static bool read_row(distance *s, attsvm_row row, double *base, double *x, double *spare)
{
    const check_problem *p = s->p;
    int64_t at = s->count, d = p->d;
    check_single one = { .delta = s->delta + at * d, .z = s->z + at * d };
    check_read_row(p, row, base, x, &one);
    bool finite = p->claim->settings.problem == ATTSVM_PROBLEM_FINITE;
    s->slack[at] = finite ? CHECK_LOG * fmax(1, fabs(one.right)) : 0;
    s->rows[at] = row;
    check_range size = check_row_size(p, ATTSVM_NORM_L2, 2, one.delta, one.z, spare);
    if (size.high == 0)
        return fabs(one.right) <= s->slack[at] || unknown(s, "a row of zeros has another value");
    if (!(size.low > 0))
        return unknown(s, "a row leaves the range of doubles");
    s->scale[at] = ldexp(1, -ilogb(size.high));
    check_exact margin;
    bool in_range;
    check_exact_open(&margin);
    check_row_value(p, one.delta, one.z, &margin);
    check_exact_set(&s->rest[at], one.right);
    check_exact_subtract(&s->rest[at], &margin);
    check_exact_close(&margin);
    check_exact_copy(&s->raw[at], &s->rest[at]);
    if (finite)
        use_slack(&s->rest[at], s->slack[at]);
    s->r[at] = s->scale[at] * base_dd_value(check_exact_value(&s->rest[at], &in_range));
    s->count++;
    s->tiny = s->tiny || (!in_range && s->r[at] == 0);
    return in_range || s->r[at] == 0 || unknown(s, "a residual leaves the range of doubles");
}

/* Whether an equal row with right-hand side 0 is already in the list. */
static bool is_repeated(const distance *s, const uint64_t *digest)
{
    int64_t at = s->count - 1, d = s->p->d;
    if (s->slack[at] > 0)
        return false;
    for (int64_t k = 0; k < at; k++)
        if (digest[k] == digest[at] &&
            memcmp(s->delta + k * d, s->delta + at * d, (size_t)d * sizeof(dd)) == 0 &&
            (!s->p->matrix || memcmp(s->z + k * d, s->z + at * d, (size_t)d * sizeof(double)) == 0))
            return true;
    return false;
}

static bool read_list(distance *s, const check_list *list, attsvm_status *status, attsvm_error *err)
{
    size_t d = (size_t)s->p->d, count = (size_t)list->count;
    double *base, *x, *spare;
    uint64_t *digest;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        layout(s, &a, count, d);
        base = take(&a, d);
        x = take(&a, d);
        spare = take(&a, 2 * d);
        digest = base_take(&a, count, sizeof *digest);
        if (pass == 0)
            *status = base_arena_allocate(&a, "equalities", err);
        if (*status != ATTSVM_OK)
            return false;
    }
    s->memory = a.base;
    s->rest = check_exact_array(count, status, err);
    s->raw = check_exact_array(count, status, err);
    if (*status != ATTSVM_OK)
        return false;
    for (size_t k = 0; k < count; k++) {
        int64_t at = s->count;
        if (check_stops(s->p, (double)at + 2 * CHECK_EXACT * (double)(s->p->matrix ? d * d : d)) ||
            !read_row(s, list->rows[k], base, x, spare))
            return false;
        if (s->count == at)
            continue;
        digest[at] = base_digest(BASE_DIGEST, s->delta + at * (int64_t)d, d * sizeof(dd));
        if (s->p->matrix)
            digest[at] = base_digest(digest[at], s->z + at * (int64_t)d, d * sizeof(double));
        s->count -= is_repeated(s, digest);
    }
    return true;
}

/* ------------------------------------------------------------- with a rounded inverse */

/* <A_i, A_k> scale_i scale_k in double-double, and a bound for its error in *error. */
static dd product(const distance *s, int64_t i, int64_t k, const dd *keys, double *error)
{
    int64_t d = s->p->d;
    const dd *x = (keys ? keys : s->delta) + i * d, *y = (keys ? keys : s->delta) + k * d;
    check_sum deltas = { 0, 0 }, queries = { 0, 0 };
    double sizes = 0, query_sizes = 0;
    for (int64_t j = 0; j < d; j++) {
        check_sum_add(&deltas, x[j], y[j]);
        sizes += fabs(x[j].hi * y[j].hi);
        if (s->p->matrix) {
            double a = s->z[i * d + j], b = s->z[k * d + j];
            check_sum_add(&queries, base_dd(a), base_dd(b));
            query_sizes += fabs(a * b);
        }
    }
    dd value = check_sum_value(deltas);
    double scale = s->scale[i] * s->scale[k];
    *error = sizes;
    if (s->p->matrix) {
        value = base_dd_mul(value, check_sum_value(queries));
        *error = sizes * query_sizes;
    }
    *error = 4 * check_sum_error(d) * *error * scale + CHECK_SMALL;
    return base_dd_mul(value, base_dd(scale));
}

/* W delta of all rows; false if cancellation makes it inaccurate. */
static bool map_all(const distance *s, dd *keys)
{
    int64_t d = s->p->d;
    for (int64_t i = 0; i < s->count; i++)
        for (int64_t j = 0; j < d; j++) {
            check_sum sum = { 0, 0 };
            double sizes = 0;
            for (int64_t k = 0; k < d; k++) {
                check_sum_add(&sum, base_dd(s->p->key_map[j * d + k]), s->delta[i * d + k]);
                sizes += fabs(s->p->key_map[j * d + k] * s->delta[i * d + k].hi);
            }
            keys[i * d + j] = check_sum_value(sum);
            if (!(sizes * s->scale[i] * check_sum_error(d) < 0x1p-80))
                return false;
        }
    return true;
}

/* R (n x n) <- inverse of S in double, by elimination with pivots on the diagonal. */
static bool invert(const distance *s, const dd *S, double *R)
{
    int64_t n = s->count;
    for (int64_t k = 0; k < n * n; k++)
        R[k] = S[k].hi;
    for (int64_t k = 0; k < n; k++) { /* sweeps of a positive definite matrix */
        double pivot = R[k * n + k];
        if (!(pivot > 1e-14) || check_stops(s->p, (double)(n * n)))
            return false;
        for (int64_t i = 0; i < n; i++) {
            if (i == k)
                continue;
            double factor = R[i * n + k] / pivot;
            for (int64_t j = 0; j < n; j++)
                if (j != k)
                    R[i * n + j] -= factor * R[k * n + j];
        }
        for (int64_t j = 0; j < n; j++) {
            if (j == k)
                continue;
            R[k * n + j] /= pivot;
            R[j * n + k] /= -pivot;
        }
        R[k * n + k] = 1 / pivot;
    }
    return true;
}

/* |I - R S| in the maximum norm, from above; `error` bounds that of every entry of S. */
static double defect(const distance *s, const dd *S, const double *R, double error)
{
    int64_t n = s->count;
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        if (check_stops(s->p, 4.0 * (double)(n * n)))
            return INFINITY;
        double sum = 0, sizes = 0;
        for (int64_t k = 0; k < n; k++) {
            check_sum entry = { i == k ? -1 : 0, 0 };
            for (int64_t j = 0; j < n; j++) /* S is symmetric */
                check_sum_add(&entry, base_dd(R[i * n + j]), S[k * n + j]);
            sum += fabs(base_dd_value(check_sum_value(entry)));
            sizes += fabs(R[i * n + k]);
        }
        /* rows of unit length: entries of S are at most 4 */
        sum += sizes * (double)n * (error + 16 * check_sum_error(n));
        worst = check_max(worst, sum * (1 + 1e-9));
    }
    return worst;
}

/*
 * A bound of |S^-1 (r - S y)|_inf, after y += R (r - S y); t (n) scratch.  The entries of S are at
 * most 4, and known to within `error`.
 */
static double refine(const distance *s, const dd *S, const double *R, double error, double eps,
                     dd *y, double *t)
{
    int64_t n = s->count;
    double largest = 0, worst = 0;
    for (int pass = 0; pass < 2; pass++) { /* the correction, then what is left */
        for (int64_t i = 0; i < n; i++) {
            check_sum rest = { s->r[i], 0 };
            for (int64_t k = 0; k < n; k++)
                check_sum_add(&rest, S[i * n + k], (dd){ -y[k].hi, -y[k].lo });
            t[i] = base_dd_value(check_sum_value(rest));
            largest = check_max(largest, fabs(s->r[i]));
        }
        for (int64_t i = 0; i < n && pass == 0; i++)
            for (int64_t k = 0; k < n; k++)
                y[i] = base_dd_add(y[i], base_dd_product(R[i * n + k], t[k]));
    }
    for (int64_t i = 0; i < n; i++)
        largest = check_max(largest, fabs(y[i].hi));
    double lost = (double)n * largest * (error + 16 * check_sum_error(n));
    for (int64_t i = 0; i < n; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++)
            sum += fabs(R[i * n + k]) * (fabs(t[k]) + lost);
        worst = check_max(worst, sum);
    }
    return worst / (1 - eps) * (1 + 1e-9);
}

/* The bound above, with all roundings: r itself is rounded, |r - exact|_1 <= moved. */
static double form(const distance *s, const dd *y, double off, double largest_of_inverse)
{
    int64_t n = s->count;
    check_sum sum = { 0, 0 };
    double sizes = 0, size = 0, total = 0;
    for (int64_t i = 0; i < n; i++) {
        check_sum_add(&sum, base_dd(s->r[i]), y[i]);
        sizes += fabs(s->r[i] * y[i].hi);
        size = check_max(size, fabs(y[i].hi));
        total += fabs(s->r[i]);
    }
    double moved = 0x1p-52 * total;
    double square = fabs(base_dd_value(check_sum_value(sum))) + check_sum_error(n) * sizes +
                    total * off + 2 * moved * (size + off) + moved * moved * largest_of_inverse;
    return square * (1 + 1e-9) + CHECK_SMALL;
}

/* r'S^-1 r <= *square by the bound above; false where R is not close enough. */
static bool rounded(const distance *s, double *square, attsvm_status *status, attsvm_error *err)
{
    enum { REFINEMENTS = 64 };
    int64_t n = s->count;
    arena a = { 0 };
    dd *S, *keys, *y;
    double *R, *t, error = 0, off = INFINITY, entry = 0;
    if (n > MOST_ROUNDED || s->tiny)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        S = base_take(&a, (size_t)(n * n), sizeof *S);
        R = take(&a, (size_t)(n * n));
        y = base_take(&a, (size_t)n, sizeof *y);
        t = take(&a, (size_t)n);
        keys = base_take(&a, s->p->key_map ? (size_t)(n * s->p->d) : 0, sizeof *keys);
        if (pass == 0)
            *status = base_arena_allocate(&a, "equalities", err);
        if (*status != ATTSVM_OK)
            return false;
    }
    bool good = !s->p->key_map || map_all(s, keys);
    for (int64_t i = 0; i < n && good; i++) {
        good = !check_stops(s->p, 10.0 * (double)((i + 1) * s->p->d));
        for (int64_t k = 0; k <= i; k++) {
            double own;
            S[i * n + k] = S[k * n + i] = product(s, i, k, s->p->key_map ? keys : NULL, &own);
            error = check_max(error, s->p->key_map ? own + (double)s->p->d * 0x1p-76 : own);
        }
    }
    good = good && invert(s, S, R);
    double eps = good ? defect(s, S, R, error) : 1;
    good = good && eps < 0.5;
    for (int64_t k = 0; k < n * n && good; k++)
        entry = check_max(entry, fabs(R[k]));
    for (int k = 0; k < REFINEMENTS && good; k++) { /* each leaves about eps of the error */
        double before = off;
        if (check_stops(s->p, 10.0 * (double)(n * n)))
            break;
        off = refine(s, S, R, error, eps, y, t);
        if (!(off < 0.7 * before))
            break;
    }
    if (good)
        *square = form(s, y, off, (double)n * entry / (1 - eps));
    free(a.base);
    return good && *square < INFINITY;
}

/* Many rows: check_nearby. */
static bool factored(const distance *s, double *delta, attsvm_status *status, attsvm_error *err)
{
    dd *keys = NULL;
    check_equalities rows = { s->count, s->p->d, s->delta,  s->p->matrix ? s->z : NULL,
                              s->scale, s->r,    s->p->stop };
    if (s->count <= MANY || s->count > MOST_FACTORED || s->tiny)
        return false;
    if (s->p->key_map) {
        size_t count = (size_t)(s->count * s->p->d);
        *status = base_allocate(&keys, count, sizeof *keys, "equalities", err);
        if (*status != ATTSVM_OK)
            return false;
        rows.delta = keys;
    }
    bool good = (!keys || map_all(s, keys)) && check_nearby(&rows, delta, status, err);
    free(keys);
    return good;
}

/* ---------------------------------------------------------------------------- exactly */

/* S y = rest for the chosen rows, exactly: *square = rest'y, rounded up. */
static bool solved(const distance *s, const check_table *table, int64_t rank, double *square,
                   attsvm_status *status, attsvm_error *err)
{
    const int64_t N = table->columns;
    check_exact sum, number;
    check_system system;
    *status = check_system_open(&system, s->p, rank, 1, err);
    check_exact *gram = check_exact_array((size_t)(rank * rank), status, err);
    check_exact_open(&sum);
    check_exact_open(&number);
    bool good = *status == ATTSVM_OK;
    for (int64_t a = 0, i = 0; a < table->rows && good; a++) {
        for (int64_t b = 0, k = 0; b < table->rows && table->chosen[a]; b++) {
            if (!table->chosen[b])
                continue;
            good = good && !check_stops(s->p, CHECK_EXACT * (double)N);
            check_exact *entry = system.M[i * rank + k] = &gram[i * rank + k];
            for (int64_t j = 0; j < N && good; j++)
                check_exact_add_product(entry, &table->entries[a * N + j],
                                        &table->entries[b * N + j]);
            k++;
        }
        if (table->chosen[a])
            system.r[i++] = &s->rest[a];
    }
    good = good && check_system_solve(&system, status, err);
    for (int64_t i = 0; i < rank && good; i++) {
        mpz_set(number.m, system.y[i]);
        number.e = 0;
        check_exact_add_product(&sum, system.r[i], &number);
    }
    mpz_set(number.m, system.det);
    number.e = 0;
    *square = good ? check_exact_ratio_up(&sum, &number) : INFINITY;
    check_exact_close(&sum);
    check_exact_close(&number);
    check_system_close(&system);
    check_exact_array_free(gram, (size_t)(rank * rank));
    return good;
}

/* Keeps the independent rows of s, in place. */
static void keep_chosen(distance *s, const check_table *table)
{
    int64_t count = 0, d = s->p->d;
    for (int64_t k = 0; k < s->count; k++) {
        if (!table->chosen[k])
            continue;
        s->rows[count] = s->rows[k];
        s->slack[count] = s->slack[k];
        s->scale[count] = s->scale[k];
        s->r[count] = s->r[k];
        memmove(s->delta + count * d, s->delta + k * d, (size_t)d * sizeof(dd));
        memmove(s->z + count * d, s->z + k * d, (size_t)d * sizeof(double));
        count++;
    }
    s->count = count;
}

static bool exactly(distance *s, double *square, attsvm_status *status, attsvm_error *err)
{
    check_table table;
    *status = check_table_open(&table, s->p, s->count, err);
    bool good = *status == ATTSVM_OK &&
                (table.fits || unknown(s, "too many equalities for exact elimination"));
    for (int64_t k = 0; k < s->count && good; k++)
        check_table_read(&table, s->p, k, s->rows[k]);
    int64_t rank = good ? check_table_rank(&table, s->p, status, err) : 0;
    good = good && *status == ATTSVM_OK && !check_stops(s->p, 0);
    bool dependent = rank < s->count;
    if (good && dependent)
        good = rank <= CHECK_MOST_ROWS
                   ? check_dependent(s->p, &table, rank, s->rest, s->raw, s->slack, status, err) ||
                         unknown(s, "equalities are almost, but not exactly, dependent")
                   : unknown(s, "too many dependent equalities for exact elimination");
    if (good && dependent) { /* the rounded inverse may suffice for the others */
        distance part = *s;
        keep_chosen(&part, &table);
        good = rounded(&part, square, status, err);
        if (!good && *status == ATTSVM_OK)
            good = solved(s, &table, rank, square, status, err);
    } else if (good) {
        good = rank <= CHECK_MOST_ROWS
                   ? solved(s, &table, rank, square, status, err)
                   : unknown(s, "too many nearly dependent equalities for exact elimination");
    }
    check_table_close(&table);
    return good;
}

bool check_distance(const check_problem *p, const check_list *list, double *delta, char *why,
                    attsvm_status *status, attsvm_error *err)
{
    distance s = { .p = p, .why = why };
    double square = 0;
    snprintf(why, 128, "equalities are nearly dependent");
    bool good = read_list(&s, list, status, err), met = good;
    for (int64_t k = 0; k < s.count && met; k++)
        met = check_exact_sign(&s.rest[k]) == 0;
    *delta = 0;
    if (good && !met && !factored(&s, delta, status, err)) {
        good = *status == ATTSVM_OK && rounded(&s, &square, status, err);
        if (!good && *status == ATTSVM_OK)
            good = exactly(&s, &square, status, err);
        *delta = sqrt(square) * (1 + 1e-9);
    }
    check_exact_array_free(s.rest, s.rest ? (size_t)list->count : 0);
    check_exact_array_free(s.raw, s.raw ? (size_t)list->count : 0);
    free(s.memory);
    return good && *delta < INFINITY;
}
