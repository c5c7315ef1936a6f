"""Hostile cases: tables, files and faults by the thousand, and the few laws that hold for all of them.

    python -m tests.hostile --minutes 60 --seed 7        # as many as there is time for
    python -m tests.hostile --case table:7:123           # one of them again

A **kind** of case is a module with `check(rng, folder)`: it makes a case from random numbers, does to it what a person
would, and raises `Broken` where a law of `laws` does not hold. Kinds are listed in `cases.KINDS`.
"""
