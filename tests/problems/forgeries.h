/* Claims whose every part can be changed, and the changes, for the forger and the fuzzer. */
#ifndef ATTSVM_FORGERIES_H
#define ATTSVM_FORGERIES_H

#include "solved.h"

enum { MOST = 64, KINDS = 12, D = 3, T = 3 };

/* A data set, and a claim about it in its own memory. */
typedef struct forged {
    double X[4 * T * D], Z[4 * T * D], W[D * D], v[D];
    int8_t Y[4];
    int64_t n, queries;
    bool has_Z, has_W;
    int64_t alpha[MOST];
    uint8_t sets[MOST];
    double softmax[MOST], theta[D * D], theta_lo[D * D], lambda[MOST], lambda_lo[MOST], mu[MOST],
        mu_lo[MOST];
    attsvm_row active[MOST], equal[MOST];
    attsvm_claim claim;
    double head_theta[D], head_theta_lo[D], head_lambda[MOST], head_lambda_lo[MOST];
    attsvm_row head_active[MOST];
    attsvm_claim head;
    bool has_head;
} forged;

static inline attsvm_data *data_of(forged *f)
{
    return open_set((token_set){ .n = f->n,
                                 .T = T,
                                 .d = D,
                                 .M = f->queries,
                                 .X = f->X,
                                 .Y = f->Y,
                                 .Z = f->has_Z ? f->Z : NULL,
                                 .W = f->has_W ? f->W : NULL,
                                 .v = f->v });
}

static inline void copy(void *to, const void *from, int64_t count, size_t size)
{
    if (from && count > 0)
        memcpy(to, from, (size_t)count * size);
    else
        memset(to, 0, (size_t)(count > 0 ? count : 0) * size);
}

/* Points the claim at its own memory. */
static inline void bind(forged *f)
{
    attsvm_claim *c = &f->claim, *h = &f->head;
    bool sets =
        c->settings.problem == ATTSVM_PROBLEM_MULTI || c->settings.problem == ATTSVM_PROBLEM_FINITE;
    bool tokens =
        (sets || c->settings.problem == ATTSVM_PROBLEM_W) &&
        (c->settings.query == ATTSVM_QUERY_ALL || c->settings.query == ATTSVM_QUERY_CAUSAL);
    int64_t terms = tokens ? f->n * T : f->n;
    c->selection =
        sets ? (attsvm_selection){ .sets = f->sets, .softmax = f->softmax, .cells = terms * T }
             : (attsvm_selection){ .alpha = f->alpha, .terms = terms };
    c->theta = f->theta;
    c->theta_lo = f->theta_lo;
    c->theta_lo2 = NULL;
    c->active = f->active;
    c->lambda = f->lambda;
    c->lambda_lo = f->lambda_lo;
    c->equal = f->equal;
    c->mu = f->mu;
    c->mu_lo = f->mu_lo;
    c->head = f->has_head ? h : NULL;
    h->selection = (attsvm_selection){ .alpha = f->alpha, .terms = f->n };
    h->theta = f->head_theta;
    h->theta_lo = f->head_theta_lo;
    h->theta_lo2 = NULL;
    h->active = f->head_active;
    h->lambda = f->head_lambda;
    h->lambda_lo = f->head_lambda_lo;
}

static inline void take_claim(forged *f, const attsvm_claim *c)
{
    f->claim = *c;
    copy(f->theta, c->theta, c->theta_count, sizeof(double));
    copy(f->theta_lo, c->theta_lo, c->theta_count, sizeof(double));
    copy(f->active, c->active, c->active_count, sizeof(attsvm_row));
    copy(f->lambda, c->lambda, c->active_count, sizeof(double));
    copy(f->lambda_lo, c->lambda_lo, c->active_count, sizeof(double));
    copy(f->equal, c->equal, c->equal_count, sizeof(attsvm_row));
    copy(f->mu, c->mu, c->equal_count, sizeof(double));
    copy(f->mu_lo, c->mu_lo, c->equal_count, sizeof(double));
    f->has_head = c->head != NULL;
    if (c->head) {
        f->head = *c->head;
        copy(f->head_theta, c->head->theta, D, sizeof(double));
        copy(f->head_theta_lo, c->head->theta_lo, D, sizeof(double));
        copy(f->head_active, c->head->active, c->head->active_count, sizeof(attsvm_row));
        copy(f->head_lambda, c->head->lambda, c->head->active_count, sizeof(double));
        copy(f->head_lambda_lo, c->head->lambda_lo, c->head->active_count, sizeof(double));
    }
    bind(f);
}

/* --------------------------------------------------------------------------- forgeries */

