"""`python -m swap_stack up|down|clean|demo|swap`; the Makefile has a target for each."""

from __future__ import annotations

from swap_stack.app import main

if __name__ == "__main__":
    main()
