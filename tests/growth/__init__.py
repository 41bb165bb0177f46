"""Whether the work of one swap costs as much after a million swaps as after ten thousand."""
