# Makefile - the everyday commands; `make help` lists them.
# SPDX-License-Identifier: Apache-2.0
#
# On a fresh Debian 12 machine `make run` and `make test` are all one needs. On another system install what
# `tools/setup --list` names and pass SETUP=true, which skips the installation step. PEERS=true skips that of Python
# packages, PYTHON_ENV=true that of what the package `sluice` is built with; tests that need them are then skipped too.
# BUILD=DIR builds elsewhere: the checkout may be read-only.

JOBS   ?= $(shell nproc)
BUILD  ?= build
PREFIX ?= /usr/local
CHAOS_S ?= 60
SETUP  ?= tools/setup
PEERS  ?= "$(program)" peers install
PYTHON_ENV ?= tools/python_env

.DEFAULT_GOAL := help
.PHONY: help setup program run build test test-peers nightly peers-install parity mutation bench format check chaos fuzz install dist wheel sanitize-python clean

# One build serves users and tests: what is tested is what runs.
tree    := $(BUILD)/release
program  = $(tree)/sluice
compile  = @tools/build --dir "$(tree)" --jobs $(JOBS) release

help:  ## this list
	@echo "usage: make <target>"
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14
	@echo "variables: JOBS=$(JOBS) BUILD=$(BUILD) PREFIX=$(PREFIX) SETUP=$(SETUP) PEERS='$(PEERS)' PYTHON_ENV='$(PYTHON_ENV)'"

setup:
	@$(SETUP)

# The program and the one module that the tour needs, for training on the CPU.
program: setup
	$(compile) tour
	@ln -sf "$(program)" sluice 2>/dev/null || true

run: program  ## set up, build what it needs, then the tour: sluice quick
	@$(PEERS) light || echo "make run: Pillow and OpenCV are not installed; the tour goes on without them"
	@"$(program)" quick

build: program  ## set up, then the program with every module and the workers of other libraries
	$(compile) sluice sluice_modules workers

test:  ## set up with what tests need, build, then all fast tests
	@$(SETUP) --with test
	@$(PYTHON_ENV) "$(BUILD)/python-env" || echo "make test: the Python package is not built, its tests are skipped"
	$(compile)
	@$(PEERS) light
	@ctest --preset release --test-dir "$(tree)" -j $(JOBS)

test-peers:  ## set up with every library that we measure beside, then the tests of real libraries
	@$(SETUP) --with test
	@$(PYTHON_ENV) "$(BUILD)/python-env" || echo "make test-peers: the Python package is not built, its tests are skipped"
	$(compile)
	@$(MAKE) --no-print-directory peers-install
	@ctest --test-dir "$(tree)" --output-on-failure -L peers -j $(JOBS)

nightly: test-peers  ## test-peers, then what takes minutes each: perturbed engines, mutations, archives, every failure of a cloud; long commands and the Python package under sanitizers
	@ctest --test-dir "$(tree)" --output-on-failure -L slow -LE "gpu|peers"; tests=$$?; tools/check sanitize_longest && tools/python_sanitize && exit $$tests

peers-install:
	@$(PEERS) light albumentationsx torch dali spdl servers tensorboard trainers kubernetes tensorflow jax

parity:  ## set up, then every transform beside AlbumentationsX: the table of docs/parity.md
	@$(SETUP) --with test
	$(compile) sluice parity_apply
	@$(PEERS) albumentationsx
	python3 -B tests/parity/parity.py "$(tree)/tests/parity/parity_apply" --write

bench: build  ## set up with what we compare against, then the decode comparison
	@$(SETUP) --with bench
	$(compile) workers
	bench/run

format:  ## rewrite the sources in the house format
	@tools/format

check:  ## what must hold before a merge request: format, layers, build, tests, headers, tidy
	@$(SETUP) --with test
	@tools/check

mutation:  ## break chosen fast paths one at a time; the tests must notice each
	@$(SETUP) --with test
	@tools/mutate --jobs $(JOBS)

chaos:  ## random commands under random faults for CHAOS_S seconds (60); prints the seed of every broken run
	@$(SETUP) --with test
	$(compile) sluice sluice_modules fault_server chaos_shim
	@python3 -B tests/chaos/chaos.py "$(program)" "$(tree)/tests/chaos/chaos_shim.so" "$(tree)/tests/storage/fault_server" \
	  --seconds $(CHAOS_S)

fuzz:  ## every fuzz target for 20 seconds
	@$(SETUP) --with test
	@tools/fuzz

install: build  ## headers, libraries, program, completion and documents into PREFIX
	$(compile) installed
	@cmake --install "$(tree)" --prefix $(PREFIX)

dist: build  ## archives that run with nothing to install, in BUILD/dist
	$(compile) installed
	@JOBS=$(JOBS) tools/dist --dir "$(tree)" --out "$(BUILD)/dist"

wheel:  ## set up, build, then the Python package as a wheel, in BUILD/dist
	@$(SETUP) --with python
	@$(PYTHON_ENV) "$(BUILD)/python-env"
	$(compile) wheel_parts
	@tools/wheel --dir "$(tree)" --env "$(BUILD)/python-env" --out "$(BUILD)/dist"

sanitize-python:  ## tests of the Python package with sanitizers in its extension
	@tools/python_sanitize

clean:  ## remove everything that was built
	rm -rf "$(BUILD)" sluice
