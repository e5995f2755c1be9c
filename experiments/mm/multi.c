/* mm-multi: three sequences of seven tokens, normalised and plain descent. */
#include "experiments/tools/tools.h"

enum { STARTS = 6, STEPS = 1000, RECORDS = STEPS + 1, N = 3, T = 7, D = 3, RULES = 2 };

static const double starts[STARTS] = { 1, 0.5, 0, -0.5, -1, -1.5 };
static const double map[D * D] = { 1, 0, 0, 0, 1, 0, 0, 0, 0 };
static const double head[D] = { 0, 0, 1 };
static const double labels[N] = { 1, 1, 1 };
static const char *const rules[RULES] = { "ngd", "gd" };
static const double steps[RULES] = { 0.1, 1 };
static const char *const rule_names[RULES] = { "normalised, step 0.1", "gradient descent, step 1" };

/* Plane coordinates (theory 7.2); the third is 1 for token 0 and 0.5 for the others. */
static const double plane[N * T][2] = {
    { 0.774832010269165, -0.23047204315662384 },    { -1.086775779724121, 1.1697421073913574 },
    { -1.0632025003433228, 0.5769561529159546 },    { -1.25266695022583, 1.0699965953826904 },
    { -0.47603169083595276, -0.25246840715408325 }, { -0.5494556427001953, -0.7705307602882385 },
    { -0.3866698741912842, -0.34129834175109863 },  { 0.6889809370040894, -0.06827207654714584 },
    { -0.8499621152877808, 0.8829004764556885 },    { -0.9633044004440308, 1.2778732776641846 },
    { -0.8107403516769409, 0.8312646150588989 },    { -0.4936814606189728, -0.598535418510437 },
    { -0.41206082701683044, -0.4775177538394928 },  { -0.41176873445510864, -0.520461916923523 },
    { 0.9420664310455322, 0.01050149742513895 },    { -0.5395588874816895, 0.7062212228775024 },
    { -1.1138496398925781, 1.1839942932128906 },    { -0.7420251369476318, 0.7043651938438416 },
    { -0.5946239829063416, -0.23494502902030945 },  { -0.6099487543106079, -0.5959668755531311 },
    { -0.7133960723876953, -0.27701207995414734 },
};

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    double *X, *svm, *p[RULES], *softmax[RULES];
    const int64_t alpha[N] = { 0, 0, 0 };
    TRY(experiments_add(out, &X, "X", SHAPE(N, T, D), err));
    TRY(experiments_add(out, &p[0], "p_ngd", SHAPE(STARTS, RECORDS, D), err));
    TRY(experiments_add(out, &p[1], "p_gd", SHAPE(STARTS, RECORDS, D), err));
    TRY(experiments_add(out, &softmax[0], "softmax_ngd", SHAPE(STARTS, RECORDS, N), err));
    TRY(experiments_add(out, &softmax[1], "softmax_gd", SHAPE(STARTS, RECORDS, N), err));
    TRY(experiments_add(out, &svm, "p_svm", SHAPE(D), err));
    for (int k = 0; k < N * T; k++) {
        X[k * D] = plane[k][0];
        X[k * D + 1] = plane[k][1];
        X[k * D + 2] = k % T == 0 ? 1 : 0.5;
    }
    experiments_prompt q = { .setup = setup,
                             .n = N,
                             .T = T,
                             .d = D,
                             .X = X,
                             .Y = labels,
                             .W = map,
                             .v = head,
                             .steps = STEPS };
    for (int64_t k = 0; k < STARTS; k++) {
        double p0[D] = { starts[k], 0, 0 };
        q.p = p0;
        if (k == 0)
            TRY(experiments_add_prompt(out, &q, err));
        for (int rule = 0; rule < RULES; rule++) {
            q.step = rules[rule];
            q.lr = steps[rule];
            TRY(experiments_exact(&q, p[rule] + k * RECORDS * D, NULL,
                                  softmax[rule] + k * RECORDS * N, err));
        }
        if (k == 0)
            TRY(experiments_prompt_svm(&q, ATTSVM_PROBLEM_P, alpha, svm, err));
        experiments_progress(setup, (double)(k + 1) / STARTS);
    }
    return ATTSVM_OK;
}

/* ------------------------------------------------------------------------- numbers */

