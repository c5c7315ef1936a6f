"""Files as the rows of a fit: the same fit as in memory, rows held out by what they hold, missing targets."""

from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from odvff import ODVFFClassifier, ODVFFRegressor
from odvff.errors import InputError
from odvff.policy import DEFAULT
from odvff.tables import FileSource, TableFiles
from odvff.tables.csv_file import Reading
from odvff.tables.file_source import ahead, row_hashes


def make_table(n, seed=3):
    rng = np.random.default_rng(seed)
    x, k = rng.uniform(0, 1, n), rng.choice(["a", "b", "c"], n)
    y = 10 + np.sin(6 * x) + (k == "a") + 0.3 * rng.standard_normal(n)
    x = np.where(rng.random(n) < 0.05, np.nan, x)
    return pa.table({"x": pa.array(x, from_pandas=True), "k": k, "w": rng.integers(0, 3, n), "y": y})


@pytest.fixture
def written(tmp_path):
    def write(table, name="t.parquet"):
        path = tmp_path / name
        if name.endswith(".csv"):
            pa.csv.write_csv(table, path)
        else:
            pa.parquet.write_table(table, path, row_group_size=50_000)
        return TableFiles(path)

    return write


def frame_of(table):
    frame = table.select(["x", "k"]).to_pandas()
    return frame.assign(k=frame["k"].astype("category"))


@pytest.mark.parametrize("n", [3000, 300_000])  # small tables are merged; large ones go chunk by chunk
def test_a_streamed_fit_is_the_fit_in_memory_to_the_bit(written, n):
    table = make_table(n)
    frame, y, w = frame_of(table), table["y"].to_numpy(), table["w"].to_numpy()
    source = FileSource(written(table), "y", features=["x", "k"], weights="w")
    streamed = ODVFFRegressor(n_harmonics=6).fit_source(source)
    memory = ODVFFRegressor(n_harmonics=6).fit(frame, y, sample_weight=w)
    for mine, theirs in zip(
        streamed.predict(frame, return_std=True), memory.predict(frame, return_std=True), strict=True
    ):
        assert np.array_equal(mine, theirs)
    assert streamed.model_.n_rows == memory.model_.n_rows == (w > 0).sum()
    assert list(streamed.feature_names_in_) == ["x", "k"]
    assert streamed.model_.target == "y"
    assert np.array_equal(streamed.effects(frame)["k"].mean, memory.effects(frame)["k"].mean)


def test_streamed_classes_are_those_of_memory(written):
    table = make_table(2000)
    labels = np.where(table["y"].to_numpy() > 10.5, "high", "low")
    source = FileSource(written(table.append_column("c", pa.array(labels))), "c", labels=True, features=["x", "k"])
    streamed = ODVFFClassifier(n_harmonics=4, max_iter=8).fit_source(source)
    memory = ODVFFClassifier(n_harmonics=4, max_iter=8).fit(frame_of(table), labels)
    assert streamed.classes_.tolist() == ["high", "low"]
    assert np.array_equal(streamed.predict_proba(frame_of(table)), memory.predict_proba(frame_of(table)))


def test_samples_are_fair_and_always_the_same(written):
    n = 2 * DEFAULT.sample_rows + 17
    rng = np.random.default_rng(0)  # the seed of the source, too: its keys must be no one else's
    table = pa.table({"x": rng.uniform(0, 1, n), "y": rng.uniform(0, 1, n)})
    source = FileSource(written(table), "y")
    (rows, y, _), (few, _, _) = source.sample(DEFAULT.sample_rows), source.sample(1000)
    assert rows.n_rows == len(y) == DEFAULT.sample_rows
    assert abs(rows.numbers(0).mean() - 0.5) < 0.01
    assert set(few.numbers(0)) <= set(rows.numbers(0))
    assert np.array_equal(source.sample(1000)[1], FileSource(written(table), "y").sample(1000)[1])
    little = FileSource(written(table), "y", policy=replace(DEFAULT, sample_rows=1000))
    assert np.array_equal(source.sample(1000)[1], little.sample(1000)[1])
    with pytest.raises(InputError, match=r"this source keeps 1,000 rows for samples, and one of 1,001 was asked for"):
        little.sample(1001)


