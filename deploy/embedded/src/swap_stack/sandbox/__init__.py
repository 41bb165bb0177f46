"""The sandbox: who funds test swaps, rightly or wrongly, as their recipient's address says."""
