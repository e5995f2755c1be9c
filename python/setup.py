"""Builds the extension module, and before it the C library where that is not built yet.

ATTSVM_BUILD names a build directory of the library; by default it is build/ of the source tree
where `make` has configured it, else one of our own, without tests and benchmarks.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import setup
from setuptools.command.build_ext import build_ext

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
os.chdir(HERE)
sys.path.insert(0, str(HERE))

from declarations import make_ffi  # noqa: E402  (needs the path above)

HEADER = ROOT / "include/attsvm/attsvm.h"
VERSION = ".".join(re.findall(r"^#define ATTSVM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$",
                              HEADER.read_text(encoding="utf-8"), flags=re.M))


def build_directory():
    if os.environ.get("ATTSVM_BUILD"):
        return pathlib.Path(os.environ["ATTSVM_BUILD"]).resolve()
    made = ROOT / "build"
    return made if (made / "CMakeCache.txt").exists() else ROOT / "build-python"


def build_library(directory):
    """Brings libattsvm.a up to date; returns what the linker needs beside it."""
    if not shutil.which("cmake"):
        sys.exit("attsvm: cmake was not found.  Install what the C library needs with tools/setup.")
    if not (directory / "CMakeCache.txt").exists():
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(directory), *generator,
                        "-DATTSVM_TESTS=OFF", "-DATTSVM_BENCH=OFF"], check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", str(directory), "--target", "attsvm_static", "--parallel"],
                   check=True, stdout=sys.stderr)
    cache = (directory / "CMakeCache.txt").read_text(encoding="utf-8")
    return dict(re.findall(r"^(\w+):[A-Z]+=(.*)$", cache, flags=re.M))


def link_arguments(directory, cache):
    """The archive itself, and the shared libraries that its pkg-config file names beside it."""
    needs = re.search(r"^Libs.private:(.*)$", (directory / "attsvm.pc").read_text(encoding="utf-8"),
                      flags=re.M)[1]
    sanitize = cache.get("ATTSVM_SANITIZE") == "ON"
    instruments = ["-fsanitize=address,undefined"] if sanitize else []
    return {
        "include_dirs": [str(ROOT / "include")],
        "extra_objects": [str(directory / "libattsvm.a")],
        "extra_compile_args": ["-O2", *instruments],
        "extra_link_args": [*needs.split(), "-Wl,--exclude-libs,ALL", "-Wl,-z,nodelete",
                            *instruments],
        "depends": [str(HEADER), str(directory / "libattsvm.a"), str(HERE / "declarations.py")],
    }


class BuildExtension(build_ext):
    """The library first: the extension is linked with it."""

    def run(self):
        directory = build_directory()
        link = link_arguments(directory, build_library(directory))
        ffi = make_ffi(HEADER, **link)
        source = pathlib.Path(self.build_temp, "_attsvm.c")
        source.parent.mkdir(parents=True, exist_ok=True)
        ffi.emit_c_code(str(source))  # leaves the file alone where nothing changed
        extension = self.extensions[0]
        extension.sources = [str(source)]
        for name, value in link.items():
            setattr(extension, name, value)
        super().run()


from setuptools import Extension  # noqa: E402

setup(
    version=VERSION,
    ext_modules=[Extension("attsvm._attsvm", sources=[], py_limited_api=True)],
    cmdclass={"build_ext": BuildExtension},
    options={"bdist_wheel": {"py_limited_api": "cp38"}},
)
