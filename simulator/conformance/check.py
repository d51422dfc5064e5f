"""The conformance suite: it runs a policy in generated scenarios and reports violations in words.

The checks of each kind of policy are in :mod:`~holdfast.simulator.conformance.orders`,
:mod:`~holdfast.simulator.conformance.starts`, :mod:`~holdfast.simulator.conformance.strategies` and
:mod:`~holdfast.simulator.conformance.plans`. This module checks the rules for all kinds: a policy is a function of the
view that it is given. It does not modify the view, keeps no state between calls, does not look at true runtimes, and
returns the same result at any time and in any order of calls.
"""

from __future__ import annotations

import copy
import inspect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import FrozenInstanceError
from inspect import isfunction
from typing import Any

from holdfast.simulator.conformance.contract import Claims, Problem, in_words
from holdfast.simulator.conformance.expansions import ask_expansion, judge_expansion
from holdfast.simulator.conformance.generation import arrivals, growths, notices, scenarios
from holdfast.simulator.conformance.orders import ask_order, judge_order
from holdfast.simulator.conformance.plans import PlanCase, judge_plan, needed_arguments, plan_cases
from holdfast.simulator.conformance.report import BrokenPolicyError, Finding, Report
from holdfast.simulator.conformance.runs import REGISTRIES, broken_runs
from holdfast.simulator.conformance.scenario import Scenario, View
from holdfast.simulator.conformance.starts import ask_starts, judge_backfilling, judge_tenants
from holdfast.simulator.conformance.strategies import ask_arrival, ask_notice, judge_arrival, judge_notice
from holdfast.workloads.ground.errors import InputError, ParameterError, UnknownNameError
from holdfast.workloads.ground.registry import Registry, plugin_parameters

__all__ = ["KINDS", "MOST_SCENARIOS", "check_policy"]

Ask = Callable[[Any, View], Any]
Judge = Callable[[Any, Scenario, Any, Claims], Iterator[Problem]]

_RULES: dict[str, tuple[Ask, Judge, Callable[[int, int], Iterator[Scenario]]]] = {
    "order": (ask_order, judge_order, scenarios),
    "backfilling": (ask_starts, judge_backfilling, scenarios),
    "tenants": (ask_starts, judge_tenants, scenarios),
    "expansion": (ask_expansion, judge_expansion, growths),
    "notice": (ask_notice, judge_notice, notices),
    "arrival": (ask_arrival, judge_arrival, arrivals),
}
#: Largest number of scenarios: they take minutes, and all are kept for a second call.
MOST_SCENARIOS = 100_000
#: Number of scenarios to find for each broken rule; the smallest one is reported.
_TRIES = 5
#: The kinds of policies that can be checked.
KINDS = (*_RULES, "strategy")


def check_policy(
    policy: Any,
    kind: str | None = None,
    *,
    easy: bool | None = None,
    scenarios: int = 300,
    seed: int = 0,
    raises: bool = False,
) -> Report:
    """Run a policy in generated scenarios and report violations of its contract in words.

    Parameters
    ----------
    policy
        A function, a class or an object; or the name, import path or entry point of one, with parameters.
    kind
        One of :data:`KINDS`; None: guessed from its name, its methods or the names of its arguments.
    easy
        Whether a backfilling rule claims never to delay the first waiting job. None: it does if it makes
        promises.
    scenarios
        Number of scenarios, from 1 to :data:`MOST_SCENARIOS`; the same for the same seed.
    seed
        Seed of the scenarios.
    raises
        Whether to raise an error with the report if a rule is broken, for use in a test.

    Returns
    -------
    Report
        ``.ok``, ``.findings``, and the whole report as text.

    Raises
    ------
    InputError
        If it is not a policy of this kind, or its kind cannot be guessed.
    ParameterError
        If ``scenarios`` is not from 1 to :data:`MOST_SCENARIOS`.
    BrokenPolicyError
        If ``raises`` and a rule is broken.

    Examples
    --------
    >>> def backwards(job, now):
    ...     return -job.duration(job.nodes)
    >>> print(check_policy(backwards).findings[0].what)
    reads the true runtime, which no scheduler knows
    """
    if not isinstance(scenarios, int) or not 1 <= scenarios <= MOST_SCENARIOS:
        raise ParameterError("scenarios", f"a whole number from 1 to {MOST_SCENARIOS:,}", scenarios)
    chosen = _find_kind(policy) if kind is None else kind
    if chosen not in KINDS:
        raise UnknownNameError("kind of policy", chosen, KINDS)
    name = policy if isinstance(policy, str) else _policy_name(policy)
    make = _maker(policy, _registry(chosen))
    if chosen == "strategy":
        # The registry refuses a strategy that needs more arguments; the finding names them.
        count, findings = _check_strategy(policy if isfunction(policy) and needed_arguments(policy) else make())
    else:
        rules = _claims(make(), chosen, easy)
        count, findings = _check(make, chosen, rules, scenarios, seed)
    report = Report(name, chosen, count, tuple(findings))
    if raises and not report.ok:
        raise BrokenPolicyError(str(report))
    return report


