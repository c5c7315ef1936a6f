"""How docstrings are read for the API reference.

The comment at the end of an attribute's line is what is to be said of it. In a list of parameters `name : words` is a
description, no type: types are in the signature. Lines that begin with `>>>` are examples, also where no heading says
so. Estimators put the words of their arguments into their docstrings when they are imported.
"""

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

LISTED = re.compile(r"^(\w+(?:, \w+)*) : (.+(?:\n    .+)*)$", re.MULTILINE)
COMMENT = re.compile(r"  # (.+)$")
EXAMPLE = re.compile(r"^>>> ", re.MULTILINE)


class Words(griffe.Extension):
    """Rewrites docstrings into what the reader of NumPy's style takes them for."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Called with every module, class, function and attribute."""
        if obj.docstring is None:
            found = COMMENT.search(obj.lines[0]) if obj.is_attribute and obj.lines else None
            if found:
                obj.docstring = griffe.Docstring(f"{found[1][:1].upper()}{found[1][1:]}.", parent=obj)
            return
        text = obj.docstring.value
        if "{parameters}" in text:
            text = inspect.getdoc(getattr(import_module(obj.module.path), obj.name)) or text
        text = LISTED.sub(_described, text)
        if "Examples\n---" not in text:
            text = EXAMPLE.sub("Examples\n--------\n>>> ", text, count=1)
        obj.docstring.value = text


def _described(found: re.Match[str]) -> str:
    return "\n".join(f"{name}\n    {found[2]}" for name in found[1].split(", "))
