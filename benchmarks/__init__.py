"""Speed, as ratios to something in the same run: `python -m benchmarks list`, `python -m benchmarks run NAME`."""
