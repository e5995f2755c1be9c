/* attsvm graph: what next-token prediction learns. */
#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 40 }; /* of a graph that is printed in full */

#define SETTINGS graph_options
typedef struct graph_options {
    int64_t iters;
    double lr;
    const char *trained, *dot, *svg;
} graph_options;
static const field graph_fields[] = {
    /* name, kind, lowest, highest, default, meaning */
    { F(iters), FIELD_INT, 0, 1e15, 20000, "steps of gradient descent to compare with; 0: none", 0,
      0 },
    { F(lr), FIELD_DOUBLE, 0, 1e300, 1, "its step size", 0, 0 },
    { F(trained), FIELD_TEXT, 0, 0, 0, "result of attsvm train --loss ntp to compare with instead",
      0, "" },
    { F(dot), FIELD_TEXT, 0, 0, 0, "file for the graphs in graphviz format", 0, "" },
    { F(svg), FIELD_TEXT, 0, 0, 0, "file for a picture of the graphs", 0, "" },
};
const settings_table cli_graph_table = { "graph options", graph_fields,
                                         sizeof graph_fields / sizeof *graph_fields,
                                         sizeof(graph_options), NULL };
#undef SETTINGS

/* The results. */
typedef struct found {
    const char *path;
    const cli_call *call;
    const graph_options *options;
    attsvm_data *data;
    attsvm_data_info info;
    attsvm_graph *graph;
    cli_graph_shown shown;
    attsvm_graph_info about;
    attsvm_solution *solution;
    attsvm_svm_info svm;
    attsvm_claim claim;
    attsvm_report report;
    double *finite; /* (d,d) */
    attsvm_graph_finite_info finite_info;
    double *W; /* (d,d) trained; NULL: none */
    double loss;
    attsvm_graph_match match;
    bool compared, has_finite, has_W;
} found;

/* -------------------------------------------------------------------------- finding out */

static attsvm_status solve(found *f, attsvm_error *err)
{
    attsvm_svm_settings settings;
    attsvm_selection selection = { .sets = attsvm_graph_sets(f->graph),
                                   .cells = attsvm_data_describe(f->data).tokens };
    attsvm_problem *problem;
    attsvm_svm_settings_init(&settings);
    settings.problem = ATTSVM_PROBLEM_MULTI;
    settings.query = ATTSVM_QUERY_LAST;
    /* two words with the same embedding are different words that cannot be separated */
    settings.duplicates = ATTSVM_DUPLICATES_STRICT;
    settings.threads = f->call->common->threads;
    TRY(attsvm_problem_create(&problem, f->data, &selection, &settings, err));
    attsvm_status status = attsvm_problem_solve(problem, NULL, NULL, NULL, &f->solution, err);
    attsvm_problem_free(problem);
    TRY(status);
    f->svm = attsvm_solution_describe(f->solution);
    f->claim = attsvm_solution_claim(f->solution);
    attsvm_check_settings own = { .tol = f->claim.settings.tol };
    return attsvm_check(&f->report, f->data, &f->claim, &own, NULL, NULL, err);
}

static attsvm_status read_trained(found *f, attsvm_error *err)
{
    const char *path = f->options->trained;
    const int64_t d = f->info.d;
    attsvm_archive *archive;
    attsvm_status status = ATTSVM_OK;
    TRY(attsvm_archive_open(&archive, path, NULL, err));
    const attsvm_array *W = attsvm_archive_find(archive, "W");
    if (!W || W->ndim != 2 || W->shape[0] != d || W->shape[1] != d)
        status =
            fail(err, ATTSVM_E_DATA,
                 "%s: expected W (%" PRId64 ",%" PRId64 ") of attsvm train --model W", path, d, d);
    for (int64_t j = 0; j < d * d && status == ATTSVM_OK; j++)
        f->W[j] = attsvm_array_get(W, j);
    attsvm_archive_free(archive);
    f->loss = NAN;
    return status;
}

static attsvm_status train(found *f, attsvm_error *err)
{
    attsvm_train_settings s;
    attsvm_train *run;
    attsvm_train_settings_init(&s);
    s.model = ATTSVM_MODEL_W;
    s.loss = "ntp";
    s.query = ATTSVM_QUERY_LAST;
    s.step = "gd";
    s.lr = f->options->lr;
    s.iters = f->options->iters;
    s.threads = f->call->common->threads;
    TRY(attsvm_train_create(&run, f->data, &s, NULL, NULL, err));
    attsvm_status status = attsvm_train_run(run, NULL, NULL, err);
    if (status == ATTSVM_OK) {
        memcpy(f->W, attsvm_train_find(run, "W")->data,
               (size_t)(f->info.d * f->info.d) * sizeof *f->W);
        f->loss = attsvm_train_describe(run).loss;
    }
    attsvm_train_free(run);
    return status;
}

