"""Columns of tables of every make: kinds, boxes, levels, missing values, and what is said when something is wrong."""

import json
import time
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from odvff import FileError, InputError
from odvff.tables import Category, MemorySource, Numeric, Schema, as_table
from odvff.tables.columns import FAR
from odvff.tables.schema import SchemaBuilder
from odvff.tables.source import learn_schema as learn


def learn_schema(table, weights=None, **options):
    return learn(MemorySource(table, np.zeros(table.n_rows), weights), **options)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [20.0, 30.0, np.nan, 60.0],
            "city": pd.Categorical(["b", "a", None, "b"], categories=["c", "b", "a"]),
            "member": [True, False, True, True],
            "rooms": [1, 2, 3, 4],
        }
    )


MAKES = {"pandas": lambda f: f, "polars": pl.from_pandas, "arrow": lambda f: pa.Table.from_pandas(f)}


@pytest.mark.parametrize("make", MAKES)
def test_every_make_of_table_is_coded_alike(frame, make):
    schema = learn_schema(as_table(MAKES[make](frame)))
    age, city, member, rooms = schema.columns
    assert isinstance(age, Numeric)
    assert (age.low, age.high, age.middle, age.missing) == (20.0, 60.0, 30.0, True)
    assert isinstance(city, Category)
    assert set(city.levels) == {"a", "b", None}
    assert city.levels[-1] is None
    assert member.levels == (False, True)
    assert isinstance(rooms, Numeric)
    assert schema.width == 2 + 1 + 1 + 1
    coded = schema.encode(as_table(MAKES[make](frame)))
    assert np.allclose(coded[:, 0], [0, 0.25, 0.25, 1])  # the missing one takes the median
    assert coded[:, 1].tolist() == [1, 1, 0, 1]
    assert [city.levels[int(c)] for c in coded[:, 2]] == ["b", "a", None, "b"]
    assert coded[:, 3].tolist() == [1, 0, 1, 1]


def test_order_of_levels_is_the_tables_own(frame):
    assert learn_schema(as_table(frame)).columns[1].levels == ("b", "a", None)


def test_new_levels_and_missing_values_fall_back_to_the_prior():
    schema = learn_schema(as_table(pd.DataFrame({"x": [0.0, 1.0], "c": pd.Categorical(["a", "b"])})))
    new = pd.DataFrame({"x": [np.nan, 0.5], "c": pd.Categorical(["z", None])})
    assert schema.encode(as_table(new)).tolist() == [[FAR, -1.0], [0.5, -1.0]]


def test_a_wild_value_squashes_nothing():
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 1, 2000)
    x[7] = 1e9
    (column,) = learn_schema(as_table(x[:, None])).columns
    assert (column.low, column.most) == (x.min(), 1e9)
    assert 1.5 < column.high < 2.1
    assert "x0 has values far out" in learn_schema(as_table(x[:, None])).notes()[0]


def test_ranges_are_kept_whole_otherwise():
    x = np.random.default_rng(0).normal(size=(5000, 1))
    (column,) = learn_schema(as_table(x)).columns
    assert (column.low, column.high) == (x.min(), x.max())


def test_constant_columns_have_a_box_of_their_own():
    for values in (np.full(5, 3.0), 0.1 * np.array([3, 3, 3]) + np.array([0, 1, 2]) * np.spacing(0.3)):
        schema = learn_schema(as_table(values[:, None]))
        (column,) = schema.columns
        assert column.low < values.min() <= values.max() < column.high
        (note,) = schema.notes()
        assert note.startswith(f"x0 is taken as constant: its values go from {float(values.min())!r} to")


@pytest.mark.parametrize(
    "x", [1e13 + np.linspace(0, 8, 50), np.linspace(0, 8, 50) - 1e15, 5e-324 * (np.arange(50) % 20)]
)
def test_columns_that_vary_are_never_taken_as_constant(x):
    schema = learn_schema(as_table(x[:, None]))
    assert (schema.columns[0].low, schema.columns[0].high) == (x.min(), x.max())
    assert sum(schema.columns[0].counts) == 50
    assert not any("constant" in note for note in schema.notes())


def test_names_of_effects_are_different():
    gaps = pd.DataFrame({"a": [1.0, np.nan, 3.0], "a is missing": [0.5, 1.0, 2.0]})
    with pytest.raises(InputError, match="there is a column 'a is missing', and what is missing in 'a' has an effect"):
        learn_schema(as_table(gaps)).design("additive")
    joint = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, 2.0], "a × b": pd.Categorical(["u", "v"])})
    learn_schema(as_table(joint)).design("additive")
    with pytest.raises(InputError, match="there is a column 'a × b', and the joint effect of all numeric columns has"):
        learn_schema(as_table(joint)).design("separable")
    with pytest.raises(InputError, match="the columns 1 and '1' have one name, '1', as text; rename one of them"):
        as_table(pd.DataFrame([[1.0, 2.0]], columns=[1, "1"]))


