/* Errors: the version, names of statuses, and messages. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TEXT(x)                      #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *attsvm_version(void)
{
    return VERSION(ATTSVM_VERSION_MAJOR, ATTSVM_VERSION_MINOR, ATTSVM_VERSION_PATCH);
}

attsvm_status base_fail(attsvm_error *err, attsvm_status status, const char *format, ...)
{
    if (err) {
        va_list args;
        va_start(args, format);
        vsnprintf(err->message, sizeof err->message, format, args);
        va_end(args);
        err->status = status;
    }
    return status;
}

attsvm_status base_check_finite(const double *x, int64_t count, const char *name, attsvm_error *err)
{
    for (int64_t k = 0; k < count; k++)
        if (!isfinite(x[k]))
            return fail(err, ATTSVM_E_ARG, "%s[%" PRId64 "] is %g; expected a finite number", name,
                        k, x[k]);
    return ATTSVM_OK;
}

attsvm_status base_fail_in(attsvm_error *err, attsvm_status status, const char *context)
{
    if (err) {
        char inner[sizeof err->message];
        memcpy(inner, err->message, sizeof inner);
        /* a message that is too long loses its end */
        int written = snprintf(err->message, sizeof err->message, "%s: ", context);
        size_t used = written < 0 ? 0 : (size_t)written;
        if (used < sizeof err->message)
            snprintf(err->message + used, sizeof err->message - used, "%s", inner);
        err->status = status;
    }
    return status;
}

const char *attsvm_status_name(attsvm_status status)
{
    switch (status) {
    case ATTSVM_OK: return "ok";
    case ATTSVM_E_ARG: return "bad argument";
    case ATTSVM_E_OPEN: return "cannot open";
    case ATTSVM_E_FORMAT: return "bad format";
    case ATTSVM_E_DATA: return "bad data";
    case ATTSVM_E_MEMORY: return "no memory";
    case ATTSVM_E_DISK: return "disk error";
    case ATTSVM_E_NUMERIC: return "numerical failure";
    case ATTSVM_E_STOPPED: return "stopped";
    }
    return NULL;
}