static double length(const double *p)
{
    return base_hypot(p[0], p[1]);
}

/* Mean over starts (and sequences) of x[start][record][...]. */
static double mean_of(const experiments_view *x, int64_t record, double (*value)(const double *))
{
    double sum = 0;
    for (int64_t k = 0; k < STARTS; k++)
        sum += value(x->x + (k * RECORDS + record) * x->shape[2]) / STARTS;
    return sum;
}

static double attention(const double *softmax)
{
    return (softmax[0] + softmax[1] + softmax[2]) / N;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view p[RULES], softmax[RULES], svm;
    double worst[RULES] = { 1, 1 };
    TRY(experiments_get(r, "p_ngd", &p[0], err));
    TRY(experiments_get(r, "p_gd", &p[1], err));
    TRY(experiments_get(r, "softmax_ngd", &softmax[0], err));
    TRY(experiments_get(r, "softmax_gd", &softmax[1], err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    for (int rule = 0; rule < RULES; rule++)
        for (int64_t k = 0; k < STARTS; k++)
            worst[rule] = fmin(worst[rule],
                               attsvm_correlation(p[rule].x + (k * RECORDS + STEPS) * D, svm.x, D));
    experiments_number(out, "svm_1", svm.x[0], "first coordinate of the SVM solution");
    experiments_number(out, "svm_2", svm.x[1], "its second coordinate");
    experiments_number(out, "correlation_ngd", worst[0],
                       "smallest correlation to the SVM direction, normalised descent");
    experiments_number(out, "correlation_gd", worst[1], "the same, plain descent");
    experiments_number(out, "norm_ngd", mean_of(&p[0], STEPS, length),
                       "mean |p| at the end, normalised descent");
    experiments_number(out, "norm_gd", mean_of(&p[1], STEPS, length), "the same, plain descent");
    experiments_finds(out,
                      "Both rules turn to the SVM direction: after 1000 steps the correlation is "
                      "at least %.5f for normalised and %.4f for plain descent.",
                      worst[0], worst[1]);
    experiments_finds(out,
                      "|p| is %.1f after normalised and %.1f after plain descent, the attention of "
                      "the optimal token %.6f and %.4f: normalised steps grow linearly, plain ones "
                      "like a logarithm.",
                      mean_of(&p[0], STEPS, length), mean_of(&p[1], STEPS, length),
                      mean_of(&softmax[0], STEPS, attention),
                      mean_of(&softmax[1], STEPS, attention));
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

static void draw_plane(report_figure *f, const experiments_view p[RULES],
                       const experiments_view *svm)
{
    double x[2] = { 0, svm->x[0] }, y[2] = { 0, svm->x[1] };
    report_add_panel(f, &(report_panel){ .title = "Trajectories",
                                         .x = { .label = "p_1", .low = -2, .high = 8 },
                                         .y = { .label = "p_2", .low = -3, .high = 4 },
                                         .equal = true });
    for (int best = 0; best < 2; best++)
        for (int i = 0; i < N; i++)
            report_add_series(f, &(report_series){ .kind = REPORT_POINTS,
                                                   .label = i      ? NULL
                                                            : best ? "best tokens"
                                                                   : "other tokens",
                                                   .colour = best ? REPORT_GREEN : REPORT_PURPLE,
                                                   .mark = best ? REPORT_DIAMOND : REPORT_RING,
                                                   .count = best ? 1 : T - 1,
                                                   .x = &plane[i * T + !best][0],
                                                   .y = &plane[i * T + !best][1],
                                                   .stride = 2 });
    for (int rule = 0; rule < RULES; rule++)
        for (int64_t k = 0; k < STARTS; k++)
            report_add_series(f, &(report_series){ .kind = k ? REPORT_LINE : REPORT_TRAJECTORY,
                                                   .label = k      ? NULL
                                                            : rule ? "gradient descent"
                                                                   : "normalised",
                                                   .colour = rule ? REPORT_VERMILION : REPORT_BLUE,
                                                   .size = rule ? 0.8 : 1.6,
                                                   .count = RECORDS,
                                                   .x = p[rule].x + k * RECORDS * D,
                                                   .y = p[rule].x + k * RECORDS * D + 1,
                                                   .stride = D });
    report_add_series(f, &(report_series){ .kind = REPORT_DIRECTION,
                                           .label = "SVM",
                                           .colour = REPORT_BLACK,
                                           .count = 2,
                                           .x = x,
                                           .y = y });
    report_add_series(f, &(report_series){ .kind = REPORT_POINTS,
                                           .label = "starts",
                                           .colour = REPORT_BLACK,
                                           .count = STARTS,
                                           .x = p[0].x,
                                           .y = p[0].x + 1,
                                           .stride = RECORDS * D });
}

static void draw_curves(report_figure *f, const experiments_view data[RULES],
                        double (*value)(const double *))
{
    for (int rule = 0; rule < RULES; rule++) {
        double y[STEPS], x[STEPS];
        for (int64_t k = 1; k <= STEPS; k++) {
            x[k - 1] = (double)k;
            y[k - 1] = mean_of(&data[rule], k, value);
        }
        report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                               .label = rule_names[rule],
                                               .colour = rule ? REPORT_VERMILION : REPORT_BLUE,
                                               .count = STEPS,
                                               .x = x,
                                               .y = y });
    }
}

/* Angle between p and the SVM direction, in degrees, for every start. */
static void draw_angles(report_figure *f, const experiments_view p[RULES], const double *svm)
{
    for (int rule = 0; rule < RULES; rule++)
        for (int64_t k = 0; k < STARTS; k++) {
            double x[STEPS], y[STEPS];
            for (int64_t r = 1; r <= STEPS; r++) {
                x[r - 1] = (double)r;
                y[r - 1] = experiments_angle(p[rule].x + (k * RECORDS + r) * D, svm, D);
            }
            report_add_series(f, &(report_series){ .kind = REPORT_LINE,
                                                   .label = k ? NULL : rule_names[rule],
                                                   .colour = rule ? REPORT_VERMILION : REPORT_BLUE,
                                                   .size = 1,
                                                   .count = STEPS,
                                                   .x = x,
                                                   .y = y });
        }
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    experiments_view p[RULES], softmax[RULES], svm;
    TRY(experiments_get(r, "p_ngd", &p[0], err));
    TRY(experiments_get(r, "p_gd", &p[1], err));
    TRY(experiments_get(r, "softmax_ngd", &softmax[0], err));
    TRY(experiments_get(r, "softmax_gd", &softmax[1], err));
    TRY(experiments_get(r, "p_svm", &svm, err));
    *out = report_figure_create(2, 960, 800);
    draw_plane(*out, p, &svm);
    report_add_panel(
        *out, &(report_panel){
                  .title = "Angle to the SVM direction",
                  .x = { .label = "steps", .log = true },
                  .y = { .label = "degrees, six starts", .low = 0.1, .high = 200, .log = true } });
    draw_angles(*out, p, svm.x);
    report_add_panel(*out, &(report_panel){ .title = "Attention of the optimal token",
                                            .x = { .label = "steps", .log = true },
                                            .y = { .label = "softmax, mean over starts" } });
    draw_curves(*out, softmax, attention);
    report_add_panel(*out,
                     &(report_panel){ .title = "Norm of p",
                                      .x = { .label = "steps", .log = true },
                                      .y = { .label = "|p|, mean over starts", .log = true } });
    draw_curves(*out, p, length);
    return ATTSVM_OK;
}

const experiment mm_multi = {
    .id = "mm-multi",
    .title = "Three sequences: normalised and plain gradient descent",
    .paper = "MM, published notebook multi_input_converge",
    .setting =
        "n=3, T=7, d=3, key map diag(1,1,0), head e3, token 0 of each sequence scores 1, the "
        "others 0.5; normalised steps of 0.1 and gradient descent with step 1, 1000 steps, "
        "six starts on the first axis, exact gradients.",
    .command = "--model p --step ngd --init file --lr 0.1 --iters 1000 --record 1",
    .caption = "First two panels: trajectories of p with the tokens and the SVM direction "
               "(dashed), and the angle of "
               "p to that direction. Last two: attention of the optimal token and norm of p, mean "
               "over the "
               "six starts.",
    .says =
        "Gradient descent converges in direction to the max-margin solution, while the norm of p "
        "grows without bound and attention becomes sparse.",
    .code = "The same runs in float32: normalised steps of 0.1, with eps = 1e-12 in the norm, and "
            "plain gradient descent with step 1, 1000 steps each.",
    .seconds = 0.1,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
