"""A virtual environment for each library, with pinned versions, made when it is first needed.

What is installed together could pull each other's versions, and what one imports would count as another's start. Our
own is made in the same way, from the project's files, without anything that only its development needs.
"""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
FOLDER = HERE / "environments.made"

TABLES = ("pyarrow==26.0.1",)
# what ours computes with; the project's own files ask for ranges
OURS = ("numpy==2.4.6", "scipy==1.17.1", "scikit-learn==1.9.1", "finufft==2.5.1", "jax==0.10.2", "gpjax==1.0.0")
# what is installed by one command after the other: PyTorch must be there before GPyTorch asks for any. Where its usual
# build is the one for GPUs, `PIP_EXTRA_INDEX_URL` can point to that for CPUs; results tell which it was.
PINNED: dict[str, tuple[tuple[str, ...], ...]] = {
    "odvff": (("--editable", str(HERE.parent), *OURS, *TABLES),),
    "gpflow": (("tensorflow-cpu==2.21.0", "gpflow==2.11.2"),),
    "gpytorch": (("torch==2.13.0",), ("gpytorch==1.15.2",), TABLES),
    "gpjax": (("jax==0.10.2", "gpjax==1.0.0"),),
    "sklearn": (("scikit-learn==1.9.1",), TABLES),
    "pygam": (("pygam==0.12.0",), TABLES),
    "interpret": (("interpret-core==0.7.8",), TABLES),
    "ngboost": (("ngboost==0.5.11", "pandas==2.3.3", *TABLES),),  # with lifelines, which is for pandas 2
    "lightgbm": (("lightgbm==4.7.0",), TABLES),
}
# what its jobs import
MODULES = {
    "odvff": "odvff.estimators",
    "gpflow": "gpflow",
    "gpytorch": "gpytorch",
    "gpjax": "gpjax",
    "sklearn": "sklearn.linear_model, sklearn.gaussian_process",
    "pygam": "pygam",
    "interpret": "interpret.glassbox",
    "ngboost": "ngboost",
    "lightgbm": "lightgbm",
}


def python_of(name: str, say: Callable[[str], None] = print) -> Path:
    """The interpreter of an environment, which is made if it is not there as pinned."""
    folder = FOLDER / name
    python, stamp = folder / "bin" / "python", folder / "pinned"
    wanted = "\n".join(" ".join(step) for step in PINNED[name])
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    say(f"making the environment of {name}: {wanted.replace(chr(10), ', ')}")
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for step in PINNED[name]:
        subprocess.run([*install, *step], check=True)
    stamp.write_text(wanted)
    return python
