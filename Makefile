# One verb per level; `make help` lists them. Python and Node tools are installed on first use.

SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= python3
BIN := .venv/bin
STACK := $(BIN)/python -m swap_stack
BOOTSTRAP := $(PYTHON) tools/bootstrap

# Settings of the stack that may be given to make: `make up FRESH=1 BROKER=embedded`.
export BROKER FRESH CATALOGUE ANVIL_ARGS

help:  ## Show this list
	@awk 'BEGIN{FS=":.*## "} /^##@/{printf "\n%s\n",substr($$0,5)} /^[a-z0-9-]+:.*## /{printf "  %-18s %s\n",$$1,$$2}' $(MAKEFILE_LIST)

##@ Run
demo: install  ## Start a stack of its own, run real swaps through it, show them live, stop
	@$(STACK) demo

up: install  ## Start everything on this machine (FRESH=1 from nothing, BROKER=auto|kafka|embedded)
	@$(STACK) up

down:  ## End exactly what `up` started; the data stays
	@if [ -x $(BIN)/python ]; then $(STACK) down; fi

swap: install-python  ## Send one swap through the running stack and print its messages, topic by topic
	@$(STACK) swap

clean: down  ## End the stack and remove its data
	@rm -rf var

##@ Test
test: install  ## Everything
	$(BIN)/python -m pytest

test-unit: install-python  ## No server, no network
	$(BIN)/python -m pytest libs services cli deploy/embedded -m "not connected and not e2e"

test-integration: install  ## PostgreSQL, Valkey and a broker
	$(BIN)/python -m pytest libs services cli deploy/embedded -m connected

test-e2e: install  ## The whole system
	$(BIN)/python -m pytest tests/e2e

test-evm: install-evm  ## The contracts, in Foundry
	cd evm && npm test

bench: install  ## Measure against the ceiling of this machine
	$(BIN)/python -m swap_bench

##@ Check
check: lint types layers generated  ## Everything that needs no server

lint: install-python  ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: install-python  ## mypy --strict
	$(BIN)/mypy

layers: install-python  ## Who may import whom
	$(BIN)/lint-imports

generated: install-python  ## Generated files are what their sources make
	$(BIN)/python tools/generate.py --check

##@ Upkeep
install:  ## Install what is missing: Python, Solidity and broker packages
	@$(BOOTSTRAP)

install-python:
	@$(BOOTSTRAP) python

install-evm:
	@$(BOOTSTRAP) evm

lock:  ## Rewrite requirements.lock
	$(BIN)/uv lock
	$(BIN)/uv export --quiet --all-packages --all-groups --no-emit-workspace --format requirements-txt -o requirements.lock

env-example: install-python  ## Write .env.example from the services' settings
	$(BIN)/python tools/env_example.py

.PHONY: help demo up down swap clean test test-unit test-integration test-e2e test-evm bench check lint types layers generated install install-python install-evm lock env-example
