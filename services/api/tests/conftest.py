"""Makes the factories beside this file importable by every test of this service."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
