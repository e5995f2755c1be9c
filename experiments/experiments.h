/*
 * experiments: the published experiments by name (theory, section 7), and some of our own. Each is
 * one file and one line of the registry. It has three separate steps: `run` makes arrays, `numbers`
 * reads the key numbers off them, and `draw` draws them, so a figure can be redrawn without a run.
 * Callers that run experiments include this header; files that define one include tools/tools.h.
 */
#ifndef ATTSVM_EXPERIMENTS_H
#define ATTSVM_EXPERIMENTS_H

#include "dist/stop.h"

#include <pthread.h>

struct report_figure;

/* ------------------------------------------------------------------ stopping early */

/* Ends experiments early, by an observer or a time limit. Safe to call from any thread. */
typedef struct experiments_stop {
    dist_stop stop;
    pthread_mutex_t lock;
} experiments_stop;

/* limit: seconds, 0 = none; goes_on may be NULL. The caller closes it at the end. */
void experiments_stop_open(experiments_stop *stop, double limit, dist_stop_ask *goes_on,
                           void *context);
void experiments_stop_close(experiments_stop *stop);

/* ---------------------------------------------------------------- what an experiment is */

/* How an experiment runs. Random numbers depend only on the seed and the number of the run. */
typedef struct experiments_setup {
    int64_t runs; /* counted in the experiment's `unit` */
    int64_t seed;
    int64_t threads; /* 0 = all cores; the arrays do not depend on it */
    double disturb;  /* relative disturbance of the start values; 0 = none */
    int64_t disturb_seed;
    const char *data; /* a data file, for experiments that take one; NULL: none */
    void (*progress)(void *context, double share); /* progress; may be NULL */
    void *context;
    experiments_stop *stop; /* NULL: runs to the end                                       */
} experiments_setup;

typedef struct experiments_arrays experiments_arrays;   /* output of a run */
typedef struct experiments_result experiments_result;   /* the same, read-only */
typedef struct experiments_numbers experiments_numbers; /* key numbers and findings */

typedef struct experiment {
    const char *id, *title;
    const char *paper;   /* source: "MM, figure 3", or "ours" */
    const char *setting; /* data, model, step rule and counts */
    const char *command; /* flags of `attsvm train ID.npz` that repeat its first run; NULL: the file
                            is no data set                                              */
    const char *caption; /* what the figure shows                                       */
    const char *says;    /* the paper's statement in our words; NULL: in no paper */
    const char *code;    /* what the published code does; NULL: not read */
    int64_t runs;        /* as published; 0: nothing random, --runs does not apply      */
    const char *unit;    /* what is counted: "data sets", "runs a point"; NULL: nothing */
    bool takes_data;     /* uses setup->data; `own_data` is then 1, and nothing is expected */
    double seconds;      /* seconds on two cores, roughly, for the progress display */
    attsvm_status (*run)(const experiments_setup *setup, experiments_arrays *out,
                         attsvm_error *err);
    attsvm_status (*numbers)(const experiments_result *result, experiments_numbers *out,
                             attsvm_error *err);
    attsvm_status (*draw)(const experiments_result *result, struct report_figure **out,
                          attsvm_error *err);
} experiment;

extern const experiment *const experiments_all[]; /* NULL-terminated, in the order of the page */
/* For an unknown id the error lists all ids. */
attsvm_status experiments_find(const char *id, const experiment **out, attsvm_error *err);

/* --------------------------------------------------------------------------- reproducing */

typedef struct experiments_settings {
    int64_t runs;      /* 0: as published                             */
    double disturb;    /* of start values                            */
    double time_limit; /* seconds for all of them                    */
    int64_t disturb_seed;
    const char *data; /* data file for experiments that take one     */
    bool all, check, redraw, png, pdf, csv;
    char reserved[2];
} experiments_settings;

extern const settings_table experiments_table;

/* Expected value of a key number. */
typedef struct experiments_target {
    double value, tolerance;
    bool known, missed;
    bool unjudged; /* a mean over too few runs: shown, not judged */
} experiments_target;

/* A key number and its expected values. */
typedef struct experiments_check {
    char *key, *meaning;
    double value;
    experiments_target
        expected;           /* from a paper, a theorem or published data, for this number of runs */
    char *source;           /* its source */
    experiments_target own; /* from our own run of the published size with seed 0 */
} experiments_check;

struct experiments_numbers {
    experiments_check *items;
    int64_t count;
    char *finds;
    size_t room, finds_room;
    bool out_of_memory;
};

/* The result of one experiment. */
typedef struct experiments_outcome {
    const experiment *experiment;
    experiments_numbers numbers;
    int64_t runs, seed, disturb_seed;
    double disturb;
    double seconds;
    int64_t failed; /* numbers that are not as expected */
    bool stopped;   /* ended early: no numbers, no files */
} experiments_outcome;

/*
 * Runs one experiment and writes ID.npz, ID.json, ID.svg (if gnuplot is installed) and, on request,
 * ID.png, ID.pdf and ID.csv into an existing directory. With redraw it reads ID.npz instead. Call
 * experiments_outcome_free in any case.
 */
attsvm_status experiments_reproduce(const experiment *e, const experiments_settings *settings,
                                    const experiments_setup *setup, const char *directory,
                                    experiments_outcome *out, attsvm_error *err);
void experiments_outcome_free(experiments_outcome *outcome);

/* ATTSVM_OK if gnuplot is installed, so that figures can be drawn. */
attsvm_status experiments_ready(attsvm_error *err);

/* Writes index.html with all results in the directory. */
attsvm_status experiments_page(const char *directory, attsvm_error *err);

/* ----------------------------------------------------------------------- own results */

/* The files that a figure goes to: an SVG, and a page with title and text; "": none. */
typedef struct experiments_picture {
    const char *svg, *html, *title, *text;
} experiments_picture;

/* Attention, norm and, with `svm` (count entries; may be NULL), distance from the SVM direction
   over the records of a run. */
attsvm_status experiments_picture_train(const experiments_picture *picture, const attsvm_train *run,
                                        const double *svm, int64_t svm_count, attsvm_error *err);
attsvm_status experiments_picture_path(const experiments_picture *picture, const attsvm_path *path,
                                       attsvm_error *err);
typedef struct experiments_points {
    double *x, *y; /* sequence or query, score */
    int64_t count;
} experiments_points;
/* points: of other tokens, support tokens, selected tokens. */
attsvm_status experiments_picture_tokens(const experiments_picture *picture,
                                         const experiments_points *points, attsvm_error *err);

/* ------------------------------------------------------------------------------ files */

/* Files of the source tree that are embedded in the program. */
typedef struct experiments_file {
    const char *name; /* "expected/mm-multi.json" */
    const char *text;
    size_t size;
} experiments_file;
extern const experiments_file experiments_files[];               /* ends with name == NULL */
const experiments_file *experiments_file_find(const char *name); /* NULL: none */

#endif
