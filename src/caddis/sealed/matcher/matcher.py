"""The SealedMatcher: sealed clauses → links, for a broker that has no key.

    sealed subscriptions ─unpacked─▶ groups of clauses, one a stream and epoch
    sealed events ─gate─▶ admitted rows ─▶ rows by stream and epoch ─▶ their group
                     prefilter ─▶ candidates ─encrypted test─▶ (row, link)

It has the Matcher's interface. It finds all that the plain Matcher would, and more where a clause
asks what cannot be tested under seal (LIKE, NOT, IS NULL): the subscriber opens what it gets and
decides for itself. Nothing here needs a secret.

A saved matcher is a folder of arrays that are mapped into memory:

    format.json      the version of this layout, and each group's stream, epoch and sizes
    group0_*.npy     the arrays of a group and of its prefilter, one each, uncompressed
    everything.npy   links that every event satisfies
    ids.arrow        the subscriptions' ids by link number

There is no key in it, and nothing that a broker may not know anyway.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from caddis.arrays import Int32s
from caddis.compiling import Need
from caddis.errors import IndexFolderError, InvalidSubscriptions, SealedError, SubscriptionError
from caddis.files import mapped, mapped_ids, read_numbers, write_array, write_ids, write_numbers
from caddis.language import ClauseTable, Column
from caddis.matching import Needs, OnInvalid, checked_ids, named_errors
from caddis.sealed.clauses import ClauseBlock, pack
from caddis.sealed.events import Admission, Refusal
from caddis.sealed.keys import Directory
from caddis.sealed.matcher.blocks import (
    leading_blocks,
    sample_filters,
    sealed_column,
    sizes_of,
    usable_blocks,
)
from caddis.sealed.matcher.event_parts import COMPARED
from caddis.sealed.matcher.groups import ClauseGroup, Sifting
from caddis.sealed.matcher.search import ClauseSearch, SealedCandidates, SealedMatches, joined
from caddis.sealed.prefilter import Prefilter, PrefilterArrays, encode

FORMAT = "sealed 1"
GROUP_ARRAYS = ("links", "token_starts", "tokens", "vector_starts", "vectors", "vector_norms")

GROUP_NUMBERS = ("stream", "epoch", "bits", "unsifted")

Parts = tuple[tuple[ClauseGroup, ...], Int32s, pa.Array]


OnRefused = Callable[[tuple[Refusal, ...]], None]
"""Is called with the events of a batch that were refused, if any were."""


class SealedMatcher:
    """Decides which links sealed events may satisfy.

    It keeps nothing between two calls: the same batch and admission give the same answer. A `Gate`
    decides which events are genuine and new, once, before they come here.

    on_refused: called with what `candidates` refuses; for brokers, who look at its pairs alone.
    """

    def __init__(
        self,
        groups: tuple[ClauseGroup, ...],
        everything: Int32s,
        subscription_ids: pa.Array,
        invalid: tuple[SubscriptionError, ...] = (),
        *,
        on_refused: OnRefused | None = None,
    ) -> None:
        self._groups = groups
        self._everything = everything
        self._search = ClauseSearch(groups, everything, len(subscription_ids))
        self._on_refused = on_refused
        self.subscription_ids = subscription_ids
        self.needs: Needs | None = None
        self.invalid = invalid

    @classmethod
    def compile(
        cls,
        subscriptions: pa.Table,
        *,
        publishers: Directory | None = None,
        sample: pa.RecordBatch | None = None,
        on_invalid: OnInvalid = "raise",
        prefilter: Sifting = "rarest-bit",
    ) -> SealedMatcher:
        """Compile a table of `subscription_id` and a sealed `where`, in bytes or as text.

        publishers: the authority's directory. It says which streams there are, and how large what
            is sealed for them must be; without it, that is as large as in most subscriptions of
            the stream.
        sample: some sealed events, by which the rarest bit of each clause is chosen.
        on_invalid: "raise" InvalidSubscriptions, or "skip" them and list them in `invalid`.
        prefilter: how clauses are discarded by their filters: "rarest-bit", "paper" or None. Only
            the cost of a match depends on it.
        """
        ids = checked_ids(subscriptions)
        blocks, problems = usable_blocks(sealed_column(subscriptions), publishers)
        by_row = {row: SubscriptionError(problem, "") for row, problem in sorted(problems.items())}
        errors = named_errors(by_row, ids)
        if errors and on_invalid == "raise":
            raise InvalidSubscriptions(errors)
        filters = sample_filters(blocks, sample)
        groups = tuple(
            ClauseGroup.of(block, block.owner, prefilter, filters.get(sizes_of(block)))
            for block in blocks
        )
        return cls(groups, np.zeros(0, np.int32), ids, errors)

    @classmethod
    def from_clauses(
        cls,
        clauses: ClauseTable,
        subscription_ids: pa.Array,
        *,
        publishers: Directory | None = None,
        prefilter: Sifting = "rarest-bit",
        on_refused: OnRefused | None = None,
    ) -> SealedMatcher:
        """Compile clauses as brokers know them: see `sealed_clauses_of`.

        A clause without a predicate is true of every event. Clauses of other sizes than their
        stream's match nothing; the right size is that in `publishers`, or else that of most links.
        """
        leading = leading_blocks(clauses, publishers)
        groups = [ClauseGroup.of(block, links, prefilter, None) for block, links in leading]
        everything = clauses.owner[np.diff(clauses.starts) == 0]
        return cls(tuple(groups), everything, subscription_ids, on_refused=on_refused)

    def __len__(self) -> int:
        return len(self.subscription_ids)

    def match(self, batch: pa.RecordBatch, admission: Admission | None = None) -> SealedMatches:
        """Which rows of a batch of sealed events may satisfy which links.

        admission: what a gate said of the batch; without it, all rows that are well made are
            matched. Subscriptions of other sizes than its directory says match nothing, and no
            event is refused because of them.
        """
        return joined(self.match_in_slices(batch, admission), batch.num_rows)

    def match_in_slices(
        self, batch: pa.RecordBatch, admission: Admission | None = None
    ) -> Iterator[SealedMatches]:
        """Match slice by slice, so that not all pairs are held at once; at least one slice.

        Rows ascend from slice to slice. The first slice has the refusals of the admission.
        """
        whole = Admission.of_all(batch.num_rows) if admission is None else admission
        return self._search.slices(batch, whole)

    def candidates(self, batch: pa.RecordBatch) -> SealedCandidates:
        """The pairs of `match`: there is nothing that models could decide."""
        found = self.match(batch)
        if found.refused and self._on_refused is not None:
            self._on_refused(found.refused)
        return SealedCandidates(found.rows, found.links, found.report, found.end, found.refused)

    @property
    def columns(self) -> list[Column]:
        """The columns of sealed events that are compared; a gate reads all of them."""
        types = {"stream": pa.string(), "epoch": pa.int64()}
        return [Column((name,), types.get(name, pa.binary())) for name in COMPARED]

    @property
    def tests_columns(self) -> bool:
        """True: sealed events are always looked at."""
        return True

    @property
    def nbytes(self) -> int:
        """Bytes of all clauses, their prefilters and the subscriptions' ids."""
        arrays = [array for group in self._groups for array in group.arrays]
        return sum(array.nbytes for array in arrays) + int(self.subscription_ids.nbytes)

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the matcher to a folder that `load` can map into memory."""
        _save(Path(folder), self._groups, self._everything, self.subscription_ids)

    @classmethod
    def load(cls, folder: str | PathLike[str]) -> SealedMatcher:
        """Map a saved matcher into memory; processes that do so share one copy."""
        return cls(*_load(Path(folder)))


def _save(folder: Path, groups: tuple[ClauseGroup, ...], everything: Int32s, ids: pa.Array) -> None:
    """Write all parts of a matcher to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_array(folder, "everything", everything)
    write_ids(folder, ids)
    described = [_save_group(folder, number, group) for number, group in enumerate(groups)]
    write_numbers(folder, FORMAT, {"groups": described})


