/*
 * dist: the communicator.  One process by default; MPI when built for it.  The rest of the code
 * asks for rank, size and sums, and does not know which of the two it got.
 */
#ifndef ATTSVM_DIST_H
#define ATTSVM_DIST_H

#include "base/base.h"

typedef struct dist_comm dist_comm;

/* The communicator of all processes.  `argc`, `argv` as in main; call once a process. */
attsvm_status dist_start(dist_comm **out, int *argc, char ***argv, attsvm_error *err);
/* Ends communication (every rank calls it) and frees. */
void dist_stop(dist_comm *comm);
/* Ends all processes at once, for a rank that cannot go on. */
void dist_abort(dist_comm *comm, int exit_status);

int dist_rank(const dist_comm *comm);
int dist_size(const dist_comm *comm);

void dist_barrier(dist_comm *comm);
/* x[k] becomes the sum (or maximum) over ranks, the same bytes on every rank. */
void dist_sum(dist_comm *comm, double *x, int64_t count);
void dist_max(dist_comm *comm, double *x, int64_t count);
void dist_broadcast(dist_comm *comm, void *bytes, int64_t size, int root);
/* Bytes that this rank has handed to the calls above so far. */
int64_t dist_volume(const dist_comm *comm);

#endif
