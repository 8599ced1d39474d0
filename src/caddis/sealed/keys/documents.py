"""The JSON forms of keys, bundles and directories, and the files that hold them.

    {"caddis": "directory", "format": 1, "content": {...}, "signer": "...", "signature": "..."}

A document says what it is. If it is signed, the signature covers its kind and its content, and
whoever pins a fingerprint of the authority can ask for it here. Anybody may have written what is
read: every field is checked before it is used, and messages show nothing of it but fingerprints and
a party's name.

Files with secrets have mode 0600 from their first moment on, whatever the umask, and are not read
while others may read them. Every file is replaced as a whole (`caddis.files`), and a change (read,
change, write) holds its lock, so that of two changes at once none is lost. Errors name the file,
never what is in it.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TypeAlias, TypeGuard, TypeVar

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from caddis import files
from caddis.errors import KeyFileError, SealedError
from caddis.sealed.keys.secrets import framed, is_weak_verifying_key

Json: TypeAlias = dict[str, object]
Thing = TypeVar("Thing")
Choice = TypeVar("Choice", bound=str)

KINDS = ("authority", "identity", "public identity", "bundle", "directory", "replay memory")
FORMAT = 1
KEY_BYTES = 32
SIGNATURE_BYTES = 64
FINGERPRINT_DIGITS = 24
LONGEST_NAME = 200
GREATEST = 2**63 - 1

OWNER_ONLY = 0o600
OTHERS = stat.S_IRWXG | stat.S_IRWXO
MOST_BYTES = 256 << 20
"""No file with keys is larger; what is not read cannot fill the memory."""


# -- documents


class Fields:
    """Reads the fields of a JSON object, and refuses those of a wrong type.

    what: names the object in error messages.
    """

    def __init__(self, plain: object, what: str) -> None:
        if not isinstance(plain, dict):
            raise KeyFileError(f"{what} is not a JSON object")
        self.plain: Json = plain
        self._what = what

    def text(self, name: str) -> str:
        """A string."""
        value = self.plain.get(name)
        if not isinstance(value, str):
            raise self._wrong(name, "a text")
        return value

    def choice(self, name: str, choices: Sequence[Choice]) -> Choice:
        """One of some strings."""
        value = self.text(name)
        for one in choices:
            if one == value:
                return one
        raise self._wrong(name, " or ".join(choices))

    def texts(self, name: str) -> list[str]:
        """A list of strings."""
        return self._all(name, _is_text, "a list of texts")

    def whole(self, name: str, least: int = 0) -> int:
        """A whole number."""
        value = self.plain.get(name)
        if not _is_whole(value, least):
            raise self._wrong(name, f"a whole number of {least} or more")
        return value

    def wholes(self, name: str) -> list[int]:
        """A list of whole numbers."""
        return self._all(name, _is_whole, "a list of whole numbers of 0 or more")

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self.plain.get(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false")
        return value

    def data(self, name: str, size: int | None = None) -> bytes:
        """Bytes, written as base64; exactly `size` of them, if a size is given."""
        try:
            value = base64.b64decode(self.text(name), validate=True)
        except (binascii.Error, ValueError):
            value = None
        if value is None or (size is not None and len(value) != size):
            count = "" if size is None else f"{size} "
            raise self._wrong(name, f"{count}bytes as base64")
        return value

    def json(self, name: str) -> Json:
        """An object, unchecked."""
        value = self.plain.get(name)
        if not isinstance(value, dict):
            raise self._wrong(name, "an object")
        return value

    def one(self, name: str) -> Fields:
        """An object."""
        return Fields(self.json(name), f"{self._what}, {name}")

    def several(self, name: str) -> list[Fields]:
        """A list of objects."""
        value = self.plain.get(name)
        if not isinstance(value, list):
            raise self._wrong(name, "a list")
        return [Fields(one, f"{self._what}, {name}") for one in value]

    def has(self, name: str) -> bool:
        """Whether there is such a field that is not null."""
        return self.plain.get(name) is not None

    def _all(
        self, name: str, is_one: Callable[[object], TypeGuard[Thing]], right: str
    ) -> list[Thing]:
        value = self.plain.get(name)
        if not isinstance(value, list) or not all(map(is_one, value)):
            raise self._wrong(name, right)
        return value

    def _wrong(self, name: str, right: str) -> KeyFileError:
        state = "should be" if name in self.plain else "is missing; it should be"
        return KeyFileError(f"{self._what}: {name!r} {state} {right}")


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


def _is_whole(value: object, least: int = 0) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= GREATEST


def base64_text(data: bytes) -> str:
    """Bytes as JSON holds them."""
    return base64.b64encode(data).decode()


def document(kind: str, content: Json) -> Json:
    """The JSON of something that is not signed."""
    return {"caddis": kind, "format": FORMAT, "content": content}


def opened_document(kind: str, plain: object) -> Fields:
    """The content of a document, if it is of this kind."""
    return _checked(kind, plain).one("content")


def signed_document(kind: str, content: Json, key: Ed25519PrivateKey) -> Json:
    """The JSON of something that this key signs."""
    signer = key.public_key().public_bytes_raw()
    return sealed_document(kind, content, signer, key.sign(_signed_bytes(kind, content)))


def sealed_document(kind: str, content: Json, signer: bytes, signature: bytes) -> Json:
    """The JSON of something that has been signed already."""
    return {
        **document(kind, content),
        "signer": base64_text(signer),
        "signature": base64_text(signature),
    }


def verified_document(
    kind: str, plain: object, believed: str | None = None
) -> tuple[Fields, bytes, bytes]:
    """Content, signer and signature of a document whose signature fits.

    believed: the fingerprint of the only signer to believe; without it, any is believed.
    """
    whole = _checked(kind, plain)
    signer, signature = whole.data("signer", KEY_BYTES), whole.data("signature", SIGNATURE_BYTES)
    verify(kind, whole.json("content"), signer, signature, believed)
    return whole.one("content"), signer, signature


def verify(
    kind: str, content: Json, signer: bytes, signature: bytes, believed: str | None = None
) -> None:
    """Refuse what the signer did not sign, and any signer but the believed one."""
    check_signer(kind, signer, believed)
    try:
        if is_weak_verifying_key(signer):
            raise ValueError("anybody can sign with it")
        key = Ed25519PublicKey.from_public_bytes(signer)
        key.verify(signature, _signed_bytes(kind, content))
    except (InvalidSignature, ValueError, RecursionError):
        raise KeyFileError(
            f"the signature of this {kind} does not fit: it was changed after it was signed"
        ) from None


def check_signer(kind: str, signer: bytes, believed: str | None) -> None:
    """Refuse any signer but the one with this fingerprint, if one is given."""
    if believed is None:
        return
    expected, found = checked_fingerprint(believed), fingerprint(signer)
    if found != expected:
        raise KeyFileError(f"this {kind} is signed by {found}, not by {expected}")


def fingerprint(*keys: bytes) -> str:
    """A short name of public keys that people can compare.

    >>> fingerprint(bytes(32))
    '6668-7aad-f862-bd77-6c8f-c18b'
    """
    digest = sha256(b"".join(map(framed, keys)) if len(keys) > 1 else keys[0]).hexdigest()
    return _grouped(digest[:FINGERPRINT_DIGITS])


def checked_fingerprint(text: str) -> str:
    """A fingerprint in its usual form, from any form in which people write it.

    >>> checked_fingerprint("66687AAD F862BD77 6C8FC18B")
    '6668-7aad-f862-bd77-6c8f-c18b'
    """
    digits = text.replace("-", "").replace(" ", "").lower()
    if len(digits) != FINGERPRINT_DIGITS or not set(digits) <= set("0123456789abcdef"):
        raise KeyFileError(
            f"{text[:LONGEST_NAME]!r} is no fingerprint: it has {FINGERPRINT_DIGITS} digits, such "
            "as 6668-7aad-f862-bd77-6c8f-c18b"
        )
    return _grouped(digits)


def _grouped(digits: str) -> str:
    return "-".join(digits[place : place + 4] for place in range(0, len(digits), 4))


def checked_name(name: str, what: str = "a party") -> str:
    """A name that can be shown and be part of a file's name; KeyFileError if it cannot."""
    fine = name.isprintable() and name == name.strip() and "/" not in name
    if not name or not fine or name[0] in ".-" or len(name.encode()) > LONGEST_NAME:
        raise KeyFileError(
            f"{name[:LONGEST_NAME]!r} is no name of {what}: it has printable characters, 1 to "
            f"{LONGEST_NAME} bytes of UTF-8, no slash, and begins with no dot, hyphen or space"
        )
    return name


