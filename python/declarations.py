"""The declarations of attsvm.h, as cffi reads them, and the C source of the extension module.

Everything here is derived from the public header when the extension is built, so the binding
cannot drift from the library: the C compiler checks every struct, constant and function that
cffi was told about against the header itself.
"""
import pathlib
import re

import cffi

# A call that can be interrupted gets its observers from here.  They are C functions, so that a
# short call never enters Python.  Every POLL_SECONDS they ask Python, which runs pending signal
# handlers (Ctrl-C) and says whether the call may go on.
OBSERVERS = r"""
#include <attsvm/attsvm.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The context of every observer: when Python was last asked, how often to ask, its key. */
typedef struct poll_state {
    double last, every;
    void *key;
} poll_state;

static bool due(poll_state *state)
{
    double t = now();
    if (t - state->last < state->every)
        return false;
    state->last = t;
    return true;
}

static void poll_start(poll_state *state, double every, void *key)
{
    state->last = now();
    state->every = every;
    state->key = key;
}
"""

OBSERVER_DECLARATIONS = """
typedef struct poll_state { double last, every; void *key; } poll_state;
static void poll_start(poll_state *state, double every, void *key);
"""


def observer(name, arguments):
    """An observer type of the header: C code, its declaration, that of its Python half."""
    names = [re.search(r"(\w+)$", argument.strip())[1] for argument in arguments]
    python = f"bool python_{name}({', '.join(['void *key'] + arguments[1:])})"
    c = (f"static bool poll_{name}({', '.join(arguments)})\n{{\n"
         f"    poll_state *state = {names[0]};\n"
         f"    return !due(state) || python_{name}({', '.join(['state->key'] + names[1:])});\n}}\n")
    return f"static {python};\n{c}", f"bool poll_{name}({', '.join(arguments)});\n", python + ";\n"


def header_declarations(text):
    """The header without comments, preprocessor lines and what only C++ sees."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    numbers = re.findall(r"^#define (ATTSVM_\w+) \d+$", text, flags=re.M)
    text = re.sub(r"^#.*(?:\\\n.*)*$", "", text, flags=re.M)
    text = re.sub(r"\bATTSVM_API\b", "", text)
    return "".join(f"#define {name} ...\n" for name in numbers) + text


def callbacks(text):
    """(C source, declarations, "Python" declarations) of observer types and callback structs."""
    source, declared, python = "", "", ""
    for name, arguments in re.findall(r"typedef bool attsvm_(\w*observer)\(([^;]*)\);", text):
        one = observer(name, [" ".join(a.split()) for a in arguments.split(",")])
        source, declared, python = source + one[0], declared + one[1], python + one[2]
    for body, name in re.findall(r"typedef struct \w+ \{([^}]*)\} attsvm_(\w+)_callback;", text):
        kind, arguments = re.search(r"(\w+) \(\*value\)\(([^)]*)\)", body).groups()
        python += f"{kind} python_{name}({' '.join(arguments.split())});\n"
    return source, declared, python


def tables(text):
    """(C source, declarations) of table_NAME(): cffi has no address of a constant."""
    names = re.search(r"extern const attsvm_settings_table ([^;]*);", text)[1]
    source, declared = "", ""
    for name in re.findall(r"attsvm_(\w+)_table", names):
        head = f"static const attsvm_settings_table *table_{name}(void)"
        source += f"{head}\n{{\n    return &attsvm_{name}_table;\n}}\n"
        declared += head.replace("static ", "") + ";\n"
    return source, declared


def make_ffi(header: pathlib.Path, **link):
    """The cffi builder; `link` are the arguments of the compiler and the linker."""
    text = header_declarations(header.read_text(encoding="utf-8"))
    source, declared, python = callbacks(text)
    table_source, table_declared = tables(text)
    ffi = cffi.FFI()
    ffi.cdef(text)
    ffi.cdef(OBSERVER_DECLARATIONS + declared + table_declared)
    ffi.cdef('extern "Python" {\n' + python + "}\n")
    ffi.set_source("attsvm._attsvm", OBSERVERS + source + table_source, py_limited_api=True, **link)
    return ffi
