"""Compiled kernels on disk: where they go, when they are used again, and when not."""

import os
import stat

import pytest

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
    assert "set CADDIS_CACHE_DIR to a folder that can be written" in asked.warnings[0]


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


def test_a_constant_in_another_file_is_noticed(package):
    package.ask()
    package.write("numbers", "FACTOR = 3\n")
    asked = package.ask()
    assert (asked.answer, asked.compiled) == (31, BOTH)


def test_a_callee_in_another_file_is_noticed(package):
    package.ask()
    package.write("lower_kernels", CALLEE.replace("FACTOR * number", "FACTOR * number * number"))
    asked = package.ask()
    assert (asked.answer, asked.compiled) == (201, BOTH)


def test_fields_of_a_named_tuple_in_another_file_that_change_places_are_noticed(package):
    package.ask()
    swapped = CALLEE.replace("first: int\n    second: int", "second: int\n    first: int")
    package.write("lower_kernels", swapped)
    asked = package.ask()
    assert (asked.answer, asked.compiled) == (12, ["higher_kernels.answer"])


def test_a_caller_that_changes_leaves_its_callee_compiled(package):
    package.ask()
    package.write("higher_kernels", CALLER.replace("+ row", "- row"))
    asked = package.ask()
    assert (asked.answer, asked.compiled) == (19, ["higher_kernels.answer"])


def test_a_comment_is_not_noticed(package):
    package.ask()
    package.write("higher_kernels", f"# A comment moves every line.\n{CALLER}")
    assert package.ask().compiled == []


def test_a_setting_of_numba_that_changes_the_code_is_noticed(package):
    package.ask()
    assert package.ask(NUMBA_BOUNDSCHECK="1").compiled == BOTH


def test_a_kernel_that_refers_to_what_cannot_be_compared_is_compiled_each_time(package):
    through_a_module = CALLEE.replace(
        "from caddis.numbers import FACTOR", "from caddis import numbers"
    )
    package.write("lower_kernels", through_a_module.replace("FACTOR *", "numbers.FACTOR *"))
    assert [package.ask().compiled for _ in range(2)] == [BOTH, BOTH]


def test_few_versions_of_a_kernel_are_kept(package):
    package.ask()
    for number in range(5):
        package.write("numbers", f"FACTOR = {number}\n")
        package.ask()
    assert len(package.kept()) == 2 * 4
    assert package.ask().compiled == []


def test_processes_that_start_on_an_empty_cache_do_not_disturb_each_other(package):
    for one in [said(process) for process in [package.start() for _ in range(4)]]:
        assert (one.answer, one.warnings) == (21, [])
    assert package.ask().compiled == []
    assert len(package.kept()) == 2
    assert list(package.package.rglob(".half-written-*")) == []
