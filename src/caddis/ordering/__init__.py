"""Which model next, so that as few run as can be."""
