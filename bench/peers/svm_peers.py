#!/usr/bin/python3
"""Other people's solvers on the instances of bench_svm, one thread, processor seconds.

    svm_peers.py ATTSVM [--json] [--limit S] [NAME...]    ATTSVM is the built command: build/attsvm

With --json one object a line: instance, who, seconds, error, times (as long as attsvm); or
instance, who and failed, which says why there is no answer.

Instances are written by `attsvm generate` and solved by `attsvm svm`; every peer gets the same
rows.  The true error of an answer w is |w| / min_r <A_r, w> relative to the certified norm, less 1.
A peer has S seconds of wall clock (60) and 8 GB for an instance; what it did not finish is said.
"""
import argparse
import ctypes
import json
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

INSTANCES = {  # problem, kind, n, T, d
    "P1": ("p", "planted-p", 100, 10, 20),
    "P2": ("p", "planted-p", 1000, 20, 50),
    "P3": ("p", "planted-p", 10000, 32, 128),
    "P4": ("p", "planted-p", 100000, 16, 64),
    "F2p": ("W", "planted-W", 50, 10, 30),
    "F3": ("W", "planted-W", 500, 16, 64),
}
MEMORY = 8 << 30  # bytes that a peer may take for one instance


def rows_of(data, problem):
    """All rows A_r, dense."""
    X, ids = data["X"], data["ids"].reshape(-1)
    n, T, d = X.shape
    delta = X[np.arange(n), ids][:, None, :] - X
    keep = np.ones((n, T), bool)
    keep[np.arange(n), ids] = False
    if problem == "p":
        return np.ascontiguousarray(delta[keep])
    Z = data["Z"].reshape(n, d)
    rows = delta[:, :, :, None] * Z[:, None, None, :]
    return np.ascontiguousarray(rows[keep].reshape(-1, d * d))


class Node(ctypes.Structure):
    _fields_ = [("index", ctypes.c_int), ("value", ctypes.c_double)]


class Problem(ctypes.Structure):
    _fields_ = [("l", ctypes.c_int), ("n", ctypes.c_int), ("y", ctypes.POINTER(ctypes.c_double)),
                ("x", ctypes.POINTER(ctypes.POINTER(Node))), ("bias", ctypes.c_double)]


class Parameter(ctypes.Structure):  # of liblinear 2.3, Debian's liblinear.so.4
    _fields_ = [("solver_type", ctypes.c_int), ("eps", ctypes.c_double), ("C", ctypes.c_double),
                ("nr_weight", ctypes.c_int), ("weight_label", ctypes.c_void_p),
                ("weight", ctypes.c_void_p), ("p", ctypes.c_double), ("init_sol", ctypes.c_void_p)]


class Model(ctypes.Structure):
    _fields_ = [("param", Parameter), ("nr_class", ctypes.c_int), ("nr_feature", ctypes.c_int),
                ("w", ctypes.POINTER(ctypes.c_double))]


def timed(call):
    """Processor seconds of the best of five calls, of one where it takes long; and what it found."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        found = call()
        best = min(best, time.process_time() - start)
        if best > 1:
            break
    return best, found


def signed(A):
    """Half of the rows with label -1: classifiers want two classes."""
    y = np.where(np.arange(len(A)) % 2 == 0, 1.0, -1.0)
    return A * y[:, None], y


def liblinear(A):
    try:
        lib = ctypes.CDLL("liblinear.so.4")
    except OSError:
        raise ImportError("liblinear.so.4 is missing") from None
    lib.train.restype = ctypes.POINTER(Model)
    silent = ctypes.CFUNCTYPE(None, ctypes.c_char_p)(lambda text: None)
    lib.set_print_string_function(silent)
    B, y = signed(A)
    m, d = B.shape
    nodes = np.zeros((m, d + 1), dtype=[("index", "i4"), ("pad", "i4"), ("value", "f8")])
    nodes["index"][:, :d] = np.arange(1, d + 1)
    nodes["index"][:, d] = -1
    nodes["value"][:, :d] = B
    pointers = (ctypes.POINTER(Node) * m)()
    step = nodes.strides[0]
    for r in range(m):
        pointers[r] = ctypes.cast(nodes.ctypes.data + r * step, ctypes.POINTER(Node))
    problem = Problem(m, d, y.ctypes.data_as(ctypes.POINTER(ctypes.c_double)), pointers, -1.0)
    for eps in (1e-3, 1e-6, 1e-10):  # it stops after 1000 sweeps whatever eps
        parameter = Parameter(3, eps, 1e9, 0, None, None, 0.1, None)
        seconds, model = timed(lambda: lib.train(ctypes.byref(problem), ctypes.byref(parameter)))
        w = np.ctypeslib.as_array(model.contents.w, (d,)).copy()
        yield seconds, w


def linearsvc(A):
    from sklearn.svm import LinearSVC
    B, y = signed(A)
    seconds, model = timed(lambda: LinearSVC(loss="hinge", C=1e9, fit_intercept=False, tol=1e-6,
                                             max_iter=20000).fit(B, y))
    yield seconds, model.coef_[0]


def libsvm(A):
    from sklearn.svm import SVC
    # the kernel machine has an intercept: rows and their negatives force it to zero
    B, y = np.vstack([A, -A]), np.r_[np.ones(len(A)), -np.ones(len(A))]
    seconds, model = timed(lambda: SVC(kernel="linear", C=1e9, tol=1e-8, cache_size=2000,
                                       max_iter=2000000).fit(B, y))
    yield seconds, model.coef_[0]


def cvxopt(A):
    import cvxopt as co
    co.solvers.options.update(show_progress=False, abstol=1e-11, reltol=1e-11, feastol=1e-11,
                              maxiters=100)
    m, d = A.shape

    def solve():
        if d <= m:
            found = co.solvers.qp(co.spdiag([1.0] * d), co.matrix(0.0, (d, 1)), co.matrix(-A),
                                  co.matrix(-1.0, (m, 1)))
            return np.array(found["x"]).ravel()
        found = co.solvers.qp(co.matrix(A @ A.T), co.matrix(-1.0, (m, 1)),
                              co.spdiag([-1.0] * m), co.matrix(0.0, (m, 1)))
        return A.T @ np.array(found["x"]).ravel()  # the dual is smaller
    seconds, w = timed(solve)
    yield seconds, w


def nnls(A):
    """Least distance as nonnegative least squares (Lawson and Hanson, chapter 23)."""
    from scipy.optimize import nnls as solve
    m, d = A.shape
    E = np.vstack([A.T, np.ones((1, m))])
    seconds, (u, _) = timed(lambda: solve(E, np.r_[np.zeros(d), 1.0], maxiter=30 * m))
    r = E @ u - np.r_[np.zeros(d), 1.0]
    yield seconds, -r[:d] / r[d]


PEERS = {  # with the names of what they yield, in order
    liblinear: ("liblinear eps=0.001", "liblinear eps=1e-06", "liblinear eps=1e-10"),
    linearsvc: ("LinearSVC 1e-6",),
    libsvm: ("LIBSVM 1e-8",),
    cvxopt: ("CVXOPT 1e-11",),
    nnls: ("scipy NNLS",),
}


def answer(peer, A, pipe):
    """In a process of its own, so that it can be stopped."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("ignore")  # the error of an answer tells what they would
    try:
        for found in peer(A):
            pipe.send(found)
    except ImportError as problem:
        pipe.send(f"not installed ({problem})"[:60])
    except (MemoryError, OSError) as problem:
        pipe.send(f"more than {MEMORY >> 30} GB ({type(problem).__name__})")
    except Exception as problem:  # what goes wrong in a peer is a result too
        pipe.send(f"{type(problem).__name__}: {problem}"[:60])


