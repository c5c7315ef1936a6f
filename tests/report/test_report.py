"""The report: what it says, that it is one safe file, and that its figures are Plotly's."""

import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from odvff import FileError, InputError, ODVFFRegressor
from odvff.report import render, write_report
from odvff.report.numbers import along, number, percent
from odvff.report.palette import DARK_OF, PAIRS
from odvff.report.words import warnings
from tests.report.models import EVIL, QUOTES, N, classifier, regressor, surface

pytest.importorskip("plotly", reason="reports are drawn by plotly")
pytestmark = [
    pytest.mark.filterwarnings("ignore:the fit stopped before it converged"),
    pytest.mark.filterwarnings("ignore:the sites stopped before they converged"),
]

VOID = {"meta", "link", "input", "img", "br"}


class Reader(HTMLParser):
    """What a page holds: elements in order, their nesting, and the text that people see."""

    def __init__(self, page):
        super().__init__()
        self.open, self.elements, self.text, self.scripts = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] == "script":
            self.scripts.append(data)
        elif self.open and self.open[-1] != "style":
            self.text.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def words(self):
        return " ".join("".join(self.text).replace("\N{NO-BREAK SPACE}", " ").split())

    @property
    def data(self):
        return json.loads(self.scripts[0])


MODELS = {
    "gaussian": regressor,
    "student-t": lambda: regressor("student-t"),
    "poisson": lambda: regressor("poisson"),
    "surface": surface,
    "three columns": lambda: surface(3),
    "probit": classifier,
    "logit": lambda: classifier(2, "logit"),
}


@pytest.fixture(scope="module")
def made():
    """Models, made when they are first asked for."""
    known = {}

    def get(kind):
        if kind not in known:
            model, evaluation = MODELS[kind]()
            known[kind] = (model, evaluation, render(model, evaluation, name=EVIL))
        return known[kind]

    return get


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_has_a_whole_and_safe_page(made, kind):
    _, _, page = made(kind)
    read = Reader(page)
    assert read.open == []  # all is closed, in order
    assert read.all("html")[0]["lang"] == "en"
    assert not read.all("img")
    assert not any(name.startswith("on") for _, attributes in read.elements for name in attributes)
    assert len(read.scripts) == 3
    assert page.count("plotly.js v") == 1
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in read.all("a")]
    assert all(link.startswith("#") and link[1:] in ids for link in links)
    assert EVIL in read.words


@pytest.mark.parametrize("kind", MODELS)
def test_figures_are_plotlys(made, kind):
    import plotly.graph_objects as go

    figures = Reader(made(kind)[2]).data["figures"]
    assert len(figures) >= 4
    for figure in figures.values():
        go.Figure({"data": figure["data"], "layout": figure["layout"]}, skip_invalid=False)
        titles = [
            axis["title"]["text"] for name, axis in figure["layout"].items() if "axis" in name and "title" in axis
        ]
        assert not any("<" in title for title in titles)


@pytest.mark.parametrize("kind", MODELS)
def test_figures_have_words_and_tables(made, kind):
    read = Reader(made(kind)[2])
    frames = read.all("figure")
    places = [a for a in read.all("div") if a.get("class") == "plot"]
    assert {a["id"] for a in places} == set(read.data["figures"])
    assert len(frames) == len(places) == len(read.all("figcaption"))
    assert all(a["role"] == "img" and a["aria-label"] for a in places)
    assert all(a["role"] == "group" and a["aria-labelledby"] for a in frames)
    assert len(read.all("details")) >= len(places)
    headings = [int(tag[1]) for tag, _ in read.elements if re.fullmatch(r"h[1-6]", tag)]
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(headings))
    for landmark in ("header", "nav", "main", "footer"):
        assert len(read.all(landmark)) == 1


def test_the_page_forbids_what_it_does_not_need(made):
    import base64
    import hashlib

    read = Reader(made("gaussian")[2])
    policy = next(a["content"] for a in read.all("meta") if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert "http" not in policy
    assert "unsafe-eval" not in policy
    allowed = re.search(r"script-src ([^;]*)", policy)[1].split()
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in read.scripts[1:]]
    assert sorted(allowed) == sorted(f"'sha256-{h}'" for h in hashes)


