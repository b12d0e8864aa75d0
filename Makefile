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
# Which tests run under the sanitizers, as a regular expression of labels.
CHECK_LABELS ?= unit|story|integration
FUZZ_SECONDS ?= 60
# Arguments for test/lab/run, for example: make lab LAB_ARGS="--seeds 3"
LAB_ARGS ?= --svg out/lab.svg
# Folders for clang-tidy.
TIDY ?= .
# At most so many of the sources that changed last.
TIDY_LIMIT ?= 20
say := printf '==> %s\n'

.PHONY: help setup controlplane controllers programs build test nightly test-older test-arm64 kinds kills lab check format fuzz tidy tidy-changed tidy-commands thread-safety build-core build-fuzzers build-asan-ubsan build-tsan check-core check-asan-ubsan check-tsan lint bench demo demo-check demo-down site ui ui-test install image image-test release clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "%-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing: Debian packages, Go (a few minutes, once)
	@hack/setup

controlplane: setup ## build etcd, Kubernetes, kwok and helm for the tests (8 minutes, once a machine)
	@test/controlplane/build >/dev/null

controllers: setup ## build Kueue and JobSet for the tests with them (5 minutes, once a machine)
	@test/controlplane/build controllers >/dev/null

programs: setup ## compile the four programs, without tests and benchmarks
	@$(say) "building the programs into build/release/bin (the first time about 8 minutes on two cores)"
	cmake --preset release --log-level=WARNING >/dev/null
	cmake --build build/release -j $(JOBS) --target programs

build: setup ## compile everything, optimised, into build/release
	@$(say) "building into build/release"
	cmake --preset release --log-level=WARNING >/dev/null
	cmake --build build/release -j $(JOBS)

test: controlplane controllers build ## all tests: unit, integration and end-to-end against a real control plane
	@hack/setup lab
	$(say) "testing"
	export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	export YARDMASTER_CONTROLLERS=$$(test/controlplane/build controllers)
	test/monitoring/promtool >/dev/null
	ctest --test-dir build/release --output-on-failure --no-tests=error -j $(JOBS) $(CTEST_ARGS)

# What continuous integration leaves to the night; NIGHTLY names the steps to run, all of them when left out.
nightly: ## everything that there is to check, for hours: all of it runs, and the table at the end says how each step ended
	@hack/nightly $(NIGHTLY)

# The older Kubernetes versions of the test bed (test/controlplane/recipe), or those that OLDER names.
OLDER ?= 1.36 1.34
test-older: controllers build ## integration and end-to-end tests against Kubernetes 1.36 and 1.34, or OLDER=1.36 (builds each once a machine, 6 minutes)
	@hack/setup lab
	export YARDMASTER_CONTROLLERS=$$(test/controlplane/build controllers)
	for version in $(OLDER); do
	  export YARDMASTER_KUBERNETES=$$version
	  $(say) "testing on Kubernetes $$version"
	  export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	  test/monitoring/promtool >/dev/null
	  ctest --test-dir build/release --output-on-failure --no-tests=error -j $(JOBS) -L '^(integration|e2e)$$' $(CTEST_ARGS)
	done

kinds: controlplane controllers build ## stories of all real controllers on each Kubernetes version, and five long histories of failures (60 minutes)
	@export YARDMASTER_CONTROLLERS=$$(test/controlplane/build controllers all)
	for version in 1.37 $(OLDER); do
	  export YARDMASTER_KUBERNETES=$$version
	  $(say) "stories on Kubernetes $$version"
	  export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	  build/release/test/kinds/ym_more_kinds_test
	done
	unset YARDMASTER_KUBERNETES
	export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	for seed in 1 2 3 4 5; do
	  $(say) "seed $$seed"
	  YARDMASTER_KINDS_SEED=$$seed YARDMASTER_KINDS_STEPS=120 build/release/test/kinds/ym_kinds_test --gtest_filter='MixedLoadTest.*'
	done

ARM64 := shim agent repac api
# The first starts this machine's Python, which takes no library of another architecture. In the second posix_spawn does not see
# that exec has failed: qemu gives the child memory of its own.
ARM64_NOT := SocketShimTest.AnUnchangedProgramGetsItByPreload:RunForText.GivesOutputAndBoundsTimeLengthAndFailure
test-arm64: setup ## node agent and shims for arm64, cross-built; unit tests of them, repac and api by qemu (an hour of one core, once)
	@hack/setup arm64
	$(say) "building for arm64 into build/arm64"
	cmake --preset arm64 --log-level=WARNING >/dev/null
	cmake --build build/arm64 -j $(JOBS) --target yardmaster-agent yardmaster-verbs yardmaster-socket $(foreach part,$(ARM64),ym_$(part)_test)
	for part in $(ARM64); do
	  $(say) "ym_$${part}_test"
	  qemu-aarch64-static -L "$$(hack/arm64-sysroot)" build/arm64/pkg/$$part/ym_$${part}_test --gtest_brief=1 --gtest_filter='-$(ARM64_NOT)'
	done

kills: build ## tens of thousands of kills of the operator
	@build/release/test/chaos/ym_job_kills_test --histories=200 --first-seed=1000

lab: controlplane programs ## PyTorch jobs on a fabric of Linux switches: planned ports and levels against default ECMP, and grey failures (35 minutes)
	@hack/setup lab
	mkdir -p out
	test/lab/spray
	test/lab/grey
	test/lab/run $(LAB_ARGS)

