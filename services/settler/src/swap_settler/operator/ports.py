"""What tests of operators' orders replace."""

from __future__ import annotations
