/*
 * All step rules (theory 3).  Each trained array takes its own step; G is its gradient, eta the
 * step size.  A rule that divides by |G| does not move if G is exactly zero.
 *
 *   rule        update of theta                                          SVM in the norm
 *   gd          theta - eta G                                            l2, Frobenius
 *   ngd         theta - eta G/|G|; with eps: G/(|G| + eps)               l2, Frobenius
 *   polyak      theta - eta (L - L*)/|G|^2 G, at most max_step long      l2, Frobenius
 *   md:q, nmd:q u = sign(theta)|theta|^(q-1);  u <- u - eta G, or        l_q
 *               u - eta G/|G|_q', 1/q + 1/q' = 1; theta = sign(u)|u|^(1/(q-1))
 *   sign        theta - eta sign(G), sign(0) = 0                         l_infinity
 *   coordinate  theta_j - eta sign(G_j) at the largest |G_j|             l1
 *   spectral    theta - eta U V', G = U S V'                             spectral
 *   nuclear     theta - eta u v', the leading singular pair of G         nuclear
 *   momentum:b  m <- b m + G;  theta - eta m                             l2, Frobenius
 *   signum:b    m <- b m + (1 - b) G;  theta - eta sign(m)               l_infinity
 *   muon:b      the same m;  theta - eta U V', m = U S V'                spectral
 *   adam        Kingma, Ba (2015), 0.9, 0.999, eps (1e-8)                eps = 0: l_infinity
 *   rescale:c   ngd; theta <- c theta whenever its direction has settled l2, Frobenius
 *
 * The gradient is given as exp(log_scale) g: normalised rules never form G, which underflows once
 * attention is saturated.  Averages of gradients have the same form.  They lag: signum and muon
 * follow a gradient that shrinks at most by the factor b per step, adam one that shrinks by
 * sqrt(0.999); if it decreases faster, they keep the signs of earlier steps.
 */
#include "train/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The plain sum of squares unless it over- or underflows. */
double train_norm(const double *g, int64_t count)
{
    double square = la_dot(g, g, count);
    return square > 1e-250 && square < 1e250 ? sqrt(square) : la_norm(g, count);
}

/* |g|; 0 if the gradient is zero. */
static double size_of(const train_block *b)
{
    return b->log_scale == -INFINITY ? 0 : train_norm(b->g, b->count);
}

/* theta -= length g/size. length/size may exceed the range of doubles (tokens of 1e-160 have
   gradients of 1e-320); then g is divided by `size` first. */
static void move(const train_block *b, double length, double size)
{
    double rate = length / size;
    if (isfinite(rate))
        la_axpy(-rate, b->g, b->theta, b->count);
    else
        for (int64_t j = 0; j < b->count; j++)
            b->theta[j] -= length * (b->g[j] / size);
}

/* ------------------------------------------------------------------------- gd, ngd */

static attsvm_status gd(const train_block *b, attsvm_error *err)
{
    (void)err;
    if (b->log_scale != -INFINITY)
        la_axpy(-b->lr * base_exp(b->log_scale), b->g, b->theta, b->count);
    return ATTSVM_OK;
}

/* In units of the scale, G/(|G| + eps) is g/(|g| + eps exp(-log_scale)). */
static attsvm_status ngd(const train_block *b, attsvm_error *err)
{
    (void)err;
    double norm = size_of(b);
    if (norm > 0)
        move(b, b->lr, b->eps > 0 ? norm + b->eps * base_exp(-b->log_scale) : norm);
    return ATTSVM_OK;
}

/* The step is lr (L - L*)/|G| long, a ratio of two numbers that underflow together: their exponents
   are subtracted first. */
