"""Runs swaps through a whole stack and measures it against what this machine can do at most."""
