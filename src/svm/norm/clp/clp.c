/* Loads Clp and catches its exceptions (clp.h). */
#include "svm/norm/clp/clp.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static clp_calls calls;
static bool loaded;

static attsvm_status find_calls(void *library, attsvm_error *err)
{
    static const char *const names[] = {
#define CALL(name) "Clp_" #name,
        CLP_CALLS(CALL)
#undef CALL
    };
    enum { COUNT = sizeof names / sizeof *names };
    void *found[COUNT];
    _Static_assert(sizeof found == sizeof calls, "the table holds pointers to functions alone");
    for (int k = 0; k < COUNT; k++) {
        found[k] = dlsym(library, names[k]);
        if (!found[k])
            return fail(err, ATTSVM_E_OPEN, "%s has no %s", ATTSVM_CLP_FILE, names[k]);
    }
    memcpy(&calls, found, sizeof calls);
    return ATTSVM_OK;
}

/*
 * Loading Clp runs code of the libraries that it needs, and the run-time library of Fortran among
 * them ends the process where it gets no memory.  Nothing can catch that; so we make sure that
 * there is memory for all of them before we begin.
 */
static bool has_room(void)
{
    const size_t needed = (size_t)64 << 20; /* address space of Clp and the libraries it loads */
    void *room = mmap(NULL, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return room != MAP_FAILED && munmap(room, needed) == 0;
}

static attsvm_status load(attsvm_error *err)
{
    if (loaded)
        return ATTSVM_OK;
    if (!has_room())
        return fail(err, ATTSVM_E_MEMORY, "no memory to load Clp, which norms l1 and linf need");
    void *library = dlopen(ATTSVM_CLP_FILE, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        const bool memory = !why || strstr(why, "memory") || strstr(why, "failed to map");
        return fail(err, memory ? ATTSVM_E_MEMORY : ATTSVM_E_OPEN,
                    "norms l1 and linf need Clp (Debian: coinor-libclp1): %s",
                    why ? why : ATTSVM_CLP_FILE " cannot be loaded");
    }
    TRY(find_calls(library, err)); /* it stays loaded */
    loaded = true;
    return ATTSVM_OK;
}

attsvm_status clp_load(const clp_calls **out, attsvm_error *err)
{
    pthread_mutex_lock(&lock);
    attsvm_status status = load(err);
    pthread_mutex_unlock(&lock);
    *out = status == ATTSVM_OK ? &calls : NULL;
    return status;
}

/* guard.cc: 0, 1 for std::bad_alloc, 2 for any other exception. */
int clp_guard(void (*body)(void *context), void *context);

attsvm_status clp_run(void (*body)(void *context), void *context, attsvm_error *err)
{
    switch (clp_guard(body, context)) {
    case 0: return ATTSVM_OK;
    case 1: return fail(err, ATTSVM_E_MEMORY, "linear program: no memory");
    default: return fail(err, ATTSVM_E_NUMERIC, "linear program: Clp failed");
    }
}
