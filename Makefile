# The way in: `make demo` shows what the library does here, `make check` tests it. docs/building.md says more.
SHELL := /bin/bash
.DEFAULT_GOAL := build

JOBS ?= $(shell nproc)
WERROR ?= OFF
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 20
CALLS ?= 100000
RANKS ?= 2
SEED ?= 2
MPI ?= openmpi
RANDOM_PLANS ?= 12000:1000000
SOAK_SECONDS ?= 3600
CROSS ?= aarch64 ppc64le

# $(1): preset
configure = cmake --preset $(1) -DCMAKE_COMPILE_WARNING_AS_ERROR=$(WERROR) \
  -DFERMATA_TEST_PCH=ON -DFERMATA_UNITY=ON --log-level=WARNING
compile = cmake --build --preset $(1) --parallel $(JOBS)
# One more than CPUs, since many tests wait for the processes that they have started.
test = ctest --preset $(1) --parallel $$(($(JOBS) + 1))

.PHONY: help bootstrap bootstrap-ci build check demo bench-loaded core sanitize asan-ubsan tsan cross includes \
	format-check fuzz fuzz-mpi large-mpi random-plans simulate simulate-smpi soak install clean

help:
	@echo "make demo          build what it runs, then compare programs with and without Fermata"
	@echo "make check         build and run all tests"
	@echo "make build         build into build/release"
	@echo "make core          build and run a small project that contains Fermata, with hwloc alone"
	@echo "make sanitize      the tests under ASan+UBSan and under TSan"
	@echo "make cross         build and test the run-time library for: $(CROSS) (under qemu-user)"
	@echo "make includes      check the dependencies between the parts and the rules for sources"
	@echo "make format-check  report files that clang-format would change"
	@echo "make random-plans  prove and execute random plans RANDOM_PLANS=$(RANDOM_PLANS), first:count"
	@echo "                   (10^6 take 15 minutes or more)"
	@echo "make simulate      the papers' barriers on simulated machines, compared with docs/papers.md, and"
	@echo "                   barriers on 16 CPUs beside measured ones: a minute or two"
	@echo "make soak          10^9 episodes and 10^4 kills, delays and stalls, in slices of"
	@echo "                   SOAK_SECONDS=$(SOAK_SECONDS) that go on where the last one ended"
	@echo "make fuzz          fuzz every file reader for FUZZ_SECONDS=$(FUZZ_SECONDS) each (clang-19)"
	@echo "make fuzz-mpi      CALLS=$(CALLS) random calls of MPI=$(MPI), RANKS=$(RANKS), SEED=$(SEED), plainly"
	@echo "                   and preloaded; goes on where it stopped"
	@echo "make large-mpi     elements and blocks beyond 2 GiB with MPI=$(MPI): a minute or two, 9 GiB of memory"
	@echo "make bench-loaded  barriers of 2 to 64 threads beside 13 loads, in under 30 minutes"
	@echo "make simulate-smpi plans beside MPI's collectives, 64 to 4,096 ranks in simulated time (SimGrid)"
	@echo "make install       install build/release into PREFIX=$(PREFIX) (DESTDIR is honoured)"
	@echo "make clean         remove build/"

bootstrap:
	@scripts/bootstrap

bootstrap-ci:
	@scripts/bootstrap --ci

build: bootstrap
	@$(call configure,release)
	@$(call compile,release)

check: build
	@$(call test,release)

demo: bootstrap
	@$(call configure,release)
	@scripts/demo --announce $(JOBS)
	@$(call compile,release) --target fermata_demo
	@scripts/demo

bench-loaded: bootstrap
	@$(call configure,release)
	@$(call compile,release) --target fermata_demo fermata_preload_pthread fermata_preload_openmp \
	  fermata_bench_worker_pthread
	@mkdir -p out
	@scripts/bench-loaded build/release --json out/loaded.json

simulate-smpi: bootstrap
	@scripts/bootstrap --simgrid
	@$(call configure,release)
	@$(call compile,release) --target fermata_tool fermata_bench_smpi
	@mkdir -p out
	@scripts/bench-smpi build/release --json out/smpi.json

# As a project that takes all of Fermata in.
core: bootstrap
	@cmake -S tests/install/parent -B build/parent -G Ninja -DFERMATA_SOURCE=$(CURDIR) -DFERMATA_FULL=ON \
	  -DFERMATA_JSON=OFF -DFERMATA_HIGHWAY=OFF -DCMAKE_BUILD_TYPE=Release \
	  '-DCMAKE_CXX_FLAGS_RELEASE=-O0 -DNDEBUG' -DCMAKE_COMPILE_WARNING_AS_ERROR=$(WERROR) --log-level=WARNING
	@cmake --build build/parent --target all fermata --parallel $(JOBS)
	@for program in program consumer hello processes; do build/parent/$$program || exit 1; done

sanitize: asan-ubsan tsan

asan-ubsan tsan: bootstrap-ci
	@$(call configure,$@)
	@$(call compile,$@)
	@$(call test,$@)

cross: $(addprefix cross-,$(CROSS))

cross-%: bootstrap-ci
	@$(call configure,$*)
	@$(call compile,$*)
	@$(call test,$*)

includes:
	@scripts/check-includes
	@scripts/check-sources

format-check: bootstrap-ci
	@scripts/check-format

random-plans: build
	@FERMATA_RANDOM_PLANS=$(RANDOM_PLANS) build/release/tests/unit_plan --gtest_filter='RandomPlans*'

simulate: bootstrap
	@$(call configure,release)
	@$(call compile,release) --target fermata_tool
	@scripts/simulate-papers build/release --check
	@scripts/simulate-results build/release

soak: build
	@scripts/soak build/release $(SOAK_SECONDS)

fuzz: bootstrap-ci
	@$(call configure,fuzz)
	@$(call compile,fuzz)
	@scripts/fuzz build/fuzz $(FUZZ_SECONDS)

fuzz-mpi: build
	@tests/preload/mpi/fuzz/compare $(MPI) mpirun.$(MPI) \
	  build/release/preload/mpi/libfermata-mpi-$(MPI).so \
	  build/release/tests/preload/mpi/fuzz-$(MPI) --ranks $(RANKS) --seed $(SEED) --calls $(CALLS) --most 1000 \
	  --state build/fuzz-$(MPI)-$(RANKS)-$(SEED).json

large-mpi: build
	@FERMATA_TEST_PRELOAD=build/release/preload/mpi/libfermata-mpi-$(MPI).so \
	  tests/preload/mpi/launch $(MPI) mpirun.$(MPI) 2 build/release/tests/preload/mpi/large-$(MPI) bytes

install: build
	@cmake --install build/release --prefix $(PREFIX)

clean:
	@rm -rf build
