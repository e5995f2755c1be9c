/*
 * cli: the command.  A verb is one file and one line in verbs.c; its flags are settings tables,
 * which generate the parser, the help, the man page, docs/reference.md and the completion.
 */
#ifndef ATTSVM_CLI_H
#define ATTSVM_CLI_H

#include "dist/dist.h"
#include "experiments/experiments.h"
#include "io/json.h"

/* --------------------------------------------------------------------------- verbs */

/* Settings of every verb. */
typedef struct cli_common {
    const char *output;    /* NULL: none given */
    bool output_on_rank_0; /* -o was given, and this is another rank, where output is NULL */
    int64_t seed, threads, memory;
    const char *kernels; /* NULL: the widest the processor has */
    bool json, quiet;
} cli_common;

extern const settings_table cli_common_table;

/* For verbs whose library calls have no time limit. */
typedef struct cli_limit {
    double time_limit;
} cli_limit;

typedef struct cli_verb cli_verb;

/* One run of a verb: its command line and its outcome. */
typedef struct cli_call {
    const cli_verb *verb;
    void **settings;        /* one struct for each table, in the order of cli_tables */
    const char **arguments; /* words that are not flags                              */
    int count;              /* of arguments                                          */
    const cli_common *common;
    const field **given; /* fields that flags have set */
    int given_count;
    dist_comm *comm; /* ranks of `mpirun`, which all do the same                  */
    bool help;       /* --help was among the flags                                */
    char taken[256]; /* settings that cli_remember took from a result; "" if none */
    bool negative;   /* set by the verb: a negative answer, exit status 1         */
} cli_call;

typedef attsvm_status cli_run(cli_call *call, attsvm_error *err);

struct cli_verb {
    const char *name;
    const char *summary;                 /* a phrase                                        */
    const char *arguments;               /* "FILE", "[COMMAND]", "ID...", "-o FILE": required */
    const settings_table *const *tables; /* its own flags, NULL-terminated                  */
    const char *example;                 /* one command                                     */
    cli_run *run;
    const char *about;  /* what it does, in sentences; wrapped when printed                  */
    const char *output; /* arrays and JSON keys, for the reference and the man page; or NULL */
};

extern const cli_verb cli_verbs[]; /* ends with name == NULL */
/* An unknown name is an error that suggests the nearest verb. */
attsvm_status cli_verb_find(const char *name, const cli_verb **out, attsvm_error *err);

cli_run cli_generate, cli_info, cli_train, cli_svm, cli_path, cli_check, cli_tokens, cli_verify,
    cli_graph, cli_fit, cli_predict, cli_cv, cli_patches, cli_demo_run, cli_reproduce, cli_help,
    cli_completion, cli_version;
extern const settings_table cli_demo_table, cli_predict_table, cli_cv_table, cli_generate_table,
    cli_svm_table, cli_path_table, cli_tokens_table, cli_verify_table, cli_check_table,
    cli_graph_table, cli_limit_table, cli_help_table;

/* The struct filled from the flags of `table`. */
const void *cli_settings(const cli_call *call, const settings_table *table);

/* ---------------------------------------------------------------------------- flags */

/* Table k of a verb: its own first, then the common one; NULL after the last. */
const settings_table *cli_table(const cli_verb *verb, int k);
/* Whether help shows this field: the first of its name. */
bool cli_is_shown(const cli_verb *verb, int k, const field *f);
/* "T_min" as "T-min". */
void cli_flag_name(const field *f, char *out, size_t size);
/* The one-letter form of a common flag, or 0. */
char cli_letter(const field *f);
/* The placeholder of the value in help: "N", "X", "NAME", "FILE"; "" for yes or no. */
const char *cli_placeholder(const field *f);
/* "1..1e12", "gauss, sphere, ..."; "" if there is no restriction. */
void cli_field_range(const field *f, char *out, size_t size);
/* "default 100; 1..1e12", as far as they apply. */
void cli_field_note(const field *f, char *out, size_t size);

/* The meaning of the field, and the settings with which it has an effect. */
void cli_field_meaning(const field *f, char *out, size_t size);
/* Warns about flags without effect; refuses flags that contradict each other. */
attsvm_status cli_flag_rules_check(const cli_call *call, attsvm_error *err);

/* Checks that outputs can be written and that none is an input or another output. */
attsvm_status cli_outputs_check(const cli_call *call, attsvm_error *err);

/* Parses argv[0..argc-1], the words after the verb.  Call cli_call_free also on failure. */
attsvm_status cli_parse(cli_call *call, const cli_verb *verb, int argc, char **argv,
                        attsvm_error *err);
void cli_call_free(cli_call *call);

