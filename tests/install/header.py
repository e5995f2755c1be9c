"""Programs made from the public header, compiled against a library and run.

    header.py examples HEADER LIBRARY-FOLDER COMPILER   the examples of all sections, as one program
    header.py old HEADER LIBRARY-FOLDER COMPILER        a program that is older than some fields
    header.py layout HEADER COMPILER SIZES [--update]   sizes of open structs, as SIZES has them
"""
import pathlib
import re
import subprocess
import sys
import tempfile

PRELUDE = """
#include <attsvm/attsvm.h>
#undef NDEBUG
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static attsvm_data *example_data(void)
{
    attsvm_generate_settings settings;
    attsvm_data *data = NULL;
    attsvm_generate_settings_init(&settings);
    settings.kind = ATTSVM_PLANTED_P;
    settings.n = 8;
    settings.T = 4;
    settings.d = 5;
    settings.optimal = true;
    attsvm_data_generate(&data, &settings, NULL);
    return data;
}

#define must(call) ((call) == ATTSVM_OK ? (void)0 : (fprintf(stderr, "%s: %s\\n", #call, err.message), exit(1)))
"""
FREED = {"archive": "archive", "small": "data", "problem": "problem", "solution": "solution", "model": "model",
         "limit": "solution", "again": "train", "run": "train", "path": "path", "graph": "graph",
         "words": "data", "prediction": "prediction", "cv": "cv", "classifier": "classifier", "reader": "classifier",
         "samples": "samples", "data": "data"}


def sections(text):
    """(title, code of the example or None) of every section of the header."""
    parts = re.split(r"^/\* -{10,} (.*) \*/$", text, flags=re.M)
    for title, body in zip(parts[1::2], parts[2::2]):
        found = re.search(r"^/\*\n \* Example: .*?\n \*\n(.*?)^ \*/$", body, flags=re.M | re.S)
        yield title, found and re.sub(r"^ \*(?: {5})?", "", found[1], flags=re.M)


def build(source, folder, include, library, compiler, name):
    """Compiles `source` and runs it in `folder`; returns what it prints."""
    (folder / f"{name}.c").write_text(source)
    subprocess.run([compiler, "-std=c17", "-Wall", "-Wextra", "-Werror", "-g", "-I", include, "-o", folder / name,
                    folder / f"{name}.c", "-L", library, f"-Wl,-rpath,{library}", "-lattsvm", "-lm"],
                   check=True)
    return subprocess.run([folder / name], cwd=folder, check=True, stdout=subprocess.PIPE, text=True).stdout


def examples(header, library, compiler):
    found = list(sections(header.read_text()))
    missing = [title for title, code in found if not code]
    if missing:
        sys.exit(f"FAILED: no example in the sections: {', '.join(missing)}")
    body = "".join("\n    /* " + title + " */\n" + re.sub("^(?=.)", "    ", code, flags=re.M)
                   for title, code in found)
    frees = "".join(f"    attsvm_{kind}_free({name});\n" for name, kind in FREED.items())
    program = (PRELUDE + "\nint main(void)\n{\n    attsvm_data *data = example_data();\n    assert(data);\n" +
               body + frees + "    return 0;\n}\n")
    with tempfile.TemporaryDirectory() as top:
        build(program, pathlib.Path(top), header.parent.parent, library, compiler, "examples")
    print(f"{len(found)} examples compiled, run and checked")


