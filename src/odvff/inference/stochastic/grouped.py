"""Terms of one shape whitened together, so that what JAX compiles does not grow with the number of columns.

A Fourier term knows its column only by t = (x−a)/L and μ = λL. So Fourier terms with as many harmonics and the same
smoothness are one computation on the unit box, mapped over their lengthscales, variances and columns. (The algebra
inside is elementwise or of size up to four and written out: no LAPACK call is batched.)
"""

from typing import Any

import jax
import jax.numpy as jnp

from odvff.features import Fourier
from odvff.kernels import Matern, matern, one_column
from odvff.linalg.blocks import slices
from odvff.support.arrays import Array
from odvff.terms import Sum, Term


def whiten(terms: Sum, X: Array) -> Array:
    """ψ(X) = C⁻¹ Kuf(X), of shape (|β|, N), in the order of the terms."""
    groups = _alike(terms)
    psi = jnp.concatenate([_whiten_group([terms.terms[i] for i in members], X) for members in groups])
    members = [i for group in groups for i in group]
    if members == sorted(members):
        return psi
    # groups follow each other, the terms may be mixed
    found = dict(zip(members, slices([terms.terms[i].Kuu().size for i in members]), strict=True))
    return jnp.concatenate([psi[found[i]] for i in range(len(terms))])


def _alike(terms: Sum) -> list[list[int]]:
    """Positions of the terms, those of one shape together."""
    groups: dict[Any, list[int]] = {}
    for i, term in enumerate(terms):
        f = term.features
        shape = (f.n_harmonics, f.completion, matern(term.kernel).smoothness) if isinstance(f, Fourier) else i
        groups.setdefault(shape, []).append(i)
    return list(groups.values())


def _whiten_group(terms: list[Term], X: Array) -> Array:
    """ψ of terms of one shape, stacked."""
    if len(terms) == 1:
        return terms[0].Kuu().factor().solve(terms[0].Kuf(X))
    parts = [_on_the_unit_box(term, X) for term in terms]
    kernels = [kernel for kernel, _, _ in parts]
    smoothness, features = kernels[0].smoothness, parts[0][1]

    def one(lengthscale: Array, variance: Array, t: Array) -> Array:
        kernel = Matern(smoothness, lengthscale, variance)
        return features.Kuu(kernel).factor().solve(features.Kuf(kernel, t[:, None]))

    lengthscales = jnp.stack([jnp.asarray(k.lengthscale) for k in kernels])
    variances = jnp.stack([jnp.asarray(k.variance) for k in kernels])
    psi = jax.vmap(one)(lengthscales, variances, jnp.stack([t for _, _, t in parts]))
    return psi.reshape(-1, X.shape[0])


def _on_the_unit_box(term: Term, X: Array) -> tuple[Matern, Fourier, Array]:
    """The same term in terms of t = (x−a)/L."""
    kernel, features = matern(term.kernel), term.features
    assert isinstance(features, Fourier)
    columns = term.select(X)
    x = columns[:, one_column(term.kernel, columns.shape[1])]
    scaled = Matern(kernel.smoothness, kernel.lengthscale / features.length, kernel.variance)
    unit = Fourier(features.n_harmonics, (0.0, 1.0), features.completion)
    return scaled, unit, (x - features.interval[0]) / features.length
