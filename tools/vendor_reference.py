"""Put the reference's user interface into the api: one pinned release, compressed, unchanged.

    python tools/vendor_reference.py

The files are committed, so only a new release needs this; npm fetches it.
"""

import base64
import gzip
import hashlib
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path("services/api/src/swap_api/http/reference")
VERSION = "5.35.0"  # as the package says it
DIGEST = (  # of the package as npm fetches it: SHA-512, in base64
    "U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ=="
)
COMPRESSED = {"swagger-ui-bundle.js": "swagger-ui.js.gz", "swagger-ui.css": "swagger-ui.css.gz"}
AS_IT_IS = {
    "LICENSE": "LICENSE",
    "NOTICE": "NOTICE",
    "swagger-ui-bundle.js.LICENSE.txt": "THIRD-PARTY.txt",
}


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", f"swagger-ui-dist@{VERSION}"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        [packed] = Path(folder).glob("*.tgz")
        digest = base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
        if digest != DIGEST:
            print(f"{packed.name} is not what is pinned: {digest}")
            return 1
        with tarfile.open(packed) as files:
            for name, target in {**COMPRESSED, **AS_IT_IS}.items():
                member = files.extractfile(f"package/{name}")
                assert member is not None, name
                content = member.read()
                if name in COMPRESSED:
                    content = gzip.compress(content, 9, mtime=0)
                (FOLDER / target).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
