/* path: regularisation paths lead to the SVM solutions. */
#include "experiments/tools/tools.h"

#include <string.h>

enum { POINTS = 25, PATHS = 5, JOINT = 3, N = 3, T = 2, D = 2 };

static const char RADII[] = "1:1000:25";

/* Two sequences with queries (ts-path), in which the Frobenius and the nuclear solution differ. */
static const double X[2 * 3 * D] = {
    -0.9814968109130859, 0.18639519810676575,   -1.135571837425232, -0.0498390719294548,
    -1.4568305015563965, 0.11450517922639847,   0.6917173862457275, -0.16891583800315857,
    0.732312798500061,   -0.017475053668022156, 0.9413471221923828, -0.2896907925605774
};
static const double Z[2 * D] = { 0.8450113534927368, 0.534748375415802, -0.6362639665603638,
                                 -0.771471381187439 };
static const double head[D] = { 0.9273199439048767, 0.37426966428756714 };
static const double ones[2] = { 1, 1 };

/* The data of mm-joint-slack: the third sequence is not tight for the v-SVM. */
static const double joint_X[N * T * D] = { 0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, 1.5 };
static const double joint_Y[N] = { 1, -1, 1 };

static const struct {
    const char *key, *name;
    attsvm_model_kind model;
    double ratio, head_radius;
} paths[PATHS] = {
    { "p", "p", ATTSVM_MODEL_P, 0, 0 },
    { "W", "W, Frobenius", ATTSVM_MODEL_W, 0, 0 },
    { "KQ", "(K,Q), nuclear", ATTSVM_MODEL_KQ, 0, 0 },
    { "joint_growing", "r = 10 R", ATTSVM_MODEL_VP, 10, 0 },
    { "joint_bounded", "r = 1", ATTSVM_MODEL_VP, 0, 1 },
};

static attsvm_status read_array(const attsvm_path *path, const char *name, double *out,
                                attsvm_error *err)
{
    const attsvm_array *array = attsvm_path_find(path, name);
    if (!array || attsvm_array_count(array) != POINTS)
        return fail(err, ATTSVM_E_DATA, "the path has no %s at its %d points", name, POINTS);
    for (int k = 0; k < POINTS; k++)
        out[k] = attsvm_array_get(array, k);
    return ATTSVM_OK;
}

static attsvm_status follow(const experiments_setup *setup, int k, double *radius, double *values,
                            attsvm_error *err)
{
    double tokens[2 * 3 * D], joint_tokens[N * T * D];
    memcpy(tokens, X, sizeof tokens);
    memcpy(joint_tokens, joint_X, sizeof joint_tokens);
    experiments_disturb(setup, 0, 0, tokens, 2 * 3 * D); /* a path has no start values to disturb */
    experiments_disturb(setup, 1, 0, joint_tokens, N * T * D);
    attsvm_named_array attention[] = { experiments_name("X", tokens, SHAPE(2, 3, D)),
                                       experiments_name("Y", ones, SHAPE(2)),
                                       experiments_name("v", head, SHAPE(D)),
                                       experiments_name("Z", Z, SHAPE(2, D)) };
    attsvm_named_array joint[] = { experiments_name("X", joint_tokens, SHAPE(N, T, D)),
                                   experiments_name("Y", joint_Y, SHAPE(N)) };
    attsvm_data *data;
    attsvm_path *path = NULL;
    attsvm_path_settings s;
    attsvm_path_settings_init(&s);
    s.model = (int32_t)paths[k].model;
    s.radii = RADII;
    s.threads = setup->threads;
    s.seed = setup->seed;
    if (paths[k].ratio > 0)
        s.ratio = paths[k].ratio;
    s.head_radius = paths[k].head_radius;
    TRY(attsvm_data_create(&data, k < JOINT ? attention : joint, k < JOINT ? 4 : 2, NULL, err));
    attsvm_status status =
        attsvm_path_follow(&path, data, &s, NULL, experiments_observe_path, (void *)setup, err);
    if (status == ATTSVM_E_STOPPED) /* before its first point */
        status = EXPERIMENTS_STOPPED;
    if (status == ATTSVM_OK)
        status = experiments_go_on(setup);
    if (status == ATTSVM_OK)
        status = read_array(path, "radius", radius, err);
    if (status == ATTSVM_OK)
        status = read_array(path, k < JOINT ? "correlation" : "correlation_relaxed", values, err);
    if (status == ATTSVM_OK && k >= JOINT)
        status = read_array(path, "correlation_unrelaxed", values + POINTS, err);
    attsvm_path_free(path);
    attsvm_data_free(data);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    double *radius, *values;
    TRY(experiments_add(out, &radius, "radius", SHAPE(PATHS, POINTS), err));
    TRY(experiments_add(out, &values, "correlation", SHAPE(PATHS, 2, POINTS), err));
    for (int k = 0; k < PATHS; k++) {
        TRY(follow(setup, k, radius + (ptrdiff_t)k * POINTS, values + (ptrdiff_t)k * 2 * POINTS,
                   err));
        experiments_progress(setup, (double)(k + 1) / PATHS);
    }
    return ATTSVM_OK;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view values;
    double end[PATHS][2];
    TRY(experiments_get(r, "correlation", &values, err));
    for (int k = 0; k < PATHS; k++) {
        char key[64], meaning[128];
        for (int j = 0; j < 2; j++)
            end[k][j] = values.x[(k * 2 + j) * POINTS + POINTS - 1];
        snprintf(key, sizeof key, k < JOINT ? "correlation_%s" : "relaxed_%s", paths[k].key);
        snprintf(meaning, sizeof meaning, "correlation of %s to its %sSVM at R = 1000",
                 k < JOINT ? paths[k].name : "p", k < JOINT ? "" : "relaxed (joint) ");
        experiments_number(out, key, end[k][0], meaning);
        if (k < JOINT)
            continue;
        snprintf(key, sizeof key, "unrelaxed_%s", paths[k].key);
        experiments_number(out, key, end[k][1], "the same to the unrelaxed p-SVM");
    }
    experiments_finds(
        out,
        "At R = 1000 the correlations are %.6f (p), %.6f (W to the Frobenius SVM) and "
        "%.6f (KQ' to the nuclear SVM).",
        end[0][0], end[1][0], end[2][0]);
    experiments_finds(out,
                      "With v in radius 10 R, p goes to the relaxed problem (%.6f); with v bounded "
                      "by 1, to the unrelaxed one (%.6f).",
                      end[3][0], end[4][1]);
    return ATTSVM_OK;
}

