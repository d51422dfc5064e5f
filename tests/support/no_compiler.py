"""A plug-in of pytest that hides numba and LLVM, so that each loop runs in Python: ``-p tests.support.no_compiler``."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import cast

# An import of a module that is None fails as if it were not installed.
for name in ("numba", "llvmlite"):
    sys.modules[name] = cast(ModuleType, None)
