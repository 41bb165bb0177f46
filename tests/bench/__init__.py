"""Runs swaps through a whole stack and compares them with the limits of this machine."""
