"""The ACLs of deploy/kafka/acls.yaml: which service may do what on Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ACLS_FILE = Path("deploy/kafka/acls.yaml")


@dataclass(frozen=True, slots=True, order=True)
class Acl:
    """One permission of one principal."""

    principal: str
    operation: str  # Create, Read or Write
    kind: str  # topic or group
    name: str

    @property
    def line(self) -> str:
        """Return it as `deploy/kafka/ApplyAcls.java` reads it."""
        return f"{self.principal} {self.operation.upper()} {self.kind.upper()} {self.name}"


def load_acls(root: Path) -> Sequence[Acl]:
    """Return every permission of the file below the checkout's root."""
    principals = yaml.safe_load((root / ACLS_FILE).read_text())
    return sorted(
        Acl(principal, operation, kind.removesuffix("s"), name)
        for principal, resources in principals.items()
        for kind, names in resources.items()
        for name, operations in names.items()
        for operation in operations
    )
