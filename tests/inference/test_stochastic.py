"""Stochastic training: on the ladder with the closed form, for any likelihood, resumable to the bit."""

import gpjax as gpx
import jax
import numpy as np
import pytest

from odvff import (
    Additive,
    Categorical,
    FileError,
    Fourier,
    GaussianNoise,
    InducingPoints,
    InputError,
    Kronecker,
    Levels,
    Matern,
    NumericalError,
    Posterior,
    Separable,
    Sum,
    Term,
)
from odvff.inference import collapsed_bound, fit_collapsed, optimal_posterior
from odvff.inference.collapsed.fit import Ascent
from odvff.inference.collapsed.moving import MovingBound, climb_moving
from odvff.inference.stochastic.checkpoint import load_checkpoint, save_checkpoint
from odvff.inference.stochastic.trainer import Checkpoint, Trainer, minibatches
from odvff.inference.traced import take_terms_apart
from odvff.likelihoods import log_predictive_density
from odvff.likelihoods.logit import Logit
from odvff.statistics import collect
from odvff.support import storage


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (600, 2))
    y = np.sin(8 * X[:, 0]) + X[:, 1] ** 2 + 0.3 * rng.standard_normal(600)
    return X, y - y.mean()


def fourier_terms(F=4):
    return [Term(Matern(1.5, 0.3, 0.5), Fourier(F, (0, 1)), [d]) for d in range(2)]


@pytest.mark.parametrize("features", ["fourier", "points"])
def test_one_unit_natural_step_is_the_optimum(data, features):
    """On all rows with Gaussian noise: S and m are those of the closed form, from wherever it starts."""
    X, y = data
    points = InducingPoints(np.linspace(0, 1, 6)[:, None], jitter=1e-10)
    terms = fourier_terms() if features == "fourier" else [Term(Matern(1.5, 0.3), points, [d]) for d in range(2)]
    trainer = Trainer(terms, GaussianNoise(0.1), len(X), natural_step=1.0, ramp=1, learning_rate=1e-13, block=1)
    trained = trainer.run([(X, y)], 1)
    exact = optimal_posterior(terms, 0.1, X, y)
    assert np.allclose(trained.posterior.mean(X), exact.mean(X), atol=1e-8)
    assert np.allclose(trained.posterior.covariance(X[:9]), exact.covariance(X[:9]), atol=1e-8)
    bound = collapsed_bound(terms, 0.1, X, y)
    assert np.isclose(trained.posterior.elbo(GaussianNoise(0.1), X, y), bound, rtol=1e-7)


@pytest.mark.filterwarnings("ignore:the fit stopped before it converged")
def test_sgpr_is_svgp_at_its_optimum(data):
    """Where SGPR ended, one unit natural step of SVGP gives its bound and its posterior, and nothing leads higher."""
    X, y = data
    points = InducingPoints(np.random.default_rng(1).uniform(0, 1, (8, 2)), jitter=1e-8)
    terms = [Term(Additive((Matern(1.5, 0.3, 0.5), Matern(1.5, 0.5, 0.5))), points)]
    sgpr = climb_moving(MovingBound(Sum(terms), 0.2, lambda: [(X, y)]), Ascent(max_iter=150))

    def svgp(learning_rate, n_steps):
        settings = {"natural_step": 1.0, "ramp": 1, "learning_rate": learning_rate}
        trainer = Trainer(sgpr.terms, GaussianNoise(sgpr.noise), 600, block=20, **settings)
        trained = trainer.run([(X, y)] * n_steps, n_steps)
        return trained.posterior, trained.posterior.elbo(trained.likelihood, X, y)

    q, elbo = svgp(1e-13, 1)
    assert np.isclose(elbo, sgpr.bound, rtol=1e-7)
    assert np.allclose(q.mean(X), sgpr.posterior.mean(X), atol=1e-6)
    assert np.allclose(q.variance(X), sgpr.posterior.variance(X), atol=1e-6)
    _, elbo = svgp(1e-4, 20)
    assert elbo < sgpr.bound + 0.05


def test_elbo_is_that_of_the_posterior(data):
    """The value of a step is the ELBO of the state it starts from, γ included."""
    X, y = data
    trainer = Trainer(fourier_terms(), GaussianNoise(0.3), 600, gamma=X[:7], block=2)
    first = trainer.run([(X[:100], y[:100])] * 2, 2)
    second = trainer.run([(X[:50], y[:50])], 9, resume=first.checkpoint)
    assert second.message == "the batches ended after 3 steps"
    q, likelihood = first.posterior, first.likelihood
    assert np.isclose(second.history[2], q.elbo(likelihood, X[:50], y[:50], n_rows=600), rtol=1e-9)


