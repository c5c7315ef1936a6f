"""What can be read but once, kept in a temporary file that no kill leaves behind."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

from odvff.errors import FileError


def spooled(stream: Any) -> tuple[Any, str, str]:
    """A temporary file with the content of a stream, its path while it is open, and its SHA-256."""
    digest, failure = sha256(), FileError(f"what comes in cannot be kept in {tempfile.gettempdir()}")
    with told(failure):
        spool, path = _temporary()
    while block := stream.read(2**20):
        digest.update(block)
        with told(failure):
            spool.write(block)
    with told(failure):
        spool.flush()
    return spool, path, digest.hexdigest()


def _temporary() -> tuple[Any, str]:
    """A temporary file and its path. Where files can be opened without a name it has none: no kill leaves it behind."""
    unnamed = tempfile.TemporaryFile(prefix="odvff-", suffix=".spool")  # noqa: SIM115 (closed with its owner)
    path = f"/proc/self/fd/{unnamed.fileno()}"  # /dev/fd of other systems shares its position among all readers
    if os.path.exists(path):
        return unnamed, path
    unnamed.close()
    named = tempfile.NamedTemporaryFile(prefix="odvff-", suffix=".spool")  # noqa: SIM115
    return named, named.name


@contextlib.contextmanager
def told(failure: FileError, errors: Any = OSError) -> Iterator[None]:
    """Errors of the system as this one of ours, and in one line why."""
    try:
        yield
    except FileError:
        raise
    except errors as error:
        why = str(getattr(error, "strerror", None) or str(error).split("\n")[0])
        raise FileError(*failure.args, f": {why.rstrip('. ')}.") from error
