"""The command of a folder of experiments: `list`, `run NAME` with its options, `show NAME`, `write`."""

import argparse
import os
import sys
from pathlib import Path

from benchmarks.cells import Experiment, Results, run
from benchmarks.showing import NOTHING


def main(here: Path, experiments: list[Experiment], description: str, arguments: list[str]) -> int:
    """Results are kept in `results`, and `README.md` is `intro.md` with all that they show."""
    by_name = {one.name: one for one in experiments}
    asked = _parser(here.name, description, list(by_name)).parse_args(arguments)

    def results(one: Experiment) -> Results:
        return Results(here / "results" / f"{one.name}.json")

    if asked.command == "list":
        for one in experiments:
            print(_done(one, results(one)))
        return 0
    if asked.command == "write":
        wanted = [one for one in experiments if not one.on_request or results(one).path.exists()]
        shown = [f"## {one.name}\n\n{_shown(one, results(one))}\n" for one in wanted]
        (here / "README.md").write_text("\n".join([(here / "intro.md").read_text(), *shown]))
        return 0
    everything = [one for one in experiments if not one.on_request]
    chosen = everything if asked.name == "all" else [by_name[asked.name]]
    if asked.command == "show":
        text = "\n".join(f"# {one.name}\n\n{_shown(one, results(one))}\n" for one in chosen)
        try:
            print(text, flush=True)
        except BrokenPipeError:  # nobody reads on, as with `show | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    try:
        failed = sum(run(one, results(one), asked.repeats, asked.only, _say, asked.calm) for one in chosen)
    except KeyboardInterrupt:
        _say("ended; every finished run is kept, and the same command goes on from here")
        return 130
    return 1 if failed else 0


def _shown(one: Experiment, results: Results) -> str:
    """Its tables and pictures, unless it has runs of its own and none has been made."""
    return one.show(results) if results or not one.cells() else NOTHING


def _say(line: str) -> None:
    print(line, flush=True)


def _parser(package: str, description: str, names: list[str]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"python -m {package}", description=description)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="what there is, how much of it is done, and how long the rest takes")
    commands.add_parser("write", help=f"write all that there is so far to {package}/README.md")
    for name, text in (("run", "run what is missing; it can be ended at any time"), ("show", "the table so far")):
        command = commands.add_parser(name, help=text)
        chosen = {"nargs": "?", "default": "all"} if name == "show" else {}
        command.add_argument("name", choices=["all", *names], **chosen)
        if name == "run":
            command.add_argument("--repeats", type=int, help="so many runs of every cell, instead of what is planned")
            command.add_argument("--only", default="", help="cells whose name holds this")
            calm = "also runs of which others took more than this part of the processors' time; the calmer one is kept"
            command.add_argument("--calm", type=float, default=1.0, metavar="SHARE", help=calm)
    return parser


def _done(one: Experiment, results: Results) -> str:
    cells = one.cells()
    runs = {cell.name: sum(results.has(cell.name, seed) for seed in range(cell.repeats)) for cell in cells}
    here = [cell for cell in cells if not cell.absent or runs[cell.name]]
    minutes = sum(cell.minutes * (cell.repeats - runs[cell.name]) for cell in here)
    total = sum(cell.repeats for cell in here)
    absent = sum(cell.repeats for cell in cells) - total
    left = f"about {minutes / 60:.1f} hours left{', just on request' if one.on_request else ''}"
    missing = f", {absent} of data that are not here" if absent else ""
    return f"{one.name:20s} {one.what}: {sum(runs.values())} of {total} runs{missing}, {left}"
