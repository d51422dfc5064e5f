"""A model of the queue wait by walltime and job size, which serves as the price of a reservation.

If the mean wait of a reservation of length W is alpha W + gamma, and the reservation is then used for a time w, a
plan's expected cost with (alpha, beta = 1, gamma) is its expected response time. Expectations depend only on means, so
that the line must fit the mean waits; the spread of single waits does not affect the plan.

Source: [R], "Reservation and Checkpointing Strategies for Stochastic Jobs", Equation 1;
docs/planner.md, "Prices from waits".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from holdfast.policies.planning.costs import CostModel
from holdfast.policies.planning.waits.lines import Line
from holdfast.workloads.ground.numbers import check_whole

__all__ = ["LEAST_ALPHA", "SizeClass", "WaitFit", "WaitModel"]

#: Smallest alpha of a fit. With alpha = 0, a longer request costs nothing, so that the best plan is one reservation for
#: the longest possible runtime; if the distribution has a tail, that is the quantile 1 - 1e-7 at which it is truncated,
#: many times the mean. With this lower bound, a plan costs at most 0.001 of that runtime (a minute and a half per day)
#: more than the best plan with alpha = 0, because this is the additional cost of that single reservation.
LEAST_ALPHA = 1e-3


@dataclass(frozen=True)
class WaitFit:
    """Mean wait alpha W + gamma of requests of walltime W, fitted to pairs (W, wait); None: not known.

    Attributes
    ----------
    alpha
        Wait per requested second; > 0.
    gamma
        Wait of any request [s]; >= 0.
    beta
        Response time per used second: 1.
    pairs
        Number of pairs.
    walltime_from, walltime_to
        Shortest and longest request among the pairs [s]; other requests are extrapolated.
    alpha_error, gamma_error [s], r_squared, spread [s]
        As in :class:`~holdfast.policies.planning.waits.lines.Line`.
    r_squared_means
        R^2 of the line for the mean waits of the groups of :func:`.bin_pairs`, weighted by their numbers of pairs; it
        measures how well the line fits the *means*.
    unconstrained
        The line without the bounds alpha >= :data:`LEAST_ALPHA` and gamma >= 0.
    """

    alpha: float
    gamma: float
    beta: float = 1.0
    pairs: int | None = None
    walltime_from: float | None = None
    walltime_to: float | None = None
    alpha_error: float | None = None
    gamma_error: float | None = None
    r_squared: float | None = None
    r_squared_means: float | None = None
    spread: float | None = None
    unconstrained: Line | None = None

    @property
    def costs(self) -> tuple[float, float, float]:
        """alpha, beta, gamma [s]."""
        return self.alpha, self.beta, self.gamma


@dataclass(frozen=True)
class SizeClass:
    """The fit of the jobs of some sizes.

    Attributes
    ----------
    nodes_from, nodes_to
        Smallest and largest size of the class, inclusive; ``nodes_to`` is None for the last class, which has no limit.
    fit
        Fit to the pairs of the class. If ``fallback``, the fit to all pairs, with ``pairs`` the number in the class.
    fallback
        Whether the class has too few pairs for a separate fit.
    """

    nodes_from: int
    nodes_to: int | None
    fit: WaitFit
    fallback: bool = False


@dataclass(frozen=True, repr=False)
class WaitModel:
    """Fits of the wait, by job size.

    Attributes
    ----------
    all
        Fit for all sizes.
    classes
        Size classes, ascending, without gaps from 1 node on; empty: all sizes have the same fit.

    Examples
    --------
    >>> small, large = SizeClass(1, 128, WaitFit(0.1, 0.0)), SizeClass(129, None, WaitFit(1.0, 0.0))
    >>> model = WaitModel(WaitFit(0.5, 60.0), (small, large))
    >>> model.costs_for(129), model.costs_for()
    ((1.0, 1.0, 0.0), (0.5, 1.0, 60.0))
    """

    all: WaitFit
    classes: tuple[SizeClass, ...] = ()

    def __repr__(self) -> str:
        sizes = f"; {len(self.classes):,} classes of sizes" if self.classes else ""
        return f"WaitModel(alpha={self.all.alpha:.4g}, gamma={self.all.gamma:.4g}{sizes})"

    def class_for(self, nodes: int) -> SizeClass | None:
        """The class of a job size; None if there are no classes.

        Raises
        ------
        ParameterError
            If ``nodes`` is not a positive whole number.
        """
        check_whole("nodes", nodes, 1, "a positive number of nodes")
        return next((each for each in self.classes if each.nodes_to is None or nodes <= each.nodes_to), None)

    def fit_for(self, nodes: int | None = None) -> WaitFit:
        """The fit for a job size; None: the fit for all sizes."""
        found = None if nodes is None else self.class_for(nodes)
        return self.all if found is None else found.fit

    def costs_for(self, nodes: int | None = None) -> tuple[float, float, float]:
        """alpha, beta and gamma [s] for a job size; None: those for all sizes."""
        return self.fit_for(nodes).costs

    def apply(self, costs: CostModel, nodes: int | None = None) -> CostModel:
        """Replace the prices of a cost model [s], and keep its checkpoint and restart."""
        alpha, beta, gamma = self.costs_for(nodes)
        return replace(costs, alpha=alpha, beta=beta, gamma=gamma)
