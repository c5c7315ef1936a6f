"""A fitted model of a table: what it predicts, what it learned, how good it is, and its file."""

from odvff.support.deferred import UNUSED, deferred

with deferred(*UNUSED):
    from odvff.model.model import Effect, Model

__all__ = ["Effect", "Model"]
