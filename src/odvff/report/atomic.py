"""Text written whole or not at all: a crash leaves what was there before."""

import os
import tempfile
from pathlib import Path

from odvff.errors import FileError


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file in UTF-8, by a temporary file beside it."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    except OSError as error:
        raise FileError(f"{target} cannot be written: {error.strerror}; choose another folder.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode("utf-8", "replace"))
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)  # it can just be read by setting it
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise FileError(f"{target} cannot be written: {error.strerror}.") from error
        raise
