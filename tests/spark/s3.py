"""An S3 of our own: moto's server on this machine, whose writes may be conditional."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pyarrow.fs import FileSelector, FileSystem, FileType

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@contextmanager
def running_s3() -> Iterator[str]:
    """The address of a server of S3's interface."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"{host}:{port}"
    finally:
        server.stop()


def new_bucket(server: str, name: str) -> str:
    """The URI of a new bucket; the environment has the credentials."""
    query = f"endpoint_override={server}&scheme=http"
    files, _ = FileSystem.from_uri(f"s3://{name}?{query}&allow_bucket_creation=true")
    files.create_dir(name)
    return f"s3://{name}?{query}"


def everything_in(uri: str) -> list[str]:
    """The paths of all objects below a URI."""
    files, path = FileSystem.from_uri(uri)
    found = files.get_file_info(FileSelector(path, recursive=True))
    return [one.path for one in found if one.type == FileType.File]
