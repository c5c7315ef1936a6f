"""What every room may use, and what knows nothing of the method: arrays, checks, threads, progress, files."""
