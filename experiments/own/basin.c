/* basin: starts around an SVM direction, and whether descent stays there. */
#include "experiments/tools/tools.h"

#include <string.h>

enum { N = 4, T = 6, D = 8, DD = D * D, STEPS = 1000, ANGLES = 7, RADII = 3, KINDS = 2 };
enum { TRIES = 200 }; /* random selections tried to find one that is not locally optimal */

static const double angles[ANGLES] = { 0, 15, 30, 45, 60, 75, 90 };
static const double radii[RADII] = { 1, 10, 100 };
/* cosines and sines of the angles: libm's differ between processors */
static const double cosine[ANGLES] = {
    1, 0.9659258262890683, 0.8660254037844387, 0.7071067811865476, 0.5, 0.25881904510252074, 0
};

typedef struct job {
    const experiments_setup *setup;
    double *stays; /* (KINDS, RADII, ANGLES, runs): 1, 0; NAN where there is no such selection */
} job;

static double score(const experiments_sample *s, int64_t i, int64_t t)
{
    return s->Y[i] * la_dot(s->v, s->X + (i * T + t) * D, D);
}

/* Whether every support token of alpha at W has a lower score. */
static bool is_local(const experiments_sample *s, const int64_t *alpha, const double *W)
{
    for (int64_t i = 0; i < N; i++) {
        double u[D], own;
        la_gemv(false, D, D, 1, W, D, s->Z + i * D, 0, u);
        own = la_dot(s->X + (i * T + alpha[i]) * D, u, D);
        for (int64_t t = 0; t < T; t++)
            if (t != alpha[i] && own - la_dot(s->X + (i * T + t) * D, u, D) <= 1 + THEORY_TIGHT &&
                score(s, i, t) >= score(s, i, alpha[i]))
                return false;
    }
    return true;
}

/* The best tokens (kind 0), or a random selection that is separable and not locally optimal. */
static attsvm_status choose(const experiments_sample *s, int kind, base_random *r, int64_t *alpha,
                            double *W, bool *found, attsvm_error *err)
{
    attsvm_svm_info info;
    *found = false;
    for (int attempt = 0; attempt < (kind == 0 ? 1 : TRIES) && !*found; attempt++) {
        for (int64_t i = 0; i < N; i++) {
            alpha[i] = kind == 0 ? 0 : (int64_t)(base_random_uniform(r) * T);
            for (int64_t t = 1; t < T && kind == 0; t++)
                alpha[i] = score(s, i, t) > score(s, i, alpha[i]) ? t : alpha[i];
        }
        TRY(experiments_sample_solve(s, "fro", alpha, W, &info, err));
        *found = info.outcome == ATTSVM_OPTIMAL && is_local(s, alpha, W) == (kind == 0);
    }
    return ATTSVM_OK;
}

