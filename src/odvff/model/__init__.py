"""A fitted model of a table: what it predicts, what it learned, how good it is, and its file."""
