"""Asks Spark, and Caddis, which events a list of clauses is true of.

Spark evaluates many clauses as the columns of one SELECT. Its optimiser computes them right there
for events that it holds in memory, without a job: some hundred clauses a second. What differs is
traced to the smallest part of the clause on which the two still differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

import caddis
from tests.oracle.clauses import Atom, Node, Not, subtrees
from tests.oracle.plain import truth

Answers = npt.NDArray[np.bool_]
"""Clause × event: is the clause true of the event?"""
Judge = Callable[[pa.RecordBatch, Sequence[Node]], Answers]
COLUMNS_PER_SELECT = 200
SHOWN = 10


def as_dataframe(spark: SparkSession, batch: pa.RecordBatch) -> DataFrame:
    schema = from_arrow_schema(batch.schema, prefer_timestamp_ntz=True)
    return spark.createDataFrame(pa.Table.from_batches([batch]), schema)


def ask_spark(
    spark: SparkSession, batch: pa.RecordBatch, nodes: Sequence[Node], *, compiled: bool = False
) -> Answers:
    """`compiled`: by the code that Spark generates for data that it has not at hand.

    AND TRUE changes no answer, but makes Spark refuse what is no condition.
    """
    events = as_dataframe(spark, batch)
    if compiled:
        events = events.coalesce(1)
    answers = np.zeros((len(nodes), batch.num_rows), np.bool_)
    for start in range(0, len(nodes), COLUMNS_PER_SELECT):
        some = nodes[start : start + COLUMNS_PER_SELECT]
        columns = [f"({node.text}\n) AND TRUE AS c{number}" for number, node in enumerate(some)]
        table = events.selectExpr(*columns).toArrow()
        for number, column in enumerate(table.columns):
            answers[start + number] = [value is True for value in column.to_pylist()]
    return answers


def ask_caddis(
    batch: pa.RecordBatch,
    nodes: Sequence[Node],
    *,
    zone: str = "UTC",
    schema: pa.Schema | None = None,
) -> Answers:
    """`schema`: what the clauses are compiled for, if the batch has not all of its columns."""
    matcher = caddis.Matcher.compile(_table(nodes), schema or batch.schema, timezone=zone)
    matches = matcher.match(batch)
    answers = np.zeros((len(nodes), batch.num_rows), np.bool_)
    answers[matches.links, matches.rows] = True
    assert len(matches.links) == answers.sum(), "a match came out twice"
    return answers


def _table(nodes: Sequence[Node]) -> pa.Table:
    texts = [node.text for node in nodes]
    return pa.table({"subscription_id": np.arange(len(texts)), "where": pa.array(texts, "string")})


def accepted_by_caddis(batch: pa.RecordBatch, nodes: Sequence[Node]) -> list[Node]:
    matcher = caddis.Matcher.compile(_table(nodes), batch.schema, on_invalid="skip")
    refused = {error.subscription_id for error in matcher.invalid}
    return [node for number, node in enumerate(nodes) if number not in refused]


def refused_by_spark(
    spark: SparkSession, batch: pa.RecordBatch, nodes: Sequence[Node]
) -> dict[str, str]:
    """The clauses that Spark cannot analyse or evaluate, with what it says."""
    try:
        ask_spark(spark, batch, nodes)
    except PySparkException as problem:
        if len(nodes) == 1:
            return {nodes[0].text: str(problem).split("\n", 1)[0]}
        half = len(nodes) // 2
        return refused_by_spark(spark, batch, nodes[:half]) | refused_by_spark(
            spark, batch, nodes[half:]
        )
    return {}


def ask_plainly(batch: pa.RecordBatch, nodes: Sequence[Node]) -> Answers:
    rows = batch.to_pylist()
    return np.array([[truth(node, row) is True for row in rows] for node in nodes], np.bool_)


def spark_and_caddis(
    spark: SparkSession, *, zone: str = "UTC", compiled: bool = False
) -> dict[str, Judge]:
    return {
        "Spark": partial(ask_spark, spark, compiled=compiled),
        "Caddis": partial(ask_caddis, zone=zone),
    }


@dataclass(frozen=True, slots=True)
class Case:
    """Clauses about a batch, and the two who are asked about it."""

    batch: pa.RecordBatch
    judges: Mapping[str, Judge]

    def disagreement(self, nodes: Sequence[Node]) -> str:
        """Empty if both answer alike; otherwise what they differ about, the smallest first."""
        first, second = self.answers(nodes)
        wrong = [nodes[number] for number in _differing(first, second)]
        if not wrong:
            return ""
        parts = self.parts(wrong)
        first, second = self.answers(parts)
        shown: dict[str, str] = {}
        for number in _differing(first, second):
            text = parts[number].text
            if len(shown) < SHOWN and not any(smaller in text for smaller in shown):
                event = int(np.flatnonzero(first[number] != second[number])[0])
                shown[text] = self.shown(parts[number], event)
        return "\n".join([f"{len(wrong)} of {len(nodes)} clauses differ, e.g.", *shown.values()])

    def answers(self, nodes: Sequence[Node]) -> list[Answers]:
        return [judge(self.batch, nodes) for judge in self.judges.values()]

    def parts(self, nodes: Sequence[Node]) -> list[Node]:
        """The clauses' parts and, as only truth is seen, their negations; short ones first."""
        parts = {part.text: part for node in nodes for part in subtrees(node)}
        negations = [Not(part, f"NOT ({part.text})") for part in parts.values()]
        return sorted([*parts.values(), *negations], key=lambda part: len(part.text))

    def shown(self, node: Node, event: int) -> str:
        row = self.batch.slice(event, 1).to_pylist()[0]
        leaves = {part.leaf for part in subtrees(node) if isinstance(part, Atom)}
        values = ", ".join(f"{leaf.path}: {leaf.type} = {leaf.value_in(row)!r}" for leaf in leaves)
        answers = {
            name: bool(judge(self.batch, [node])[0, event]) for name, judge in self.judges.items()
        }
        return f"  {node.text}\n    of {values}: {answers}"


def _differing(first: Answers, second: Answers) -> list[int]:
    """The numbers of the clauses on which the answers differ."""
    return [int(number) for number in np.flatnonzero((first != second).any(axis=1))]