def test_time_grows_with_the_levels_and_not_with_their_square():
    def seconds(n):
        levels = [f"level {i}" for i in range(n)]
        table = as_table(pd.DataFrame({"c": pd.Categorical(levels, categories=levels)}))
        builder, start = SchemaBuilder(), time.process_time()
        for _ in range(10):
            builder.add(table)
        assert list(builder.schema().columns[0].levels) == levels
        return time.process_time() - start

    few, many = (min(seconds(n) for _ in range(3)) for n in (1000, 9000))
    assert many < 40 * few  # nine times as many; were all compared with all, it would be 81


def test_numbers_name_columns_by_name_or_position():
    table = as_table(pd.DataFrame([[1, 2], [1, 3]], columns=[10, 20]))
    for chosen in ([10], [0], ["10"]):
        assert isinstance(learn_schema(table, categorical=chosen).columns[0], Category)
    with pytest.raises(InputError, match="categorical names 2, which is neither the name nor the position of a column"):
        learn_schema(table, categorical=[2])
    swapped = as_table(pd.DataFrame([[1, 2], [1, 3]], columns=[1, 0]))
    with pytest.raises(InputError, match="names 0, which is the name of one column and the position of another, '1'"):
        learn_schema(swapped, categorical=[0])


def test_weights_are_repeats():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(50, 2)), rng.integers(1, 4, 50)
    repeated = np.repeat(X, w, axis=0)
    assert learn_schema(as_table(X), w.astype(float)) == learn_schema(as_table(repeated))


def test_parts_are_as_good_as_the_whole(frame):
    whole = learn_schema(as_table(frame))
    builder = SchemaBuilder()
    for part in (frame[:1], frame[1:]):
        builder.add(as_table(part))
    assert builder.schema() == whole


def test_whole_numbers_with_few_values_are_offered(frame):
    often = pd.concat([frame.assign(age=frame.age + i / 7) for i in range(4)])
    (note,) = learn_schema(as_table(often)).notes()
    assert note.startswith("whole numbers with few different values: rooms (4); name them in `categorical`")
    schema = learn_schema(as_table(frame), categorical=["rooms"])
    assert schema.columns[3].levels == (1, 2, 3, 4)


def test_there_and_back_in_words(frame):
    schema = learn_schema(as_table(frame)).with_intercept()
    assert Schema.from_words(json.loads(json.dumps(schema.to_words()))) == schema
    for bad in (None, {}, {"columns": [3]}, {"columns": [{"kind": "numeric", "name": 3}]}):
        with pytest.raises(FileError):
            Schema.from_words(bad)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            pd.to_datetime(["2020-01-01", "2020-01-02"]),
            r"column 'c' holds dates or times \(datetime64.*turn it into some",
        ),
        (pd.Series(["x", "y"]), r"column 'c' holds text, .* name it in categorical=\['c'\]"),
        (pd.Series([[1], [2]]), r"column 'c' holds list objects such as \[1\], .*; spread them over columns"),
        (pd.Series([{"k": 1}, {}]), r"column 'c' holds dict objects such as {'k': 1}, .*; spread them over columns"),
        (pd.Series([b"x", None]), r"column 'c' holds bytes objects such as b'x', .*; decode them to text"),
        (pd.Series([date(2020, 1, 1), None]), r"column 'c' holds dates or times \(date\), which are no numbers"),
        (pd.Series([1 + 2j, 3j], dtype=object), r"column 'c' holds complex objects such as \(1\+2j\)"),
        (pd.Series(["x", 2]), r"column 'c' mixes str and int, such as 'x' and 2; give its values one type, or name"),
        ([1e305, -1e305], r"column 'c' goes from -1e\+305 to 1e\+305, whose differences leave float64; divide it"),
        (pd.Series([None, None]), "column 'c' has no value at all: nothing can be learned from it"),
        ([0.0, np.inf], r"column 'c' has inf in row 1: Input X contains infinity\. Replace it"),
        ([np.nan, np.nan], "column 'c' has no value at all: nothing can be learned from it"),
    ],
)
def test_columns_that_cannot_be_used_are_named(column, message):
    with pytest.raises(InputError, match=message):
        learn_schema(as_table(pd.DataFrame({"b": [1.0, 2.0], "c": column})))


