"""Whether the work for one swap costs as much after a million swaps as after ten thousand."""
