/*
 * Rows whose right-hand side does not scale with theta: equalities, and rows with b = 0 (theory
 * 4.1).  How far from theta is a point that satisfies them exactly?  With E these rows at unit
 * length and r = e - E theta, it is |E'(E E')^-1 r|: r'y with E E' y = r.  Rows that are nearly
 * dependent make that much larger than |r|, so the system is solved in double-double.
 *
 * E has all equalities, and the rows with b = 0 that theta violates or that such a point might
 * violate.  More than MOST rows are left to equalities_many.c.
 */
#include "base/rational.h"
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>

enum { FINE_BITS = 320 };              /* of a residual that double-double does not resolve */
enum { FINE = 10 };                    /* ... takes as long as that many in double-double */
enum { MOST = 200 };                   /* rows that are factored in double-double      */
static const double DEPENDENT = 1e-28; /* squared distance to the span of other rows */
static const double NOISE = 0x1p-104;  /* of |A||theta|: an error of <A, theta>      */
static const double AGREES = 1e-10;    /* of the largest residual: a dependent row is met as well */

typedef struct gram {
    svm_run *run;
    int64_t count;
    int32_t *slots;
    dd *L;              /* count x count: the Gram matrix, then its factor; up to MOST rows */
    dd *y;              /* count: L^-1 r, then (E E')^-1 r                  */
    double *r;          /* count: residuals over |A|                        */
    double *step;       /* (size) to a point that satisfies more than MOST rows */
    uint64_t *residues; /* count x count, and 2 d                       */
    void *memory;
} gram;

double svm_equalities_room(const svm_run *run, int64_t slot)
{
    bool finite = run->rows->problem == ATTSVM_PROBLEM_FINITE;
    return finite ? 0x1p-51 * fmax(run->set.sigma[slot], fabs(run->set.b[slot])) : 0;
}

/* sum += (hi + lo) times the factor; `term` is scratch. */
static void add_product(mpf_t sum, double hi, double lo, const mpf_t factor, mpf_t term)
{
    for (int k = 0; k < 2; k++) {
        mpf_set_d(term, k == 0 ? hi : lo);
        mpf_mul(term, term, factor);
        mpf_add(sum, sum, term);
    }
}

/* b - sigma <A, theta>, which double-double does not resolve if |A||theta| is above 1e20. */
static double fine_residual(const svm_run *run, int32_t slot, const double *theta)
{
    const svm_set *set = &run->set;
    const double *hi = set->hi + slot * set->d, *lo = svm_set_low(set, slot);
    mpf_t sum, along, factor, term;
    mpf_init2(sum, FINE_BITS);
    mpf_init2(along, FINE_BITS);
    mpf_init2(factor, FINE_BITS);
    mpf_init2(term, FINE_BITS);
    for (int64_t j = 0; j < set->d; j++) {
        mpf_set_ui(along, 0);
        for (int64_t k = 0; k < (set->matrix ? set->d : 1); k++) {
            int64_t at = set->matrix ? j * set->d + k : j;
            mpf_set_d(factor, set->matrix ? set->z[set->query[slot] * set->d + k] : 1);
            add_product(along, theta[at], run->low[at], factor, term);
        }
        add_product(sum, hi[j], lo[j], along, term);
    }
    mpf_set_d(term, set->b[slot]);
    mpf_sub(sum, term, sum);
    double residual = mpf_get_d(sum);
    mpf_clear(sum);
    mpf_clear(along);
    mpf_clear(factor);
    mpf_clear(term);
    return residual;
}

/* Residual of a row in units of the set, less half the tolerance of its right-hand side: a theta
   without residuals then satisfies rows that depend on others, too, rounding or not. */
static double residual_of(svm_run *run, int32_t slot, const double *theta, bool fine)
{
    svm_set *set = &run->set;
    double residual, room = svm_equalities_room(run, slot) / 2;
    if (fine)
        residual = fine_residual(run, slot, theta);
    else
        svm_set_residual_exact(set, &slot, 1, theta, run->low, &residual);
    if (!set->equality[slot])
        return residual;
    return residual > 0 ? fmax(residual - room, 0) : fmin(residual + room, 0);
}

/* Moves the row and column of the largest diagonal entry to the front. */
static void exchange(gram *s, int64_t k)
{
    int64_t n = s->count, at = k;
    for (int64_t i = k + 1; i < n; i++)
        if (s->L[i * n + i].hi > s->L[at * n + at].hi)
            at = i;
    if (at == k)
        return;
    for (int64_t j = 0; j < n; j++) {
        dd spare = s->L[k * n + j];
        s->L[k * n + j] = s->L[at * n + j];
        s->L[at * n + j] = spare;
    }
    for (int64_t i = 0; i < n; i++) {
        dd spare = s->L[i * n + k];
        s->L[i * n + k] = s->L[i * n + at];
        s->L[i * n + at] = spare;
    }
    dd spare = s->y[k];
    int32_t slot = s->slots[k];
    s->y[k] = s->y[at];
    s->y[at] = spare;
    s->slots[k] = s->slots[at];
    s->slots[at] = slot;
}

