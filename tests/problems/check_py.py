#!/usr/bin/python3
"""examples/check.py on the reference answers in l2: a tenth of them, with ATTSVM_LONG all.

    tests/problems/check_py.py TEST_REFERENCE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

CHECK = pathlib.Path(__file__).resolve().parents[2] / "examples" / "check.py"

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.argv[1], folder], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    files = sorted(pathlib.Path(folder).glob("*_data.npz"))[::1 if os.environ.get("ATTSVM_LONG") else 10]
    failed = 0
    for data in files:
        result = str(data).replace("_data", "_result")
        run = subprocess.run([sys.executable, CHECK, data, result], capture_output=True, text=True)
        if run.returncode != 0:
            failed += 1
            print(data.name, run.stdout, run.stderr)
print(f"{len(files)} results, {failed} not accepted")
sys.exit(failed > 0 or not files)
