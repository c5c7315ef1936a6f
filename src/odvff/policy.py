"""Every threshold, sample size and limit that decides what a fit does, each with its reason.

A fit takes a `Policy` from its caller and passes it on. Another one is `replace(DEFAULT, pair_rows=5000)`. What is a
property of an algorithm (sizes of blocks, nodes of a quadrature, bounds of rounding, costs of an engine) stands beside
it instead.

Nats are those of the evidence. "Not measured" says that nobody has compared values, and what the number balances.
"""

from dataclasses import dataclass, field
from typing import TypeVar

Value = TypeVar("Value")


def because(value: Value, reason: str) -> Value:
    """A field with this default, and why."""
    return field(default=value, metadata={"reason": reason})


@dataclass(frozen=True)
class Policy:
    """What decides the course of a fit, with the reason for each number in its field's metadata."""

    # Tables: what a column may be

    schema_rows: int = because(
        50_000,
        "Where a box ends follows from quantiles of 0.5 and 99.5 %, beyond each of which 250 of so many rows lie. Not "
        "measured: it balances their error against the memory of a sample of every column.",
    )
    most_levels: int = because(
        10_000,
        "A level is a feature, and a matrix of so many features has 0.8 GB: more is a name of rows, not a category.",
    )
    text_levels: int = because(
        200,
        "Text in files has no type that says whether it is a category. Not measured: tables of towns or models pass, "
        "names and remarks are refused with a remedy.",
    )
    most_classes: int = because(
        200, "Every class takes a fit of its own; more different labels are most often numbers. Not measured."
    )
    merged_rows: int = because(
        20_000,
        "Up to so many, rows are sorted and equal ones merged, so that the fit is the same to the bit in any order and "
        "with weights for repeated rows. Not measured: it balances this against holding and sorting the rows.",
    )
    exact_rows: int = because(
        5_000,
        "Exact inference takes cubic time: 260 s for 2,000 rows (docs/choosing.md), and 0.2 GB a matrix at this limit.",
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
    start_rows: int = because(
        2_000,
        "A first look for starting values, which the fit improves. Not measured: it balances the wait against "
        "starts near the wrong optimum.",
    )
    middle_rows: int = because(
        20_000,
        "Median and quartiles of y to one percent of its spread, which is all that units are for. Not measured.",
    )
    centre_rows: int = because(
        20_000,
        "Effects are centred on so many rows: the error of a mean of them is 0.7 % of an effect's own spread. Not "
        "measured; fits in parts keep them all the while.",
    )
    marginal_rows: int = because(
        1_000_000,
        "Sites keep y and the marginals of so many rows, 32 MB, to learn the likelihood's parameters from. A "
        "review had all rows used instead of a small sample; the limit, which is one of memory, was not measured.",
    )
    likelihood_rows: int = because(
        20_000,
        "Of these rows as many teach a likelihood without a compiler, in every round. Not measured: it has one or two "
        "parameters, known to 1 % from so many, and its quadrature takes 40 numbers a row.",
    )

    # Harmonics: how many a term has

    harmonics_rows: int = because(
        4_000,
        "The first look at harmonics, with plenty of them. With more rows a larger sample corrects it, and a second "
        "round on 4,000 said nothing that the fit to 40,000 did not say again.",
    )
    harmonics_rounds: int = because(
        3,
        "Fits to so few rows that the larger sample is none, until none calls for more harmonics. Not measured.",
    )
    residual_rows: int = because(
        1_000,
        "What a term leaves out is averaged over so many rows, shuffled: the first of a sorted table lie at an edge. "
        "Not measured: the average is right to a few percent, and a rung of the ladder is a third or more.",
    )
    harmonics_ladder: tuple[int, ...] = because(
        (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256),
        "A third to a half more on each rung, found by bisection. Not measured: finer rungs save features, and cost "
        "nothing but evaluations of what is left out.",
    )
    first_harmonics: tuple[int, ...] = because(
        (64, 48, 32, 24),
        "Of one column, of each of two, three, or more. With too few, detail is called noise and nothing looks wrong: "
        "40 find nothing of sin 400x, and the search that starts with 64 finds it (docs/choosing.md).",
    )
    first_joint_harmonics: int = because(
        8, "The same for a column of a joint effect, where 8 in each of two are 361 features. Not measured."
    )
    start_harmonics: int = because(
        12, "In the first look for starting values, where lengthscales need not be sharp. Not measured."
    )
    most_harmonics: int = because(
        192,
        "In a column, if they are chosen: 387 features. Not measured: finer detail is rare, takes quadratic time, and "
        "can be asked for by number.",
    )
    least_features: int = because(
        200, "Of all single columns, however few the rows: their bound takes a few milliseconds. Not measured."
    )
    column_features: int = because(
        1_000,
        "Of all single columns, and twice the rows if that is less: fits stay within seconds (docs/choosing.md has "
        "times by rows), and 10,000 rows of five columns choose a quarter of it.",
    )
    beside_joint_features: int = because(
        500, "Of these, what single columns may have at least beside joint effects that use up the rest. Not measured."
    )
    left_out: float = because(
        0.02,
        "Share of the noise variance that all terms together may leave out. More was left out at first; it "
        "balances features against detail that is called noise, and the figures of its last change were not kept.",
    )
    left_out_finer: float = because(
        0.25,
        "Of that share where there are more than `harmonics_rows`: with more rows finer detail stands out of the "
        "noise. Found when that share was.",
    )
    finer_gain: float = because(
        0.002,
        "Nats a row by which twice as many harmonics, or a rung of a pair's ladder, must raise the bound. Not "
        "measured: it is a fifth of a hundredth, to which log densities of tables are compared.",
    )

    # Pairs: which columns act together

    pair_rows: int = because(
        20_000,
        "Pairs are looked for in so many rows; a pair worth `pair_gain` brings 40 nats of them. Not measured: time is "
        "proportional to it, up to half a minute for large tables (docs/choosing.md).",
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
    pair_gain: float = because(
        2e-3,
        "Nats a row that a pair must bring in large tables: less is no difference worth a joint effect. Not measured.",
    )
    look_work: float = because(
        2e7,
        "Rows times pairs in a quick look: with many pairs fewer rows must do. Not measured.",
    )
    least_look_rows: int = because(
        2_000, "However many the pairs: of fewer rows 64 cells would have less than 30 each. Not measured."
    )
    pair_candidates: int = because(
        500,
        "Kept after the first look, which is at all: what is beyond place 500 rarely becomes the best. Not measured.",
    )
    pair_refusals: int = because(
        5, "Pairs in a row that a quick look liked and a fit did not, after which the search ends. Not measured."
    )
    pair_ladder: tuple[int, ...] = because(
        (5, 8, 12),
        "Harmonics in each of the two columns: 169, 361 and 729 features; a fit takes cubic time. Not measured.",
    )
    pair_feature_gain: float = because(
        0.1,
        "Nats that each further feature of a pair must bring, or fine ones crowd out other pairs. Not measured.",
    )
    pair_features: int = because(
        1_100,
        "Of all joint effects: six with five harmonics in each column (6 × 169) fit in, and 44 with one. A thousand "
        "features are a fit of seconds (docs/choosing.md).",
    )

    # Points: where inducing points go, and whether they pay

    n_points: int = because(
        100,
        "If nobody says how many. With 6 harmonics in a rough column 100 points took the error from 0.38 to 0.14 "
        "(docs/choosing.md). Time is proportional to it, and was not measured against other numbers.",
    )
    kmeans_rows: int = because(
        3_000, "Whose clusters have points at their centres: thirty rows for each of a hundred. Not measured."
    )
    least_greedy_rows: int = because(
        1_000,
        "Points for the mean are chosen among at least so many rows: with a thousand instead of more, log densities of "
        "fifteen real tables did not fall.",
    )
    greedy_rows_a_point: int = because(10, "And among at least so many for each point that is asked for. Not measured.")
    points_nats: float = because(
        2.0,
        "That points must bring in all if nobody asked for them: a few are within what chance brings. Not measured.",
    )
    points_gain: float = because(
        1e-3, "And nats a row: a model is slower to use with points, and less shows in no score. Not measured."
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

    start_lengthscales: tuple[float, float] = because(
        (0.02, 3.0), "Of the box; extremes of a small sample are no place to start from. Not measured."
    )
    start_variances: tuple[float, float] = because(
        (1e-3, 10.0), "Of the variance of y, for the same reason: from near zero a gradient says little. Not measured."
    )
    start_noise: float = because(
        1e-4, "Of the variance of y, at least: with less a bound is steep, and first steps overshoot. Not measured."
    )

    own_noise: float = because(
        0.1, "Of the variance of y, beside kernels that a user gave: one of several starts, so it need not be near."
    )

    # Iterations: when a fit ends

    quick_iterations: int = because(
        50,
        "Of fits on the way to a choice. Counted in standard errors they take 5 to 10 (benchmarks/speed.md), so this "
        "ends only those that would not.",
    )
    pair_iterations: int = because(
        30, "Of a fit of one pair to residuals, which has four hyper-parameters at most. Not measured."
    )
    adjusting_iterations: int = because(
        15, "Of the fit after joint effects were found, which starts at known kernels. Not measured."
    )
    most_iterations: int = because(
        200, "Of the last fit by statistics: twenty times what benchmarks/speed.md measured, so a limit for mishaps."
    )
    most_rounds: int = because(
        100, "Of sites, which took 6 to 13 rounds in what was measured (docs/choosing.md): a limit for mishaps."
    )
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
    fine_precision: float = because(
        1e-3, "The same for few rows, which have saddles where gradients are small, and cheap iterations. Not measured."
    )
    fine_rows: int = because(5_000, "Up to so many the last fit is as precise as that. Not measured.")
    quick_fine_rows: int = because(
        2_000, "Up to so many (by weight) fits on the way to a choice are as precise, as the last one starts there."
    )
    bound_tolerance: float = because(
        1e-9, "Of the bound, relative: far below `precision`, which ends most fits, so that it ends only what is flat."
    )
    quick_tolerance: float = because(
        1e-6, "The same on the way to a choice, where gains below 1e-3 nats a row count for nothing."
    )
    plateau: float = because(
        1e-4,
        "Nats a row in twenty iterations: variances of terms that explain nothing go to zero for ever, and a tenth of "
        "what points must bring is not worth the wait. Not measured.",
    )
    least_plateau: float = because(
        0.05,
        "And nats in all: few rows have plateaus too, and a twentieth of a nat changes no prediction. Not measured.",
    )
    sites_tolerance: float = because(
        1e-4,
        "Nats a row in the last round of sites, as on the plateau; each round is a pass over the rows. Not measured.",
    )
    warm_up_rounds: int = because(
        3,
        "Of sites before kernels move: sites of the prior say little about kernels, so q settles first. Not measured.",
    )

    @property
    def pair_limit(self) -> int:
        """How many joint effects there may be: with one harmonic in each of their two columns they have 25 features."""
        return self.pair_features // 5**2


DEFAULT = Policy()
