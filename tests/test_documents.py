"""The code in the documents runs."""

import re
from pathlib import Path

import jax
import pytest

import odvff

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["README.md", "docs/mathematics.md", "docs/estimators.md"])
def test_python_blocks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {"jax": jax, **{n: getattr(odvff, n) for n in odvff.__all__}})


def test_every_function_that_the_mathematics_names_exists():
    """`a.b` and `a/b.py` in code quotes are modules, classes or functions of the package."""
    text = (ROOT / "docs/mathematics.md").read_text()
    source = {p.relative_to(ROOT / "src/odvff"): p.read_text() for p in (ROOT / "src/odvff").rglob("*.py")}
    named = set(re.findall(r"`([\w/]+\.py|[A-Za-z_]\w*(?:\.\w+)+)`", text))
    assert len(named) > 20
    everything = "\n".join(source.values())
    for name in named - {"jax.enable_x64"}:
        if name.endswith(".py"):
            assert Path(name) in source, name
        else:
            last = name.split(".")[-1].rstrip("()")
            assert re.search(rf"(def|class) {last}\b|\b{last}\b ?[:=]|self\.{last}\b", everything), name
