#!/usr/bin/env python3
"""attsvm cv and fit beside PyTorch and scikit-learn, in one run.

    bench/peers/learn_peers.py [BAGS.npz [TEXT.npz]] [--folds 2]

BAGS (examples/data/musk1.npz): `attsvm cv` with default flags on the stored folds, against the same
protocol in PyTorch on the first --folds folds: pools prompt and score by five-fold validation, five
starts each, then five starts of the better one.  Same objective, same start values in distribution,
torch.optim.LBFGS with strong Wolfe conditions, history 10 and the same tolerance; bags by
index_add or padded, whichever is faster here.  An evaluation is one loss with its gradient.
TEXT (arrays E, tokens, offsets): one fit, pool prompt, one start, against the first 30 evaluations
in PyTorch.  scikit-learn: logistic regression on bag means, one fit.  PyTorch and attsvm run with
one thread and with two.
"""
import argparse
import json
import pathlib
import subprocess
import time

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

ROOT = pathlib.Path(__file__).resolve().parents[2]
RIDGE = 1e-4
torch.set_default_dtype(torch.float64)


class Bags:
    """Scaled tokens of some bags as tensors, with the weights of the balanced loss."""

    def __init__(self, X, offsets, y, which, scale=None):
        rows = np.concatenate([np.arange(offsets[i], offsets[i + 1]) for i in which])
        tokens = X[rows].astype(float)
        if scale is None:
            sigma = tokens.std(0)
            scale = tokens.mean(0), np.where(sigma > 0, sigma, 1) * np.sqrt(X.shape[1])
        self.scale, self.n, self.y = scale, len(which), torch.tensor(y[which])
        lengths = np.diff(offsets)[which]
        self.X = torch.tensor((tokens - scale[0]) / scale[1])
        self.bag = torch.tensor(np.repeat(np.arange(self.n), lengths))
        self.mask = torch.arange(int(lengths.max())) < torch.tensor(lengths)[:, None]
        self.padded = torch.zeros(*self.mask.shape, X.shape[1])
        self.padded[self.mask] = self.X
        positive = (self.y > 0).double().mean()
        self.weight = torch.where(self.y > 0, 0.5 / positive, 0.5 / (1 - positive)) / self.n

    def pool(self, a, gamma):
        """sum_t softmax_t(a) gamma_t by segments."""
        e = torch.exp(a - a.max())
        total = torch.zeros(self.n).index_add(0, self.bag, e)
        return torch.zeros(self.n).index_add(0, self.bag, e * gamma) / total

    def scores(self, parameters, pool, padded):
        first, second, b = parameters
        if padded:
            gamma = self.padded @ (second if pool == "prompt" else first)
            a = self.padded @ first if pool == "prompt" else torch.exp(second) * gamma
            s = torch.softmax(a.masked_fill(~self.mask, -torch.inf), 1)
            return (s * gamma).sum(1) + b
        gamma = self.X @ (second if pool == "prompt" else first)
        a = self.X @ first if pool == "prompt" else torch.exp(second) * gamma
        return self.pool(a, gamma) + b


def minimise(bags, pool, start, padded, most=200):
    """Parameters, iterations and evaluations of one start."""
    d = bags.X.shape[1]
    random = torch.Generator().manual_seed(start)
    first = 0.3 * torch.randn(d, generator=random)
    second = 0.01 * torch.randn(d, generator=random) if pool == "prompt" else torch.zeros(1)
    parameters = [t.requires_grad_() for t in (first, second, torch.zeros(1))]
    optimiser = torch.optim.LBFGS(parameters, max_iter=most, max_eval=10 * most,
                                  tolerance_grad=1e-6 / np.sqrt(2 * d), tolerance_change=0,
                                  history_size=10, line_search_fn="strong_wolfe")
    evaluations = 0

    def closure():
        nonlocal evaluations
        evaluations += 1
        optimiser.zero_grad()
        loss = torch.nn.functional.softplus(-bags.y * bags.scores(parameters, pool, padded))
        value = bags.weight @ loss + RIDGE * (first @ first + second @ second)
        value.backward()
        return value

    optimiser.step(closure)
    return parameters, evaluations


def ensemble(train, test, pool, padded):
    with_starts = [minimise(train, pool, start, padded) for start in range(5)]
    with torch.no_grad():
        score = sum(test.scores(p, pool, padded) for p, _ in with_starts) / 5
    return score.numpy(), sum(count for _, count in with_starts)


