/*
 * Equalities and rows with b = 0, too many for a factor in double-double (equalities.c).
 *
 * E has them at unit length.  If G - s I, G = E E' in double, has a Cholesky factor, no eigenvalue
 * of E E' is below s less the rounding errors.  With r = e - E theta and a step M near
 * E'(E E')^-1 r, a point that satisfies the rows exactly is then within |M| + |r - E M| / sqrt(s)
 * of theta.  The shift is large enough for the checker, which does the same with bounds of its own.
 */
#include "svm/svm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4000, BAND = 128, MOST_STEPS = 20 };
static const double SHIFT = 4;    /* of what rounding may cost the checker       */
static const double SLACK = 1.01; /* of its bound: it rounds against the claim */

typedef struct many {
    svm_run *run;
    svm_set *set;
    const double *zero; /* (size)                                  */
    double *step;       /* (size) M                                */
    int64_t count;
    int32_t *slots;
    double *r, *rest, *margins; /* (count) of the rows at unit length   */
    double *a, *z;              /* (count,d) factors of unit length; z NULL: vectors */
    double *G, *band;           /* (count,count), (BAND,count)             */
    double *move;               /* (size)                                  */
    void *memory;
} many;

static attsvm_status open_many(many *s, int64_t count, attsvm_error *err)
{
    size_t n = (size_t)count, d = (size_t)s->set->d;
    arena a = { 0 };
    for (int pass = 0; pass < 2; pass++) {
        s->slots = base_take(&a, n, sizeof *s->slots);
        s->r = take(&a, n);
        s->rest = take(&a, n);
        s->margins = take(&a, n);
        s->a = take(&a, n * d);
        s->z = s->set->matrix ? take(&a, n * d) : NULL;
        s->move = take(&a, (size_t)s->set->size);
        s->band = take(&a, BAND * n);
        s->G = take(&a, n * n);
        if (pass == 0)
            TRY(base_arena_allocate(&a, "equalities", err));
    }
    s->memory = a.base;
    return ATTSVM_OK;
}

/* Whether two rows of the set are the same, to the last digit. */
static bool is_same(const svm_set *set, int32_t s, int32_t t)
{
    size_t bytes = (size_t)set->d * sizeof(double);
    return set->square[s] == set->square[t] && set->b[s] == set->b[t] &&
           memcmp(set->hi + s * set->d, set->hi + t * set->d, bytes) == 0 &&
           memcmp(svm_set_low(set, s), svm_set_low(set, t), bytes) == 0 &&
           (!set->matrix ||
            memcmp(set->z + set->query[s] * set->d, set->z + set->query[t] * set->d, bytes) == 0);
}

/* Takes the rows, equal ones once. */
static void read_rows(many *s, const int32_t *slots, const double *r, int64_t count, bool repeated)
{
    const svm_set *set = s->set;
    const int64_t d = set->d;
    for (int64_t k = 0; k < count; k++) {
        bool seen = false;
        for (int64_t j = 0; j < s->count && !repeated && !seen; j++)
            seen = is_same(set, slots[k], s->slots[j]);
        if (seen)
            continue;
        const double *hi = set->hi + slots[k] * d;
        double length = la_norm(hi, d);
        for (int64_t j = 0; j < d; j++)
            s->a[s->count * d + j] = hi[j] / length;
        for (int64_t j = 0, q = set->query[slots[k]]; j < d && s->z; j++)
            s->z[s->count * d + j] = set->z[q * d + j] / set->z_norm[q];
        s->slots[s->count] = slots[k];
        s->r[s->count++] = r[k];
    }
}

/*
 * The rows lo..hi-1 of the Cholesky factor of G, after those above; false where there is none.
 *
 *   L_b = (G_b - sum_{c < b} L_c L_c') L_bb^-T     one band of columns after another
 */
