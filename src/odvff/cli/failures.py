"""What a command says when it cannot go on: one message on standard error, and an exit code that means something."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import typer

BUG, DATA, FILE, NUMERICAL, INTERRUPTED, PIPE = 1, 3, 4, 5, 130, 141
CODES = """
Exit codes: 0 done; 1 a bug; 2 wrong usage; 3 the data cannot be used so; 4 a file cannot be read or written;
5 the numbers made no model; 130 interrupted.
"""


@contextmanager
def reported() -> Iterator[None]:
    """Turns errors into a message and an exit code; `ODVFF_DEBUG=1` shows where they came from."""
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
        _say(f"error: {message}")
        raise typer.Exit(code) from error


def _explained(error: Exception) -> tuple[int, str]:
    from odvff.errors import FileError, InputError, KernelError, OdvffError

    if isinstance(error, FileError):
        return FILE, str(error)
    if isinstance(error, InputError | KernelError):
        return DATA, str(error)
    if isinstance(error, OdvffError):
        return NUMERICAL, str(error)
    if isinstance(error, MemoryError):
        return NUMERICAL, "the memory is not enough; try fewer harmonics (--harmonics 8) or columns (--exclude)."
    if isinstance(error, OSError):
        return FILE, f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror or error}."
    kind = type(error).__name__
    return BUG, f"this is a bug in odvff, {kind}: {error}\nODVFF_DEBUG=1 shows where; please report it."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
