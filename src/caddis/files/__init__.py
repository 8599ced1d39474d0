"""What users keep in files, read and written without Spark.

    formats   which files a path holds, and their format, by their names
    schemas   the events' columns, from DDL as Spark writes it or from the files themselves
    events    events in Arrow batches
    tables    subscriptions and other small tables, read and written whole
    output    folders of matches, which appear only when everything is in them
    atomic    files that are replaced as a whole, and locks
    arrays    arrays that saved matchers map into memory

Every other package reads and writes with these functions; what Spark reads itself is in
`caddis.spark`. Names are imported when they are first used, so a command's help loads neither Arrow
nor a parser.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
