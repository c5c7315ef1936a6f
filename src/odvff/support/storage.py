"""Arrays and a few words in one file: safetensors with a JSON header, written atomically, never executed.

A file has a `kind` (what it is for), a format version, and a checksum of all that is in it. Reading gives arrays and
plain JSON values and nothing else; whatever is wrong with a file is one `FileError` that names it.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from odvff.errors import FileError
from odvff.support.atomic import write_bytes

VERSION = 1
ENTRY = "odvff"


def write(path: str | os.PathLike[str], kind: str, arrays: dict[str, Any], header: dict[str, Any]) -> None:
    """Write a file whole or not at all: a crash leaves what was there before."""
    words = {"kind": f"odvff {kind}", "version": str(VERSION), "header": json.dumps(header, allow_nan=False)}
    tensors = {name: np.ascontiguousarray(value) for name, value in arrays.items()}
    # 0-d arrays become 1-d in ascontiguousarray; their shape is what was given
    tensors = {name: value.reshape(np.shape(arrays[name])) for name, value in tensors.items()}
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
        raise FileError(
            f"{source} has the format version {words.get('version', 'none')[:20]!r}, and this package reads "
            f"{VERSION}; use the version of odvff that wrote it."
        )
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
