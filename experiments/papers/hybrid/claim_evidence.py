"""Conversion of evaluated claims to table rows with effect and outcome, for the evidence figure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from holdfast.experiments.papers.hybrid.claims import CLAIMS, Claim, examine
from holdfast.experiments.study.evidence import Finding
from holdfast.experiments.study.measurement_table import Measured

__all__ = ["finding_row", "grid_findings"]


def finding_row(claim: Claim, finding: Finding) -> dict[str, Any]:
    """Row with claim, rule, effect with interval, and outcome."""
    effect, size = finding.effect, finding.size
    return {
        "observation": claim.observation,
        "part": claim.part,
        "claim": claim.text,
        "unit": claim.unit,
        "level": finding.level,
        "effect": effect.mean if effect else None,
        "size": size.mean if size else None,
        "size_low": size.low if size else None,
        "size_high": size.high if size else None,
        "outcome": str(finding.outcome),
    }


def grid_findings(data: Measured, claims: Iterable[Claim] = CLAIMS) -> list[dict[str, Any]]:
    """Evidence for each claim about Fig. 6."""
    return [finding_row(claim, examine(claim, data)) for claim in claims]
