"""What the tests share: data sets, the command, and how long they may take."""
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import attsvm

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ATTSVM_BUILD", ROOT / "build"))
LONG = bool(os.environ.get("ATTSVM_LONG"))

common = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None,
          "derandomize": True}  # the same examples in every run
settings.register_profile("short", max_examples=60, **common)
settings.register_profile("long", max_examples=2500, **common)
settings.load_profile("long" if LONG else "short")


def command(*arguments, status=(0, 1)):
    """The JSON that the command prints."""
    done = subprocess.run([str(BUILD / "attsvm"), *map(str, arguments), "--json"],
                          capture_output=True, text=True, timeout=600)
    assert done.returncode in status, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def planted():
    return attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)


@pytest.fixture
def arrays():
    """X, y, v as numpy arrays."""
    random = np.random.default_rng(5)
    return random.normal(size=(6, 8, 10)), np.array([1, -1, 1, -1, 1, -1]), random.normal(size=10)
