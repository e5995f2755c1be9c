/*
 * Prompt models with a fixed linear head over sequences of different lengths.  A block is cut into
 * places, one a lane, whose rows are read side by side whatever sequences they belong to: no place
 * waits for another, as those of a group do (groups.c, which is quicker where all lengths are
 * equal).  When the last row of a sequence has been read, its softmax is computed.  Each row is
 * added to the sum `lag` rows after it was read, while it is still in the cache.
 */
#include "model/model.h"

#include <math.h>
#include <string.h>

enum {
    SLICE = 32,           /* rows of each place that are read at once                    */
    LAG_BYTES = 64 << 10, /* most tokens of a place between reading and adding up        */
    LEAST_ROOM = 1024,    /* logits of a place, so that they are seldom moved            */
    PREFETCHED = 8,       /* scores of a line of the cache                               */
};

/* Rows are counted from the first of the place. */
typedef struct place {
    int64_t i, end; /* the sequence that is read, and the one after the last          */
    int64_t closes; /* the row after the last of sequence i                            */
    int64_t rows;   /* of the place                                                    */
    int64_t ready;  /* rows that have their weights                                    */
    const char *first;
    double *a, *w; /* of the rows from `base` on: logits, then q; q e, then weights   */
} place;

/* A sequence whose softmax is done, and which waits for the slopes of several. */
typedef struct waiting {
    int q; /* its place */
    int64_t row, T;
    double shift, scale; /* the weights are scale factor (q e - q shift) */
} waiting;

typedef struct reader {
    const model *m;
    model_worker *k;
    model_partial *part;
    double terms;
    int64_t lag, most; /* rows of the largest place                                   */
    int64_t at, base;  /* rows of each place read so far; the first that is still here */
    const char *spare; /* rows that can be read where a place has none                 */
    place place[LA_MOST_LANES];
    waiting queue[LA_MOST_LANES];
    int waits;
    int64_t due; /* the first row of those that wait */
} reader;

static int64_t most_lag(const model *m)
{
    return LAG_BYTES / model_row_bytes(m);
}

int64_t model_stream_room(const model *m)
{
    int64_t lag = m->data->T_max + SLICE;
    lag = lag < most_lag(m) ? lag : most_lag(m);
    lag = 2 * lag > LEAST_ROOM ? 2 * lag : LEAST_ROOM;
    return m->grouped && m->prompt && m->data->T_min < m->data->T_max
               ? lag + SLICE + 2 * LA_MOST_LANES
               : 0;
}

/* Weights that are not added up yet follow the unit of the sum. */
static void rescale(reader *r, double by)
{
    for (int q = 0; q < la_lane_count(); q++) {
        place *x = &r->place[q];
        for (int64_t t = r->at > r->lag ? r->at - r->lag : 0; t < x->ready; t++)
            x->w[t - r->base] *= by;
    }
}

/* Weights of the sequences that wait. */
static void finish_waiting(reader *r)
{
    model_worker *k = r->k;
    double factor[LA_MOST_LANES], log = r->part->attention_log;
    if (r->waits == 0)
        return;
    model_prompt_factors(r->m, k, r->part, r->waits, k->group_M, k->group_Z, k->group_output,
                         r->terms, factor);
    if (r->part->attention_log != log)
        rescale(r, exp(log - r->part->attention_log));
    for (int s = 0; s < r->waits; s++) {
        const waiting *w = &r->queue[s];
        place *x = &r->place[w->q];
        const int64_t from = w->row - r->base;
        la_active()->stream_weights(w->T, x->a + from, w->shift, factor[s] * w->scale, x->w + from);
        x->ready = w->row + w->T;
    }
    r->waits = 0;
    r->due = INT64_MAX;
}

/* What the kernels leave: weights of their own in place of q e, and q = 0. */
static la_weighed weigh_odd(reader *r, int64_t i, double Y, double *a, double *w)
{
    const model *m = r->m;
    const int64_t T = data_length(m->data, i);
    la_weighed out;
    model_logits_again(m, r->k, i, m->logit_map);
    if ((m->repeats && m->repeats[i]) ||
        !la_active()->weigh(T, r->k->a, m->scores + data_first(m->data, i), Y, r->k->w, &out))
        out = model_weigh_slowly(m, r->k, i, Y);
    memcpy(w, r->k->w, (size_t)T * sizeof *w);
    memset(a, 0, (size_t)T * sizeof *a);
    return out;
}

/* The softmax of the sequence of place q, all of which has been read. */
static void close_sequence(reader *r, int q)
{
    const model *m = r->m;
    place *x = &r->place[q];
    const int64_t i = x->i, T = data_length(m->data, i), row = x->closes - T;
    const double *score = m->scores + data_first(m->data, i), Y = data_terms_label(&m->query, i, 0);
    double *a = x->a + (row - r->base), *w = x->w + (row - r->base), shift;
    la_weighed out;
    bool usual =
        !(m->repeats && m->repeats[i]) && la_active()->stream_weigh(T, a, score, w, &out, &shift);
    if (usual)
        out.output *= Y;
    else
        out = weigh_odd(r, i, Y, a, w);
    r->k->group_M[r->waits] = out.M;
    r->k->group_Z[r->waits] = out.Z;
    r->k->group_output[r->waits] = out.output;
    r->queue[r->waits++] = (waiting){ q, row, T, usual ? shift : 0, usual ? Y : 1 };
    r->due = row < r->due ? row : r->due;
    if (r->waits == la_lane_count())
        finish_waiting(r);
}