/* The nearest of several names to a mistyped one. */
typedef struct cli_guess {
    const char *typed;
    const char *best; /* NULL: no candidate is close */
    int distance;
} cli_guess;
void cli_guess_try(cli_guess *guess, const char *candidate);

/* --------------------------------------------------------------------- help, documents */

void cli_help_usage(FILE *out);                      /* `attsvm` without arguments */
void cli_help_top(FILE *out);                        /* attsvm help                */
void cli_help_verb(const cli_verb *verb, FILE *out); /* attsvm help VERB           */
void cli_man(FILE *out);
void cli_man_verb(const cli_verb *verb, FILE *out); /* attsvm-train(1) */
void cli_markdown(FILE *out);

/* `text` in lines of at most `width` columns, each after `indent` spaces; the first line starts at
   column `column`, where the cursor is. */
void cli_wrap(FILE *out, const char *text, int column, int indent, int width);

/* A name and its meaning: exit statuses, arrays of the file format. */
typedef struct cli_entry {
    const char *name, *shape, *meaning;
} cli_entry;
extern const cli_entry cli_exits[];  /* ends with name == NULL */
extern const cli_entry cli_arrays[]; /* likewise               */
extern const char cli_purpose[];     /* what attsvm is, in a phrase */

/* ---------------------------------------------------------------------------- input */

/* The data set of a verb, with its threads and memory, shared over its ranks. */
attsvm_status cli_data_read(const cli_call *call, const char *path, attsvm_data **out,
                            attsvm_error *err);

/* attsvm_chosen_create; messages about the data set name `file`. */
attsvm_status cli_choose(attsvm_chosen **out, const attsvm_data *data, const char *file,
                         const attsvm_svm_settings *settings, const char *source,
                         attsvm_error *err);

/* -------------------------------------------------------------------------- process */

/* Sets up standard streams, signals, and a message for files that shrink while mapped. */
void cli_process_start(void);
/* The command named in that message: "attsvm info". */
void cli_process_name(const char *verb);
/* Ends the command after that many seconds, as Ctrl-C does; 0 = no limit. */
void cli_process_limit(double seconds);
bool cli_process_late(void); /* that limit was reached */
/* SIGINT or SIGTERM if one of them requested a stop, otherwise 0. */
int cli_process_signal(void);
/* Flushes standard output; fails if output was lost. */
attsvm_status cli_process_end(attsvm_error *err);

/* A progress line on standard error: only on a terminal, after one second. */
typedef struct cli_progress {
    const char *what;
    double start, shown; /* seconds; shown is 0 while there is no line */
    bool wanted;
} cli_progress;
cli_progress cli_progress_start(const cli_call *call, const char *what);
bool cli_progress_show(void *progress, int64_t done, int64_t total); /* bytes; true: go on */
void cli_progress_end(cli_progress *progress);

/*
 * Takes the status of parsing the command line: all ranks fail if one did, if their flags differ,
 * or if the verb runs in one process only.  Silences all ranks except the first.
 */
attsvm_status cli_ranks_check(cli_call *call, attsvm_status status, attsvm_error *err);
/*
 * Ends the job on this rank: all ranks end with the same status and answer, and rank 0 has the
 * message.  If this rank failed while others still wait for it, the message names it and *alone is
 * set: the job must be aborted.
 */
attsvm_status cli_ranks_end(dist_comm *comm, attsvm_status status, bool *negative, bool *alone,
                            attsvm_error *err);
/* With several ranks: their number, and the bytes that this one has sent. */
void cli_ranks_json(const cli_call *call, io_json *json);
void cli_ranks_print(const cli_call *call);

/* Text from outside, escaped for printing (base_print_text); valid until the fourth next call. */
const char *cli_shown(const char *text);

/* "316 kB": three digits and a unit. */
void cli_bytes(double bytes, char *out, size_t size);

/* The same line with any text. */
void cli_progress_line(cli_progress *progress, const char *text);

int64_t cli_array_bytes(const attsvm_array *array);
/* {"dtype": "float32", "shape": [3, 7]} */
io_json *cli_array_json(const attsvm_array *array);
/* null for -1: not counted. */
io_json *cli_count_json(int64_t count);

/* Writes the output of `draw` to a text file, atomically. */
typedef void cli_printer(FILE *out, const void *what);
attsvm_status cli_write_text(const char *path, cli_printer *draw, const void *what,
                             attsvm_error *err);

/* A graph of next-token prediction with the names of its words; free `word`. */
enum { CLI_WORD = 32 };
typedef struct cli_graph_shown {
    const attsvm_graph *graph;
    char (*word)[CLI_WORD]; /* (count), printable; NULL: the file has none */
    int64_t count;
} cli_graph_shown;
/* Reads the names of `count` words from the array `words` of the file, if it has one. */
attsvm_status cli_graph_words(cli_graph_shown *g, const char *path, int64_t count,
                              attsvm_error *err);
