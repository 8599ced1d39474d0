"""What a model's reader raises on a value that it cannot read."""


class Unreadable(Exception):
    """Why a value cannot be read, in a few words; it is unknown, and the others go on."""
