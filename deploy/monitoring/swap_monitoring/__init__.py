"""Alerts, objectives and dashboards of the system, as data that is written to files."""
