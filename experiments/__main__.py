"""`python -m experiments list`, `run NAME [--repeats R] [--only PART]`, `show NAME`, `write`."""

import argparse
import sys
from pathlib import Path

from experiments.cells import Results, run
from experiments.figures import FIGURES
from experiments.tables import TABLES

HERE = Path(__file__).parent
EXPERIMENTS = {one.name: one for one in [*FIGURES, *TABLES]}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description="The tables and figures of the paper.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="what there is, how much of it is done, and how long the rest takes")
    commands.add_parser("write", help="write all that there is so far to experiments/README.md")
    for name, text in (("run", "run what is missing; it can be ended at any time"), ("show", "the table so far")):
        command = commands.add_parser(name, help=text)
        command.add_argument("name", choices=["all", *EXPERIMENTS])
        if name == "run":
            command.add_argument("--repeats", type=int, help="at most so many runs of every cell")
            command.add_argument("--only", default="", help="cells whose name holds this, for example 'collapsed'")
    asked = parser.parse_args(arguments)
    if asked.command == "list":
        for one in EXPERIMENTS.values():
            results, cells = Results(one.name), one.cells()
            done = sum(min(len(results.of(cell.name)), cell.repeats) for cell in cells)
            minutes = sum(
                cell.minutes * (cell.repeats - min(len(results.of(cell.name)), cell.repeats)) for cell in cells
            )
            total = sum(cell.repeats for cell in cells)
            print(f"{one.name:18s} {one.what}: {done} of {total} runs, about {minutes / 60:.1f} hours left")
        return 0
    if asked.command == "write":
        shown = [f"## {one.name}\n\n{one.show(Results(one.name))}\n" for one in EXPERIMENTS.values()]
        (HERE / "README.md").write_text((HERE / "intro.md").read_text() + "\n".join(shown))
        return 0
    for one in EXPERIMENTS.values() if asked.name == "all" else [EXPERIMENTS[asked.name]]:
        if asked.command == "show":
            print(f"# {one.name}\n\n{one.show(Results(one.name))}\n")
        else:
            run(one, asked.repeats, asked.only, lambda line: print(line, flush=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
