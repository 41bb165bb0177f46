"""Makes the jobs beside this folder importable; in the image they are on the path."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
