"""Every model of an event has one broker in charge of it: the policy `frontier`.

The publisher's broker is in charge of all models. A broker that forwards an event hands over the
models that the receiver needs and it does not, and, of those that both need, the ones that it would
run last. Only the broker in charge of a model runs it; the others wait for the answer, which
travels through all brokers that have the event to those that need it. A broker that no longer needs
a model hands it to the neighbour where most wait for it, or back where the event came from. So a
link is served the moment it is satisfied, brokers work at the same time, and nothing runs twice.

A charge always lies with a broker that will run the model or pass it on, so everyone who waits is
answered. If a broker in charge fails, those who wait lose their patience and run the model
themselves: that is the only redundancy, and the knob between delay and cost.

Answers that complete no clause behind a link are held for `linger_ms`, so some travel together;
others go at once, and so does every yes on its way back towards the publisher. A visit is closed
when its own links are decided and all its heirs, the neighbours that it sent the event to, have
closed theirs: by then everybody who asked has an answer.
"""

from __future__ import annotations

import numpy as np

from caddis.arrays import Bools, Bytes, Int32s
from caddis.models import UNASKED, YES
from caddis.ordering.kernels import NONE
from caddis.overlay.forwarding.compiled_graph import CompiledGraph
from caddis.overlay.forwarding.policies import Sharing
from caddis.overlay.forwarding.routes import next_model
from caddis.overlay.forwarding.sharing_kernels import URGENT, Shares, share
from caddis.overlay.forwarding.visits import NOBODY, Sent, Visit
from caddis.overlay.messages import CLOCK, Learnt, Link, Neighbour, Notification, Publish, Wake

FLUSH, IMPATIENT = "flush", "impatient"


