"""Training by minibatches, with checkpoints."""

from odvff.inference.stochastic.natural_step import State
from odvff.inference.stochastic.trainer import Checkpoint, Trained, Trainer, minibatches

__all__ = ["Checkpoint", "State", "Trained", "Trainer", "minibatches"]
