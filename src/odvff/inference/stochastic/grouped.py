"""Terms of one shape whitened together, so that what JAX compiles does not grow with the number of columns.

A Fourier term knows its column only by t = (x−a)/L and μ = λL. So Fourier terms with as many harmonics and the same
smoothness are one computation on the unit box, mapped over their lengthscales, variances and columns. (The algebra
inside is elementwise or of size up to four and written out: no LAPACK call is batched.)
"""

import jax
import jax.numpy as jnp

from odvff.linalg.composed import slices
from odvff.support.arrays import Array
from odvff.terms import Sum, Term


def whiten(terms: Sum, X: Array) -> Array:
    """ψ(X) = C⁻¹ Kuf(X), of shape (|β|, N), in the order of the terms."""
    psi = jnp.concatenate([_whiten_group([terms.terms[i] for i in members], X) for members in terms.alike])
    members = [i for group in terms.alike for i in group]
    if members == sorted(members):
        return psi
    # groups follow each other, the terms may be mixed
    found = dict(zip(members, slices([terms.terms[i].Kuu().size for i in members]), strict=True))
    return jnp.concatenate([psi[found[i]] for i in range(len(terms))])


def _whiten_group(terms: list[Term], X: Array) -> Array:
    """ψ of terms of one shape, stacked."""
    parts = [term.features.on_unit_box(term.kernel, term.select(X)) for term in terms] if len(terms) > 1 else [None]
    on_unit_box = [part for part in parts if part is not None]
    if not on_unit_box:
        return jnp.concatenate([term.Kuu().factor().solve(term.Kuf(X)) for term in terms])
    first = on_unit_box[0]

    def one(numbers: Array, t: Array) -> Array:
        kernel = first.kernel(*numbers)
        return first.features.Kuu(kernel).factor().solve(first.features.Kuf(kernel, t))

    numbers = jnp.stack([jnp.stack([jnp.asarray(v) for v in part.numbers]) for part in on_unit_box])
    psi = jax.vmap(one)(numbers, jnp.stack([part.rows for part in on_unit_box]))
    return psi.reshape(-1, X.shape[0])
