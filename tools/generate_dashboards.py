"""Write Grafana's dashboards, one document each."""

import sys

from generating import generated

sys.path.insert(0, "deploy/monitoring")

from swap_monitoring.dashboards import DASHBOARDS

if __name__ == "__main__":
    generated({f"deploy/monitoring/dashboards/{one.uid}.json": one.to_json() for one in DASHBOARDS})
