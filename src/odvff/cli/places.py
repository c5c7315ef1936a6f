"""Where results go: never over what they are made from."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from odvff.errors import FileError


def check_output(output: Path, inputs: Iterable[Any]) -> None:
    """Can the output be written there, without destroying one of the inputs?"""
    if output.is_dir():
        raise FileError(f"{output} is a folder; name a file in it.")
    if not output.parent.is_dir():
        raise FileError(f"the folder {output.parent} does not exist; make it first.")
    for path in map(str, inputs):
        if output.exists() and os.path.exists(path) and os.path.samefile(output, path):
            raise FileError(f"{output} would be written over what it is made from; choose another name.")
