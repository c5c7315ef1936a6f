"""Files that are written whole or not at all: a crash leaves what was there before."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from odvff.errors import FileError


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[str]:
    """The name of a temporary file beside the target, which takes its place when the block ends well."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
        os.close(handle)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}; choose another folder.") from error
    try:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, FileError):
            raise FileError(f"{target} cannot be written: {error.strerror or error}.") from error
        raise


def write_bytes(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file of these bytes."""
    with replacing(path) as temporary:
        Path(temporary).write_bytes(content)


def check_output(output: Path, inputs: Iterable[Any]) -> None:
    """Can the output be written there, without destroying one of the inputs?"""
    if output.is_dir():
        raise FileError(f"{output} is a folder; name a file in it.")
    if not output.parent.is_dir():
        raise FileError(f"the folder {output.parent} does not exist; make it first.")
    for path in map(str, inputs):
        if output.exists() and os.path.exists(path) and os.path.samefile(output, path):
            raise FileError(f"{output} would be written over what it is made from; choose another name.")


def _umask() -> int:
    """The process's umask, which can just be read by setting it."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
