"""Write the alerting rules, for a Prometheus with files and for the Prometheus operator."""

import sys

from generating import write_or_check

sys.path.insert(0, "deploy/monitoring")

from swap_monitoring.rules import prometheus_file, prometheus_rule

if __name__ == "__main__":
    write_or_check(
        {
            "deploy/monitoring/rules.yaml": prometheus_file(),
            "deploy/k8s/components/monitoring/rules.yaml": prometheus_rule(),
        }
    )
