"""`make bench-scale`."""

from __future__ import annotations

from tests.bench.scale.app import main

if __name__ == "__main__":
    main()
