"""Seconds of one normalised gradient step in PyTorch, float64.

    torch_step.py N T D ROUNDS STEPS [p|W] [THREADS]

The update is that of the published code: logits X p or X W z, softmax, linear head, logistic loss,
autograd, theta -= lr grad/|grad|.  The scores X v are computed once, before the first step.  Prints
the best of several rounds, in seconds a step.
"""
import sys
import time

import torch

n, T, d, rounds, steps = (int(a) for a in sys.argv[1:6])
model = sys.argv[6] if len(sys.argv) > 6 else "W"
torch.set_num_threads(int(sys.argv[7]) if len(sys.argv) > 7 else 1)
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
unit = lambda x: x / x.norm(dim=-1, keepdim=True)
X, Z, v = unit(torch.randn(n, T, d)), unit(torch.randn(n, d)), unit(torch.randn(d))
Y = torch.where(torch.rand(n) < 0.5, -1.0, 1.0)
scores = (X @ v) * Y[:, None]
shape = (d, d) if model == "W" else (d,)
theta = ((2 * torch.rand(shape) - 1) / d**0.5).requires_grad_(True)
best = float("inf")
for _ in range(rounds):
    start = time.perf_counter()
    for _ in range(steps):
        if model == "W":
            logits = (X @ (theta @ Z.T).T.unsqueeze(-1)).squeeze(-1)
        else:
            logits = X @ theta
        output = (torch.softmax(logits, dim=1) * scores).sum(1)
        loss = torch.nn.functional.softplus(-output).mean()
        loss.backward()
        with torch.no_grad():
            theta -= 0.1 * theta.grad / theta.grad.norm()
        theta.grad = None
    best = min(best, (time.perf_counter() - start) / steps)
print(best)
