"""A chain in memory behind the same two doors, for tests.

It is as honest as the conformance suite that runs against it and against a real node.
"""

from swap_chains.fake.chain import FakeChain
from swap_chains.fake.reader import FakeReader
from swap_chains.fake.sender import FakeSender

__all__ = ["FakeChain", "FakeReader", "FakeSender"]
