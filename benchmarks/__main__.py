"""`python -m benchmarks list`, `python -m benchmarks run NAME`."""

import sys

from benchmarks.core import CORE
from benchmarks.peers import PEERS
from benchmarks.quality import QUALITY
from benchmarks.tables import TABLES

BENCHMARKS = {**CORE, **QUALITY, **PEERS, **TABLES}


def main(arguments: list[str]) -> int:
    if arguments == ["list"]:
        for name, function in BENCHMARKS.items():
            print(f"{name:12s} {function.__doc__}")
        return 0
    if len(arguments) == 2 and arguments[0] == "run" and arguments[1] in BENCHMARKS:
        BENCHMARKS[arguments[1]]()
        return 0
    print(f"usage: python -m benchmarks list | run {{{', '.join(BENCHMARKS)}}}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