def test_held_out_rows_are_the_same_in_any_order_and_format(written):
    table = make_table(5000)
    turned = table.take(np.random.default_rng(1).permutation(5000))

    def held(table, name):
        source = FileSource(written(table, name), "y", holdout=0.2)
        kept = np.concatenate([y for _, y, _ in source.chunks()])
        apart = np.concatenate([y for _, y, _ in source.held_out()])
        assert len(kept) + len(apart) == 5000 == source.n_rows + source.n_held
        assert not set(kept) & set(apart)
        return sorted(apart)

    one = held(table, "a.parquet")
    assert 850 < len(one) < 1150
    assert held(turned, "b.parquet") == one
    assert held(table, "c.csv") == one
    singles = table.set_column(2, "w", table["w"].cast(pa.int16()))
    assert held(singles, "d.parquet") == one


def test_hashes_tell_rows_apart():
    rng = np.random.default_rng(0)
    batch = pa.record_batch(
        {"a": rng.normal(size=20_000), "b": rng.choice(list("abc"), 20_000), "c": np.arange(20_000)}
    )
    hashes = row_hashes(batch)
    assert len(np.unique(hashes)) == 20_000
    bits = (hashes[:, None] >> np.arange(64, dtype=np.uint64)) & np.uint64(1)
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.02
    same = pa.record_batch({"a": [0.0, -0.0, None, np.nan], "b": ["x", "x", None, None], "c": [1, 1, 1, 1]})
    one, two, three, four = row_hashes(same)
    assert one == two
    assert three == four
    assert one != three


def test_rows_without_a_target_are_left_out_and_counted(written):
    table = make_table(100)
    y = table["y"].to_pylist()
    y[3], y[5], y[7] = None, float("nan"), float("inf")
    files = written(table.set_column(3, "y", pa.array(y)))
    source = FileSource(files, "y")
    assert (source.n_rows, source.dropped) == (97, 3)
    with pytest.raises(InputError, match=r"the target 'y' is None in row 4; mend it, or do without --strict"):
        _ = FileSource(files, "y", strict=True).n_rows


def test_what_cannot_be_used_is_named(written):
    table = make_table(50)
    files = written(table)
    with pytest.raises(InputError, match=r"no column 'Y'; did you mean 'y'\?"):
        FileSource(files, "Y")
    with pytest.raises(InputError, match="no column 'delay'; there are x, k, w, y"):
        FileSource(files, "delay")
    with pytest.raises(InputError, match="column 'k' holds string, which is no number; say --task classification"):
        _ = FileSource(files, "k").n_rows
    with pytest.raises(InputError, match="holdout is a share of the rows, from 0 up to 1, got 2"):
        FileSource(files, "y", holdout=2)
    endless = table.set_column(0, "x", pa.array([0.0] * 49 + [-np.inf]))
    with pytest.raises(InputError, match="column 'x' is -inf in row 50; replace it by a number"):
        _ = FileSource(written(endless, "e.parquet"), "y").n_rows
    negative = table.set_column(2, "w", pa.array([1] * 10 + [-2] + [1] * 39))
    with pytest.raises(InputError, match=r"the weight 'w' is -2\.0 in row 11; weights count rows"):
        _ = FileSource(written(negative, "n.parquet"), "y", weights="w").n_rows
    many = pa.concat_tables([table] * 5).append_column("name", pa.array([f"n{i}" for i in range(250)]))
    with pytest.raises(InputError, match="column 'name' has more than 200 different labels"):
        ODVFFRegressor().fit_source(FileSource(written(many, "m.parquet"), "y"))


@pytest.mark.parametrize("type_", [pa.int64(), pa.uint64()])
def test_whole_numbers_beyond_float64_are_rounded(written, type_):
    large = pa.array([2**53 + 1, 2**53 + 4, 3], type_)
    source = FileSource(written(pa.table({"x": large, "y": large})), "y", holdout=1e-9)
    ((rows, y, _),) = source.chunks()
    assert rows.numbers(0).tolist() == y.tolist() == [2.0**53, 2.0**53 + 4, 3.0]


def test_classes_that_are_no_finite_numbers_are_left_out_and_counted(written):
    table = pa.table({"x": np.arange(5.0), "c": [0.0, 1.0, np.nan, np.inf, None]})
    source = FileSource(written(table), "c", labels=True)
    ((_, classes, _),) = source.chunks()
    assert classes.tolist() == [0, 1]
    assert source.dropped == 3


