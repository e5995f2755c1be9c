/* ntp: next-token prediction learns the graph of its contexts. */
#include "experiments/tools/tools.h"

#include <stdlib.h>
#include <string.h>

enum { N = 120, T = 6, D = 16, DD = D * D, WORDS = 8, STEPS = 8000, CURVES = 3, ABOUT = 4 };
enum { FINITE_ERROR, CORRELATION, RADIUS };

typedef struct job {
    const experiments_setup *setup;
    int64_t records;
    double *iter;   /* (records)                                                          */
    double *curves; /* (CURVES, runs, records)                                           */
    double *about;  /* (runs, ABOUT): last tokens, edges, components, cyclic components */
} job;

static attsvm_status solve(const attsvm_data *data, const attsvm_graph *graph, double *direction,
                           bool *feasible, attsvm_error *err)
{
    attsvm_svm_settings s;
    attsvm_selection selection = { .sets = attsvm_graph_sets(graph),
                                   .cells = attsvm_data_describe(data).tokens };
    attsvm_problem *problem;
    attsvm_solution *solution = NULL;
    attsvm_svm_settings_init(&s);
    s.problem = ATTSVM_PROBLEM_MULTI;
    s.query = ATTSVM_QUERY_LAST;
    s.threads = 1;
    TRY(attsvm_problem_create(&problem, data, &selection, &s, err));
    attsvm_status status = attsvm_problem_solve(problem, NULL, NULL, NULL, &solution, err);
    if (status == ATTSVM_OK) {
        attsvm_claim claim = attsvm_solution_claim(solution);
        *feasible = claim.outcome == ATTSVM_OPTIMAL;
        memcpy(direction, claim.theta, DD * sizeof *direction);
    }
    attsvm_solution_free(solution);
    attsvm_problem_free(problem);
    return status;
}

static attsvm_status train(const experiments_setup *setup, const attsvm_data *data, int64_t run,
                           attsvm_train **out, attsvm_error *err)
{
    attsvm_train_settings s;
    experiments_train_settings(setup, &s);
    s.model = ATTSVM_MODEL_W;
    s.loss = "ntp";
    s.query = ATTSVM_QUERY_LAST;
    s.step = "gd";
    s.lr = 5;
    s.iters = STEPS;
    s.init = "zero";
    s.record = "log";
    s.seed = run; /* used by the disturbance only */
    TRY(attsvm_train_create(out, data, &s, NULL, NULL, err));
    return experiments_train(setup, *out, err);
}

/* Compares every record with finite + R direction. */
static attsvm_status compare(job *j, int64_t run, const attsvm_graph *graph,
                             const attsvm_train *trained, const double *direction,
                             const double *finite, attsvm_error *err)
{
    double *W;
    int64_t runs = j->setup->runs;
    TRY(base_allocate(&W, (size_t)(j->records * DD), sizeof *W, "trace of W", err));
    attsvm_status status = experiments_trained(trained, "trace_W", W, j->records * DD, err);
    if (status == ATTSVM_OK && run == 0)
        status = experiments_trained(trained, "trace_iter", j->iter, j->records, err);
    for (int64_t k = 0; k < j->records && status == ATTSVM_OK; k++) {
        attsvm_graph_match match;
        status = attsvm_graph_compare(graph, W + k * DD, finite, direction, &match, err);
        const double values[CURVES] = { match.finite_error, match.correlation, match.R };
        for (int c = 0; c < CURVES && status == ATTSVM_OK; c++)
            j->curves[(c * runs + run) * j->records + k] = values[c];
    }
    free(W);
    return status;
}