static attsvm_status find_out(found *f, attsvm_error *err)
{
    size_t size;
    if (!base_multiply((size_t)f->info.d, (size_t)f->info.d, &size))
        return fail(err, ATTSVM_E_MEMORY, "d = %" PRId64 ": W does not fit", f->info.d);
    f->about = attsvm_graph_describe(f->graph);
    TRY(base_allocate(&f->finite, size, sizeof *f->finite, "finite part", err));
    TRY(solve(f, err));
    TRY(attsvm_graph_finite(f->graph, f->finite, &f->finite_info, NULL, NULL, err));
    f->has_finite = true;
    if (!*f->options->trained && f->options->iters == 0)
        return ATTSVM_OK;
    TRY(base_allocate(&f->W, size, sizeof *f->W, "W", err));
    TRY(*f->options->trained ? read_trained(f, err) : train(f, err));
    f->has_W = true;
    TRY(base_interrupted(err));
    f->compared = f->svm.outcome == ATTSVM_OPTIMAL;
    return f->compared
               ? attsvm_graph_compare(f->graph, f->W, f->finite, f->claim.theta, &f->match, err)
               : ATTSVM_OK;
}

/* ---------------------------------------------------------------------------------- text */

static void print_component(const found *f, const attsvm_graph_part *part, int64_t c)
{
    int64_t members = 0, shown = 0;
    char buffer[CLI_WORD];
    for (int64_t a = 0; a < part->words; a++)
        members += part->component[a] == c;
    printf("%s", members > 1 ? "[" : "");
    for (int64_t a = 0; a < part->words; a++)
        if (part->component[a] == c)
            printf("%s%s", shown++ ? " " : "", cli_graph_word(&f->shown, part->word[a], buffer));
    printf("%s", members > 1 ? "]" : "");
}

/*
 * The components by level, preferred ones first: "9 -> {6, 2, 0} -> [1 3]".  The level of a
 * component is the length of the longest path that leads to it; components of one level are not
 * ordered.
 */
static void print_order(const found *f, const attsvm_graph_part *part)
{
    int64_t level[MOST_WORDS] = { 0 }, last = 0;
    for (int64_t c = 0; c < part->components; c++) /* edges lead to higher numbers */
        for (int64_t e = 0; e < part->edges; e++) {
            int32_t from = part->component[part->edge[e].from];
            int32_t to = part->component[part->edge[e].to];
            if (from == c && to != c && level[to] <= level[c])
                level[to] = level[c] + 1;
            last = level[to] > last ? level[to] : last;
        }
    for (int64_t l = 0; l <= last; l++) {
        int64_t members = 0, shown = 0;
        for (int64_t c = 0; c < part->components; c++)
            members += level[c] == l;
        printf("%s%s", l > 0 ? " -> " : "", members > 1 ? "{" : "");
        for (int64_t c = 0; c < part->components; c++)
            if (level[c] == l) {
                printf("%s", shown++ ? ", " : "");
                print_component(f, part, c);
            }
        printf("%s", members > 1 ? "}" : "");
    }
}

static void print_parts(const found *f)
{
    enum { MOST_SHOWN = 10 };
    int64_t shown = f->about.lasts < MOST_SHOWN ? f->about.lasts : MOST_SHOWN;
    printf("  last word  words  edges  components, preferred first; {a, b} are not ordered, [a b] "
           "is a cycle\n");
    for (int64_t k = 0; k < shown; k++) {
        attsvm_graph_part part = attsvm_graph_part_of(f->graph, k);
        char buffer[CLI_WORD];
        printf("  %9s  %5" PRId64 "  %5" PRId64 "  ", cli_graph_word(&f->shown, part.last, buffer),
               part.words, part.edges);
        if (part.words <= MOST_WORDS)
            print_order(f, &part);
        else
            printf("%" PRId64, part.components);
        putchar('\n');
    }
    if (shown < f->about.lasts)
        printf("  and %" PRId64 " more\n", f->about.lasts - shown);
}

static void print_match(const found *f)
{
    const attsvm_graph_match *m = &f->match;
    printf("  trained    W = finite + %.3g direction + rest; correlation with finite + R direction "
           "%.4f\n",
           m->R, m->together);
    if (isfinite(m->finite_error))
        printf("             inside the cycles off by %.2g of |finite|, across them correlation "
               "%.4f\n",
               m->finite_error, m->correlation);
    else if (!isnan(m->finite_error)) /* finite is 0 */
        printf("             across the cycles correlation %.4f\n", m->correlation);
    if (!isnan(f->loss))
        printf("             loss %.6g after %" PRId64 " step%s\n", f->loss, f->options->iters,
               base_plural(f->options->iters));
}

