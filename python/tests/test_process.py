"""Threads, forks, Ctrl-C, other runtimes in the process: each in a process of its own."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import attsvm


def python(code, timeout=300, **environment):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True,
                          text=True, timeout=timeout, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LONG_CALLS = {
    "train": "attsvm.train(data, iters=10**12)",
    "train, own loss": "attsvm.train(data, iters=10**12, loss=lambda u: (-u, -1.0))",
    "continue_": "attsvm.train(data, iters=1).continue_(10**12)",
    "train_many": "attsvm.train_many([(data, {'iters': 10**12})] * 3)",
    "verify": "attsvm.verify(data, iters=10**12)",
    "svm": "attsvm.svm(attsvm.generate('planted-W', n=1000, T=30, d=80), 'W', norm='nuc')",
    "path": "attsvm.path(attsvm.generate('gauss', n=300, T=30, d=40), 'W', radii='1:1e6:500')",
    "tokens": "attsvm.tokens(attsvm.generate('gauss', n=12, T=8, d=30), problem='W',"
              " enumerate=True)",
    "graph": "attsvm.graph(attsvm.generate('ntp', n=50, T=5, d=8), iters=10**12)",
    "fit": "attsvm.AttentionClassifier(starts=1000).fit(attsvm.generate('gauss', n=3000, T=9,"
           " d=9))",
    "generate": "attsvm.generate(n=10**6, T=100, d=10, output=sys.argv[1])",
}


def processor_seconds(process):
    """What a process has used so far: unlike the clock, it does not run while others work."""
    with open(f"/proc/{process.pid}/stat", encoding="ascii") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("name", LONG_CALLS)
def test_ctrl_c(name, tmp_path):
    """KeyboardInterrupt within a second of work, and the objects are usable afterwards."""
    code = f"""if True:
        import attsvm, attsvm._learn, signal, sys, time
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have it ignored
        data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
        print("ready", flush=True)
        try:
            {LONG_CALLS[name]}
            print("ended by itself", flush=True)
        except KeyboardInterrupt:
            print("interrupted", time.process_time(), flush=True)
        assert attsvm.svm(data).check().valid and attsvm.train(data, iters=10).iters == 10
        print("usable")"""
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "large.npz")],
                               stdout=subprocess.PIPE, text=True)
    watchdog = threading.Timer(300, process.kill)  # a call that does not stop ends here
    watchdog.start()
    try:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.8)
        before, start = processor_seconds(process), time.monotonic()
        process.send_signal(signal.SIGINT)
        word, after = process.stdout.readline().split()
        waited = time.monotonic() - start
        assert word == "interrupted"
        assert process.stdout.readline() == "usable\n"
        assert process.wait(timeout=120) == 0
    finally:
        watchdog.cancel()
        process.kill()
    print(f"{name}: {waited:.2f} s")
    assert not list(tmp_path.iterdir())
    assert float(after) - before < 1.0


def test_fork_after_use():
    assert python("""
        import os, attsvm
        data = attsvm.generate("gauss", n=2000, T=8, d=10, seed=1)
        before = attsvm.train(data, iters=20).p.tobytes()
        child = os.fork()
        if child == 0:
            same = attsvm.train(data, iters=20).p.tobytes() == before
            os._exit(0 if same else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]),
              attsvm.train(data, iters=20).p.tobytes() == before)""") == "0 True"


def test_fork_while_another_thread_trains():
    assert python("""
        import os, threading, attsvm
        data = attsvm.generate("gauss", n=2000, T=8, d=10, seed=1)
        run = attsvm.train(data, iters=1)
        begun, forked = threading.Event(), threading.Event()
        def look(state):
            begun.set()
            return not forked.is_set()
        thread = threading.Thread(
            target=lambda: run.continue_(10**9, callback=look))
        thread.start()
        begun.wait()
        child = os.fork()
        if child == 0:
            attsvm.train(data, iters=20)
            try:
                run.continue_(1)
            except attsvm.Error as error:
                os._exit(0 if "forked" in str(error) else 2)
            os._exit(1)
        forked.set()
        thread.join()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))""", timeout=100) == "0"


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_joblib(backend):
    pytest.importorskip("joblib")
    assert python(f"""
        import joblib, numpy as np, attsvm
        data = attsvm.generate("planted-p", n=6, T=8, d=10, seed=1)
        attsvm.train(data, iters=10)
        def work(seed):
            return attsvm.train(data, iters=50, seed=seed, threads=1, init="gauss:1")
        runs = joblib.Parallel(2, backend="{backend}")(joblib.delayed(work)(s) for s in range(6))
        print(all((run.p == work(s).p).all() for s, run in enumerate(runs)))""") == "True"


def test_the_gil_is_released():
    """Python goes on while the library works."""
    assert python("""
        import threading, time, attsvm
        data = attsvm.generate("gauss", n=200, T=10, d=20)
        ticks, done = [], threading.Event()
        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                time.sleep(0.01)
        threading.Thread(target=tick).start()
        start = time.monotonic()
        attsvm.train(data, iters=10**9, time_limit=0.6)
        end = time.monotonic()
        done.set()
        print(sum(start < t < end for t in ticks) > 15)""") == "True"


LIBRARIES = """
        def libraries():
            with open("/proc/self/maps") as maps:
                names = {line.split()[-1].rsplit("/", 1)[-1] for line in maps if ".so" in line}
            return {n for n in names if any(k in n for k in ("omp", "blas", "lapack", "mkl"))}
        """


@pytest.fixture(scope="module")
def torch_alone():
    pytest.importorskip("torch")
    return python(LIBRARIES + """
        import torch, numpy
        print(sorted(libraries()), torch.get_num_threads())""")


@pytest.mark.parametrize("first, second", [("torch", "attsvm"), ("attsvm", "torch")])
def test_beside_torch(first, second, torch_alone):
    """No second OpenMP runtime or BLAS is loaded, and torch's threads are not changed."""
    both = python(LIBRARIES + f"""
        import {first}, {second}, numpy
        data = attsvm.generate("planted-p", n=6, T=8, d=10)
        attsvm.svm(data, norm="nuc"), attsvm.train(data, "W", iters=100)
        print(sorted(libraries()), torch.get_num_threads())""")
    assert both == torch_alone


