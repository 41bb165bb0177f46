"""Alerts and dashboards, with a real Prometheus and Alertmanager and a whole stack."""
