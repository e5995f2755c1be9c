#!/usr/bin/python3
"""Measures everything that the documents claim, and writes it down.

    bench/suite.py [--quick] [--peer-limit S] [--build DIR] [--mpi DIR] [-o FILE] [NAME...]

NAMEs are kernels, train, svm, svm-peers, norms, verdicts, scale, memory and ranks; default: all.
--quick takes small sizes and few repeats: less than two minutes, for comparing work counts; its
times mean little.  Prints a table, writes FILE (build/bench/results.json) and, where gnuplot is
there, a picture beside it (results.svg): every number that has a limit, over that limit.

Every part has a limit of time, in which its programs must end; one that fails or takes longer is
named at the end, and the others go on.  Exit status 1: some part failed.  A peer that does not solve
an SVM within S seconds (15) is no failure: the table says so.

FILE holds {"machine": ..., "results": [...]}; a result is

    bench, what, unit    its name
    value                a number; null: not to be had (a peer is missing), and
    why                  the reason where one is known
    kind                 count (the same on every run), time, ratio (of two times), memory, or
                         error (only its limit matters)
    better               less or more
    limit                the most that it should be, or the least where more is better

bench/compare sets two such files side by side.
"""
import argparse
import json
import math
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NAMES = {  # seconds at most
    "kernels": 60, "train": 240, "svm": 120, "svm-peers": 360, "norms": 180, "verdicts": 40,
    "scale": 150, "memory": 180, "ranks": 120,
}
COUNTS = ("reads of the tokens", "rounds", "iterations", "active rows", "optimal", "bytes",
          "bytes, predicted", "flop", "of the runs")
MORE = ("GB/s", "a second", "Gflop/s", "optimal", "of the bandwidth")

# bench, what, unit: the limit that was set for it; the first that matches.
LIMITS = [
    ("train", r"PyTorch / attsvm", "times", 400),
    ("train", r"model p, float32, 1 thread: step / yardstick", "times", 1.6),
    ("train", r"step / yardstick", "times", 1.25),
    ("scale", r"step: exponent", "of the size", 1.05),
    ("memory", r"^p-SVM", "reads of the tokens", 4),
    ("memory", r"^p-SVM", "MB beyond the tokens", 1000),
    ("memory", r"^p-SVM", "gap", 1e-12),
    ("memory", r"resident", "MB", 1000),
    ("ranks", r"norm", "error", 1e-12),
    ("ranks", r"theta", "error", 1e-9),
    ("svm", r"^P4", "times one read", 3),
    ("svm", r"^P3", "times one read", 6),
    ("svm", r"^batch", "us", 40),
    ("svm", r"", "gap", 1e-12),
    ("svm", r"", "worst gap", 1e-12),
    ("svm-peers", r"^P2 .*fastest that reaches 1e-9", "times as long", 50),
    ("svm-peers", r"^F3 .*fastest liblinear", "times as long", 10),
    ("norms", r"^N1 attsvm", "ms", 1),
    ("norms", r"^N5 attsvm", "ms", 3000),
    ("norms", r"^N3 csdp", "times as long", 30),
    ("norms", r"^N4 csdp", "times as long", 100),
    ("norms", r"^(N3|N4) fastest", "times as long", 20),
    ("norms", r"^Q\d fastest", "times as long", 20),
    ("verdicts", r"^verdicts", "a second", 1000),
]


class Failed(Exception):
    """A part cannot go on."""


