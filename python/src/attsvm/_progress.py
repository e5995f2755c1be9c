"""Progress of long calls: tqdm where it is installed, else one line that is written over."""
import contextlib
import sys
import time
from typing import Any, Callable, Iterator, Optional

from ._library import POLL_SECONDS, Call


class Line:
    """A counter on standard error, for want of tqdm."""

    def __init__(self, label: str) -> None:
        self.label, self.last = label, 0.0

    def show(self, done: int, total: int, note: str) -> None:
        if time.monotonic() - self.last > 0.2:
            self.last = time.monotonic()
            of = f" of {total}" if total else ""
            sys.stderr.write(f"\r\033[K{self.label}: {done}{of} {note}")
            sys.stderr.flush()

    def close(self) -> None:
        if self.last:
            sys.stderr.write("\r\033[K")


class Bar:
    """The same with tqdm."""

    def __init__(self, label: str, tqdm: Any) -> None:
        self.bar = tqdm(desc=label, leave=False)

    def show(self, done: int, total: int, note: str) -> None:
        if total:
            self.bar.total = total
        self.bar.n = done
        self.bar.set_postfix_str(note, refresh=True)

    def close(self) -> None:
        self.bar.close()


def indicator(label: str) -> Any:
    try:
        from tqdm import tqdm
    except ImportError:
        return Line(label)
    return Bar(label, tqdm)


def step_of(progress: Any) -> Any:
    """(done, total, note) of what an observer is told: two counts, or a struct."""
    if len(progress) == 2 and isinstance(progress[0], int):
        return progress[0], progress[1], ""
    state = progress[-1]
    if hasattr(state, "iters"):
        return state.iters, 0, f"loss {state.loss:.6g}, norm {state.norm:.4g}"
    return state.rounds, 0, f"{state.active} active rows, norm above {state.dual:.6g}"


@contextlib.contextmanager
def watch(call: Call, label: str, progress: Any = False, total: int = 0,
          then: Optional[Callable[..., Optional[bool]]] = None) -> Iterator[Call]:
    """Inside, the call shows its progress where asked for, and calls `then` every time."""
    shown = indicator(label) if progress else None

    def observe(*state: Any) -> Optional[bool]:
        if shown is not None:
            done, of, note = step_of(state)
            shown.show(done, of or total, note)
        return then(*state) if then is not None else None

    if shown is not None or then is not None:
        call.observe = observe
    call.start(0.0 if then is not None else POLL_SECONDS)
    try:
        yield call
    finally:
        call.observe = None
        if shown is not None:
            shown.close()
