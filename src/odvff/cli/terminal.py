"""How commands speak: results on standard output, everything else on standard error, JSON for machines."""

import json
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from odvff.cli.failures import as_option, shown
from odvff.support import progress
from odvff.support.progress import Lines, Pace, Progress, Step, in_words, silent


@dataclass
class Terminal:
    """Where a command writes to, and what is warned of on the way."""

    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object on standard output.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing but the result.")] = False
    warnings: list[str] = field(default_factory=list, init=False)

    def say(self, text: str) -> None:
        """Something on the way."""
        if not self.quiet:
            print(shown(text), file=sys.stderr, flush=True)

    def warn(self, text: str) -> None:
        """Something a person should know; machines find it in the result."""
        text = shown(text)
        if text not in self.warnings:
            self.warnings.append(text)
            self.say(f"warning: {text}")

    def show(self, result: dict[str, Any], text: str) -> None:
        """The result: as text for people, or as JSON."""
        if self.as_json:
            print(json.dumps({**result, "warnings": self.warnings}, ensure_ascii=False, default=_plain), flush=True)
        else:
            print(shown(text), flush=True)

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
                with closing(_Bars()) as bars:
                    yield bars
            else:
                yield Lines()


class _Bars:
    """A bar that appears once the work has taken a while, and vanishes with it."""

    def __init__(self) -> None:
        self._pace, self._began = Pace(), time.monotonic()
        self._bar: Any = None

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, step: Step) -> None:
        new, rate, left = self._pace.of(step)
        if self._bar is None:
            if time.monotonic() - self._began < progress.PATIENCE:
                return
            self._bar, new = _started_bar(), True
        line = in_words(step, rate, left)
        if new:
            for task in self._bar.task_ids:
                self._bar.remove_task(task)
            self._bar.add_task(line, total=step.total)
        self._bar.update(self._bar.task_ids[-1], description=line, completed=step.done)


def _started_bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

    columns = (SpinnerColumn(), BarColumn(bar_width=24), TextColumn("{task.description}", markup=False))
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar


def table(head: Sequence[str], rows: Sequence[Sequence[str]], title: str = "") -> str:
    """A table for people: aligned, with numbers to the right, and as wide as the terminal allows."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(head):
        numeric = all(_is_number(row[i]) for row in rows)
        made.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    console = Console(color_system=None, markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        console.print(made)
    lines = [line.rstrip() for line in captured.get().splitlines()]
    return "\n".join([*([title] if title else []), *filter(None, lines)])


def _is_number(text: str) -> bool:
    return not text or text[0] in "0123456789-−–<"


def _plain(value: Any) -> Any:
    """NumPy's numbers for JSON."""
    return value.item() if hasattr(value, "item") else str(value)