static attsvm_status run_one(void *context, int64_t run, int worker, attsvm_error *err)
{
    job *j = context;
    attsvm_generate_settings g;
    attsvm_data *data = NULL;
    attsvm_graph *graph = NULL;
    attsvm_train *trained = NULL;
    attsvm_graph_finite_info info;
    double direction[DD], finite[DD];
    bool feasible = false;
    (void)worker;
    attsvm_generate_settings_init(&g);
    g.kind = ATTSVM_NTP;
    g.n = N;
    g.T = T;
    g.T_min = 2;
    g.d = D;
    g.vocabulary = WORDS;
    g.seed = j->setup->seed * 100000 + run;
    g.threads = 1;
    attsvm_status status = attsvm_data_generate(&data, &g, err);
    if (status == ATTSVM_OK)
        status = attsvm_graph_create(&graph, data, err);
    if (status == ATTSVM_OK)
        status = solve(data, graph, direction, &feasible, err);
    if (status == ATTSVM_OK)
        status = attsvm_graph_finite(graph, finite, &info, NULL, NULL, err);
    if (status == ATTSVM_OK)
        status = train(j->setup, data, run, &trained, err);
    if (status == ATTSVM_OK) {
        attsvm_graph_info about = attsvm_graph_describe(graph);
        double *out = j->about + run * ABOUT;
        out[0] = (double)about.lasts;
        out[1] = (double)about.edges;
        out[2] = (double)about.components;
        out[3] = (double)about.cyclic;
        if (feasible)
            status = compare(j, run, graph, trained, direction, finite, err);
        else
            status = fail(err, ATTSVM_E_DATA, "run %" PRId64 ": the graph SVM is infeasible", run);
    }
    attsvm_train_free(trained);
    attsvm_graph_free(graph);
    attsvm_data_free(data);
    return status;
}

static attsvm_status run(const experiments_setup *setup, experiments_arrays *out, attsvm_error *err)
{
    job j = { .setup = setup, .records = experiments_log_records(STEPS) };
    TRY(experiments_add(out, &j.iter, "steps", SHAPE(j.records), err));
    TRY(experiments_add(out, &j.curves, "curves", SHAPE(CURVES, setup->runs, j.records), err));
    TRY(experiments_add(out, &j.about, "graphs", SHAPE(setup->runs, ABOUT), err));
    return experiments_parallel(setup, setup->runs, 0, 1, run_one, &j, err);
}

/* ------------------------------------------------------------------------- numbers */

/* Mean over runs of one curve at one record. */
static double mean_at(const experiments_view *curves, int curve, int64_t record, double *deviation)
{
    int64_t runs = curves->shape[1], records = curves->shape[2];
    double mean;
    experiments_mean(curves->x + curve * runs * records + record, runs, records, &mean, deviation);
    return mean;
}

static attsvm_status numbers(const experiments_result *r, experiments_numbers *out,
                             attsvm_error *err)
{
    experiments_view curves, graphs;
    double about[ABOUT];
    TRY(experiments_get(r, "curves", &curves, err));
    TRY(experiments_get(r, "graphs", &graphs, err));
    int64_t last = curves.shape[2] - 1;
    for (int k = 0; k < ABOUT; k++)
        experiments_mean(graphs.x + k, graphs.shape[0], ABOUT, &about[k], NULL);
    double finite = mean_at(&curves, FINITE_ERROR, last, NULL);
    double correlation = mean_at(&curves, CORRELATION, last, NULL);
    experiments_number(out, "finite_error", finite,
                       "distance of the cyclic part of W to the finite part, relative");
    experiments_number(out, "correlation", correlation,
                       "correlation of the rest of W to the graph SVM");
    experiments_number(out, "R", mean_at(&curves, RADIUS, last, NULL), "W along the graph SVM");
    experiments_number(out, "components", about[2], "strongly connected components, mean");
    experiments_number(out, "cyclic", about[3], "those of several words, mean");
    experiments_finds(out,
                      "The graphs of a data set (%.1f last tokens) have %.1f edges and %.1f "
                      "strongly connected components, %.1f of several words.",
                      about[0], about[1], about[2], about[3]);
    experiments_finds(out,
                      "After %d steps the part of W inside components is within %.1e of the finite "
                      "part, and the rest has correlation %.4f to the graph SVM, along which it "
                      "grows like the logarithm of the steps.",
                      STEPS, finite, correlation);
    return ATTSVM_OK;
}

