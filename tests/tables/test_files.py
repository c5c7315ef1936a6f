"""Tables in files: every format gives the same rows, and whatever is wrong with a file is said."""

import gzip
import io
import os
import re
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

from odvff.errors import FileError, InputError, OdvffError
from odvff.tables.csv_file import Reading
from odvff.tables.files import TableFiles, check_columns


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    numbers = [None if v < 0.1 else float(v) for v in rng.uniform(0, 1, 100)]
    labels = [None if v == "d" else str(v) for v in rng.choice(list("abcd"), 100)]
    return pa.table({"x": numbers, "k": labels, "whole": rng.integers(0, 9, 100), "flag": rng.random(100) < 0.5})


def zipped(path):
    with open(path, "rb") as plain, gzip.open(f"{path}.gz", "wb") as out:
        out.write(plain.read())
    return f"{path}.gz"


def tsv(table, path):
    pa.csv.write_csv(table, path, pa.csv.WriteOptions(delimiter="\t"))


WRITERS = {
    "t.csv": lambda t, p: pa.csv.write_csv(t, p),
    "t.tsv": tsv,
    "t.parquet": lambda t, p: pa.parquet.write_table(t, p, row_group_size=30),
    "t.arrow": lambda t, p: pa.feather.write_feather(t, p, compression="uncompressed"),
    "t.feather": lambda t, p: pa.feather.write_feather(t, p),
    "no_suffix": lambda t, p: pa.parquet.write_table(t, p),
}


def rows_of(files, columns=None):
    return pa.Table.from_batches(list(files.batches(columns or files.names))).to_pydict()


# what is zipped is known by its name alone
FILES = [(name, zip_it) for name in WRITERS for zip_it in (False, True) if not zip_it or name != "no_suffix"]


@pytest.mark.parametrize(("name", "zip_it"), FILES)
def test_every_format_holds_the_same_rows(table, tmp_path, name, zip_it):
    path = str(tmp_path / name)
    WRITERS[name](table, path)
    files = TableFiles(zipped(path) if zip_it else path)
    assert files.names == table.column_names
    assert rows_of(files) == table.to_pydict()
    assert rows_of(files, ["flag", "x"]) == table.select(["flag", "x"]).to_pydict()
    assert files.expected_rows == (100 if name in ("t.parquet", "no_suffix") else None)


def test_folders_globs_and_lists_are_one_table_in_order(table, tmp_path):
    for i in range(3):
        pa.parquet.write_table(table.slice(30 * i, 30), tmp_path / f"part-{i}.parquet")
    (tmp_path / "_SUCCESS").write_text("")
    (tmp_path / ".hidden.csv").write_text("a\n1\n")
    (tmp_path / "notes.md").write_text("no table")
    first = table.slice(0, 90).to_pydict()
    assert rows_of(TableFiles(tmp_path)) == first
    assert rows_of(TableFiles(str(tmp_path / "part-*.parquet"))) == first
    assert rows_of(TableFiles([tmp_path / f"part-{i}.parquet" for i in range(3)])) == first


def test_standard_input_can_be_gone_through_again(table, monkeypatch, tmp_path):
    buffer = io.BytesIO()
    pa.csv.write_csv(table, buffer)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(buffer.getvalue())))
    files = TableFiles("-")
    assert rows_of(files) == rows_of(files) == table.to_pydict()


def test_streams_are_known_by_what_they_hold(monkeypatch, tmp_path):
    def piped(text):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return TableFiles("-").fingerprint()

    assert piped("a\n1\n") == piped("a\n1\n") != piped("a\n2\n")
    pa.parquet.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    path = zipped(tmp_path / "t.parquet")
    assert TableFiles(path).fingerprint() == TableFiles(path).fingerprint()
    files = TableFiles(path)
    os.remove(path)
    with pytest.raises(FileError, match=r"t\.parquet\.gz cannot be read: No such file"):
        files.fingerprint()


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="files cannot be opened without a name")
def test_streams_leave_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\n")))
    files = TableFiles("-")
    assert list(tmp_path.iterdir()) == []  # not even now, whatever happens to this process
    assert rows_of(files) == {"a": [1.0]}


def test_pipes_are_files_that_can_be_read_but_once(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    thread = threading.Thread(target=pipe.write_text, args=("a\n1\n",))
    thread.start()
    files = TableFiles(pipe)
    thread.join()
    assert rows_of(files) == rows_of(files) == {"a": [1.0]}
    with pytest.raises(InputError, match="/dev/zero is a device, which holds no table; give a file, or - for standard"):
        TableFiles("/dev/zero")


def test_files_are_given_once(table, tmp_path):
    pa.parquet.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet is given twice, and its rows would count twice; give it once"):
        TableFiles([tmp_path, tmp_path / "t.parquet"])


def test_only_columns_that_are_asked_for_are_decompressed(tmp_path):
    path = tmp_path / "t.feather"
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.integers(0, 9, 5000), "b": rng.integers(0, 9, 5000)})
    pa.feather.write_feather(table, str(path), compression="zstd")
    content = bytearray(path.read_bytes())
    content[content.rindex(b"\x28\xb5\x2f\xfd")] = 0  # the last frame, which is of b
    path.write_bytes(content)
    assert rows_of(TableFiles(path), ["a"]) == table.select(["a"]).to_pydict()
    with pytest.raises(FileError, match="cannot be read, it may be damaged"):
        rows_of(TableFiles(path), ["b"])