check: check-asan-ubsan check-tsan ## tests (but end-to-end ones) under the address, undefined-behaviour and thread sanitizers

build-asan-ubsan build-tsan: build-%: setup
	@hack/setup lint
	$(say) "building with $*"
	test/sanitizers/run cmake --preset $* --log-level=WARNING
	test/sanitizers/run cmake --build build/$* -j $(JOBS)

check-asan-ubsan check-tsan: check-%: controlplane build-%
	@$(say) "testing with $*"
	export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	test/sanitizers/run ctest --test-dir build/$* --output-on-failure --no-tests=error -j $(JOBS) -L '^($(CHECK_LABELS))$$' $(CTEST_ARGS)

# A part of the build for ASan and UBSan, which is small enough for continuous integration.
build-core build-fuzzers: build-%: setup
	@hack/setup lint
	$(say) "building $* with ASan and UBSan"
	test/sanitizers/run cmake --preset asan-ubsan --log-level=WARNING
	test/sanitizers/run cmake --build build/asan-ubsan -j $(JOBS) --target $*

check-core: build-core ## the pure core and what decodes outside input under ASan and UBSan: unit tests, and a minute of fuzz
	@test/sanitizers/run ctest --test-dir build/asan-ubsan --output-on-failure --no-tests=error -j $(JOBS) -L '^core$$' $(CTEST_ARGS)
	test/fuzz/run --seconds 5 build/asan-ubsan

fuzz: build-fuzzers ## every fuzz target under ASan and UBSan, FUZZ_SECONDS (60) each
	@$(say) "running the fuzz targets"
	test/fuzz/run --seconds $(FUZZ_SECONDS) build/asan-ubsan

ui: ## build the web page: ui/src into ui/dist
	@hack/setup ui
	cd ui && npm ci --no-audit --no-fund --silent && npm run --silent build

ui-test: ## the web page in Chromium; SCREENSHOTS=FOLDER keeps pictures
	@hack/setup ui
	ui/check-dist
	cd ui
	npm ci --no-audit --no-fund --silent
	npm run --silent check
	fresh=$$(mktemp -d)
	trap 'rm -rf "$$fresh"' EXIT
	node build.mjs --out "$$fresh"
	diff -r dist "$$fresh"
	npm test --silent

lint: format thread-safety tidy ## clang-format, clang's thread-safety analysis and clang-tidy

format: ## clang-format over every source
	@hack/setup lint
	$(say) "clang-format"
	git ls-files '*.h' '*.cc' | xargs clang-format-14 --dry-run -Werror

# Commands for clang, which cannot read g++'s precompiled headers, and the sources that protoc makes.
tidy-commands: setup
	@hack/setup lint
	cmake -S . -B build/tidy -G Ninja -DYARDMASTER_PRECOMPILE=OFF -DYARDMASTER_UNITY=OFF -DCMAKE_BUILD_TYPE=Release --log-level=WARNING
	cmake --build build/tidy -j $(JOBS) --target ym_rpc_generated ym_rpc_testing_generated ym_version_values

thread-safety: tidy-commands ## clang's thread-safety analysis over every source that uses an annotated mutex
	@$(say) "clang -Wthread-safety"
	hack/thread-safety build/tidy $(JOBS)

tidy: tidy-commands ## clang-tidy over the folders in TIDY (default: all)
	@$(say) "clang-tidy over $(TIDY)"
	git ls-files $(addsuffix /*.cc,$(TIDY)) | sed "s|^|^$$PWD/|; s|$$|$$|" |
	  xargs run-clang-tidy-14 -quiet -p build/tidy -j $(JOBS)

tidy-changed: tidy-commands ## clang-tidy over the sources that changed last (hack/changed-sources says which)
	@sources=$$(hack/changed-sources $(TIDY_LIMIT))
	$(say) "clang-tidy over" $$sources
	printf '%s\n' $$sources | sed "s|^|^$$PWD/|; s|$$|$$|" |
	  xargs -r run-clang-tidy-14 -quiet -p build/tidy -j $(JOBS)

bench: build ## run the benchmarks
	@find build/release/bench -maxdepth 1 -type f -executable | sort | while read -r program; do
	  $(say) "$$program"
	  "$$program" </dev/null
	done

demo: controlplane programs ## the whole path on a simulated fabric of 272 hosts
	@test/demo/run

demo-down: ## stop the demo and remove what it left
	@test/demo/down

demo-check: ## with the demo running: Prometheus over every panel and alert, and the commands of the documentation
	@test/monitoring/live
	test/docs/commands --programs build/release/bin --demo

site: ## the documentation as a web site in out/site, links checked
	@hack/setup site
	hack/pictures --check
	hack/site

install: programs ## install the programs under PREFIX (/usr/local); DESTDIR is honoured
	@cmake --install build/release --prefix $(PREFIX)

image: ## build the container image yardmaster:dev with buildah, from the sources alone
	@hack/setup image
	hack/image

image-test: controlplane programs ## build the image from build/release; labels, SBOM, its processes against a real control plane
	@hack/setup image
	hack/image --programs build/release
	export YARDMASTER_CONTROLPLANE_BIN=$$(test/controlplane/build)
	test/image/run

release: setup ## everything of a release in out/release, signed by RELEASE_KEY (PARTS="chart sums" makes some of it; an hour from nothing)
	@hack/setup arm64 release
	hack/release $(PARTS)

clean: ## remove everything that was built; the cache of Go programs stays
	@rm -rf build out
