"""The programs of examples/python run, and docs/python.md shows what they print."""
import os
import subprocess
import sys

import pytest
from conftest import ROOT

EXAMPLES = sorted((ROOT / "examples/python").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    arguments = ["figure.png"] if path.stem == "quickstart" else []
    done = subprocess.run([sys.executable, str(path), *arguments], capture_output=True, text=True,
                          timeout=600, cwd=tmp_path, env=os.environ)
    assert done.returncode == 0, done.stderr
    assert done.stdout in (ROOT / "docs/python.md").read_text(encoding="utf-8")
    if arguments:
        assert (tmp_path / "figure.png").stat().st_size > 10_000
