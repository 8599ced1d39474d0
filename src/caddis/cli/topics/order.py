"""What a user asked `caddis topics cluster` for, and what can be checked before Spark starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from caddis.cli.shell import require_java, require_matplotlib
from caddis.errors import TopicError
from caddis.files import FileFormat, check_free, existing, format_of
from caddis.topics.channels import ChannelMap

MAP, VERSIONED = "channels", "channels.json"
CURVE, CURVE_PLOT, FILTERING_PLOT = "curve.csv", "cost.png", "filtering.png"
FILES = frozenset((f"{MAP}.csv", f"{MAP}.parquet", VERSIONED, CURVE, CURVE_PLOT, FILTERING_PLOT))


@dataclass(frozen=True, slots=True)
class ClusterOrder:
    """The options as they were given."""

    interests: Path
    channels: int
    out: Path
    rates: Path | None = None
    previous: Path | None = None
    curve: str | None = None
    format: FileFormat | None = None
    out_format: Literal["csv", "parquet"] = "csv"
    plots: bool = True
    overwrite: bool = False
    seed: int = 0
    improvement: float = 0.001
    waves: int = 100
    sample: int = 2_000_000
    tries: int = 10
    master: str = "local[*]"

    @property
    def also(self) -> list[int]:
        """The other numbers of channels of the curve."""
        if self.curve is None:
            return []
        try:
            numbers = {int(number) for number in self.curve.split(",")}
        except ValueError:
            numbers = {0}
        if min(numbers) < 1:
            raise TopicError(
                f"--curve {self.curve!r} is no list of channels; write it as 5,10,20,40"
            )
        return sorted(numbers - {self.channels})

    @property
    def interests_format(self) -> FileFormat:
        """As asked for, else as the names tell."""
        return self.format or format_of(self.interests, TopicError)

    @property
    def previous_map(self) -> Path | None:
        """The file of the previous map; a folder may be an earlier --out."""
        if self.previous is None or not self.previous.is_dir():
            return self.previous
        found = [self.previous / f"{MAP}.{suffix}" for suffix in ("csv", "parquet")]
        there = [path for path in found if path.exists()]
        return there[0] if there else self.previous

    @property
    def previous_version(self) -> int | None:
        """Of the previous map, as told in the folder that it is in; None if nothing tells it."""
        if self.previous is None:
            return None
        folder = self.previous if self.previous.is_dir() else self.previous.parent
        path = folder / VERSIONED
        if not path.is_file():
            return None
        try:
            return ChannelMap.from_json(path.read_text(encoding="utf-8")).version
        except (TopicError, UnicodeDecodeError) as error:
            raise TopicError(f"{path}: {error}") from error

    @property
    def version(self) -> int:
        """Of the map to be made."""
        return (self.previous_version or 0) + 1

    def check(self) -> None:
        """Raise on what is wrong, before anything long begins."""
        check_free(self.out, overwrite=self.overwrite, ours=FILES)
        for path in (self.interests, self.rates, self.previous_map):
            if path is not None:
                existing(path, TopicError)
        for path in (self.rates, self.previous_map):
            if path is not None:
                format_of(path, TopicError)
        _ = self.interests_format, self.also, self.version
        if self.plots:
            require_matplotlib()
        require_java()
