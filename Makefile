# One verb per level; `make help` lists them. Python and Node tools are installed on first use.

SHELL := /bin/bash
# A check whose output is shortened fails all the same.
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
STACK := $(BIN)/python -m swap_stack
BOOTSTRAP := $(PYTHON) tools/bootstrap

# A service without such a folder names one that is missing, which fails the check.
MONEY := libs/domain/src libs/contracts/src $(foreach service,$(wildcard services/*/src/*),$(or \
	$(wildcard $(service)/domain $(service)/*/domain $(service)/model $(service)/*/decide),$(service)/domain))
PACKAGES := swap_contracts swap_domain swap_chains swap_runtime swap_api swap_quoter \
	swap_chain_watcher swap_settler swap_notifier swap_dashboard swapctl swap_stack swap_compose swap_k8s swap_cluster swap_monitoring swap_sdk \
	tests.bench tests.e2e tests.mutation tests.observability tests.plugins tests.soak tests.support deploy.cluster.tests.cluster
MEMBERS := $(patsubst %/pyproject.toml,%,$(wildcard libs/*/pyproject.toml services/*/pyproject.toml cli/pyproject.toml deploy/embedded/pyproject.toml sdk/python/pyproject.toml))
GENERATORS := tools/generate_states.py tools/generate_messages.py tools/generate_env_example.py \
	tools/generate_sdk.py tools/generate_errors.py tools/generate_sandbox.py \
	tools/generate_collection.py tools/generate_description.py tools/generate_blocking.py \
	tools/generate_faults.py tools/generate_reliability.py tools/generate_rules.py tools/generate_dashboards.py

PYTEST := $(BIN)/python -m pytest --quiet
# Processes with servers of their own; the tests of a file stay together, in their order. Connected tests
# wait for a third of their time: three processes use two cores.
PARALLEL := --dist=loadfile --numprocesses

JOURNEYS := $(wildcard tests/e2e/test_*.py)

# The TypeScript client, compiled; made anew where what it is made of is younger.
SDK := sdk/typescript/build/examples/shop.js

# Settings of the stack that may be given to make: `make up FRESH=1 BROKER=embedded`.
export BROKER KAFKA_SECURITY FRESH CATALOGUE ANVIL_ARGS POSTGRES_ARGS STACK_DIR WITHOUT

help:  ## Show this list
	@awk 'BEGIN{FS=":.*## "} /^##@/{printf "\n%s\n",substr($$0,5)} /^[a-z0-9-]+:.*## /{printf "  %-18s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

##@ Run
demo: install  ## Start a stack of its own, run real swaps through it, show them live, stop
	@$(STACK) demo

up: install  ## Start everything on this machine (FRESH=1 from nothing, BROKER=auto|kafka|embedded)
	@$(STACK) up

down:  ## End exactly what `up` started; the data stays
	@if [ -x $(BIN)/python ]; then $(STACK) down; fi

env:  ## Print what a shell needs to talk to it: eval "$(make -s env)"
	@$(STACK) env

swap: install-python  ## Send one swap through the running stack and print its messages, topic by topic
	@$(STACK) swap

clean:  ## End the stack and remove its data
	@if [ -x $(BIN)/python ]; then $(STACK) clean; fi

# Kubernetes on this machine; deploy/cluster/README.md says what it needs.
CLUSTER := PYTHONPATH=deploy/cluster $(BIN)/python -m swap_cluster

cluster-up: install  ## Start a Kubernetes on this machine (root; builds it once, with Go)
	@$(CLUSTER) up

cluster-demo: install  ## The same, build the image, deploy overlays/dev, send a swap of each method
	@$(CLUSTER) demo

cluster-down: install-python  ## End it and remove its data; binaries and images stay
	@$(CLUSTER) down

compose-images: install  ## Where there is no registry: make the images of docker-compose.yml from packages (root, Docker)
	@$(CLUSTER) compose-images

##@ Test
# Each stage is a target of its own. What takes long, or needs the second broker, is in test-all.
STAGES := check lint-openapi test-evm test-unit test-integration test-e2e test-faults
SLOW_STAGES := test-slow test-slow-e2e test-stack test-observability test-schedules test-model test-fuzz test-kill test-kafka-all soak mutate

test: install install-sdk install-node-tools  ## Every quick stage, with its time; CI adds test-slow, test-slow-e2e and test-kafka
	@MAKE="$(MAKE)" tools/stages $(STAGES)

test-all: install install-sdk install-node-tools  ## The same, then what takes hours: both brokers, long schedules, fuzz, soak, mutation
	@MAKE="$(MAKE)" tools/stages $(STAGES) $(SLOW_STAGES)

test-unit: install-python  ## No server, no network
	$(PYTEST) $(PARALLEL)=2 -m "not connected and not e2e"

test-integration: install install-sdk install-node-tools $(SDK)  ## PostgreSQL, Valkey, a broker, chains
	$(PYTEST) $(PARALLEL)=3 -m "connected and not e2e and not slow"

test-e2e: install install-sdk install-node-tools $(SDK)  ## The whole system: journeys (BROKER=kafka|embedded)
	$(PYTEST) -m "not slow" $(JOURNEYS)

test-slow: install install-node-tools  ## Tests of test-integration that take ten seconds and more
	$(PYTEST) $(PARALLEL)=3 -m "connected and not e2e and slow"

test-slow-e2e: install install-sdk install-node-tools $(SDK)  ## The same of test-e2e and test-faults
	$(PYTEST) -m slow tests/e2e

test-kafka: export BROKER := kafka
test-kafka: install  ## The journeys that depend on the broker, on Apache Kafka
	$(PYTEST) -m each_broker tests/e2e

test-kafka-all: export BROKER := kafka
test-kafka-all: install install-sdk install-node-tools $(SDK)  ## Everything that uses a broker, on Apache Kafka
	$(PYTEST) -m connected

test-flaky: install install-sdk install-node-tools  ## Repeat suites in random order, name the unstable (ONLY, TIMES, LOAD, SEED); resumable
	$(BIN)/python tools/flaky.py $(ONLY) --times $(or $(TIMES),3) --load $(or $(LOAD),0) --seed $(or $(SEED),1)

# Which deployment is asked: this machine's stack, unless one is named.
test-conformance: export CONFORMANCE_BASE_URL := $(or $(BASE_URL),$(CONFORMANCE_BASE_URL))
test-conformance: export CONFORMANCE_API_KEY := $(or $(API_KEY),$(CONFORMANCE_API_KEY))
test-conformance: export CONFORMANCE_STACK := $(or $(STACK_FILE),$(CONFORMANCE_STACK),$(if $(CONFORMANCE_BASE_URL),,var/stack.json))
test-conformance: export CONFORMANCE_REPORT := $(or $(REPORT),var/conformance.md)
test-conformance: install-python  ## Any deployment against the specification (BASE_URL=… API_KEY=…)
	$(PYTEST) -c tests/conformance/pytest.ini tests/conformance

test-faults: export KILL_SECONDS := $(or $(KILL_SECONDS),20)
test-faults: install  ## The whole system while parts of it die, at each step of a payout and at random
	$(PYTEST) -m "not slow" tests/e2e/faults

test-stack: install  ## make up and make down, from nothing, again, interrupted, after something died
	$(PYTEST) deploy/embedded -m e2e

test-observability: export BROKER := kafka
test-observability: install  ## Break a stack: alerts fire and end in a real Prometheus, dashboards have data (20 minutes)
	@tools/install_monitoring
	$(PYTEST) -rs tests/observability

test-cluster: install  ## Overlays on a real API server, upgrades, drains and kills in pods (root; Go once)
	$(PYTEST) $(PARALLEL)=2 deploy/k8s/tests/unit deploy/monitoring/tests/unit
	$(PYTEST) -rPs --durations=0 --durations-min=1 deploy/cluster/tests/cluster

test-kill: install  ## Fifty swaps while services are killed for a minute (KILL_SECONDS, KILL_SEED)
	KILL_SECONDS=$(or $(KILL_SECONDS),60) $(PYTEST) -rP tests/e2e/faults/test_kill.py

drill-restore: install  ## Back the database up, pay, restore the backup: nothing is paid twice (about two minutes)
	@$(STACK) drill-restore

drill-rotate: install  ## Replace keys, passwords and a certificate while swaps run (about four minutes)
	@$(STACK) drill-rotate

drill-upgrade: install  ## Upgrade from the release before and back while swaps run (about five minutes)
	@$(STACK) drill-upgrade

test-schedules: export SCHEDULES := $(or $(SCHEDULES),1000)
test-schedules: install-python  ## Refund against payout: a thousand schedules at random on Postgres (SCHEDULES, SCHEDULES_SEED)
	$(PYTEST) services/settler/tests/integration/test_lane_schedules.py \
		services/settler/tests/integration/test_refund_or_payout.py

soak: export SEED := $(SEED)
soak: export MINUTES := $(MINUTES)
soak: export KEEP := $(KEEP)
soak: export FAULTS := $(or $(FAULTS),1)
soak: install  ## Real swaps while a seeded nemesis breaks everything (SEED, MINUTES, BROKER, KEEP=1 stores the report, FAULTS=0 for memory alone)
	@$(BIN)/python -m tests.soak

test-model: export MODEL_EXAMPLES := $(or $(MODEL_EXAMPLES),200)
test-model: export MODEL_STEPS := $(or $(MODEL_STEPS),80)
test-model: install-python  ## The settler's use cases against a model (MODEL_EXAMPLES, MODEL_STEPS, MODEL_SEED)
	$(PYTEST) services/settler/tests/integration/test_model.py

test-growth: install-python  ## Operations after 100,000 swaps against ten thousand (GROWTH_SWAPS=1000000, GROWTH_ROUNDS, GROWTH_STATEMENTS=1)
	$(PYTEST) --capture=no tests/growth/growing.py

test-fuzz: install  ## Schemathesis against the api with keys of two tenants, for ten minutes (FUZZ_SECONDS, FUZZ_SEED)
	FUZZ_SECONDS=$(or $(FUZZ_SECONDS),600) $(PYTEST) -rP services/api/tests/integration/test_fuzz.py

sdk: $(SDK)  ## Compile the TypeScript client (sdk/typescript/build)

$(SDK): $(wildcard sdk/typescript/package.json sdk/typescript/tsconfig.json sdk/typescript/src/index.ts sdk/typescript/src/webhooks.ts sdk/typescript/test/*.ts sdk/typescript/examples/*.ts sdk/typescript/package-lock.json) services/api/src/swap_api/http/openapi.json | install-sdk
	cd sdk/typescript && npm run --silent build

test-sdk: install-python install-sdk  ## The clients against the service; the TypeScript one packed and installed, too
	cd sdk/typescript && npm run --silent build
	$(PYTEST) services/api/tests/integration/test_clients.py

mutate: install-python  ## Mutation test of the money's code (PART=settler, ONLY=pattern, AGAIN=1, SAVE=1); resumable
	$(BIN)/python tools/mutate.py $(PART) $(if $(ONLY),--only '$(ONLY)') $(if $(AGAIN),--again) $(if $(SAVE),--save)

test-evm: install-evm  ## The contracts: units, fuzz, invariants, artifacts, gas
	cd evm && npm run --silent artifacts:check && npm test --silent && npm run --silent gas:check && npm run --silent trees && npm run --silent format:check

bench: install  ## Measure against the ceiling of this machine
	$(BIN)/python -m tests.bench

bench-api: install  ## Quotes, creates, reads, lists, polls and webhooks beside a bare framework
	$(BIN)/python -m tests.bench.api

bench-scale: install  ## One against two processes of each service: rate, payouts, processor time per swap
	$(BIN)/python -m tests.bench.scale

##@ Check
check-crds: install-python  ## Custom resources of deploy/k8s, by the operators' own definitions (needs Go, Maven, Java 21)
	@$(BIN)/python tools/check_crds.py production staging ../tests/restored

check: lint types layers dependencies words generated  ## Everything that needs no server

lint: install-python  ## ruff, its format, and the lints of our own
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/python tools/no_float.py $(MONEY)
	$(BIN)/python tools/thin_handlers.py $(filter-out services/dashboard/src,$(wildcard services/*/src))
	$(BIN)/python tools/commit_in_runtime.py $(wildcard services/*/src libs/*/src)
	$(BIN)/python tools/one_head.py $(wildcard services/*/migrations/versions)
	$(BIN)/python tools/small_files.py libs services cli sdk deploy tests tools evm/src evm/test

lint-openapi: install-node-tools openapi  ## The OpenAPI document, by Spectral and Redocly: no warning passes
	cd tools/node && npm run --silent lint:openapi

openapi: install-python
	$(BIN)/python tools/generate_openapi.py .cache/openapi.json

types: install-python  ## mypy --strict
	$(BIN)/mypy $(PACKAGES:%=-p %) -m tests.fakes_of_ports

layers: install-python  ## Who may import whom
	$(BIN)/lint-imports --no-cache | tail -n 2

dependencies: install-python  ## Each package declares what it imports, and nothing else
	@test -n "$(MEMBERS)"
	for member in $(MEMBERS); do found=$$($(BIN)/deptry --no-ansi --config $$member/pyproject.toml $$member/src 2>&1) || { echo "$$member: $$found"; exit 1; }; done

words: install-python  ## The glossary's words, no machine's path, no package host, no dead link or anchor
	$(BIN)/python tools/forbidden_text.py
	$(BIN)/python tools/check_words.py
	$(BIN)/python tools/links.py

generated: install-python  ## Generated files are what their sources make
	for generator in $(GENERATORS); do PYTHONPATH=tools:. $(BIN)/python $$generator --check || exit 1; done

generate: install-python  ## Write what is generated: pages, schemas, .env.example, the client's models
	for generator in $(GENERATORS); do PYTHONPATH=tools:. $(BIN)/python $$generator || exit 1; done

##@ Upkeep
install:  ## Install what is missing: Python, Solidity and broker packages
	@$(BOOTSTRAP)

install-python:
	@$(BOOTSTRAP) python

install-evm:
	@$(BOOTSTRAP) evm

install-sdk:
	@$(BOOTSTRAP) sdk

install-node-tools:
	@$(BOOTSTRAP) node-tools

sbom: install-python  ## Bills of materials of all lock files, as CycloneDX (var/sbom)
	@$(BIN)/python tools/supply_chain.py sbom var/sbom

licences: install-python  ## Licences of all packages; fails on one that is not on the list
	@$(BIN)/python tools/supply_chain.py licences

audit: install-python  ## Known vulnerabilities, by pip-audit and npm audit; fails where no database answers
	@$(BIN)/python tools/supply_chain.py audit

lock:  ## Rewrite requirements.lock
	$(BIN)/uv lock
	$(BIN)/uv export --quiet --all-packages --all-groups --no-emit-workspace --format requirements-txt -o requirements.lock

.PHONY: help sdk demo test-growth up down env swap clean cluster-up cluster-demo cluster-down compose-images test test-all test-unit test-integration test-e2e test-slow test-slow-e2e test-kafka test-kafka-all test-cluster test-observability test-flaky test-conformance test-faults test-stack test-kill test-schedules drill-restore drill-rotate drill-upgrade test-model soak mutate test-evm test-fuzz bench bench-api bench-scale check lint types layers dependencies words generated generate install install-python install-evm install-sdk install-node-tools lint-openapi openapi check-crds test-sdk sbom licences audit lock