/* -------------------------------------------------------------------------- figure */

/* The same for logarithms, so the deviation is a factor; for the correlation, 1 - correlation. */
static double geometric_mean(const experiments_view *curves, int curve, int64_t record,
                             double *factor)
{
    int64_t runs = curves->shape[1], records = curves->shape[2];
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t k = 0; k < runs; k++) {
            double x = curves->x[(curve * runs + k) * records + record];
            double value = base_log(fmax(curve == CORRELATION ? 1 - x : x, 1e-16));
            if (pass == 0)
                sum += value / (double)runs;
            else
                squares += (value - sum) * (value - sum);
        }
    *factor = exp(runs > 1 ? sqrt(squares / (double)(runs - 1)) : 0);
    return base_exp(sum);
}

/* One curve with its deviation; for the correlation, 1 - correlation. */
static attsvm_status draw_curve(report_figure *f, const experiments_view *steps,
                                const experiments_view *curves, int curve, bool log_axis,
                                report_colour colour, attsvm_error *err)
{
    int64_t count = steps->count;
    double *y;
    TRY(base_allocate(&y, (size_t)(3 * count), sizeof *y, "figure", err));
    for (int64_t k = 0; k < count; k++) {
        double deviation, mean = mean_at(curves, curve, k, &deviation);
        if (log_axis)
            mean = geometric_mean(curves, curve, k, &deviation);
        bool shown = steps->x[k] > 0;
        y[k] = shown ? mean : NAN;
        y[count + k] = !shown ? NAN : log_axis ? mean / deviation : mean - deviation;
        y[2 * count + k] = !shown ? NAN : log_axis ? mean * deviation : mean + deviation;
    }
    report_add_series(f, &(report_series){ .kind = REPORT_BAND,
                                           .colour = colour,
                                           .count = count,
                                           .x = steps->x,
                                           .low = y + count,
                                           .high = y + 2 * count });
    report_add_series(
        f, &(report_series){
               .kind = REPORT_LINE, .colour = colour, .count = count, .x = steps->x, .y = y });
    free(y);
    return ATTSVM_OK;
}

static attsvm_status draw(const experiments_result *r, report_figure **out, attsvm_error *err)
{
    static const struct {
        const char *title, *label;
        bool log;
    } panels[CURVES] = {
        { "Inside components: the finite part", "relative distance", true },
        { "Between components: the direction", "1 - correlation to the graph SVM", true },
        { "Growth along the direction", "R", false },
    };
    experiments_view steps, curves;
    TRY(experiments_get(r, "steps", &steps, err));
    TRY(experiments_get(r, "curves", &curves, err));
    *out = report_figure_create(3, 1200, 380);
    for (int k = 0; k < CURVES; k++) {
        report_add_panel(
            *out, &(report_panel){ .title = panels[k].title,
                                   .x = { .label = "steps", .log = true },
                                   .y = { .label = panels[k].label, .log = panels[k].log } });
        TRY(draw_curve(*out, &steps, &curves, k, panels[k].log, (report_colour)k, err));
    }
    return ATTSVM_OK;
}

const experiment ntp = {
    .id = "ntp",
    .title = "Next-token prediction learns the graph of its contexts",
    .paper = "NT",
    .setting =
        "120 contexts of 2 to 6 tokens over 8 words in 16 dimensions, each labelled with one "
        "of its words; model W, the query is the last token; loss -log of the attention on "
        "the label; gradient descent from 0, step 5, 8000 steps.",
    .caption =
        "Trained W split into its part inside strongly connected components, compared with "
        "the finite part, and the rest, compared with the graph SVM. Mean and deviation over "
        "the data sets.",
    .says = "Gradient descent learns W = finite part + R direction: a hard retrieval between the "
            "strongly connected components of the token graph, by the graph SVM, and a soft "
            "composition inside them.",
    .runs = 6,
    .unit = "data sets",
    .seconds = 2,
    .run = run,
    .numbers = numbers,
    .draw = draw,
};
