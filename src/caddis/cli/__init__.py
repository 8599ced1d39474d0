"""The command line: one verb a file, and `main`, which starts them.

Nothing heavy is imported before a verb has said its first line. Results go to stdout, everything
else to stderr. Exit codes: 0 done; 1 the input or the machine is not as it must be; 2 wrong
usage; 130 stopped by Ctrl-C.
"""

__all__ = ["main"]


def main() -> None:
    """Run the command that the arguments ask for."""
    from caddis.cli.app import app

    app(prog_name="caddis")
