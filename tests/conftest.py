"""Settings of all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Time limits for single examples would make tests fail on a busy machine. Where a change is judged (CI) the same
# examples are tried every time; elsewhere new ones, so that somebody finds what they missed.
settings.register_profile("explore", deadline=None)
settings.register_profile("judge", deadline=None, derandomize=True)
settings.load_profile("judge" if os.environ.get("CI") else "explore")
