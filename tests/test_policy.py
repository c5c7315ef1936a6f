"""Every number that decides what a fit does stands in the policy, with its reason, and nowhere else."""

import ast
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import numpy as np
import pytest

import odvff
from odvff.errors import InputError
from odvff.methods import Options, fit_method
from odvff.policy import DEFAULT, Policy

NAMES = {field.name for field in fields(Policy)}
MODULES = sorted(Path(odvff.__file__).parent.rglob("*.py"))


def assigned(tree):
    """Names that a module or a class assigns."""
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            yield from (name.id for name in ast.walk(target) if isinstance(name, ast.Name)) if target else ()


@pytest.mark.parametrize("field", fields(Policy), ids=lambda field: field.name)
def test_every_number_has_a_reason(field):
    reason = field.metadata["reason"]
    assert len(reason.split()) >= 8
    assert reason.endswith(".")


def test_no_module_has_a_constant_with_the_name_of_one():
    assert len(MODULES) > 100
    for module in MODULES:
        constants = {name for name in assigned(ast.parse(module.read_text())) if name.isupper()}
        taken = {name.lower().lstrip("_") for name in constants} & NAMES
        assert not taken, f"{module} has {taken} too"


def test_every_number_is_used():
    text = "".join(module.read_text() for module in MODULES if module.name != "policy.py")
    used = {node.attr for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Attribute)}
    assert used >= NAMES


def test_a_policy_is_a_value():
    assert replace(DEFAULT) == DEFAULT == Policy()
    assert replace(DEFAULT, pair_features=250).pair_limit == 10
    with pytest.raises(FrozenInstanceError):
        DEFAULT.exact_rows = 1


def test_a_fit_does_what_its_policy_says():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1, (300, 2))
    y = np.sin(30 * X[:, 0]) + 0.1 * rng.standard_normal(300)
    y -= y.mean()
    few = Options(policy=replace(DEFAULT, most_harmonics=4, column_features=400))
    assert max(term.features.n_harmonics for term in fit_method("vff", X, y, few).fit.terms) == 4
    assert max(term.features.n_harmonics for term in fit_method("vff", X, y).fit.terms) > 4
    with pytest.raises(InputError, match="it is allowed up to 100 rows"):
        fit_method("exact", X, y, Options(policy=replace(DEFAULT, exact_rows=100)))