/* The name of a word, or its number, written into `buffer`. */
const char *cli_graph_word(const cli_graph_shown *g, int64_t row, char buffer[CLI_WORD]);

/* A cli_graph_shown for graphviz, and drawn. */
cli_printer cli_graph_dot, cli_graph_svg;

/* Name of sequence i, word k of the vocabulary, word of token t of sequence i, escaped for
   printing; NULL if the data set has none. */
const char *cli_sequence_name(const attsvm_data *data, int64_t i);
const char *cli_word(const attsvm_data *data, int64_t k);
const char *cli_token_word(const attsvm_data *data, int64_t i, int64_t t);
/* Ends a line of a table with the name of sequence i and the words of its tokens (-1: none). */
void cli_row_names(const attsvm_data *data, int64_t i, int64_t selected, int64_t rival);

/* ------------------------------------------------------------------------ SVM results */

/* Whether a flag has set this field. */
bool cli_is_given(const cli_call *call, const settings_table *table, const char *name);
/*
 * If `source` is a result that records how it was made: sets problem, query and head of `svm`
 * unless flags do, and *with to a data set with the trained head (otherwise NULL).  A result of
 * another data set or model is an error that names both.
 */
attsvm_status cli_remember(cli_call *call, const char *source, const attsvm_data *data,
                           attsvm_svm_settings *svm, attsvm_data **with, attsvm_error *err);

void cli_taken_json(const cli_call *call, io_json *json);

/* A solved problem, for output. */
typedef struct cli_solved {
    const char *file, *select;
    const attsvm_data *data;
    attsvm_svm_info info;
    attsvm_claim claim;
    int64_t ties;
} cli_solved;
void cli_solved_print(const cli_solved *solved, const char *output);

/* ---------------------------------------------------------------------------- tokens */

/* The locally optimal selections of the data set, and whether these are all. */
void cli_enumeration_print(const attsvm_enumeration *enumeration, const attsvm_data *data);

/* ---------------------------------------------------------------------------- verify */

/* What attsvm verify finds. */
typedef struct cli_verified {
    const char *file;
    const attsvm_data *data;
    attsvm_train_settings settings;
    attsvm_origin *origin; /* of a run read from a file; NULL: trained here */
    attsvm_train *run;
    attsvm_verdict verdict;
    attsvm_solution *solution;
    attsvm_exchangeable exchangeable; /* of the start */
    attsvm_conditions conditions;
    attsvm_landscape landscape; /* samples 0: not requested */
    bool alternates; /* undecided, and two more steps lead back to the same attention parameters */
    bool joint;      /* the next two are valid   */
    attsvm_joint found;
    attsvm_solution *joint_solution;
    bool several; /* W with a nonlinear head: the next is valid */
    attsvm_multi_token kept;
} cli_verified;

/* From the settings: the head is trained; it is linear; the query is a prompt. */
bool cli_verified_trains_head(const cli_verified *v);
bool cli_verified_linear(const cli_verified *v);
bool cli_verified_prompt(const cli_verified *v);
/* The selected token of each term. */
const int64_t *cli_verified_selected(const cli_verified *v);
/* "l2", "lq:3": the norm of an SVM as its flag. */
const char *cli_verified_norm(const attsvm_svm_settings *svm, char *out, size_t size);
/* What theory predicts for these data: "global", "local" or "none". */
const char *cli_verified_must(const cli_verified *v);
/* What happened, in sentences. */
void cli_verified_verdict(const cli_verified *v, char *text, size_t size);
void cli_verified_statement(const cli_verified *v, char *out, size_t size);
void cli_verified_print(const cli_verified *v);
/* Head and prompt: what theory says, and the numbers. */
void cli_verified_joint(const cli_verified *v, char *out, size_t size);
void cli_verified_joint_print(const cli_verified *v);
/* A number and its meaning; nothing if it is NAN. */
void cli_verified_line(const char *name, const char *format, double value, const char *meaning);

/* Words that exact descent from this start never separates: in JSON (null if tokens are not words),
   and as a paragraph if there are any. */
io_json *cli_exchangeable_json(const attsvm_exchangeable *found);
void cli_exchangeable_print(const attsvm_exchangeable *found);
/* Why settings other than the step rule leave a run without a prediction, and what to change; NULL:
   they do not. */
const char *cli_unpredicted(const attsvm_train_settings *settings);
/* What keeps the attention parameters at 0 for ever: "K = Q = 0", "p = W = 0", or "p = 0" of a
   fixed prompt; NULL: nothing. */
