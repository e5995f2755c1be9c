#!/usr/bin/python3
"""Nuclear and l_q problems beside CSDP, SDPA, CVXOPT and scipy, one thread, processor seconds.

    norm_peers.py BENCH_NORMS [--json] [NAME...]      BENCH_NORMS is the built program

With --json one object a line: instance, who, seconds, error, times (as long as attsvm).

Instances are unit Gaussian tokens with random selections (N5p: planted).  Everybody gets the
same problem; semidefinite solvers get it in the coordinates of span{delta} x span{z}, where it is
smallest.  The true error of an answer W is |W| / min_r <A_r, W> over the certified norm, less 1.
"""
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np

INSTANCES = {  # n, T, d, norm, repeats of ours, peers
    "N1": (6, 8, 10, "nuc", 200, "csdp sdpa cvxopt"),
    "N2": (5, 5, 20, "nuc", 200, "csdp sdpa cvxopt"),
    "N3": (20, 10, 30, "nuc", 10, "csdp sdpa cvxopt"),
    "N4": (50, 10, 64, "nuc", 5, "csdp sdpa cvxopt"),
    "N5": (200, 10, 64, "nuc", 1, ""),
    "N6p": (1000, 16, 128, "nuc", 1, ""),
    "Q1": (6, 8, 10, "lq:3", 200, "lq_cvxopt lq_slsqp"),
    "Q2": (6, 8, 10, "lq:1.75", 200, "lq_cvxopt lq_slsqp"),
    "Q3": (20, 10, 30, "lq:3", 5, "lq_cvxopt"),
    "S1": (6, 8, 10, "spectral", 50, ""),
    "L1": (6, 8, 10, "l1", 50, ""),
    "L8": (6, 8, 10, "linf", 50, ""),
    "L2": (50, 10, 64, "l1", 1, ""),
    "L9": (50, 10, 64, "linf", 1, ""),
}


def make(n, T, d, planted, seed=1):
    r = np.random.default_rng(seed)
    X = r.standard_normal((n, T, d))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    Z = r.standard_normal((n, d))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    ids = r.integers(0, T, n)
    if planted:
        g = Z @ r.standard_normal((d, d)).T
        g /= np.linalg.norm(g, axis=1, keepdims=True)
        ids = np.einsum("ntd,nd->nt", X, g).argmax(1)
        X[np.arange(n), ids] += 0.5 * g
    return X, Z, ids


class Rows:
    """delta (m x d), z (m x d), and both in coordinates of their spans."""

    def __init__(self, X, Z, ids):
        n, T, d = X.shape
        delta = X[np.arange(n), ids][:, None, :] - X
        keep = np.ones((n, T), bool)
        keep[np.arange(n), ids] = False
        self.delta = delta[keep]
        self.z = np.repeat(Z, T - 1, axis=0)
        self.left = np.linalg.qr(self.delta.T)[0] if len(self.delta) < d else np.eye(d)
        self.right = np.linalg.qr(Z.T)[0] if n < d else np.eye(d)
        self.u, self.v = self.delta @ self.left, self.z @ self.right

    def error(self, W, norm, size):
        """W in span coordinates; size measures it."""
        least = np.einsum("mi,ij,mj->m", self.u, W, self.v).min()
        return size(W) / least / norm - 1 if least > 0 else np.inf


def nuclear(W):
    return np.linalg.svd(W, compute_uv=False).sum()


def write_sdpa(rows, path):
    """min -sum lambda, sum lambda (-B_r) + I >= 0, lambda >= 0."""
    m, p = rows.u.shape
    q = rows.v.shape[1]
    i, j = np.meshgrid(np.arange(1, p + 1), np.arange(p + 1, p + q + 1), indexing="ij")
    with open(path, "w") as f:
        f.write(f"{m}\n2\n({p + q}, {-m})\n" + " ".join(["-1"] * m) + "\n")
        for k in range(1, p + q + 1):
            f.write(f"0 1 {k} {k} -1\n")
        for r in range(m):
            B = -np.outer(rows.u[r], rows.v[r])
            lines = np.column_stack([i.ravel(), j.ravel()])
            f.write("".join(f"{r + 1} 1 {a} {b} {x:.17g}\n"
                            for (a, b), x in zip(lines, B.ravel())))
            f.write(f"{r + 1} 2 {r + 1} {r + 1} 1\n")


def child_seconds(command, **keywords):
    start = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, **keywords)
    end = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, end.ru_utime + end.ru_stime - start.ru_utime - start.ru_stime


def csdp(rows, folder):
    path = os.path.join(folder, "problem.dat-s")
    if not os.path.exists(path):
        write_sdpa(rows, path)
    done, seconds = child_seconds(["csdp", path, os.path.join(folder, "solution")], cwd=folder)
    told = re.search(r"Total time:\s*([0-9.]+)", done.stdout)
    p, q = rows.u.shape[1], rows.v.shape[1]
    W = np.zeros((p, q))
    with open(os.path.join(folder, "solution")) as f:
        next(f)
        for line in f:
            number, block, i, j, x = line.split()
            if number == "2" and block == "1" and int(i) <= p < int(j):
                W[int(i) - 1, int(j) - p - 1] = 2 * float(x)
    return W, float(told.group(1)) if told and float(told.group(1)) > 0.05 else seconds


SDPA_PARAMETERS = """100 maxIteration
1.0E-8 epsilonStar
1.0E2 lambdaStar
2.0 omegaStar
-1.0E5 lowerBound
1.0E5 upperBound
0.1 betaStar
0.2 betaBar
0.9 gammaStar
1.0E-8 epsilonDash
%+18.15e xPrint
%+18.15e XPrint
%+18.15e YPrint
%+18.15e infPrint
"""


