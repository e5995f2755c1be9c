"""The same iterates as a PyTorch loop, and what happens to both at saturation.

    python3 compare_torch.py
"""
import time

import numpy as np
import torch

import attsvm

torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)


def torch_iterates(X, y, v, steps, lr, start):
    """Normalised gradient descent on p, written as everybody would write it."""
    X, y, v = torch.from_numpy(X), torch.from_numpy(y), torch.from_numpy(v)
    p = torch.tensor(start, requires_grad=True)
    out = [p.detach().numpy().copy()]
    for _ in range(steps):
        pooled = (torch.softmax(X @ p, 1).unsqueeze(2) * X).sum(1)
        loss = torch.nn.functional.softplus(-y * (pooled @ v)).mean()
        gradient, = torch.autograd.grad(loss, p)
        norm = gradient.norm()
        with torch.no_grad():
            if norm > 0:
                p -= lr * gradient / norm
        out.append(p.detach().numpy().copy())
    return np.array(out)


data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
X, y, v = (np.array(data.array(name)) for name in ("X", "Y", "v"))
y = y.astype(float)
start = 0.01 * np.ones(10)

theirs = torch_iterates(X, y, v, 300, 0.02, start)
ours = attsvm.train(data, "p", "ngd", lr=0.02, iters=300, record=1, init={"p": start}).trace["p"]
difference = np.abs(ours - theirs).max()
print(f"300 steps: largest difference of any coordinate of any iterate below 1e-10: "
      f"{difference < 1e-10}")

# Far out softmax rounds to 1 and the plain gradient to 0: the loop stands still or goes astray.
steps = 10_000
long_run = attsvm.train(data, "p", "ngd", lr=0.1, iters=steps, init={"p": start})
solution = long_run.svm()
far = torch_iterates(X, y, v, steps, 0.1, start)[-1]
for name, p in (("attsvm", long_run.p), ("PyTorch", far)):
    print(f"{steps} steps, {name:7s}: norm {np.linalg.norm(p):4.0f}, "
          f"correlation with the SVM {solution.compare(p)['correlation']:.2f}")
at = attsvm.evaluate(data, p=long_run.p)
print(f"the gradient there is exp({at.log_scale['p']:.1f}) times a vector of ordinary size")

# Speed, one thread each.
begin = time.perf_counter()
torch_iterates(X, y, v, 2000, 0.1, start)
slow = time.perf_counter() - begin
fast = min(attsvm.train(data, "p", "ngd", iters=2000, threads=1).info["seconds"]
           for _ in range(5))
print(f"2000 steps: more than 100 times faster than PyTorch: {slow > 100 * fast}")