/* 1 - correlation, raised to 1e-16 if smaller, so that a logarithmic axis can show it. */
static void draw_path(report_figure *f, const experiments_view *radius,
                      const experiments_view *values, int k, int which, const char *label,
                      report_colour colour, report_dash dash)
{
    double y[POINTS];
    for (int j = 0; j < POINTS; j++)
        y[j] = fmax(1 - values->x[(k * 2 + which) * POINTS + j], 1e-16);
    report_add_series(f, &(report_series){ .kind = REPORT_MARKS,
                                           .label = label,
                                           .colour = colour,
                                           .mark = dash == REPORT_SOLID ? (report_mark)colour
                                                                        : REPORT_HOLLOW_DIAMOND,
                                           .dash = dash,
                                           .count = POINTS,
                                           .x = radius->x + (ptrdiff_t)k * POINTS,
                                           .y = y });
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view radius, values;
    TRY(experiments_get(r, "radius", &radius, err));
    TRY(experiments_get(r, "correlation", &values, err));
    *out = report_figure_create(2, 960, 420);
    report_add_panel(
        *out, &(report_panel){ .title = "Fixed head",
                               .x = { .label = "radius R", .log = true },
                               .y = { .label = "1 - correlation to the SVM", .log = true } });
    for (int k = 0; k < JOINT; k++)
        draw_path(*out, &radius, &values, k, 0, paths[k].name, (report_colour)k, REPORT_SOLID);
    report_add_panel(*out,
                     &(report_panel){ .title = "Head trained, |v| <= r",
                                      .x = { .label = "radius R of p", .log = true },
                                      .y = { .label = "1 - correlation of p", .log = true } });
    draw_path(*out, &radius, &values, 4, 0, "r = 1, relaxed", REPORT_VERMILION, REPORT_SOLID);
    draw_path(*out, &radius, &values, 4, 1, "r = 1, unrelaxed", REPORT_VERMILION, REPORT_DASHED);
    draw_path(*out, &radius, &values, 3, 0, "r = 10 R, relaxed", REPORT_BLUE, REPORT_SOLID);
    draw_path(*out, &radius, &values, 3, 1, "r = 10 R, unrelaxed", REPORT_BLUE, REPORT_DASHED);
    return ATTSVM_OK;
}

const experiment regularisation_path = {
    .id = "path",
    .title = "Regularisation paths end in the SVM directions",
    .paper = "MM and TS",
    .setting = "Least loss in balls of growing radius R: p, W and (K,Q) on the data of ts-path, v "
               "and p together on the data of mm-joint-slack, with |v| <= 10 R and with |v| <= 1; "
               "logistic loss, exact gradients, radii from 1 to 1000.",
    .caption =
        "1 - correlation of the minimiser to its SVM solution against the radius. Second panel: p "
        "against the relaxed (solid) and the unrelaxed problem (dashed); the two that are not the "
        "limit of their run stay at 0.02 together. Values below 1e-16 are drawn there.",
    .says =
        "MM: p_R/R converges to the p-SVM of the best tokens, and with a head that grows along "
        "p goes to the relaxed problem. TS: W_R/R converges to the Frobenius-norm SVM, K_R Q_R' "
        "in direction to the nuclear-norm SVM.",
    .seconds = 1,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
