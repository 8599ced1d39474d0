"""`caddis match`: files of events against a file of subscriptions, once or as a stream.

command     the options
preparing   checks and reads everything that does not need Spark, and compiles the match
matching    runs it, as a batch or as a stream
summary     what is shown at the end
"""

from caddis.cli.match.command import app
