"""The `caddis` command: its verbs, and the options before them."""

from __future__ import annotations

from typing import Annotated

import typer

from caddis import __version__
from caddis.cli.demo import app as demo
from caddis.cli.doctor import app as doctor
from caddis.cli.explain import app as explain
from caddis.cli.keys import app as keys
from caddis.cli.lab import app as lab
from caddis.cli.match import app as match
from caddis.cli.overlay import app as overlay
from caddis.cli.sealed import app as sealed
from caddis.cli.shell import LogFormat, LogLevel, log_to_stderr
from caddis.cli.topics import app as topics
from caddis.cli.warm import app as warm

app = typer.Typer(
    name="caddis",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done; 1 something is wrong with the input or the machine; 2 wrong usage; "
    "130 stopped by Ctrl-C; 143 stopped by SIGTERM. CADDIS_DEBUG=1 adds tracebacks to errors.",
)
for noun in (match, explain, demo, doctor, warm, overlay, topics, keys, sealed, lab):
    app.add_typer(noun)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"caddis {__version__}")
        raise typer.Exit


@app.callback()
def caddis(
    version: Annotated[  # noqa: ARG001, its callback does it all
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            metavar="",
            help="Show the version and exit.",
        ),
    ] = False,
    log_level: LogLevel = "off",
    log_format: LogFormat = "text",
) -> None:
    """Match events against very many standing subscriptions.

    A subscription is an SQL WHERE clause: city = 'Galway' AND price < 200.
    For every event Caddis finds all the subscriptions that it satisfies,
    exactly as Spark SQL would evaluate each of them.

    Start with [bold]caddis demo[/bold]. If something does not work, run
    [bold]caddis doctor[/bold].
    """
    log_to_stderr(log_level, log_format)