ODD = {
    "list<": pa.array([[1], [2]]),
    "struct<": pa.array([{"a": 1}, {"a": 2}]),
    "map<": pa.array([[("a", 1)], []], pa.map_(pa.string(), pa.int64())),
    "binary": pa.array([b"x", b"y"]),
}


@pytest.mark.parametrize("kind", ODD)
def test_columns_of_no_single_values_are_refused_if_they_are_used(written, kind):
    files = written(pa.table({"x": [1.0, 2.0], "odd": ODD[kind], "y": [1.0, 2.0]}))
    with pytest.raises(InputError, match=f"column 'odd' holds {kind}.*, which is neither numbers nor labels; exclude"):
        FileSource(files, "y")
    with pytest.raises(InputError, match="column 'odd' holds"):
        FileSource(files, "odd", features=["x"])
    assert FileSource(files, "y", features=["x"]).n_rows == 2


def test_views_of_text_are_text(written):
    table = pa.table({"k": pa.array(["a", None], pa.string_view()), "y": [1.0, 2.0]})
    ((rows, _, _),) = FileSource(written(table), "y", holdout=1e-9).chunks()
    assert rows.labels(0) == ["a", None]


def test_text_that_is_nearly_all_numbers_is_named(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("age,y\n" + "".join(f"{i},1\n" for i in range(40)) + "n/a?,2\n")
    message = "t.csv: column 'age' holds numbers, and also 'n/a.'; mend it, leave it empty if it is missing, name the"
    with pytest.raises(InputError, match=message):
        FileSource(TableFiles(path), "y")
    assert FileSource(TableFiles(path, Reading(labels=frozenset(["age"]))), "y").n_rows == 41
    path.write_text("size,y\n" + "".join(f"{v},1\n" for v in (1, 2, 3, 4, 5, "large")))
    assert FileSource(TableFiles(path), "y").n_rows == 6


def test_rows_are_counted_in_their_file(written, tmp_path):
    table = make_table(50)
    files = [tmp_path / f"{i}.parquet" for i in range(2)]
    pa.parquet.write_table(table, files[0])
    pa.parquet.write_table(table.set_column(0, "x", pa.array([0.0] * 9 + [np.inf] * 41)), files[1])
    with pytest.raises(InputError, match=r"column 'x' is inf in row 10 of .*1\.parquet; replace it"):
        _ = FileSource(TableFiles(files), "y").n_rows


def test_a_column_has_one_part(written):
    files = written(make_table(50))
    with pytest.raises(InputError, match="the column 'y' is both the target and the weights; name two different ones"):
        FileSource(files, "y", weights="y")
    with pytest.raises(InputError, match="the target 'k' is one of the columns to predict from; name another target"):
        FileSource(files, "k", labels=True, features=["x", "k"])
    assert FileSource(files, "y", features=["x", "w"], weights="w").n_rows == (make_table(50)["w"].to_numpy() > 0).sum()


def test_columns_may_have_any_name(written):
    n = DEFAULT.sample_rows + 10
    table = pa.table({" key ": np.arange(float(n)), "y": np.arange(float(n))})
    rows, y, _ = FileSource(written(table), "y").sample(100)
    assert rows.names == (" key ",)
    assert np.array_equal(rows.numbers(0), y)


def test_decimals_are_numbers(written):
    price = pa.array([Decimal("1.50"), Decimal("2.00"), None])
    table = pa.table({"price": price, "y": price})
    ((rows, y, _),) = FileSource(written(table), "y").chunks()
    assert rows.numbers(0).tolist() == y.tolist() == [1.5, 2.0]
    ((rows, y, _),) = FileSource(written(table), "y", labels=True).chunks()
    assert y.tolist() == [1.5, 2.0]
    assert rows.labels(0) == [1.5, 2]


@pytest.mark.parametrize("labels", [False, True])
def test_dates_are_no_targets(written, labels):
    files = written(pa.table({"x": [1.0, 2.0], "day": pa.array([1, 2], pa.date32())}))
    with pytest.raises(InputError, match=r"the target 'day' holds dates or times \(date32.*no numbers and no classes"):
        FileSource(files, "day", labels=labels)


def test_errors_of_the_reading_thread_arrive():
    def broken():
        yield 1
        raise InputError("it broke")

    items = ahead(broken())
    assert next(items) == 1
    with pytest.raises(InputError, match="it broke"):
        next(items)
    endless = ahead(iter(int, 1))
    assert next(endless) == 0
    endless.close()  # and the thread with it