def _policy_name(policy: Any) -> str:
    function = getattr(policy, "key", policy)
    return str(getattr(function, "__name__", type(policy).__name__))


def _registry(kind: str) -> Registry[Any]:
    if kind == "strategy":
        from holdfast.policies.planning.strategies import STRATEGIES

        return STRATEGIES
    return REGISTRIES[kind]


def _find_kind(policy: Any) -> str:
    """Guess the kind of a policy from its name, its methods or the names of its arguments."""
    if isinstance(policy, str):
        found = [kind for kind in KINDS if policy.split()[0] in _registry(kind).listing()] if policy.split() else []
        if len(found) == 1:
            return found[0]
        if ":" not in policy:
            raise InputError(
                f"the kind of {policy!r} must be given (in a shell with --kind): one of {', '.join(KINDS)}"
            )
        # The object at the path is the same for every kind.
        policy = Registry[Any]("policy")[policy]
    if all(hasattr(policy, method) for method in ("room", "make_room")):
        return "arrival"
    if hasattr(policy, "at"):
        return "order"
    if hasattr(policy, "promises"):
        return "backfilling"
    names = _argument_names(policy)
    by_names = {"job now": "order", "view request": "notice", "view promises": "expansion"}
    if " ".join(names[:2]) in by_names:
        return by_names[" ".join(names[:2])]
    if names[:1] and names[0].startswith("distribution") and len(names) > 1:
        return "strategy"
    raise InputError(
        f"the kind of this policy cannot be guessed; give it (in a shell with --kind): one of {', '.join(KINDS)}"
    )


def _argument_names(policy: Any) -> list[str]:
    try:
        call = policy.__call__ if isinstance(policy, type) else policy
        names = list(inspect.signature(call).parameters)
    except (TypeError, ValueError):
        return []
    return names[1:] if names[:1] == ["self"] else names


def _maker(policy: Any, registry: Registry[Any]) -> Callable[[], Any]:
    """Function that makes a new instance of the policy."""
    if isinstance(policy, str):
        first = registry[policy]
        pristine = copy.deepcopy(first)
        return lambda: copy.deepcopy(pristine)
    if isinstance(policy, type):
        return lambda: registry.adapt(policy)
    pristine = copy.deepcopy(policy)
    return lambda: registry.adapt(copy.deepcopy(pristine))


def _claims(policy: Any, kind: str, easy: bool | None) -> Claims:
    by_runtime = plugin_parameters(policy).get("length") == "runtime"
    promises = callable(getattr(policy, "promises", None))
    return Claims(head=(promises and not by_runtime) if easy is None else easy, runtime=by_runtime)


# Rules for all kinds.


