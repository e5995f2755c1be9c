/*
 * Planted selections.  Sequence i has M directions u_1..u_M of norm 1: p* (M = 1), or W* z_im
 * scaled.  The token with the largest u_1' x_t becomes alpha_i and is moved,
 *
 *     x_alpha <- x_alpha + P h + Y_i c v,
 *
 * where h is the least-norm vector with u_m' h = 1 for every m (h = u_1 when M = 1).  Then
 *
 *     u_m' (x_alpha - x_t) >= push   for every m and t != alpha_i,
 *
 * with P = push when M = 1; with several queries P also makes up for what alpha_i lacks along the
 * other directions.  So p* / push (or W* scaled) is feasible for the selection alpha.
 *
 * If the planted token must also have the best score, v is orthogonal to every direction: p* is
 * drawn in the complement of v, and W* is projected from the left, W* = (I - v v') G, so that v' W*
 * z = 0 for every z.  The part c v then changes the score but not the planted margin: c is the
 * smallest number for which Y_i v' x_alpha exceeds all other scores by SCORE_GAP.
 */
#include "data/generate/generate.h"

#include <math.h>

static const double SCORE_GAP = 0.1;

/* Plain order, no vector kernels: the same value on every platform. */
static double dot(const double *x, const double *y, int64_t d)
{
    double sum = 0;
    for (int64_t j = 0; j < d; j++)
        sum += x[j] * y[j];
    return sum;
}

static void add(double a, const double *x, double *y, int64_t d)
{
    for (int64_t j = 0; j < d; j++)
        y[j] += a * x[j];
}

static void normalise(double *x, int64_t count)
{
    double norm = sqrt(dot(x, x, count));
    for (int64_t j = 0; j < count; j++)
        x[j] /= norm;
}

/* Number of directions along which a planted token must lead. */
static int64_t directions(const attsvm_generator *g)
{
    return g->settings.kind == ATTSVM_PLANTED_W ? g->settings.queries : 1;
}

typedef struct workspace {
    double *x;     /* d, the current token                    */
    double *z;     /* d, the current query                    */
    double *h;     /* d                                       */
    double *U;     /* M x d directions                        */
    double *Q;     /* M x d, their orthonormal basis          */
    double *at;    /* M: u_m' x_alpha                         */
    double *rival; /* M: largest u_m' x_t of the other tokens */
} workspace;

int64_t data_plant_scratch(const attsvm_generator *g)
{
    int64_t M = directions(g), d = g->settings.d;
    return 3 * d + 2 * M * d + 2 * M;
}

static workspace layout(const attsvm_generator *g, double *scratch)
{
    int64_t M = directions(g), d = g->settings.d;
    workspace ws = { .x = scratch, .z = scratch + d, .h = scratch + 2 * d };
    ws.U = ws.h + d;
    ws.Q = ws.U + M * d;
    ws.at = ws.Q + M * d;
    ws.rival = ws.at + M;
    return ws;
}

static void find_directions(const attsvm_generator *g, int64_t i, const workspace *ws)
{
    int64_t M = directions(g), d = g->settings.d;
    for (int64_t m = 0; m < M; m++) {
        double *u = ws->U + m * d;
        if (g->settings.kind == ATTSVM_PLANTED_P) {
            for (int64_t j = 0; j < d; j++)
                u[j] = g->direction[j];
            continue;
        }
        data_generate_query(g, i, m, ws->z);
        for (int64_t j = 0; j < d; j++)
            u[j] = dot(g->direction + j * d, ws->z, d);
        normalise(u, d);
    }
}

/*
 * The least-norm h with u_m' h = 1 for all m, one u after the other: q is the part of u_m
 * orthogonal to the earlier ones, so a step along q satisfies row m and does not change those.
 */
static void find_common(const attsvm_generator *g, const workspace *ws)
{
    int64_t M = directions(g), d = g->settings.d;
    for (int64_t j = 0; j < d; j++)
        ws->h[j] = 0;
    for (int64_t m = 0; m < M; m++) {
        const double *u = ws->U + m * d;
        double *q = ws->Q + m * d;
        for (int64_t j = 0; j < d; j++)
            q[j] = u[j];
        for (int64_t k = 0; k < m; k++)
            add(-dot(q, ws->Q + k * d, d), ws->Q + k * d, q, d);
        normalise(q, d);
        add((1 - dot(u, ws->h, d)) / dot(u, q, d), q, ws->h, d);
    }
}

/* The token in ws->x, moved and rounded as it is stored. */
static void move(const attsvm_generator *g, int64_t i, const workspace *ws)
{
    int64_t d = g->settings.d;
    add(g->plants[i].push, ws->h, ws->x, d);
    add(data_generate_label(g, i) * g->plants[i].score, g->v, ws->x, d);
    data_generate_round(g, ws->x);
}

void data_plant_move(const attsvm_generator *g, int64_t i, double *scratch)
{
    workspace ws = layout(g, scratch);
    find_directions(g, i, &ws);
    find_common(g, &ws);
    move(g, i, &ws);
}

/* Maxima over the tokens seen so far: of the leader alpha and of the others. */
typedef struct tally {
    int64_t alpha;
    double score, rival_score; /* Y_i v' x_alpha, and the largest of the others */
} tally;