class Suite:
    def __init__(self, options):
        self.quick, self.build, self.mpi = options.quick, options.build, options.mpi
        self.peer_limit = options.peer_limit
        self.results, self.problems = [], []
        self.deadline = math.inf

    # ------------------------------------------------------------------ what was measured

    def add(self, bench, what, value, unit, kind=None, better=None, limit=None, why=None):
        if kind is None:
            kind = ("count" if unit in COUNTS else "memory" if unit.startswith("MB") else
                    "ratio" if unit.startswith(("times", "of the size")) else "time")
        if better is None:
            peer = " / attsvm" in what or "one thread / two" in what or unit == "times as long"
            better = "more" if unit in MORE or peer else "less"
        result = {"bench": bench, "what": what, "value": value, "unit": unit, "kind": kind,
                  "better": better}
        if value is None or not math.isfinite(value):
            result["value"] = None
        if why is not None:
            result["why"] = why
        for where, pattern, of, bound in LIMITS:
            if limit is None and where == bench and of == unit and re.search(pattern, what):
                limit = bound
        if limit is not None:
            result["limit"] = limit
        self.results.append(result)
        shown = why or "not to be had" if result["value"] is None else f"{value:12.5g} {unit}"
        print(f"  {what:60} {shown:34} {verdict(result)}", flush=True)

    def start(self, bench, command, environment=None):
        """Runs a command to its end, or to that of the part's time: (its standard output, the
        highest resident memory in MB); what went wrong is noted."""
        with tempfile.TemporaryFile("w+") as out:
            try:
                child = subprocess.Popen(command, stdout=out, stdin=subprocess.DEVNULL,
                                         env=environment, start_new_session=True)
            except OSError as problem:
                self.problems.append(f"{bench}: {problem}")
                return "", None
            pid, late = 0, False
            while pid == 0:
                pid, status, usage = os.wait4(child.pid, 0 if late else os.WNOHANG)
                if pid == 0 and time.monotonic() > self.deadline:
                    late = True
                    os.killpg(child.pid, signal.SIGKILL)
                elif pid == 0:
                    time.sleep(0.01)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            text = out.read()
        if late:
            self.problems.append(f"{bench}: the time was up in {' '.join(command)}")
        elif child.returncode != 0:
            self.problems.append(f"{bench}: {' '.join(command)} ended with {child.returncode}")
        return text, usage.ru_maxrss / 1024

    def run(self, bench, command, peak=True):
        """The standard output of a command; its highest resident memory becomes a result."""
        text, memory = self.start(bench, command)
        if peak and memory:
            name = " ".join(os.path.basename(word) for word in command if word != "--json")
            self.add(bench, "memory at most: " + name, memory, "MB")
        return text

    def command(self, bench, *words, program=None, ranks=None):
        """The JSON object that attsvm prints, and its highest resident memory in MB."""
        line = [program or os.path.join(self.build, "attsvm"), *words, "--json"]
        if ranks:
            line = ["mpirun", "--oversubscribe", "-n", str(ranks), *line]
        root = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        text, memory = self.start(bench, line, root)
        try:
            return json.loads(text), memory
        except ValueError:
            raise Failed(f"{' '.join(line)} printed no JSON") from None

    def program(self, bench, *words):
        """The list that a program of build/bench prints with --json."""
        text = self.run(bench, [os.path.join(self.build, "bench", words[0]), "--json", *words[1:]])
        try:
            return json.loads(text)
        except ValueError:  # cut off: one object a line is what there is
            self.problems.append(f"{bench}: {words[0]} printed no whole list")
        found = []
        for line in text.splitlines():
            try:
                found.append(json.loads(line.strip(" ,[")))
            except ValueError:
                pass
        return [at for at in found if isinstance(at, dict)]

    # ------------------------------------------------------------------------- the parts

    def kernels(self):
        parts = ("exp", "rows") if self.quick else ("exp", "rows", "dense")
        for at in self.program("kernels", "bench_la", *parts):
            if at["group"] == "dense" and at["unit"] != "n":
                continue  # the sizes at which BLAS takes over tell enough
            what = f"{at['group']}: {at['what']}"
            self.add("kernels", what, at["value"], at["unit"], "time",
                     "more" if at["unit"] == "n" else None)

    def train(self):
        rounds = "2" if self.quick else "9"
        for at in self.program("train", "bench_train", "--rounds", rounds, "tiny"):
            self.add("train", at["what"], at["value"], at["unit"])
        # n, T, d and what else; the same number of tokens' bytes at each width
        n = 8000 if self.quick else 60000
        cases = [(n, 32, 64, []), (n // 4, 32, 256, ["--only", "p"])]
        if not self.quick:
            cases += [(n // 12, 32, 768, ["--only", "p"]),
                      (n, 32, 64, ["--only", "p", "--ragged"]),
                      (n // 4, 32, 256, ["--only", "p", "--ragged"]),
                      (n // 12, 32, 768, ["--only", "p", "--ragged"])]
        for n, T, d, more in cases:
            self.large(n, T, d, more, "2" if self.quick else "15")

    def large(self, n, T, d, more, rounds):
        size = f"n={n} T={T} d={d}" + (" ragged" if "--ragged" in more else "")
        head, steps = "", {}
        for at in self.program("train", "bench_train", "--rounds", rounds, "--n", str(n), "--T",
                               str(T), "--d", str(d), *more, "large"):
            what = at["what"].strip()
            if at["what"].startswith("model"):
                head = what[:what.rindex(":")]
                steps[head, "step"] = at["value"]
                if "--ragged" not in more:
                    # scores and sum: 4 d a token; Z W' and U' Z: 4 d^2 a sequence, twice for KQ
                    flops = 4.0 * n * T * d
                    if not what.startswith("model p"):
                        flops += (2 if what.startswith("model KQ") else 1) * 4.0 * n * d * d
                    self.add("train", f"{size}, {head}: work of a step", flops, "flop")
                what = "step"
            steps[head, what] = at["value"]
            self.add("train", f"{size}, {head}: {what}", at["value"], at["unit"])
            if what == "step / yardstick" and head.startswith("model p"):
                self.add("train", f"{size}, {head}: a step reads at", 1 / at["value"],
                         "of the bandwidth", "ratio")
        for head in [head for head, what in steps if what == "step" and "1 thread" in head]:
            self.threads(size, head, steps)
        if "KQ" in "".join(head for head, _ in steps):  # all models were measured
            for model, threads in (("p", 1), ("p", 2), ("W", 1), ("W", 2)):
                head = f"model {model}, float64, {threads} thread" + "s" * (threads > 1)
                if (head, "step") in steps:
                    self.torch((n, T, d), model, threads, f"{size}, {head}: ", steps[head, "step"])

    def torch(self, sizes, model, threads, what, ours):
        """The same step in PyTorch, float64, as many threads, scores computed once; its own data."""
        text = self.run("train", ["/usr/bin/python3", os.path.join(HERE, "peers", "torch_step.py"),
                                  *map(str, sizes), "3", "2", model, str(threads)])
        try:
            theirs = 1e3 * float(text)
        except ValueError:
            theirs = None
        self.add("train", what + "the same in PyTorch", theirs, "ms")
        self.add("train", what + "PyTorch by attsvm", theirs and theirs / ours, "times",
                 better="more")

    def threads(self, size, one, steps):
        """What the second thread brings; a limit only where the memory gives that much."""
        two, name = one.replace("1 thread", "2 threads"), one.replace(", 1 thread", "")
        if (two, "step") not in steps:
            return
        read = [min(steps[head, "reading the tokens once, one stream"], steps[head, "four streams"])
                for head in (one, two)]
        self.add("train", f"{size}, {name}: read, one thread / two", read[0] / read[1], "times")
        limit = 1.7 if name.startswith("model p") and read[0] >= 1.7 * read[1] else None
        self.add("train", f"{size}, {name}: step, one thread / two",
                 steps[one, "step"] / steps[two, "step"], "times", limit=limit)

    def svm(self):
        repeat = "1" if self.quick else "5"
        names = ("P1", "P2", "P3", "F2p", "F3", "batch") if self.quick else (None,)
        for name in names:
            only = ["--only", name] if name else []
            active = 0
            for at in self.program("svm", "bench_svm", "--repeat", repeat, *only):
                kind = "error" if "gap" in at["unit"] else None
                limit = None
                if at["unit"] == "active rows":
                    active = at["value"]
                elif at["unit"] == "MB beyond the data":
                    d = int(re.search(r"d=(\d+)", at["what"]).group(1))
                    limit = 64 + 32 * (d * d + active * active) / 2**20
                self.add("svm", at["what"], at["value"], at["unit"], kind, limit=limit)

    def peers(self, bench, script, program, words):
        """Every peer beside attsvm: the name of an instance and those that solved it."""
        text = self.run(bench, ["/usr/bin/python3", os.path.join(HERE, "peers", script),
                                os.path.join(self.build, program), "--json", *words], peak=False)
        groups = {}
        for line in text.splitlines():
            try:
                at = json.loads(line)
            except ValueError:  # cut off
                continue
            groups.setdefault(at["instance"], []).append(at)
        for name, group in groups.items():
            for at in group:
                what = f"{name} {at['who']}"
                if "failed" in at:
                    self.add(bench, what, None, "times as long", why=at["failed"])
                elif at["who"] == "attsvm":
                    self.add(bench, what, 1e3 * at["seconds"], "ms")
                else:
                    self.add(bench, what, at["times"], "times as long")
                    error = at["error"]
                    near = f" (error {error:.0e})" if math.isfinite(error) else " (no solution)"
                    print(f"      {1e3 * at['seconds']:.4g} ms{near}")
            yield name, [at for at in group if at["who"] != "attsvm" and "failed" not in at]

    def svm_peers(self):
        names = ("P1", "P2", "F2p") if self.quick else ()
        words = ["--limit", str(self.peer_limit), *names]
        for name, others in self.peers("svm-peers", "svm_peers.py", "attsvm", words):
            exact = [at["times"] for at in others if at["error"] <= 1e-9]
            # with a looser rule to stop it is faster, and its error is then above 1e-4
            linear = [at["times"] for at in others
                      if at["who"].startswith("liblinear") and at["error"] <= 1e-6]
            if exact:
                self.add("svm-peers", f"{name} fastest that reaches 1e-9", min(exact),
                         "times as long")
            if linear:
                self.add("svm-peers", f"{name} fastest liblinear that reaches 1e-6", min(linear),
                         "times as long")

    def norms(self):
        names = ("N1", "N2", "Q1", "S1", "L1", "L8") if self.quick else ()
        program = os.path.join("bench", "bench_norms")
        for name, others in self.peers("norms", "norm_peers.py", program, names):
            if others:
                self.add("norms", f"{name} fastest", min(at["times"] for at in others),
                         "times as long")

    def verdicts(self):
        runs = "500" if self.quick else "5000"
        for at in self.program("verdicts", "bench_verdicts", "--runs", runs):
            self.add("verdicts", f"verdicts, {at['threads']} threads", at["value"], at["unit"])
            for key in sorted(set(at) - {"what", "value", "unit", "threads", "runs"}):
                self.add("verdicts", f"{key}, {runs} runs", at[key], "of the runs"
                         if key != "correlation" else "mean", "count")

    def scale(self):
        few = ["--rounds", "1", "--tokens", "32768"] if self.quick else []
        seen = set()
        for at in self.program("scale", "bench_scale", *few):
            key = at["what"], at["unit"]
            if key not in seen:  # n, T and d grow from the same point
                self.add("scale", at["what"], at["value"], at["unit"])
            seen.add(key)

    def memory(self):
        """A set of 4 GB (quick: 0.1 GB): p-SVM and training, with all memory and with an eighth."""
        n, T, d = (30000 if self.quick else 1000000), 16, 64
        size = n * T * d * 4
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "data.npz")
            if shutil.disk_usage(folder).free < 1.5 * size:
                print(f"  left out: less than {1.5 * size / 1e9:.1f} GB of disk are free")
                return
            self.command("memory", "generate", "--kind", "planted-p", "--n", str(n), "--T", str(T),
                         "--d", str(d), "--dtype", "float32", "-o", path)
            name = f"n={n} T={T} d={d} float32"
            self.add("memory", f"{name}: reading the file", read_speed(path), "GB/s")
            few = ["--memory", str(size // 8)]
            solve = ["svm", path, "--problem", "p", "--select", "ids"]
            for threads in ("1", "2"):
                at, peak = self.command("memory", *solve, "--threads", threads)
                what = f"p-SVM {name}, {threads} thread{'s' if threads > '1' else ''}"
                self.add("memory", what, 1e3 * at["seconds"], "ms")
                self.add("memory", what, at["passes"], "reads of the tokens")
                self.add("memory", what, at["rounds"], "rounds")
                self.add("memory", what, abs(at["gap"]), "gap", "error")
                self.add("memory", what, max(0, peak - size / 2**20), "MB beyond the tokens")
            at, peak = self.command("memory", *solve, "--threads", "2", *few)
            limit = f"an eighth of the memory, {name}"
            self.add("memory", f"p-SVM, {limit}", 1e3 * at["seconds"], "ms")
            self.add("memory", f"p-SVM, {limit}: resident at most", peak, "MB")
            for what, flags in (("all memory, " + name, []), (limit, few)):
                seconds, iters = [], (2, 52 if self.quick else 7)
                for steps in iters:
                    runs = [self.command("memory", "train", path, "--model", "p", "--iters",
                                         str(steps), "--threads", "2", *flags) for _ in range(2)]
                    seconds.append(min(at["seconds"] for at, _ in runs))
                    peak = max(used for _, used in runs)
                step = (seconds[1] - seconds[0]) / (iters[1] - iters[0])
                self.add("memory", f"training, {what}", size / 1e9 / step, "GB/s")
            self.add("memory", f"training, {limit}: resident at most", peak, "MB")

    def ranks(self):
        """A step, a solve and memory over ranks."""
        attsvm = os.path.join(self.mpi, "attsvm")
        if not shutil.which("mpirun") or not os.path.exists(attsvm):
            print("  left out: no mpirun, or no build for it (make mpi)")
            return
        n, T, d = (4000 if self.quick else 20000), 32, 64
        with tempfile.TemporaryDirectory() as folder:
            path, many = os.path.join(folder, "data.npz"), os.path.join(folder, "many.npz")
            for name, shape in ((path, (n, T, d)), (many, (10 * n, 16, 8))):
                self.command("ranks", "generate", "--kind", "planted-p", "--n", str(shape[0]), "--T",
                             str(shape[1]), "--d", str(shape[2]), "--dtype", "float32", "-o", name)
            for count in (1, 2, 4):
                self.rank_steps(attsvm, path, d, count)
            self.rank_solves(attsvm, path, folder)
            for count in (1, 2, 4):
                self.rank_memory(attsvm, many, folder, count)

    def rank_steps(self, attsvm, path, d, count):
        """Those of a long run less those of a short one; more ranks than cores tell bytes alone."""
        timed = count <= os.cpu_count()
        told, iters = [], (20, 70) if timed else (2, 12)
        for steps in iters:
            runs = [self.command("ranks", "train", path, "--model", "p", "--iters", str(steps),
                                 "--threads", "1", program=attsvm, ranks=count)[0]
                    for _ in range(3 if timed else 1)]
            told.append(min(runs, key=lambda at: at["seconds"]))
        steps = iters[1] - iters[0]
        sent = (told[1].get("bytes_sent", 0) - told[0].get("bytes_sent", 0)) / steps
        predicted = 8 * (d + 1) * math.log2(count)
        what = f"{count} rank{'s' if count > 1 else ''}, model p, a step"
        if timed:
            self.add("ranks", what, 1e3 * (told[1]["seconds"] - told[0]["seconds"]) / steps, "ms")
        self.add("ranks", what, sent, "bytes")
        self.add("ranks", what, predicted, "bytes, predicted")
        if sent != predicted:
            self.problems.append(f"ranks: {what} does not send what is predicted")

    def rank_solves(self, attsvm, path, folder):
        """The p-SVM on 1, 2 and 4 ranks: the same norm and theta; what was sent."""
        import numpy as np
        first = None
        for count in (1, 2, 4):
            out = os.path.join(folder, f"svm{count}.npz")
            at, _ = self.command("ranks", "svm", path, "--problem", "p", "--select", "ids",
                                 "--threads", "1", "-o", out, program=attsvm, ranks=count)
            theta = np.load(out)["theta"]
            what = f"{count} rank{'s' if count > 1 else ''}, p-SVM"
            if count <= os.cpu_count():
                self.add("ranks", what, 1e3 * at["seconds"], "ms")
            self.add("ranks", what, at["rounds"], "rounds")
            self.add("ranks", what, at.get("bytes_sent", 0), "bytes")
            if first:
                self.add("ranks", f"{what}: norm", abs(at["norm"] / first[0] - 1), "error", "error")
                error = np.abs(theta - first[1]).max() / np.abs(first[1]).max()
                self.add("ranks", f"{what}: theta", float(error), "error", "error")
            first = first or (at["norm"], theta)

    def rank_memory(self, attsvm, path, folder, count):
        """The highest resident memory of a rank, by a shell that waits for each."""
        for old in os.listdir(folder):
            if old.startswith("peak."):
                os.remove(os.path.join(folder, old))
        watch = ("import os, sys; pid = os.spawnv(os.P_NOWAIT, sys.argv[2], sys.argv[2:]); "
                 "used = os.wait4(pid, 0)[2].ru_maxrss; "
                 "open(f'{sys.argv[1]}.{pid}', 'w').write(str(used))")
        root = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.start("ranks", ["mpirun", "--oversubscribe", "-n", str(count), "/usr/bin/python3", "-c",
                             watch, os.path.join(folder, "peak"), attsvm, "train", path, "--model",
                             "p", "--iters", "2", "--threads", "1", "-q", "-o",
                             os.path.join(folder, "run.npz")], root)
        peaks = []
        for name in os.listdir(folder):
            if name.startswith("peak."):
                with open(os.path.join(folder, name)) as f:
                    peaks.append(int(f.read()) / 1024)
        if len(peaks) != count:
            raise Failed(f"{len(peaks)} of {count} ranks told their memory")
        self.add("ranks", f"{count} rank{'s' if count > 1 else ''}, training: resident at most",
                 max(peaks), "MB a rank")


def read_speed(path):
    """GB/s of reading a file from start to end."""
    start, buffer = time.monotonic(), bytearray(1 << 22)
    with open(path, "rb", buffering=0) as f:
        while f.readinto(buffer):
            pass
    return os.path.getsize(path) / 1e9 / (time.monotonic() - start)


def verdict(result):
    """Whether a result keeps its limit, in words."""
    if "limit" not in result:
        return ""
    bound = "at least" if result["better"] == "more" else "at most"
    told = f"{bound} {result['limit']:g}"
    return told if share(result) <= 1 else told + ": NOT MET"


def share(result):
    """How much of its limit a result takes: at most 1 where it is kept."""
    value, limit = result["value"], result["limit"]
    if value is None or (result["better"] == "more" and value <= 0):
        return math.inf
    return limit / value if result["better"] == "more" else value / limit


def machine():
    name = platform.processor()
    try:
        with open("/proc/cpuinfo") as f:
            name = next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {"processor": name, "cores": os.cpu_count(), "system": platform.platform()}


def draw(results, path):
    """Every result with a limit as a share of it; the line is the limit."""
    shown = [r for r in results if "limit" in r and r["kind"] != "error" and
             0 < share(r) < math.inf]
    if not shown or not shutil.which("gnuplot"):
        return False
    rows, ticks = [], []
    for k, r in enumerate(reversed(shown)):
        rows.append(f"{share(r):.6g} {k}")
        name = f"{r['bench']}: {r['what']}".replace('"', "").replace("_", " ")
        ticks.append(f'"{name}" {k}')
    kept = "\n".join(row for row, r in zip(rows, reversed(shown)) if share(r) <= 1)
    missed = "\n".join(row for row, r in zip(rows, reversed(shown)) if share(r) > 1)
    least = min(0.5, min(share(r) for r in shown) / 1.5)
    most = max(2, max(share(r) for r in shown) * 1.5)
    plots = []
    if kept:
        plots.append("$kept using 1:2 with points pt 7 ps 0.6 lc rgb '#2b6cb0' notitle")
    if missed:
        plots.append("$missed using 1:2 with points pt 7 ps 0.6 lc rgb '#c53030' notitle")
    script = f"""set terminal svg size 900,{90 + 18 * len(shown)} font 'sans,11' background '#ffffff'
set output '{path}'
$kept << END
{kept}
END
$missed << END
{missed}
END
set logscale x
set xrange [{least:g}:{most:g}]
set yrange [-0.7:{len(shown) - 0.3}]
set ytics ({', '.join(ticks)}) nomirror
set xlabel 'share of the limit (left of the line: kept)'
set grid x lc rgb '#dddddd'
set arrow from 1,graph 0 to 1,graph 1 nohead lc rgb '#555555'
plot {', '.join(plots)}
"""
    done = subprocess.run(["gnuplot"], input=script, text=True, capture_output=True)
    if done.returncode != 0:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def main():
    top = os.path.dirname(HERE)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, under two minutes")
    parser.add_argument("--build", default=os.path.join(top, "build"))
    parser.add_argument("--mpi", default=os.path.join(top, "build-mpi"))
    parser.add_argument("--peer-limit", type=float, default=15, metavar="S",
                        help="seconds that a peer may take for one SVM; default 15")
    parser.add_argument("-o", "--output", help="default: BUILD/bench/results.json")
    parser.add_argument("name", nargs="*", help=", ".join(NAMES) + "; default: all")
    options = parser.parse_args()
    for name in options.name:
        if name not in NAMES:
            parser.error(f"no benchmark '{name}'; there are: {' '.join(NAMES)}")
    output = options.output or os.path.join(options.build, "bench", "results.json")
    suite = Suite(options)
    for name in options.name or NAMES:
        start = time.monotonic()
        suite.deadline = start + NAMES[name]
        print(f"== {name}", flush=True)
        try:
            getattr(suite, name.replace("-", "_"))()
        except Exception as problem:  # whatever it is, the other parts are worth having
            suite.problems.append(f"{name}: {problem if str(problem) else repr(problem)}")
        print(f"   {time.monotonic() - start:.0f} s", flush=True)
    with open(output, "w") as f:
        json.dump({"machine": machine(), "quick": options.quick, "results": suite.results}, f,
                  indent=1, allow_nan=False)
        f.write("\n")
    limited = [r for r in suite.results if "limit" in r]
    met = sum(share(r) <= 1 for r in limited)
    print(f"{len(suite.results)} results in {output}; {met} of {len(limited)} limits met"
          + (" (quick: times mean little)" if options.quick else ""))
    picture = os.path.splitext(output)[0] + ".svg"
    if draw(suite.results, picture):
        print(f"picture in {picture}")
    for problem in suite.problems:
        print(f"bench: {problem}", file=sys.stderr)
    return 1 if suite.problems else 0


sys.exit(main())
