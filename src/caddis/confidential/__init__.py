"""Sealed events and subscriptions: brokers match what they cannot read."""
