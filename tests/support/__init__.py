"""Harness code for the tests of several packages."""
