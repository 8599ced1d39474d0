"""The noun `overlay`: brokers on Spark that share the work of matching.

`command` spells the verbs and their options, `preparing` reads and checks the overlay file, `verbs`
and `demo` do the work with `caddis.spark.overlay`, and `summary` shows what came of it.
"""

from caddis.cli.overlay.command import app
