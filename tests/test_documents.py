"""The code in the documents runs, and what they name exists."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import jax
import pytest
import typer

import odvff
from odvff.cli.app import app

ROOT = Path(__file__).parents[1]
DOCUMENTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
}


def blocks(name, language):
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENTS[name], flags=re.DOTALL)


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if blocks(name, "python")])
def test_python_blocks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for block in blocks(name, "python"):
        exec(block, {"jax": jax, **{n: getattr(odvff, n) for n in odvff.__all__}})


@pytest.mark.parametrize("name", [name for name in DOCUMENTS if blocks(name, "console")])
def test_commands_and_their_options_exist(name):
    commands = typer.main.get_command(app).commands
    for line in "\n".join(blocks(name, "console")).splitlines():
        found = re.search(r"\bodvff ([a-z]+)(.*)", line.split("#")[0])
        if found:
            known = {option for p in commands[found[1]].params for option in p.opts}
            assert set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", found[2])) <= known, line


def test_the_page_of_commands_names_all_options():
    page = DOCUMENTS["docs/command-line.md"]
    for command in typer.main.get_command(app).commands.values():
        for option in (o for p in command.params for o in p.opts if o.startswith("--")):
            assert f"`{option}`" in page, f"{command.name} {option}"


def test_pages_are_in_the_navigation_and_links_lead_somewhere():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert sorted(f"docs/{page}" for page in listed) == sorted(name for name in DOCUMENTS if name.startswith("docs/"))
    for name, text in DOCUMENTS.items():
        for target in re.findall(r"\]\(([^)#:\s]+\.\w+)(?:#[^)]*)?\)", text):
            assert ((ROOT / name).parent / target).exists(), f"{name}: {target}"


def test_what_the_reference_names_exists():
    named = re.findall(r"^::: (\S+)$", "\n".join(DOCUMENTS.values()), flags=re.MULTILINE)
    assert len(named) > 30
    for name in named:
        try:
            import_module(name)
        except ImportError:
            place, _, what = name.rpartition(".")
            assert hasattr(import_module(place), what), name


def test_pictures_are_few_and_small():
    pictures = list((ROOT / "docs/images").iterdir())
    assert len(pictures) <= 5
    assert max(picture.stat().st_size for picture in pictures) < 200_000


def test_every_function_that_the_mathematics_names_exists():
    """`a/b.py` is a file of the package; `a.b` an attribute of a class that it exports, or of a module that ends so."""
    text = DOCUMENTS["docs/mathematics.md"]
    # in code quotes, or at the end of an indented formula
    named = set(re.findall(r"`([\w/]+\.py|[A-Za-z_]\w*(?:\.\w+)+)(?:\(\))?`", text))
    for line in re.findall(r"^ {4}.*? {4,}(\S.*)$", text, flags=re.MULTILINE):
        named |= set(re.findall(r"[\w/]+\.py|[A-Za-z_]\w*(?:\.\w+)+", line))
    assert len(named) > 40
    unknown = sorted(name for name in named - {"jax.enable_x64"} if not exists(name))
    assert not unknown


def exists(name):
    """`module.attribute`, `Class.attribute`, or `file.py`."""
    if name.endswith(".py"):
        return (ROOT / "src/odvff" / name).exists()
    place, _, attribute = name.rpartition(".")
    own = {path.relative_to(ROOT / "src").with_suffix("") for path in (ROOT / "src/odvff").rglob("[!_]*.py")}
    own |= {path.relative_to(ROOT / "src").parent for path in (ROOT / "src/odvff").rglob("__init__.py")}
    modules = [".".join(path.parts) for path in own]
    found = [import_module(module) for module in modules if f".{module}".endswith(f".{place}")]
    classes = {
        one for module in modules for one in [getattr(import_module(module), place, None)] if isinstance(one, type)
    }
    return any(has(one, attribute) for one in [*found, *classes])


def has(one, attribute):
    """As an attribute, a field, or what a constructor stores."""
    if hasattr(one, attribute) or attribute in getattr(one, "__dataclass_fields__", ()):
        return True
    stored = rf"self\.{attribute}\b[^=\n]* = "
    return isinstance(one, type) and bool(re.search(stored, inspect.getsource(one.__init__)))


def test_a_name_that_is_elsewhere_does_not_count():
    assert exists("features.Fourier")
    assert exists("Posterior.mean_u")
    assert exists("inference/maximise.py")
    assert not exists("fourier._tail_weights")  # it is of another module
    assert not exists("Posterior.lengthscale")
    assert not exists("maximise.py")
