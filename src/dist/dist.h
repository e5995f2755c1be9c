/*
 * dist: the communicator.  One process by default; MPI when built for it.  The rest of the code
 * asks for rank, size and sums, and does not know which of the two it got.  NULL as a communicator
 * is one process, in every call.
 */
#ifndef ATTSVM_DIST_H
#define ATTSVM_DIST_H

#include "la/la.h"

typedef struct dist_comm dist_comm;

/* The communicator of all processes.  `argc`, `argv` as in main; call once a process. */
attsvm_status dist_start(dist_comm **out, int *argc, char ***argv, attsvm_error *err);
/* Whether this build joins the processes that a launcher has started. */
bool dist_joins(void);
/* Ends communication (every rank calls it) and frees. */
void dist_end(dist_comm *comm);
/* Ends the other processes at once, for a rank that cannot go on; the caller ends its own. */
void dist_abort(dist_comm *comm, int exit_status);

int dist_rank(const dist_comm *comm);
int dist_size(const dist_comm *comm);

/* x[k] becomes the sum (or maximum) over ranks, the same bytes on every rank. */
void dist_sum(dist_comm *comm, double *x, int64_t count);
void dist_max(dist_comm *comm, double *x, int64_t count);
void dist_broadcast(dist_comm *comm, void *bytes, int64_t size, int root);
/* Whether it holds on some rank, the same answer on every rank. */
bool dist_any(dist_comm *comm, bool here);

/* The largest of the numbers that ranks have; dist_volume does not count it.  See stop.h. */
int dist_vote(dist_comm *comm, int here);

/*
 * Rank r has elements first[r]..first[r+1]-1 of x, of `size` bytes each; afterwards every rank has
 * all of them.  first has one entry more than there are ranks; for one process it may be NULL.
 */
void dist_gather(dist_comm *comm, void *x, int64_t size, const int64_t *first);

/* The same, but `own` are the elements of this rank, and rank 0 alone gets all of them. */
void dist_collect(dist_comm *comm, const void *own, void *all, int64_t size, const int64_t *first);

/* From one rank to another; both wait until it is done. */
void dist_send(dist_comm *comm, const void *bytes, int64_t size, int to);
void dist_receive(dist_comm *comm, void *bytes, int64_t size, int from);

/*
 * A sum that carries its own exponent: exp(log) x.  Empty: log = -INFINITY, and x means nothing.
 */
typedef struct dist_scaled {
    double *x;
    int64_t count;
    double log;
} dist_scaled;
/* a becomes a + b, in units of the larger exponent. */
void dist_scaled_add(dist_scaled *a, const dist_scaled *b);
/*
 * Adds up the sums of all ranks, one for each of `sums`: ((0+1)+(2+3))+... where the number of
 * ranks is a power of two, the tree that dist_share cuts.  The same bytes on every rank.
 */
void dist_scaled_sum(dist_comm *comm, dist_scaled *sums, int count);
/* Memory for such messages of at most `count` numbers in all; before the first of them. */
attsvm_status dist_reserve(dist_comm *comm, int64_t count, attsvm_error *err);
/*
 * The parts lo..hi-1 of 0..parts-1 that this rank works on: with 2^k ranks those of a node of the
 * halving tree, which halves lo..hi-1 at lo + (hi - lo)/2.
 */
void dist_share(const dist_comm *comm, int64_t parts, int rank, int64_t *lo, int64_t *hi);

/*
 * Every rank calls it with the status of what it did; where one failed, all return the status and
 * have the message of the lowest such rank.
 */
attsvm_status dist_agree(dist_comm *comm, attsvm_status status, attsvm_error *err);
/* Waits for all ranks to call it, at most so many seconds; false: some rank did not. */
bool dist_meet(dist_comm *comm, double seconds);

/* Bytes that this rank has sent or handed to the calls above so far. */
int64_t dist_volume(const dist_comm *comm);

#endif
