"""What stands where in the tables of the access index: the numbers of kinds and of columns.

Kernels and the modules that fill the tables share these; `kernels.layout` draws the arrays.
"""

NO_FILTER, OWN_FILTER, POINT_FILTER, RANGE_FILTER = range(4)
"""Kinds of runs: nothing more to test; the access interval itself; equality; another interval."""

INTERVAL, INTERVALS, TEXT, CONTAINS, LACKS = range(5)
"""Kinds of predicates; LACKS is a negated CONTAINS."""

RUN_KIND, RUN_COLUMN, RUN_GROUPS = range(3)
GROUP_LOW, GROUP_SPAN, GROUP_ENTRIES = range(3)
FIRST_TEST, SECOND_TEST, ENTRY_LINK, ENTRY_REST, ENTRY_WIDTH = 0, 3, 6, 7, 8
KIND, COLUMN, LOW, HIGH, FIRST, COUNT = range(6)
"""The columns of the tables of runs, groups, entries and predicates."""