def test_training_reaches_the_collapsed_optimum(data):
    X, y = data
    fit = fit_collapsed(fourier_terms(), collect(fourier_terms(), [(X, y)]))
    trainer = Trainer(fourier_terms(), GaussianNoise(0.5), 600, learning_rate=0.03, natural_step=0.5, ramp=20)
    trained = trainer.run([(X, y)] * 600, 600)
    bound = trained.posterior.elbo(trained.likelihood, X, y)
    assert fit.bound - 1.0 < bound <= fit.bound + 1e-6
    assert abs(trained.likelihood.variance - fit.noise) < 0.01


def test_cooling_ends_next_to_the_optimum(data):
    """With constant rates the end is a draw about the optimum; rates that fall average that away."""
    X, y = data
    best = optimal_posterior(fourier_terms(), 0.1, X, y)
    distance = {}
    for cooling in (None, (100, 400)):
        trainer = Trainer(
            fourier_terms(), GaussianNoise(0.1), 600, learning_rate=1e-13, natural_step=0.3, ramp=1, cooling=cooling
        )
        q = trainer.run(minibatches(X, y, 60), 400).posterior
        distance[cooling] = np.sqrt(np.mean((q.predict(X)[0] - best.predict(X)[0]) ** 2))
    assert distance[100, 400] < 0.4 * distance[None]


def test_minibatches_with_gamma_learn_the_noise(data):
    X, y = data
    trainer = Trainer(fourier_terms(3), GaussianNoise(0.5), 600, gamma=X[:15], learning_rate=0.02)
    trained = trainer.run(minibatches(X, y, 100), 800)
    q = trained.posterior
    assert abs(trained.likelihood.variance - 0.09) < 0.02
    assert np.abs(q.a_gamma).max() > 0
    assert np.abs(q.gamma - X[:15]).max() > 1e-3
    mean, variance = q.predict(X)
    inside = np.abs(y - mean) < 1.96 * np.sqrt(variance + trained.likelihood.variance)
    assert 0.92 < inside.mean() < 0.98


