"""Side by side with GPJax's SVGP on the paper's synthetic rows: whole fits in fresh processes, and single steps."""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.synthetic import additive_rows
from benchmarks.timing import interleaved

STEPS = 8000


def fresh(module: str, *arguments: Any) -> tuple[float, dict[str, Any]]:
    """Seconds of a new process from start to end, and the JSON that it printed."""
    began = time.perf_counter()
    command = [sys.executable, "-m", module, *map(str, arguments)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return time.perf_counter() - began, json.loads(printed.splitlines()[-1])


def fit() -> None:
    """A whole fit at N=50,000, D=10, start-up included, against 8000 steps of GPJax's SVGP: at least 60 × and 25 ×."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.npz"
        np.savez(path, **asdict(additive_rows(10)))
        ours = {F: [fresh("benchmarks.collapsed_fit", path, F) for _ in range(3)] for F in (10, 40)}
        seconds, peer = fresh("benchmarks.gpjax_svgp", path, STEPS)
        for F, runs in ours.items():
            runs += [
                fresh("benchmarks.collapsed_fit", path, F) for _ in range(2)
            ]  # before and after, for a busy machine
    print(f"GPJax SVGP, 100 points, {STEPS} steps: {seconds:.1f} s, {_text(peer)}")
    for F, least, gain in ((10, 60, 0.1), (40, 25, 0.25)):
        median = float(np.median([s for s, _ in ours[F]]))
        result = ours[F][0][1]
        print(f"odvff, F={F}: {median:.2f} s, {_text(result)}")
        print(f"ratio {seconds / median:.0f} (at least {least})")
        print(f"log density {result['log_density'] - peer['log_density']:+.3f} (at least +{gain})")


def step() -> None:
    """One stochastic step, D=10, batches of 500: ODVFF (|γ|=90, F=5) against GPJax's SVGP (M=100); at most 1."""
    import jax

    from benchmarks import gpjax_svgp
    from odvff import Fourier, GaussianNoise, Matern, Term
    from odvff.inference.stochastic import Trainer, minibatches

    jax.config.update("jax_enable_x64", True)
    rows, n = additive_rows(10), 200
    terms = [Term(Matern(1.5, 0.5), Fourier(5, (0, 1)), [d]) for d in range(10)]
    trainer = Trainer(terms, GaussianNoise(0.25), len(rows.X), gamma=rows.X[:90])
    peer = gpjax_svgp.model(rows.X)
    jobs = {
        "odvff": lambda n: trainer.run(minibatches(rows.X, rows.y, 500), n),
        "natural": lambda n: jax.block_until_ready(gpjax_svgp.train(peer, rows.X, rows.y, n)),
        "adam": lambda n: jax.block_until_ready(gpjax_svgp.train(peer, rows.X, rows.y, n, natural=False)),
    }
    # the difference of a long and a short run leaves compilation out
    t = interleaved({f"{name} {k}": lambda f=f, k=k: f(k) for name, f in jobs.items() for k in (n, 3 * n)}, 3)
    each = {name: (t[f"{name} {3 * n}"] - t[f"{name} {n}"]) / (2 * n) for name in jobs}
    print(f"ODVFF, natural gradients and Adam: {1e3 * each['odvff']:.1f} ms a step")
    for name, words in (("natural", "natural gradients and Adam"), ("adam", "Adam alone")):
        print(f"GPJax SVGP, {words}: {1e3 * each[name]:.1f} ms; ratio {each['odvff'] / each[name]:.2f} (at most 1)")


def memory() -> None:
    """Peak memory of a fit on 10,000,000 × 10 rows, generated chunk by chunk: under 1.5 GB."""
    seconds, result = fresh("benchmarks.large_fit", 10_000_000)
    print(f"10,000,000 rows: {seconds:.0f} s, noise variance {result['noise']:.4f} (0.2 in truth)")
    print(f"peak {result['peak']:.2f} GB (under 1.5)")


def _text(result: dict[str, Any]) -> str:
    return f"log density {result['log_density']:.4f}, coverage {result['coverage']:.4f}"


PEERS = {"fit": fit, "step": step, "memory": memory}
