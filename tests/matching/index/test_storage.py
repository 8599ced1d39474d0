"""A saved matcher is loaded as it was, shared between processes, or refused with a reason."""

import json
import mmap
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import caddis
from caddis import Matcher
from caddis.errors import IndexFolderError

SCHEMA = pa.schema(
    [
        ("city", pa.string()),
        ("price", pa.int32()),
        ("fee", pa.decimal128(38, 2)),
        ("tags", pa.list_(pa.string())),
        ("at", pa.timestamp("us", "UTC")),
        ("seller", pa.struct([("first.name", pa.string()), ("age", pa.int8())])),
        ("photo", pa.binary()),
    ]
)
WHERES = [
    "city = 'Galway' AND price < 200",
    "price BETWEEN 100 AND 200 OR city LIKE 'Co%'",
    "city RLIKE 'way$' AND price > 0",
    "city ILIKE '%ORK'",
    "NOT city LIKE '%a%'",
    "array_contains(tags, 'a') AND NOT array_contains(tags, 'b')",
    "fee >= 12345678901234567890.12 OR fee IS NULL",
    "at >= '2024-01-01'",
    "seller.`first.name` = 'Ann' OR seller.age IN (1, 2, 3)",
    "photo IS NOT NULL",
    "TRUE",
    "FALSE",
]
EVENTS = pa.RecordBatch.from_pylist(
    [
        {"city": "Galway", "price": 150, "tags": ["a"], "seller": {"first.name": "Ann", "age": 9}},
        {"city": "Cork", "price": 90, "fee": 20_000_000_000_000_000_000, "tags": ["a", "b"]},
        {"city": None, "price": 150, "tags": [None, "a"], "photo": b"x", "seller": {"age": 2}},
        {"city": "Tuam", "price": None, "tags": None},
    ],
    SCHEMA,
)


def compiled(wheres: list[str] = WHERES) -> Matcher:
    ids = [f"s{number}" for number in range(len(wheres))]
    return Matcher.compile(pa.table({"subscription_id": ids, "where": wheres}), SCHEMA)


def pairs(matcher: Matcher, batch: pa.RecordBatch = EVENTS) -> list[tuple[int, int]]:
    matches = matcher.match(batch)
    return list(zip(matches.rows.tolist(), matches.links.tolist(), strict=True))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    compiled().save(tmp_path / "index")
    return tmp_path / "index"


def test_a_loaded_matcher_gives_the_same_matches(folder):
    expected = pairs(compiled())
    assert len(expected) > 10
    assert pairs(Matcher.load(folder)) == expected


def test_a_loaded_matcher_gives_the_same_report(folder):
    assert Matcher.load(folder).match(EVENTS).report == compiled().match(EVENTS).report


def test_a_loaded_matcher_knows_its_subscriptions_columns_and_size(folder):
    before, loaded = compiled(), Matcher.load(folder)
    assert loaded.subscription_ids.equals(before.subscription_ids)
    assert len(loaded) == len(before)
    assert loaded.columns == before.columns
    assert loaded.nbytes == before.nbytes


def test_a_loaded_matcher_can_be_saved_and_loaded_again(folder, tmp_path):
    Matcher.load(folder).save(tmp_path / "again")
    assert pairs(Matcher.load(tmp_path / "again")) == pairs(compiled())


@pytest.mark.parametrize("wheres", [[], ["TRUE"], ["FALSE"], ["city RLIKE 'a'"]], ids=str)
def test_small_matchers_are_saved_too(wheres, tmp_path):
    compiled(wheres).save(tmp_path)
    assert pairs(Matcher.load(tmp_path)) == pairs(compiled(wheres))


def test_numbers_as_ids_stay_numbers(tmp_path):
    table = pa.table({"subscription_id": pa.array([7, 5], pa.int64()), "where": ["TRUE", "FALSE"]})
    Matcher.compile(table, SCHEMA).save(tmp_path)
    assert Matcher.load(tmp_path).subscription_ids.to_pylist() == [7, 5]


