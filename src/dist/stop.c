#include "dist/stop.h"

#include "dist/dist.h"

static const double standard_every = 0.1;
/* Multiplications between two readings of the clock (about ten microseconds), and between two votes
   of the ranks (a millisecond or more). */
static const double clock_work = 1e5, vote_work = 2e6;

void dist_stop_open(dist_stop *stop, struct dist_comm *comm, double limit, dist_stop_ask *ask,
                    void *context)
{
    double now = base_seconds();
    *stop = (dist_stop){ .ask = ask,
                         .context = context,
                         .limit = limit,
                         .every = standard_every,
                         .comm = comm,
                         .start = now,
                         .asked = now };
    stop->watched = dist_any(comm, ask || limit > 0);
}

static bool tell(void *context)
{
    dist_watch *watch = context;
    int64_t done = __atomic_load_n(&watch->done, __ATOMIC_RELAXED);
    return watch->observer(watch->context, done, watch->total);
}

void dist_stop_watch(dist_stop *stop, struct dist_comm *comm, double limit, dist_watch *watch)
{
    dist_stop_open(stop, comm, limit, watch->observer ? tell : NULL, watch);
}

attsvm_status dist_stop_status(const dist_stop *stop, attsvm_error *err)
{
    switch (dist_stop_why(stop)) {
    case DIST_STOP_OBSERVER: return fail(err, ATTSVM_E_STOPPED, "stopped by its observer");
    case DIST_STOP_TIME:
        return fail(err, ATTSVM_E_STOPPED, "the time limit of %g seconds was reached", stop->limit);
    case DIST_GO_ON: break;
    }
    return ATTSVM_OK;
}

dist_stop_reason dist_stop_why(const dist_stop *stop)
{
    return stop ? (dist_stop_reason)__atomic_load_n(&stop->reason, __ATOMIC_RELAXED) : DIST_GO_ON;
}

static bool is_late(const dist_stop *stop, double now)
{
    return stop->limit > 0 && now - stop->start > stop->limit;
}

/* Asks the observer if it is due on some rank, and reads the clock; the ranks agree on the answer.
 */
static bool decide(dist_stop *stop, bool due)
{
    int reason = DIST_GO_ON;
    if (dist_vote(stop->comm, due)) {
        if (stop->ask && !stop->ask(stop->context))
            reason = DIST_STOP_OBSERVER;
        stop->asked = base_seconds();
    }
    if (attsvm_interrupted())
        reason = DIST_STOP_OBSERVER;
    if (is_late(stop, base_seconds()))
        reason = DIST_STOP_TIME;
    reason = dist_vote(stop->comm, reason);
    __atomic_store_n(&stop->reason, reason, __ATOMIC_RELAXED);
    return reason != DIST_GO_ON;
}

/* Only one process may end without a vote. */
static bool is_interrupted(dist_stop *stop)
{
    if (!attsvm_interrupted() || dist_size(stop->comm) > 1)
        return false;
    int go_on = DIST_GO_ON;
    __atomic_compare_exchange_n(&stop->reason, &go_on, DIST_STOP_OBSERVER, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
    return true;
}

bool dist_stop_now(dist_stop *stop)
{
    if (stop && is_interrupted(stop))
        return true;
    if (!stop || !stop->watched)
        return false;
    return dist_stop_why(stop) != DIST_GO_ON || decide(stop, true);
}

/* Reads the clock; decides if the observer is due or the time limit is reached. */
static bool look(dist_stop *stop)
{
    double now = base_seconds();
    bool due = stop->ask && now - stop->asked > stop->every;
    return (due || is_late(stop, now)) && decide(stop, due);
}

bool dist_stop_poll(dist_stop *stop, double work)
{
    if (stop && is_interrupted(stop))
        return true;
    if (!stop || !stop->watched)
        return false;
    if (dist_stop_why(stop) != DIST_GO_ON)
        return true;
    const bool alone = dist_size(stop->comm) == 1;
    stop->work += work;
    if (stop->work < (alone ? clock_work : vote_work))
        return false;
    stop->work = 0;
    return alone ? look(stop)
                 : decide(stop, stop->ask && base_seconds() - stop->asked > stop->every);
}

bool dist_stop_inside(dist_stop *stop, int worker)
{
    if (stop && is_interrupted(stop))
        return true;
    if (!stop || !stop->watched)
        return false;
    if (dist_stop_why(stop) != DIST_GO_ON)
        return true;
    return worker == 0 && dist_size(stop->comm) == 1 && look(stop);
}
