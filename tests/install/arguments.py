"""Every public function with every argument wrong in turn.

    arguments.py HEADER LIBRARY-FOLDER COMPILER [FUNCTION...]

Wrong are: NULL; -1, INT64_MAX and numbers that name nothing; every field of an open struct; arrays with NULL, -1,
INT64_MAX, NaN or infinity inside; a run that has not started, or has; objects of another data set.

The calls are made from the declarations of the header, the other arguments being right, each in a process of
its own.  None may crash.  A call that returns a status reports NULL with ATTSVM_E_ARG and a message, unless the
header allows it there.  After any failure the objects that a call creates are NULL.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

# What a right argument is, by function and name, by name, or by type.
VALUES = {
    "attsvm_data_read.path": '"data.npz"', "attsvm_archive_open.path": '"data.npz"',
    "attsvm_samples_read.path": '"bags.npz"', "attsvm_train_load.path": '"run.npz"',
    "attsvm_solution_load.path": '"solution.npz"', "attsvm_verdict_load.path": '"verdict.npz"',
    "attsvm_enumeration_load.path": '"list.npz"', "attsvm_path_load.file": '"path.npz"',
    "attsvm_classifier_load.path": '"classifier.npz"', "attsvm_origin_read.path": '"run.npz"',
    "attsvm_patches_cut.from": '"images.npz"', "attsvm_kernels_select.name": '"baseline"',
    "attsvm_settings_set.name": '"tol"', "attsvm_settings_set.value": '"1e-9"',
    "attsvm_settings_set.table": "&attsvm_svm_table", "attsvm_settings_get.name": '"tol"',
    "attsvm_settings_init.settings": "&a_svm", "attsvm_settings_check.settings": "&a_svm",
    "attsvm_settings_set.settings": "&a_svm", "attsvm_settings_get.settings": "&a_svm",
    "attsvm_file_write.size": "5", "attsvm_data_create.arrays": "arrays", "attsvm_data_create.count": "3",
    "attsvm_train_start.arrays": "&start", "attsvm_train_start.train": "fresh",
    "attsvm_train_schedule.train": "fresh", "attsvm_train_run.train": "fresh",
    "attsvm_train_run_batch.runs": "&fresh", "attsvm_exchangeable_compute.run": "fresh",
    "attsvm_train_continue.iters": "320", "attsvm_joint_compute.run": "joint_run",
    "attsvm_train_limit.train": "&a_train", "attsvm_landscape_compute.samples": "2",
    "attsvm_problem_solve_batch.problems": "&problem", "attsvm_problem_solve_batch.out": "solutions",
    "attsvm_data_subset.count": "2", "attsvm_data_with_head.count": "5", "attsvm_correlation.count": "5",
    "attsvm_solution_compare.count": "5", "attsvm_optimality_compute.capacity": "8",
    "attsvm_cv_run.settings": "&a_cv", "attsvm_cv_run.fit": "&a_fit", "attsvm_cv_run.fold": "NULL",
    "attsvm_classifier_fit.settings": "&a_fit", "attsvm_cv_run.inst": "NULL",
    "attsvm_measure.n": "8", "attsvm_measure.classes": "2", "attsvm_cv_folds.classes": "2",
    "attsvm_cv_folds.n": "8", "attsvm_cv_folds.folds": "2", "attsvm_cv_compare.n": "8",
    "attsvm_cv_compare.repeats": "1", "attsvm_measure_hits.classes": "2", "attsvm_samples_texts.n": "2",
    "attsvm_samples_read.model": "NULL", "attsvm_samples_texts.model": "NULL",
    "attsvm_samples_parse.bytes": '"yes\\tgood film\\nno\\tbad film\\n"',
    "attsvm_samples_parse.size": "27", "attsvm_samples_parse.model": "NULL", "attsvm_classifier_save.settings": '"{}"',
    "attsvm_multi_token_compare.settings": "&default_attsvm_svm_settings", "attsvm_enumerate.svm": "&a_svm",
    "attsvm_path_follow.selection": "NULL", "attsvm_verdict_compute.svm": "&a_svm",
    "attsvm_problem_solve.warm": "NULL", "attsvm_archive_write.arrays": "arrays",
    "attsvm_archive_write.count": "3", "attsvm_verdict_compute.solution": "&slot_attsvm_solution",
    "attsvm_joint_compute.solution": "&slot_attsvm_solution", "attsvm_file_check.content": "ATTSVM_FILE_RESULT",
    "attsvm_classifier_adopt.classifier": "worded", "attsvm_chosen_create.source": '"opt"',
    "attsvm_graph_compare.finite": "W", "attsvm_graph_compare.direction": "W",
    "attsvm_train_compare.run": "run", "attsvm_format_holds.path": '"x.npz"',
    "path": '"attack.npz"', "file": '"attack.npz"', "to": '"attack.npz"', "name": '"X"', "source": '"opt"',
    "more": "arrays", "count": "1", "err": "&err", "observer": "NULL", "context": "NULL", "loss": "NULL",
    "head": "NULL", "threads": "1", "size": "sizeof text", "bytes": '"bytes"', "label": "label",
    "label.const char *const *": "kinds", "text": "texts", "names": "kinds", "array": "&arrays[0].array",
    "inst": "&inst", "array_count": "1", "table": "&attsvm_svm_table",
}
TYPES = {
    "attsvm_data": "data", "attsvm_graph": "graph", "attsvm_train": "run", "attsvm_solution": "solution",
    "attsvm_settings_table": "&attsvm_svm_table", "attsvm_setting": "attsvm_svm_table.fields",
    "attsvm_svm_settings": "&a_svm", "attsvm_train_settings": "&a_train", "attsvm_selection": "&selection",
    "attsvm_claim": "&claim", "attsvm_schedule_callback": "&schedule", "attsvm_targets": "&targets",
    "attsvm_support": "support", "attsvm_named_array": "arrays", "attsvm_array": "&arrays[0].array",
}
# Where the header allows NULL besides err, settings, observers and contexts.
ALLOWED = {"warm", "loss", "head", "ties", "gradient", "support", "claimed", "W_fin", "W_svm", "sets", "fold",
           "inst", "confusion", "model", "source"}
ALLOWED_AT = {"attsvm_origin_check.svm",
              "attsvm_verdict_compute.svm", "attsvm_verdict_compute.solution", "attsvm_joint_compute.solution",
              "attsvm_path_follow.selection", "attsvm_train_compare.solution", "attsvm_samples_texts.label",
              "attsvm_cv_run.fit", "attsvm_enumerate.svm", "attsvm_classifier_save.settings",
              "attsvm_classifier_name_classes.names", "attsvm_samples_texts.label[]"}
# Lengths of arrays: only -1 is wrong about them whatever the array is.
LENGTHS = {"count", "n", "classes", "repeats", "capacity", "size"}
# Structs that the library has, and callers only pass on.
CONSTANT = {"attsvm_settings_table", "attsvm_setting"}
# Fields that are lengths of arrays or numbers of steps: a larger one promises more than there is, or takes its time.
LONG = {"n", "terms", "cells", "classes", "count", "theta_count", "active_count", "equal_count", "ndim", "shape",
        "iters", "max_iter", "samples", "starts", "heads", "iterations", "folds", "repeats", "descent", "steps",
        "max_selections", "descent_runs", "T", "d", "queries", "vocabulary", "size", "stride"}
# Objects that do not fit the others of a call.
OTHERS = {"run": ["fresh", "joint_run"], "fresh": ["run"], "&fresh": ["&run"], "joint_run": ["run", "fresh"],
          "data": ["words", "other"], "solution": ["other_solution"], "scores": ["other_scores"],
          "classifier": ["worded"], "worded": ["classifier"]}
# Numbers of steps: a large one is right, and takes its time.
ENDLESS = {"attsvm_train_continue.iters", "attsvm_landscape_compute.samples"}


def declarations(text):
    """(type, name, [(type, name)]) of every public function."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    for kind, name, arguments in re.findall(r"ATTSVM_API ([^;(]*?)(attsvm_\w+)\(([^;]*)\);", text):
        found = []
        for argument in re.split(r",(?![^\[]*\])", " ".join(arguments.split())):
            match = re.fullmatch(r"(.*?)(\w+)((?:\[\w*\])?)", argument.strip())
            if argument.strip() != "void":
                found.append((match[1].strip() + (" *" if match[3] else ""), match[2]))
        yield " ".join(kind.split()), name, found


def right(function, kind, name):
    """The C expression of a right argument."""
    bare = re.sub(r"\bconst\b|\bstruct\b|[\s*]", "", kind)
    stars = kind.count("*")
    keys = [f"{function}.{name}", f"{name}.{kind}"]
    if bare not in OPAQUE and kind != "int64_t *":
        keys.append(name)
    for key in keys:
        if key in VALUES:
            return VALUES[key]
    if stars == 2 and bare.startswith("attsvm_"):
        return f"&slot_{bare}"
    if stars == 1 and bare in TYPES:
        return TYPES[bare]
    if stars == 1 and bare.startswith("attsvm_") and bare.endswith("_settings"):
        return f"&default_{bare}"
    if stars == 1 and bare in OPAQUE:
        return bare[len("attsvm_"):]
    if stars == 1 and bare.startswith("attsvm_"):
        return f"&out_{bare}"
    if stars:
        return {"char": "text", "int64_t": "numbers", "double": "W", "uint8_t": "octets", "bool": "&flag",
                "void": "&a_svm"}[bare]
    return "(enum " + bare + ")1" if bare.startswith("attsvm_") else "0"


def fields_of(text):
    """{struct: [(type, stars, field, entries)]} of the open structs."""
    found = {}
    for name, body in re.findall(r"^typedef struct (attsvm_\w+) \{\n(.*?)^\} ", text, flags=re.M | re.S):
        found[name] = []
        for line in " ".join(body.split()).split(";"):
            match = re.match(r"((?:const |struct )*)(\w+) (.*)", line.strip())
            for part in match[3].split(",") if match and "(" not in line else []:
                field = re.fullmatch(r"(\**)(?:const \*)?(\w+)((?:\[\w+\])?)", part.strip())
                if field and field[2] not in ("reserved", "padding"):
                    found[name].append((match[2], len(field[1]), field[2], field[3]))
        if "(*value)" in body:
            found[name].append(("void", 1, "value", ""))
    return found


def spoilt(struct, path=""):
    """(field, wrong value) of a struct and of the structs in it."""
    for kind, stars, field, entries in FIELDS[struct]:
        place = path + field + ("[0]" if entries else "")
        if stars:
            yield place, "NULL"
        elif kind in FIELDS:
            yield from spoilt(kind, place + ".")
        elif kind == "double":
            yield from ((place, value) for value in ("NAN", "INFINITY", "-1"))
        elif kind in ("int64_t", "int32_t") or kind.startswith("attsvm_"):
            if field in LONG:
                yield from ((place, value) for value in ("-1", "0"))
            else:
                yield from ((place, value) for value in ("-1", "77", "INT32_MAX"))


def inside(function, kind, name):
    """(C expression, description) of an argument that is wrong inside."""
    bare, given = re.sub(r"\bconst\b|[\s*]", "", kind), right(function, kind, name)
    stars = kind.count("*")
    if stars == 1 and kind.startswith("const") and bare in FIELDS and bare not in CONSTANT and given != "NULL":
        for place, value in spoilt(bare):
            size = "sizeof arrays" if given == "arrays" else f"sizeof *({given})"
            yield f"({{ static {bare} wrong[3]; memcpy(wrong, {given}, {size}); wrong->{place} = {value}; wrong; }})", \
                f"{name}->{place} = {value}"
    elif kind in ("const double *", "const int64_t *") and given != "NULL":
        for value in ("NAN", "INFINITY", "1e308") if "double" in kind else ("-1", "INT64_MAX"):
            scalar = kind.split()[1]
            yield f"({{ static {scalar} wrong[256]; for (int k = 0; k < 256; k++) wrong[k] = {value}; wrong; }})", \
                f"{name}[] = {value}"
    elif kind in ("const char *const *", f"{bare} *const *"):
        yield "({ static void *wrong[256]; (void *)wrong; })", f"{name}[] = NULL"
    elif given in OTHERS:
        for other in OTHERS[given]:
            yield other, f"{name} = {other}"
    elif kind == "const char *" and given != "NULL":
        yield from ((f'"{value}"', f'{name} = "{value}"') for value in ("", "\\xff\\x1b[2J", "no/such.npz"))


def wrong(function, kind, name):
    """The C expressions of wrong arguments."""
    if "*" in kind or kind.endswith("observer"):
        return ["NULL"]
    if kind in ("int64_t", "int"):
        return ["-1"] if name in LENGTHS or f"{function}.{name}" in ENDLESS else ["-1", "INT64_MAX"]
    if kind.startswith("attsvm_"):
        return [f"(enum {kind})-1", f"(enum {kind})1000"]
    return ["0"]


def attack(kind, function, arguments, place, value, what, allowed):
    """C code of one call whose argument at `place` is `value`."""
    given = [right(function, *a) for a in arguments]
    given[place] = value
    call = f"{function}({', '.join(given)})"
    name = arguments[place][1]
    made = [right(function, *a) for k, a in enumerate(arguments)
            if k != place and name != "count" and re.search(r"attsvm_\w+ \*\*$", a[0])]
    before = "".join(f"*(void **)({slot}) = data, " for slot in made)
    empty = " && ".join(f"!*(void **)({slot})" for slot in made) or "true"
    body = f"(void){call}, _exit(0)"
    if kind == "attsvm_status":
        body = f"{before}status = {call}, returned(status, {int(allowed)}, {int(name == 'err')}, {empty})"
    text = what.replace("\\", "/").replace('"', "'")
    return f'    if (attack("{function}", "{text}"))\n        {body};\n'


def calls(found):
    """C code: one attack for every wrong argument."""
    code, total = "", 0
    for kind, function, arguments in found:
        for place, (type_, name) in enumerate(arguments):
            may = name in ALLOWED or f"{function}.{name}" in ALLOWED_AT or \
                name in ("err", "settings", "observer", "context")
            for value in wrong(function, type_, name):
                if not function.endswith("_free") or value == "NULL":
                    code += attack(kind, function, arguments, place, value, f"{name} = {value}",
                                   may or value != "NULL")
                    total += 1
            for value, what in inside(function, type_, name) if not function.endswith("_free") else ():
                code += attack(kind, function, arguments, place, value, what, what != f"{name}[] = NULL" or
                               f"{function}.{name}[]" in ALLOWED_AT)
                total += 1
    return code, total


HERE = pathlib.Path(__file__).parent
header, library, compiler = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
text = header.read_text()
OPAQUE = set(re.findall(r"^typedef struct (attsvm_\w+) attsvm_\w+;", text, flags=re.M))
FIELDS = fields_of(re.sub(r"/\*.*?\*/", "", text, flags=re.S))
OPEN = re.findall(r"^typedef struct (attsvm_\w+) \{", text, flags=re.M)
code, total = calls([f for f in declarations(text) if len(sys.argv) < 5 or f[1] in sys.argv[4:]])
SETTINGS = [name for name in OPEN if name.endswith("_settings")]
slots = "".join(f"static {name} *slot_{name};\n" for name in sorted(OPAQUE)) + \
    "".join(f"static {name} out_{name};\n" for name in OPEN) + \
    "".join(f"static {name} default_{name};\n" for name in SETTINGS)
defaults = "".join(f"    {name}_init(&default_{name});\n" for name in SETTINGS)
program = (HERE / "arguments.c").read_text().replace("/* SLOTS */", slots).replace("/* CALLS */", code) \
    .replace("/* DEFAULTS */", defaults)
with tempfile.TemporaryDirectory() as top:
    folder = pathlib.Path(top)
    (folder / "arguments.c").write_text(program)
    subprocess.run([compiler, "-std=gnu17", "-Wall", "-Wno-unused", "-Wno-nonnull", "-Wno-stringop-overread",
                    "-Wno-overflow", "-g", "-I", header.parent.parent,
                    "-o", folder / "arguments", folder / "arguments.c", "-L", library,
                    f"-Wl,-rpath,{library}", "-lattsvm", "-lm"], check=True)
    done = subprocess.run([folder / "arguments"], cwd=folder)
print(f"{total} calls with a wrong argument")
sys.exit(done.returncode)