def answers(peer, A, limit):
    """(name, seconds, w) of all that the peer finds within the limits; (name, why not) of the rest."""
    here, there = multiprocessing.Pipe()
    child = multiprocessing.Process(target=answer, args=(peer, A, there))
    child.start()
    there.close()
    end, why = time.monotonic() + limit, None
    for name in PEERS[peer]:
        if why is None:
            try:
                late = not here.poll(max(0, end - time.monotonic()))
                found = f"not finished in {limit:g} s" if late else here.recv()
            except EOFError:
                found = f"more than {MEMORY >> 30} GB (killed)"
            why = found if isinstance(found, str) else None
        yield (name, why) if why else (name, *found)
    child.kill()
    child.join()


def run(options, name, folder):
    attsvm = options.attsvm

    def tell(text, **numbers):
        print(json.dumps(dict(instance=name, **numbers)) if options.json else text, flush=True)

    problem, kind, n, T, d = INSTANCES[name]
    path = os.path.join(folder, name + ".npz")
    result = os.path.join(folder, name + "-result.npz")
    subprocess.run([attsvm, "generate", "--kind", kind, "--n", str(n), "--T", str(T), "--d", str(d),
                    "--push", "0.5", "--seed", "1", "--dtype", "float64", "-q", "-o", path],
                   check=True, stdout=subprocess.DEVNULL)
    best = json.loads(subprocess.run(
        [attsvm, "svm", path, "--problem", problem, "--norm", "l2", "--select", "ids",
         "--threads", "1", "--json", "-o", result], check=True, capture_output=True).stdout)
    # "seconds" is the wall clock; processor seconds of the same instance come from bench_svm
    bench = os.path.join(os.path.dirname(attsvm), "bench", "bench_svm")
    line = subprocess.run([bench, "--only", name, "--repeat", "20"], check=True,
                          capture_output=True, text=True).stdout
    own = float(re.search(r"([0-9.e+-]+) s \(median", line).group(1))
    read = own / float(re.search(r"= ([0-9.e+-]+) reads", line).group(1))
    A = rows_of(np.load(path), problem)
    tell(f"{name:4} n={n} T={T} d={d}: {len(A)} rows, {best['active']} active; "
         f"a read of the tokens {read:.2e} s\n"
         f"     {'attsvm':22} {own:10.3e} s {own / read:10.1f} reads   gap   {best['gap']:8.1e}",
         who="attsvm", seconds=own, reads=own / read, error=best["gap"], times=1)
    for peer in PEERS:
        for label, *found in answers(peer, A, options.limit):
            if len(found) == 1:
                tell(f"     {label:22} {found[0]}", who=label, failed=found[0])
                continue
            seconds, w = found
            margin = (A @ w).min()
            error = np.linalg.norm(w) / margin / best["norm"] - 1 if margin > 0 else float("inf")
            tell(f"     {label:22} {seconds:10.3e} s {seconds / read:10.1f} reads   error "
                 f"{error:8.1e}   {seconds / own:8.1f} times",
                 who=label, seconds=seconds, reads=seconds / read, error=error,
                 times=seconds / own)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="one object a line")
    parser.add_argument("--limit", type=float, default=60, help="seconds that a peer may take; 60")
    parser.add_argument("attsvm")
    parser.add_argument("name", nargs="*", help=", ".join(INSTANCES) + "; default: all")
    options = parser.parse_intermixed_args()
    for name in options.name:
        if name not in INSTANCES:
            parser.error(f"no instance '{name}'; there are: {' '.join(INSTANCES)}")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.name or INSTANCES:
            run(options, name, folder)


main()
