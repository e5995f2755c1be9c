/*
 * experiments: the published experiments by name (theory, section 7), and some beyond them.
 *
 * One file and one line of the registry each.  The steps are apart: `run` makes arrays, `numbers`
 * reads the key numbers off them, `draw` draws them; so a figure can be drawn anew without a run.
 * This header is for those who run experiments; those who write one include tools/tools.h.
 */
#ifndef ATTSVM_EXPERIMENTS_H
#define ATTSVM_EXPERIMENTS_H

#include "dist/stop.h"

#include <pthread.h>

struct report_figure;

/* ------------------------------------------------------------------ stopping early */

/* What ends experiments early: their observer, or the time.  Any thread may ask. */
typedef struct experiments_stop {
    dist_stop stop;
    pthread_mutex_t lock;
} experiments_stop;

/* limit: seconds, 0: none; goes_on may be NULL.  Close it when all is done. */
void experiments_stop_open(experiments_stop *stop, double limit, dist_stop_ask *goes_on,
                           void *context);
void experiments_stop_close(experiments_stop *stop);

/* ---------------------------------------------------------------- what an experiment is */

/* How it is to be run.  What is random depends on the seed and the number of the run alone. */
typedef struct experiments_setup {
    int64_t runs; /* of what `unit` of the experiment says                  */
    int64_t seed;
    int64_t threads; /* 0: all cores; the arrays do not depend on it           */
    double disturb;  /* relative size of the disturbance of start values; 0: none */
    int64_t disturb_seed;
    const char *data; /* a data file, for experiments that take one; NULL: none */
    void (*progress)(void *context, double share); /* NULL: nobody wants to know */
    void *context;
    experiments_stop *stop; /* NULL: runs to the end                                       */
} experiments_setup;

typedef struct experiments_arrays experiments_arrays;   /* what a run makes           */
typedef struct experiments_result experiments_result;   /* the same, to be read       */
typedef struct experiments_numbers experiments_numbers; /* key numbers, what we find  */

typedef struct experiment {
    const char *id, *title;
    const char *paper;   /* where it is from: "MM, figure 3"; "ours"                    */
    const char *setting; /* data, model, step, how many                                 */
    const char *command; /* flags of `attsvm train ID.npz` that repeat its first run; NULL: the file
                            is no data set                                              */
    const char *caption; /* what the figure shows                                       */
    const char *says;    /* what the paper says, in its own sense; NULL: no paper       */
    const char *code;    /* what the published code does, where it was read; NULL: not  */
    int64_t runs;        /* as published; 0: nothing random, --runs does not apply      */
    const char *unit;    /* what is counted: "data sets", "runs a point"; NULL: nothing */
    bool takes_data;     /* uses setup->data; `own_data` is then 1, and nothing is expected */
    double seconds;      /* about how long it takes on two cores: for the time left     */
    attsvm_status (*run)(const experiments_setup *setup, experiments_arrays *out,
                         attsvm_error *err);
    attsvm_status (*numbers)(const experiments_result *result, experiments_numbers *out,
                             attsvm_error *err);
    attsvm_status (*draw)(const experiments_result *result, struct report_figure **out,
                          attsvm_error *err);
} experiment;

extern const experiment *const experiments_all[]; /* NULL-terminated, in the order of the page */
/* An unknown id is an error that lists what there is. */
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

/* What a number should be. */
typedef struct experiments_target {
    double value, tolerance;
    bool known, missed;
    bool unjudged; /* a mean over too few runs: shown, not judged */
} experiments_target;

/* A number beside what it should be. */
typedef struct experiments_check {
    char *key, *meaning;
    double value;
    experiments_target
        expected;           /* by the paper, a theorem, published data; at this number of runs */
    char *source;           /* where that comes from                                           */
    experiments_target own; /* by our own run of the published size, seed 0                    */
} experiments_check;

struct experiments_numbers {
    experiments_check *items;
    int64_t count;
    char *finds;
    size_t room, finds_room;
    bool out_of_memory;
};

/* What came out of one experiment. */
typedef struct experiments_outcome {
    const experiment *experiment;
    experiments_numbers numbers;
    int64_t runs, seed, disturb_seed;
    double disturb;
    double seconds;
    int64_t failed; /* numbers that are not as expected */
    bool stopped;   /* before it was done: no numbers, no files */
} experiments_outcome;

/*
 * One experiment into a directory, which exists: ID.npz (not with redraw, which reads it), ID.json,
 * ID.svg (with gnuplot) and where asked for ID.png, ID.pdf and ID.csv.  experiments_outcome_free in
 * any case.
 */
attsvm_status experiments_reproduce(const experiment *e, const experiments_settings *settings,
                                    const experiments_setup *setup, const char *directory,
                                    experiments_outcome *out, attsvm_error *err);
void experiments_outcome_free(experiments_outcome *outcome);

/* Whether figures can be drawn: gnuplot is there. */
attsvm_status experiments_ready(attsvm_error *err);

/* index.html of all results in the directory. */
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

/* Files of the source tree that are part of the program. */
typedef struct experiments_file {
    const char *name; /* "expected/mm-multi.json" */
    const char *text;
    size_t size;
} experiments_file;
extern const experiments_file experiments_files[];               /* ends with name == NULL */
const experiments_file *experiments_file_find(const char *name); /* NULL: none */

#endif
