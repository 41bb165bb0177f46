"""Tests whether a deployment conforms to the specification, from outside, by its URL and a key.

The expectations are in `tables/`, one line for each line of the specification. Nothing here imports
the service, so the suite can run against any deployment.
"""