def fold_in_torch(X, offsets, y, rest, own, padded):
    """Correct predictions and evaluations of one outer fold, pool chosen by validation."""
    evaluations, best = 0, None
    inner = StratifiedKFold(5, shuffle=True, random_state=0)
    for pool in ("prompt", "score"):
        score = np.zeros(len(rest))
        for a, b in inner.split(rest, y[rest]):
            train = Bags(X, offsets, y, rest[a])
            test = Bags(X, offsets, y, rest[b], train.scale)
            score[b], count = ensemble(train, test, pool, padded)
            evaluations += count
        positive, negative = score[y[rest] > 0], score[y[rest] < 0]
        auc = (positive[:, None] > negative).mean()
        value = ((score > 0) != (y[rest] > 0)).mean() + 1 - auc
        best = min(best or (value, pool), (value, pool))
    train = Bags(X, offsets, y, rest)
    score, count = ensemble(train, Bags(X, offsets, y, own, train.scale), best[1], padded)
    return ((score > 0) == (y[own] > 0)).sum(), evaluations + count


def attsvm(*arguments):
    done = subprocess.run([ROOT / "build/attsvm", *arguments, "--json"], check=True,
                          capture_output=True, text=True)
    return json.loads(done.stdout)


def faster_form(bags):
    seconds = []
    for padded in (False, True):
        begin = time.perf_counter()
        minimise(bags, "prompt", 0, padded, most=20)
        seconds.append(time.perf_counter() - begin)
    return seconds[1] < seconds[0]


def compare_cv(path, folds):
    file = np.load(path)
    X, offsets, fold = file["X"], file["offsets"], file["fold"][0]
    y = file["Y" if "Y" in file else "y"].astype(float)
    padded = faster_form(Bags(X, offsets, y, np.arange(len(y))))
    print(f"{path}: {len(y)} bags; PyTorch {torch.__version__}, "
          f"{'padded' if padded else 'index_add'}, {folds} of 50 folds")
    for threads in (1, 2):
        torch.set_num_threads(threads)
        evaluations = right = count = 0
        begin = time.perf_counter()
        for k in range(folds):
            own = np.flatnonzero(fold == k)
            good, done = fold_in_torch(X, offsets, y, np.flatnonzero(fold != k), own, padded)
            evaluations, right, count = evaluations + done, right + good, count + len(own)
        seconds = time.perf_counter() - begin
        ours = attsvm("cv", path, "--threads", str(threads))
        each, our_each = seconds / evaluations, ours["seconds"] / ours["evaluations"]
        print(f"{threads} threads: PyTorch {seconds:.1f} s, {evaluations} evaluations, "
              f"{1e6 * each:.0f} us each, {right} of {count} right")
        print(f"           attsvm {ours['seconds']:.2f} s for all 50 folds, "
              f"{ours['evaluations']} evaluations, {1e6 * our_each:.1f} us each, "
              f"accuracy {ours['accuracy']:.3f}")
        print(f"           an evaluation {each / our_each:.0f} times, "
              f"the whole {seconds / folds * 50 / ours['seconds']:.0f} times as fast")


def compare_fit(path):
    file = np.load(path)
    E, tokens, offsets = file["E"], file["tokens"], file["offsets"]
    y = file["Y" if "Y" in file else "y"].astype(float)
    bags = Bags(E[tokens], offsets, y, np.arange(len(y)))
    for threads in (1, 2):
        torch.set_num_threads(threads)
        begin = time.perf_counter()
        _, evaluations = minimise(bags, "prompt", 0, False, most=25)
        each = (time.perf_counter() - begin) / evaluations
        ours = attsvm("fit", path, "--pool", "prompt", "--starts", "1", "--threads", str(threads),
                      "-o", "/tmp/attsvm-learn-peers.npz")
        our_each = ours["seconds"] / ours["evaluations"]
        print(f"{path}, one fit, {threads} threads: PyTorch {1e3 * each:.1f} ms an evaluation; "
              f"attsvm {ours['seconds']:.2f} s, {ours['evaluations']} evaluations, "
              f"{1e3 * our_each:.2f} ms each: {each / our_each:.1f} times")
    means = np.add.reduceat(bags.X.numpy(), offsets[:-1]) / np.diff(offsets)[:, None]
    begin = time.perf_counter()
    LogisticRegression(C=1 / (2 * RIDGE * len(y)), max_iter=200).fit(means, y)
    print(f"scikit-learn, logistic regression on bag means: {time.perf_counter() - begin:.3f} s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bags", nargs="?", default=str(ROOT / "examples/data/musk1.npz"))
    parser.add_argument("text", nargs="?")
    parser.add_argument("--folds", type=int, default=2)
    arguments = parser.parse_args()
    compare_cv(arguments.bags, arguments.folds)
    if arguments.text:
        compare_fit(arguments.text)


main()