static void count_token(const attsvm_generator *g, int64_t i, int64_t t, const workspace *ws,
                        tally *seen)
{
    int64_t M = directions(g), d = g->settings.d;
    data_generate_token(g, i, t, ws->x);
    double score = data_generate_label(g, i) * dot(g->v, ws->x, d);
    bool leads = t == 0 || dot(ws->U, ws->x, d) > ws->at[0];
    for (int64_t m = 0; m < M; m++) {
        double along = dot(ws->U + m * d, ws->x, d), beaten = leads ? ws->at[m] : along;
        if (t > 0 && beaten > ws->rival[m])
            ws->rival[m] = beaten;
        if (leads)
            ws->at[m] = along;
    }
    double beaten = leads ? seen->score : score;
    if (t > 0 && beaten > seen->rival_score)
        seen->rival_score = beaten;
    if (leads) {
        seen->score = score;
        seen->alpha = t;
    }
}

/* Whether the moved token, as stored, leads along every direction and in score. */
static bool still_leads(const attsvm_generator *g, int64_t i, const workspace *ws,
                        const tally *seen)
{
    int64_t d = g->settings.d;
    data_generate_token(g, i, seen->alpha, ws->x);
    find_common(g, ws);
    move(g, i, ws);
    for (int64_t m = 0; g->settings.push > 0 && m < directions(g); m++)
        if (!(dot(ws->U + m * d, ws->x, d) > ws->rival[m]))
            return false;
    double score = data_generate_label(g, i) * dot(g->v, ws->x, d);
    return !g->settings.optimal || score > seen->rival_score;
}

/* Finds alpha_i, P and c; false if rounding to the stored type destroys the selection. */
static bool plant_sequence(const attsvm_generator *g, int64_t i, const workspace *ws)
{
    int64_t M = directions(g);
    tally seen = { .rival_score = -INFINITY };
    find_directions(g, i, ws);
    for (int64_t m = 0; m < M; m++)
        ws->rival[m] = -INFINITY;
    for (int64_t t = 0, T = data_generate_length(g, i); t < T; t++)
        count_token(g, i, t, ws, &seen);
    double lack = 0;
    for (int64_t m = 0; m < M; m++)
        lack = fmax(lack, ws->rival[m] - ws->at[m]);
    double short_by = seen.rival_score + SCORE_GAP - seen.score;
    g->plants[i] = (data_plant){ .alpha = seen.alpha,
                                 .push = g->settings.push + lack,
                                 .score = g->settings.optimal ? fmax(0, short_by) : 0 };
    return still_leads(g, i, ws, &seen);
}

/* p* on the sphere or W* of Frobenius norm 1; orthogonal to v if scores are planted, too. */
static void draw_direction(attsvm_generator *g)
{
    int64_t d = g->settings.d, columns = g->settings.kind == ATTSVM_PLANTED_W ? d : 1;
    double *D = g->direction; /* d x columns */
    for (int64_t j = 0; columns > 1 && j < d; j++)
        data_generate_gauss(g, j, D + j * d);
    if (columns == 1)
        data_generate_gauss(g, 0, D);
    /* twice: the second projection removes the rounding error of the first */
    for (int pass = 0; g->settings.optimal && pass < 2; pass++)
        for (int64_t c = 0; c < columns; c++) {
            double along = 0;
            for (int64_t j = 0; j < d; j++)
                along += g->v[j] * D[j * columns + c];
            for (int64_t j = 0; j < d; j++)
                D[j * columns + c] -= along * g->v[j];
        }
    normalise(D, d * columns);
}

typedef struct planting {
    attsvm_generator *g;
    int64_t blocks;
    int64_t lost; /* lowest sequence that lost its plant; atomic */
} planting;

static void plant_block(void *context, int64_t block, int worker)
{
    planting *all = context;
    attsvm_generator *g = all->g;
    workspace ws = layout(g, g->scratch + worker * g->scratch_size);
    int64_t lo, hi;
    base_block(g->settings.n, all->blocks, block, &lo, &hi);
    for (int64_t i = lo; i < hi && !dist_stop_inside(&g->stop, worker); i++) {
        if (plant_sequence(g, i, &ws))
            continue;
        int64_t known = __atomic_load_n(&all->lost, __ATOMIC_RELAXED);
        while (i < known && !__atomic_compare_exchange_n(&all->lost, &known, i, false,
                                                         __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            continue;
        return;
    }
}

attsvm_status data_plant_create(attsvm_generator *g, attsvm_error *err)
{
    const attsvm_generate_settings *s = &g->settings;
    draw_direction(g);
    planting all = { .g = g, .blocks = base_blocks(s->n, 1), .lost = INT64_MAX };
    base_parallel(base_threads(s->threads), all.blocks, plant_block, &all);
    TRY(data_generate_stopped(g, err));
    if (all.lost < INT64_MAX)
        return fail(err, ATTSVM_E_ARG,
                    "dtype = %s cannot hold the planted token of sequence %" PRId64
                    ": with push = %g, spread = %g it is too coarse or too small a type",
                    attsvm_dtype_name((attsvm_dtype)s->dtype), all.lost, s->push, s->spread);
    return ATTSVM_OK;
}
