"""A loss, a step-size schedule and a stopping rule of one's own.

    python3 own_loss.py
"""
import numpy as np

import attsvm

data = attsvm.generate("planted-p", n=12, T=6, d=8, seed=3)


def squared_hinge_like(u):
    """softplus(1 - u)^2 and its slope: strictly decreasing, as a loss has to be."""
    s = np.logaddexp(0, 1 - u)
    return s * s, -2 * s / (1 + np.exp(u - 1))


def schedule(step):
    """Larger steps once attention has begun to decide."""
    return 0.05 if step < 100 else 0.2


def decided(state):
    """Ends the run when every selected token has 99 % of the attention."""
    if state.softmax_min > 0.99:
        print(f"step {state.iters}: attention has decided, loss {state.loss:.6f}")
        return False
    return True


run = attsvm.train(data, loss=squared_hinge_like, schedule=schedule, iters=50_000, observe=50,
                   callback=decided)
print(run.info["outcome"], "selected", run.ids)

# The direction does not depend on the loss: it is that of the same SVM.
run.continue_(20_000)
print(f"correlation with the SVM {run.svm().compare(run.theta)['correlation']:.5f}")
