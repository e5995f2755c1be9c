"""The papers' story in forty lines: descent on attention finds the max-margin tokens.

    python3 quickstart.py [figure.png]
"""
import sys

import numpy as np

import attsvm

# Eight sequences of five tokens in the plane.  The first token of each stands apart, and it has
# the best score, which is the first coordinate: that is what the fixed head v says.
random = np.random.default_rng(2)
X = 0.6 * random.normal(size=(8, 5, 2))
X[:, 0] += [2.5, 1.5]
data = attsvm.Data(X, y=np.ones(8), v=np.array([1.0, 0.0]))
print(data)

# Normalised gradient descent on the prompt p: attention softmax(X p) decides for one token.
run = attsvm.train(data, "p", "ngd", lr=0.05, iters=20_000, record="log",
                   init={"p": np.array([-2.0, 1.0])})
print(run)
print("selected tokens", run.ids)

# Which direction?  That of the shortest p that prefers these tokens by a margin of 1.
solution = attsvm.svm(data, select=run)
print(solution)
print(solution.check())
for step, p in zip(run.trace["iter"], run.trace["p"]):
    if step in (1, 10, 100, 1000, 10_000, 20_000):
        print(f"step {step:6d}  correlation {solution.compare(p)['correlation']:.6f}")

# The same in one call, with the conditions of the theorems.
verdict = run.verdict()
print(verdict)

if len(sys.argv) > 1:
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4))
    attsvm.plot.trajectory(run, solution, ax=left).set(xlim=(-3, 6), ylim=(-3, 6))
    attsvm.plot.correlation(run, solution, ax=right)
    figure.tight_layout()
    figure.savefig(sys.argv[1])
