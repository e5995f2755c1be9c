#!/usr/bin/env python3
"""What docs/python.md and the changelog claim about speed and memory.

    make python && PYTHONPATH=build/python /usr/bin/python3 bench/python.py

Ratios are of one run, best of several, so that other programs matter little.
"""
import resource
import time

import numpy as np
import torch

import attsvm
from attsvm._library import ffi, lib, own


def best(function, repeats=7, times=300):
    """Seconds of processor time of one call: everything runs on one thread."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(times):
            function()
        found.append((time.process_time() - start) / times)
    return min(found)


def c_calls(X, y, v):
    """The same work by bare C calls: data set, selection, problem, solution, and free."""
    from attsvm._arrays import named_arrays
    from attsvm._settings import Settings
    arrays, keep = named_arrays([("X", X), ("Y", y), ("v", v)])
    read = Settings("read", {"threads": 1}).structs["read"]
    svm = Settings("svm", {"problem": "p", "threads": 1}).structs["svm"]
    out = [ffi.new(f"attsvm_{kind} **") for kind in ("data", "chosen", "problem", "solution")]
    data, chosen, problem, solution = out
    error = own.error

    def solve():
        lib.attsvm_data_create(data, arrays, 3, read, error)
        lib.attsvm_chosen_create(chosen, data[0], svm, b"opt", error)
        info = lib.attsvm_chosen_describe(chosen[0])
        lib.attsvm_problem_create(problem, data[0], ffi.addressof(info, "selection"), svm, error)
        lib.attsvm_problem_solve(problem[0], ffi.NULL, ffi.NULL, ffi.NULL, solution, error)
        lib.attsvm_solution_free(solution[0])
        lib.attsvm_problem_free(problem[0])
        lib.attsvm_chosen_free(chosen[0])
        lib.attsvm_data_free(data[0])
    solve.keep = keep
    return solve


def torch_loop(X, y, v, steps, lr=0.1):
    """Normalised gradient descent on p."""
    X, y, v = torch.from_numpy(X), torch.from_numpy(y.astype(float)), torch.from_numpy(v)
    p = torch.full((X.shape[2],), 0.01, dtype=torch.float64, requires_grad=True)
    for _ in range(steps):
        pooled = (torch.softmax(X @ p, 1).unsqueeze(2) * X).sum(1)
        loss = torch.nn.functional.softplus(-y * (pooled @ v)).mean()
        gradient, = torch.autograd.grad(loss, p)
        with torch.no_grad():
            p -= lr * gradient / (gradient.norm() + 1e-300)


def main():
    torch.set_num_threads(1)
    data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
    X, y, v = (np.array(data.array(name)) for name in ("X", "Y", "v"))

    bare = best(c_calls(X, y, v))
    whole = best(lambda: attsvm.svm(attsvm.Data(X, y, v=v, threads=1), "p", threads=1).theta)
    print(f"svm n=6 T=8 d=10 from arrays: {1e6 * whole:.0f} us, C calls {1e6 * bare:.0f} us, "
          f"overhead {1e6 * (whole - bare):.0f} us (at most 60)")

    fast = best(lambda: attsvm.train(data, iters=2000, threads=1), times=10)
    slow = best(lambda: torch_loop(X, y, v, 2000), repeats=3, times=1)
    print(f"train 2000 steps: {1e3 * fast:.2f} ms, PyTorch {1e3 * slow:.0f} ms, "
          f"ratio {slow / fast:.0f} (at least 300)")

    large = np.zeros((100_000, 16, 64), np.float32)
    large += 1
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attsvm.Data(large, np.tile([1, -1], 50_000))
    more = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"(100000,16,64) float32, {large.nbytes >> 20} MB: peak memory grows by {more / 1024:.1f} "
          "MB")


if __name__ == "__main__":
    main()