def _checked(kind: str, plain: object) -> Fields:
    whole = Fields(plain, f"this {kind}")
    if not whole.has("caddis"):
        raise KeyFileError(f"this is no {kind}")
    found = whole.text("caddis")
    if found != kind:
        but = f", but {found!r}" if found in KINDS else ""
        raise KeyFileError(f"this is no {kind}{but}")
    if whole.whole("format") != FORMAT:
        raise KeyFileError(f"this {kind} has a format that this version of Caddis does not know")
    return whole


def _signed_bytes(kind: str, content: Json) -> bytes:
    plain = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return b"caddis document" + framed(kind.encode()) + framed(plain.encode())


# -- files


def read_secret(path: Path, parse: Callable[[object], Thing]) -> Thing:
    """What `parse` makes of the JSON in a file that only its owner can read."""
    return _read(path, parse, secret=True)


def read_public(path: Path, parse: Callable[[object], Thing]) -> Thing:
    """What `parse` makes of the JSON in a file that everybody may read."""
    return _read(path, parse, secret=False)


def write_secret(path: Path, plain: Mapping[str, object], *, replace: bool = False) -> None:
    """Write JSON into a file that only its owner can read; a new one, unless it may be replaced."""
    _write(path, plain, OWNER_ONLY, replace)


def write_public(path: Path, plain: Mapping[str, object], *, replace: bool = False) -> None:
    """Write JSON into a file that everybody may read, as far as the umask lets them."""
    _write(path, plain, None, replace)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Be the only one who changes a file; whoever comes second waits until this is done."""
    with ExitStack() as held:
        with _naming(path):
            held.enter_context(files.locked(path))
        yield


def _read(path: Path, parse: Callable[[object], Thing], *, secret: bool) -> Thing:
    plain = _parsed(path, _content(path, secret))
    try:
        return parse(plain)
    except SealedError as problem:
        raise KeyFileError(f"{path}: {problem}") from None


def _content(path: Path, secret: bool) -> bytes:
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise KeyFileError(f"{path}: there is no such file") from None
    except OSError as problem:
        raise KeyFileError(f"{path}: {problem.strerror}") from None
    try:
        # What was opened is looked at, not the path: that may lead to another file by now.
        _check_status(path, os.fstat(number), secret)
    except KeyFileError:
        os.close(number)
        raise
    with os.fdopen(number, "rb") as file:
        return file.read()


def _check_status(path: Path, status: os.stat_result, secret: bool) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise KeyFileError(f"{path} is not a regular file")
    if secret and status.st_mode & OTHERS:
        raise KeyFileError(
            f"{path}: others than its owner can read or change it; if nobody did, close it "
            f"with: chmod 600 {path}"
        )
    if status.st_size > MOST_BYTES:
        raise KeyFileError(f"{path} is too large for a key file")


def _parsed(path: Path, content: bytes) -> object:
    # The parser's own error holds the text, perhaps a secret, so it is not even the cause of ours.
    with suppress(ValueError, RecursionError):
        plain: object = json.loads(content)
        return plain
    raise KeyFileError(f"{path} is damaged, or not a key file: it is not JSON")


def _write(path: Path, plain: Mapping[str, object], mode: int | None, replace: bool) -> None:
    content = json.dumps(plain, indent=1) + "\n"
    with _naming(path):
        (files.replace_file if replace else files.create_file)(path, content, mode=mode)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Turn the system's errors into ours, which name the file."""
    try:
        yield
    except FileExistsError:
        raise KeyFileError(f"{path} exists already; it is not replaced") from None
    except OSError as problem:
        raise KeyFileError(f"{path}: {problem.strerror}") from None