/* The next sequence of place q; its scores are wanted when its rows have been read. */
static void begin_sequence(reader *r, int q)
{
    const attsvm_data *data = r->m->data;
    place *x = &r->place[q];
    if (x->i == x->end)
        return;
    const int64_t T = data_length(data, x->i);
    x->closes += T;
    for (int64_t t = 0; t < T; t += PREFETCHED)
        __builtin_prefetch(r->m->scores + data_first(data, x->i) + t);
}

/* Places of like many rows. */
static void cut_into_places(reader *r, int64_t lo, int64_t hi)
{
    const attsvm_data *data = r->m->data;
    const int64_t begin = data_first(data, lo), tokens = data_first(data, hi) - begin;
    const int64_t room = model_stream_room(r->m);
    int64_t i = lo;
    r->spare = (const char *)r->m->keys.base + begin * model_row_bytes(r->m);
    for (int q = 0; q < la_lane_count(); q++) {
        place *x = &r->place[q];
        *x = (place){ .i = i, .a = r->k->logits + q * room, .w = r->k->weights + q * room };
        x->first = r->spare + (data_first(data, i) - begin) * model_row_bytes(r->m);
        while (i < hi && (data_first(data, i) - begin) * la_lane_count() < (q + 1) * tokens)
            i++;
        x->end = i;
        x->rows = data_first(data, x->end) - data_first(data, x->i);
        r->most = x->rows > r->most ? x->rows : r->most;
        begin_sequence(r, q);
    }
}

/* Keeps the rows that are not added up yet, and moves them to the front. */
static void move_to_front(reader *r)
{
    const int64_t from = r->at > r->lag ? r->at - r->lag : 0, by = from - r->base;
    for (int q = 0; q < la_lane_count(); q++) {
        place *x = &r->place[q];
        memmove(x->a, x->a + by, (size_t)(r->at - from) * sizeof *x->a);
        memmove(x->w, x->w + by, (size_t)(r->at - from) * sizeof *x->w);
    }
    r->base = from;
}

/* Rows that come next, between which no place begins or ends to be read or added up. */
static int64_t next_count(const reader *r)
{
    int64_t count = SLICE;
    if (r->at < r->lag && r->lag - r->at < count)
        count = r->lag - r->at;
    for (int q = 0; q < la_lane_count(); q++) {
        const int64_t unread = r->place[q].rows - r->at, left = unread + r->lag;
        count = unread > 0 && unread < count ? unread : count;
        count = left > 0 && left < count ? left : count;
    }
    return count;
}

static void read_slice(reader *r)
{
    static const double nothing[SLICE];
    const model *m = r->m;
    const int64_t count = next_count(r), old = r->at - r->lag, bytes = model_row_bytes(m);
    la_stream s;
    if (r->due < old + count)
        finish_waiting(r);
    for (int q = 0; q < la_lane_count(); q++) {
        const place *x = &r->place[q];
        const bool reads = r->at < x->rows, adds = old >= 0 && old < x->rows;
        s.row[q] = reads ? x->first + r->at * bytes : r->spare;
        s.a[q] = reads ? x->a + (r->at - r->base) : r->k->unused;
        s.old[q] = adds ? x->first + old * bytes : r->spare;
        s.w[q] = adds ? x->w + (old - r->base) : nothing;
    }
    la_active()->stream(m->keys.dtype, m->d, count, &s, r->at < r->most ? m->logit_map : NULL,
                        old >= 0 ? r->part->attention : NULL);
    r->at += count;
}

bool model_stream_gradient(const model *m, model_worker *k, model_partial *part, int64_t lo,
                           int64_t hi, double terms)
{
    reader r = { .m = m, .k = k, .part = part, .terms = terms, .due = INT64_MAX };
    const int64_t room = model_stream_room(m);
    for (int64_t i = lo; i < hi; i++)
        r.lag = data_length(m->data, i) > r.lag ? data_length(m->data, i) : r.lag;
    r.lag += SLICE; /* then all rows of a slice have their weights when they are added up */
    if (room == 0 || r.lag > most_lag(m))
        return false;
    cut_into_places(&r, lo, hi);
    while (r.at < r.most + r.lag) {
        if (r.at >= r.most && r.at < r.lag)
            r.at = r.lag;
        if (r.at + SLICE + LA_MOST_LANES - r.base > room)
            move_to_front(&r);
        read_slice(&r);
        for (int q = 0; q < la_lane_count(); q++)
            while (r.place[q].i < r.place[q].end && r.place[q].closes <= r.at) {
                close_sequence(&r, q);
                r.place[q].i++;
                begin_sequence(&r, q);
            }
    }
    return true;
}
