import gc
import sys
from pathlib import Path

import hypothesis
import jaxtyping
import numpy  # noqa: F401  (BLAS must be loaded before it is limited)
import pytest
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_limits

from tests import shapes

hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("default")

# from here on the package's modules are imported so that every call checks the shapes in its signature
jaxtyping.install_import_hook("odvff", f"{shapes.__name__}.{shapes.checked.__name__}")

# small matrices on a busy machine: BLAS threads would wait for each other most of the time
threadpool_limits(1, user_api="blas")

MAPS, MOST_MAPS = Path("/proc/self/maps"), 35_000


@pytest.fixture(autouse=True, scope="module")
def few_compiled_programs():
    """A process may have 65,530 pieces of memory, and JAX takes some for each program: with none left it crashes."""
    yield
    if "jax" in sys.modules and MAPS.exists() and MAPS.read_bytes().count(b"\n") > MOST_MAPS:
        sys.modules["jax"].clear_caches()
        gc.collect()