/* The word that is token t of context i. */
static const char *word_at(const found *f, int64_t i, int64_t t, char buffer[CLI_WORD])
{
    const attsvm_array *tokens = attsvm_data_array(f->data, "tokens");
    const int64_t at = attsvm_data_offset(f->data, i) + t;
    return cli_graph_word(&f->shown, (int64_t)attsvm_array_get(tokens, at), buffer);
}

/* Why no W gives the words their orders. */
static void infeasible_text(const found *f, char *text, size_t size)
{
    const attsvm_svm_info *svm = &f->svm;
    const attsvm_row row = svm->conflict ? svm->pair : f->claim.active[0];
    const int64_t last = attsvm_data_length(f->data, row.sequence) - 1;
    char a[CLI_WORD], b[CLI_WORD];
    if (svm->conflict)
        snprintf(text, size,
                 "No W gives the words these orders: the words %s and %s have the same vector.",
                 word_at(f, row.sequence, svm->pair_selected, a),
                 word_at(f, row.sequence, row.token, b));
    else if (f->claim.active_count == 1 && f->claim.equal_count == 0 && svm->residual == 0)
        snprintf(text, size,
                 "No W gives the words these orders: the vector of last word %s is 0, and so are "
                 "its logits for every W.",
                 word_at(f, row.sequence, last, a));
    else
        snprintf(text, size,
                 "No W gives the words these orders: the word vectors do not have enough "
                 "dimensions, or depend linearly on each other.");
}

/* What the graph and its SVM mean for training. */
static void outcome_text(const found *f, char *text, size_t size)
{
    if (f->svm.outcome == ATTSVM_INFEASIBLE)
        infeasible_text(f, text, size);
    else if (f->svm.outcome != ATTSVM_OPTIMAL)
        snprintf(text, size,
                 "The solver ended without a proof: it is open whether some W gives the words "
                 "these orders.");
    else if (f->about.edges == 0)
        snprintf(text, size,
                 "There is nothing to learn: every context consists of copies of its next word, "
                 "and the loss is 0 for every W.");
    else if (!(f->svm.norm > 0))
        snprintf(text, size,
                 "There is nothing to decide: W converges to the finite part, with the odds of the "
                 "data.");
    else if (f->about.cyclic == 0)
        snprintf(text, size,
                 "There are no cycles: attention can learn to pick the next word in every context, "
                 "and W grows along the direction without bound.");
    else
        snprintf(text, size,
                 "Between components W grows along the direction without bound, and attention "
                 "decides. Inside the cycles W converges to the finite part, with the odds of the "
                 "data.");
}

static void print_text(const found *f)
{
    bool feasible = f->svm.outcome == ATTSVM_OPTIMAL, grows = f->svm.norm > 0;
    char text[320];
    printf("%s: %" PRId64 " context%s, %" PRId64 " word%s, %" PRId64 " last word%s\n\n",
           cli_shown(f->path), f->info.n, base_plural(f->info.n), f->info.vocabulary,
           base_plural(f->info.vocabulary), f->about.lasts, base_plural(f->about.lasts));
    print_parts(f);
    printf("\n  direction  %s", attsvm_outcome_name(f->svm.outcome));
    if (feasible && !grows)
        printf(", norm 0: %s", f->about.edges == 0 ? "no word has a rival"
                                                   : "every word is in one cycle with the others");
    else if (feasible)
        printf(", norm %.8g, margin %.6g", f->svm.norm, f->svm.margin);
    printf("; checked: %s\n", f->report.valid ? "proved" : f->report.reason);
    printf("  finite     norm %.6g, least loss %.6g%s\n", f->finite_info.norm, f->finite_info.loss,
           f->finite_info.converged ? "" : "; not converged");
    if (f->compared && grows)
        print_match(f);
    putchar('\n');
    outcome_text(f, text, sizeof text);
    cli_wrap(stdout, text, 0, 0, 80);
    if (*f->options->svg)
        printf("Picture: %s\n", f->options->svg);
    if (f->call->common->output)
        printf("%s holds the direction with its proof; `attsvm check %s %s` verifies it.\n",
               f->call->common->output, f->path, f->call->common->output);
}

/* ---------------------------------------------------------------------------------- JSON */

static io_json *part_json(const attsvm_graph_part *part)
{
    io_json *json = io_json_object(), *sets = io_json_list();
    for (int64_t c = 0; c < part->components; c++) {
        io_json *set = io_json_list();
        for (int64_t a = 0; a < part->words; a++)
            if (part->component[a] == c)
                io_json_append(set, io_json_integer(part->word[a]));
        io_json_append(sets, set);
    }
    io_json_set(json, "last", io_json_integer(part->last));
    io_json_set(json, "edges", io_json_integer(part->edges));
    io_json_set(json, "sets", sets);
    return json;
}

