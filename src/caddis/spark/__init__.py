"""Everything that imports pyspark: `match`, the store that it follows, and sessions.

`topics_to_channels` puts topics into channels.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
