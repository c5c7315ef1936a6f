"""Every threshold, sample size and limit that decides what a fit does, each with its reason.

A fit takes a `Policy` from its caller and passes it on. Another one is `replace(DEFAULT, pair_rows=5000)`. What is a
property of an algorithm (sizes of blocks, nodes of a quadrature, bounds of rounding, costs of an engine) stands beside
it instead. Nats are those of the evidence.
"""

from dataclasses import dataclass, field
from typing import TypeVar

Value = TypeVar("Value")


def because(value: Value, reason: str) -> Value:
    """A field with this default, and why."""
    return field(default=value, metadata={"reason": reason})


def guess(value: Value, reason: str) -> Value:
    """A field whose values nobody has compared, and what this one balances."""
    return because(value, f"{reason} Not measured.")


@dataclass(frozen=True)
class Policy:
    """What decides the course of a fit, with the reason for each number in its field's metadata."""

    # Tables: what a column may be

    schema_rows: int = guess(
        50_000, "Box ends follow from quantiles of 0.5 and 99.5 %, 250 rows beyond each: their error against memory."
    )
    most_levels: int = because(
        10_000, "A level is a feature, whose matrix has 0.8 GB here: more is a name of rows, not a category."
    )
    text_levels: int = guess(
        200, "Text in files may be a category, or names and remarks, which are refused; towns and models pass."
    )
    most_classes: int = guess(200, "Every class takes a fit of its own; more different labels are most often numbers.")
    merged_rows: int = guess(
        20_000, "Up to so many, rows are sorted and equal ones merged, for the same bits in any order: against memory."
    )
    exact_rows: int = because(
        5_000, "Cubic time: 260 s for 2,000 rows (docs/choosing.md), and 0.2 GB a matrix at this limit."
    )

    # Samples: how many rows each look is at

    whole_rows: int = because(
        50_000,
        "Up to so many, harmonics are chosen by all rows, and their statistics serve the last fit too: 50,000 rows of "
        "ten columns took 2.8 s instead of 4.2 on one machine.",
    )
    sample_rows: int = because(
        40_000,
        "Where there are more than `whole_rows`, so many choose harmonics and points; a source that is read once keeps "
        "as many. One such look instead of several took half the time, and log densities on fifteen real tables were "
        "equal or up to 0.007 higher; whether fewer rows would do was not measured.",
    )
    start_rows: int = guess(2_000, "A first look for starting values: the wait against starts near a wrong optimum.")
    middle_rows: int = guess(20_000, "Median and quartiles of y to one percent of its spread, enough for units.")
    centre_rows: int = guess(
        20_000, "Effects are centred on so many rows, which fits in parts keep: a mean to 0.7 % of an effect's spread."
    )
    marginal_rows: int = guess(
        1_000_000, "Sites keep y and the marginals of so many, 32 MB, to learn the likelihood from: a limit of memory."
    )
    likelihood_rows: int = guess(
        20_000, "As many of these teach a likelihood without a compiler in a round: to 1 %, by 40 numbers a row."
    )

    # Harmonics: how many a term has

    harmonics_rows: int = because(
        4_000,
        "The first look at harmonics, with plenty of them. With more rows a larger sample corrects it, and a second "
        "round on 4,000 said nothing that the fit to 40,000 did not say again.",
    )
    harmonics_rounds: int = guess(3, "Fits to so few rows that there is no larger sample, until no term wants more.")
    residual_rows: int = guess(
        1_000,
        "What a term leaves out is averaged over so many rows (shuffled: the first of a sorted table lie at an edge): "
        "right to a few percent, and a rung of the ladder is a third or more.",
    )
    harmonics_ladder: tuple[int, ...] = guess(
        (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256),
        "A third to a half more on each rung, found by bisection: finer rungs save features, and cost evaluations.",
    )
    first_harmonics: tuple[int, ...] = because(
        (64, 48, 32, 24),
        "Of one column, of each of two, three, or more. With too few, detail is called noise and nothing looks wrong: "
        "40 find nothing of sin 400x, and the search that starts with 64 finds it (docs/choosing.md).",
    )
    first_joint_harmonics: int = guess(8, "The same for a column of a joint effect: 8 in each of two are 361 features.")
    start_harmonics: int = guess(12, "In the first look for starting values, where lengthscales need not be sharp.")
    most_harmonics: int = guess(
        192, "In a column, if chosen: 387 features; finer detail is rare, takes quadratic time, and can be asked for."
    )
    least_features: int = guess(200, "Of all single columns, however few the rows: a bound of a few milliseconds.")
    column_features: int = because(
        1_000,
        "Of all single columns, and twice the rows if that is less: fits stay within seconds (docs/choosing.md has "
        "times by rows), and 10,000 rows of five columns choose a quarter of it.",
    )
    beside_joint_features: int = guess(500, "At least, for single columns beside joint effects that use up the rest.")
    left_out: float = guess(
        0.02, "Share of the noise variance that all terms may leave out: features against detail that is called noise."
    )
    left_out_finer: float = because(
        0.25, "Of that share beyond `harmonics_rows`, as finer detail stands out of the noise; found when that was."
    )
    finer_gain: float = guess(
        0.002, "Nats a row for twice the harmonics, or a rung of a pair: a fifth of what tables are compared to."
    )

    # Pairs: which columns act together

    pair_rows: int = guess(
        20_000, "Pairs are looked for in so many, where `pair_gain` is 40 nats: up to half a minute (docs/choosing.md)."
    )
    most_pairs: int = because(
        6,
        "If nobody says how many. The first few bring most of what pairs bring: the two columns of ten that act "
        "together in Friedman's function take the error from 1.31 to 0.09. Not measured against other numbers.",
    )
    pair_nats: float = because(
        5.0,
        "That a pair must bring besides the logarithm of how many pairs it was chosen from: noise looks like a pair "
        "at most once in a hundred and fifty tables. Twenty tables of noise in the tests have none.",
    )
    pair_gain: float = guess(2e-3, "Nats a row that a pair must bring in large tables: less is worth no joint effect.")
    look_work: float = guess(2e7, "Rows times pairs in a quick look: with many pairs fewer rows must do.")
    least_look_rows: int = guess(2_000, "However many the pairs: of fewer rows 64 cells would have less than 30 each.")
    pair_candidates: int = guess(500, "Kept after the first look, at all: what is beyond rarely becomes the best.")
    pair_refusals: int = guess(5, "Pairs in a row that a look liked and a fit did not, which ends the search.")
    pair_ladder: tuple[int, ...] = guess((5, 8, 12), "Harmonics in each column: 169, 361, 729 features; time is cubic.")
    pair_feature_gain: float = guess(0.1, "Nats that each further feature must bring, or fine pairs crowd out others.")
    pair_features: int = because(
        1_100, "Of all joint effects: 6 × 169, or 44 with one harmonic; a fit of seconds (docs/choosing.md)."
    )

    # Points: where inducing points go, and whether they pay

    n_points: int = because(
        100,
        "If nobody says how many. With 6 harmonics in a rough column 100 points took the error from 0.38 to 0.14 "
        "(docs/choosing.md). Time is proportional to it, and was not measured against other numbers.",
    )
    kmeans_rows: int = guess(3_000, "Whose clusters have points at their centres: thirty rows for each of a hundred.")
    least_greedy_rows: int = because(
        1_000, "At least, to choose points for the mean among: more gave fifteen real tables no better densities."
    )
    greedy_rows_a_point: int = guess(10, "And among at least so many for each point that is asked for.")
    points_nats: float = guess(2.0, "That points nobody asked for must bring in all: chance brings a few.")
    points_gain: float = guess(
        1e-3, "And nats a row: a model is slower to use with points, and less shows in no score."
    )
    rougher: float = because(
        5.0,
        "Points are tried where the features leave out this part of what would pay, as functions are rougher in places "
        "than their prior: one column of 100,000 rows left out 0.8 thousandths of a nat a row, and points brought 3.8.",
    )
    trial_rows: int = because(
        5_000,
        "On which points are tried before a pass for them over more than twice as many rows; a sample shows less, so "
        "half of `points_gain` will do. With a trial a million rows took a third of the time.",
    )

    # Starting values

    start_lengthscales: tuple[float, float] = guess((0.02, 3.0), "Of the box; a small sample's extremes are no start.")
    start_variances: tuple[float, float] = guess((1e-3, 10.0), "Of that of y: near zero a gradient says little.")
    start_noise: float = guess(1e-4, "Of that of y, at least: with less a bound is steep, and first steps overshoot.")
    own_noise: float = because(0.1, "Of that of y, beside a user's kernels: one of several starts, so roughly.")

    # Iterations: when a fit ends

    quick_iterations: int = because(
        50,
        "Of fits on the way to a choice, which take 5 to 10 (benchmarks/speed.md): a limit for those that would not.",
    )
    pair_iterations: int = guess(30, "Of a fit of one pair to residuals, which has four hyper-parameters at most.")
    adjusting_iterations: int = guess(15, "Of the fit after joint effects were found, which starts at known kernels.")
    most_iterations: int = because(200, "Of the last fit: twenty times those of benchmarks/speed.md, for mishaps.")
    most_rounds: int = because(100, "Of sites, which took 6 to 13 (docs/choosing.md): a limit for mishaps.")
    most_steps: int = because(
        8_000,
        "Of minibatches. SVGPs of GPflow, GPyTorch and GPJax ended within 0.003 of each other in log density after as "
        "many, in 61 to 115 s (docs/choosing.md).",
    )
    precision: float = because(
        0.03,
        "Standard errors: a fit ends where no hyper-parameter has further to go, after 5 to 10 iterations instead of "
        "18 to 26 with the same log-likelihoods. With 0.3 small tables ended beside saddles (benchmarks/speed.md).",
    )
    fine_precision: float = guess(1e-3, "The same for few rows: they have flat saddles, and cheap iterations.")
    fine_rows: int = guess(5_000, "Up to so many the last fit is as precise as that.")
    quick_fine_rows: int = because(2_000, "Up to this weight, quick fits are as precise, as the last starts there.")
    bound_tolerance: float = because(1e-9, "Of the bound: far below `precision`, so that it ends only what is flat.")
    quick_tolerance: float = because(1e-6, "The same on the way to a choice, where 1e-3 nats a row are nothing.")
    plateau: float = guess(
        1e-4, "Nats a row in twenty iterations, a tenth of `points_gain`: variances of no use go to zero for ever."
    )
    least_plateau: float = guess(0.05, "And nats in all: few rows have plateaus too, and this changes no prediction.")
    sites_tolerance: float = guess(1e-4, "Nats a row in the last round, as on the plateau; a round is a pass.")
    warm_up_rounds: int = guess(3, "Of sites before kernels move: those of the prior say little about kernels.")

    @property
    def pair_limit(self) -> int:
        """How many joint effects there may be: with one harmonic in each of their two columns they have 25 features."""
        return self.pair_features // 5**2


DEFAULT = Policy()
