"""Diagonal plus low rank, and the few bordering rows that complete a Fourier basis. Linear time and memory.

**Core.** K = D + U Uᵀ with D diagonal (n) and U of shape (n, r), r ≤ 3. With W = D^{-½} U and the Cholesky factor
Λ Λᵀ = I + WᵀW (r × r), the matrix

    M = I + W (I + Λ)⁻¹ Wᵀ      satisfies      M Mᵀ = I + W Wᵀ,
    M⁻¹ = I − W (I + Λᵀ)⁻¹ Λ⁻¹ Wᵀ,

so C = D^{½} M is a factor whose every operation costs O(nr). (Put X = (I+Λ)⁻¹ into X + Xᵀ + X WᵀW Xᵀ = I.)

**Border.** q more functions w are known by their elimination: w = N (R + c h), where h are the functions of the
core, c their coefficients, and the remainders R have covariance T + V Vᵀ among themselves and V Uᵀ with h.
Then the Schur complement that the factor needs is

    T + V (I + WᵀW)⁻¹ Vᵀ,      T = t tᵀ,

a sum of two positive parts: unlike K_ww − K_wh K_hh⁻¹ K_hw it loses no digits, however well h approximates w.
"""

from dataclasses import dataclass

import numpy as np

from odvff.errors import FactorizationError
from odvff.linalg.operator import Covariance, Dense, DenseFactor, Diagonal, DiagonalFactor, Factor, scale_rows
from odvff.support.arrays import Array, cholesky, concatenate, is_traced, namespace, solve_triangular
from odvff.support.shapes import Float


@dataclass(frozen=True)
class LowRankFactor(DiagonalFactor):
    """C = D^{½} M; see the module's text. The scale is D^{½}."""

    W: Float[Array, "B r"]  # D^{-½} U
    lower: Float[Array, "r r"]  # Λ

    @property
    def _one_plus(self) -> Float[Array, "r r"]:
        """I + Λ, lower triangular."""
        return self.lower + np.eye(self.lower.shape[0])

    def solve(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        # M⁻¹ D^{-½} b
        b = super().solve(b)
        inner = solve_triangular(self.lower, self.W.T @ b)
        return b - self.W @ solve_triangular(self._one_plus, inner, transpose=True)

    def solve_transpose(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        # D^{-½} M⁻ᵀ b
        inner = solve_triangular(self._one_plus, self.W.T @ b)
        return super().solve_transpose(b - self.W @ solve_triangular(self.lower, inner, transpose=True))

    def apply(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return super().apply(b + self.W @ solve_triangular(self._one_plus, self.W.T @ b))

    def whitened_low_rank(self) -> Float[Array, "B r"]:
        """C⁻¹ U = M⁻¹ W = W (I + Λᵀ)⁻¹ Λ⁻¹ (I + Λ)."""
        inner = solve_triangular(self.lower, self._one_plus)
        return self.W @ solve_triangular(self._one_plus, inner, transpose=True)


@dataclass(frozen=True)
class DiagonalPlusLowRank(Diagonal):
    """K = diag(d) + U Uᵀ."""

    U: Float[Array, "B r"]

    def __matmul__(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        return super().__matmul__(b) + self.U @ (self.U.T @ b)

    def factor(self) -> LowRankFactor:
        xp = namespace(self.d, self.U)
        if not is_traced(self.d) and not (np.isfinite(self.d).all() and (self.d > 0).all()):
            bad = self.d[~(np.isfinite(self.d) & (self.d > 0))]
            raise FactorizationError(
                f"{len(bad)} of {self.size} diagonal entries of the covariance are {bad[0]:.3g}, not positive; "
                "no jitter was tried, as none would help. Likely causes: (a) a lengthscale or a variance whose "
                "powers over- or underflow: bring both nearer to 1 by scaling the column and the target; (b) a "
                "hyper-parameter that is NaN.",
                condition=np.inf,
            )
        root = xp.sqrt(self.d)
        W = self.U / root[:, None]
        return LowRankFactor(root, W, cholesky(np.eye(W.shape[1]) + W.T @ W))


@dataclass(frozen=True)
class BorderedFactor(Factor):
    """C = E [[C_h, 0], [V Yᵀ, C_R]], where E undoes the elimination and Y = C_h⁻¹ U."""

    operator: "Bordered"
    core: LowRankFactor
    remainder: DenseFactor
    Y: Float[Array, "B r"]

    @property
    def size(self) -> int:
        return self.operator.size

    def solve(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        op = self.operator
        h, w = op.split(b)
        R = op.eliminate @ w - op.c @ h  # R = N⁻¹ w − c h
        x = self.core.solve(h)
        return op.join(x, self.remainder.solve(R - op.V @ (self.Y.T @ x)))

    def solve_transpose(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        op = self.operator
        x, z = op.split(b)
        R = self.remainder.solve_transpose(z)
        h = self.core.solve_transpose(x - self.Y @ (op.V.T @ R))
        return op.join(h - op.c.T @ R, op.eliminate.T @ R)

    def apply(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        op = self.operator
        x, z = op.split(b)
        h = self.core.apply(x)
        R = op.V @ (self.Y.T @ x) + self.remainder.apply(z)
        return op.join(h, op.N @ (R + op.c @ h))


@dataclass(frozen=True)
class Bordered(Covariance):
    """Diagonal plus low rank with q bordering rows, the first of them before the core, the rest after it."""

    core: DiagonalPlusLowRank
    c: Float[Array, "q B"]  # coefficients of the eliminated part
    t: Float[Array, "q k"]  # T = t tᵀ
    V: Float[Array, "q r"]
    N: Float[Array, "q q"]  # unit lower triangular
    eliminate: Float[Array, "q q"]  # N⁻¹

    @property
    def size(self) -> int:
        return self.core.size + int(self.N.shape[0])

    def split(self, b: Float[Array, " B *K"]) -> tuple[Float[Array, " n *K"], Float[Array, " q *K"]]:
        """Rows of the core, rows of the border."""
        stop = 1 + self.core.size
        return b[1:stop], concatenate([b[:1], b[stop:]])

    def join(self, h: Float[Array, " n *K"], w: Float[Array, " q *K"]) -> Float[Array, " B *K"]:
        return concatenate([w[:1], h, w[1:]])

    def __matmul__(self, b: Float[Array, " B *K"]) -> Float[Array, " B *K"]:
        h, w = self.split(b)
        A = self.V + self.c @ self.core.U  # the low-rank part of R + c h, that is of N⁻¹ w
        g = self.N.T @ w
        low = self.core.U.T @ h + A.T @ g
        diagonal = scale_rows(self.core.d, h + self.c.T @ g)
        return self.join(diagonal + self.core.U @ low, self.N @ (self.t @ (self.t.T @ g) + self.c @ diagonal + A @ low))

    def factor(self) -> BorderedFactor:
        core = self.core.factor()
        # T + V (I + WᵀW)⁻¹ Vᵀ
        v = solve_triangular(core.lower, self.V.T)
        schur = Dense(self.t @ self.t.T + v.T @ v, jitter=0.0).factor()
        return BorderedFactor(self, core, schur, core.whitened_low_rank())