def test_what_a_regression_says(made):
    model, evaluation, page = made("gaussian")
    words = Reader(page).words
    assert "predicts y, a number, from 5 columns (2 numeric, 3 categories)" in words
    assert f"It learned from {N} rows; values were missing in 1 column." in words
    assert f"On {N} labelled rows its predictions were typically off by {number(evaluation.metrics['rmse'])}" in words
    assert "Whole numbers with few different values: rooms (5)" in words
    for heading in (
        "How good it is",
        "Effects",
        "Calibration of intervals",
        "Probability transforms",
        "Missing values",
    ):
        assert heading in words
    assert "30 levels, from the highest to the lowest" in words
    assert QUOTES in words
    shares = [row["share"] for row in model.rows_of_summary()]
    assert percent(max(shares)).replace("\N{NO-BREAK SPACE}", " ") in words
    order = re.findall(r'<h3 id="figure-\d+-title">([^<]*)</h3>', page)
    assert "onerror" in order[0]  # the sine is the strongest
    numbers = {row["term"]: row for row in model.rows_of_summary()}
    assert number(numbers[EVIL]["lengthscales"][EVIL]) in words


def test_without_an_evaluation_it_says_so(made):
    model, _, page = made("gaussian")
    bare = render(model)
    words = Reader(bare).words
    assert "There is no evaluation on labelled rows here" in words
    assert "Calibration of intervals" not in words
    assert len(bare) < len(page)


def test_what_classes_say(made):
    page = made("probit")[2]
    read = Reader(page)
    assert "one of 3 classes" in read.words
    options = read.all("option")
    assert [a["value"] for a in options] == ["0", "1", "2"]
    parts = [a for a in read.all("div") if "data-class" in a]
    assert ["hidden" in a for a in parts] == [False, True, True]
    assert "Confusion" in read.words
    assert sum("Reliability" in title for title in re.findall(r"<h3[^>]*>([^<]*)</h3>", page)) == 3
    assert "ended before it converged" in read.words
    two = Reader(made("logit")[2])
    assert not two.all("select")
    assert "the more probable it is, and the less" in two.words


def test_surfaces_have_a_switch_and_joint_effects_of_three_are_told(made):
    page = made("surface")[2]
    read = Reader(page)
    assert [a["data-view"] for a in read.all("input") if "data-view" in a] == ["0", "1"]
    surface = next(f for f in read.data["figures"].values() if f["views"])
    assert [trace["type"] for trace in surface["data"]] == ["contour", "contour"]
    joint = Reader(made("three columns")[2])
    assert "axis 0 × axis 1 × axis 2 depends on 3 columns at once, so there is no picture of it" in joint.words
    assert not any(f["views"] for f in joint.data["figures"].values())


def test_surfaces_show_columns_the_right_way_round():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a × b": rng.uniform(0, 1, 200), "c": rng.uniform(10, 20, 200)})
    model = ODVFFRegressor(structure="separable", n_harmonics=2).fit(X, X["a × b"])
    surface = next(f for f in Reader(render(model.model_)).data["figures"].values() if f["views"])
    mean = np.array(surface["data"][0]["z"])  # rows are y, columns are x
    assert surface["layout"]["xaxis"]["title"]["text"] == "a × b"
    assert surface["data"][0]["y"][0] > 9
    assert np.abs(mean[:, -1] - mean[:, 0]).mean() > 10 * np.abs(mean[-1] - mean[0]).mean()


def test_many_levels_and_many_columns_stay_readable():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({f"x{i}": rng.uniform(0, 1, 600) for i in range(3)})
    X["id"] = pd.Categorical([f"person {i}" for i in range(600)])
    model = ODVFFRegressor(n_harmonics=2, max_iter=5).fit(X, X.x0 + rng.standard_normal(600))
    page = render(model.model_)
    words = Reader(page).words
    assert "The 400 strongest of 600 levels, from the highest to the lowest" in words
    assert "id has 600 levels for 600 rows: most of them were hardly seen" in words
    assert 'class="scroll" tabindex="0"' in page


