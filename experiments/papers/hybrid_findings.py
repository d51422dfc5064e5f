"""Findings as rows of a table, and as verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from experiments.experiment import Row
from experiments.papers.hybrid_claims import CLAIMS, Claim, examine
from experiments.papers.hybrid_evidence import Evidence, Finding, outcome_of
from experiments.papers.hybrid_grid import Measurements
from experiments.statistics import Interval
from experiments.verdicts import Verdict

__all__ = ["finding_row", "grid_findings", "verdict_of"]


def finding_row(claim: Claim, finding: Finding) -> dict[str, Any]:
    """The claim, the criterion, the effect with its interval, and what the evidence says."""
    effect, size = finding.effect, finding.size
    return {
        "observation": claim.observation,
        "part": claim.part,
        "claim": claim.text,
        "printed": claim.printed,
        "criterion": finding.criterion,
        "unit": claim.unit,
        "effect": effect.mean if effect else None,
        "low": effect.low if effect else None,
        "high": effect.high if effect else None,
        "size": size.mean if size else None,
        "size_low": size.low if size else None,
        "size_high": size.high if size else None,
        "evidence": str(finding.evidence),
        "detail": finding.detail,
    }


def grid_findings(data: Measurements, claims: Iterable[Claim] = CLAIMS) -> list[dict[str, Any]]:
    """Each claim about Fig. 6 examined."""
    return [finding_row(claim, examine(claim, data)) for claim in claims]


def verdict_of(row: Row) -> Verdict:
    """The verdict of a row."""
    evidence = Evidence(row["evidence"])
    measured = "-"
    if row["effect"] is not None:
        pattern = ".0f" if row["unit"] == "node-hours" else ".2f"
        # A level stands for itself, a difference with its sign.
        sign = "" if row["unit"] == "%" or "is at least" in row["criterion"] else "+"
        found = Interval(row["effect"], row["low"], row["high"])
        measured = f"{found.text(sign + pattern)} {row['unit']}"
    elif evidence is Evidence.SUPPORTED:
        measured = "as claimed"
    remark = "; ".join(str(part) for part in (evidence, row["criterion"], row["detail"]) if part and part != "-")
    return Verdict(
        f"Observation {row['observation']}{row['part'] or ''}: {row['claim']}",
        str(row["printed"]),
        measured,
        outcome_of(evidence),
        remark,
    )
