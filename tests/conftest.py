import hypothesis
import jaxtyping
import numpy  # noqa: F401  (BLAS must be loaded before it is limited)
import scipy.linalg  # noqa: F401
from threadpoolctl import threadpool_limits

from tests import shapes

hypothesis.settings.register_profile("default", deadline=None, derandomize=True, max_examples=60)
hypothesis.settings.load_profile("default")

# from here on the package's modules are imported so that every call checks the shapes in its signature
jaxtyping.install_import_hook("odvff", f"{shapes.__name__}.{shapes.checked.__name__}")

# small matrices on a busy machine: BLAS threads would wait for each other most of the time
threadpool_limits(1, user_api="blas")