def test_time_to_open_grows_with_the_columns_and_not_with_their_square(tmp_path):
    def seconds(n):
        path = tmp_path / f"{n}.csv"
        path.write_text("\n".join([",".join(f"c{i}" for i in range(n)), ",".join(["1"] * n)]))
        began = time.process_time()
        files = TableFiles([path])
        assert len(files.names) == n
        check_columns(files.names, files.names)
        return time.process_time() - began

    few, many = (min(seconds(n) for _ in range(3)) for n in (1500, 12_000))
    assert many < 30 * few  # eight times as many columns; were all compared with all, it would be 64


def test_columns_of_one_name_matter_if_they_are_used(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a,b,b\n3,4,5\n")
    with pytest.raises(InputError, match=r"b\.csv has two columns called 'b'; rename one of them"):
        TableFiles(tmp_path)
    assert rows_of(TableFiles(tmp_path, Reading(exclude=frozenset("b")))) == {"a": [1.0, 3.0]}


def test_a_file_without_rows_says_nothing_of_types(tmp_path):
    (tmp_path / "a.csv").write_text("k,x\n")
    (tmp_path / "b.csv").write_text("k,x\nu,1\n")
    assert rows_of(TableFiles(tmp_path)) == {"k": ["u"], "x": [1.0]}


def test_whole_numbers_may_be_followed_by_others(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n" + "1,\n" * 1_100_000 + "1.5,2\n")  # more than is looked at for types
    a, b = (pa.Table.from_batches(TableFiles(tmp_path / "t.csv").batches([n])).column(0) for n in "ab")
    assert a[-1].as_py() == 1.5
    assert b[0].as_py() is None
    assert b[-1].as_py() == 2.0


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_delimiters_are_found(tmp_path, delimiter):
    (tmp_path / "t.csv").write_text(f"a{delimiter}b\n1{delimiter}2\n")
    assert rows_of(TableFiles(tmp_path / "t.csv")) == {"a": [1.0], "b": [2.0]}


def test_delimiters_in_quotes_are_part_of_names(tmp_path):
    (tmp_path / "t.csv").write_text('"dose (a;b;c;d)",y\n1,2\n')
    assert TableFiles(tmp_path / "t.csv").names == ["dose (a;b;c;d)", "y"]


def test_delimiters_are_single_characters(tmp_path):
    (tmp_path / "t.csv").write_text("a\tb\n1\t2\n")
    assert rows_of(TableFiles(tmp_path / "t.csv", Reading(delimiter="\\t"))) == {"a": [1.0], "b": [2.0]}
    for delimiter in ("::", "", "§", '"'):
        with pytest.raises(InputError, match=r"the delimiter must be a single character, such as ; or .t, got"):
            TableFiles(tmp_path / "t.csv", Reading(delimiter=delimiter))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_encodings_that_files_tell(tmp_path, encoding):
    (tmp_path / "t.csv").write_bytes("ort;y\nMünchen;1\n".encode(encoding))
    assert rows_of(TableFiles(tmp_path / "t.csv")) == {"ort": ["München"], "y": [1.0]}


def test_other_encodings(tmp_path):
    (tmp_path / "t.csv").write_bytes("ort,y\nMünchen,1\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"is no text in utf-8; say how the file is encoded, latin-1"):
        rows_of(TableFiles(tmp_path / "t.csv"))
    assert rows_of(TableFiles(tmp_path / "t.csv", Reading(encoding="latin-1")))["ort"] == ["München"]
    with pytest.raises(InputError, match="there is no encoding 'latin-99'"):
        rows_of(TableFiles(tmp_path / "t.csv", Reading(encoding="latin-99")))


def test_quoted_values_may_hold_anything(tmp_path):
    (tmp_path / "t.csv").write_text('a,b\n"x, ""y""\nz",1\n')
    assert rows_of(TableFiles(tmp_path / "t.csv"))["a"] == ['x, "y"\nz']


def test_text_of_csv_is_what_it_is_in_other_formats(tmp_path):
    (tmp_path / "t.csv").write_text("code,country,x\n007,NA,1\n7,None,NA\n010,,3\n1,DE,4\n")
    files = TableFiles(tmp_path / "t.csv")
    assert rows_of(files) == {
        "code": ["007", "7", "010", "1"],
        "country": ["NA", "None", None, "DE"],
        "x": [1, None, 3, 4],
    }
    assert rows_of(TableFiles(tmp_path / "t.csv", Reading(numbers=frozenset(["code"]))), ["code"])["code"] == [
        7,
        7,
        10,
        1,
    ]
    (tmp_path / "u.csv").write_text("code,country,x\n7,DE,1\n")
    assert rows_of(TableFiles([tmp_path / "u.csv", tmp_path / "t.csv"]))["code"] == ["7", "007", "7", "010", "1"]


LABELS = {
    "whole": ("1\n2\nNA\n", [1, 2, None]),
    "with a point": ('1.0\n2.5\n""\n', [1, 2.5, None]),
    "true or false": ("true\nfalse\ntrue\n", [True, False, True]),
    "mixed": ("1\n2\nB\n", ["1", "2", "B"]),
    "leading zeros": ("01\n2\nNA\n", ["01", "2", "NA"]),
    "too long for float64": ("9007199254740993\n1\n2\n", ["9007199254740993", "1", "2"]),
    "dates": ("2020-01-01\n2020-01-02\n2020-01-03\n", ["2020-01-01", "2020-01-02", "2020-01-03"]),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_are_numbers_if_all_of_them_are(tmp_path, kind):
    content, labels = LABELS[kind]
    (tmp_path / "t.csv").write_text("z\n" + content)
    assert rows_of(TableFiles(tmp_path / "t.csv", Reading(labels=frozenset("z"))))["z"] == labels


def test_labels_are_looked_at_to_the_end(tmp_path):
    (tmp_path / "t.csv").write_text("z,e\n" + "1,\n" * 1_100_000 + "B,C\n")  # more than is looked at for types
    files = TableFiles(tmp_path / "t.csv", Reading(labels=frozenset("ze")))
    assert files.schema.types == [pa.string(), pa.string()]


BAD = {
    "ragged": ("a,b\n1,2\n1,2,3\n", r"ragged: row 2 has 3 values, and the header 2: '1,2,3'. Mend that row"),
    "mixed": ("a,b\n1,2\n1,two\n" + "1,2\n" * 2_200_000 + "x,y\n", r"column 'a' begins with numbers and then has 'x'"),
    "empty": ("", "is empty"),
    "two of one name": ("a,a\n1,2\n", "two columns called 'a'"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_csv_files(tmp_path, kind):
    content, message = BAD[kind]
    path = tmp_path / "bad.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        rows_of(TableFiles(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv.gz"])
@pytest.mark.parametrize("keep", [3, 40, 0.5, 0.99])
def test_files_that_were_cut_off(table, tmp_path, name, keep):
    path = tmp_path / name.removesuffix(".gz")
    WRITERS[path.name](table, str(path))
    path = Path(zipped(str(path))) if name.endswith(".gz") else path
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep >= 1 else keep * len(content))])
    with pytest.raises(OdvffError, match=re.escape(str(path))):
        rows_of(TableFiles(str(path)))


def test_files_that_are_not_there_or_not_alike(table, tmp_path):
    pa.parquet.write_table(table, tmp_path / "flights.parquet")
    with pytest.raises(FileError, match=r"does not exist; did you mean .*flights.parquet\?"):
        TableFiles(tmp_path / "flihgts.parquet")
    with pytest.raises(FileError, match=r"no file matches .*nothing-\*"):
        TableFiles(str(tmp_path / "nothing-*"))
    (tmp_path / "nothing").mkdir()
    with pytest.raises(InputError, match="holds no table; files are known by"):
        TableFiles(tmp_path / "nothing")
    pa.parquet.write_table(table.drop_columns("x"), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"different columns: .*other.parquet lacks 'x', unlike .*flights.parquet"):
        TableFiles(tmp_path)
    assert TableFiles(tmp_path, Reading(exclude=frozenset("x"))).names == ["k", "whole", "flag"]
    pa.parquet.write_table(table.set_column(0, "x", pa.array(["text"] * 100)), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"different types: column 'x' is double in .* and string in"):
        TableFiles(tmp_path)
    (tmp_path / "text.parquet").write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match="is no parquet file, or a damaged one"):
        TableFiles(tmp_path / "text.parquet")


def test_numbers_of_different_size_are_one_type(table, tmp_path):
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    small = table.set_column(0, "x", table["x"].cast(pa.float32())).set_column(
        2, "whole", table["whole"].cast(pa.int8())
    )
    pa.parquet.write_table(small, tmp_path / "b.parquet")
    rows = rows_of(TableFiles(tmp_path))
    assert np.allclose(
        [v for v in rows["x"] if v is not None], 2 * [v for v in table["x"].to_pylist() if v is not None]
    )
    assert rows["whole"] == 2 * table["whole"].to_pylist()
    pa.parquet.write_table(table.set_column(2, "whole", pa.array([2**53 + 1] * 100)), tmp_path / "c.parquet")
    assert rows_of(TableFiles(tmp_path))["whole"][-1] == 2.0**53
