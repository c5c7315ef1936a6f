"""Files that are written whole or not at all: a crash leaves what was there before.

Arrays and a few words go into one, safetensors with a JSON header, never executed. It has a `kind` (what it is for), a
format version, and a checksum of all that is in it. Reading gives arrays and plain JSON values and nothing else;
whatever is wrong with a file is one `FileError` that names it.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from odvff.errors import FileError

VERSION = 1
ENTRY = "odvff"


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
        os.umask(mask := os.umask(0))  # it can just be read by setting it
        os.chmod(temporary, 0o666 & ~mask)
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


def make_folder(folder: Path, remedy: str) -> None:
    """Make a folder, and those that it is in, if it is not there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"the folder {folder} cannot be made: {error.strerror}; {remedy}.") from error


def check_output(output: Path, inputs: Iterable[Any]) -> None:
    """Can the output be written there, without destroying one of the inputs?"""
    if output.is_dir():
        raise FileError(f"{output} is a folder; name a file in it.")
    if not output.parent.is_dir():
        raise FileError(f"the folder {output.parent} does not exist; make it first.")
    for path in map(str, inputs):
        if output.exists() and os.path.exists(path) and os.path.samefile(output, path):
            raise FileError(f"{output} would be written over what it is made from; choose another name.")


def write(path: str | os.PathLike[str], kind: str, arrays: dict[str, Any], header: dict[str, Any]) -> None:
    """Write a file of arrays and words."""
    words = {"kind": f"odvff {kind}", "version": str(VERSION), "header": json.dumps(header, allow_nan=False)}
    tensors = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    words["sha256"] = _checksum(words, tensors)
    # one entry, as several are written in no order: the same content is the same file, to the byte
    write_bytes(path, safetensors.numpy.save(tensors, {ENTRY: json.dumps(words, sort_keys=True)}))


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and header of a file of this kind."""
    source = Path(path)
    try:
        with safetensors.safe_open(source, framework="numpy") as file:
            words = _words(file.metadata())
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (no mapping)
    except FileNotFoundError as error:
        raise FileError(f"{source} does not exist.") from error
    except (OSError, safetensors.SafetensorError, TypeError, ValueError, AttributeError) as error:
        raise FileError(f"{source} is no odvff {kind} file, or a damaged one: {error}.") from error
    found = words.get("kind", "something else")
    if found != f"odvff {kind}":
        raise FileError(f"{source} is no odvff {kind} file: it holds {found[:80]!r}.")
    if words.get("version") != str(VERSION):
        other = f"{source} has the format version {words.get('version', 'none')[:20]!r}"
        raise FileError(f"{other}, and this package reads {VERSION}; use the version of odvff that wrote it.")
    try:
        header = json.loads(words["header"])
    except (KeyError, ValueError, RecursionError) as error:
        raise FileError(f"{source} is damaged: its header is no JSON.") from error
    if not isinstance(header, dict):
        raise FileError(f"{source} is damaged: its header is no JSON object.")
    if words.get("sha256") != _checksum(words, arrays):
        raise FileError(f"{source} is damaged or was altered: its checksum is not that of what it holds.")
    return arrays, header


def _words(metadata: Any) -> dict[str, str]:
    """Kind, version, header and checksum, as far as they are there."""
    try:
        words = json.loads((metadata or {}).get(ENTRY, "{}"))
    except (ValueError, RecursionError):
        return {}
    return {k: v for k, v in words.items() if isinstance(v, str)} if isinstance(words, dict) else {}


def _checksum(words: dict[str, str], arrays: dict[str, Any]) -> str:
    """SHA-256 of words and arrays, with their names, types and shapes."""
    digest = hashlib.sha256()
    for name in ("kind", "version", "header"):
        digest.update(json.dumps([name, words[name]]).encode())
    for name in sorted(arrays):
        value = arrays[name]
        digest.update(json.dumps([name, value.dtype.str, value.shape]).encode())
        digest.update(value.tobytes())
    return digest.hexdigest()