def sdpa(rows, folder):
    path = os.path.join(folder, "problem.dat-s")
    if not os.path.exists(path):
        write_sdpa(rows, path)
    out = os.path.join(folder, "sdpa.out")
    parameters = os.path.join(folder, "param.sdpa")
    with open(parameters, "w") as f:
        f.write(SDPA_PARAMETERS)
    _, seconds = child_seconds(["sdpa", "-ds", path, "-o", out, "-p", parameters, "-numThreads",
                                "1"], cwd=folder)
    text = open(out).read()
    told = re.search(r"main loop time\s*=\s*([0-9.]+)", text)
    p, q = rows.u.shape[1], rows.v.shape[1]
    block = text[text.index("yMat"):]
    numbers = re.findall(r"[-+]?\d+\.\d+e[-+]\d+", block)[:(p + q) ** 2]
    Y = np.array(numbers, float).reshape(p + q, p + q)
    return 2 * Y[:p, p:], float(told.group(1)) if told and float(told.group(1)) > 0.05 else seconds


def cvxopt(rows, folder):
    from cvxopt import matrix, solvers, spmatrix
    solvers.options.update(show_progress=False, abstol=1e-9, reltol=1e-9, feastol=1e-9)
    m, p = rows.u.shape
    q = rows.v.shape[1]
    N = p + q
    G = np.zeros((m, N, N))
    G[:, :p, p:] = rows.u[:, :, None] * rows.v[:, None, :]
    G = (G + G.transpose(0, 2, 1)).reshape(m, N * N).T
    start = time.process_time()
    answer = solvers.sdp(matrix(-1.0, (m, 1)), spmatrix(-1.0, range(m), range(m)),
                         matrix(0.0, (m, 1)), [matrix(G)], [matrix(np.eye(N))])
    seconds = time.process_time() - start
    Y = np.array(answer["zs"][0])
    return 2 * Y[:p, p:], seconds


def lq_cvxopt(rows, folder, q):
    """min sum |x|^q / q over A x >= 1 by CVXOPT's cp, smoothed as little as it bears."""
    from cvxopt import matrix, solvers, spdiag
    solvers.options.update(show_progress=False, abstol=1e-10, reltol=1e-10, feastol=1e-10)
    A = (rows.delta[:, :, None] * rows.z[:, None, :]).reshape(len(rows.delta), -1)
    size = A.shape[1]
    x0 = np.linalg.lstsq(A, np.ones(len(A)), rcond=None)[0]
    eps = 1e-6 * abs(x0).max()

    def F(x=None, z=None):
        if x is None:
            return 0, matrix(x0)
        y = np.array(x).ravel()
        s = y * y + eps * eps
        f = matrix((s ** (q / 2)).sum() / q)
        Df = matrix(y * s ** (q / 2 - 1)).T
        if z is None:
            return f, Df
        curve = s ** (q / 2 - 2) * (eps * eps + (q - 1) * y * y)
        return f, Df, spdiag(matrix(z[0] * curve))

    start = time.process_time()
    answer = solvers.cp(F, matrix(-A), matrix(-1.0, (len(A), 1)))
    seconds = time.process_time() - start
    return np.array(answer["x"]).reshape(rows.delta.shape[1], -1), seconds


def lq_slsqp(rows, folder, q):
    from scipy.optimize import minimize
    A = (rows.delta[:, :, None] * rows.z[:, None, :]).reshape(len(rows.delta), -1)
    x0 = np.linalg.lstsq(A, np.ones(len(A)), rcond=None)[0]
    start = time.process_time()
    answer = minimize(lambda x: (abs(x) ** q).sum() / q, x0,
                      jac=lambda x: np.sign(x) * abs(x) ** (q - 1), method="SLSQP",
                      constraints={"type": "ineq", "fun": lambda x: A @ x - 1,
                                   "jac": lambda x: A},
                      options={"ftol": 1e-14, "maxiter": 2000})
    seconds = time.process_time() - start
    return answer.x.reshape(rows.delta.shape[1], -1), seconds


def tell(text, **numbers):
    print(json.dumps(numbers) if AS_JSON else text, flush=True)


def run(program, name):
    n, T, d, norm, repeat, peers = INSTANCES[name]
    X, Z, ids = make(n, T, d, name.endswith("p"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.npz")
        np.savez(path, X=X, Z=Z, ids=ids)
        ours = subprocess.run([program, path, norm, str(repeat)], capture_output=True, text=True)
        words = ours.stdout.split()
        told = dict(zip(words[::2], words[1::2]))
        value, seconds = float(told["norm"]), float(told["seconds"])
        tell(f"{name:4} {norm:8} n={n} T={T} d={d}: attsvm {seconds:.3g} s, certified gap "
             f"{told['gap']}, rank {told['rank']}", instance=name, who="attsvm", seconds=seconds,
             error=float(told["gap"]), times=1)
        rows = Rows(X, Z, ids)
        for peer in peers.split():
            if norm == "nuc":
                W, theirs = globals()[peer](rows, folder)
                error = rows.error(W, value, nuclear)
            else:
                q = float(norm.split(":")[1])
                rows.u, rows.v = rows.delta, rows.z
                W, theirs = globals()[peer](rows, folder, q)
                error = rows.error(W, value, lambda W: (abs(W) ** q).sum() ** (1 / q))
            times = theirs / seconds
            tell(f"     {peer:10} {theirs:.3g} s, true error {error:.1e}, {times:.0f} times as long",
                 instance=name, who=peer, seconds=theirs, error=error, times=times)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in [a for a in sys.argv[2:] if a != "--json"] or [k for k in INSTANCES if k != "N6p"]:
        run(sys.argv[1], name)


AS_JSON = "--json" in sys.argv
main()