@pytest.mark.parametrize("level", [100.0, 1000.0])
def test_large_counts_do_not_lead_astray(level):
    """Natural steps from a prior that is far off are shortened until they hold."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (2000, 2))
    f = np.log(level) + 0.5 * np.sin(8 * X[:, 0])
    y = rng.poisson(np.exp(f)) * 1.0
    trainer = Trainer(fourier_terms(4), gpx.likelihoods.Poisson(), 2000)
    trained = trainer.run(minibatches(X, y, 200), 1500)
    assert np.abs(trained.posterior.mean(X) - f).mean() < 0.1
    assert trained.checkpoint.state.caution == 1.0


@pytest.mark.parametrize("held_out", [False, True])
def test_resuming_is_as_if_it_had_never_stopped(data, tmp_path, held_out):
    """From a file, in another trainer: every bit is the same."""
    X, y = data
    rows = (X[500:], y[500:]) if held_out else None

    def trainer():
        return Trainer(fourier_terms(2), GaussianNoise(0.5), 500, gamma=X[:5], block=10)

    def batches(first=0):
        return minibatches(X[:500], y[:500], 64, seed=3, first=first)

    whole = trainer().run(batches(), 57, held_out=rows)
    first = trainer()

    def keep(checkpoint):
        save_checkpoint(tmp_path / "run.odvff", first, checkpoint)
        return checkpoint.step >= 30

    odd = trainer().run(batches(), 33, held_out=rows)  # not at the end of a block
    again = trainer().run(batches(first=33), 57, resume=odd.checkpoint, held_out=rows)
    assert again.history == whole.history
    assert {step for step, _ in again.scores} == {step for step, _ in whole.scores} | ({33} if held_out else set())
    assert first.run(batches(), 57, held_out=rows, on_block=keep).message == "stopped on request"
    second = trainer()
    checkpoint = load_checkpoint(tmp_path / "run.odvff", second)
    assert checkpoint.step == 30
    resumed = second.run(batches(first=30), 57, resume=checkpoint, held_out=rows)
    assert resumed.history == whole.history
    assert len(resumed.history) == 57
    assert resumed.scores == whole.scores
    assert len(resumed.scores) == (6 if held_out else 0)
    assert np.array_equal(resumed.checkpoint.state.precision, whole.checkpoint.state.precision)
    assert np.array_equal(resumed.posterior.mean(X), whole.posterior.mean(X))


def test_a_wrong_checkpoint_is_refused(data, tmp_path):
    X, _ = data
    path = tmp_path / "run.odvff"
    trainer = Trainer(fourier_terms(2), GaussianNoise(0.5), 600, gamma=X[:5], block=10)
    save_checkpoint(path, trainer, Checkpoint(trainer.start()))
    assert load_checkpoint(path, trainer).step == 0
    faster = Trainer(fourier_terms(2), GaussianNoise(0.5), 600, gamma=X[:5], learning_rate=0.1, block=10)
    with pytest.raises(FileError, match=r"was written with learning_rate=0\.01, and this trainer has"):
        load_checkpoint(path, faster)
    with pytest.raises(FileError, match="is the checkpoint of another model"):
        load_checkpoint(path, Trainer(fourier_terms(2), GaussianNoise(0.5), 600, gamma=X[:6], block=10))
    with pytest.raises(FileError, match="is the checkpoint of another model"):
        load_checkpoint(path, Trainer(fourier_terms(2), GaussianNoise(0.5), 600, block=10))
    other_box = [Term(Matern(1.5, 0.3, 0.5), Fourier(2, (0, 5)), [d]) for d in range(2)]
    for changed in (
        Trainer(other_box, GaussianNoise(0.5), 600, gamma=X[:5], block=10),
        Trainer(fourier_terms(2), GaussianNoise(0.5), 600, gamma=X[:5], block=10, train_locations=False),
        Trainer(fourier_terms(2), gpx.likelihoods.Gaussian(0.5), 600, gamma=X[:5], block=10),
    ):
        with pytest.raises(FileError, match="is the checkpoint of another model"):
            load_checkpoint(path, changed)
    arrays, header = storage.read(path, "checkpoint")
    for damage in ({"history": np.zeros(3)}, {"scores": np.full((1, 2), np.nan)}, {"caution": np.zeros(2)}):
        storage.write(path, "checkpoint", {**arrays, **damage}, header)
        with pytest.raises(FileError, match="is damaged: its history is missing"):
            load_checkpoint(path, trainer)
    storage.write(path, "checkpoint", arrays, {**header, "settings": 3})
    with pytest.raises(FileError, match="was written with n_rows=None"):
        load_checkpoint(path, trainer)
    state = trainer.start()
    state.precision[0, 0] = np.nan
    save_checkpoint(path, trainer, Checkpoint(state))
    with pytest.raises(FileError, match="a number that is not finite"):
        load_checkpoint(path, trainer)


def test_early_stop_keeps_the_best(data):
    """Pure noise and a step that is too long: the held-out score falls, and the result is that of the best block."""
    X, _ = data
    y = np.random.default_rng(5).standard_normal(600)
    trainer = Trainer(fourier_terms(4), GaussianNoise(1.0), 600, natural_step=0.9, ramp=1, learning_rate=0.05, block=5)
    trained = trainer.run(minibatches(X[:20], y[:20], 20), 1000, held_out=(X[300:], y[300:]), patience=20)
    assert "has not risen for 20 steps" in trained.message
    assert len(trained.history) < 1000
    best_step, best = max(trained.scores, key=lambda s: s[1])
    assert len(trained.history) == best_step + 20
    q = trained.posterior
    assert np.isclose(np.mean(log_predictive_density(trained.likelihood, y[300:], *q.predict(X[300:]))), best)
    with pytest.raises(InputError, match="held_out has no rows"):
        trainer.run([(X, y)], 5, held_out=(X[:0], y[:0]))
    with pytest.raises(InputError, match="held_out y contains nan"):
        trainer.run([(X, y)], 5, held_out=(X[:2], np.array([1.0, np.nan])))
    with pytest.raises(InputError, match="patience needs `held_out` rows"):
        trainer.run([(X, y)], 5, patience=10)


def test_interrupting_returns_what_there_is(data):
    X, y = data
    trainer = Trainer(fourier_terms(2), GaussianNoise(0.5), 600, block=5)

    def interrupted():
        yield from [(X, y)] * 10
        raise KeyboardInterrupt

    trained = trainer.run(interrupted(), 100)
    assert trained.message == "interrupted"
    assert len(trained.history) == 10

    def at_once():
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt, match="before its first step"):
        trainer.run(at_once(), 100)


LIKELIHOODS = {
    "probit": lambda: gpx.likelihoods.Bernoulli(),
    "poisson": lambda: gpx.likelihoods.Poisson(),
    "student-t": lambda: gpx.likelihoods.StudentT(3.0, 0.3),
    "logit": lambda: Logit(),
}


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_other_likelihoods(data, name):
    """The ELBO rises from the prior's, and q stays inside the cone with large natural steps."""
    X, f = data
    rng = np.random.default_rng(1)
    y = {
        "probit": (f + rng.standard_normal(600) > 0) * 1.0,
        "poisson": rng.poisson(np.exp(f)) * 1.0,
        "student-t": f.copy(),
        "logit": (rng.uniform(size=600) < 1 / (1 + np.exp(-3 * f))) * 1.0,
    }
    y = y[name]
    if name == "student-t":
        y[::20] += 30.0  # outliers, where the likelihood is not log-concave
    likelihood = LIKELIHOODS[name]()
    trainer = Trainer(fourier_terms(2), likelihood, 600, natural_step=0.8, ramp=2, learning_rate=0.01, block=25)
    trained = trainer.run([(X, y)] * 75, 75)
    assert trained.history[-1] > trained.history[0] + 30
    assert np.mean(trained.history[-5:]) > np.mean(trained.history[20:25])
    assert np.linalg.eigvalsh(trained.checkpoint.state.precision).min() > 0
    q = trained.posterior
    assert np.corrcoef(q.mean(X), f)[0, 1] > 0.7
    assert np.isclose(q.elbo(trained.likelihood, X, y), trained.history[-1], rtol=0.05)


