"""`caddis lab`: one verb a paper, which redraws the paper's figures with Caddis's own code.

A verb's options give a `Study` (see `caddis.lab.figures`); `redraw` runs it on Spark, keeps every
run as soon as it is done, and draws the figures. `shared` has what all verbs have in common.
"""

from caddis.cli.lab.adaptive_filtering import AdaptiveFilteringOptions
from caddis.cli.lab.bloom_prefiltering import BloomPrefilteringOptions
from caddis.cli.lab.local_building_blocks import LocalBuildingBlocksOptions
from caddis.cli.lab.shared import app