def test_blas_threads_of_the_host_are_not_changed():
    threadpoolctl = pytest.importorskip("threadpoolctl")
    del threadpoolctl
    code = """
        import numpy, threadpoolctl{more}
        numpy.ones((100, 100)) @ numpy.ones((100, 100))
        print([(i["internal_api"], i["num_threads"]) for i in threadpoolctl.threadpool_info()])"""
    assert python(code.format(more="")) == python(code.format(more=", attsvm"))


EXTENSION = pathlib.Path(attsvm.__file__).parent / "_attsvm.abi3.so"
NEEDED = sorted(set(re.findall(rb"\0(lib[\w+]+\.so\.\d+)(?=\0)", EXTENSION.read_bytes()))
                - {b"libc.so.6", b"libm.so.6", b"libasan.so.8", b"libubsan.so.1",
                   b"libClp.so.1"})  # loaded with the first problem that needs it


@pytest.mark.parametrize("library", NEEDED, ids=bytes.decode)
def test_a_missing_library_is_named(library, tmp_path):
    """A copy of the extension that asks the loader for a library that nobody has."""
    shutil.copytree(EXTENSION.parent, tmp_path / "attsvm")
    other = re.sub(rb"\d", b"9", library)
    content = EXTENSION.read_bytes().replace(b"\0" + library + b"\0", b"\0" + other + b"\0")
    (tmp_path / "attsvm" / EXTENSION.name).write_bytes(content)
    said = python("""
        try:
            import attsvm
        except ImportError as error:
            print(error)""", PYTHONPATH=str(tmp_path))
    assert other.decode() in said
    package = re.search(r"install (\S+)\.$", said)[1]
    assert package.startswith(library.split(b".so")[0].decode())
    assert package.endswith(library.split(b".so.")[1].decode())


def test_progress():
    code = """
        import sys{hide}, attsvm
        data = attsvm.generate("planted-p", n=6, T=8, d=10)
        attsvm.train(data, iters=10**9, time_limit=0.8, progress=True)"""
    for hide, word in (("", "it/s"), ("; sys.modules['tqdm'] = None; import sys", "train: ")):
        done = subprocess.run([sys.executable, "-c", textwrap.dedent(code.format(hide=hide))],
                              capture_output=True, text=True, timeout=60, check=True)
        assert word in done.stderr and done.stdout == ""
