"""The noun `keys`: the key authority's ten verbs.

`command` spells the verbs and their options, `verbs` and `show` do their work, and a `KeysSummary`
tells what was done and which command comes next. The cryptography is all in `caddis.sealed.keys`.
"""

from caddis.cli.keys.command import app