def test_a_folder_is_given_as_a_text_or_as_a_path(folder):
    assert len(Matcher.load(str(folder))) == len(WHERES)


def is_mapped(array: object) -> bool:
    while array is not None and not isinstance(array, mmap.mmap):
        array = getattr(array, "base", None)
    return array is not None


def test_the_arrays_of_a_loaded_matcher_are_mapped_and_read_only(folder):
    compiled([f"city = 'c{i}' AND price < {i}" for i in range(500)]).save(folder)
    arrays = Matcher.load(folder)._index.arrays
    assert not any(array.flags.writeable for array in arrays)
    assert is_mapped(arrays.entries)
    assert is_mapped(arrays.predicates)
    assert not is_mapped(compiled()._index.arrays.entries)


TOUCH_AND_COUNT_COPIES = """
import sys
from caddis import Matcher

entries = Matcher.load(sys.argv[1])._index.arrays.entries
assert entries.sum() != 0
for part in open("/proc/self/smaps").read().split("VmFlags"):
    if "/entries.npy" in part:
        sizes = dict(line.split(":", 1) for line in part.splitlines() if line.endswith("kB"))
        print("copied", sizes["Anonymous"].split()[0], "kB")
"""


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs Linux's /proc")
def test_another_process_maps_the_file_and_copies_none_of_it(folder):
    compiled([f"city = 'c{i}' AND price < {i}" for i in range(2_000)]).save(folder)
    command = [sys.executable, "-W", "ignore", "-c", TOUCH_AND_COUNT_COPIES, str(folder)]
    sources = Path(caddis.__file__).parent.parent
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=sources)
    assert done.stdout.strip() == "copied 0 kB"


# -- what is refused


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(IndexFolderError, match="nowhere holds no matcher"):
        Matcher.load(tmp_path / "nowhere")


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(IndexFolderError, match="holds no matcher"):
        Matcher.load(tmp_path)


def test_a_folder_of_another_format_is_refused_and_says_what_to_do(folder):
    numbers = json.loads((folder / "format.json").read_text())
    (folder / "format.json").write_text(json.dumps(numbers | {"format": 99}))
    with pytest.raises(
        IndexFolderError, match=r"has format 99, this version reads \d+: compile it again"
    ):
        Matcher.load(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", "3", '{"format": 1}'])
def test_a_damaged_list_of_numbers_is_refused(folder, content):
    (folder / "format.json").write_text(content)
    with pytest.raises(IndexFolderError):
        Matcher.load(folder)


def files() -> list[str]:
    names = ["columns.arrow", "ids.arrow", "texts.json", "several.npy", "patterns.npy"]
    names += [f"{name}.npy" for name in ("node_base", "node_runs", "runs", "groups", "entries")]
    names += [f"{name}.npy" for name in ("rest", "predicates", "intervals", "coder_keys")]
    return [*names, "coder_data.npy", "coder_slots.npy", "coder_keys_start.npy"]


@pytest.mark.parametrize("name", files())
def test_a_folder_that_lacks_a_file_is_refused(folder, name):
    (folder / name).unlink()
    with pytest.raises(IndexFolderError, match=f"is damaged.*{name}"):
        Matcher.load(folder)


@pytest.mark.parametrize("name", files())
@pytest.mark.parametrize("kept", [0.0, 0.5])
def test_a_file_that_was_cut_off_is_refused(folder, name, kept):
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: int(len(content) * kept)])
    with pytest.raises(IndexFolderError, match="is damaged"):
        Matcher.load(folder)


@pytest.mark.parametrize("name", files())
def test_a_file_of_something_else_is_refused(folder, name):
    (folder / name).write_bytes(b"not what it should be, and longer than a small file is " * 20)
    with pytest.raises(IndexFolderError, match="is damaged"):
        Matcher.load(folder)