static inline double any_scale(base_random *r)
{
    static const double scales[] = {
        1e17, 1e31, 1e-17, 10, 0.1,     1 + 1e-6,  1 - 1e-6, 1 + 1e-9,
        0,    -1,   2,     3,  1e9,     1e13,      1e20,     1e300,
        1e-3, 0.5,  1e-9,  7,  0x1p-60, 1 - 1e-10, 1e100,    1 + 1e-11
    };
    return scales[base_random_below(r, sizeof scales / sizeof *scales)];
}

static inline double strange(base_random *r)
{
    static const double values[] = {
        NAN, INFINITY, -INFINITY, 5e-324, 1e308, -1e308, 1e-310, -0.0
    };
    return values[base_random_below(r, sizeof values / sizeof *values)];
}

static inline void times(double *x, int64_t count, double factor)
{
    for (int64_t k = 0; k < count; k++)
        x[k] *= factor;
}

static inline double *pick(double *x, int64_t count, base_random *r)
{
    return x + (count > 0 ? base_random_below(r, count) : 0);
}

static inline void forge_scale(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double factor = any_scale(r), other = any_scale(r);
    times(f->theta, c->theta_count, factor);
    times(f->theta_lo, c->theta_count, factor);
    if (base_random_below(r, 2)) {
        times(f->lambda, c->active_count, other);
        times(f->lambda_lo, c->active_count, other);
    }
    if (base_random_below(r, 3) == 0)
        c->active_count = c->equal_count = 0;
}

static inline void forge_drop(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    switch (base_random_below(r, 5)) {
    case 0: c->active_count = base_random_below(r, c->active_count + 1); break;
    case 1: c->equal_count = base_random_below(r, c->equal_count + 1); break;
    case 2: *pick(f->lambda, c->active_count, r) = 0; break;
    case 3: *pick(f->theta, c->theta_count, r) = 0; break;
    default: memset(f->theta, 0, sizeof f->theta); memset(f->theta_lo, 0, sizeof f->theta_lo);
    }
}

/* Large multipliers that cancel. */
static inline void forge_cancel(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double M = base_random_below(r, 2) ? 1e20 : any_scale(r);
    c->outcome = base_random_below(r, 2) ? ATTSVM_INFEASIBLE : c->outcome;
    if (c->equal_count >= 2 && base_random_below(r, 2)) {
        f->mu[0] += M;
        f->mu[c->equal_count - 1] -= M;
        return;
    }
    for (int64_t k = 0; k < c->active_count; k++)
        f->lambda[k] = base_random_below(r, 2) ? M : f->lambda[k];
    if (base_random_below(r, 2) && c->active_count < MOST - 1)
        f->active[c->active_count] =
            (attsvm_row){ base_random_below(r, f->n), 0, base_random_below(r, T) },
        f->lambda[c->active_count++] = M;
}

static inline void forge_borrow(forged *f, const forged *other, base_random *r)
{
    attsvm_claim *c = &f->claim;
    if (other->claim.theta_count == c->theta_count && base_random_below(r, 2)) {
        memcpy(f->theta, other->theta, sizeof f->theta);
        memcpy(f->theta_lo, other->theta_lo, sizeof f->theta_lo);
    }
    if (base_random_below(r, 2)) {
        c->active_count = other->claim.active_count;
        memcpy(f->active, other->active, sizeof f->active);
        memcpy(f->lambda, other->lambda, sizeof f->lambda);
        memcpy(f->lambda_lo, other->lambda_lo, sizeof f->lambda_lo);
    }
    if (base_random_below(r, 2))
        memcpy(f->X, other->X, sizeof f->X);
    c->outcome = base_random_below(r, 2) ? other->claim.outcome : c->outcome;
}

static inline void forge_settings(forged *f, base_random *r)
{
    attsvm_svm_settings *s = &f->claim.settings;
    static const double Cs[] = { 0, 1e-3, 0.3, 10, 1e9 };
    switch (base_random_below(r, 8)) {
    case 0:
        s->tol = 1;
        times(f->theta, f->claim.theta_count, any_scale(r));
        break;
    case 1: s->norm = 1 + (int32_t)base_random_below(r, 7); break;
    case 2: s->q = 1 + base_random_uniform(r) * 4; break;
    case 3: s->soft = Cs[base_random_below(r, 5)]; break;
    case 4: s->rank = base_random_below(r, 3); break;
    case 5: s->duplicates = 1 + (int32_t)base_random_below(r, 2); break;
    case 6: s->query = 1 + (int32_t)base_random_below(r, 5); break;
    default: s->problem = 1 + (int32_t)base_random_below(r, 6); break;
    }
    bind(f);
}

