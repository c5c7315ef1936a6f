"""`odvff`: fit, predict, evaluate, report, inspect and demo from a shell."""

from typing import Any


def main() -> Any:
    """The command line; it imports what a command needs when that command runs."""
    from odvff.cli.app import app

    return app()
