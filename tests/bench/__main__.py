"""`make bench`."""

from __future__ import annotations

from tests.bench.app import main

if __name__ == "__main__":
    main()
