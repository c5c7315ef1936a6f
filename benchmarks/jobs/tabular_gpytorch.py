"""GPyTorch's SVGP with one Matérn-3/2 kernel of all columns and a lengthscale for each; minibatches and Adam."""

from typing import Any

import gpytorch
import torch

from tables import asked, measure, standardised

POINTS, BATCH, STEPS, RATE = 300, 512, 3000, 0.01
ROWS_AT_ONCE = 4096

split, seed = asked()
torch.manual_seed(seed)
X, X_test = (torch.as_tensor(a, dtype=torch.float32) for a in standardised(split.X, split.X_test))
y = torch.as_tensor(split.y, dtype=torch.float32)


class SVGP(gpytorch.models.ApproximateGP):
    """Inducing points begin at rows and are learned with the rest."""

    def __init__(self, Z: Any):
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=Z.shape[1]))

    def forward(self, X: Any) -> Any:
        return gpytorch.distributions.MultivariateNormal(self.mean_module(X), self.covar_module(X))


def fit() -> tuple[SVGP, Any]:
    model = SVGP(X[torch.randperm(len(X))[:POINTS]].clone())
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    elbo = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(X))
    adam = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=RATE)
    falling = torch.optim.lr_scheduler.MultiStepLR(adam, [STEPS * 3 // 4, STEPS * 9 // 10], gamma=0.1)
    model.train()
    likelihood.train()
    for rows in _batches(len(X)):
        adam.zero_grad()
        (-elbo(model(X[rows]), y[rows])).backward()
        adam.step()
        falling.step()
    return model.eval(), likelihood.eval()


def _batches(n: int) -> Any:
    """Rows of every step, each row once an epoch."""
    left = STEPS
    while left:
        for rows in torch.randperm(n).split(BATCH)[:left]:
            left -= 1
            yield rows


def predict(fitted: tuple[SVGP, Any]) -> tuple[Any, Any]:
    model, likelihood = fitted
    with torch.no_grad():
        parts = [likelihood(model(part)) for part in X_test.split(ROWS_AT_ONCE)]
    return torch.cat([p.mean for p in parts]).numpy(), torch.cat([p.stddev for p in parts]).numpy()


measure(split, fit, predict, "gpytorch", "torch")
