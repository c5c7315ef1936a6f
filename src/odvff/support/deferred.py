"""Leave modules out of an import that names them and does not use them.

`import sklearn.base` imports scipy.stats, pandas where it is there, and the parts of NumPy for tests and for Fortran:
two thirds of its time, for functions that no estimator of ours calls. Joblib and SciPy import asyncio, pydoc and the
geometry of scipy.spatial, as unused. While the import runs, stand-ins are in their place. They leave with the import;
whoever kept one and asks it for anything gets that of the true module, imported then.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

# what imports of scikit-learn and of SciPy name, and we do not use in every run
UNUSED = ("asyncio", "numpy.f2py", "numpy.testing", "pandas", "pydoc", "scipy.spatial", "scipy.stats")


class _StandIn(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        _remove(self.__name__)
        return getattr(import_module(self.__name__), name)


def _remove(name: str) -> None:
    if not isinstance(sys.modules.get(name), _StandIn):
        return
    del sys.modules[name]
    package, _, own = name.rpartition(".")
    if package and isinstance(vars(sys.modules[package]).get(own), _StandIn):
        delattr(sys.modules[package], own)


@contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Modules that are installed and not imported yet are not imported in here, unless something of them is used."""
    absent = [name for name in names if name not in sys.modules and find_spec(name) is not None]
    for name in absent:
        package, _, own = name.rpartition(".")
        sys.modules[name] = _StandIn(name)
        if package:
            setattr(sys.modules[package], own, sys.modules[name])
    try:
        yield
    finally:
        for name in absent:
            _remove(name)