const char *cli_zero_product(const attsvm_data *data, const attsvm_train *run,
                             const attsvm_train_settings *settings);
/* Of a run or a path: what attention computes from the data. */
typedef struct cli_layer {
    int32_t model, head, query;
    int64_t query_token;
    const char *loss;
} cli_layer;
cli_layer cli_layer_of(const attsvm_train_settings *settings);
/* Why the loss is the same for all attention parameters, and why the logits are: a sentence; NULL
   if the tests find no reason. */
const char *cli_no_effect(const attsvm_data *data, const cli_layer *layer);
const char *cli_constant_logits(const attsvm_data *data, const cli_layer *layer);
/* Explains a gradient that is 0 or whose products underflow; true if it printed something. */
bool cli_gradient_print(const attsvm_data *data, const attsvm_train *run,
                        const attsvm_train_settings *settings);

/* ---------------------------------------------------------------------------- classifiers */

/* Samples that all have labels. */
attsvm_status cli_samples_read(const cli_call *call, const char *path, attsvm_samples **out,
                               attsvm_targets *targets, attsvm_error *err);
/* Progress in words: "12 of 55 fits".  An attsvm_observer; `progress` is a cli_progress. */
bool cli_fits_show(void *progress, int64_t done, int64_t total);
bool cli_folds_show(void *progress, int64_t done, int64_t total);
/* "prompt", "score", ... */
const char *cli_pool_name(int64_t pool);
io_json *cli_classes_json(const attsvm_classifier *classifier);
/* accuracy, auc, log_loss, hits into an object. */
void cli_measures_json(io_json *json, const attsvm_measures *m);

/* Predictions, for output. */
typedef struct cli_predicted {
    const char *file, *model_file;
    const attsvm_classifier *model;
    const attsvm_samples *samples;
    const attsvm_prediction *found;
    attsvm_measures measures;
    const int64_t *order; /* (n) from the most certain to the least */
    int64_t *confusion;   /* (C,C) or NULL                          */
} cli_predicted;
/* Probability of the predicted class of sample i. */
double cli_certainty(const cli_predicted *p, int64_t i);
/* Explains the `most` most and least certain cases in words. */
void cli_predicted_explain(const cli_predicted *p, int64_t most, bool colour);
cli_printer cli_predicted_page; /* of a cli_predicted */

/* ------------------------------------------------------------------------------- demo */

/* Reviews, the layer trained on them, and its verdict. */
typedef struct cli_demo {
    int64_t n, words, iters;
    attsvm_samples *reviews;
    const char **word;      /* (words)                                     */
    const int32_t *token;   /* (tokens) indices into `word`                 */
    const int64_t *offsets; /* (n+1)                                       */
    int8_t *Y;              /* (n)                                         */
    double *correlation;    /* (records) of p with the max-margin direction */
    attsvm_data *data;
    attsvm_train *train;
    attsvm_train_info info;
    attsvm_solution *solution;
    attsvm_claim claim;
    attsvm_svm_info svm;
    attsvm_verdict verdict;
    attsvm_report report;
    const char *page;
    void *memory;
} cli_demo;

/* The recorded iterations; attention of the words of review i with the p of record k into s (T). */
int64_t cli_demo_records(const cli_demo *demo, const int64_t **iter);
void cli_demo_attention(const cli_demo *demo, int64_t k, int64_t i, double *s);

/* A word with a number, for lists in order. */
typedef struct cli_demo_rank {
    int64_t word;
    double weight;
} cli_demo_rank;
/* Words by the number of reviews of label Y that select them, or by the multipliers of rivals
   (Y = 0), into out (words); returns the number with a weight. */
int64_t cli_demo_order(const cli_demo *demo, int Y, cli_demo_rank *out);
/* The verdict in a sentence or two. */
const char *cli_demo_verdict(const cli_demo *demo);

void cli_demo_print(const cli_demo *demo, bool colour);
cli_printer cli_demo_page; /* of a cli_demo */

/* ------------------------------------------------------------------------- pictures */

/* --svg and --html: a figure of the user's own data, and a page with it. */
typedef struct cli_picture_options {
    const char *svg, *html;
} cli_picture_options;
extern const settings_table cli_picture_table;
bool cli_picture_wanted(const cli_call *call);
/* Fails before any work if a figure is requested and gnuplot is not installed. */
attsvm_status cli_picture_check(const cli_call *call, attsvm_error *err);
/* The files that the flags request; none on ranks other than 0. */
experiments_picture cli_picture(const cli_call *call, const char *title, const char *text);

#endif
