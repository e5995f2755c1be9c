/*
 * The one file in C++: Clp throws std::bad_alloc where memory runs out, and C cannot catch it.  A
 * program that an exception of ours went through would be ended.
 */
#include <new>

extern "C" int clp_guard(void (*body)(void *context), void *context);

extern "C" int clp_guard(void (*body)(void *context), void *context)
{
    try {
        body(context);
        return 0;
    } catch (const std::bad_alloc &) {
        return 1;
    } catch (...) {
        return 2;
    }
}
