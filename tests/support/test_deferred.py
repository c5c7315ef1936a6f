"""Imports that leave out what they do not use: faster, and nobody else may notice."""

import subprocess
import sys

import pytest


def run(program: str) -> str:
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_estimators_do_without_what_scikit_learn_imports_and_does_not_use():
    program = (
        "import sys, numpy as np\nfrom odvff import ODVFFRegressor\n"
        "X = np.random.default_rng(0).uniform(size=(60, 2))\n"
        "ODVFFRegressor().fit(X, np.sin(3 * X[:, 0])).predict(X)\n"
        "print([m for m in ('scipy.stats', 'scipy.spatial', 'asyncio', 'pydoc', 'pandas', 'jax', "
        "'pyarrow', 'matplotlib') if m in sys.modules])"
    )
    assert run(program) == "[]"


@pytest.mark.parametrize(
    "module", ["scipy.stats", "scipy.spatial.distance", "pandas", "numpy.testing", "numpy.f2py", "asyncio", "pydoc"]
)
def test_what_was_left_out_is_there_for_others(module):
    program = (
        f"import sys\nfrom odvff import ODVFFRegressor\nassert {module!r} not in sys.modules\n"
        f"import {module}\nprint({module} is sys.modules[{module!r}], {module}.__file__ is not None)"
    )
    assert run(program) == "True True"


def test_who_kept_a_stand_in_gets_the_true_thing():
    program = (
        "from odvff import ODVFFRegressor\nimport sklearn.utils.fixes as fixes\n"
        "print(fixes._mode([1, 2, 2])[0].item(), fixes.pd.DataFrame({'a': [1]}).shape)\n"
        "import joblib.memory, scipy.optimize\n"
        "print(joblib.memory.asyncio.iscoroutinefunction(print))\n"
        "print(scipy.optimize.shgo(lambda x: (x[0] - 1) ** 2 + x[1] ** 2, [(-2, 2)] * 2).success)"
    )
    assert run(program).split("\n") == ["2 (1, 1)", "False", "True"]


def test_parts_of_what_is_left_out_can_be_imported_meanwhile():
    program = (
        "from odvff.support.deferred import deferred\n"
        "with deferred('scipy.spatial', 'asyncio'):\n"
        "    import scipy.spatial.distance, asyncio.events\n"
        "    from scipy.spatial import cKDTree\n"
        "import scipy.spatial, asyncio\n"
        "print(scipy.spatial.distance.euclidean([0, 3], [4, 0]), asyncio.events.get_event_loop_policy is not None)"
    )
    assert run(program) == "5.0 True"


def test_a_module_that_is_there_already_or_not_installed_is_left_alone():
    program = (
        "import sys, scipy.stats\nfrom odvff.support.deferred import deferred\nkept = sys.modules['scipy.stats']\n"
        "with deferred('scipy.stats', 'no_such_module_at_all', 'colorsys'):\n"
        "    assert sys.modules['scipy.stats'] is kept and 'no_such_module_at_all' not in sys.modules\n"
        "    import colorsys\n"
        "    assert colorsys.rgb_to_hsv(0, 0, 0) == (0.0, 0.0, 0)\n"
        "import colorsys\nprint(type(colorsys).__name__)"
    )
    assert run(program) == "module"
