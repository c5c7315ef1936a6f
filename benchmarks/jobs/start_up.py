"""`start_up.py`: seconds from the start of the process to the package, and to a model of 1,000 rows of 5 columns."""

from common import Clock, report


def main() -> None:
    clock = Clock()
    import odvff

    imported = clock()
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (1000, 5))
    y = np.sin(6 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(1000)
    began = clock()
    odvff.ODVFFRegressor().fit(X, y)
    report("odvff", "numpy", "scikit-learn", imported=imported, fit=clock() - began, total=clock())


if __name__ == "__main__":
    main()