def test_gpjax_kernels_and_moving_points_are_trained(data):
    X, y = data
    kernel = gpx.kernels.Matern32(lengthscale=0.5) + gpx.kernels.Linear()
    terms = [Term(kernel, InducingPoints(np.linspace(0.1, 0.9, 5)[:, None], jitter=1e-6), [0])]
    trained = Trainer(terms, gpx.likelihoods.Gaussian(1.0), 600, block=20, learning_rate=0.05).run([(X, y)] * 60, 60)
    assert trained.history[-1] > trained.history[0]
    moved = trained.posterior.terms.terms[0].features.locations
    assert np.abs(moved[:, 0] - np.linspace(0.1, 0.9, 5)).max() > 1e-3
    fixed = Trainer(terms, GaussianNoise(1.0), 600, block=5, train_locations=False, gamma=X[:3]).run([(X, y)] * 5, 5)
    assert np.array_equal(fixed.posterior.terms.terms[0].features.locations[:, 0], np.linspace(0.1, 0.9, 5))
    assert np.array_equal(fixed.posterior.gamma, X[:3])


def test_a_second_fit_of_the_same_shape_compiles_nothing(data):
    X, y = data

    def train(n_rows, scale, names):
        """A fit of its own, with other numbers and names."""
        points = InducingPoints(scale * X[:4, :1], 1e-6)
        terms = [
            Term(Matern(1.5, scale, scale), Fourier(2, (0, 1)), [0], names[0]),
            Term(Matern(1.5, 2 * scale, scale), Fourier(2, (0, 1)), [1], names[1]),
            Term(gpx.kernels.Matern32(lengthscale=scale) + gpx.kernels.Linear(), points, [0], names[2]),
        ]
        trainer = Trainer(terms, GaussianNoise(scale), n_rows, block=5, gamma=scale * X[:3])
        q = trainer.run([(X[:50], y[:50])] * 7, 7).posterior
        assert q.terms.names == names

    train(600, 0.5, ("a", "b", "c"))
    with jax.log_compiles(True), pytest.MonkeyPatch.context() as patch:
        compiled = []
        patch.setattr(jax._src.interpreters.pxla.logger, "log", lambda level, message, *a: compiled.append(message % a))
        train(700, 0.3, ("d", "e", "f"))
    assert not [m for m in compiled if "run_block" in m]


