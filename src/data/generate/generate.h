/*
 * data/generate: random data sets.  Every value is a function of the settings and its place, so
 * that arrays can be made in pieces, in any order, on any number of threads.
 */
#ifndef ATTSVM_DATA_GENERATE_H
#define ATTSVM_DATA_GENERATE_H

#include "data/data.h"
#include "dist/stop.h"

/*
 * Elements first..first+count-1 of array k, row-major in its dtype, into `buffer`; works on the
 * threads of the settings.  One call at a time for each generator.  Messages do not name the array.
 */
attsvm_status data_generate_fill(attsvm_generator *generator, int64_t k, int64_t first,
                                 int64_t count, void *buffer, attsvm_error *err);

/* ------------------------------------------------------ shared by the files of the room */

typedef struct data_plant {
    int64_t alpha; /* the planted token                   */
    double push;   /* how far it is moved along h_i        */
    double score;  /* how far it is moved along Y_i v      */
} data_plant;

struct attsvm_generator {
    attsvm_generate_settings settings;
    int64_t tokens;
    attsvm_named_array arrays[8];
    int64_t count;
    double *v;          /* d                                          */
    int64_t *offsets;   /* n+1; NULL when all have T tokens           */
    double *zipf;       /* vocabulary: running sums of 1, 1/2, 1/3 .. */
    double *direction;  /* p* (d) or W* (d x d); NULL unless planted  */
    data_plant *plants; /* n; NULL unless planted                     */
    double *scratch;    /* threads x scratch_size                     */
    int64_t scratch_size;
    dist_stop stop; /* opened on creation */
    void *memory;
};

/* ATTSVM_E_STOPPED if the generator was stopped. */
attsvm_status data_generate_stopped(const attsvm_generator *g, attsvm_error *err);

bool data_generate_is_table(const attsvm_generator *g);
bool data_generate_is_planted(const attsvm_generator *g);
bool data_generate_is_mil(const attsvm_generator *g);

/* Bags of the mil kinds. */
int data_mil_label(int64_t i);
int64_t data_mil_length(const attsvm_generator *g, int64_t i);
void data_mil_token(const attsvm_generator *g, int64_t i, int64_t t, double *x);

/* One random value each; vectors (d) are rounded to the stored dtype. */
int64_t data_generate_length(const attsvm_generator *g, int64_t i);
int data_generate_label(const attsvm_generator *g, int64_t i);
int64_t data_generate_index(const attsvm_generator *g, int64_t i, int64_t t);
int64_t data_generate_next(const attsvm_generator *g, int64_t i); /* label of kind ntp */
void data_generate_word(const attsvm_generator *g, int64_t word, double *x);
void data_generate_query(const attsvm_generator *g, int64_t i, int64_t m, double *z);
void data_generate_token(const attsvm_generator *g, int64_t i, int64_t t,
                         double *x); /* unplanted */
void data_generate_head(const attsvm_generator *g, double *v);
void data_generate_gauss(const attsvm_generator *g, int64_t row, double *x); /* for p*, W* */

/* Rounds x (d) to the dtype. */
void data_generate_round(const attsvm_generator *g, double *x);
/* x into `out` as `dtype`, rounded to nearest even; false on overflow. */
bool data_generate_narrow(attsvm_dtype dtype, double x, void *out);

/* Doubles of scratch per worker, which start with the token; draws p* or W* and chooses the planted
   tokens; moves the planted token of sequence i, given in scratch[0..d). */
int64_t data_plant_scratch(const attsvm_generator *g);
attsvm_status data_plant_create(attsvm_generator *g, attsvm_error *err);
void data_plant_move(const attsvm_generator *g, int64_t i, double *scratch);

#endif