def _load(folder: Path) -> Parts:
    """Map the parts of a matcher from a folder."""
    numbers = read_numbers(folder, FORMAT)
    try:
        groups = [_load_group(folder, at, one) for at, one in enumerate(numbers["groups"])]
        return tuple(groups), mapped(folder, "everything"), mapped_ids(folder)
    except (OSError, EOFError, ValueError, KeyError, TypeError, pa.ArrowException) as problem:
        raise IndexFolderError(f"{folder} is damaged: {problem}; compile it again") from None


def _save_group(folder: Path, number: int, group: ClauseGroup) -> dict[str, Any]:
    for name in GROUP_ARRAYS:
        write_array(folder, f"group{number}_{name}", getattr(group, name))
    sifted = group.unsifted < len(group.links)
    if isinstance(group.sieve, Prefilter):
        for name, array in group.sieve.arrays._asdict().items():
            write_array(folder, f"group{number}_sieve_{name}", array)
    elif group.sieve is not None or group.late is not None:
        raise SealedError("only matchers with the prefilter 'rarest-bit' are saved")
    return {name: getattr(group, name) for name in GROUP_NUMBERS} | {"sifted": sifted}


def _load_group(folder: Path, number: int, described: dict[str, Any]) -> ClauseGroup:
    sieve = None
    if described["sifted"]:
        names = (f"group{number}_sieve_{name}" for name in PrefilterArrays._fields)
        sieve = Prefilter(PrefilterArrays(*(mapped(folder, name) for name in names)))
    fields: dict[str, Any] = {name: described[name] for name in GROUP_NUMBERS}
    fields |= {name: mapped(folder, f"group{number}_{name}") for name in GROUP_ARRAYS}
    return ClauseGroup(sieve=sieve, **fields)


DIMENSIONS = 3


NEEDED = Need("caddis.sealed.matcher")


@cache
def warm_up() -> None:
    """Compile the kernels, if this machine has not yet, by matching two events."""
    starts = np.arange(4)
    tokens = np.array([1, 1, 2], np.uint64)
    block = ClauseBlock(
        stream="any",
        epoch=1,
        owner=np.array([0, 0, 1], np.int32),
        filters=np.array([[1], [3], [0]], np.uint64),
        token_starts=starts,
        tokens=tokens,
        vector_starts=starts,
        vectors=np.ones((3, DIMENSIONS)),
    )
    table = pa.table({"subscription_id": [0, 1], "where": pa.array(pack(block, 2), pa.binary())})
    with TemporaryDirectory() as folder:
        SealedMatcher.compile(table).save(folder)
        SealedMatcher.load(folder).match(_events())


def _events() -> pa.RecordBatch:
    filters = encode(np.array([[3], [1]], np.uint64), compressed=False)
    tokens = np.array([1, 2], "<u8").tobytes()
    point = np.ones(DIMENSIONS, "<f8").tobytes()
    data = pa.binary()
    return pa.record_batch(
        {
            "stream": ["any", "any"],
            "epoch": [1, 1],
            "filter": pa.array(filters, data),
            "tokens": pa.array([tokens, tokens], data),
            "point": pa.array([point, point], data),
        }
    )
