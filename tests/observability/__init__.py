"""Alerts and dashboards with a real Prometheus and Alertmanager beside a whole stack."""
