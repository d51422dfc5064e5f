"""Templates of scripts and configuration files, with placeholders such as ``@NAME@``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import resources

__all__ = ["fill_template"]


def fill_template(name: str, values: Mapping[str, str]) -> str:
    """Fill a template in one pass, so that placeholders within values are not replaced."""
    text = resources.files("holdfast.experiments.slurm").joinpath("templates", name).read_text("utf-8")
    return re.sub(r"@([A-Z_]+)@", lambda match: values[match[1]], text)