/* Descent with steps of R/100 from R (cos theta u + sin theta w). */
static attsvm_status descend(const experiments_sample *s, const double *u, const double *w,
                             int angle, double R, const int64_t *alpha, double *stays,
                             attsvm_error *err)
{
    const double c = cosine[angle], sine = cosine[ANGLES - 1 - angle];
    double start[DD], ids[N];
    attsvm_train_settings settings;
    attsvm_train *run = NULL;
    attsvm_data *data = NULL;
    for (int j = 0; j < DD; j++)
        start[j] = R * (c * u[j] + sine * w[j]);
    attsvm_named_array arrays[] = { experiments_name("X", s->X, SHAPE(N, T, D)),
                                    experiments_name("Z", s->Z, SHAPE(N, D)),
                                    experiments_name("Y", s->Y, SHAPE(N)),
                                    experiments_name("v", s->v, SHAPE(D)),
                                    experiments_name("init_W", start, SHAPE(D, D)) };
    experiments_train_settings(s->setup, &settings);
    settings.model = ATTSVM_MODEL_W;
    settings.init = "file";
    settings.lr = R / 100;
    settings.iters = STEPS;
    TRY(attsvm_data_create(&data, arrays, 5, NULL, err));
    attsvm_status status = attsvm_train_create(&run, data, &settings, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = attsvm_train_run_batch(&run, 1, 1, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = experiments_trained(run, "ids", ids, N, err);
    *stays = 1;
    for (int i = 0; i < N && status == ATTSVM_OK; i++)
        *stays = ids[i] == (double)alpha[i] ? *stays : 0;
    attsvm_train_free(run);
    attsvm_data_free(data);
    return status;
}

static attsvm_status run_one(void *context, int64_t k, int worker, attsvm_error *err)
{
    const job *j = context;
    const int64_t runs = j->setup->runs;
    experiments_sample s;
    base_random r = base_random_stream((uint64_t)j->setup->seed, (uint64_t)77 << 40 | (uint64_t)k);
    attsvm_status status = ATTSVM_OK;
    (void)worker;
    TRY(experiments_sample_create(&s, j->setup, N, T, D, 0, k, err));
    for (int kind = 0; kind < KINDS && status == ATTSVM_OK; kind++) {
        int64_t alpha[N];
        double u[DD], w[DD];
        bool found;
        status = choose(&s, kind, &r, alpha, u, &found, err);
        base_random_sphere(&r, w, DD);
        double norm = la_norm(u, DD);
        for (int i = 0; i < DD; i++)
            u[i] /= norm;
        la_axpy(-la_dot(u, w, DD), u, w, DD);
        norm = la_norm(w, DD);
        for (int i = 0; i < DD; i++)
            w[i] /= norm;
        for (int at = 0; at < RADII * ANGLES && status == ATTSVM_OK; at++) {
            double *stays = j->stays + (kind * RADII * ANGLES + at) * runs + k;
            *stays = NAN;
            if (found)
                status = descend(&s, u, w, at % ANGLES, radii[at / ANGLES], alpha, stays, err);
        }
    }
    experiments_sample_free(&s);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup };
    TRY(experiments_add(out, &j.stays, "stays", SHAPE(KINDS, RADII, ANGLES, setup->runs), err));
    return experiments_parallel(setup, setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

static double share(const experiments_view *stays, int kind, int radius, int angle)
{
    const int64_t runs = stays->shape[3];
    double mean;
    experiments_mean(stays->x + ((kind * RADII + radius) * ANGLES + angle) * runs, runs, 1, &mean,
                     NULL);
    return mean;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view stays;
    double most = 0;
    TRY(experiments_get(r, "stays", &stays, err));
    for (int radius = 0; radius < RADII; radius++)
        for (int angle = 0; angle < ANGLES; angle += 2) {
            char key[64];
            snprintf(key, sizeof key, "stays_R%g_%g", radii[radius], angles[angle]);
            experiments_number(out, key, share(&stays, 0, radius, angle),
                               "share that stays around the best tokens");
        }
    for (int at = 0; at < RADII * ANGLES; at++)
        most = fmax(most, share(&stays, 1, at / ANGLES, at % ANGLES));
    experiments_number(out, "left_behind", most,
                       "largest share that stays where a support token has a higher score");
    experiments_finds(out,
                      "Around the best tokens %.0f %% stay at 30 degrees and %.0f %% at 60, from "
                      "radius 100; at 90 degrees, where the start knows nothing of the direction, "
                      "%.0f %% still end there.",
                      100 * share(&stays, 0, 2, 2), 100 * share(&stays, 0, 2, 4),
                      100 * share(&stays, 0, 2, 6));
    experiments_finds(
        out,
        "A selection with a support token of higher score is left from every angle "
        "and radius (at most %.0f %% of the starts stay), also from its own direction.",
        100 * most);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const char *const labels[RADII] = { "R = 1", "R = 10", "R = 100" };
    static const char *const titles[KINDS] = { "Locally optimal selection",
                                               "A support token scores higher" };
    experiments_view stays;
    TRY(experiments_get(r, "stays", &stays, err));
    *out = report_figure_create(2, 960, 400);
    for (int kind = 0; kind < KINDS; kind++) {
        report_add_panel(
            *out,
            &(report_panel){ .title = titles[kind],
                             .x = { .label = "angle to the SVM direction, degrees" },
                             .y = { .label = "share that stays", .low = -0.02, .high = 1.02 } });
        for (int radius = 0; radius < RADII; radius++) {
            double y[ANGLES];
            for (int angle = 0; angle < ANGLES; angle++)
                y[angle] = share(&stays, kind, radius, angle);
            report_add_series(*out, &(report_series){ .kind = REPORT_MARKS,
                                                      .label = labels[radius],
                                                      .colour = (report_colour)radius,
                                                      .mark = (report_mark)radius,
                                                      .dash = (report_dash)radius,
                                                      .count = ANGLES,
                                                      .x = angles,
                                                      .y = y });
        }
    }
    return ATTSVM_OK;
}

const experiment basin = {
    .id = "basin",
    .title = "Who stays near a max-margin direction",
    .paper = "ours, on a statement of MM and TS",
    .setting =
        "n=4, T=6, d=8, unit tokens, queries and head; model W from R (cos a u + sin a w), u "
        "the unit W-SVM solution of a selection, w random and orthogonal to it; exact "
        "normalised descent, step R/100, 1000 steps. Selections: the best tokens, and a "
        "random separable one with a support token of higher score.",
    .caption =
        "Share of starts that end on the selection whose direction they start near, by angle "
        "and radius.",
    .says =
        "Gradient descent that starts at large norm in a cone around a locally optimal direction "
        "stays there and converges to it.",
    .runs = 100,
    .unit = "data sets",
    .seconds = 6,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