static attsvm_status polyak(const train_block *b, attsvm_error *err)
{
    (void)err;
    double norm = size_of(b);
    if (!(norm > 0) || !(b->excess.value > 0))
        return ATTSVM_OK;
    double length = b->lr * (b->excess.value / norm) * base_exp(b->excess.log - b->log_scale);
    move(b, length < b->max_step ? length : b->max_step, norm);
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------ mirror descent */

static double power(double x, double exponent)
{
    double size = fabs(x);
    if (exponent == 1)
        return x;
    return copysign(exponent == 0.5 ? sqrt(size) : base_pow(size, exponent), x);
}

/* The state is u, so that a step takes one power. */
static void mirror_start(const train_block *b)
{
    for (int64_t j = 0; j < b->count; j++)
        b->state[j] = power(b->theta[j], b->parameter - 1);
}

/* u -= rate (lift g), and theta from u. */
static void mirror(const train_block *b, double rate, double lift)
{
    const double exponent = 1 / (b->parameter - 1);
    for (int64_t j = 0; j < b->count && exponent == 0.5;
         j++) { /* the compiler vectorises this loop */
        double u = b->state[j] -= rate * (lift * b->g[j]);
        b->theta[j] = copysign(sqrt(fabs(u)), u);
    }
    for (int64_t j = 0; j < b->count && exponent != 0.5; j++) {
        b->state[j] -= rate * (lift * b->g[j]);
        b->theta[j] = power(b->state[j], exponent);
    }
}

static attsvm_status md(const train_block *b, attsvm_error *err)
{
    (void)err;
    if (b->log_scale != -INFINITY)
        mirror(b, b->lr * base_exp(b->log_scale), 1);
    return ATTSVM_OK;
}

/* |g|_q in units of the largest entry. */
static double norm_lq(const double *g, int64_t count, double q)
{
    double largest = 0, sum = 0;
    for (int64_t j = 0; j < count; j++)
        largest = fmax(largest, fabs(g[j]));
    if (q == 2 || largest == 0)
        return largest == 0 ? 0 : train_norm(g, count);
    for (int64_t j = 0; j < count && q == 1.5; j++) { /* nmd:3, without pow */
        double x = fabs(g[j]) / largest;
        sum += x * sqrt(x);
    }
    for (int64_t j = 0; j < count && q != 1.5; j++)
        sum += g[j] == 0 ? 0 : base_pow(fabs(g[j]) / largest, q);
    return largest * base_pow(sum, 1 / q);
}

static attsvm_status nmd(const train_block *b, attsvm_error *err)
{
    (void)err;
    double q = b->parameter;
    double norm = b->log_scale == -INFINITY ? 0 : norm_lq(b->g, b->count, q / (q - 1));
    /* if lr/norm overflows, an exact factor keeps its product with g in range */
    double lift = isfinite(b->lr / norm) ? 1 : 0x1p900;
    if (norm > 0)
        mirror(b, b->lr / (norm * lift), lift);
    return ATTSVM_OK;
}

/* ------------------------------------------------- steepest descent in other norms */

static attsvm_status sign(const train_block *b, attsvm_error *err)
{
    (void)err;
    if (b->log_scale == -INFINITY)
        return ATTSVM_OK;
    for (int64_t j = 0; j < b->count; j++)
        b->theta[j] -= b->lr * ((b->g[j] > 0) - (b->g[j] < 0));
    return ATTSVM_OK;
}

/* The lowest index on ties. */
static attsvm_status coordinate(const train_block *b, attsvm_error *err)
{
    (void)err;
    int64_t best = 0;
    for (int64_t j = 1; j < b->count; j++)
        if (fabs(b->g[j]) > fabs(b->g[best]))
            best = j;
    if (b->log_scale != -INFINITY)
        b->theta[best] -= b->lr * ((b->g[best] > 0) - (b->g[best] < 0));
    return ATTSVM_OK;
}

static int64_t svd_scratch(int64_t rows, int64_t cols)
{
    int64_t r = rows < cols ? rows : cols;
    return rows * cols + r + rows * r + r * cols;
}

/* theta -= eta U V' of G = U S V', with the first `most` singular pairs; singular values up to
   1e-12 of the largest are dropped. */
static attsvm_status step_by_svd(const train_block *b, const double *G, int64_t most,
                                 attsvm_error *err)
{
    const double dropped = 1e-12;
    const int64_t m = b->rows, n = b->cols, r = m < n ? m : n;
    double *A = b->scratch, *sigma = A + m * n, *U = sigma + r, *Vt = U + m * r;
    memcpy(A, G, (size_t)b->count * sizeof *A);
    TRY(la_svd(m, n, A, n, sigma, U, r, Vt, n, err));
    int64_t rank = 0;
    while (rank < r && rank < most && sigma[rank] > dropped * sigma[0])
        rank++;
    if (rank > 0)
        la_gemm(false, false, m, n, rank, -b->lr, U, r, Vt, n, 1, b->theta, n);
    return ATTSVM_OK;
}

static attsvm_status spectral(const train_block *b, attsvm_error *err)
{
    return b->log_scale == -INFINITY ? ATTSVM_OK : step_by_svd(b, b->g, INT64_MAX, err);
}

static attsvm_status nuclear(const train_block *b, attsvm_error *err)
{
    return b->log_scale == -INFINITY ? ATTSVM_OK : step_by_svd(b, b->g, 1, err);
}

/* ------------------------------------------------------------------- with a memory */

/* No average yet. */
static void average_start(const train_block *b)
{
    *b->scale = -INFINITY;
}

/* Factors that bring the average and the gradient to the larger of their scales, which is returned;
   a factor of 0 means that the part is zero. */
static double common_scale(const train_block *b, double *of_average, double *of_gradient)
{
    double scale = fmax(*b->scale, b->log_scale);
    *of_average = *b->scale == -INFINITY ? 0 : base_exp(*b->scale - scale);
    *of_gradient = b->log_scale == -INFINITY ? 0 : base_exp(b->log_scale - scale);
    return scale;
}

/* Stores the scale of the averages, whose largest entry is `largest`.  If they have decayed far
   below it, moves a power of two from the entries into the scale. */
static void keep_scale(const train_block *b, double scale, double largest, int states)
{
    const double ln2 = 0.6931471805599453094;
    *b->scale = largest > 0 ? scale : -INFINITY;
    if (!(largest > 0) || largest > 0x1p-200)
        return;
    int power_of_two = ilogb(largest);
    for (int64_t j = 0; j < states * b->count; j++)
        b->state[j] = ldexp(b->state[j], -power_of_two);
    *b->scale += power_of_two * ln2;
}

/* m <- keep m + add G, with m = exp(scale) state. */
static void average(const train_block *b, double keep, double add)
{
    double *m = b->state, old, new, largest = 0, scale = common_scale(b, &old, &new);
    for (int64_t j = 0; j < b->count; j++) {
        m[j] = (old == 0 ? 0 : keep * old * m[j]) + (new == 0 ? 0 : add *new * b->g[j]);
        largest = fmax(largest, fabs(m[j]));
    }
    keep_scale(b, scale, largest, 1);
}

static attsvm_status momentum(const train_block *b, attsvm_error *err)
{
    (void)err;
    average(b, b->parameter, 1);
    if (*b->scale != -INFINITY)
        la_axpy(-b->lr * base_exp(*b->scale), b->state, b->theta, b->count);
    return ATTSVM_OK;
}

static attsvm_status signum(const train_block *b, attsvm_error *err)
{
    (void)err;
    average(b, b->parameter, 1 - b->parameter);
    for (int64_t j = 0; j < b->count; j++)
        b->theta[j] -= b->lr * ((b->state[j] > 0) - (b->state[j] < 0));
    return ATTSVM_OK;
}

static attsvm_status muon(const train_block *b, attsvm_error *err)
{
    average(b, b->parameter, 1 - b->parameter);
    return *b->scale == -INFINITY ? ATTSVM_OK : step_by_svd(b, b->state, INT64_MAX, err);
}

/* sqrt(x^2 + y^2) of numbers whose squares may underflow. */
static double root_of_squares(double x, double y)
{
    double larger = fmax(fabs(x), fabs(y)), ratio = fmin(fabs(x), fabs(y)) / larger;
    return larger == 0 ? 0 : larger * sqrt(1 + ratio * ratio);
}

/* Both moments, bias-corrected.  The second is stored as its square root, which has the range of
   the gradient; mean and root share one scale, so that only eps depends on it. 0/0 is 0. */
static attsvm_status adam(const train_block *b, attsvm_error *err)
{
    (void)err;
    const double beta1 = 0.9, beta2 = 0.999, k = (double)b->iter + 1;
    const double unbias1 = 1 - base_pow(beta1, k), unbias2 = sqrt(1 - base_pow(beta2, k));
    double *mean = b->state, *root = b->state + b->count;
    double old, new, largest = 0, scale = common_scale(b, &old, &new);
    const double eps = b->eps > 0 && scale != -INFINITY ? b->eps * base_exp(-scale) : 0;
    for (int64_t j = 0; j < b->count; j++) {
        double g = new == 0 ? 0 : new * b->g[j];
        mean[j] = beta1 * (old == 0 ? 0 : old * mean[j]) + (1 - beta1) * g;
        root[j] =
            root_of_squares(sqrt(beta2) * (old == 0 ? 0 : old * root[j]), sqrt(1 - beta2) * g);
        if (mean[j] != 0)
            b->theta[j] -= b->lr * (mean[j] / unbias1) / (root[j] / unbias2 + eps);
        largest = fmax(largest, root[j]);
    }
    keep_scale(b, scale, largest, 2);
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------- rescale */

enum { PERIOD = 100 }; /* steps over which the direction must settle */

/* The state is the direction of theta PERIOD steps ago. */
static void rescale_start(const train_block *b)
{
    double norm = train_norm(b->theta, b->count);
    for (int64_t j = 0; j < b->count; j++)
        b->state[j] = norm > 0 ? b->theta[j] / norm : 0;
}

/* |theta/|theta| - state|, infinite if either has no direction; state <- theta/|theta|. */
static double turn(const train_block *b)
{
    double norm = train_norm(b->theta, b->count), square = 0, before = 0;
    for (int64_t j = 0; j < b->count; j++) {
        double now = norm > 0 ? b->theta[j] / norm : 0, moved = now - b->state[j];
        before += b->state[j] * b->state[j];
        square += moved * moved;
        b->state[j] = now;
    }
    return norm > 0 && before > 0 ? sqrt(square) : INFINITY;
}

/* Settled: it moved less than 1e-3 over PERIOD steps, and all margins are positive. */
static attsvm_status rescale(const train_block *b, attsvm_error *err)
{
    const double settled = 1e-3;
    if (b->iter > 0 && b->iter % PERIOD == 0 && turn(b) < settled && b->min_margin > 0)
        for (int64_t j = 0; j < b->count; j++)
            b->theta[j] *= b->parameter;
    return ngd(b, err);
}

/* ----------------------------------------------------------------------- the table */

#define NO_NUMBER 0, 1, 0 /* the flag takes no number */
#define NO_EPS    NAN

const train_rule train_rules[] = {
    /* flag, norm, number (default, lowest, highest), eps, lstar, states, value_every,
       scratch, start, step */
    { "gd", "l2", NO_NUMBER, NO_EPS, false, 0, 0, NULL, NULL, gd },
    { "ngd", "l2", NO_NUMBER, 0, false, 0, 0, NULL, NULL, ngd },
    { "polyak", "l2", NO_NUMBER, NO_EPS, true, 0, 1, NULL, NULL, polyak },
    { "md", "lq", NAN, 1 + 1e-6, 1e6, NO_EPS, false, 1, 0, NULL, mirror_start, md },
    { "nmd", "lq", NAN, 1 + 1e-6, 1e6, NO_EPS, false, 1, 0, NULL, mirror_start, nmd },
    { "sign", "linf", NO_NUMBER, NO_EPS, false, 0, 0, NULL, NULL, sign },
    { "coordinate", "l1", NO_NUMBER, NO_EPS, false, 0, 0, NULL, NULL, coordinate },
    { "spectral", "spectral", NO_NUMBER, NO_EPS, false, 0, 0, svd_scratch, NULL, spectral },
    { "nuclear", "nuc", NO_NUMBER, NO_EPS, false, 0, 0, svd_scratch, NULL, nuclear },
    { "momentum", "l2", 0.9, 0, 0.999999, NO_EPS, false, 1, 0, NULL, average_start, momentum },
    { "signum", "linf", 0.9, 0, 0.999999, NO_EPS, false, 1, 0, NULL, average_start, signum },
    { "muon", "spectral", 0.9, 0, 0.999999, NO_EPS, false, 1, 0, svd_scratch, average_start, muon },
    { "adam", "linf", NO_NUMBER, 1e-8, false, 2, 0, NULL, average_start, adam },
    { "rescale", "l2", 2, 1, 1e6, 0, false, 1, PERIOD, NULL, rescale_start, rescale },
    { .flag = NULL },
};

static attsvm_status number_of(const train_rule *rule, const char *text, double *parameter,
                               attsvm_error *err)
{
    bool takes = rule->lowest <= rule->highest;
    *parameter = rule->standard;
    if (!*text && !(takes && isnan(rule->standard)))
        return ATTSVM_OK;
    if (!takes)
        return fail(err, ATTSVM_E_ARG, "step = %s%s: the rule %s takes no number", rule->flag, text,
                    rule->flag);
    char *end = NULL;
    if (*text == ':')
        *parameter = strtod(text + 1, &end);
    if (!end || end == text + 1 || *end || !(*parameter >= rule->lowest) ||
        !(*parameter <= rule->highest))
        return fail(err, ATTSVM_E_ARG,
                    "step = %s%s: expected %s:NUMBER, the number in %.10g..%.10g", rule->flag, text,
                    rule->flag, rule->lowest, rule->highest);
    return ATTSVM_OK;
}

attsvm_status train_rule_find(const char *text, const train_rule **rule, double *parameter,
                              attsvm_error *err)
{
    char names[256];
    size_t used = 0;
    for (const train_rule *r = train_rules; r->flag; r++) {
        size_t length = strlen(r->flag);
        if (strncmp(text, r->flag, length) == 0 && (text[length] == '\0' || text[length] == ':')) {
            *rule = r;
            return number_of(r, text + length, parameter, err);
        }
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", r->flag);
    }
    return fail(err, ATTSVM_E_ARG, "step = %s is not known; steps are %s", text, names);
}

bool train_rule_is(const train_rule *rule, const char *flag)
{
    return strcmp(rule->flag, flag) == 0;
}
