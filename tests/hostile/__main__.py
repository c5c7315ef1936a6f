"""`python -m tests.hostile`: cases by the thousand, each under a limit, in processes that may be killed."""

import argparse
import json
import resource
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

from tests.hostile.cases import KINDS, Case
from tests.hostile.workers import Worker


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="for how long")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of all cases; by default a fresh one")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which, with commas")
    parser.add_argument("--case", help="one case again, here and now")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--report", type=Path, help="a file of one JSON line for each case")
    given = parser.parse_args()
    if given.case:
        verdict = Case.of(given.case).run()
        print(verdict.ended, verdict.broken)
        raise SystemExit(bool(verdict.broken))
    end, numbers, kinds = time.monotonic() + 60 * given.minutes, count(), given.kinds.split(",")
    tally, broken = Counter(), []

    def work(_):
        worker = Worker()
        while time.monotonic() < end:
            number = next(numbers)
            case = Case(kinds[number % len(kinds)], given.seed, number)
            ended, law, seconds = worker.run(case)
            tally[case.kind, ended] += 1
            line = {"case": str(case), "ended": ended, "broken": law, "seconds": round(seconds, 2)}
            if given.report is not None:
                with given.report.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
            if law:
                broken.append(case)
                print(f"{case}  {law}", flush=True)
        worker.end()

    with ThreadPoolExecutor(given.workers) as pool:
        list(pool.map(work, range(given.workers)))
    for (kind, ended), n in sorted(tally.items()):
        print(f"{kind:12} {ended:12} {n:6,}")
    print(f"seed {given.seed}: {sum(tally.values()):,} cases, {len(broken):,} broken")
    raise SystemExit(bool(broken))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    main()
