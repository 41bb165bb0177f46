"""Real swaps through a running stack, done as an outside client would do them."""
