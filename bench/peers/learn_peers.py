#!/usr/bin/env python3
"""attsvm fit beside PyTorch and scikit-learn: time of one evaluation of loss and gradient.

    bench/peers/learn_peers.py [FILE]

attsvm and PyTorch fit the same model (pool prompt, ridge 1e-4) to the same bags by L-BFGS from five
starts (attsvm: fifty, to outweigh the start of the program); an evaluation is one value and gradient
of the objective, its cost the CPU time of the process.  scikit-learn's logistic regression
on bag means, a convex problem, stands beside them.  One thread each.
"""
import json
import pathlib
import resource
import subprocess
import sys
import time

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression

ROOT = pathlib.Path(__file__).resolve().parents[2]


def torch_fit(X, bag, y, starts=5, iterations=200):
    """Evaluations and seconds of `starts` fits."""
    n, d = len(y), X.shape[1]
    evaluations, begin = 0, time.process_time()
    for start in range(starts):
        rng = torch.Generator().manual_seed(start)
        p = (0.3 * torch.randn(d, generator=rng, dtype=torch.double)).requires_grad_()
        v = (0.01 * torch.randn(d, generator=rng, dtype=torch.double)).requires_grad_()
        b = torch.zeros(1, dtype=torch.double, requires_grad=True)
        optimiser = torch.optim.LBFGS([p, v, b], max_iter=iterations, tolerance_grad=1e-6,
                                      tolerance_change=0, history_size=10,
                                      line_search_fn="strong_wolfe")

        def closure():
            nonlocal evaluations
            evaluations += 1
            optimiser.zero_grad()
            a = X @ p
            e = torch.exp(a - a.max())
            Z = torch.zeros(n, dtype=torch.double).index_add(0, bag, e)
            f = torch.zeros(n, dtype=torch.double).index_add(0, bag, e * (X @ v)) / Z + b
            loss = torch.nn.functional.softplus(-y * f).mean() + 1e-4 * (p @ p + v @ v)
            loss.backward()
            return loss

        optimiser.step(closure)
    return evaluations, time.process_time() - begin


def main():
    path = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "examples/data/musk1.npz")
    torch.set_num_threads(1)
    file = np.load(path)
    X, offsets = file["X"].astype(float), file["offsets"]
    y = file["Y" if "Y" in file else "y"].astype(float)
    bag = np.repeat(np.arange(len(y)), np.diff(offsets))
    sigma = X.std(0)
    X = (X - X.mean(0)) / np.where(sigma > 0, sigma, 1) / np.sqrt(X.shape[1])
    found = min((torch_fit(torch.tensor(X), torch.tensor(bag), torch.tensor(y)) for _ in range(3)),
                key=lambda pair: pair[1] / pair[0])
    costs = []
    for _ in range(9):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        own = json.loads(subprocess.run(
            [ROOT / "build/attsvm", "fit", path, "--pool", "prompt", "--threads", "1", "--starts",
             "50", "--json", "-o", "/tmp/attsvm-learn-peers.npz"],
            check=True, capture_output=True).stdout)
        costs.append((resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) /
                     own["evaluations"])
    best = min(costs)
    begin = time.process_time()
    means = np.add.reduceat(X, offsets[:-1]) / np.diff(offsets)[:, None]
    LogisticRegression(C=1 / (2e-4 * len(y)), max_iter=200).fit(means, y)
    logistic = time.process_time() - begin
    print(f"PyTorch {torch.__version__}: {found[0]} evaluations, "
          f"{1e6 * found[1] / found[0]:.1f} us each")
    print(f"attsvm: {own['evaluations']} evaluations, {1e6 * best:.1f} us each")
    print(f"scikit-learn, logistic regression on bag means: {1e3 * logistic:.2f} ms a fit")
    print(f"ratio {found[1] / found[0] / best:.1f}")


main()
