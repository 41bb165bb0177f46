"""A Kubernetes on this machine, for `overlays/dev` and its tests."""
