"""Seconds of one normalised gradient step of model W in PyTorch: float64, one thread.

The update is that of the published code: logits X W z, softmax, linear head, logistic loss,
autograd, W -= lr grad/|grad|.  Prints the best of several rounds, in seconds a step.
"""
import sys
import time

import torch

n, T, d, rounds, steps = (int(a) for a in sys.argv[1:6])
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
unit = lambda x: x / x.norm(dim=-1, keepdim=True)
X, Z, v = unit(torch.randn(n, T, d)), unit(torch.randn(n, d)), unit(torch.randn(d))
Y = torch.where(torch.rand(n) < 0.5, -1.0, 1.0)
W = ((2 * torch.rand(d, d) - 1) / d**0.5).requires_grad_(True)
best = float("inf")
for _ in range(rounds):
    start = time.perf_counter()
    for _ in range(steps):
        logits = (X @ (W @ Z.T).T.unsqueeze(-1)).squeeze(-1)
        output = ((torch.softmax(logits, dim=1).unsqueeze(-1) * X).sum(1) @ v) * Y
        loss = torch.nn.functional.softplus(-output).mean()
        loss.backward()
        with torch.no_grad():
            W -= 0.1 * W.grad / W.grad.norm()
        W.grad = None
    best = min(best, (time.perf_counter() - start) / steps)
print(best)
