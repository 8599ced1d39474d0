"""The noun `topics`: which topics are disseminated together, found on Spark.

`command` spells the verbs and their options, `cluster` does the work with `caddis.spark.topics`,
`demo` makes interests up for a first look, and `summary` shows and draws what came of it.
"""

from caddis.cli.topics.command import app