/*
 * The number of independent rows: the rank of their products with random matrices u v', modulo a
 * prime.  With a key map the stored rows are rounded, and `rank` is all that is known.
 */
static int64_t independent(const gram *s, int64_t rank)
{
    const svm_set *set = &s->run->set;
    int64_t n = s->count, d = set->d;
    uint64_t *M = s->residues, *u = M + n * n, *v = u + d;
    base_random r = base_random_stream(1, 0);
    if (s->run->rows->keymap)
        return rank;
    for (int64_t k = 0; k < n; k++) {
        for (int64_t j = 0; j < 2 * d; j++)
            u[j] = base_random_bits(&r) >> 3;
        for (int64_t i = 0; i < n; i++) {
            int32_t slot = s->slots[i];
            uint64_t along = base_rational_dot(u, set->hi + slot * d, d);
            along += base_rational_dot(u, svm_set_low(set, slot), d);
            uint64_t other =
                set->matrix ? base_rational_dot(v, set->z + set->query[slot] * d, d) : 1;
            M[i * n + k] = base_rational_times(along, other);
        }
    }
    return base_rational_rank(M, n, n);
}

/*
 * sqrt(r'(E E')^-1 r) = |L^-1 r| over an independent part of the rows, which a pivoted factor
 * finds, and what errors of r of size `noise` may add; INFINITY where the others are not satisfied
 * with them.
 */
static double distance_of(gram *s, double noise)
{
    int64_t n = s->count;
    const double *length = s->run->set.length;
    dd sum = base_dd(0);
    double largest = 0, least = 1;
    int64_t rank = 0;
    for (int64_t i = 0; i < n; i++) {
        if (svm_stop_proof(s->run, 20.0 * (double)(n * s->run->set.d)))
            return INFINITY;
        for (int64_t j = 0; j < n; j++) {
            dd product = svm_set_gram_exact(&s->run->set, s->slots[i], s->slots[j]);
            /* exact: rounded, it would change nearly dependent rows to independent ones */
            dd lengths = base_dd_product(length[s->slots[i]], length[s->slots[j]]);
            s->L[i * n + j] = base_dd_div(product, lengths);
        }
        s->y[i] = base_dd(s->r[i]);
        largest = fmax(largest, fabs(s->r[i]));
    }
    for (int64_t k = 0; k < n; k++) {
        exchange(s, k);
        dd pivot = s->L[k * n + k];
        if (!(pivot.hi > DEPENDENT)) {
            if (fabs(s->y[k].hi) > AGREES * largest)
                return INFINITY;
            continue;
        }
        if (svm_stop_proof(s->run, 20.0 * (double)((n - k) * (n - k))))
            return INFINITY;
        rank++;
        sum = base_dd_add(sum, base_dd_div(base_dd_mul(s->y[k], s->y[k]), pivot));
        least = fmin(least, pivot.hi);
        for (int64_t i = k + 1; i < n; i++) {
            dd factor = base_dd_div(s->L[i * n + k], pivot);
            for (int64_t j = k + 1; j < n; j++)
                s->L[i * n + j] =
                    base_dd_sub(s->L[i * n + j], base_dd_mul(factor, s->L[k * n + j]));
            s->y[i] = base_dd_sub(s->y[i], base_dd_mul(factor, s->y[k]));
        }
    }
    if (largest > 0 && rank < n && independent(s, rank) > rank)
        return INFINITY;
    return sqrt(base_dd_value(sum)) + noise * sqrt((double)n / least);
}

static bool is_fixed(const svm_set *set, int64_t slot)
{
    return set->equality[slot] || (set->b[slot] == 0 && set->soft == 0);
}

/* Memory for all rows that may be in E; count = 0: there are none. */
static attsvm_status open_gram(gram *s, svm_run *run, attsvm_error *err)
{
    const svm_set *set = &run->set;
    size_t most = 0;
    *s = (gram){ .run = run };
    for (int64_t k = 0; k < set->count; k++)
        most += is_fixed(set, k) && set->length[k] > 0;
    size_t order = most > MOST ? MOST : most;
    arena a = { 0 };
    for (int pass = 0; pass < 2 && most > 0; pass++) {
        s->slots = base_take(&a, most, sizeof *s->slots);
        s->r = take(&a, most);
        s->y = base_take(&a, order, sizeof *s->y);
        s->L = base_take(&a, order * order, sizeof *s->L);
        s->step = take(&a, most > MOST ? (size_t)set->size : 0);
        s->residues = base_take(&a, order * order + 2 * (size_t)set->d, sizeof *s->residues);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "equalities", err));
    }
    s->memory = a.base;
    return ATTSVM_OK;
}

/* Multiplications of a residual. */
static double residual_work(const svm_set *set)
{
    return 20.0 * (double)(set->matrix ? set->size : set->d);
}