static attsvm_status print_json(const found *f, attsvm_error *err)
{
    io_json *json = io_json_object(), *parts = io_json_list();
    for (int64_t k = 0; k < f->about.lasts; k++) {
        attsvm_graph_part part = attsvm_graph_part_of(f->graph, k);
        io_json_append(parts, part_json(&part));
    }
    bool own = f->compared && !*f->options->trained;
    io_json_set(json, "file", io_json_text(f->path));
    io_json_set(json, "status", io_json_text(attsvm_outcome_name(f->svm.outcome)));
    io_json_set(json, "components", parts);
    io_json_set(json, "contexts", io_json_integer(f->info.n));
    io_json_set(json, "words", io_json_integer(f->about.words));
    io_json_set(json, "edges", io_json_integer(f->about.edges));
    io_json_set(json, "cyclic", io_json_integer(f->about.cyclic));
    io_json_set(json, "norm", io_json_number(f->svm.norm));
    io_json_set(json, "margin", io_json_number(f->svm.margin));
    io_json_set(json, "gap", io_json_number(f->svm.gap));
    io_json_set(json, "checked", io_json_bool(f->report.valid));
    io_json_set(json, "finite_norm", io_json_number(f->finite_info.norm));
    io_json_set(json, "finite_loss", io_json_number(f->finite_info.loss));
    io_json_set(json, "finite_gradient", io_json_number(f->finite_info.gradient));
    io_json_set(json, "finite_error", io_json_number(f->compared ? f->match.finite_error : NAN));
    io_json_set(json, "correlation", io_json_number(f->compared ? f->match.correlation : NAN));
    io_json_set(json, "together", io_json_number(f->compared ? f->match.together : NAN));
    io_json_set(json, "R", io_json_number(f->compared ? f->match.R : NAN));
    io_json_set(json, "loss", io_json_number(own ? f->loss : NAN));
    io_json_set(json, "iters", own ? io_json_integer(f->options->iters) : cli_count_json(-1));
    attsvm_status status = io_json_print(json, stdout, false, err);
    io_json_free(json);
    return status;
}

/* ------------------------------------------------------------------------------ the verb */

static attsvm_status save(const found *f, attsvm_error *err)
{
    const int64_t d = f->info.d;
    attsvm_named_array more[2] = {
        { "finite", { .data = f->finite, .shape = { d, d }, .ndim = 2, .dtype = ATTSVM_F64 } },
        { "trained", { .data = f->W, .shape = { d, d }, .ndim = 2, .dtype = ATTSVM_F64 } },
    };
    const int64_t count = f->has_W ? 2 : f->has_finite ? 1 : 0;
    if (f->call->common->output)
        TRY(attsvm_solution_save(f->solution, f->data, f->call->common->output, more, count, err));
    return ATTSVM_OK;
}

static attsvm_status show(found *f, attsvm_error *err)
{
    TRY(save(f, err));
    if (*f->options->dot)
        TRY(cli_write_text(f->options->dot, cli_graph_dot, &f->shown, err));
    if (*f->options->svg)
        TRY(cli_write_text(f->options->svg, cli_graph_svg, &f->shown, err));
    if (f->call->common->json)
        return print_json(f, err);
    if (!f->call->common->quiet)
        print_text(f);
    return ATTSVM_OK;
}

attsvm_status cli_graph(cli_call *call, attsvm_error *err)
{
    found f = { .path = call->arguments[0],
                .call = call,
                .options = cli_settings(call, &cli_graph_table) };
    attsvm_read_settings reading;
    cli_process_limit(((const cli_limit *)cli_settings(call, &cli_limit_table))->time_limit);
    attsvm_read_settings_init(&reading);
    reading.threads = call->common->threads;
    TRY(attsvm_data_read(&f.data, f.path, &reading, err));
    f.info = attsvm_data_describe(f.data);
    attsvm_status status = attsvm_graph_create(&f.graph, f.data, err);
    if (status == ATTSVM_E_DATA)
        base_fail_in(err, status, f.path);
    f.shown.graph = f.graph;
    if (status == ATTSVM_OK)
        status = cli_graph_words(&f.shown, f.path, f.info.vocabulary, err);
    if (status == ATTSVM_OK) {
        status = find_out(&f, err);
        if (status == ATTSVM_E_DATA && strncmp(err->message, f.path, strlen(f.path)) != 0)
            base_fail_in(err, status, f.path);
    }
    /* after an interrupt the results so far are saved but not shown */
    if (status == ATTSVM_E_STOPPED && f.solution && call->common->output)
        status = save(&f, err);
    else if (status == ATTSVM_OK)
        status = show(&f, err);
    call->negative = f.svm.outcome != ATTSVM_OPTIMAL;
    free(f.shown.word);
    free(f.W);
    free(f.finite);
    attsvm_solution_free(f.solution);
    attsvm_graph_free(f.graph);
    attsvm_data_free(f.data);
    return status;
}
