"""What a long run has reached so far, kept in a folder, so that another process can go on where it was killed.

Stages write plain arrays and words under a name, whole or not at all. A journal belongs to one run: its fingerprint
(files, options, versions) must be the same, or nothing in it is used.
"""

import contextlib
import json
import shutil
import time
from copy import copy
from pathlib import Path
from typing import Any

from odvff.errors import FileError
from odvff.support import storage

KIND = "journal"
OWN = (".safetensors", ".part")  # how our files end
EVERY = 5.0  # seconds between two entries of a stage that goes on


class Journal:
    """Where stages keep what they have reached: files in a folder, made with the first; without it nothing is kept."""

    def __init__(self, folder: Path | None = None, fingerprint: dict[str, Any] | None = None, every: float = EVERY):
        self.folder, self._every = folder, every
        self._fingerprint = json.dumps(fingerprint, sort_keys=True)
        self._last = time.monotonic()

    def path(self, stage: str) -> Path | None:
        """The file of a stage, which may know how to write it itself."""
        return None if self.folder is None else self.folder / f"{stage}.safetensors"

    def read(self, stage: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Arrays and words of the last entry of a stage, if there is one."""
        place = self.path(stage)
        if place is None or not place.exists():
            return None
        try:
            arrays, words = storage.read(place, KIND)
        except FileError:  # of another version, or damaged: as if it were not there
            return None
        return (arrays, words["words"]) if words.get("fingerprint") == self._fingerprint else None

    def write(self, stage: str, arrays: dict[str, Any], words: dict[str, Any]) -> None:
        """Make an entry, whole or not at all."""
        place = self.path(stage)
        if place is None:
            return
        storage.make_folder(place.parent, "choose another place")
        try:
            storage.write(place, KIND, arrays, {"fingerprint": self._fingerprint, "words": words})
        except FileError:
            with contextlib.suppress(OSError):  # a folder without an entry is nothing to go on with
                place.parent.rmdir()
            raise

    def due(self) -> bool:
        """Is it time for another entry? True once in a few seconds."""
        now = time.monotonic()
        if self.folder is None or now - self._last < self._every:
            return False
        self._last = now
        return True

    def within(self, name: str) -> "Journal":
        """The part of the journal that belongs to one of several like things."""
        inner = copy(self)
        inner.folder = None if self.folder is None else self.folder / name
        return inner

    def clear(self) -> None:
        """Forget everything, at the end of the run or before a new one; a folder with anything else in it is left."""
        if self.folder is None or not self.folder.exists():
            return
        strange = next((p for p in self.folder.rglob("*") if p.is_file() and p.suffix not in OWN), None)
        if strange is not None or not self.folder.is_dir():
            kept = f"{self.folder} is where a run keeps what it has reached, and holds something else"
            raise FileError(f"{kept}, {strange or 'as it is a file'}; move that.")
        shutil.rmtree(self.folder)


NO_JOURNAL = Journal()
