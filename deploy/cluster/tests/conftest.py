"""Makes the package of the cluster importable, and that of the Jobs beside it."""

from __future__ import annotations

import sys
from pathlib import Path

DEPLOY = Path(__file__).parents[2]
sys.path[:0] = [str(DEPLOY / "cluster"), str(DEPLOY / "k8s")]