class SharingVisit(Visit):
    """An event whose models are shared out among the brokers that have it."""

    def __init__(self, message: Publish, source: int, graph: CompiledGraph, arrival: int) -> None:
        super().__init__(message, source, graph, arrival)
        assert graph.forwarding.sharing is not None
        self._sharing: Sharing = graph.forwarding.sharing
        self._shares = _shares(self._pairs, graph, message, source)
        self._held: dict[int, list[int]] = {}
        """For each neighbour: the concepts whose answers wait to travel."""
        self._closed: set[int] = set()
        """The heirs that have closed their visits."""
        self._open_heirs = 0
        self._lent: dict[int, set[int]] = {}
        """For each heir: the models that it was put in charge of and has not given back."""
        self._flushing = False
        """Whether the clock has been asked to send what is held."""
        self._serial = 0
        """Grows with all that happens, so a wake-up can tell whether anything has since."""
        self._waiting = False
        """Whether the clock has been asked to wake it when its patience ends."""

    @property
    def done(self) -> bool:
        return self._count == 0 and self._open_heirs == 0 and self.running == NONE

    def begin(self) -> Sent:
        return self._share([], NOBODY)

    def answer(self, concepts: tuple[int, ...], marks: tuple[int, ...]) -> Sent:
        return self._share(self._note(concepts, marks), NOBODY)

    def learn(self, link: Link, message: Learnt) -> Sent:
        sender = self._graph.number_of.get(link)
        if sender is None:  # a neighbour that joined after the event came
            return []
        news = self._note(message.concepts, message.marks)
        for model in message.charge:
            self._shares.charge[model] = True
        if sender != self._source:
            for model in message.charge:
                # Or it would be offered the model again at once, and send it back again.
                self._shares.refused[sender, model] = True
            self._lent.get(sender, set()).difference_update(message.charge)
            if message.closed:
                self._close(sender)
        if news or message.charge:
            return self._share(news, sender)
        return self._spread({})

    def _lost(self, number: int) -> Sent:
        taken: set[int] = set()
        if number == self._source:
            self._source = NOBODY
            self._held.pop(number, None)
            # The charges that lay upstream are unreachable: take all but those lent downstream.
            taken = set(range(len(self._shares.charge))).difference(*self._lent.values())
        elif self._shares.heirs[number] and number not in self._closed:
            self._close(number)
            taken = self._lent.pop(number, set())
        answered_by = self._plan.answered_by
        taken -= {self.running, *answered_by[self.known != UNASKED].tolist()}
        self._shares.charge[list(taken)] = True
        return self._share([], NOBODY)

    def _close(self, heir: int) -> None:
        """Take in that an heir wants to hear no more."""
        if heir not in self._closed:
            self._closed.add(heir)
            self._open_heirs -= 1
            self._shares.waiting[heir] = 0
            self._shares.counts[heir] = 0
            self._held.pop(heir, None)

    def wake(self, reason: str, serial: int) -> Sent:
        if reason == FLUSH:
            self._flushing = False
            return [self._news(number) for number in list(self._held)]
        self._waiting = False
        if not self._idle or serial != self._serial:
            return self._await()
        # Out of patience: run the best model, whoever is in charge of it.
        self.model = next_model(
            self._pairs,
            self._count,
            self._graph.routes,
            self.known,
            self._plan,
            self._forwarding.extended,
        )
        return []

    def _note(self, concepts: tuple[int, ...], marks: tuple[int, ...]) -> list[int]:
        """Note answers; return the concepts for which they are news."""
        known, news = self.known, []
        for concept, mark in zip(concepts, marks, strict=True):
            if known[concept] == UNASKED:
                known[concept] = mark
                news.append(concept)
        return news

    def _share(self, news: list[int], sender: int) -> Sent:
        """Draw conclusions from news that came from a sender, or from here (NOBODY)."""
        self._serial += 1
        self._count, self.model, reached, moves, urgency, wants = share(
            self._pairs,
            self._count,
            self._graph.routes,
            self.known,
            self._states,
            self._plan,
            self._shares,
            np.array(news, np.int32),
            self.running,
            float(self._sharing.keep),
            self._source != NOBODY,
        )
        charges: dict[int, list[int]] = {}
        for model, receiver in moves.tolist():
            # The kernel numbers neighbours only; one more stands for the source.
            number = self._source if receiver == self._graph.neighbours else receiver
            charges.setdefault(number, []).append(model)
            if number != self._source:
                self._lent.setdefault(number, set()).add(model)
        if news:
            self._hold_news(news, sender, urgency, wants, charges)
        sent = self._serve_with(charges) if reached else []
        return sent + self._spread(charges) + self._await()

    def _serve_with(self, charges: dict[int, list[int]]) -> Sent:
        """Send the event through satisfied links; new heirs are put in charge of their models."""
        sent: Sent = []
        known = self.known.copy()
        for link in self._reached():
            if isinstance(link, Neighbour):
                charge = charges.pop(self._graph.number_of[link], ())
                sent.append((link, Publish(self.event, known, tuple(charge))))
                self._open_heirs += 1
            else:
                sent.append((link, Notification(self.event.event_id)))
        return sent

    def _hold_news(
        self,
        news: list[int],
        sender: int,
        urgency: Bytes,
        wants: Bools,
        charges: dict[int, list[int]],
    ) -> None:
        """Hold news for those who want it; whoever must know at once gets an entry in charges."""
        for heir, pressing in enumerate(urgency.tolist()):
            if pressing and heir != sender:
                wanted = wants[heir].tolist()
                self._hold(heir, [one for one, want in zip(news, wanted, strict=True) if want])
                if pressing == URGENT:
                    charges.setdefault(heir, [])
        if self._source not in (NOBODY, sender):
            self._hold(self._source, news)
            if any(self.known[concept] == YES for concept in news):
                charges.setdefault(self._source, [])

    def _spread(self, charges: dict[int, list[int]]) -> Sent:
        """Send charges with what is held for the same neighbours; the rest waits a little."""
        if self.done and self._source != NOBODY:
            charges.setdefault(self._source, [])
        sent: Sent = [self._news(number, tuple(charge)) for number, charge in charges.items()]
        if self._held and not self._flushing:
            self._flushing = True
            wake = Wake(self.event.event_id, FLUSH, 0, self._sharing.linger_ms)
            sent.append((CLOCK, wake))
        return sent

    def _hold(self, number: int, concepts: list[int]) -> None:
        if number not in self._closed:
            self._held.setdefault(number, []).extend(concepts)

    def _news(self, number: int, charge: tuple[int, ...] = ()) -> tuple[Link, Learnt]:
        """The message with what is held for a neighbour, and a charge."""
        concepts = tuple(self._held.pop(number, ()))
        marks = tuple(self.known[list(concepts)].tolist())
        closed = number == self._source and self.done
        message = Learnt(self.event.event_id, concepts, marks, charge, closed)
        return self._graph.links[number], message

    @property
    def _idle(self) -> bool:
        """Whether it can only wait for others."""
        return self._count > 0 and self.model == NONE and self.running == NONE

    def _await(self) -> Sent:
        """Ask the clock to end its patience, unless that is asked already."""
        if not self._idle or self._waiting or np.isinf(self._sharing.patience_ms):
            return []
        self._waiting = True
        wake = Wake(self.event.event_id, IMPATIENT, self._serial, self._sharing.patience_ms)
        return [(CLOCK, wake)]


def _shares(pairs: Int32s, graph: CompiledGraph, message: Publish, source: int) -> Shares:
    """Shares with no heirs yet; the publisher's broker is in charge of all models."""
    neighbours, models = graph.neighbours, len(graph.beliefs.plan.costs)
    starts = np.searchsorted(pairs, graph.routes.target_starts[: neighbours + 1]).astype(np.int32)
    charge = np.zeros(models, bool)
    charge[list(message.charge) if source != NOBODY else slice(None)] = True
    return Shares(
        pairs[: starts[-1]].copy(),
        starts,
        np.diff(starts),
        np.zeros(neighbours, bool),
        np.zeros((neighbours, models), np.int32),
        np.zeros((neighbours, models), bool),
        charge,
    )
