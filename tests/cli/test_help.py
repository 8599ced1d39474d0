"""Every verb explains itself, and says so before anything heavy is loaded."""

import subprocess
import sys

import pytest

import caddis as package

VERBS = ["match", "explain", "demo", "doctor", "warm"]


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_has_examples_and_knows_json(caddis, verb):
    result = caddis(verb, "--help")
    assert result.exit_code == 0
    assert f"caddis {verb}" in result.stdout.split("Examples")[1]
    assert "--json" in result.stdout


@pytest.mark.parametrize("verb", VERBS)
def test_the_examples_fit_into_80_columns(caddis, verb):
    examples = caddis(verb, "--help").stdout.split("Examples")[1].split("\n")
    assert all(line.strip().startswith("caddis ") for line in examples if line.strip())


def test_the_help_names_every_verb(caddis):
    result = caddis("--help").stdout
    assert all(f" {verb} " in result for verb in VERBS)


def test_defaults_in_brackets_are_shown(caddis):
    result = caddis("demo", "--help").stdout
    assert "100,000; photos: 300]" in " ".join(result.replace("│", " ").split())


def test_without_arguments_there_is_help(caddis):
    assert "Usage" in caddis().output


def test_the_version_is_the_package_s(caddis):
    assert caddis("--version").stdout == f"caddis {package.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["frobnicate"], "No such command 'frobnicate'"),
        (["match", "--events", "x"], "Missing option '--subscriptions'"),
        (["match", "--events", "x", "--subscriptions", "y", "--out", "z", "--once"], "it needs"),
        (["explain", "x", "--limit", "-1"], "--limit"),
        (["demo", "--events", "0"], "--events"),
        (["demo", "photos", "--events", "5"], "not an option of photos"),
        (["demo", "--photos", "x"], "not an option of marketplace"),
        (["demo", "music"], "'music' is not"),
    ],
)
def test_wrong_usage_is_exit_code_2(caddis, arguments, complaint):
    result = caddis(*arguments)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert result.stdout == ""


def test_help_loads_nothing_heavy():
    script = (
        "import sys; sys.argv = ['caddis', '--help']\n"
        "from caddis.cli import main\n"
        "try: main()\n"
        "except SystemExit: sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    heavy = {"pyspark", "py4j", "numba", "cryptography", "pyarrow", "numpy", "sqlglot"}
    assert not (heavy | {"caddis.spark.match", "caddis.lab.workloads"}) & set(done.stderr.split())


def test_a_verb_of_the_lab_explains_itself(caddis):
    result = caddis("lab", "adaptive-filtering", "--help").stdout
    options, examples = result.split("Examples")
    assert "What the paper leaves open" in options
    assert "--json" in options
    assert all(line.strip().startswith("caddis ") for line in examples.split("\n") if line.strip())
