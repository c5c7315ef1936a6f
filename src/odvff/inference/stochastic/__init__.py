"""Training by minibatches, with checkpoints."""

from odvff.inference.stochastic.trainer import Checkpoint, State, Trained, Trainer, minibatches

__all__ = ["Checkpoint", "State", "Trained", "Trainer", "minibatches"]