static bool factor_band(many *s, int64_t lo, int64_t hi)
{
    const int64_t n = s->count;
    double *G = s->G + lo * n;
    for (int64_t at = 0; at < hi; at += BAND) {
        const int64_t end = at + BAND < hi ? at + BAND : hi;
        if (svm_stop_proof(s->run, (double)((hi - lo) * (end - at)) * (double)(at + BAND)))
            return false;
        la_gemm(false, true, hi - lo, end - at, at, -1, G, n, s->G + at * n, n, 1, G + at, n);
        if (at == lo)
            return la_cholesky(hi - lo, G + at, n) == 0;
        for (int64_t i = 0; i < hi - lo; i++)
            la_trsv(false, end - at, s->G + at * n + at, n, G + i * n + at);
    }
    return true;
}

/* The factor of G - s I; returns what is left of s, 0: there is no factor, or a stop. */
static double factor(many *s)
{
    const int64_t n = s->count, d = s->set->d;
    const double rows = (double)n;
    const double lost = 0x1p-53 * 32 * (rows * ((double)d + 16) + rows * (rows + 8) + 1);
    for (int64_t lo = 0; lo < n; lo += BAND) {
        const int64_t hi = lo + BAND < n ? lo + BAND : n;
        double *G = s->G + lo * n;
        if (svm_stop_proof(s->run, 2.0 * (double)((hi - lo) * hi) * (double)d))
            return 0;
        la_gemm(false, true, hi - lo, hi, d, 1, s->a + lo * d, d, s->a, d, 0, G, n);
        if (!s->z)
            continue;
        la_gemm(false, true, hi - lo, hi, d, 1, s->z + lo * d, d, s->z, d, 0, s->band, n);
        for (int64_t i = 0; i < hi - lo; i++)
            for (int64_t j = 0; j < hi; j++)
                G[i * n + j] *= s->band[i * n + j];
    }
    for (int64_t i = 0; i < n; i++)
        s->G[i * n + i] -= SHIFT * lost;
    for (int64_t lo = 0; lo < n; lo += BAND)
        if (!factor_band(s, lo, lo + BAND < n ? lo + BAND : n))
            return 0;
    return (SHIFT - 1) * lost;
}

/* Refines the step; returns the distance. */
static double nearest(many *s, double least)
{
    svm_set *set = s->set;
    double best = INFINITY, before = INFINITY;
    const double work = (double)s->count * (double)(s->count + 20 * set->size);
    for (int round = 0; round < MOST_STEPS && !svm_stop_proof(s->run, work); round++) {
        svm_set_margins_exact(set, s->slots, s->count, s->step, s->zero, s->margins);
        for (int64_t k = 0; k < s->count; k++)
            s->rest[k] = s->r[k] - s->margins[k] / set->length[s->slots[k]];
        double left = la_norm(s->rest, s->count);
        best = fmin(best, la_norm(s->step, set->size) + left / sqrt(least));
        if (!(left < before / 2))
            break;
        before = left;
        la_trsv(false, s->count, s->G, s->count, s->rest);
        la_trsv(true, s->count, s->G, s->count, s->rest);
        for (int64_t k = 0; k < s->count; k++)
            s->rest[k] /= set->length[s->slots[k]];
        svm_set_combine(set, s->slots, s->rest, s->count, s->move);
        la_axpy(1, s->move, s->step, set->size);
    }
    return SLACK * best;
}

attsvm_status svm_equalities_many(svm_run *run, const int32_t *slots, const double *r,
                                  int64_t count, double noise, double *step, double *distance,
                                  attsvm_error *err)
{
    many s = { .run = run, .set = &run->set, .zero = run->zero, .step = step };
    /* a row with a tolerance of its own is not implied by an equal one */
    bool repeated = run->rows->problem == ATTSVM_PROBLEM_FINITE;
    *distance = INFINITY;
    memset(step, 0, (size_t)run->set.size * sizeof *step);
    if (count > MOST)
        return ATTSVM_OK;
    TRY(open_many(&s, count, err));
    read_rows(&s, slots, r, count, repeated);
    double least = factor(&s);
    if (least > 0)
        *distance = nearest(&s, least) + noise * sqrt((double)s.count / least);
    free(s.memory);
    return ATTSVM_OK;
}