def _check(make: Callable[[], Any], kind: str, claims: Claims, count: int, seed: int) -> tuple[int, list[Finding]]:
    found: dict[str, Finding] = {}
    tried: Counter[str] = Counter()
    cases = list(_RULES[kind][2](count, seed))
    shared = make()
    answers = []
    for scenario in cases:
        problems, answer = _problems(shared, kind, scenario, claims)
        answers.append(answer)
        for rule in dict(problems):
            tried[rule] += 1
            if tried[rule] <= _TRIES:
                finding = _smallest(make, kind, scenario, claims, rule)
                before = found.get(rule)
                if before is None or (finding is not None and len(finding.scenario) < len(before.scenario)):
                    found[rule] = finding or _finding(rule, problems, scenario, answer)
    if "deterministic" not in found and "raises" not in found:
        other = make()
        for scenario, answer in zip(reversed(cases), reversed(answers), strict=True):
            _, again = _problems(other, kind, scenario, claims, once=True)
            if _plain(again) != _plain(answer):
                what = (
                    f"keeps state between calls: a new instance answers {in_words(again)}, "
                    "one that was called before answers otherwise"
                )
                found["state"] = Finding("state", what, str(scenario), in_words(answer))
                break
    if not found:
        for rule, what, table in broken_runs(make, kind, max(4, count // 20), seed):
            found[rule] = Finding(rule, what, table)
    return len(cases), list(found.values())


def _problems(
    policy: Any, kind: str, scenario: Scenario, claims: Claims, *, once: bool = False
) -> tuple[list[Problem], Any]:
    """Problems of the answer in a scenario, and the answer."""
    ask, judge, _ = _RULES[kind]
    view = View(scenario)
    try:
        answer = ask(policy, view)
        again = answer if once else ask(policy, View(scenario))
    except FrozenInstanceError as error:
        return [("view", f"modifies what it sees: {error}")], None
    except Exception as error:  # whatever the plug-in raises is what its author wants to read
        return [("raises", f"raises {type(error).__name__}: {error}")], None
    problems: list[Problem] = []
    if view.find_change():
        problems.append(("view", f"modifies what it sees: the view's {view.find_change()}"))
    if view.peeks and not claims.runtime:
        problems.append(("runtime", "reads the true runtime, which no scheduler knows"))
    if _plain(answer) != _plain(again):
        problems.append(("deterministic", f"is not deterministic: the second call returns {in_words(again)}"))
    if once:
        return problems, answer
    try:
        problems += judge(policy, scenario, answer, claims)
    except Exception as error:  # keys and answers of whatever type
        problems.append(("raises", f"raises {type(error).__name__}: {error}"))
    return problems, answer


def _plain(answer: Any) -> Any:
    """A comparable form of an answer, in which NaN equals NaN."""
    return repr(answer)


def _smallest(make: Callable[[], Any], kind: str, scenario: Scenario, claims: Claims, rule: str) -> Finding | None:
    """A smaller scenario in which a new instance breaks the same rule; None if it cannot be reproduced."""
    best: Finding | None = None
    smaller: Iterable[Scenario] = [scenario]
    while True:
        for candidate in smaller:
            problems, answer = _problems(make(), kind, candidate, claims)
            if any(name == rule for name, _ in problems):
                best = _finding(rule, problems, candidate, answer)
                smaller = candidate.smaller()
                break
        else:
            return best


def _finding(rule: str, problems: list[Problem], scenario: Scenario, answer: Any) -> Finding:
    what = next(what for name, what in problems if name == rule)
    return Finding(rule, what, str(scenario), "" if answer is None and rule == "raises" else in_words(answer))


# Planning strategies.


def _check_strategy(strategy: Any) -> tuple[int, list[Finding]]:
    found: dict[str, Finding] = {}
    more = needed_arguments(strategy)
    if more:
        what = f"needs {' and '.join(more)} in addition to a distribution and costs, which no option can set"
        return 0, [Finding("arguments", what)]
    cases = list(plan_cases(strategy))
    for case in cases:
        for rule, what in _plan_problems(strategy, case):
            found.setdefault(rule, Finding(rule, what, case.words))
    return len(cases), list(found.values())


def _plan_problems(strategy: Any, case: PlanCase) -> Iterator[Problem]:
    before, given = copy.deepcopy(case.source), copy.deepcopy(case.source)
    try:
        plan, again = strategy(given, case.costs), strategy(case.source, case.costs)
    except Exception as error:  # whatever the plug-in raises is what its author wants to read
        yield "raises", f"raises {type(error).__name__}: {error}"
        return
    if hasattr(before, "tobytes") and before.tobytes() != given.tobytes():
        yield "view", "modifies the runs that it is given"
    problems = list(judge_plan(case, plan))
    yield from problems
    if not problems and plan != again:
        yield "deterministic", "is not reproducible: the second call makes another plan"
