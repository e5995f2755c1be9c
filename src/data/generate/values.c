/*
 * The values of random data sets.  Each is a function of the settings and of its place (sequence,
 * token, coordinate), through counter-based random numbers: each use has its own stream, and the
 * place is the position in the stream.  Only +, -, *, / and sqrt are used, so a data set has the
 * same values on every platform; sums run in plain order for the same reason.
 */
#include "data/generate/generate.h"

#include <math.h>
#include <string.h>

typedef enum use {
    USE_TOKEN = 1,
    USE_SCALE,
    USE_CENTRE,
    USE_CLUSTER,
    USE_COPY,
    USE_WORD,
    USE_WORD_SCALE,
    USE_INDEX,
    USE_QUERY,
    USE_LABEL,
    USE_LENGTH,
    USE_HEAD,
    USE_PLANT,
    USE_NEXT,
    USE_LEVEL,
} use;

/* Items are below 2^56: sequences, words and rows all are. */
static base_random stream(const attsvm_generator *g, use what, int64_t item, int64_t next)
{
    uint64_t number = (uint64_t)what << 56 | (uint64_t)item;
    base_random r = base_random_stream((uint64_t)g->settings.seed, number);
    r.next = (uint64_t)next;
    return r;
}

static double uniform(const attsvm_generator *g, use what, int64_t item, int64_t next)
{
    base_random r = stream(g, what, item, next);
    return base_random_uniform(&r);
}

/* One of 0..bound-1 from u in (0,1): u <= 1 - 2^-53, so u * bound stays below bound < 2^52. */
static int64_t cell(double u, int64_t bound)
{
    return (int64_t)(u * (double)bound);
}

bool data_generate_is_table(const attsvm_generator *g)
{
    return g->settings.kind == ATTSVM_VOCABULARY || g->settings.kind == ATTSVM_ONEHOT ||
           g->settings.kind == ATTSVM_NTP;
}

bool data_generate_is_planted(const attsvm_generator *g)
{
    return g->settings.kind == ATTSVM_PLANTED_P || g->settings.kind == ATTSVM_PLANTED_W;
}

/* ------------------------------------------------------------------------ scalars */

int64_t data_generate_length(const attsvm_generator *g, int64_t i)
{
    const attsvm_generate_settings *s = &g->settings;
    if (data_generate_is_mil(g))
        return data_mil_length(g, i);
    if (s->T_min == 0)
        return s->T;
    return s->T_min + cell(uniform(g, USE_LENGTH, 0, i), s->T - s->T_min + 1);
}

int data_generate_label(const attsvm_generator *g, int64_t i)
{
    if (data_generate_is_mil(g))
        return data_mil_label(i);
    return uniform(g, USE_LABEL, 0, i) < 0.5 ? -1 : 1;
}

