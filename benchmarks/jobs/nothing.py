"""`nothing.py`: seconds from the start of the process to its first line, which no program can do without."""

from common import Clock, report

if __name__ == "__main__":
    report(total=Clock()())
