"""SVGP in GPyTorch (float32, its default): `NaturalVariationalDistribution` with `NGD`, Adam for the rest."""

from typing import Any

import gpytorch
import numpy as np
import starts
import torch

PACKAGES = ("gpytorch", "torch")
ROWS_AT_ONCE = 5_000


class Additive(gpytorch.models.ApproximateGP):
    """A zero mean and a sum of kernels, one for each column, taken as a batch: its documents' way of adding many."""

    def __init__(self, D: int, begin: starts.Start):
        q = gpytorch.variational.NaturalVariationalDistribution(len(begin.Z))
        strategy = gpytorch.variational.VariationalStrategy(self, _float32(begin.Z), q, learn_inducing_locations=True)
        super().__init__(strategy)
        self.mean_module = gpytorch.means.ZeroMean()
        columns = torch.Size([D])
        matern = gpytorch.kernels.MaternKernel(nu=1.5, batch_shape=columns)
        self.covar_module = gpytorch.kernels.ScaleKernel(matern, batch_shape=columns)
        matern.lengthscale = begin.lengthscale
        self.covar_module.outputscale = begin.variance

    def forward(self, X: Any) -> Any:
        covariance = self.covar_module(X.mT.unsqueeze(-1)).sum(dim=-3)
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), covariance)


class Model:
    """Trained by `advance`, at any time ready to predict."""

    def __init__(self, X: Any, y: Any, seed: int):
        torch.manual_seed(seed)
        begin = starts.start(X, y, seed)
        self.svgp, self.likelihood = Additive(X.shape[1], begin), gpytorch.likelihoods.GaussianLikelihood()
        self.likelihood.noise = begin.noise
        self._elbo = gpytorch.mlls.VariationalELBO(self.likelihood, self.svgp, num_data=len(X))
        self._natural = gpytorch.optim.NGD(self.svgp.variational_parameters(), num_data=len(X), lr=starts.NATURAL_RATE)
        rest = [*self.svgp.hyperparameters(), *self.likelihood.parameters()]
        self._adam = torch.optim.Adam(rest, lr=starts.ADAM_RATE)
        self._batches = self._epochs(_float32(X), _float32(y))

    def _epochs(self, X: Any, y: Any) -> Any:
        while True:
            for rows in torch.randperm(len(X)).split(starts.BATCH):
                yield X[rows], y[rows]

    def cool(self, warmth: float) -> None:
        """From now on both rates are this part of what they were at first."""
        for optimiser, rate in ((self._natural, starts.NATURAL_RATE), (self._adam, starts.ADAM_RATE)):
            for group in optimiser.param_groups:
                group["lr"] = warmth * rate

    def advance(self, n_steps: int) -> None:
        self.svgp.train()
        self.likelihood.train()
        for _ in range(n_steps):
            X, y = next(self._batches)
            self._natural.zero_grad()
            self._adam.zero_grad()
            loss = -self._elbo(self.svgp(X), y)
            loss.backward()
            self._natural.step()
            self._adam.step()

    def settle(self) -> None:
        """Get ready to predict many rows with what has been learned."""
        self.svgp.eval()
        self.likelihood.eval()

    def mean(self, X: Any) -> Any:
        with torch.no_grad():
            return np.concatenate([self.svgp(part).mean.numpy() for part in _parts(X)])

    def predict(self, X: Any) -> tuple[Any, Any]:
        """Mean and variance of y."""
        with torch.no_grad():
            ys = [self.likelihood(self.svgp(part)) for part in _parts(X)]
            return np.concatenate([p.mean.numpy() for p in ys]), np.concatenate([p.variance.numpy() for p in ys])


def _float32(values: Any) -> Any:
    return torch.as_tensor(values, dtype=torch.float32)


def _parts(X: Any) -> Any:
    return _float32(X).split(ROWS_AT_ONCE)
