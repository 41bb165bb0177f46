"""Harness code that tests of several packages share."""
