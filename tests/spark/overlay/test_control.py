"""Control planes over logs: wherever a broker is stopped, its messages are sent once."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import Random

import pyarrow as pa
import pytest

from caddis.errors import OverlayError
from caddis.language import Clause, Vocabulary, parse_all
from caddis.overlay.messages import Advertise, Leave, Neighbour, Subscribe, Subscriber, Unsubscribe
from caddis.spark.overlay.control import (
    ControlLogs,
    ControlPlane,
    declare,
    from_record,
    subscribed,
    to_record,
)
from caddis.spark.overlay.logs import FolderLog, Log, Record
from caddis.spark.overlay.settling import Settling, Signal
from tests.runs import seeds
from tests.spark.overlay.memory import MemoryLog

SCHEMA = pa.schema([("a", pa.int64()), ("b", pa.int64())])
TREE = {"p": ("q",), "q": ("p", "r", "s"), "r": ("q",), "s": ("q",)}
WHERES = ["a = 1", "a < 2", "b = 1 OR a = 3", "a = 1 AND b = 2"]


@cache
def read(where: str) -> tuple[Clause, ...]:
    table = parse_all([where], SCHEMA, concepts=Vocabulary())
    for error in table.errors.values():
        raise error
    return tuple(table.clause(number) for number in range(len(table.owner)))


class Killed(Exception):
    """What stands for the end of a process."""


class Fuse:
    """Counts appends to any log, and ends everything before or after one of them."""

    def __init__(self, appends: int | None = None, after: bool = False) -> None:
        self.left = appends
        self.after = after

    def blow(self) -> bool:
        if self.left is None:
            return False
        self.left -= 1
        return self.left == 0


class FusedLog:
    def __init__(self, log: Log, fuse: Fuse) -> None:
        self.log, self.fuse = log, fuse

    def append(self, records: Sequence[Record]) -> None:
        if not records:
            return
        blown = self.fuse.blow()
        if blown and not self.fuse.after:
            raise Killed
        self.log.append(records)
        if blown:
            raise Killed

    def read(self, after: int = 0) -> list[Record]:
        return self.log.read(after)

    def __len__(self) -> int:
        return len(self.log)


class Sites:
    """The logs of all brokers, in memory: a kill is an exception, so nothing has to be on disk."""

    def __init__(self) -> None:
        self._journals: dict[str, MemoryLog] = defaultdict(MemoryLog)
        self._clients: dict[str, MemoryLog] = defaultdict(MemoryLog)
        self._control: dict[tuple[str, str], MemoryLog] = defaultdict(MemoryLog)

    def clients(self, name: str) -> MemoryLog:
        return self._clients[name]

    def logs(self, name: str, neighbours: Sequence[str]) -> ControlLogs:
        return ControlLogs(
            self._journals[name],
            self._clients[name],
            {other: self._control[other, name] for other in neighbours},
            {other: self._control[name, other] for other in neighbours},
        )

    def sent(self) -> list[list[Record]]:
        """The records of every link."""
        return [log.read() for log in self._control.values()]


def plane(sites: Sites, name: str, fuse: Fuse | None = None) -> ControlPlane:
    logs = sites.logs(name, TREE[name])
    if fuse is not None:
        logs = ControlLogs(
            FusedLog(logs.journal, fuse),
            logs.clients,
            logs.incoming,
            {other: FusedLog(log, fuse) for other, log in logs.outgoing.items()},
        )
    return ControlPlane(name, read, logs)


def step_all(planes: dict[str, ControlPlane]) -> None:
    while any(one.step() for one in planes.values()):
        pass


def declare_all(sites: Sites) -> None:
    for at, name in enumerate(TREE):
        where = "TRUE" if name in ("p", "r") else None
        declare(sites.clients(name), name, {f"s{at}": WHERES[at]}, where)


def tables(planes: dict[str, ControlPlane]) -> dict[str, object]:
    return {
        name: {link: dict(entries) for link, entries in one._routing.table.items()}
        for name, one in planes.items()
    }


def test_all_hear_of_all_and_settle():
    sites = Sites()
    declare_all(sites)
    planes = {name: plane(sites, name) for name in TREE}
    assert not any(one.settled for one in planes.values())
    step_all(planes)
    assert all(one.settled for one in planes.values())
    _, graph = planes["p"].graph()
    assert graph.neighbours == (Neighbour("q"),)
    assert graph.subscribers == (Subscriber("s0"),)


def test_a_broker_is_not_settled_while_one_behind_its_neighbour_is_away():
    sites = Sites()
    declare_all(sites)
    planes = {name: plane(sites, name) for name in ("p", "q", "r")}
    step_all(planes)
    assert not any(one.settled for one in planes.values())
    planes["s"] = plane(sites, "s")
    step_all(planes)
    assert all(one.settled for one in planes.values())


@pytest.mark.parametrize("seed", seeds(15, 200))
def test_a_publisher_that_is_settled_knows_all_that_it_ever_will(seed: int):
    """Whatever the order in which brokers get to work."""
    random, sites = Random(seed), Sites()
    declare_all(sites)
    planes: dict[str, ControlPlane] = {}
    known: dict[str, object] = {}
    while len(known) < len(TREE):
        name = random.choice(list(TREE))
        if name not in planes:
            planes[name] = plane(sites, name)
        planes[name].step()
        for one, control in planes.items():
            if control.settled and one not in known:
                known[one] = tables({one: control})[one]
    step_all(planes)
    everything = tables(planes)
    assert [known[name] for name in ("p", "r")] == [everything[name] for name in ("p", "r")]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("appends", range(1, 9))
def test_a_broker_killed_at_any_append_goes_on_as_if_nothing_had_been(appends: int, after: bool):
    found = []
    for fuse in (None, Fuse(appends, after)):
        sites = Sites()
        declare_all(sites)
        planes = {name: plane(sites, name) for name in TREE if name != "q"}
        try:
            planes["q"] = plane(sites, "q", fuse)
            for name in ["p", "q", "r", "q", "s", "q", "p", "q"]:
                planes[name].step()
            assert fuse is None, "the fuse never blew"
        except Killed:
            planes["q"] = plane(sites, "q")
        step_all(planes)
        assert all(one.settled for one in planes.values())
        assert tables({name: plane(sites, name) for name in TREE}) == tables(planes)
        for records in sites.sent():
            assert [record["kind"] for record in records].count("Join") == 1
            waves = [tuple(one.items()) for one in records if one["kind"] in ("Probe", "Echo")]
            assert len(waves) == len(set(waves))
        found.append(tables(planes))
    assert found[0] == found[1]


def test_what_the_file_no_longer_says_is_cancelled_and_other_subscriptions_stay(tmp_path: Path):
    log = FolderLog(tmp_path / "clients")
    declare(log, "p", {"ann": "a = 1", "bo": "a = 2"}, "TRUE")
    assert declare(log, "p", {"ann": "a = 1", "bo": "a = 2"}, "TRUE") == []
    log.append([to_record(Subscribe("cy", "b = 1")), to_record(Unsubscribe("ann"))])
    declare(log, "p", {"ann": "a = 1", "bo": "a = 3"}, "a < 9")
    assert subscribed(log) == {"bo": "a = 3", "cy": "b = 1"}
    declare(log, "p", {}, None)
    assert subscribed(log) == {"cy": "b = 1"}
    assert log.read()[-1] == {"by": "file", "kind": "Unadvertise", "publisher": "p", "home": ""}


def test_a_message_that_cannot_be_used_is_logged_and_skipped(caplog: pytest.LogCaptureFixture):
    sites = Sites()
    sites.clients("p").append([to_record(Subscribe("ann", "c = 1")), to_record(Leave())])
    declare_all(sites)
    one = plane(sites, "p")
    with caplog.at_level(logging.WARNING, "caddis"):
        one.step()
    assert "broker p refused a record of a client: " in caplog.text
    assert ["unknown column 'c'" in one.refusals[0].reason, len(one.refusals)] == [True, 2]
    again = plane(sites, "p")
    assert again.refusals == one.refusals
    assert not again.step()


def test_a_journal_that_can_no_longer_be_read_is_an_error():
    sites = Sites()
    declare_all(sites)
    plane(sites, "p").step()

    def other(where: str) -> tuple[Clause, ...]:
        return read(where.replace("a", "gone"))

    with pytest.raises(OverlayError, match="have the models changed"):
        ControlPlane("p", other, sites.logs("p", TREE["p"]))


def test_a_link_that_is_taken_away_is_refused():
    sites = Sites()
    declare_all(sites)
    planes = {name: plane(sites, name) for name in TREE}
    for step in (lambda: None, lambda: step_all(planes)):
        step()
        with pytest.raises(OverlayError, match="was linked with 's'"):
            ControlPlane("q", read, sites.logs("q", ["p", "r"]))


def test_a_neighbour_may_join_later():
    sites = Sites()
    declare_all(sites)
    early = {"p": plane(sites, "p")}
    early["q"] = ControlPlane("q", read, sites.logs("q", ["p"]))
    step_all(early)
    assert early["q"].settled
    late = {name: plane(sites, name) for name in TREE}
    assert not late["q"].settled
    step_all(late)
    assert all(one.settled for one in late.values())


def test_who_joins_later_and_publishes_waits_for_those_who_are_away():
    sites = Sites()
    declare(sites.clients("p"), "p", {"ann": "a = 1"}, "TRUE")
    declare(sites.clients("q"), "q", {}, None)
    early = {"p": plane(sites, "p")}
    early["q"] = ControlPlane("q", read, sites.logs("q", ["p"]))
    step_all(early)
    assert [one.settled for one in early.values()] == [True, True]

    declare(sites.clients("r"), "r", {}, "TRUE")
    late = {"q": ControlPlane("q", read, sites.logs("q", ["p", "r"]))}
    late["r"] = plane(sites, "r")
    step_all(late)
    assert not late["r"].settled
    late["p"] = plane(sites, "p")
    assert late["p"].settled
    step_all(late)
    assert all(one.settled for one in late.values())
    assert list(late["r"]._routing.table) == [Neighbour("q")]


def test_who_advertises_more_waits_for_those_who_want_it():
    sites = Sites()
    declare(sites.clients("p"), "p", {}, "a = 1")
    declare(sites.clients("q"), "q", {"ann": "a = 2"}, None)
    logs = sites.logs("q", ["p"])
    planes = {"p": plane(sites, "p"), "q": ControlPlane("q", read, logs)}
    step_all(planes)
    assert (planes["p"].settled, dict(planes["p"]._routing.table)) == (True, {})

    declare(sites.clients("p"), "p", {}, "TRUE")
    again = plane(sites, "p")
    step_all({"p": again})
    assert (again.settled, again.awaited) == (False, ("q",))
    step_all({"p": again, "q": planes["q"]})
    assert again.settled
    assert list(again._routing.table) == [Neighbour("q")]
    assert plane(sites, "p").settled


@pytest.mark.parametrize(("covering", "known"), [(True, 1), (False, 2)])
def test_without_covering_a_publisher_knows_everyone(covering: bool, known: int):
    sites = Sites()
    declare(sites.clients("p"), "p", {}, "TRUE")
    declare(sites.clients("r"), "r", {"ann": "a < 9", "bo": "a = 1 AND b = 2"}, None)
    logs = {"p": sites.logs("p", ["r"]), "r": sites.logs("r", ["p"])}
    for _ in range(2):
        planes = {name: ControlPlane(name, read, logs[name], covering) for name in logs}
        step_all(planes)
        assert len(planes["p"]._routing.table[Neighbour("r")]) == known


def test_records_that_are_no_messages_are_refused():
    with pytest.raises(OverlayError, match="no control message"):
        from_record({"kind": "Shout"})
    with pytest.raises(OverlayError, match="no control message"):
        from_record({"kind": "Subscribe", "whom": "x"})
    message = Subscribe("ann", "a = 1 OR b = 2", (1,), "p")
    assert from_record(to_record(message)) == message
    assert from_record(to_record(Advertise("p", ""))) == Advertise("p", "")


def test_readers_of_a_log_see_whole_appends(tmp_path: Path):
    log = FolderLog(tmp_path / "log")
    assert (len(log), log.read()) == (0, [])
    log.append([])
    for number in range(5):
        log.append([{"n": number, "of": part} for part in range(number)])
    everything = log.read()
    assert len(log) == len(everything) == 10
    assert all(log.read(after) == everything[after:] for after in range(12))
    (tmp_path / "log" / ".000000000010.jsonl").write_text('{"half a rec')
    assert log.read(10) == []
    log.append([{"n": 5}])
    assert FolderLog(tmp_path / "log").read(10) == [{"n": 5}]


def test_a_lonely_broker_is_settled_once_its_clients_are_known():
    alone = Settling("alone")
    settled = [alone.settled]
    alone.declare()
    settled.append(alone.settled)
    alone.add("new")
    settled.append(alone.settled)
    assert alone.awaited == ("new",)
    alone.hear("new", Signal("Echo", "alone", 1))
    assert [*settled, alone.settled] == [False, True, False, True]


def test_echoes_of_an_older_wave_do_not_count():
    one = Settling("one")
    one.declare()
    one.add("two")
    one.meet("two")
    one.begin()
    one.hear("two", Signal("Echo", "one", 1))
    assert not one.settled
    one.hear("two", Signal("Echo", "one", 2))
    assert one.settled
