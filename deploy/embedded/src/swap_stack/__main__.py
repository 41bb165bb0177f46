"""`python -m swap_stack up|down|clean|demo|swap`; the Makefile has a target for each."""

from __future__ import annotations

import sys

if __name__ == "__main__":
    try:
        # Inside, so that Ctrl-C is as quiet while the program is being loaded as later on.
        from swap_stack.app import main

        main()
    except KeyboardInterrupt:
        sys.exit(130)
