"""What the machine itself can do: products, factorisation, transforms and copies."""

from collections.abc import Callable
from typing import Any

import finufft
import numpy as np
import scipy.linalg
from common import report
from timing import interleaved

THREADS, POINTS = 2, 2_000_000


def main() -> None:
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((2000, 2000)), rng.standard_normal((100_000, 505))
    single = A.astype(np.float32)
    K = A[:1000] @ A[:1000].T
    source, target = np.ones(2**26), np.zeros(2**26)
    x, y = 2 * np.pi * rng.uniform(size=(2, POINTS))
    c = np.ones(POINTS, dtype=complex)
    options = {"eps": 1e-9, "isign": 1, "nthreads": THREADS}
    work: dict[str, Callable[[], Any]] = {
        "dgemm": lambda: A @ A,
        "sgemm": lambda: single @ single,
        "gram": lambda: B.T @ B,
        "cholesky": lambda: scipy.linalg.cholesky(K, lower=True),
        "nufft1": lambda: finufft.nufft1d1(x, c, n_modes=200, **options),
        "nufft2": lambda: finufft.nufft2d1(x, y, c, n_modes=(200, 200), **options),
        "copy": lambda: np.copyto(target, source),
    }
    for function in work.values():
        function()
    seconds = interleaved(work, 7)
    report(
        "numpy",
        "scipy",
        "finufft",
        dgemm_gflops=16 / seconds["dgemm"],
        sgemm_gflops=16 / seconds["sgemm"],
        gram_seconds=seconds["gram"],
        cholesky_ms=1e3 * seconds["cholesky"],
        nufft1_million_points=POINTS / 1e6 / seconds["nufft1"],
        nufft2_million_points=POINTS / 1e6 / seconds["nufft2"],
        copy_gb=2 * source.nbytes / 1e9 / seconds["copy"],
    )


if __name__ == "__main__":
    main()
