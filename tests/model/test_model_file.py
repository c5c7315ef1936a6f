"""Model files: the same predictions to the bit in a fresh process, and one clear error for anything else."""

import contextlib
import json
import subprocess
import sys
import textwrap
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import odvff
from odvff import FileError, InputError, ODVFFClassifier, ODVFFRegressor
from odvff.support import storage

pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit stopped before it converged"),
    pytest.mark.filterwarnings("ignore:the sites stopped before they converged"),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.uniform(0, 1, 300), "c": pd.Categorical(rng.choice(["x", "y"], 300))})
    frame.loc[:20, "a"] = np.nan
    return frame, np.sin(6 * frame.a.fillna(0)) + (frame.c == "x") + 0.1 * rng.normal(size=300)


MODELS = {
    "default": lambda X, y: ODVFFRegressor().fit(X, y),
    "points for the mean": lambda X, y: ODVFFRegressor(n_harmonics=2, n_inducing=5, random_state=3).fit(X, y),
    "points": lambda X, y: ODVFFRegressor(method="sgpr", n_inducing=8, max_iter=5).fit(X, y),
    "counts": lambda X, y: ODVFFRegressor(likelihood="poisson", n_harmonics=2, max_iter=3).fit(X, np.round(y + 3)),
    "robust": lambda X, y: ODVFFRegressor(likelihood="student-t", n_harmonics=2, max_iter=3).fit(X, y),
    "array": lambda X, y: ODVFFRegressor(structure="separable", n_harmonics=2).fit(np.stack([y, y**2], axis=1), y),
    "labels": lambda X, y: ODVFFClassifier(n_harmonics=2, max_iter=3, categorical=["c"]).fit(
        X, np.where(y > 0, "b", "a")
    ),
    "classes": lambda X, y: ODVFFClassifier(n_harmonics=2, max_iter=3).fit(X, np.arange(300) % 3),
    "svgp": lambda X, y: ODVFFRegressor(method="svgp", n_inducing=6, max_iter=3).fit(X, y),
    "odvgp": lambda X, y: ODVFFRegressor(method="odvgp", n_inducing=8, max_iter=3).fit(X, y),
    "stochastic": lambda X, y: ODVFFClassifier(inference="stochastic", n_harmonics=2, n_inducing=3, max_iter=3).fit(
        X, y > 0
    ),
    "exact": lambda X, y: ODVFFRegressor(method="exact", max_iter=3).fit(np.stack([y, y**2], axis=1)[:60], y[:60]),
}


@pytest.mark.parametrize("kind", MODELS)
def test_there_and_back(tmp_path, data, kind):
    X, y = data
    model = MODELS[kind](X, y)
    path = tmp_path / "m.odvff"
    model.save(path)
    again = odvff.load(path)
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    X = np.stack([y, y**2], axis=1) if kind in ("array", "exact") else X
    assert np.array_equal(again.predict(X), model.predict(X))
    if isinstance(model, ODVFFClassifier):
        assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
        assert again.classes_.tolist() == model.classes_.tolist()
        assert again.classes_.dtype == model.classes_.dtype
    else:
        assert np.array_equal(again.predict(X, return_std=True)[1], model.predict(X, return_std=True)[1])
        effects, before = again.effects(X), model.effects(X)
        assert all(np.array_equal(effects[name].std, before[name].std) for name in before)
        assert str(again.summary()) == str(model.summary())
    again.save(tmp_path / "again.odvff")
    (arrays, header), (arrays_before, before) = (storage.read(p, "model") for p in (tmp_path / "again.odvff", path))
    assert header == before
    assert all(np.array_equal(arrays[name], value) for name, value in arrays_before.items())


