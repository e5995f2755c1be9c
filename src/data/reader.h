/*
 * Iterates over tokens.  If they are in a mapped file larger than the allowed memory, they are read
 * in chunks, and the pages of a chunk are released when the next one begins.
 *
 *     data_reader reader = data_reader_open(data, lo, hi);       or data_reader_terms
 *     for (int64_t i; data_reader_each(&reader, &i);)            or data_reader_next, chunk by
 * chunk
 *         ... data_sequence(data, i) ...
 *
 * Chunks depend on the data alone, so that sums over them do not depend on the memory.
 */
#ifndef ATTSVM_DATA_READER_H
#define ATTSVM_DATA_READER_H

#include "data/terms.h"

/* What is read of an item: nothing, its whole sequence, or (0, 1, ...) one token. */
enum { DATA_NOTHING = -2, DATA_ALL = -1 };
typedef int64_t data_needs(const void *context, int64_t item);

typedef struct data_reader {
    const attsvm_data *data;
    const data_terms *terms; /* items are terms; NULL: sequences                 */
    data_needs *needs;       /* which parts are needed; NULL: all of every item  */
    const void *context;     /* of `needs`                                       */
    int64_t lo, hi, end;     /* items lo..hi-1 may be read now, hi..end-1 remain */
    int64_t at;              /* the next item of data_reader_each                */
} data_reader;

data_reader data_reader_open(const attsvm_data *data, int64_t lo, int64_t end);
data_reader data_reader_terms(const data_terms *terms, int64_t lo, int64_t end);
/*
 * The next chunk; false: there is none.  If half of a chunk or more is needed, it is read
 * sequentially; otherwise the needed parts are requested one chunk ahead.
 */
bool data_reader_next(data_reader *reader);
/* The next item; false: there is none. */
bool data_reader_each(data_reader *reader, int64_t *item);

/* ------------------------------------------------------------- reads in another order */

/* How tokens will be read from now on: sequentially (the default), in long runs with gaps, or as
   single rows. */
typedef enum data_order { DATA_IN_ORDER, DATA_IN_RUNS, DATA_BY_ROWS } data_order;
void data_reader_order(const attsvm_data *data, data_order order);

/* Requests sequences that will be read soon, given in ascending order; at most one chunk. */
void data_reader_ahead(const attsvm_data *data, const int64_t *sequences, int64_t count);
/* The same for token t of sequence i. */
void data_reader_token_ahead(const attsvm_data *data, int64_t i, int64_t t);
/* Releases the pages of sequences lo..hi-1. */
void data_reader_release(const attsvm_data *data, int64_t lo, int64_t hi);
/* The same for one sequence read by itself, including neighbours that were read with it. */
void data_reader_release_around(const attsvm_data *data, int64_t i);

/* --------------------------------------------------------------------------- memory */

/* Half of the memory that the machine, or the control group of the process, has. */
int64_t data_memory_limit(void);
/* Decides whether tokens stream; memory: bytes that may stay resident, 0: data_memory_limit(). */
void data_set_memory(attsvm_data *data, bool mapped, int64_t memory);

#endif
