/* Stopping long calls: observer, time limit, threads; ranks are in tests/dist. */
#include "unit.h"

#include "dist/dist.h"
#include "dist/stop.h"

#include <time.h>

typedef struct watcher {
    int asked, most; /* returns false after so many calls */
} watcher;

static bool ask(void *context)
{
    watcher *w = context;
    return ++w->asked <= w->most;
}

static void sleep_for(double seconds)
{
    nanosleep(&(struct timespec){ .tv_nsec = (long)(1e9 * seconds) }, NULL);
}

static void without_observer_and_limit_nothing_stops(void **state)
{
    (void)state;
    dist_stop stop;
    dist_stop_open(&stop, NULL, 0, NULL, NULL);
    assert_false(stop.watched || dist_stop_now(&stop) || dist_stop_poll(&stop, 1e300) ||
                 dist_stop_inside(&stop, 0));
    assert_false(dist_stop_now(NULL) || dist_stop_poll(NULL, 1) || dist_stop_inside(NULL, 0));
    assert_int_equal(dist_stop_why(NULL), DIST_GO_ON);
}

static void the_observer_is_asked_between_rounds(void **state)
{
    (void)state;
    watcher w = { .most = 3 };
    dist_stop stop;
    dist_stop_open(&stop, NULL, 0, ask, &w);
    for (int k = 0; k < 3; k++)
        assert_false(dist_stop_now(&stop));
    assert_true(dist_stop_now(&stop));
    assert_int_equal(dist_stop_why(&stop), DIST_STOP_OBSERVER);
    assert_true(dist_stop_now(&stop) && dist_stop_poll(&stop, 0) && dist_stop_inside(&stop, 3));
    assert_int_equal(w.asked, 4); /* not called again */
}

static void a_time_limit_ends_it_inside_loops(void **state)
{
    (void)state;
    dist_stop stop;
    dist_stop_open(&stop, NULL, 0.02, NULL, NULL);
    assert_false(dist_stop_poll(&stop, 1e9) || dist_stop_inside(&stop, 0));
    sleep_for(0.03);
    assert_false(dist_stop_poll(&stop, 1));   /* too little work to read the clock */
    assert_false(dist_stop_inside(&stop, 1)); /* another thread                       */
    assert_true(dist_stop_poll(&stop, 1e9));
    assert_true(dist_stop_inside(&stop, 1));
    assert_int_equal(dist_stop_why(&stop), DIST_STOP_TIME);
}

static void the_observer_is_asked_every_so_often_inside_loops(void **state)
{
    (void)state;
    watcher w = { .most = 1 };
    dist_stop stop;
    dist_stop_open(&stop, NULL, 0, ask, &w);
    stop.every = 0.01;
    assert_false(dist_stop_inside(&stop, 0) || dist_stop_poll(&stop, 1e9));
    assert_int_equal(w.asked, 0);
    sleep_for(0.02);
    assert_false(dist_stop_inside(&stop, 0));
    assert_false(dist_stop_inside(&stop, 0));
    assert_int_equal(w.asked, 1);
    sleep_for(0.02);
    assert_true(dist_stop_poll(&stop, 1e9));
    assert_int_equal(w.asked, 2);
}

/* In every call NULL means one process. */
static void no_communicator_is_one_process(void **state)
{
    (void)state;
    double x[2] = { 1, 2 }, y[2] = { 0, 0 };
    int64_t first[2] = { 0, 2 };
    attsvm_error err = { .message = "said" };
    dist_scaled sum = { x, 2, 0 };
    int64_t lo, hi;
    assert_true(dist_rank(NULL) == 0 && dist_size(NULL) == 1 && dist_volume(NULL) == 0);
    dist_sum(NULL, x, 2);
    dist_max(NULL, x, 2);
    dist_broadcast(NULL, x, sizeof x, 0);
    dist_gather(NULL, x, sizeof *x, NULL);
    dist_collect(NULL, x, y, sizeof *x, first);
    assert_ok(dist_reserve(NULL, 100, &err), err);
    dist_scaled_sum(NULL, &sum, 1);
    dist_share(NULL, 7, 0, &lo, &hi);
    assert_true(x[0] == 1 && x[1] == 2 && y[0] == 1 && y[1] == 2 && lo == 0 && hi == 7);
    assert_true(dist_any(NULL, true) && !dist_any(NULL, false) && dist_vote(NULL, 2) == 2);
    assert_int_equal(dist_agree(NULL, ATTSVM_E_DATA, &err), ATTSVM_E_DATA);
    assert_string_equal(err.message, "said");
    assert_true(dist_meet(NULL, 0));
    dist_abort(NULL, 1);
    dist_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_observer_and_limit_nothing_stops),
        cmocka_unit_test(the_observer_is_asked_between_rounds),
        cmocka_unit_test(a_time_limit_ends_it_inside_loops),
        cmocka_unit_test(the_observer_is_asked_every_so_often_inside_loops),
        cmocka_unit_test(no_communicator_is_one_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
