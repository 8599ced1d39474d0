import pytest

from caddis.errors import TopicError
from caddis.topics.links import (
    CLOCK,
    MOST_PACKETS,
    MOST_STRANGERS,
    Alarms,
    Link,
    Links,
    Packet,
    Sent,
    Wake,
)


class Diary:
    """A node that writes down what it is told, and answers each message."""

    def __init__(self) -> None:
        self.lines: list[object] = []

    def neighbour_joined(self, link: Link, *, up: bool = False) -> Sent:
        self.lines.append(("joined", link, up))
        return [(link, "hello")]

    def neighbour_left(self, link: Link) -> Sent:
        self.lines.append(("left", link))
        return [(link, "too late"), ("east", "west left")]

    def handle(self, link: Link, message: object) -> Sent:
        self.lines.append((link, message))
        return [(link, f"answer to {message}"), (CLOCK, Wake(5.0))]


class Attentive(Diary):
    """The same, but it hears all that came at one time before it answers."""

    def handle_all(self, heard: Sent) -> Sent:
        self.lines.append(list(heard))
        return [(link, "one answer") for link in dict(heard)]


def packet(epoch: int, *messages: str) -> Packet:
    return Packet(epoch, messages)


def heard_from(links: Links, link: str = "west") -> list[object]:
    assert isinstance(links.node, Diary)
    return [line[1] for line in links.node.lines if isinstance(line, tuple) and line[0] == link]


def test_what_is_said_through_a_link_at_one_time_leaves_in_one_packet():
    links = Links(Diary())
    assert links.join("west", 3, up=True) == [("west", packet(3, "hello"))]
    links.join("east", 8)
    sent: Sent = [("west", "a"), ("east", "b"), (CLOCK, Wake(1.0)), ("west", "c"), ("south", "d")]
    assert links.send(sent) == [
        (CLOCK, Wake(1.0)),
        ("west", packet(3, "a", "c")),
        ("east", packet(8, "b")),
    ]


def test_messages_in_flight_die_with_their_link():
    links = Links(Diary())
    links.join("west", 1)
    links.leave("west")
    assert links.handle("west", packet(1, "old")) == []
    links.join("west", 2)
    assert links.handle("west", packet(1, "older")) == []
    links.handle("west", packet(2, "new"))
    assert heard_from(links) == ["new"]


def test_messages_of_a_link_that_came_up_anew_before_it_was_told_to_be_down_die():
    links = Links(Diary())
    links.join("west", 1)
    links.join("west", 2, up=True)
    assert links.node.lines == [  # type: ignore[attr-defined]
        ("joined", "west", False),
        ("left", "west"),
        ("joined", "west", True),
    ]
    links.handle("west", packet(1, "old"))
    assert heard_from(links) == []


@pytest.mark.parametrize("known", ["never up", "up", "down"])
def test_a_packet_that_comes_before_this_end_is_told_of_the_new_epoch_is_heard_then(known: str):
    links = Links(Diary())
    if known != "never up":
        links.join("west", 1)
    if known == "down":
        links.leave("west")
    assert links.handle("west", packet(2, "early")) == []
    assert links.handle("west", packet(2, "earlier than told")) == []
    sent = dict(links.join("west", 2))
    assert heard_from(links) == ["early", "earlier than told"]
    assert sent["west"].messages[-1] == "answer to earlier than told"
    links.handle("west", packet(2, "in time"))
    assert heard_from(links)[2:] == ["in time"]


def test_early_packets_do_not_pile_up():
    links = Links(Diary())
    links.join("west", 0)
    for epoch in range(1, 100):
        links.handle("west", packet(epoch, f"of {epoch}"))
    assert [len(kept.packets) for kept in links._early.values()] == [1]
    links.join("west", 98)
    assert heard_from(links) == []
    links.join("west", 99)
    assert heard_from(links) == ["of 99"]
    assert not links._early


def test_a_link_that_missed_early_packets_comes_up_in_a_later_epoch():
    links = Links(Diary())
    for number in range(3 * MOST_PACKETS):
        links.handle("west", packet(1, str(number)))
        assert len(links._early["west"].packets) <= MOST_PACKETS
    with pytest.raises(TopicError, match="'west' before it was up in epoch 1 than is kept"):
        links.join("west", 1)
    assert links.node.lines == []  # type: ignore[attr-defined]
    links.join("west", 2)
    links.handle("west", packet(2, "new"))
    assert heard_from(links) == ["new"]


