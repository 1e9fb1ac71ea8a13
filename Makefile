# Daily commands, each a line over CMake or scripts/. `make help` lists them.
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
SOAK_SECONDS ?= 3600
FAULT_RUNS ?= 50
FUZZ_SEED ?= 1
LIBFUZZER_FLAGS = -artifact_prefix=build/fuzz/ -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096
DECODERS := png jpeg gif bmp webp wav example sequence csv json record table checkpoint checkpointv1 tensor compressed snappy element
JOBS := $(shell nproc)
# Tests of the source tree and the package say nothing new under a sanitizer.
# The search for leaks stumbles over the thread-local memory of libraries that were loaded by a thread that is gone.
LEAKS := ASAN_OPTIONS=intercept_tls_get_addr=0 LSAN_OPTIONS=suppressions=$(CURDIR)/tests/sanitizers/lsan.supp:print_suppressions=0
SANITIZED_CTEST := $(LEAKS) ctest --parallel $(JOBS) --output-on-failure --no-tests=error --label-exclude lint

.DEFAULT_GOAL := all
.PHONY: all test bench asan tsan lint analyze format fuzz slurm soak faults check-all docs tensorflow install help

all:  ## Build everything into build/release
	cmake --preset release
	cmake --build --preset release

test:  ## Set up, check, build and run every test
	scripts/test

bench: all  ## Measure the engine
	build/release/bin/weir bench engine

asan:  ## Run the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	cmake --preset asan
	cmake --build --preset asan
	$(SANITIZED_CTEST) --test-dir build/asan

tsan:  ## Run the tests under ThreadSanitizer
	cmake --preset tsan
	cmake --build --preset tsan
	$(SANITIZED_CTEST) --test-dir build/tsan

lint:  ## Check layering and format
	scripts/check_layers
	scripts/check_format

analyze: all  ## Check the use of locks with Clang, and the lower rooms with clang-tidy
	scripts/check_threads
	scripts/check_tidy

format:  ## Format every C++ file
	scripts/check_format --fix

slurm: all  ## Install Debian's Slurm and run programs with collectives under it (as root)
	dpkg -s slurm-wlm munge >/dev/null 2>&1 || apt-get install -y --no-install-recommends slurm-wlm munge
	tests/slurm_test.py build/release/bin/weir build/release/bin/collective_ranks

fuzz:  ## Mutate graphs, files and requests, and run made-up nodes of every op, for FUZZ_SECONDS each
	cmake --preset fuzz
	cmake --build --preset fuzz --target graph_def_fuzz decoder_fuzz master_fuzz worker_fuzz op_fuzz
	build/fuzz/bin/op_fuzz --seed $(FUZZ_SEED) --seconds $(FUZZ_SECONDS)
	mkdir -p build/fuzz/corpus/graph_def build/fuzz/corpus/master build/fuzz/corpus/worker
	build/fuzz/bin/graph_def_fuzz $(LIBFUZZER_FLAGS) build/fuzz/corpus/graph_def tests/fuzz/corpus/graph_def
	build/fuzz/bin/master_fuzz $(LIBFUZZER_FLAGS) build/fuzz/corpus/master
	build/fuzz/bin/worker_fuzz $(LIBFUZZER_FLAGS) build/fuzz/corpus/worker
	for kind in $(DECODERS); do \
	  mkdir -p build/fuzz/corpus/$$kind && cp tests/fuzz/corpus/decoders/$$kind* build/fuzz/corpus/$$kind && \
	  WEIR_DECODER=$$kind build/fuzz/bin/decoder_fuzz $(LIBFUZZER_FLAGS) build/fuzz/corpus/$$kind || exit 1; done

soak:  ## Load a cluster of processes for SOAK_SECONDS and see that its memory stays flat
	cmake --preset release
	cmake --build --preset release --target cluster_soak_test serving_soak_test
	WEIR_SOAK_SECONDS=$(SOAK_SECONDS) build/release/bin/cluster_soak_test
	WEIR_SOAK_SECONDS=$(SOAK_SECONDS) build/release/bin/serving_soak_test

faults:  ## Kill workers, parameter servers and masters at random moments of FAULT_RUNS trainings
	cmake --preset release
	cmake --build --preset release --target cluster_faults_test
	WEIR_FAULT_RUNS=$(FAULT_RUNS) build/release/bin/cluster_faults_test

tensorflow:  ## Run the tests that need TensorFlow, with $WEIR_TF_PYTHON or one installed below build/
	scripts/tensorflow

check-all:  ## Run asan, tsan, fuzz, faults and soak in short form, and print a table of the results
	scripts/check_all

docs:  ## Write the op reference anew
	cmake --preset release
	cmake --build --preset release --target weir_program
	scripts/op_reference build/release/bin/weir

install: all  ## Install the library, its headers, the CMake package and the program under PREFIX
	cmake --install build/release --prefix "$(PREFIX)"

help:  ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