/* Word k has probability proportional to 1/(k+1): the first k whose running sum exceeds u. */
static int64_t zipf_word(const attsvm_generator *g, double u)
{
    int64_t lo = 0, hi = g->settings.vocabulary - 1;
    double place = u * g->zipf[hi];
    while (lo < hi) {
        int64_t middle = (lo + hi) / 2;
        if (g->zipf[middle] > place)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* Contexts of next-token prediction end with one of few words. */
static int64_t last_words(const attsvm_generator *g)
{
    const int64_t few = 4;
    return g->settings.vocabulary < few ? g->settings.vocabulary : few;
}

int64_t data_generate_index(const attsvm_generator *g, int64_t i, int64_t t)
{
    double u = uniform(g, USE_INDEX, i, t);
    if (g->settings.kind != ATTSVM_NTP)
        return zipf_word(g, u);
    return cell(u, t == data_generate_length(g, i) - 1 ? last_words(g) : g->settings.vocabulary);
}

/*
 * How much word w attracts a context that ends with word k.  Every second k has its words in levels
 * of about three, among which the label is drawn: those graphs have cycles; the others have none.
 */
static double level(const attsvm_generator *g, int64_t k, int64_t w)
{
    double u = uniform(g, USE_LEVEL, k, w);
    return k % 2 == 0 ? u : (double)cell(u, (g->settings.vocabulary + 2) / 3);
}

int64_t data_generate_next(const attsvm_generator *g, int64_t i)
{
    int64_t T = data_generate_length(g, i), k = data_generate_index(g, i, T - 1), label = k;
    double best = -1, ties = 0;
    for (int64_t t = 0; t < T; t++) {
        int64_t word = data_generate_index(g, i, t);
        double own = level(g, k, word);
        if (own > best)
            ties = 0;
        /* reservoir sampling: the k-th of equal words replaces the choice with probability 1/k */
        if (own > best || (own == best && uniform(g, USE_NEXT, i, t) * (ties + 1) < 1))
            label = word;
        ties += own >= best;
        best = own > best ? own : best;
    }
    return label;
}

/* 10^u = 2^k e^f with k whole and 0 <= f < log 2, e^f by its series to f^20 / 20! < 3e-22. */
static double power_of_ten(double u)
{
    const double log2_of_10 = 3.3219280948873623, log_of_2 = 0.69314718055994531;
    double y = u * log2_of_10, k = floor(y), f = (y - k) * log_of_2, sum = 1;
    for (int j = 20; j >= 1; j--)
        sum = 1 + f * sum / j;
    return ldexp(sum, (int)k);
}

/* ---------------------------------------------------------------------- rounding */

/*
 * To float16 through float32.  Rounding to nearest twice is wrong if the first result is a tie of
 * the second; rounding to odd first (towards zero, then set the last bit if inexact) avoids this.
 */
static float to_odd(double x)
{
    float narrow = (float)x;
    if (isinf(narrow) || (double)narrow == x)
        return narrow;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    if (fabs((double)narrow) > fabs(x))
        bits--;
    bits |= 1;
    memcpy(&narrow, &bits, sizeof narrow);
    return narrow;
}

bool data_generate_narrow(attsvm_dtype dtype, double x, void *out)
{
    if (dtype == ATTSVM_F16) {
        uint16_t half = la_float_to_half(to_odd(x));
        memcpy(out, &half, sizeof half);
        return (half & 0x7c00) != 0x7c00;
    }
    if (dtype == ATTSVM_F32) {
        float narrow = (float)x;
        memcpy(out, &narrow, sizeof narrow);
        return isfinite(narrow);
    }
    memcpy(out, &x, sizeof x);
    return isfinite(x);
}

void data_generate_round(const attsvm_generator *g, double *x)
{
    int64_t d = g->settings.d;
    if (g->settings.dtype == ATTSVM_F16)
        for (int64_t j = 0; j < d; j++)
            x[j] = la_half_to_float(la_float_to_half(to_odd(x[j])));
    if (g->settings.dtype == ATTSVM_F32)
        for (int64_t j = 0; j < d; j++)
            x[j] = (float)x[j];
}

/* ----------------------------------------------------------------------- vectors */

static void scale_and_round(const attsvm_generator *g, use what, int64_t item, int64_t next,
                            double *x)
{
    double spread = g->settings.spread;
    if (spread > 0) {
        double factor = power_of_ten(spread * (2 * uniform(g, what, item, next) - 1));
        for (int64_t j = 0; j < g->settings.d; j++)
            x[j] *= factor;
    }
    data_generate_round(g, x);
}

/* Coordinates -1, 0 and 1, equally likely. */
static void small_integers(base_random *r, double *x, int64_t d)
{
    for (int64_t j = 0; j < d; j++)
        x[j] = (double)(cell(base_random_uniform(r), 3) - 1);
}

/* Around one of `vocabulary` centres on the sphere, at a distance of about `noise`. */
static void cluster(const attsvm_generator *g, int64_t i, int64_t t, double *x)
{
    const attsvm_generate_settings *s = &g->settings;
    int64_t which = cell(uniform(g, USE_CLUSTER, i, t), s->vocabulary);
    base_random centre = stream(g, USE_CENTRE, which, 0);
    base_random noise = stream(g, USE_TOKEN, i, t * s->d);
    base_random_sphere(&centre, x, s->d);
    double deviation = s->noise / sqrt((double)s->d);
    for (int64_t j = 0; j < s->d; j++)
        x[j] += deviation * base_random_gauss(&noise);
}

/* Every fourth token repeats an earlier one of its sequence; returns the end of that chain. */
static int64_t original(const attsvm_generator *g, int64_t i, int64_t t)
{
    while (t > 0 && uniform(g, USE_COPY, i, 2 * t) < 0.25)
        t = cell(uniform(g, USE_COPY, i, 2 * t + 1), t);
    return t;
}

void data_generate_token(const attsvm_generator *g, int64_t i, int64_t t, double *x)
{
    int64_t d = g->settings.d;
    if (g->settings.kind == ATTSVM_TIED)
        t = original(g, i, t);
    base_random r = stream(g, USE_TOKEN, i, t * d);
    switch ((attsvm_generate_kind)g->settings.kind) {
    case ATTSVM_GAUSS: base_random_gauss_fill(&r, x, d); break;
    case ATTSVM_SPHERE:
    case ATTSVM_PLANTED_P:
    case ATTSVM_PLANTED_W: base_random_sphere(&r, x, d); break;
    case ATTSVM_CLUSTERS: cluster(g, i, t, x); break;
    case ATTSVM_TIED: small_integers(&r, x, d); break;
    case ATTSVM_VOCABULARY:
    case ATTSVM_NTP:
    case ATTSVM_ONEHOT: data_generate_word(g, data_generate_index(g, i, t), x); return;
    case ATTSVM_MIL_SINGLE:
    case ATTSVM_MIL_MULTI:
    case ATTSVM_MIL_FREQUENCY: data_mil_token(g, i, t, x); return;
    }
    scale_and_round(g, USE_SCALE, i, t, x);
}

void data_generate_word(const attsvm_generator *g, int64_t word, double *x)
{
    int64_t d = g->settings.d;
    base_random r = stream(g, USE_WORD, word, 0);
    if (g->settings.kind == ATTSVM_ONEHOT)
        for (int64_t j = 0; j < d; j++)
            x[j] = j == word;
    else
        base_random_sphere(&r, x, d);
    scale_and_round(g, USE_WORD_SCALE, word, 0, x);
}

/* Queries are like the tokens of their kind, without spread: words where tokens are words. */
void data_generate_query(const attsvm_generator *g, int64_t i, int64_t m, double *z)
{
    int64_t d = g->settings.d;
    if (data_generate_is_table(g)) {
        data_generate_word(g, zipf_word(g, uniform(g, USE_QUERY, i, m)), z);
        return;
    }
    base_random r = stream(g, USE_QUERY, i, m * d);
    if (g->settings.kind == ATTSVM_GAUSS)
        base_random_gauss_fill(&r, z, d);
    else if (g->settings.kind == ATTSVM_TIED)
        small_integers(&r, z, d);
    else
        base_random_sphere(&r, z, d);
    data_generate_round(g, z);
}

/* A unit vector; among tied tokens small integers, so that scores tie as well. */
void data_generate_head(const attsvm_generator *g, double *v)
{
    base_random r = stream(g, USE_HEAD, 0, 0);
    if (g->settings.kind == ATTSVM_TIED) {
        small_integers(&r, v, g->settings.d);
        v[0] = 1; /* not the zero vector */
    } else {
        base_random_sphere(&r, v, g->settings.d);
    }
}

void data_generate_gauss(const attsvm_generator *g, int64_t row, double *x)
{
    base_random r = stream(g, USE_PLANT, row, 0);
    base_random_gauss_fill(&r, x, g->settings.d);
}
