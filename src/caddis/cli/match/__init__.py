"""`caddis match`: files of events against a file of subscriptions, once or as a stream.

command     the options
preparing   what can be checked and read before Spark starts, and the match to be computed
matching    the batch and the stream that compute it
summary     what is shown at the end
"""

from caddis.cli.match.command import app

__all__ = ["app"]
