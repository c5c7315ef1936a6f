"""What a long run has reached so far, kept in a folder, so that another process can go on where it was killed.

Stages write plain arrays and words under a name, whole or not at all. A journal belongs to one run: its fingerprint
(files, options, versions) must be the same, or nothing in it is used.
"""

import contextlib
import json
import shutil
import time
from pathlib import Path
from typing import Any

from odvff.errors import FileError
from odvff.support import storage

KIND = "journal"
OWN = (".safetensors", ".part")  # how our files end
EVERY = 5.0  # seconds between two entries of a stage that goes on


class Journal:
    """Where stages keep what they have reached, and find it again. This one keeps nothing."""

    def read(self, stage: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Arrays and words of the last entry of a stage, if there is one."""
        return None

    def write(self, stage: str, arrays: dict[str, Any], words: dict[str, Any]) -> None:
        """Make an entry, whole or not at all."""

    def due(self) -> bool:
        """Is it time for another entry? True once in a few seconds."""
        return False

    def within(self, name: str) -> "Journal":
        """The part of the journal that belongs to one of several like things."""
        return self

    def path(self, stage: str) -> Path | None:
        """A file of its own for a stage that knows how to write one."""
        return None


NO_JOURNAL = Journal()


class FolderJournal(Journal):
    """Keeps entries as files in a folder, which is made with the first one."""

    def __init__(self, folder: Path, fingerprint: dict[str, Any], every: float = EVERY):
        self.folder, self._every = folder, every
        self._fingerprint = json.dumps(fingerprint, sort_keys=True)
        self._last = time.monotonic()

    def read(self, stage: str) -> tuple[dict[str, Any], dict[str, Any]] | None:
        place = self.path(stage)
        if not place.exists():
            return None
        try:
            arrays, words = storage.read(place, KIND)
        except FileError:  # of another version, or damaged: as if it were not there
            return None
        return (arrays, words["words"]) if words.get("fingerprint") == self._fingerprint else None

    def write(self, stage: str, arrays: dict[str, Any], words: dict[str, Any]) -> None:
        storage.make_folder(self.folder, "choose another place")
        try:
            storage.write(self.path(stage), KIND, arrays, {"fingerprint": self._fingerprint, "words": words})
        except FileError:
            with contextlib.suppress(OSError):  # a folder without an entry is nothing to go on with
                self.folder.rmdir()
            raise

    def due(self) -> bool:
        now = time.monotonic()
        if now - self._last < self._every:
            return False
        self._last = now
        return True

    def within(self, name: str) -> "FolderJournal":
        inner = FolderJournal(self.folder / name, {}, self._every)
        inner._fingerprint = self._fingerprint
        return inner

    def path(self, stage: str) -> Path:
        return self.folder / f"{stage}.safetensors"

    def clear(self) -> None:
        """Forget everything, at the end of the run or before a new one; a folder with anything else in it is left."""
        if not self.folder.exists():
            return
        strange = next((p for p in self.folder.rglob("*") if p.is_file() and p.suffix not in OWN), None)
        if strange is not None or not self.folder.is_dir():
            raise FileError(
                f"{self.folder} is where a run keeps what it has reached, and holds something else, "
                f"{strange or 'as it is a file'}; move that."
            )
        shutil.rmtree(self.folder)
