"""Does a deployment keep to the specification? Tests from outside, by its address and a key.

What is expected stands in `tables/`, one line for each line of the specification. Nothing here
imports the service, so that the suite can be run against any deployment.
"""