def test_objects_are_taken_for_what_they_are():
    table = pd.DataFrame(
        {
            "yes": pd.Series([True, None, False]),
            "number": pd.Series([1.5, 2, None], dtype=object),
            "price": pd.Series([Decimal("1.5"), Decimal(2), None]),
        }
    )
    yes, number, price = learn_schema(as_table(table)).columns
    assert yes.levels == (False, True, None)
    assert (number.low, number.high, number.missing) == (price.low, price.high, price.missing) == (1.5, 2.0, True)


def test_objects_as_levels_are_named():
    with pytest.raises(InputError, match="column 'c' holds tuple objects such as"):
        learn_schema(as_table(pd.DataFrame({"c": [(1,), (2,)]})), categorical=["c"])
    with pytest.raises(InputError, match="categorical names 'd', which is no column; there are c"):
        learn_schema(as_table(pd.DataFrame({"c": [1, 2]})), categorical=np.array(["d"]))
    with pytest.raises(InputError, match="categorical must be 'auto' or a list of columns, got 'c'"):
        learn_schema(as_table(pd.DataFrame({"c": [1, 2]})), categorical="c")


def test_other_columns_at_prediction_are_named(frame):
    schema = learn_schema(as_table(frame))
    with pytest.raises(InputError, match="the columns are in another order than in training: rooms, member"):
        schema.encode(as_table(frame[frame.columns[::-1]]))
    with pytest.raises(InputError, match=r"\(missing: 'age'; new: 'Age'\); select or rename them"):
        schema.encode(as_table(frame.rename(columns={"age": "Age"})))
    with pytest.raises(InputError, match="column 'age' held numbers in training, and now 'old'"):
        schema.encode(as_table(frame.assign(age="old")))
    with pytest.raises(
        InputError, match="column 'member' held labels such as False in training, and now 2, of another"
    ):
        schema.encode(as_table(frame.assign(member=2)))
    double = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(InputError, match="two columns of the table have one name"):
        as_table(double)


SAME_LABELS = [
    (["1", "2", "x"], [1, 2, 1]),
    ([1, 2, 3], ["1", "2", "3"]),
    ([1, 2, 3], ["1.0", "2.0", "3.0"]),
    ([1, 2.5, 3], ["1", "2.5", "3"]),
    ([False, True, False], [0, 1, 0]),
    ([0, 1, 0], [False, True, False]),
    ([False, True, False], ["false", "True", "false"]),
]


@pytest.mark.parametrize(("before", "now"), SAME_LABELS)
def test_labels_of_another_type_are_the_same_where_nothing_is_lost(before, now):
    schema = learn_schema(as_table(pd.DataFrame({"c": before})), categorical=["c"])
    coded = schema.encode(as_table(pd.DataFrame({"c": now})))[:, 0]
    levels = [schema.columns[0].levels[int(code)] for code in coded]
    assert [str(v) for v in levels[:2]] == [str(v) for v in before[:2]]
    assert (coded >= 0).all()


def test_labels_with_leading_zeros_are_no_numbers():
    schema = learn_schema(as_table(pd.DataFrame({"c": [1, 7]})), categorical=["c"])
    with pytest.raises(InputError, match="held labels such as 1 in training, and now '007', of another type"):
        schema.encode(as_table(pd.DataFrame({"c": ["007"]})))


@pytest.mark.parametrize("make", MAKES)
def test_a_column_of_nothing_at_prediction_is_missing(frame, make):
    schema = learn_schema(as_table(frame))
    nothing = pd.Series([None] * 4, dtype=object)
    empty = MAKES[make](frame.assign(age=nothing, city=nothing))
    if make == "polars":
        empty = empty.with_columns(age=pl.lit(None), city=pl.lit(None))  # of the type Null
    coded = schema.encode(as_table(empty))
    assert coded[:, 1].tolist() == [0, 0, 0, 0]
    assert coded[:, 2].tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("dtype", ["int64", "uint64", "Int64", "int64[pyarrow]"])
def test_whole_numbers_beyond_float64_are_rounded(dtype):
    frame = pd.DataFrame({"x": pd.Series([2**53 + 1, 3], dtype=dtype)})
    for table in (frame, pa.Table.from_pandas(frame)):
        assert as_table(table).numbers(0).tolist() == [2.0**53, 3.0]


def test_lazy_tables_are_named(frame):
    with pytest.raises(InputError, match=r"X is a lazy table \(LazyFrame\), .* call `.collect\(\)` first"):
        as_table(pl.from_pandas(frame).lazy())
