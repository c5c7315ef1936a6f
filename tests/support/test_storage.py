"""Files: what was written comes back, and what was not is refused in one sentence."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

from odvff import FileError
from odvff.support import storage

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "count": np.int64(7), "none": np.zeros((0, 4))}
PLAIN = {"a": np.ones(3)}
HEADER = {"words": "ψ", "numbers": [1, 2.5], "nested": {"yes": True, "no": None}}


def entry(words):
    return {storage.ENTRY: json.dumps(words)}


def test_the_same_content_is_the_same_file(tmp_path):
    for name in "ab":
        storage.write(tmp_path / name, "model", ARRAYS, HEADER)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"kind": 3}', "[" * 100_000])
def test_words_that_are_none(tmp_path, text):
    (tmp_path / "x").write_bytes(safetensors.numpy.save(PLAIN, {storage.ENTRY: text}))
    with pytest.raises(FileError, match="it holds 'something else'"):
        storage.read(tmp_path / "x", "model")


def test_there_and_back(tmp_path):
    path = tmp_path / "x.odvff"
    storage.write(path, "model", ARRAYS, HEADER)
    arrays, header = storage.read(path, "model")
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, value in ARRAYS.items():
        assert arrays[name].shape == np.shape(value)
        assert arrays[name].dtype == np.asarray(value).dtype
        assert np.array_equal(arrays[name], value)
    storage.write(path, "model", {"a": np.ones(3)}, {})
    assert list(storage.read(path, "model")[0]) == ["a"]
    assert [p.name for p in tmp_path.iterdir()] == ["x.odvff"]


def test_wrong_files_are_refused(tmp_path):
    path = tmp_path / "x.odvff"
    with pytest.raises(FileError, match=r"x\.odvff does not exist"):
        storage.read(path, "model")
    storage.write(path, "checkpoint", ARRAYS, HEADER)
    with pytest.raises(FileError, match="is no odvff model file: it holds 'odvff checkpoint'"):
        storage.read(path, "model")
    path.write_bytes(safetensors.numpy.save(PLAIN))
    with pytest.raises(FileError, match="it holds 'something else'"):
        storage.read(path, "model")
    words = {"kind": "odvff model", "version": "2", "header": "{}"}
    path.write_bytes(safetensors.numpy.save(PLAIN, entry(words)))
    with pytest.raises(FileError, match="has the format version '2', and this package reads 1"):
        storage.read(path, "model")
    for header in ("{", "[]", "[" * 100_000):
        path.write_bytes(safetensors.numpy.save(PLAIN, entry({**words, "version": "1", "header": header})))
        with pytest.raises(FileError, match="is damaged: its header is no JSON"):
            storage.read(path, "model")
    with pytest.raises(FileError, match="no odvff model file, or a damaged one"):
        storage.read(tmp_path, "model")
    with pytest.raises(FileError, match="cannot be written"):
        storage.write(tmp_path / "nowhere" / "x", "model", ARRAYS, HEADER)
    with pytest.raises(ValueError, match="JSON compliant"):
        storage.write(path, "model", ARRAYS, {"bad": float("nan")})


@settings(max_examples=150)
@given(st.integers(0, 400), st.integers(0, 255), st.booleans())
def test_damage_is_one_error_or_none(tmp_path_factory, at, byte, cut):
    """Any altered byte in the header, or a cut anywhere: the file reads as arrays and JSON, or raises `FileError`."""
    path = tmp_path_factory.mktemp("damaged") / "x.odvff"
    storage.write(path, "model", ARRAYS, HEADER)
    content = bytearray(path.read_bytes())
    at = min(at, len(content) - 1)
    if cut:
        content = content[:at]
    else:
        content[at] = byte
    path.write_bytes(content)
    with contextlib.suppress(FileError):
        arrays, header = storage.read(path, "model")
        assert all(isinstance(a, np.ndarray) for a in arrays.values())
        json.dumps(header)


def test_what_was_altered_is_refused(tmp_path):
    """Files that are whole, but for a number or a word that someone changed."""
    path = tmp_path / "x.odvff"
    storage.write(path, "model", {"a": np.arange(3.0)}, {"interval": [0.0, 1.0]})
    whole = path.read_bytes()
    for old, new in ((b"[0.0, 1.0]", b"[1.0, 0.0]"), (np.float64(2).tobytes(), np.float64(3).tobytes())):
        assert whole.count(old) == 1
        path.write_bytes(whole.replace(old, new))
        with pytest.raises(FileError, match="is damaged or was altered: its checksum is not that of what it holds"):
            storage.read(path, "model")
    words = {"kind": "odvff model", "version": "1", "header": "{}"}
    path.write_bytes(safetensors.numpy.save(PLAIN, entry(words)))
    with pytest.raises(FileError, match="its checksum is not that of what it holds"):
        storage.read(path, "model")


def test_a_killed_writer_leaves_the_old_file_whole(tmp_path):
    path = tmp_path / "x.odvff"
    storage.write(path, "model", {"a": np.zeros(10)}, {"n": 0})
    code = f"""
        import numpy as np
        from odvff.support import storage
        print("ready", flush=True)
        for n in range(10**6):
            storage.write({str(path)!r}, "model", {{"a": np.full(200_000, float(n))}}, {{"n": n}})
    """
    for delay in (0.0, 0.005, 0.011, 0.02):
        writer = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE)
        assert writer.stdout.readline() == b"ready\n"
        try:
            writer.wait(0.05 + delay)
        except subprocess.TimeoutExpired:
            os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        arrays, header = storage.read(path, "model")
        assert (arrays["a"] == header["n"]).all()
