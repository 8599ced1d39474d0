"""Places where the driver leaves folders, where stores live, and where workers find both.

place       a shared folder, objects or artifacts: `place_for` chooses, `local_folder` finds
artifacts   folders that Spark itself brings to the executors
objects     what lies at a URI: s3://, gs://, hdfs://
bucket      the versions of a store as objects
cache       what was downloaded, once a machine
packing     a folder in one file, and back
"""

from caddis.spark.places.objects import Objects, is_uri
from caddis.spark.places.place import (
    Artifacts,
    ObjectPlace,
    Place,
    SharedFolder,
    is_gone,
    local_folder,
    local_path,
    place_for,
    resident,
    versions_at,
)
