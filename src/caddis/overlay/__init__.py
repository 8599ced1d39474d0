"""Brokers that share the work of matching, without I/O."""