def test_warnings_come_from_the_evaluation(made):
    model, evaluation, _ = made("gaussian")

    def said(**changes):
        levels = tuple((a, changes.get("coverage", b) if a == 0.95 else b) for a, b in evaluation.calibration)
        metrics = evaluation.metrics | changes.get("metrics", {})
        n_rows = changes.get("n_rows", 5000)
        return " ".join(warnings(model, replace(evaluation, calibration=levels, metrics=metrics, n_rows=n_rows)))

    fine = said(coverage=0.955)
    assert "intervals held" not in fine
    assert "hardly" not in fine
    assert "too narrow" in said(coverage=0.9)
    assert "too wide" in said(coverage=0.99)
    assert "intervals held" not in said(coverage=0.9, n_rows=20)  # so few rows say nothing
    assert "just 20 rows" in said(n_rows=20)
    assert "hardly explained" in said(metrics={"r2": 0.05})
    assert "worse than always saying the mean" in said(metrics={"r2": -0.5})
    rng = np.random.default_rng(0)
    noise = ODVFFRegressor(n_harmonics=2).fit(rng.uniform(size=(300, 1)), rng.normal(size=300))
    assert "hardly explained" in " ".join(warnings(noise.model_, None))


def test_the_evaluation_must_be_of_this_task(made):
    with pytest.raises(InputError, match="the evaluation is one of classification, which ODVFFRegressor does not do"):
        render(made("gaussian")[0], made("probit")[1])


def test_writing_is_atomic(made, tmp_path, monkeypatch):
    model, evaluation, _ = made("gaussian")
    path = tmp_path / "report.html"
    write_report(path, model, evaluation, name="first")
    before = path.read_bytes()
    assert before.decode() == render(model, evaluation, name="first")

    def fails(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        with pytest.raises(FileError, match=r"report\.html cannot be written: No space left on device"):
            write_report(path, model)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["report.html"]
    with pytest.raises(FileError, match=r"nowhere.*cannot be written"):
        write_report(tmp_path / "nowhere" / "report.html", model)


def test_names_of_any_kind_can_be_written(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"größe \x01": rng.uniform(size=100), "$title": rng.uniform(size=100)})
    model = ODVFFRegressor(n_harmonics=2).fit(X, X["$title"])
    write_report(tmp_path / "r.html", model.model_, name="$policy \ud800")
    assert "<h1>$policy ?</h1>" in (tmp_path / "r.html").read_text(encoding="utf-8")


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_texts_have_contrast():
    assert len(DARK_OF) == len(PAIRS)
    for theme in (0, 1):
        for text in ("text", "muted", "accent"):
            for ground in ("background", "surface"):
                a, b = sorted((luminance(PAIRS[name][theme]) for name in (text, ground)), reverse=True)
                assert (a + 0.05) / (b + 0.05) >= 4.5, (text, ground)
        a, b = sorted((luminance(PAIRS[name][theme]) for name in ("text", "warning")), reverse=True)
        assert (a + 0.05) / (b + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234.5678, "1235"),
        (123456.7, "123,500"),
        (-0.0012345, "−0.00123"),
        (2.5e9, "2.50 × 10⁹"),
        (-3e-7, "−3.00 × 10⁻⁷"),
        (float("nan"), "–"),
        (99.96, "100.0"),
    ],
)
def test_numbers(value, text):
    assert number(value).replace("\N{NO-BREAK SPACE}", " ") == text


def test_numbers_along_a_column():
    assert along([2010.0, 2012.5, 2015.0]) == ["2010.0", "2012.5", "2015.0"]
    assert along([1, 2, 3]) == ["1", "2", "3"]
    assert along([5.0, 5.0]) == ["5.000", "5.000"]
    assert percent(0.00001).replace("\N{NO-BREAK SPACE}", " ") == "< 0.1 %"
