"""What Jobs run in a cluster, beside the services."""
