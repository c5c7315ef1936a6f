"""log |K| = 2 log |det C| from the factor of a covariance, by its structure: in linear memory where C is."""

from odvff import linalg
from odvff.support.arrays import namespace


def logdet(C):
    match C:
        case linalg.BlockFactor():
            return sum(map(logdet, C.blocks))
        case linalg.KroneckerFactor():
            # log|⊗ K_i| = Σ_i (n / n_i) log|K_i|
            return sum(C.size // factor.size * logdet(factor) for factor in C.factors)
        case linalg.BorderedFactor():
            # N is unit triangular: its determinant is 1
            return logdet(C.core) + logdet(C.remainder)
    xp = namespace(C.scale)
    triangular = xp.diagonal(C.lower) if isinstance(C, linalg.DenseFactor | linalg.LowRankFactor) else 1.0
    # log|D + UUᵀ| = log|D| + log|I + WᵀW|
    return 2 * xp.sum(xp.log(C.scale)) + 2 * xp.sum(xp.log(triangular))
