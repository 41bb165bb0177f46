"""`make bench-api`."""

from __future__ import annotations

from tests.bench.api.app import main

if __name__ == "__main__":
    main()
