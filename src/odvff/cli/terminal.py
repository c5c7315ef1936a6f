"""How commands speak: results on standard output, everything else on standard error, JSON for machines.

When a command cannot go on, it says one message, and has an exit code that means something.
"""

import json
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from typer import Exit, Option

from odvff.cli.options import ARGUMENTS
from odvff.support import progress
from odvff.support.progress import Lines, Pace, Progress, Step, in_words, silent

if TYPE_CHECKING:  # help comes at once
    from odvff.errors import Argument

BUG, DATA, FILE, NUMERICAL, INTERRUPTED, PIPE, TERMINATED = 1, 3, 4, 5, 130, 141, 143
CONTROLS = {code: repr(chr(code))[1:-1] for code in [*range(9), *range(11, 32), 127]}  # but tabs and ends of lines
CODES = """
Exit codes: 0 done; 1 a bug; 2 wrong usage; 3 the data cannot be used so; 4 a file cannot be read or written;
5 the numbers made no model; 130 interrupted; 141 nobody reads the output; 143 terminated.
"""


@dataclass
class Terminal:
    """Where a command writes to, and what is warned of on the way."""

    as_json: Annotated[bool, Option("--json", help="The result as one JSON object on standard output.")] = False
    quiet: Annotated[bool, Option("--quiet", "-q", help="Say nothing but the result.")] = False
    warnings: list[str] = field(default_factory=list, init=False)

    def say(self, text: str) -> None:
        """Something on the way."""
        if not self.quiet:
            _say(text)

    def warn(self, text: str) -> None:
        """Something a person should know; machines find it in the result."""
        text = _shown(text)
        if text not in self.warnings:
            self.warnings.append(text)
            self.say(f"warning: {text}")

    def show(self, result: dict[str, Any], *parts: str) -> None:
        """The result: as text for people, or as JSON."""
        if self.as_json:
            print(json.dumps({**result, "warnings": self.warnings}, ensure_ascii=False, default=_plain), flush=True)
        else:
            print(_shown("\n\n".join(parts)), flush=True)

    @contextmanager
    def reporting(self) -> Iterator[None]:
        """Turns errors into a message and an exit code; `ODVFF_DEBUG=1` shows where they came from.

        Machines find the message on standard output too. SIGTERM ends a command as Ctrl-C does: temporary files are
        taken away.
        """
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))
        try:
            yield
        except Exit:
            raise
        except KeyboardInterrupt as error:
            _say(str(error) or "interrupted")
            raise Exit(INTERRUPTED) from error
        except BrokenPipeError as error:  # nobody reads on: there is nowhere to say so
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise Exit(PIPE) from error
        except Exception as error:
            if os.environ.get("ODVFF_DEBUG"):
                traceback.print_exc()
            code, message = _explained(error)
            _say(f"error: {message}")
            if self.as_json:
                print(json.dumps({"error": _shown(message), "code": code}, ensure_ascii=False), flush=True)
            raise Exit(code) from error

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Tells how work goes on: a bar, or lines where there is no terminal. Python's warnings are ours meanwhile."""
        from odvff.errors import Message  # NumPy comes with it

        with warnings.catch_warnings():
            warnings.simplefilter("default")
            warnings.showwarning = lambda message, *_: (
                self.warn(message.spelled(as_option)) if isinstance(message, Message) else None
            )
            if self.quiet:
                yield silent
            elif sys.stderr.isatty():
                with _bar() as told:
                    yield told
            else:
                yield Lines()


def _say(text: str) -> None:
    print(_shown(text), file=sys.stderr, flush=True)


def _shown(text: str) -> str:
    """A text that does nothing to a terminal but to be there."""
    return text.translate(CONTROLS)


def _plain(value: Any) -> Any:
    """NumPy's numbers for JSON."""
    return value.item() if hasattr(value, "item") else str(value)


def as_option(argument: "Argument") -> str:
    """An argument of Python as someone in a shell knows it, if there is an option for it."""
    if argument.name not in ARGUMENTS:
        return str(argument)
    values = argument.value if isinstance(argument.value, list) else [argument.value]
    listed = ",".join(":".join(map(str, v)) if isinstance(v, tuple) else str(v) for v in values)
    return ARGUMENTS[argument.name] + ("" if argument.value is None else f" {listed}")


def _explained(error: Exception) -> tuple[int, str]:
    from odvff.errors import FileError, InputError, KernelError, OdvffError

    if isinstance(error, OdvffError):
        kinds = ((FileError, FILE), (InputError, DATA), (KernelError, DATA), (OdvffError, NUMERICAL))
        return next(code for kind, code in kinds if isinstance(error, kind)), error.spelled(as_option)
    if isinstance(error, MemoryError):
        return NUMERICAL, "the memory is not enough; try fewer harmonics (--harmonics 8) or columns (--exclude)."
    if isinstance(error, OSError):
        return FILE, f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror or error}."
    kind = type(error).__name__
    return BUG, f"this is a bug in odvff, {kind}: {error}\nODVFF_DEBUG=1 shows where; please report it."


@contextmanager
def _bar() -> Iterator[Progress]:
    """A bar that appears once the work has taken a while, and vanishes with it."""
    from rich.console import Console
    from rich.progress import BarColumn, SpinnerColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
    bar, pace, began = Bar(*columns, console=Console(stderr=True), transient=True), Pace(), time.monotonic()

    def told(step: Step) -> None:
        new, rate, left = pace.of(step)
        if not bar.tasks and time.monotonic() - began < progress.PATIENCE:
            return
        line = in_words(step, rate, left)
        if new or not bar.tasks:
            bar.start()
            for task in bar.task_ids:
                bar.remove_task(task)
            bar.add_task(line, total=step.total)
        bar.update(bar.task_ids[-1], description=line, completed=step.done)

    try:
        yield told
    finally:
        if bar.tasks:
            bar.stop()


def table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """A table for people: aligned, with numbers to the right, and as wide as the terminal allows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        numeric = all(not row[i] or row[i][0] in "0123456789-−–<" for row in rows)
        made.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    console = Console(color_system=None, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(made)
    return "\n".join(filter(None, [title, *map(str.rstrip, captured.get().splitlines())]))
