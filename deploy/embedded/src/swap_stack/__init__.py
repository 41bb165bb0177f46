"""The whole system on one machine, without containers."""
