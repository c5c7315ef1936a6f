"""Columns of tables of every make: kinds, boxes, levels, missing values, and what is said when something is wrong."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from odvff import FileError, InputError
from odvff.data import Category, MemorySource, Numeric, Schema, as_table
from odvff.data.columns import FAR
from odvff.data.schema import SchemaBuilder
from odvff.data.source import learn_schema as learn


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
    assert coded[:, 1].tolist() == [-1, -1, 0, -1]
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
    (column,) = learn_schema(as_table(np.full((5, 1), 3.0))).columns
    assert column.low < 3.0 < column.high


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
        (pd.Series([[1], [2]]), "column 'c' holds text|neither a number nor a category"),
        ([0.0, np.inf], r"column 'c' has inf in row 1: Input X contains infinity\. Replace it"),
        ([np.nan, np.nan], "column 'c' has no value at all: nothing can be learned from it"),
    ],
)
def test_columns_that_cannot_be_used_are_named(column, message):
    with pytest.raises(InputError, match=message):
        learn_schema(as_table(pd.DataFrame({"b": [1.0, 2.0], "c": column})))


def test_objects_as_levels_are_named():
    with pytest.raises(InputError, match="column 'c' holds tuple objects such as"):
        learn_schema(as_table(pd.DataFrame({"c": [(1,), (2,)]})), categorical=["c"])
    with pytest.raises(InputError, match="categorical names 'd', which is no column; there are c"):
        learn_schema(as_table(pd.DataFrame({"c": [1, 2]})), categorical=["d"])
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
        InputError, match="column 'member' held labels such as False in training, and now 1, of another"
    ):
        schema.encode(as_table(frame.assign(member=1)))
    double = pd.DataFrame([[1.0, 2.0]], columns=["x", "x"])
    with pytest.raises(InputError, match="two columns of the table have one name"):
        as_table(double)


def test_a_column_of_nothing_at_prediction_is_missing(frame):
    schema = learn_schema(as_table(frame))
    coded = schema.encode(as_table(frame.assign(age=pd.Series([None] * 4, dtype=object))))
    assert coded[:, 1].tolist() == [0, 0, 0, 0]
