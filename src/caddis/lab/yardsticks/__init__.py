"""What Caddis is compared with.

`baselines` has what matching is measured against: the classic counting algorithm, and the join
that a Spark user would write by hand. `ordering_costs` has what a policy pays on drawn instances.
"""

from caddis.lab.yardsticks.baselines import CountingMatcher, join_table
from caddis.lab.yardsticks.ordering_costs import candidate_costs
