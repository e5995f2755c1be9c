#!/usr/bin/python3
"""Writes tests/fuzz/corpus/result: data sets with results about them, one archive each.

    tests/fuzz/make_results.py [attsvm]     the command, build/attsvm when not said
"""
import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ATTSVM = sys.argv[1] if len(sys.argv) > 1 else HERE.parent.parent / "build" / "attsvm"
VARIANTS = [("p", "l2"), ("p", "l1"), ("p", "linf"), ("p", "lq:3"), ("v", "l2"), ("v", "l1"),
            ("joint", "l2"), ("W", "fro"), ("W", "nuc"), ("W", "spectral"), ("W", "l1")]


def seed(name, arrays, *flags):
    with tempfile.TemporaryDirectory() as folder:
        data, result = f"{folder}/data.npz", f"{folder}/result.npz"
        np.savez(data, **arrays)
        subprocess.run([ATTSVM, "svm", data, "--select", "ids", "--threads", "1", "-o", result, *flags],
                       check=False, stdout=subprocess.DEVNULL)  # status 1: infeasible
        with np.load(result) as loaded:
            arrays = {**dict(loaded), **arrays}
    (HERE / "corpus/result").mkdir(parents=True, exist_ok=True)
    np.savez_compressed(HERE / f"corpus/result/{name}.npz", **arrays)


rng = np.random.default_rng(1)
for (problem, norm), n in itertools.product(VARIANTS, (2, 4)):
    data = {"X": rng.integers(-3, 4, (n, 3, 3)).astype(float), "Y": np.where(np.arange(n) % 2, 1, -1),
            "ids": rng.integers(0, 3, n)}
    seed(f"{problem}_{norm.replace(':', '')}_{n}", data, "--problem", problem, "--norm", norm)
    if norm in ("l2", "fro") and problem != "joint":
        seed(f"{problem}_soft_{n}", data, "--problem", problem, "--norm", norm, "--soft", "0.5")
