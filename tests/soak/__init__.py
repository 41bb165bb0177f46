"""A soak test: real swaps through the whole system while a seeded nemesis breaks parts of it."""
