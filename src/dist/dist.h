/*
 * dist: the communicator.  One process by default; MPI when built for it.  Other code asks for
 * rank, size and sums and does not depend on which of the two is linked.  Every call accepts NULL
 * for one process.
 */
#ifndef ATTSVM_DIST_H
#define ATTSVM_DIST_H

#include "la/la.h"

typedef struct dist_comm dist_comm;

/* The communicator of all processes.  `argc`, `argv` as in main; call once per process. */
attsvm_status dist_start(dist_comm **out, int *argc, char ***argv, attsvm_error *err);
/* Whether this build can join the processes of an MPI launcher. */
bool dist_joins(void);
/* Ends communication (every rank calls it) and frees. */
void dist_end(dist_comm *comm);
/* Ends all other processes at once, for a rank that cannot continue; the caller ends itself. */
void dist_abort(dist_comm *comm, int exit_status);

int dist_rank(const dist_comm *comm);
int dist_size(const dist_comm *comm);

/* x[k] becomes the sum (or maximum) over ranks, the same bytes on every rank. */
void dist_sum(dist_comm *comm, double *x, int64_t count);
void dist_max(dist_comm *comm, double *x, int64_t count);
void dist_broadcast(dist_comm *comm, void *bytes, int64_t size, int root);
/* Whether `here` is true on any rank; the same answer on every rank. */
bool dist_any(dist_comm *comm, bool here);

/* The maximum of `here` over ranks; not counted by dist_volume.  See stop.h. */
int dist_vote(dist_comm *comm, int here);

/*
 * Rank r has elements first[r]..first[r+1]-1 of x, of `size` bytes each; afterwards every rank has
 * all of them.  first has one entry more than there are ranks; for one process it may be NULL.
 */
void dist_gather(dist_comm *comm, void *x, int64_t size, const int64_t *first);

/* The same with the elements of this rank in `own`; only rank 0 receives all of them. */
void dist_collect(dist_comm *comm, const void *own, void *all, int64_t size, const int64_t *first);

/* From one rank to another; both block until done. */
void dist_send(dist_comm *comm, const void *bytes, int64_t size, int to);
void dist_receive(dist_comm *comm, void *bytes, int64_t size, int from);

/*
 * A sum with an exponent: exp(log) x.  An empty one has log = -INFINITY and undefined x.
 */
typedef struct dist_scaled {
    double *x;
    int64_t count;
    double log;
} dist_scaled;
/* a becomes a + b, in units of the larger exponent. */
void dist_scaled_add(dist_scaled *a, const dist_scaled *b);
/*
 * Adds each of `sums` over all ranks: if the number of ranks is a power of two as
 * ((0+1)+(2+3))+..., the tree of dist_share.  The same bytes on every rank.
 */
void dist_scaled_sum(dist_comm *comm, dist_scaled *sums, int count);
/* Allocates memory for such messages of at most `count` numbers; call it before the first. */
attsvm_status dist_reserve(dist_comm *comm, int64_t count, attsvm_error *err);
/*
 * The parts lo..hi-1 of 0..parts-1 that this rank works on.  With 2^k ranks they form a node of the
 * binary tree that splits lo..hi-1 at lo + (hi - lo)/2.
 */
void dist_share(const dist_comm *comm, int64_t parts, int rank, int64_t *lo, int64_t *hi);

/*
 * Every rank calls it with its status; if any failed, all return the status and message of the
 * lowest such rank.
 */
attsvm_status dist_agree(dist_comm *comm, attsvm_status status, attsvm_error *err);
/* Waits at most `seconds` until all ranks have called it; false: some rank did not. */
bool dist_meet(dist_comm *comm, double seconds);

/* Bytes that this rank has passed to the calls above so far. */
int64_t dist_volume(const dist_comm *comm);

#endif
