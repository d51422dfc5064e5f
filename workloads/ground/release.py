"""The version of Holdfast, which results name.

It is a constant, because asking the installed package for it takes as long as the replay of a short log.
"""

from __future__ import annotations

__all__ = ["VERSION"]

VERSION = "1.0.0"
