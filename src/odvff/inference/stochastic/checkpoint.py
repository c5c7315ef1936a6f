"""Checkpoints of stochastic training as files.

The file holds numbers and no structure: that comes from the `Trainer`, made anew by the same program. What does not fit
is refused, so that training never goes on from another model's state or with other settings.
"""

import os
from typing import Any

import jax
import numpy as np

from odvff.errors import FileError
from odvff.inference.stochastic.natural_step import State
from odvff.inference.stochastic.trainer import Checkpoint, Trainer
from odvff.support import storage

KIND = "checkpoint"


def save_checkpoint(path: str | os.PathLike[str], trainer: Trainer, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically: whenever the program ends, the file is the last whole one."""
    states = {"state": checkpoint.state} | ({} if checkpoint.best is None else {"best": checkpoint.best})
    leaves = {name: jax.tree.leaves(state[:-1]) for name, state in states.items()}
    arrays = {f"{name}.{i}": leaf for name, own in leaves.items() for i, leaf in enumerate(own)}
    arrays["history"] = np.array(checkpoint.history)
    arrays["scores"] = np.array(checkpoint.scores, dtype=np.float64).reshape(-1, 2)
    arrays["caution"] = np.reshape(checkpoint.state.caution, 1)
    header = {"settings": trainer.settings, "block": trainer.block, "model": trainer.fingerprint}
    storage.write(path, KIND, arrays, header)


def load_checkpoint(path: str | os.PathLike[str], trainer: Trainer) -> Checkpoint:
    """The checkpoint in a file, for a trainer of the same model and the same settings."""
    arrays, header = storage.read(path, KIND)
    if header.get("model") != trainer.fingerprint:
        raise FileError(f"{path} is the checkpoint of another model; give the trainer the same terms and likelihood.")
    settings = header.get("settings")
    written = {**(settings if isinstance(settings, dict) else {}), "block": header.get("block")}
    for name, here in {**trainer.settings, "block": trainer.block}.items():
        if written.get(name) != here:
            raise FileError(
                f"{path} was written with {name}={written.get(name)}, and this trainer has {name}={here}; use the same "
                "to go on."
            )
    state = _state(path, arrays, "state", trainer.start())
    history, scores, caution = (np.asarray(arrays.get(name)) for name in ("history", "scores", "caution"))
    shapes_fit = history.shape == (state.step,) and scores.ndim == 2 and scores.shape[1] == 2 and caution.shape == (1,)
    if not shapes_fit or not all(np.isfinite(a).all() for a in (history, scores, caution)):
        raise FileError(f"{path} is damaged: its history is missing, or has the wrong shape.")
    return Checkpoint(
        state._replace(caution=caution[0]),
        tuple(history.tolist()),
        tuple((int(step), float(score)) for step, score in scores),
        _state(path, arrays, "best", state) if "best.0" in arrays else None,
    )


def _state(path: Any, arrays: dict[str, Any], name: str, like: State) -> State:
    """A state of the same structure as another."""
    leaves, structure = jax.tree.flatten(like[:-1])
    found: list[Any] = [arrays.get(f"{name}.{i}") for i in range(len(leaves))]
    kinds = [(np.shape(leaf), np.asarray(leaf).dtype) for leaf in leaves]
    if [new is not None and (new.shape, new.dtype) for new in found] != kinds or f"{name}.{len(leaves)}" in arrays:
        raise FileError(f"{path} is the checkpoint of another model; give the trainer the same terms and points.")
    if not all(np.isfinite(new).all() for new in found):
        raise FileError(f"{path} is damaged: it holds a number that is not finite.")
    return State._make((*jax.tree.unflatten(structure, found), like.caution))
