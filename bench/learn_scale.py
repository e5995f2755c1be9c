#!/usr/bin/env python3
"""Cost of attsvm fit against the size of the data, and one large fit.

    bench/learn_scale.py [--large TOKENS] [--build build]

Fits of 20 iterations, pool prompt, one start, one thread: seconds per evaluation against tokens x d,
and the exponent of a straight line through their logarithms.  --large 10000000 then fits that many
tokens with d = 64, float32, on all threads, and reports seconds and the peak memory beyond the data.
"""
import argparse
import json
import pathlib
import resource
import subprocess
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]


def attsvm(build, *arguments):
    done = subprocess.run([ROOT / build / "attsvm", *map(str, arguments), "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def make(path, tokens, d, length=10):
    """Bags of ten tokens; a positive bag holds one token that is shifted."""
    random = np.random.default_rng(0)
    n = tokens // length
    X = np.lib.format.open_memmap(path / "X.npy", "w+", np.float32, (n, length, d))
    for first in range(0, n, 10000):
        part = X[first:first + 10000]
        part[:] = random.standard_normal(part.shape, dtype=np.float32)
        part[1::2, 3, :4] += 2
    X.flush()
    np.save(path / "y.npy", (np.arange(n) % 2).astype(np.int8))


def scale(build):
    sizes, seconds = [], []
    for tokens, d in ((20000, 16), (20000, 64), (80000, 64), (80000, 256), (320000, 256)):
        with tempfile.TemporaryDirectory() as folder:
            make(pathlib.Path(folder), tokens, d)
            found = [attsvm(build, "fit", folder, "--pool", "prompt", "--starts", 1, "--threads", 1,
                            "--iterations", 20, "-o", f"{folder}/m.npz") for _ in range(3)]
        each = min(f["seconds"] / f["evaluations"] for f in found)
        sizes.append(tokens * d)
        seconds.append(each)
        print(f"{tokens:8d} tokens, d = {d:3d}: {1e3 * each:8.3f} ms an evaluation, "
              f"{1e9 * each / (tokens * d):.3f} ns a value")
    print(f"exponent {np.polyfit(np.log(sizes), np.log(seconds), 1)[0]:.3f}")


def large(build, tokens, d=64):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        make(pathlib.Path(folder), tokens, d)
        found = attsvm(build, "fit", folder, "--pool", "prompt", "--starts", 1,
                       "-o", f"{folder}/m.npz")
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    print(f"{tokens} tokens, d = {d}: {found['seconds']:.1f} s, {found['evaluations']} evaluations, "
          f"accuracy {found['accuracy']:.4f}, gradient {found['gradient']:.1e}, "
          f"peak {peak:.2f} GB, beyond the data {peak - 4 * tokens * d / 2**30:.2f} GB")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--build", default="build")
    arguments = parser.parse_args()
    if arguments.large:
        large(arguments.build, arguments.large)
    else:
        scale(arguments.build)


main()
