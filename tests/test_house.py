"""The architecture, held by reading the sources: rooms with doors.

A folder has at most 13 entries. A package's `__init__` is its surface: from outside nobody imports
a module below it. The product never imports the lab, and rooms that only compute open no files.
Docstrings are sentences.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import caddis

SOURCES = Path(caddis.__file__).parent
BENCH = SOURCES.parents[1] / "bench"
MOST_ENTRIES = 13
MOST_MODULES_AT_THE_ROOT = 5

MODULES = {
    ".".join(path.relative_to(SOURCES.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCES.rglob("*.py")
}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}
LEAVES = set(MODULES) - PACKAGES

PURE = ("language", "matching", "ordering", "overlay", "topics")
"""Rooms that open no files, but for where saved indexes are mapped."""
MAY_OPEN_FILES = {"caddis.matching.index.storage"}
OPENING = {
    "open",
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "mkdir",
    "unlink",
    "rename",
    "replace_file",
    "iterdir",
    "glob",
    "memmap",
    "load",
    "save",
}


def imports(path: Path) -> Iterator[str]:
    """Every module of Caddis that a file imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            module = node.module or ""
            for name in node.names:
                inner = f"{module}.{name.name}"
                yield inner if inner in MODULES else module


def home(module: str) -> str:
    return module if module in PACKAGES else module.rpartition(".")[0]


def is_inside(module: str, package: str) -> bool:
    return f"{home(module)}.".startswith(f"{package}.")


def test_no_folder_has_more_entries_than_one_can_take_in():
    crowded = {}
    for folder in (path.parent for name, path in MODULES.items() if name in PACKAGES):
        entries = [entry for entry in folder.iterdir() if entry.name != "__pycache__"]
        if folder == SOURCES:
            assert len([entry for entry in entries if entry.suffix == ".py"]) <= (
                MOST_MODULES_AT_THE_ROOT
            )
        elif len(entries) > MOST_ENTRIES:
            crowded[str(folder.relative_to(SOURCES))] = len(entries)
    assert crowded == {}


def test_rooms_are_entered_by_their_doors():
    windows = [
        f"{module} imports {imported}"
        for module, path in MODULES.items()
        for imported in imports(path)
        if imported in LEAVES
        and home(imported) != "caddis"
        and not is_inside(module, home(imported))
    ]
    assert windows == []


def test_a_name_is_imported_from_where_it_is_defined_or_from_a_door():
    """Type checkers let any module pass on what it imports, since that is how a door is made."""
    passed_on = [
        f"{module} takes {name.name} from {node.module}"
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module in LEAVES
        for name in node.names
        if name.name not in defined_names(MODULES[node.module])
    ]
    assert passed_on == []


def defined_names(path: Path) -> set[str]:
    names = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.If):
            names |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names


def test_the_benchmarks_enter_rooms_by_their_doors():
    windows = [
        f"{path.name} imports {imported}"
        for path in BENCH.glob("*.py")
        for imported in imports(path)
        if imported in LEAVES and home(imported) != "caddis"
    ]
    assert windows == []


def test_the_product_never_imports_the_lab():
    reaching = [
        f"{module} imports {imported}"
        for module, path in MODULES.items()
        if not may_import_the_lab(module)
        for imported in imports(path)
        if imported.startswith("caddis.lab")
    ]
    assert reaching == []


def may_import_the_lab(module: str) -> bool:
    """Whether a module is of the lab, of its commands, or of a demo, which needs workloads."""
    _, *rooms = module.split(".")
    return rooms[:1] == ["lab"] or (rooms[:1] == ["cli"] and bool({"lab", "demo"} & set(rooms)))


@pytest.mark.parametrize("room", PURE)
def test_a_room_that_only_computes_opens_no_files(room):
    opening = [
        f"{module}:{node.lineno}"
        for module, path in MODULES.items()
        if module.startswith(f"caddis.{room}") and module not in MAY_OPEN_FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and called(node) in OPENING
    ]
    assert opening == []


def called(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def test_only_its_own_room_imports_pyspark():
    reaching = [
        module
        for module, path in MODULES.items()
        if not module.startswith("caddis.spark")
        and any(imported.split(".")[0] in ("pyspark", "py4j") for imported in imports(path))
    ]
    assert reaching == []


DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Every docstring of a file, with its line; those of fields, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        for statement in getattr(node, "body", []) if isinstance(node, DOCUMENTED) else []:
            value = getattr(statement, "value", None)
            if isinstance(statement, ast.Expr) and isinstance(value, ast.Constant):
                yield statement.lineno, str(value.value)


def test_docstrings_begin_like_sentences():
    riddles = [
        f"{module}:{line}: {text.splitlines()[0]}"
        for module, path in MODULES.items()
        for line, text in docstrings(path)
        if text.startswith(("Of ", "By ", "TODO"))
    ]
    assert riddles == []
