PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.installed
STAMP := $(VENV)/.ready
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
COMPILE := $(BIN)/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras \
	--no-emit-index-url --no-emit-trusted-host --no-emit-options --no-annotate --no-header

.PHONY: setup try test check format bench chaos soak fuzz security load audit conformance agents agents-ci docs lock build clean

DOCS := README.md CONTRIBUTING.md docs/*.md docs/*/*.md
COG := $(BIN)/python -m cogapp -p "from tests.support import docgen"

setup: $(STAMP)

# What Clew needs to run; the developers' packages come on top of it.
$(RUNTIME): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Clew needs Python 3.11 or newer: make setup PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) --requirement requirements.lock
	$(INSTALL) --no-deps --no-build-isolation --editable .
	@touch $(RUNTIME)

$(STAMP): $(RUNTIME) requirements-dev.lock
	$(INSTALL) --requirement requirements-dev.lock
	@touch $(STAMP)

try: $(RUNTIME)
	$(BIN)/python scripts/try_it.py

# Compiled first, and bytecode is kept: thousands of processes start, and every worker reads every test.
test: export PYTHONDONTWRITEBYTECODE :=
test: setup
	$(BIN)/python -m compileall -q src tests
	$(BIN)/python -m pytest

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(COG) --check $(DOCS)

format: setup
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

docs: setup
	$(COG) -r $(DOCS)

build: setup
	$(BIN)/python -m build --no-isolation

bench: setup
	$(BIN)/python -m benchmarks

# The proofs in full; `make test` has a short version of each.
chaos: export PROOF := full
chaos: setup
	$(BIN)/python -m pytest tests/chaos

# Many specs for a while, with everything killed again and again; MINUTES and SPECS set how much.
soak: setup
	$(BIN)/python -m tests.soak --minutes $(or $(MINUTES),20) --specs $(or $(SPECS),200)

fuzz: export PROOF := full
fuzz: setup
	$(BIN)/python -m pytest tests/fuzz
	$(BIN)/python -m tests.fuzz.with_atheris

security: export PROOF := full
security: setup
	$(BIN)/python -m pytest tests/security tests/protocol/test_http_hostile.py tests/web/test_security.py \
		tests/work/runs/test_consent.py tests/chaos/test_git_children.py tests/team/identity/test_dex.py

load: export PROOF := full
load: setup
	$(BIN)/python -m pytest -n0 tests/load

# Strict, so that a list of known weaknesses that cannot be reached is no clean bill.
audit: setup
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(VENV)/audit/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock \
		--requirement requirements-dev.lock $(AUDIT)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache

lock: setup
	$(COMPILE) --extra web --build-deps-for editable --output-file requirements.lock pyproject.toml
	$(COMPILE) --extra web --extra semantic --extra models --extra team --extra dev \
		--constraint requirements.lock --output-file requirements-dev.lock pyproject.toml

conformance: setup
	$(BIN)/python -m tests.conformance.run

# The real agent programs against a scripted model. `AGENTS="codex --rows good,resume"` is a part.
agents: setup
	$(BIN)/python -m tests.agents --record $(or $(AGENTS),--together); code=$$?; \
		$(COG) -r docs/reference/agents.md; exit $$code

agents-ci: setup
	$(BIN)/python -m tests.agents --brief --minutes 5
