"""Compiled kernels on disk: where they go, when they are used again, and when not."""

import os
import stat

import pytest

from caddis.compiling.cache import _write
from tests.compiling.packages import CALLEE, CALLER, said

BOTH = ["higher_kernels.answer", "lower_kernels.double"]


def test_a_kernel_is_compiled_once_and_kept_in_the_package(package):
    first, second = package.ask(), package.ask()
    assert (first.answer, first.compiled) == (21, BOTH)
    assert (second.answer, second.compiled) == (21, [])
    assert first.folder == str(package.package / "__pycache__" / "kernels")


def test_a_named_folder_is_written_rather_than_the_package(package, tmp_path):
    asked = package.ask(CADDIS_CACHE_DIR=str(tmp_path / "named"))
    assert asked.folder == str(tmp_path / "named" / "kernels")
    assert not (package.package / "__pycache__").exists()
    assert package.ask(CADDIS_CACHE_DIR=str(tmp_path / "named")).compiled == []


def test_what_the_package_holds_is_read_even_if_another_folder_is_named(package, tmp_path):
    package.ask()
    assert package.ask(CADDIS_CACHE_DIR=str(tmp_path / "named")).compiled == []


def test_a_read_only_package_keeps_kernels_in_the_users_cache(package, tmp_path):
    package.make_read_only()
    assert package.ask().folder == str(package.home / ".cache" / "caddis" / "kernels")
    assert package.ask().compiled == []
    elsewhere = package.ask(XDG_CACHE_HOME=str(tmp_path / "xdg"))
    assert elsewhere.folder == str(tmp_path / "xdg" / "caddis" / "kernels")
    assert elsewhere.compiled == BOTH


def test_without_a_home_kernels_are_kept_in_a_temporary_folder_of_this_user_alone(package):
    package.make_read_only()
    asked = package.ask(HOME="/dev/null")
    folder = package.temporary / f"caddis-kernels-{os.geteuid()}"
    assert asked.folder == str(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert package.ask(HOME="/dev/null").compiled == []


def test_without_any_folder_kernels_are_compiled_with_one_warning(package):
    package.make_read_only()
    package.temporary.rmdir()
    package.temporary.write_text("")
    asked = package.ask(HOME="/dev/null")
    assert (asked.answer, asked.compiled, asked.folder) == (21, BOTH, None)
    assert len(asked.warnings) == 1
    assert "set CADDIS_CACHE_DIR to a folder that can be written to" in asked.warnings[0]


def test_a_temporary_folder_that_others_can_write_is_not_used(package):
    """Whoever can write there could have code of theirs run by us."""
    package.make_read_only()
    package.ask(HOME="/dev/null")
    folder = package.temporary / f"caddis-kernels-{os.geteuid()}"
    folder.chmod(0o777)
    asked = package.ask(HOME="/dev/null")
    assert (asked.compiled, asked.folder, len(asked.warnings)) == (BOTH, None, 1)


def test_a_link_in_place_of_the_temporary_folder_is_not_followed(package, tmp_path):
    package.make_read_only()
    (tmp_path / "anywhere").mkdir(mode=0o700)
    folder = package.temporary / f"caddis-kernels-{os.geteuid()}"
    folder.symlink_to(tmp_path / "anywhere")
    assert package.ask(HOME="/dev/null").folder is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")
def test_a_file_of_another_user_is_not_read(package):
    package.make_read_only()
    package.ask(HOME="/dev/null")
    for path in package.kept():
        os.chown(path, 65534, 65534)
    assert package.ask(HOME="/dev/null").compiled == BOTH


def test_damaged_files_are_compiled_again(package):
    package.ask()
    cut, changed = package.kept()
    cut.write_bytes(cut.read_bytes()[:-9])
    changed.write_bytes(changed.read_bytes()[:-1] + b"?")
    asked = package.ask()
    assert (asked.answer, asked.compiled) == (21, BOTH)
    assert package.ask().compiled == []


def test_a_change_in_any_file_that_a_kernel_depends_on_is_noticed(package):
    squared = CALLEE.replace("FACTOR * number", "FACTOR * number * number")
    swapped = squared.replace("first: int\n    second: int", "second: int\n    first: int")
    minus = CALLER.replace("+ row", "- row")
    package.ask()
    for module, text, answer, compiled in (
        ("numbers", "FACTOR = 3\n", 31, BOTH),
        ("lower_kernels", squared, 301, BOTH),
        ("lower_kernels", swapped, 13, ["higher_kernels.answer"]),
        ("higher_kernels", minus, -7, ["higher_kernels.answer"]),
        ("higher_kernels", f"# A comment moves every line.\n{minus}", -7, []),
    ):
        package.write(module, text)
        asked = package.ask()
        assert (asked.answer, asked.compiled) == (answer, compiled), text


def test_a_setting_of_numba_that_changes_the_code_is_noticed(package):
    package.ask()
    assert said(package.start(NUMBA_BOUNDSCHECK="1")).compiled == BOTH


def test_a_kernel_that_refers_to_what_cannot_be_compared_is_compiled_each_time(package):
    through_a_module = CALLEE.replace(
        "from caddis.numbers import FACTOR", "from caddis import numbers"
    )
    package.write("lower_kernels", through_a_module.replace("FACTOR *", "numbers.FACTOR *"))
    assert [package.ask().compiled for _ in range(2)] == [BOTH, BOTH]


def test_few_versions_of_a_kernel_are_kept_and_the_last_used_of_them(tmp_path):
    target = tmp_path / "target"
    for number in range(6):
        _write(target / f"room.kernel-types-{number}.kernel", b"")
        os.utime(target / f"room.kernel-types-{number}.kernel", (number, number))
    _write(target / "room.kernel-other-0.kernel", b"")
    kept = sorted(path.name.partition(".")[2] for path in target.iterdir())
    assert kept == ["kernel-other-0.kernel", *(f"kernel-types-{n}.kernel" for n in (2, 3, 4, 5))]


def test_processes_that_start_on_an_empty_cache_do_not_disturb_each_other(package):
    for one in [said(process) for process in [package.start() for _ in range(3)]]:
        assert (one.answer, one.warnings) == (21, [])
    assert package.ask().compiled == []
    assert len(package.kept()) == 2
    assert list(package.package.rglob(".half-written-*")) == []
