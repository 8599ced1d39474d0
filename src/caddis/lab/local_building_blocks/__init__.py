"""The paper on local building blocks (Shraer et al.): votes, majority filters, topic clustering.

`votes` has the experiments whose inputs are drawn, `clusterings` those on people's interests and
the clusterings that distributed K-Means is compared with; `figures` draws them. `study` puts them
together for `caddis lab local-building-blocks`.
"""

from caddis.lab.local_building_blocks.clusterings import (
    adopt_all,
    agglomerative,
    outcomes_and_cost,
    random_channels,
    settled,
)
from caddis.lab.local_building_blocks.figures import figures_named, study
from caddis.lab.local_building_blocks.votes import (
    QUICK,
    QUICK_SUBSCRIBERS,
    Conditions,
    Scale,
    Setup,
)
