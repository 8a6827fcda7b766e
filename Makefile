# Makefile - the everyday commands; `make help` lists them.
# SPDX-License-Identifier: Apache-2.0
#
# On a fresh Debian 12 machine `make run` and `make test` are all one needs. On another system install what
# `tools/setup --list` names and pass SETUP=true, which skips the installation step. PEERS=true skips that of Python
# packages; tests that need them are then skipped too.

JOBS   ?= $(shell nproc)
PREFIX ?= /usr/local
SETUP  ?= tools/setup
PEERS  ?= build/dev/sluice peers install

.DEFAULT_GOAL := help
.PHONY: help setup run build test test-peers parity mutation bench format check fuzz install clean

# Configuring takes a second and finds rooms that were added since; only warnings and errors are shown.
configure = @cmake --preset $(1) --log-level=WARNING >/dev/null
compile   = @cmake --build --preset $(1) -j $(JOBS)

help:  ## this list
	@echo "usage: make <target>"
	@sed -n 's/^\([a-z][a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14
	@echo "variables: JOBS=$(JOBS) PREFIX=$(PREFIX) SETUP=$(SETUP) PEERS='$(PEERS)'"

setup:
	@$(SETUP)

run: build  ## set up, build, then the tour: ./sluice quick
	./sluice quick

build: setup  ## set up, then the Release program as ./sluice
	$(call configure,release)
	$(call compile,release) --target sluice workers
	@ln -sf build/release/sluice sluice

test:  ## set up with what tests need, then all fast tests
	@$(SETUP) --with test
	$(call configure,dev)
	$(call compile,dev)
	@$(PEERS) light
	@ctest --preset dev -j $(JOBS)

test-peers:  ## set up with the libraries on torch, DALI and SPDL too, then the tests of real libraries
	@$(SETUP) --with test
	$(call configure,dev)
	$(call compile,dev)
	@$(PEERS) light torch dali spdl servers tensorboard tensorflow
	@ctest --test-dir build/dev --output-on-failure -L peers

parity:  ## set up, then every transform beside AlbumentationsX: the table of docs/parity.md
	@$(SETUP) --with test
	$(call configure,dev)
	$(call compile,dev) --target sluice parity_apply
	@$(PEERS) light
	python3 -B tests/parity/parity.py build/dev/tests/parity/parity_apply --write

bench: build  ## set up with what we compare against, then the decode comparison
	@$(SETUP) --with bench
	$(call configure,release)
	$(call compile,release) --target workers
	bench/run

format:  ## rewrite the sources in the house format
	@tools/format

check:  ## what must hold before a merge request: format, layers, build, tests, headers, tidy
	@$(SETUP) --with test
	@tools/check

mutation:  ## break chosen fast paths one at a time; the tests must notice each
	@$(SETUP) --with test
	@tools/mutate --jobs $(JOBS)

fuzz:  ## every fuzz target for 20 seconds
	@$(SETUP) --with test
	@tools/fuzz

install: build  ## headers, libraries, program, completion and documents into PREFIX
	$(call compile,release)
	@cmake --install build/release --prefix $(PREFIX)

clean:  ## remove everything that was built
	rm -rf build sluice
