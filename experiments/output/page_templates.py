"""Templates of HTML pages: those of a package, and the style that all pages share (``templates/page.css``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["page_templates"]


def page_templates(package: str) -> Environment:
    """Templates in the folder ``templates`` of a package, beside those that all pages share.

    Values are escaped, a missing one is an error.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=ChoiceLoader(
            [PackageLoader(package, "templates"), PackageLoader("holdfast.experiments.output", "templates")]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
