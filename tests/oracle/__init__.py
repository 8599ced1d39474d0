"""What a WHERE clause means according to others than Caddis: Spark itself, and a plain evaluator.

`events` makes schemas and batches, `clauses` makes WHERE clauses that often hit them, `plain`
evaluates them in Python, `judges` asks Spark and Caddis and shows where two answers differ.
Everything random comes from a `random.Random` that the test passes in: seeded, or hypothesis' own,
which then shrinks what it finds.
"""
