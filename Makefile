# What people and continuous integration do with this repository; `make help` lists it.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.NOTPARALLEL:
.DEFAULT_GOAL := build

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
# Arguments for ctest, for example: make test CTEST_ARGS="-L unit"
CTEST_ARGS ?=
say := printf '==> %s\n'

.PHONY: help setup controlplane build test check check-asan-ubsan check-tsan lint bench demo demo-down install image clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing: Debian packages, Go (a few minutes, once)
	@hack/setup

controlplane: setup ## build etcd, Kubernetes, kwok and helm for the tests (8 minutes, once a machine)
	@test/controlplane/build >/dev/null

build: setup ## compile everything, optimised, into build/release
	@$(say) "building into build/release"
	cmake --preset release --log-level=WARNING
	cmake --build build/release -j $(JOBS)

test: controlplane build ## all tests: unit, integration and end-to-end against a real control plane
	@$(say) "testing"
	export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	ctest --test-dir build/release --output-on-failure --no-tests=error -j $(JOBS) $(CTEST_ARGS)

check: check-asan-ubsan check-tsan ## unit and integration tests under the address, undefined-behaviour and thread sanitizers

check-asan-ubsan check-tsan: check-%: controlplane
	@$(say) "building and testing with $*"
	export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	test/sanitizers/run cmake --preset $* --log-level=WARNING
	test/sanitizers/run cmake --build build/$* -j $(JOBS)
	test/sanitizers/run ctest --test-dir build/$* --output-on-failure --no-tests=error -j $(JOBS) -L '^(unit|integration)$$' $(CTEST_ARGS)

lint: build ## clang-format and clang-tidy over every source
	@hack/setup lint
	$(say) "clang-format"
	git ls-files '*.h' '*.cc' | xargs clang-format-14 --dry-run -Werror
	$(say) "clang-tidy"
	git ls-files '*.cc' | sed "s|^|^$$PWD/|; s|$$|$$|" |
	  xargs run-clang-tidy-14 -quiet -p build/release -j $(JOBS)

bench: build ## run the benchmarks
	@find build/release/bench -maxdepth 1 -type f -executable | sort | while read -r program; do
	  $(say) "$$program"
	  "$$program" </dev/null
	done

demo: controlplane build ## the whole path on a simulated fabric of 272 hosts
	@test/demo/run

demo-down: ## stop the demo and remove what it left
	@test/demo/down

install: build ## install the programs under PREFIX (/usr/local); DESTDIR is honoured
	@cmake --install build/release --prefix $(PREFIX)

image: ## build the container image yardmaster:dev with buildah
	@hack/setup image
	hack/image

clean: ## remove everything that was built; the cache of Go programs stays
	@rm -rf build out
