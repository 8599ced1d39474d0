"""The clairvoyant's certificate of real events: what one who knows all answers has to pay.

Every model that a candidate clause of an event names is asked, so that all answers are known; the
event is then an instance of its own, with what models were seen to cost. If a model could not
answer about an event, the truth is not known: the event is left out, and counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from caddis.arrays import Floats, Int32s
from caddis.models import UNKNOWN, YES, Asker, Marks
from caddis.ordering.certificate.proofs import Instance, certificate
from caddis.ordering.deciding import BatchRun
from caddis.ordering.executor import Executor
from caddis.ordering.explaining import CandidateClause, candidate_clauses
from caddis.ordering.policies import RUN_EVERYTHING


@dataclass(frozen=True, slots=True)
class EventCertificates:
    """The least that deciding events costs."""

    rows: Int32s
    """The rows of the batch that models have to decide, and could."""
    milliseconds: Floats
    """The certificate of each of these rows."""
    left_out: int
    """How many rows have an answer that is unknown."""


def event_certificates(
    executor: Executor, batch: pa.RecordBatch, asker: Asker, costs: Floats
) -> EventCertificates:
    """The certificates of a batch's rows.

    asker: with a cache it asks only about what the executor has not asked already.
    costs: the milliseconds of each reading of the executor.
    """
    known = _all_answers(executor, batch, asker)
    rows, least, left_out = [], [], 0
    for row, clauses in candidate_clauses(executor, batch).items():
        asked = sorted({literal >> 1 for clause in clauses for literal in clause.literals})
        if not asked:
            continue
        if np.any(known[row, asked] == UNKNOWN):
            left_out += 1
            continue
        rows.append(row)
        least.append(certificate(_instance(executor, clauses, costs), known[row] == YES))
    return EventCertificates(np.array(rows, np.int32), np.array(least, np.float64), left_out)


def _all_answers(executor: Executor, batch: pa.RecordBatch, asker: Asker) -> Marks:
    """The answers of all rows and concepts, as far as candidate clauses ask for them."""
    run = BatchRun(batch, executor.demand, executor.assignment, asker)
    rows, clauses = executor.candidates(batch)
    asking = executor.demand.of_clause[clauses] >= 0
    if asking.any():
        run.decide(rows[asking], clauses[asking], RUN_EVERYTHING, executor.planner.plan)
    return run.known


def _instance(executor: Executor, clauses: list[CandidateClause], costs: Floats) -> Instance:
    links = sorted({link for clause in clauses for link in clause.links})
    number = {link: at for at, link in enumerate(links)}
    return Instance(
        costs=costs,
        answered_by=executor.assignment.answered_by,
        selectivity=np.full(len(executor.concepts), 0.5),
        clauses=tuple(
            (number[link], tuple(sorted(clause.literals)))
            for clause in clauses
            for link in clause.links
        ),
        links=len(links),
    )
