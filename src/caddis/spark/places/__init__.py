"""Places where the driver leaves folders, and where workers find them.

place     a shared folder, or none at all: `place_for` chooses, `local_folder` finds
artifacts   folders that Spark itself brings to the executors
packing     a folder in one file, and back
"""

from caddis.spark.places.place import TEXTS, Artifacts, Place, SharedFolder, local_folder, place_for
