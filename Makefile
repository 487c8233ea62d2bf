# Everything happens inside .venv; nothing is installed outside this folder.
PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
SOURCES := $(shell find reducekit -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.h')

.DELETE_ON_ERROR:
.PHONY: help demo test check stubtest format bench notebooks docs sanitize fuzz clean

help:
	@echo 'make demo       build, and reduce an elevation grid and a photograph'
	@echo 'make test       run the tests'
	@echo 'make check      ruff, cython-lint, warnings of Cython, mypy, stubtest'
	@echo 'make format     let ruff format and mend what it can'
	@echo 'make bench      measure this machine against NumPy and the peers that are installed'
	@echo 'make notebooks  open the notebooks in JupyterLab'
	@echo 'make docs       build the documentation into docs/_build/html'
	@echo 'make sanitize   run the tests with the address and undefined-behaviour sanitizers'
	@echo 'make fuzz       search for inputs that break it, for three minutes'
	@echo 'make clean      remove what was built, and .venv'

demo: $(VENV)/.demo $(VENV)/.built
	@$(BIN)/python -m reducekit.demo

test: $(VENV)/.test $(VENV)/.built
	@$(BIN)/python -m pytest -n auto --maxprocesses 8

check: $(VENV)/.check $(VENV)/.built
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint reducekit  # it looks for pycodestyle there
	@# What Cython warns of; the levels of kernels are one text.
	@for each in $$(find reducekit -name '*.pyx' ! -name '_x86_*'); do \
	    $(BIN)/cython -3 --warning-errors --shared reducekit._cyutility -o build/warned.c $$each || exit 1; \
	done
	$(BIN)/mypy
	@$(MAKE) --no-print-directory stubtest

stubtest: $(VENV)/.check $(VENV)/.built
	$(BIN)/python -m mypy.stubtest reducekit --mypy-config-file pyproject.toml --allowlist tests/stubtest_allowlist.txt

format: $(VENV)/.check
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench $(VENV)/.built
	@$(BIN)/python -m reducekit bench

notebooks: $(VENV)/.lab $(VENV)/.built
	$(BIN)/jupyter lab notebooks

docs: $(VENV)/.docs $(VENV)/.built
	$(BIN)/python -m sphinx --quiet -W --keep-going -b html docs docs/_build/html

# A copy is built, so that neither build has to be made anew for the other. The runtime must be there
# before Python is, and libstdc++ before ONNX throws. Python itself leaks at exit by design. The
# sanitizer's own books fill the memory and the stacks that a few tests count. Browsers and
# JupyterLab do not start with a sanitizer in them. That a file which is cut short while it is mapped
# ends the process by a signal is known, and tested.
COPY := build/sanitize
COUNTED := takes_little_memory or no_lock_is_lost or stack_of_64_kib or no_memory_is_left
BROWSER := cards_follow_the_theme or without_the_style_sheet
SANITIZED = cd $(COPY) && \
    LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libstdc++.so)" \
    ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:handle_sigbus=0 ../../$(BIN)/python
sanitize: $(VENV)/.test
	rm -rf $(COPY)
	mkdir -p $(COPY)
	tar -cf - --exclude ./build --exclude ./.git --exclude ./.venv --exclude '*.so' . | tar -xf - -C $(COPY)
	cd $(COPY) && REDUCEKIT_SANITIZE=1 ../../$(BIN)/python setup.py --quiet build_ext --inplace
	$(SANITIZED) -m pytest -q -n auto --maxprocesses 8 -k 'not ($(COUNTED) or $(BROWSER))' \
	    --ignore-glob='tests/test_widgets_*.py' --ignore=tests/test_notebooks.py
	$(SANITIZED) tests/fuzz.py --seconds 60

# `make fuzz SECONDS=3600` searches for an hour; tests/fuzz.py knows more.
SECONDS ?= 180
fuzz: $(VENV)/.test $(VENV)/.built
	@$(BIN)/python tests/fuzz.py --seconds $(SECONDS)

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis docs/_build docs/generated
	find reducekit -name '*.so' -delete
	find reducekit tests -name __pycache__ -prune -exec rm -rf {} +

# The build requirements go into .venv once, so that no build makes an environment of its own.
$(VENV)/.tools: pyproject.toml
	@tools/check_machine.sh $(PYTHON)
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@echo 'installing what the build needs ...'
	@$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' > $@.txt
	@$(PIP) --requirement $@.txt
	@touch $@

# Only what changed is compiled again; after an edit of setup.py, whose flags neither Cython nor
# setuptools track, that is everything.
$(VENV)/.built: $(VENV)/.tools setup.py $(SOURCES)
	@echo 'building ...'
	@$(if $(filter setup.py,$?),CYTHON_FORCE_REGEN=1) $(BIN)/python setup.py --quiet build_ext --inplace $(if $(filter setup.py,$?),--force)
	@touch $@

# One stamp for each extra of pyproject.toml.
$(VENV)/.%: $(VENV)/.tools | $(VENV)/.built
	@echo 'installing reducekit[$*] ...'
	@$(PIP) --no-build-isolation --editable '.[$*]'
	@touch $@
