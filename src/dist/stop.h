/*
 * Stops a long call by its observer or its time limit, on all ranks at once.  Every long call opens
 * a stop and asks it in its loops.
 *
 *     dist_stop stop;
 *     dist_stop_open(&stop, comm, settings->time_limit, observer ? tell : NULL, run);
 *     while (!dist_stop_now(&stop)) {                       between rounds
 *         for (...) if (dist_stop_poll(&stop, n * d)) ...   inside loops that all ranks share
 *         body of a pass over the data: if (dist_stop_inside(&stop, worker)) return;
 *     }
 *
 * A call made within a long call stops with it: pass the stop on, or poll it in the observer.
 * attsvm_interrupt ends all of them as their observers would; with several ranks only calls with an
 * observer or a limit, because only these vote.
 */
#ifndef ATTSVM_DIST_STOP_H
#define ATTSVM_DIST_STOP_H

#include "base/base.h"

struct dist_comm;

/* Reports progress to the caller's observer; false: stop.  All ranks call it together. */
typedef bool dist_stop_ask(void *context);

typedef enum dist_stop_reason {
    DIST_GO_ON = 0,
    DIST_STOP_OBSERVER,
    DIST_STOP_TIME
} dist_stop_reason;

typedef struct dist_stop {
    dist_stop_ask *ask; /* NULL: no observer                                          */
    void *context;
    double limit; /* seconds; 0: none                                                    */
    double every; /* seconds between two calls of the observer inside loops; default 0.1 */
    struct dist_comm *comm;
    bool watched; /* some rank has an observer or a limit */
    double start, asked, work;
    int reason; /* dist_stop_reason                                                   */
} dist_stop;

/* Starts the clock.  Every rank calls it; `ask` may be NULL on some of them. */
void dist_stop_open(dist_stop *stop, struct dist_comm *comm, double limit, dist_stop_ask *ask,
                    void *context);

/* The caller's observer and the progress to report; the working code updates `done`. */
typedef struct dist_watch {
    attsvm_observer *observer; /* NULL: none */
    void *context;
    int64_t done, total;
} dist_watch;
/* dist_stop_open with such an observer. */
void dist_stop_watch(dist_stop *stop, struct dist_comm *comm, double limit, dist_watch *watch);

/* ATTSVM_E_STOPPED with the reason if the call must end; otherwise ATTSVM_OK. */
attsvm_status dist_stop_status(const dist_stop *stop, attsvm_error *err);

/* Why the call must end; DIST_GO_ON: it need not.  Any thread may call it. */
dist_stop_reason dist_stop_why(const dist_stop *stop);

/* The following return true once the call must end, and false for stop == NULL. */

/* Between rounds: asks the observer, reads the clock, and lets the ranks agree. */
bool dist_stop_now(dist_stop *stop);

/*
 * Inside loops, after about `work` multiplications, on the thread that opened the stop; asks every
 * `every` seconds.  Ranks must call it equally often with the same work: they vote after a fixed
 * amount of work, not by the clock, so that all vote at the same point.
 */
bool dist_stop_poll(dist_stop *stop, double work);

/*
 * Inside a block of a pass over the data (base_parallel), on any thread: worker 0 asks.  Ranks do
 * different work there, so with several ranks it is false until they have agreed elsewhere.
 */
bool dist_stop_inside(dist_stop *stop, int worker);

#endif