def test_as_many_early_packets_as_are_kept_are_heard():
    links = Links(Diary())
    for number in range(MOST_PACKETS):
        links.handle("west", packet(1, str(number)))
    links.join("west", 1)
    assert heard_from(links) == [str(number) for number in range(MOST_PACKETS)]


def test_links_that_were_never_up_do_not_pile_up():
    links = Links(Diary())
    links.join("known", 1)
    for number in range(2 * MOST_STRANGERS):
        links.handle(number, packet(5, "early"))
    assert len(links._early) == MOST_STRANGERS
    links.handle("known", packet(2, "early"))
    links.join("known", 2)
    assert heard_from(links, "known") == ["early"]
    links.join(0, 5)
    with pytest.raises(TopicError, match="let it come up in a later one"):
        links.join(MOST_STRANGERS, 5)
    links.join(MOST_STRANGERS, 6)
    links.handle("new", packet(5, "there is room again"))
    links.join("new", 5)
    assert heard_from(links, "new") == ["there is room again"]


def test_a_packet_far_ahead_is_believed_until_the_link_gets_there():
    links = Links(Diary())
    links.join("west", 1)
    links.handle("west", packet(10**9, "forged"))
    links.handle("west", packet(1, "unheard"))
    links.join("west", 10**9 + 1)
    links.handle("west", packet(10**9 + 1, "heard"))
    assert heard_from(links) == ["heard"]


def test_nothing_of_a_link_is_heard_once_the_other_end_is_known_to_be_in_a_later_one():
    """Else a node could miss the first messages of an epoch and hear the later ones."""
    links = Links(Diary())
    links.handle("west", packet(4, "first of 4"))
    links.handle("west", packet(5, "first of 5"))
    links.join("west", 4)
    links.handle("west", packet(4, "second of 4"))
    assert heard_from(links) == []
    links.join("west", 5)
    assert heard_from(links) == ["first of 5"]


def test_early_packets_of_an_epoch_that_is_over_are_forgotten():
    links = Links(Diary())
    links.handle("west", packet(1, "early"))
    links.join("west", 2)
    assert heard_from(links) == []
    assert not links._early


def test_what_a_node_says_to_a_link_that_went_down_is_not_sent():
    links = Links(Diary())
    links.join("west", 1)
    links.join("east", 1)
    assert links.leave("west") == [("east", packet(1, "west left"))]


def test_a_link_that_is_not_up_cannot_go_down():
    links = Links(Diary())
    with pytest.raises(TopicError, match="'west' cannot go down: it is not up"):
        links.leave("west")


@pytest.mark.parametrize("epoch", [6, 7])
def test_a_link_comes_up_in_a_later_epoch(epoch: int):
    links = Links(Diary())
    links.join("west", 7)
    links.leave("west")
    with pytest.raises(TopicError, match=f"'west' had epoch 7: {epoch} is not a later one"):
        links.join("west", epoch)


def test_alarms_come_through_no_link():
    links = Links(Diary())
    wake = Wake(5.0, token=3)
    assert links.handle(CLOCK, wake) == [
        (CLOCK, f"answer to {wake}"),
        (CLOCK, Wake(5.0)),
    ]


def test_an_attentive_node_takes_in_all_that_came_before_it_answers():
    links = Links(Attentive())
    links.join("west", 1)
    links.join("east", 1)
    arrived = [("west", packet(1, "a", "b")), ("east", packet(0, "old")), ("east", packet(1, "c"))]
    sent = links.handle_all(arrived)
    assert links.node.lines[2:] == [  # type: ignore[attr-defined]
        [("west", "a"), ("west", "b"), ("east", "c")]
    ]
    assert sent == [("west", packet(1, "one answer")), ("east", packet(1, "one answer"))]
    assert links.handle("east", packet(0, "old")) == []


def test_an_alarm_that_was_set_before_another_of_the_same_meaning_is_not_heard():
    alarms = Alarms()
    _, early = alarms.set(5.0, "ask")
    alarms.cancel("ask")
    assert "ask" not in alarms
    _, late = alarms.set(5.0, "ask")
    assert alarms.rung(early) is None
    assert "ask" in alarms
    assert alarms.rung(late) == "ask"
    assert alarms.rung(late) is None
