"""Write Grafana's dashboards, one document each."""

import sys

from generating import write_or_check

sys.path.insert(0, "deploy/monitoring")

from swap_monitoring.dashboards import DASHBOARDS

if __name__ == "__main__":
    write_or_check(
        {f"deploy/monitoring/dashboards/{one.uid}.json": one.to_json() for one in DASHBOARDS}
    )
