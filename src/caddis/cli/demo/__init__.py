"""`caddis demo`: what Caddis is for, on data that the demo makes itself.

command         the options
marketplace     offers against many subscriptions, matched twice on Spark
photos          a stream of frames that networks look at
contact_sheet   the page that shows who got which frames, and why
"""

from caddis.cli.demo.command import app
