"""The command line: a room per verb or noun, `shell`, which they share, and `main`.

Nothing heavy is imported before a verb has printed its first line. Results go to stdout, and
everything else to stderr. Exit codes: 0 done; 1 something is wrong with the input or the machine;
2 wrong usage; 130 stopped by Ctrl-C; 143 stopped by SIGTERM.
"""


def main() -> None:
    """Run the command that the arguments ask for."""
    from caddis.cli.app import app

    app(prog_name="caddis")
