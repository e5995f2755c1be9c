# A thin front for CMake and ninja: `make help` lists the targets.
#
#   JOBS=N          processes at a time (default: all cores)
#   PREFIX=DIR      where `make install` puts things (default /usr/local); DESTDIR is honoured
#   FUZZ_SECONDS=N  how long `make fuzz` spends on each parser (default 300)
#   ROOM=NAME       the room that `make check` builds and tests: base, svm, cli, ...
#   BENCH=...       flags and names for `make bench`: see bench/suite.py
#   SETUP=no        do not look for missing packages

SHELL := /bin/bash
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 300
SETUP ?= yes

# setup,GROUPS installs what is missing; build,PRESET,DIRECTORY configures once and builds.
setup = $(if $(filter yes,$(SETUP)),@tools/setup -q $(1),@:)
build = @[ $(2)/build.ninja -nt CMakePresets.json ] || { cmake --preset $(1) && touch $(2)/build.ninja; }
ninja = ninja -j$(JOBS) -C

.NOTPARALLEL: # ninja runs things side by side; two ninjas in one directory would collide
.PHONY: all test test-all check demo mpi python bench install uninstall fuzz format lint docs coverage clean help

all: ## build everything into build/ (the command is build/attsvm)
	$(call setup,build)
	$(call build,release,build)
	@$(ninja) build

test: ## the tests for every change, in minutes; ends with "N passed, N failed"
	$(call setup,build test docs python)
	@JOBS=$(JOBS) tools/test

test-all: ## the rest: other builds, sanitizers on everything, long tests, analysis
	$(call setup,build test docs mpi analysis python)
	@JOBS=$(JOBS) tools/test all

check: ## build and test one room, ROOM=svm for example, in seconds
	$(call setup,build)
	$(call build,release,build)
	@$(ninja) build check_$(ROOM)
	@ctest --test-dir build -L '^$(ROOM)$$' -j $(JOBS) --output-on-failure --no-tests=error

demo: ## two hundred reviews, and which words decide; ends with a verdict and a picture
	$(call setup,build)
	$(call build,release,build)
	@$(ninja) build attsvm
	@mkdir -p build/demo
	@build/attsvm demo -o build/demo/index.html

mpi: ## build the variant that runs over several machines into build-mpi/
	$(call setup,build mpi)
	$(call build,mpi,build-mpi)
	@$(ninja) build-mpi

python: ## build the Python package into build/python, and a wheel into build/wheel
	$(call setup,build python)
	$(call build,release,build)
	@$(ninja) build attsvm_static
	@tools/python

bench: all ## measure what the documents claim (BENCH=--quick: two minutes); needs a quiet machine
	$(call setup,bench docs mpi)
	$(call build,mpi,build-mpi)
	@$(ninja) build-mpi attsvm
	@tools/bench $(BENCH)

install: all ## install into PREFIX (and DESTDIR)
	@cmake --install build --prefix $(abspath $(PREFIX))
	@[ -n "$(DESTDIR)" ] || [ "$$(id -u)" -ne 0 ] || ldconfig

uninstall: ## remove what `make install` with the same PREFIX (and DESTDIR) has put there
	@[ -f build/install_manifest.txt ] || { echo "build/install_manifest.txt is missing: run make install first"; exit 1; }
	@tools/uninstall build/install_manifest.txt "$(abspath $(PREFIX))" "$(DESTDIR)"

fuzz: ## fuzz every parser for FUZZ_SECONDS each
	$(call setup,build fuzz)
	$(call build,fuzz,build-fuzz)
	@$(ninja) build-fuzz
	@tools/fuzz $(FUZZ_SECONDS)

format: ## clang-format all C files in place
	$(call setup,test)
	@tools/lint --format

lint: ## clang-format, clang-tidy, cppcheck and the order of folders, without changing a file
	$(call setup,build test analysis)
	@JOBS=$(JOBS) tools/lint

docs: all ## make the generated parts of docs/ anew
	$(call setup,docs)
	@tools/docs

coverage: ## run the tests and show covered lines by folder
	$(call setup,build test coverage)
	$(call build,coverage,build-coverage)
	@$(ninja) build-coverage
	@JOBS=$(JOBS) tools/coverage

clean: ## remove everything that was built
	rm -rf build build-*/

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile | expand -t 16
	@sed -n 's/^#   \(.*\)/\1/p' Makefile
