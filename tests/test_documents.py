"""The code in the documents runs, and what they name exists."""

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
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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
    assert sorted(f"docs/{page}" for page in listed) == sorted(name for name in DOCUMENTS if name != "README.md")
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
