/*
 * Stopping a long call: by its observer, by its time limit, and with ranks for all of them at once.
 * Every long call opens one and asks it in its loops; the stop says no more than that it is time.
 *
 *     dist_stop stop;
 *     dist_stop_open(&stop, comm, settings->time_limit, observer ? tell : NULL, run);
 *     while (!dist_stop_now(&stop)) {                       between rounds
 *         for (...) if (dist_stop_poll(&stop, n * d)) ...   inside loops that all ranks share
 *         body of a pass over the data: if (dist_stop_inside(&stop, worker)) return;
 *     }
 *
 * A call made within a long call is stopped with it: hand the stop on, or poll it in the observer.
 * attsvm_interrupt ends them all, as their observers would; of several ranks only calls that have
 * an observer or a limit, which vote.
 */
#ifndef ATTSVM_DIST_STOP_H
#define ATTSVM_DIST_STOP_H

#include "base/base.h"

struct dist_comm;

/* Tells the caller's observer how far the call is; false: stop.  With ranks all call it at once. */
typedef bool dist_stop_ask(void *context);

typedef enum dist_stop_reason {
    DIST_GO_ON = 0,
    DIST_STOP_OBSERVER,
    DIST_STOP_TIME
} dist_stop_reason;

typedef struct dist_stop {
    dist_stop_ask *ask; /* NULL: no observer                                          */
    void *context;
    double limit; /* seconds; 0: none                                                 */
    double every; /* seconds between two questions inside loops; 0.1, may be changed  */
    struct dist_comm *comm;
    bool watched; /* on some rank there is an observer or a limit                     */
    double start, asked, work;
    int reason; /* dist_stop_reason                                                   */
} dist_stop;

/* The clock starts here.  Every rank calls it; ask may be NULL on some of them. */
void dist_stop_open(dist_stop *stop, struct dist_comm *comm, double limit, dist_stop_ask *ask,
                    void *context);

/* The caller's observer, and what to tell it.  Whoever works counts `done`. */
typedef struct dist_watch {
    attsvm_observer *observer; /* NULL: none */
    void *context;
    int64_t done, total;
} dist_watch;
/* dist_stop_open with such an observer. */
void dist_stop_watch(dist_stop *stop, struct dist_comm *comm, double limit, dist_watch *watch);

/* ATTSVM_E_STOPPED with the reason, where the call is to end; otherwise ATTSVM_OK. */
attsvm_status dist_stop_status(const dist_stop *stop, attsvm_error *err);

/* Why the call is to end; DIST_GO_ON: it is not.  May be called by any thread. */
dist_stop_reason dist_stop_why(const dist_stop *stop);

/* The following return true once the call is to end, and are false for stop == NULL. */

/* Between rounds: asks the observer, looks at the clock, and the ranks agree. */
bool dist_stop_now(dist_stop *stop);

/*
 * Inside loops, after about `work` multiplications, by the thread that opened the stop; it asks
 * every `every` seconds.  Ranks must call it equally often with the same work: they agree after a
 * fixed amount of it, not by their clocks, so that all do so at the same point.
 */
bool dist_stop_poll(dist_stop *stop, double work);

/*
 * Inside a block of a pass over the data (base_parallel), by any thread: worker 0 asks.  With
 * ranks, which have different work there, it is false until they have agreed elsewhere.
 */
bool dist_stop_inside(dist_stop *stop, int worker);

#endif