def test_a_fresh_process_predicts_the_same(tmp_path, data):
    X, y = data
    model = ODVFFRegressor().fit(X, y)
    model.save(tmp_path / "m.odvff")
    X.to_parquet(tmp_path / "x.parquet")
    code = """
        import sys, numpy as np, pandas as pd, odvff
        model = odvff.load("m.odvff")
        assert "jax" not in sys.modules
        np.save("p.npy", np.stack(model.predict(pd.read_parquet("x.parquet"), return_std=True)))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True, cwd=tmp_path)
    assert np.array_equal(np.load(tmp_path / "p.npy"), np.stack(model.predict(X, return_std=True)))


def test_the_file_holds_no_rows(tmp_path):
    rng = np.random.default_rng(0)
    sizes = []
    for n in (500, 20_000):
        X = rng.uniform(0, 1, (n, 1))
        ODVFFRegressor(n_harmonics=5).fit(X, np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=n)).save(tmp_path / "m")
        sizes.append((tmp_path / "m").stat().st_size)
    assert max(sizes) < 20_000
    header = odvff.model.file.inspect(tmp_path / "m")
    assert header["versions"]["odvff"] == odvff.__version__
    assert header["schema"]["columns"][0]["name"] == "x0"


@pytest.fixture(scope="module")
def content(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("model") / "m.odvff"
    ODVFFRegressor(n_harmonics=2, n_inducing=4).fit(*data).save(path)
    return storage.read(path, "model")


def changed(header, where, value):
    """A copy of a header with one value replaced."""
    header = json.loads(json.dumps(header))
    place = header
    for key in where[:-1]:
        place = place[key]
    place[where[-1]] = value
    return header


def places(value, where=()):
    """The paths of all values in a header."""
    yield where
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, v in inner:
        yield from places(v, (*where, key))


ODD = [
    None,
    True,
    -1,
    0,
    3,
    10**12,
    10**400,
    1e308,
    -0.5,
    "",
    "x",
    "../../etc/passwd",
    "__import__('os')",
    [],
    {},
    [[]],
    {"kind": "x"},
]


@pytest.mark.filterwarnings("ignore:X has feature names")
@settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_forged_header_is_one_error_or_a_model(tmp_path_factory, content, data, draw):
    arrays, header = content
    where = draw.draw(st.sampled_from([p for p in places(header) if p]))
    path = tmp_path_factory.mktemp("forged") / "m.odvff"
    storage.write(path, "model", arrays, changed(header, where, draw.draw(st.sampled_from(ODD))))
    with contextlib.suppress(FileError):
        model = odvff.load(path)
        with contextlib.suppress(InputError):  # a forged schema may not fit the table
            assert np.isfinite(model.predict(data[0])).all()


@pytest.mark.parametrize("damage", ["nan", "shape", "dtype", "missing", "empty", "extra dimension"])
def test_forged_arrays_are_refused(tmp_path, content, damage):
    arrays, header = content
    path = tmp_path / "m.odvff"
    for name in arrays:
        value = arrays[name]
        if value.size == 0 or (name.endswith("history") and damage in ("shape", "empty")):
            continue  # a history of any length is one
        forged = dict(arrays)
        if damage == "missing":
            del forged[name]
        else:
            forged[name] = {
                "nan": np.full_like(value, np.nan),
                "shape": np.concatenate([value, value]),
                "dtype": value.astype(np.float32),
                "empty": value[:0],
                "extra dimension": value[None, None],
            }[damage]
        storage.write(path, "model", forged, header)
        with pytest.raises(FileError, match=r"m\.odvff"):
            odvff.load(path)


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        (("estimator",), "os.system", "unknown estimator, 'os.system'"),
        (("estimator",), "ODVFFClassifier", "it holds a regression, which its estimator does not do"),
        (("parameters", "shell"), "rm", "unknown parameter 'shell'"),
        (("outputs", 0, "terms", 0, "features", "n_harmonics"), 10**12, "has 1000000000000 harmonics or levels"),
        (("outputs", 0, "terms", 0, "kernel", "kind"), "pickle", "the kernel 'pickle', which is none"),
        (("outputs", 0, "likelihood"), "probit", "its likelihood is not one of this estimator's"),
        (("outputs", 0, "scale"), -1.0, "a scale in it is not positive"),
        (("outputs", 0, "terms", 0, "columns"), [99], "reads a column that is not there"),
        (("outputs", 0, "terms", 0, "columns"), [1, 1], "a term in it reads a column twice"),
        (("outputs", 0, "terms", 0, "name"), "c", "two terms are called 'c'"),
        (("schema", "columns", 0, "high"), -5.0, "the box or the range is empty"),
        (("outputs",), [], "it has no output"),
        (("method",), "magic", "it was made by an unknown method: 'magic', 'collapsed', 'additive'"),
        (("structure",), "tree", "it was made by an unknown method: 'odvff', 'collapsed', 'tree'"),
        (("parameters", "smoothness"), {"a": 1}, "its parameter 'smoothness' is neither a value nor a list"),
    ],
)
def test_forged_values_are_named(tmp_path, content, where, value, message):
    arrays, header = content
    storage.write(tmp_path / "m.odvff", "model", arrays, changed(header, where, value))
    with pytest.raises(FileError, match=message):
        odvff.load(tmp_path / "m.odvff")


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a", "a"], dtype=object),
        np.array([3, 7, 7], dtype=np.uint8),
        np.array([1.0, 2.0, 2.0], dtype=np.float32),
        np.array([True, False, False]),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_classes_keep_their_type(tmp_path, labels):
    X = np.arange(12.0)[:, None]
    model = ODVFFClassifier(n_harmonics=1, max_iter=1).fit(X, np.tile(labels, 4))
    model.save(tmp_path / "m.odvff")
    again = odvff.load(tmp_path / "m.odvff")
    assert again.classes_.dtype == model.classes_.dtype
    assert again.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (["a", "a"], "its classes are not two or more different labels"),
        ([["a"], ["b"]], "its classes are not two or more different labels"),
        ([None, None], "its classes are not two or more different labels"),
        ([True, 1], "its classes are not all of the type '<U1'"),
        (["a", "c"], "its classes and outputs do not go together"),
        (["a", "b", "c"], "its classes and outputs do not go together"),
        (["aaa", "b"], "its classes do not go into the type '<U1'"),
    ],
)
def test_forged_classes_are_named(tmp_path, value, message):
    path = tmp_path / "m.odvff"
    ODVFFClassifier(n_harmonics=1, max_iter=1).fit(np.arange(8.0)[:, None], list("abababab")).save(path)
    arrays, header = storage.read(path, "model")
    storage.write(path, "model", arrays, changed(header, ("classes",), value))
    with pytest.raises(FileError, match=message):
        odvff.load(path)
    storage.write(path, "model", arrays, changed(header, ("classes_type",), "<U99999"))
    with pytest.raises(FileError, match="its classes are of the type '<U99999', which is none of labels"):
        odvff.load(path)


def test_a_small_file_makes_no_large_matrix(tmp_path, data):
    """A forged number of points is refused before a matrix of them is made, also where the file has them all."""
    path = tmp_path / "m.odvff"
    MODELS["points"](*data).save(path)
    arrays, header = storage.read(path, "model")
    many = 20_000
    header["outputs"][0]["root"] = "diagonal"
    forged = {**arrays, "0.mean": np.zeros(many), "0.root": np.ones(many), "0.0.locations": np.zeros((many, 1))}
    storage.write(path, "model", forged, header)
    with pytest.raises(FileError, match="its covariance has the wrong size or form"):
        odvff.load(path)
    header["outputs"][0]["root"] = "upper"
    storage.write(path, "model", {**arrays, "0.0.locations": np.zeros((many, 1))}, header)
    with pytest.raises(FileError, match=r"has 20000 harmonics or levels \(or points\), and the mean"):
        odvff.load(path)


def test_a_model_that_has_no_place_in_a_file_is_named(tmp_path, data):
    model = ODVFFRegressor(n_harmonics=2, n_inducing=0).fit(*data)
    output = replace(model.model_.outputs[0], bound=np.nan)
    model.model_ = replace(model.model_, outputs=(output,))
    with pytest.raises(FileError, match="cannot be written: a value of the model has no place in a file"):
        model.save(tmp_path / "m.odvff")
    assert not list(tmp_path.iterdir())


def test_other_files_are_refused(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        odvff.load(tmp_path / "none")
    (tmp_path / "text").write_text("hello")
    with pytest.raises(FileError, match="is no odvff model file, or a damaged one"):
        odvff.load(tmp_path / "text")
    storage.write(tmp_path / "checkpoint", "checkpoint", {"a": np.ones(3)}, {})
    with pytest.raises(FileError, match="it holds 'odvff checkpoint'"):
        odvff.load(tmp_path / "checkpoint")
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        ODVFFRegressor().save(tmp_path / "m")