static inline void forge_strange(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double *where[] = {
        pick(f->theta, c->theta_count, r),      pick(f->lambda, c->active_count, r),
        pick(f->mu, c->equal_count, r),         pick(f->theta_lo, c->theta_count, r),
        pick(f->lambda_lo, c->active_count, r), pick(f->head_theta, D, r),
        pick(f->softmax, f->n * T, r)
    };
    *where[base_random_below(r, 7)] = strange(r);
}

/* Moves one token far away or slightly nearer, so that the claim is about other data. */
static inline void forge_token(forged *f, base_random *r)
{
    double *x = pick(f->X, f->n * T * D, r);
    switch (base_random_below(r, 4)) {
    case 0: *x *= 1e9; break;
    case 1: *x += 1e-9 * base_random_gauss(r); break;
    case 2: *x = ldexp(base_random_gauss(r), (int)base_random_below(r, 200) - 100); break;
    default: *x = nextafter(*x, base_random_gauss(r)); break;
    }
    if (base_random_below(r, 3) == 0)
        *pick(f->Z, f->n * D, r) *= 1e7;
}

static inline void forge_outcome(forged *f, base_random *r)
{
    f->claim.outcome = (attsvm_outcome)base_random_below(r, 5);
    if (f->has_head && base_random_below(r, 2))
        f->head.outcome = (attsvm_outcome)base_random_below(r, 5);
    for (int64_t k = 0; k < f->claim.theta_count; k++)
        if (isnan(f->theta[k]))
            f->theta[k] = 1e31 * base_random_gauss(r);
}

/* Low parts that are not low. */
static inline void forge_low(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    double *theta = pick(f->theta, c->theta_count, r), *low = f->theta_lo + (theta - f->theta);
    double junk = base_random_gauss(r) * any_scale(r);
    switch (base_random_below(r, 3)) {
    case 0:
        *low += *theta - junk; /* the sum is right, the high part is not */
        *theta = junk;
        break;
    case 1: *low = junk; break;
    default: *pick(f->lambda_lo, c->active_count, r) = junk; break;
    }
}

static inline void forge_head(forged *f, base_random *r)
{
    if (base_random_below(r, 2))
        times(f->head_theta, D, any_scale(r));
    else
        *pick(f->head_theta, D, r) *= 1 + 1e-6 * base_random_gauss(r);
    if (base_random_below(r, 3) == 0)
        memset(f->theta, 0, sizeof f->theta);
    if (base_random_below(r, 3) == 0)
        f->head.active_count = 0;
    if (!f->has_head)
        *pick(f->theta, f->claim.theta_count, r) += 1e-6;
}

static inline void forge_rows(forged *f, base_random *r)
{
    attsvm_claim *c = &f->claim;
    attsvm_row *row = &f->active[c->active_count > 0 ? base_random_below(r, c->active_count) : 0];
    switch (base_random_below(r, 5)) {
    case 0: row->token = base_random_below(r, T + 2) - 1; break;
    case 1: row->sequence = base_random_below(r, f->n + 2) - 1; break;
    case 2: *row = f->active[0]; break;
    case 3: f->alpha[base_random_below(r, f->n)] = base_random_below(r, T); break;
    default: f->sets[base_random_below(r, f->n * T)] ^= 1; break;
    }
}

/* Changes everything slightly, by 1e-3 to 1e-14. */
static inline void forge_nudge(forged *f, base_random *r)
{
    double size = ldexp(1, -10 - (int)base_random_below(r, 37));
    for (int64_t k = 0; k < f->claim.theta_count; k++)
        f->theta[k] *= 1 + size * base_random_gauss(r);
    for (int64_t k = 0; k < f->claim.active_count && base_random_below(r, 2); k++)
        f->lambda[k] *= 1 + size * base_random_gauss(r);
    for (int64_t k = 0; k < f->claim.equal_count; k++)
        f->mu[k] *= 1 + size * base_random_gauss(r);
}

static const char *const kinds[KINDS] = { "scale",    "drop",    "cancel", "borrow",
                                          "settings", "strange", "token",  "outcome",
                                          "low",      "head",    "rows",   "nudge" };

static inline void forge(forged *f, const forged *other, int kind, base_random *r)
{
    switch (kind) {
    case 0: forge_scale(f, r); break;
    case 1: forge_drop(f, r); break;
    case 2: forge_cancel(f, r); break;
    case 3: forge_borrow(f, other, r); break;
    case 4: forge_settings(f, r); break;
    case 5: forge_strange(f, r); break;
    case 6: forge_token(f, r); break;
    case 7: forge_outcome(f, r); break;
    case 8: forge_low(f, r); break;
    case 9: forge_head(f, r); break;
    case 10: forge_rows(f, r); break;
    default: forge_nudge(f, r); break;
    }
}

#endif