# A program that trains, solves and judges.  Compiled against a header in which the last fields of its
# structs do not exist yet, it must print what it prints with today's.
PROGRAM = PRELUDE + """
int main(void)
{
    attsvm_error err;
    attsvm_data *data = example_data();
    attsvm_train_settings how;
    attsvm_train *run;
    attsvm_verdict verdict;
    attsvm_solution *solution;
    attsvm_report report;
    attsvm_check_settings check;
    attsvm_train_settings_init(&how);
    attsvm_check_settings_init(&check);
    how.iters = 300;
    check.tol = 1e-10;
    must(attsvm_train_create(&run, data, &how, NULL, NULL, &err));
    must(attsvm_train_run(run, NULL, NULL, &err));
    must(attsvm_verdict_compute(&verdict, run, NULL, NULL, NULL, &solution, &err));
    const attsvm_claim claim = attsvm_solution_claim(solution);
    must(attsvm_check(&report, data, &claim, &check, NULL, NULL, &err));
    const attsvm_train_info info = attsvm_train_describe(run);
    const attsvm_svm_info svm = attsvm_solution_describe(solution);
    printf("%a %a %a %d %a %a %lld\\n", info.loss, info.norm, verdict.correlation, report.valid, report.gap,
           svm.norm, (long long)attsvm_data_describe(data).tokens);
    attsvm_solution_free(solution);
    attsvm_train_free(run);
    attsvm_data_free(data);
    return 0;
}
"""
# Fields that the older header does not have: (struct, last fields before the reserved room).
YOUNGER = [("attsvm_train_info", r"    double textbook_angle;.*?int64_t wrong_step;[^\n]*\n", 3),
           ("attsvm_verdict", r"    int64_t undecided;.*?decide them \*/\n", 2),
           ("attsvm_svm_info", r"    double seconds;.*?double pass_seconds;[^\n]*\n", 2),
           ("attsvm_check_settings", r"    bool exact;.*?char padding\[7\];\n", 1)]


def older(text):
    for struct, fields, words in YOUNGER:
        start = text.index(f"typedef struct {struct} {{")
        end = text.index(f"}} {struct};")
        body, removed = re.subn(fields, "", text[start:end], flags=re.S)
        body, grown = re.subn(r"reserved\[(\d+)\]", lambda m: f"reserved[{int(m[1]) + words}]", body)
        if (removed, grown) != (1, 1):
            sys.exit(f"FAILED: {struct} has no such fields any more")
        text = text[:start] + body + text[end:]
    return text


def old(header, library, compiler):
    with tempfile.TemporaryDirectory() as top:
        folder = pathlib.Path(top)
        (folder / "old/attsvm").mkdir(parents=True)
        (folder / "old/attsvm/attsvm.h").write_text(older(header.read_text()))
        today = build(PROGRAM, folder, header.parent.parent, library, compiler, "today")
        before = build(PROGRAM, folder, folder / "old", library, compiler, "before")
    if today != before:
        sys.exit(f"FAILED: a program of today prints {today}, an older one {before}")
    print("an older program prints the same:", before.strip())


def layout(header, compiler, sizes, update):
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    lines = ""
    for name in re.findall(r"^typedef struct (\w+) \{", text, flags=re.M):
        lines += f'    printf("%s %zu\\n", "{name}", sizeof({name}));\n'
    with tempfile.TemporaryDirectory() as top:
        source = pathlib.Path(top) / "sizes.c"
        source.write_text("#include <attsvm/attsvm.h>\n#include <stdio.h>\nint main(void)\n{\n" + lines + "}\n")
        subprocess.run([compiler, "-I", header.parent.parent, "-o", source.with_suffix(""), source], check=True)
        found = subprocess.run([source.with_suffix("")], check=True, capture_output=True, text=True).stdout
    if update:
        sizes.write_text(found)
    if found != sizes.read_text():
        sys.exit("FAILED: sizes of open structs changed, which breaks programs that were compiled before:\n" +
                 "\n".join(sorted(set(found.split("\n")) ^ set(sizes.read_text().split("\n")))))
    print(f"{len(found.splitlines())} structs have their sizes")


if __name__ == "__main__":
    which, path = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    if which == "layout":
        layout(path, sys.argv[3], pathlib.Path(sys.argv[4]), "--update" in sys.argv)
    else:
        {"examples": examples, "old": old}[which](path, pathlib.Path(sys.argv[3]).resolve(), sys.argv[4])
