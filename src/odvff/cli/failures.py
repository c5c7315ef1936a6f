"""What a command says when it cannot go on: one message on standard error, and an exit code that means something."""

import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import typer

from odvff.cli.options import ARGUMENTS

if TYPE_CHECKING:  # help comes at once
    from odvff.errors import Argument

BUG, DATA, FILE, NUMERICAL, INTERRUPTED, PIPE, TERMINATED = 1, 3, 4, 5, 130, 141, 143
CONTROLS = {code: repr(chr(code))[1:-1] for code in [*range(9), *range(11, 32), 127]}  # but tabs and ends of lines
CODES = """
Exit codes: 0 done; 1 a bug; 2 wrong usage; 3 the data cannot be used so; 4 a file cannot be read or written;
5 the numbers made no model; 130 interrupted; 143 terminated.
"""


@contextmanager
def reported(as_json: bool = False) -> Iterator[None]:
    """Turns errors into a message and an exit code; `ODVFF_DEBUG=1` shows where they came from.

    With `as_json` machines find the message on standard output too. SIGTERM ends a command as Ctrl-C does: temporary
    files are taken away.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
    try:
        yield
    except typer.Exit:
        raise
    except KeyboardInterrupt as error:
        _say(str(error) or "interrupted")
        raise typer.Exit(INTERRUPTED) from error
    except BrokenPipeError as error:  # nobody reads on: there is nowhere to say so
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(PIPE) from error
    except Exception as error:
        if os.environ.get("ODVFF_DEBUG"):
            traceback.print_exc()
        code, message = _explained(error)
        message = shown(message)
        _say(f"error: {message}")
        if as_json:
            print(json.dumps({"error": message, "code": code}, ensure_ascii=False), flush=True)
        raise typer.Exit(code) from error


def as_option(argument: "Argument") -> str:
    """An argument of Python as someone in a shell knows it, if there is an option for it."""
    if argument.name not in ARGUMENTS:
        return str(argument)
    values = argument.value if isinstance(argument.value, list) else [argument.value]
    listed = ",".join(":".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in values)
    return ARGUMENTS[argument.name] + ("" if argument.value is None else f" {listed}")


def shown(text: str) -> str:
    """A text that does nothing to a terminal but to be there."""
    return text.translate(CONTROLS)


def _explained(error: Exception) -> tuple[int, str]:
    from odvff.errors import FileError, InputError, KernelError, OdvffError

    if isinstance(error, FileError):
        return FILE, error.spelled(as_option)
    if isinstance(error, InputError | KernelError):
        return DATA, error.spelled(as_option)
    if isinstance(error, OdvffError):
        return NUMERICAL, error.spelled(as_option)
    if isinstance(error, MemoryError):
        return NUMERICAL, "the memory is not enough; try fewer harmonics (--harmonics 8) or columns (--exclude)."
    if isinstance(error, OSError):
        return FILE, f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror or error}."
    kind = type(error).__name__
    return BUG, f"this is a bug in odvff, {kind}: {error}\nODVFF_DEBUG=1 shows where; please report it."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
