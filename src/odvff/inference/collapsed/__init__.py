"""Gaussian noise: hyper-parameters by the collapsed bound, from statistics or chunk by chunk."""