def test_taking_apart_and_back():
    product = Separable((Matern(0.5, 0.3, 2.0), Matern(2.5, 0.7, 1.5)))
    terms = Sum(
        [
            Term(product, Kronecker((Fourier(1, (0, 1)), Fourier(1, (0, 1)))), [0, 1]),
            Term(Categorical(0.4), Levels(2), [2]),
            Term(Additive((Matern(0.5, 0.2), Matern(1.5, 0.9))), InducingPoints([[0.1, 0.2]]), [0, 1]),
            Term(gpx.kernels.RBF(lengthscale=0.3), InducingPoints([[0.1], [0.5]]), [0]),
        ]
    )
    with jax.enable_x64(True):
        parameters, back = take_terms_apart(terms)
        again = back(parameters)
    X = np.array([[0.1, 0.2, 0.0], [0.7, 0.4, 1.0]])
    assert np.allclose(again.covariance(X, X), terms.covariance(X, X))
    assert len(jax.tree.leaves(parameters)) == 3 + 1 + (4 + 1) + (2 + 1)
    assert len(jax.tree.leaves(parameters["kernels"])) == 3 + 1 + 4 + 2
    assert np.isclose(GaussianNoise(0.3).take_apart()[1]({"variance": np.log(0.5)}).variance, 0.5)


def test_minibatches_visit_every_row_once_an_epoch():
    X, y = np.arange(10.0)[:, None], np.arange(10.0)
    batches = minibatches(X, y, 3)
    epoch = np.concatenate([next(batches)[1] for _ in range(3)])
    assert len(set(epoch)) == 9
    skipped = next(minibatches(X, y, 3, first=4))[1]
    for _ in range(1):
        next(batches)
    assert np.array_equal(next(batches)[1], skipped)


def test_bad_input_is_named(data):
    X, y = data
    terms = fourier_terms(1)
    with pytest.raises(InputError, match="natural_step must be at most 1, got 2"):
        Trainer(terms, GaussianNoise(), 600, natural_step=2.0)
    with pytest.raises(
        InputError, match=r"learning_rate must be positive and finite, got 0\.0; 0\.01 is a good choice"
    ):
        Trainer(terms, GaussianNoise(), 600, learning_rate=0.0)
    with pytest.raises(InputError, match=r"cooling is a pair of steps \(first, last\), got 100"):
        Trainer(terms, GaussianNoise(), 600, cooling=100)
    with pytest.raises(InputError, match="the last step of cooling must be a whole number of at least 51, got 50"):
        Trainer(terms, GaussianNoise(), 600, cooling=(50, 50))
    with pytest.raises(InputError, match="batch_size is 700, but there are 600 rows"):
        next(minibatches(X, y, 700))
    trainer = Trainer(terms, GaussianNoise(), 600, block=2)
    with pytest.raises(InputError, match="all batches must have one shape"):
        trainer.run([(X[:5], y[:5]), (X[:4], y[:4])], 2)
    with pytest.raises(InputError, match=r"a batch is a pair \(X, y\)"):
        trainer.run([(X, y, y)], 2)
    with pytest.raises(InputError, match=r"a batch is a pair \(X, y\)"):
        trainer.run((X, y), 2)
    with pytest.raises(InputError, match="gamma has 1 columns, and the terms read 2"):
        Trainer(fourier_terms(1), GaussianNoise(), 600, gamma=X[:3, :1])
    with pytest.raises(InputError, match="a batch has 1 columns, and the terms read 2"):
        Trainer(fourier_terms(1), GaussianNoise(), 600).run([(X[:, :1], y)], 2)
    with pytest.raises(InputError, match="first must be a whole number of at least 0, got -1"):
        next(minibatches(X, y, 10, first=-1))
    with pytest.raises(NumericalError, match=r"not finite before the first step.*the likelihood does not suit y"):
        Trainer(terms, gpx.likelihoods.Bernoulli(), 600, block=2).run([(X, y - 5)] * 2, 2)
    with pytest.raises(InputError, match="no batch to train on"):
        trainer.run([], 2)
    with pytest.raises(InputError, match="n_steps must be a whole number of at least 1, got 0"):
        trainer.run([(X, y)], 0)
    wild = Trainer([Term(Matern(), Fourier(1, (0, 1)), [0])], GaussianNoise(), 600, learning_rate=1e4, block=5)
    with pytest.raises(NumericalError, match=r"the ELBO is not finite at step \d+.*learning_rate too large"):
        wild.run([(X, y)] * 20, 20)
    assert isinstance(Trainer(terms, GaussianNoise(), 600).posterior(trainer.start())[0], Posterior)
