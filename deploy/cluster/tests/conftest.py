"""Makes the package of the cluster and that of the Jobs importable."""

from __future__ import annotations

import sys
from pathlib import Path

DEPLOY = Path(__file__).parents[2]
sys.path[:0] = [str(DEPLOY / "cluster"), str(DEPLOY / "k8s")]