/*
 * E and r at theta; returns |r|, NAN after a stop.  Rows with b = 0 that hold by less than off |A|
 * are in doubt.
 */
static double choose_rows(gram *s, const double *theta, bool fine, double off, double *violation)
{
    const svm_set *set = &s->run->set;
    double square = 0;
    s->count = 0;
    *violation = 0;
    for (int32_t k = 0; k < set->count; k++) {
        if (!is_fixed(set, k) || !(set->length[k] > 0))
            continue;
        if (svm_stop_proof(s->run, (fine ? FINE : 1) * residual_work(set)))
            return NAN;
        double residual = residual_of(s->run, k, theta, fine), r = residual / set->length[k];
        *violation =
            fmax(*violation, (set->equality[k] ? fabs(residual) : residual) / set->sigma[k]);
        if (!set->equality[k] && (off > 0 ? r <= -off : r <= 0))
            continue;
        s->slots[s->count] = k;
        s->r[s->count++] = r;
        square += r * r;
    }
    return sqrt(square);
}

/* Whether all rows of E are satisfied to the last digit. */
static bool is_met(gram *s, const double *theta)
{
    bool met = true;
    for (int64_t k = 0; k < s->count && met; k++)
        met = !svm_stop_proof(s->run, FINE * residual_work(&s->run->set)) &&
              fine_residual(s->run, s->slots[k], theta) == 0;
    return met;
}

static attsvm_status measure(gram *s, const double *theta, double noise, double *distance,
                             attsvm_error *err)
{
    *distance = 0;
    if (s->count > MOST) {
        TRY(svm_equalities_many(s->run, s->slots, s->r, s->count, noise, s->step, distance, err));
        if (!isfinite(*distance) && is_met(s, theta))
            *distance = 0;
    } else if (s->count > 0) {
        *distance = distance_of(s, noise);
    }
    return ATTSVM_OK;
}

attsvm_status svm_equalities_distance(svm_run *run, const double *theta, bool fine,
                                      double *violation, double *distance, attsvm_error *err)
{
    enum { ROUNDS = 20 };
    gram s;
    /* what double-double leaves of a residual, or of a row with a key map */
    double noise = NOISE * sqrt((double)run->set.d) * la_norm(theta, run->set.size);
    if (fine && !run->rows->keymap)
        noise = 0;
    int64_t before = -1;
    *violation = *distance = 0;
    TRY(open_gram(&s, run, err));
    attsvm_status status = ATTSVM_OK;
    for (int round = 0; s.memory && s.count != before && isfinite(*distance) && status == ATTSVM_OK;
         round++) {
        before = s.count;
        double size = choose_rows(&s, theta, fine, *distance, violation), found;
        status = measure(&s, theta, noise, &found, err);
        *distance = fmax(*distance, found);
        if (round == ROUNDS || isnan(size))
            *distance = INFINITY;
    }
    free(s.memory);
    return status;
}

/* y <- (E E')^-1 r over the independent rows, from L^-1 r. */
static void substitute(gram *s)
{
    int64_t n = s->count;
    for (int64_t k = n - 1; k >= 0; k--) {
        dd pivot = s->L[k * n + k];
        for (int64_t j = k + 1; j < n; j++)
            s->y[k] = base_dd_sub(s->y[k], base_dd_mul(s->L[k * n + j], s->y[j]));
        s->y[k] = pivot.hi > DEPENDENT ? base_dd_div(s->y[k], pivot) : base_dd(0);
    }
}

/* theta + run->low moves by the step to that point, whose distance was measured. */
static void take_step(gram *s, double *theta)
{
    svm_run *run = s->run;
    svm_set *set = &run->set;
    if (s->count > MOST) {
        for (int64_t k = 0; k < set->size; k++)
            run->low[k] += s->step[k];
        return;
    }
    substitute(s);
    for (int64_t k = 0; k < s->count; k++) {
        dd y = base_dd_div(s->y[k], base_dd(set->length[s->slots[k]]));
        svm_set_combine_exact(set, &s->slots[k], &y.hi, &y.lo, 1, theta, run->low);
    }
}

attsvm_status svm_equalities_project(svm_run *run, double *theta, attsvm_error *err)
{
    enum { STEPS = 8 }; /* nearly dependent rows leave a step few digits */
    svm_set *set = &run->set;
    gram s;
    double violation;
    attsvm_status status = ATTSVM_OK;
    TRY(open_gram(&s, run, err));
    for (int step = 0; step < STEPS && s.memory && status == ATTSVM_OK; step++) {
        double distance = 0;
        if (!(choose_rows(&s, theta, true, 0, &violation) > 0))
            break;
        status = measure(&s, theta, 0, &distance, err);
        if (status != ATTSVM_OK || !isfinite(distance))
            break;
        take_step(&s, theta);
        for (int64_t k = 0; k < set->size; k++) {
            dd sum = base_dd_sum(theta[k], run->low[k]);
            theta[k] = sum.hi;
            run->low[k] = sum.lo;
        }
    }
    free(s.memory);
    return status;
}
