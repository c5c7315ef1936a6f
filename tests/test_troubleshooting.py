"""The page on messages knows all of them: whatever the package may say is looked up there by its first words."""

import ast
import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/odvff"
PAGE = ROOT / "docs/troubleshooting.md"
# errors that people meet; a ValueError inside the package becomes part of one of these
RAISED = {
    "AttributeError",
    "FactorizationError",
    "FileError",
    "InputError",
    "KernelError",
    "KeyboardInterrupt",
    "NumericalError",
    "PrecisionError",
}
WARNED = {"warn", "FitWarning", "Unfinished", "__init__"}  # a kind of warning with values of its own
WORDS = 6


def spoken(node: ast.expr) -> str:
    """A message with … for values that are put in."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(spoken(part) for part in node.values)
    if isinstance(node, ast.BinOp):
        return spoken(node.left) + spoken(node.right)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Argument":
        return "=".join(
            repr(ast.literal_eval(v)) if i and isinstance(v, ast.Constant) else spoken(v)
            for i, v in enumerate(node.args)
        )
    return "…"


def facts(tree: ast.AST) -> Iterator[tuple[str, int, str]]:
    """Sentences that have a name, and the line: messages may begin with one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            target, value = node.targets[0], node.value
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs = list(zip(target.elts, value.elts, strict=False))
            for name, text in pairs:
                if isinstance(name, ast.Name) and " " in spoken(text).strip("… "):
                    yield name.id, node.lineno, spoken(text)


def first_name(node: ast.expr) -> str:
    """The name of the value that a message begins with, if it does."""
    if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.FormattedValue):
        node = node.values[0].value
    return node.id if isinstance(node, ast.Name) else ""


def beginning(message: str) -> str:
    """As many words as it takes to have six of the message's own, or all that there are."""
    words, own = [], 0
    for word in message.split():
        words.append(word)
        own += any(letter.isalpha() for letter in word)
        if own == WORDS:
            break
    return " ".join(words).rstrip(" .,;:…") if own else ""


def messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Lines and beginnings of all errors and warnings that a module has words for."""
    named = sorted(facts(tree), key=itemgetter(1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and node.args:
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            words = "".join(map(spoken, node.args))
            fact = [text for own, line, text in named if own == first_name(node.args[0]) and line < node.lineno]
            if fact:
                words = fact[-1] + words.removeprefix("…")
            if name in RAISED | WARNED and (begins := beginning(words)):
                yield node.lineno, begins


def as_text(markdown: str) -> str:
    return re.sub(r"\s+", " ", markdown.replace("`` ", "").replace(" ``", "").replace("`", ""))


def test_beginnings():
    source = 'raise InputError(f"column {name!r} has {n} rows, " "too many of them.")\nwarnings.warn("mind: " + why)'
    assert [begins for _, begins in messages(ast.parse(source))] == ["column … has … rows, too many of", "mind"]
    source = (
        'raise InputError(Argument("structure", "separable"), " takes ", Argument("n", n), " or ", Argument(name), ".")'
    )
    assert [begins for _, begins in messages(ast.parse(source))] == ["structure='separable' takes n=… or"]


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_page_names_every_message(path):
    page = as_text(PAGE.read_text(encoding="utf-8"))
    found = messages(ast.parse(path.read_text(encoding="utf-8")))
    missing = [f"line {line}: {begins}" for line, begins in found if as_text(begins) not in page]
    assert not missing, "docs/troubleshooting.md lacks messages of this file; add what they mean and what to do"


def test_the_page_names_no_message_that_is_gone():
    """The first column of its tables holds beginnings of messages."""
    everything = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    known = [begins for path in SOURCE.rglob("*.py") for _, begins in messages(ast.parse(path.read_text("utf-8")))]
    rows = re.findall(r"^\| `+ ?(.+?) ?`+ \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(rows) > 100
    for row in rows:
        assert any(as_text(row).startswith(as_text(begins)) for begins in known) or row in everything, row
