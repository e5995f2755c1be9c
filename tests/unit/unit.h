/* Included by every cmocka program, in the order that cmocka requires. */
#ifndef ATTSVM_UNIT_H
#define ATTSVM_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BASE_LONG_NAMES /* `fail` is cmocka's here; ours is base_fail */

/* Statistical tests make all their runs in `make test-all`, which sets ATTSVM_LONG, and a few
   otherwise. */
static inline int64_t long_or_short(int64_t many, int64_t few)
{
    return getenv("ATTSVM_LONG") ? many : few;
}

/* |a - b| <= tolerance; the cmocka of Debian 12 does not have it yet. */
#ifndef assert_double_equal
#define assert_double_equal(a, b, tolerance)                                                       \
    do {                                                                                           \
        double a_ = (a), b_ = (b), tolerance_ = (tolerance);                                       \
        if (!(fabs(a_ - b_) <= tolerance_))                                                        \
            fail_msg("%s = %.17g, not %.17g +- %g", #a, a_, b_, tolerance_);                       \
    } while (0)
#endif

/* The call works; otherwise its message is shown. */
#define assert_ok(call, err)                                                                       \
    do {                                                                                           \
        attsvm_status ok_ = (call);                                                                \
        if (ok_ != ATTSVM_OK)                                                                      \
            fail_msg("%s: status %d, %s", #call, (int)ok_, (err).message);                         \
    } while (0)

/* The call fails with that status and a message that contains `text`. */
#define assert_fails(call, err, expected, text)                                                    \
    do {                                                                                           \
        attsvm_status failed_ = (call);                                                            \
        if (failed_ != (expected))                                                                 \
            fail_msg("%s: status %d instead of %d", #call, (int)failed_, (int)(expected));         \
        if (!strstr((err).message, text))                                                          \
            fail_msg("%s: message \"%s\" does not say \"%s\"", #call, (err).message, text);        \
    } while (0)

#endif
